// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <solder/core/errors.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/lanes.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/detail/alike_rows.hpp>
#include <solder/matrix/detail/product_on_gpus.hpp>
#include <solder/matrix/detail/product_on_hosts.hpp>
#include <solder/matrix/duplicates.hpp>
#include <solder/matrix/offsets.hpp>

namespace Solder {

namespace Impl {

/// \brief The memory of a product's tables. Several products may use it, one after another.
template <class Exec>
class ProductMemory {
 public:
  /// \brief `bytes` bytes of memory, which replace any that was handed out before.
  char* take(Exec const& exec, std::int64_t bytes) {
    if (static_cast<std::int64_t>(memory_.extent(0)) < bytes)
      memory_ = allocate_view<DeviceArray<char, Exec>>(exec, "Solder::product::tables", bytes);
    return memory_.data();
  }

 private:
  DeviceArray<char, Exec> memory_ = no_view<DeviceArray<char, Exec>>();
};

/// \brief The pattern of a product that is known from other values with the same patterns.
template <class Exec>
struct ProductPattern {
  Kokkos::View<std::int32_t const*, typename Exec::memory_space> offsets;
  std::int64_t nonzeros;
  std::int32_t longest;
};

template <class Scalar, class Exec>
ProductPattern<Exec> pattern_of(CsrMatrix<Scalar, Exec> const& A) {
  return {A.row_offsets(), A.nonzeros(), A.longest_row()};
}

/// \brief The n x width product with this pattern, whose entries compute(longest row) writes to
/// where `rows` says.
template <class Exec, class Rows, class Compute>
auto computed(Exec const& exec, Rows& rows, std::int32_t n, std::int32_t width,
              ProductPattern<Exec> const& pattern, Compute const& compute) {
  using Scalar = std::remove_pointer_t<decltype(rows.values)>;
  auto const columns = allocate<std::int32_t>(exec, "Solder::csr::columns", pattern.nonzeros);
  auto const values = allocate<Scalar>(exec, "Solder::csr::values", pattern.nonzeros);
  rows.lengths = nullptr;
  rows.offsets = pattern.offsets.data();
  rows.columns = columns.data();
  rows.values = values.data();
  compute(pattern.longest);
  exec.fence("Solder::product: made");
  return CsrMatrix<Scalar, Exec>(exec, n, width, pattern.offsets, columns, values,
                                 {pattern.longest});
}

/// \throws std::length_error if a product of `nonzeros` entries is too large
template <class Matrix>
void check_product_entries(std::int64_t nonzeros) {
  if (nonzeros > Matrix::most_nonzeros)
    throw std::length_error("Solder::product: the product has " + std::to_string(nonzeros) +
                            " nonzeros, too many for 32-bit offsets");
}

/// \brief Bytes that a product may take besides its result.
template <class Scalar, class Exec>
std::int64_t product_budget(CsrMatrix<Scalar, Exec> const& X, CsrMatrix<Scalar, Exec> const& Y) {
  return std::max<std::int64_t>(
      std::int64_t(64) << 20, std::int64_t(4 + sizeof(Scalar)) * (X.nonzeros() + Y.nonzeros()) / 3);
}

/// \brief product() on hosts.
template <class Scalar, class Exec>
CsrMatrix<Scalar, Exec> product_on_hosts(Exec const& exec, CsrMatrix<Scalar, Exec> const& X,
                                         CsrMatrix<Scalar, Exec> const& Y,
                                         ProductMemory<Exec>& memory,
                                         ProductPattern<Exec> const* known) {
  using Rows = ProductRowsOnHosts<Scalar>;
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>>;
  std::int32_t const n = X.rows();
  std::int64_t const bytes = std::int64_t(4) * std::max(Y.columns(), 1);
  Rows rows{.X = X.device_operator(), .Y = Y.device_operator(), .width = Y.columns()};
  rows.workers = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(product_budget(X, Y) / bytes, 1, exec.concurrency()));
  rows.places = reinterpret_cast<std::int32_t*>(memory.take(exec, rows.workers * bytes));
  std::vector<typename Rows::Worker> workers(rows.workers);
  rows.of_worker = workers.data();
  std::atomic<std::int64_t> entries = 0;
  rows.entries = &entries;
  rows.most = CsrMatrix<Scalar, Exec>::most_nonzeros;
  auto const run = [&] {
    Kokkos::parallel_for("Solder::product::rows", Policy(exec, 0, rows.workers), rows);
    exec.fence("Solder::product: the rows are summed");
    for (auto const& worker : workers)
      if (worker.lacks_memory) throw OutOfMemory("Solder::product", n, X.nonzeros());
  };
  if (known != nullptr)
    return computed(exec, rows, n, Y.columns(), *known, [&](std::int32_t) { run(); });

  auto const offsets =
      allocate<std::int32_t>(exec, "Solder::csr::row_offsets", n + std::int64_t(1));
  rows.lengths = offsets.data();
  run();
  auto const totals =
      offsets_of_lengths(exec, offsets.data(), n, LengthsInArray<std::int32_t>{rows.lengths});
  check_product_entries<CsrMatrix<Scalar, Exec>>(totals.nonzeros);
  return computed(
      exec, rows, n, Y.columns(), ProductPattern<Exec>{offsets, totals.nonzeros, totals.longest},
      [&](std::int32_t) {
        Kokkos::parallel_for(
            "Solder::product::store", Policy(exec, 0, rows.workers), [rows](std::int32_t worker) {
              std::int32_t const first = rows.offsets[rows.first_row(worker)];
              rows.of_worker[worker].rows.move_to(rows.columns + first, rows.values + first);
            });
      });
}

/// \brief product() on GPUs. Y must have no duplicates.
template <class Scalar, class Exec>
CsrMatrix<Scalar, Exec> product_on_gpus(Exec const& exec, CsrMatrix<Scalar, Exec> const& X,
                                        CsrMatrix<Scalar, Exec> const& Y,
                                        ProductMemory<Exec>& memory,
                                        ProductPattern<Exec> const* known, bool in_nodes) {
  using Task = ProductTask<Exec, Scalar>;
  std::int32_t const n = X.rows(), lane_bits = row_lane_bits<Exec>(Y.rows(), Y.nonzeros());
  auto const x = X.device_operator(), y = Y.device_operator();
  std::int64_t terms = std::int64_t(X.longest_row()) * Y.longest_row();
  if (known == nullptr && terms > counted_by_many_threads) terms = most_terms(exec, x, y);
  std::int64_t const most = std::min<std::int64_t>(terms, Y.columns());
  bool const is_full = 2 * std::int64_t(n) >= exec.concurrency();
  std::int64_t const budget = product_budget(X, Y);
  auto const alike = in_nodes ? many_alike_rows(exec, X) : std::nullopt;
  auto const repeats = alike ? repeated_rows(exec, Y) : no_view<DeviceArray<std::int8_t, Exec>>();
  Task task{.X = x, .Y = y, .lane_bits = lane_bits, .repeats = repeats.data()};
  auto const run_in_memory = [&](char const* label, ProductPass const& pass) {
    std::int64_t const slots = std::int64_t(1) << pass.bits, table = table_bytes<Scalar>(pass.bits),
                       at_once =
                           std::max(1, static_cast<int>(exec.concurrency()) >> pass.lane_bits);
    std::int64_t const together = warp >> pass.lane_bits,
                       wanted = std::max<std::int64_t>(
                           1, std::min({at_once, budget / table, std::int64_t(task.count)}));
    auto const workers = static_cast<std::int32_t>((wanted + together - 1) / together * together);
    char* at = memory.take(exec, workers * table);
    auto const carve = [&]<class T>(T*& pointer, std::int64_t count) {
      pointer = reinterpret_cast<T*>(at);
      at += count * std::int64_t(sizeof(T));
    };
    carve(task.tables.sums, workers * slots);
    carve(task.tables.entries, workers * std::int64_t(most_entries(pass.bits)));
    carve(task.tables.columns, workers * slots);
    carve(task.tables.count, workers);
    task.workers = workers;
    empty_tables(exec, task.tables.columns, workers * slots, task.tables.count, workers);
    Kokkos::parallel_for(label,
                         Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>>(
                             exec, 0, workers << pass.lane_bits),
                         ProductRows<Exec, Scalar>{task});
  };
  auto const run_in_scratch = [&]<class Kernel>(char const* label, Kernel kernel) {
    std::int32_t const groups = Kernel::groups(task.lane_bits),
                       at_once = std::max(1, exec.concurrency() / (Kernel::warps * warp));
    auto const bytes =
        static_cast<int>(Kernel::bytes(task.lane_bits, task.tables.bits, task.lengths != nullptr));
    Kokkos::parallel_for(
        label,
        row_policy<Exec, Kernel::warps>(
            exec, std::clamp((task.count + groups - 1) / groups, 1, at_once), bytes + 16),
        kernel);
  };
  /// Runs a pass, as set in `task`, over rows with at least `shortest` entries.
  auto const run = [&](char const* label, ProductPass const& pass, std::int32_t shortest) {
    task.shortest = shortest;
    task.lane_bits = pass.lane_bits;
    task.tables.bits = pass.bits;
    task.tables.limit = pass.limit;
    if (pass.by == ProductPass::threads)
      return Kokkos::parallel_for(
          label, Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>>(exec, 0, n),
          ShortProductLengths<Scalar>{x, y, Task::too_long, task.lengths});
    bool const sums_alike = pass.by == ProductPass::scratch_of_alike_rows,
               in_groups = sums_alike || (alike && task.lengths != nullptr);
    task.count = in_groups ? alike->groups : n;
    task.first = in_groups ? alike->first.data() : nullptr;
    if (sums_alike) return run_in_scratch(label, ProductOfAlikeRows<Exec, Scalar>{{task}});
    if (pass.by == ProductPass::scratch_of_warps)
      return run_in_scratch(label, ProductRowsInScratch<4, Exec, Scalar>{{task}});
    if (pass.by == ProductPass::scratch_of_warp)
      return run_in_scratch(label, ProductRowsInScratch<1, Exec, Scalar>{{task}});
    run_in_memory(label, pass);
  };
  auto const counted = [&]() -> ProductPattern<Exec> {
    auto offsets = allocate<std::int32_t>(exec, "Solder::csr::row_offsets", n + std::int64_t(1));
    RowTotals totals{0, Task::too_long};
    std::int32_t shortest = 0;
    for (auto const& pass :
         product_passes<Exec, Scalar>(lane_bits, terms, most, is_full, true, alike.has_value())) {
      if (shortest > 0) offsets = lengths_of_offsets(exec, offsets, n);
      task.lengths = offsets.data();
      run("Solder::product::count", pass, shortest);
      totals =
          offsets_of_lengths(exec, offsets.data(), n, LengthsInArray<std::int32_t>{task.lengths});
      if (totals.longest < Task::too_long) break;
      shortest = Task::too_long;
    }
    if (totals.longest >= Task::too_long)
      throw std::length_error("Solder::product: a row of the product has more than " +
                              std::to_string(most_entries(30) - warp) + " entries");
    check_product_entries<CsrMatrix<Scalar, Exec>>(totals.nonzeros);
    return {offsets, totals.nonzeros, totals.longest};
  };
  return computed(exec, task, n, Y.columns(), known != nullptr ? *known : counted(),
                  [&](std::int32_t longest) {
                    std::int32_t shortest = 0;
                    for (auto const& pass : product_passes<Exec, Scalar>(
                             lane_bits, terms, longest, is_full, false, alike.has_value())) {
                      run("Solder::product::entries", pass, shortest);
                      if (pass.limit >= longest) break;
                      shortest = std::max(shortest, pass.limit + 1);
                    }
                  });
}

/// \brief See Solder::product. Y must have no duplicates.
/// \param known null: count the entries of the rows
/// \param in_nodes look for successive rows with the same columns
template <class Scalar, class Exec>
CsrMatrix<Scalar, Exec> product(Exec const& exec, CsrMatrix<Scalar, Exec> const& X,
                                CsrMatrix<Scalar, Exec> const& Y, ProductMemory<Exec>& memory,
                                ProductPattern<Exec> const* known = nullptr,
                                bool in_nodes = false) {
  if constexpr (is_host_space<Exec>)
    return product_on_hosts(exec, X, Y, memory, known);
  else
    return product_on_gpus(exec, X, Y, memory, known, in_nodes);
}

}  // namespace Impl

/// \brief X Y, with ascending columns in each row; the same bits in each run.
///
/// Gustavson's algorithm. Terms are added in the order of X's row. On GPUs it runs twice, for the
/// lengths of the rows and for their entries. There each row is summed in a table of its own, by
/// about as many lanes as a row of Y has entries; up to three successive rows with the same columns
/// in X, such as those of the unknowns of a node, share a table if that halves the number of
/// tables. The tables are in scratch, except those of rows with some thousand entries. On hosts it
/// runs once: each thread has a word per column of Y and memory for its longest row, and keeps its
/// rows until all lengths are known, so that the product is in memory twice for a moment. The words
/// and the tables in memory take up to 64 MB, or a third of the memory of X and Y if that is more,
/// but at least what one thread needs. Waits for the device.
/// \throws std::invalid_argument if X does not have as many columns as Y has rows
/// \throws std::length_error if the product has more than 2^31 - 2^16 - 1 entries
/// \ingroup matrices
template <class Scalar, class Exec>
CsrMatrix<Scalar, Exec> product(Exec const& exec, CsrMatrix<Scalar, Exec> const& X,
                                CsrMatrix<Scalar, Exec> const& Y) {
  if (X.columns() != Y.rows())
    throw std::invalid_argument("Solder::product: a matrix of " + std::to_string(X.columns()) +
                                " columns cannot be multiplied by one of " +
                                std::to_string(Y.rows()) + " rows");
  Impl::ProductMemory<Exec> memory;
  return Impl::product<Scalar, Exec>(exec, X, sum_duplicates(exec, Y), memory, nullptr, true);
}

}  // namespace Solder
