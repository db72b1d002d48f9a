// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "multi_dot.hpp"

#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <solder/kernels/multi_dot.hpp>
#include <stdexcept>

#include "contest.hpp"
#include "driver/solve.hpp"
#include "text.hpp"

namespace Solder::Perf {
namespace {

constexpr int most_columns = 1024;

/// A basis and a vector of numbers from -1 to 1, and their inner products.
template <class T>
class Task {
 public:
  Task(std::int32_t rows, int columns)
      : rows_(rows),
        columns_(columns),
        values_(std::size_t(rows) * columns),
        y_(rows),
        expected_(columns),
        scale_(columns) {
    std::uint64_t state = 1;
    auto const next = [&] {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return T(double(state >> 11) * 0x1p-52 - 1);
    };
    for (T& v : y_) v = next();
    for (T& v : values_) v = next();
    for (int k = 0; k < columns; ++k)
      for (std::int32_t i = 0; i < rows; ++i) {
        double const term = double(values_[std::size_t(k) * rows + i]) * double(y_[i]);
        expected_[k] += term;
        scale_[k] += std::abs(term);
      }
  }

  Basis<T> basis() const { return {rows_, columns_, values_, y_}; }

  /// \brief The largest |h_k - (v_k, y)| / (|v_k|, |y|).
  template <class Result>
  double error(std::vector<Result> const& h) const {
    double worst = 0;
    for (std::size_t k = 0; k < h.size(); ++k) {
      double const relative = std::abs(double(h[k]) - expected_[k]) / scale_[k];
      worst = relative <= worst ? worst : relative;  // NaN stays
    }
    return worst;
  }

 private:
  std::int32_t rows_;
  int columns_;
  std::vector<T> values_, y_;
  std::vector<double> expected_, scale_;
};

template <class T>
std::vector<Product<double>> multi_dot_with_solder(std::string const& space, Basis<T> const& basis,
                                                   std::vector<int> const& counts,
                                                   Batches const& request) {
  using HostVector =
      Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  std::vector<Product<double>> products;
  Driver::with_space(space, [&]<class Exec>(Exec const& exec) {
    auto const to_device = [&](std::vector<T> const& host) {
      Kokkos::View<T*, typename Exec::memory_space> const device(
          Kokkos::view_alloc(exec, "Solder::Perf::basis", Kokkos::WithoutInitializing),
          host.size());
      Kokkos::deep_copy(exec, device, HostVector(host.data(), host.size()));
      return device;
    };
    auto const V = to_device(basis.values), y = to_device(basis.y);
    MultiDot<T, Exec> const multi_dot(exec, basis.rows, basis.columns);
    Kokkos::View<double*, typename Exec::memory_space> const h(
        Kokkos::view_alloc(exec, "Solder::Perf::h"), basis.columns);
    auto const fence = [&] { exec.fence("Solder::Perf::products done"); };
    for (int const columns : counts) {
      auto seconds = time_batches(
          for_columns(request, columns), [&] { multi_dot(V, basis.rows, columns, y, h); }, fence);
      std::vector<double> result(columns);
      Kokkos::deep_copy(exec, Kokkos::View<double*, Kokkos::HostSpace>(result.data(), columns),
                        Kokkos::subview(h, std::make_pair(0, columns)));
      fence();
      products.push_back({"merged", std::move(seconds), std::move(result), columns});
    }
  });
  return products;
}

template <class T>
std::vector<Product<T>> multi_dot_with([[maybe_unused]] std::string const& peer,
                                       [[maybe_unused]] Basis<T> const& basis,
                                       [[maybe_unused]] std::vector<int> const& counts,
                                       [[maybe_unused]] Batches const& request) {
#ifdef SOLDER_PERF_KOKKOS_KERNELS
  if (peer == "kokkos_kernels") return multi_dot_with_kokkos_kernels(basis, counts, request);
#endif
#ifdef SOLDER_PERF_VENDOR
  if (peer == "vendor") return multi_dot_with_vendor(basis, counts, request);
#endif
  return {};
}

template <class T>
std::vector<Contest> run(SizesConfig const& config, std::vector<std::string> const& peers,
                         Machine::Space const& space) {
  constexpr double batch_seconds = 5e-3, most_error = 1e-11;
  constexpr int batches = 15, rounds = 5;
  bool const host = Driver::on_host(config.space);
  Task<T> const task(config.count, *std::max_element(config.sizes.begin(), config.sizes.end()));
  Basis<T> const basis = task.basis();
  std::vector<Contest> contests;
  for (int const columns : config.sizes)
    contests.push_back({std::string("V^H y, ") + (config.single_precision ? "float" : "double"),
                        config.count, columns, (columns + 1.0) * config.count * sizeof(T),
                        space.bandwidth.copy});
  double const guess = 2.0 * config.count * sizeof(T) / space.bandwidth.copy;
  Batches request{static_cast<int>(std::clamp(batch_seconds / guess, 3.0, 2000.0)), batches, !host,
                  host ? space.concurrency : 0};
  auto const add = [&](std::string const& who, auto const& products) {
    for (auto const& product : products)
      for (std::size_t i = 0; i < contests.size(); ++i)
        if (config.sizes[i] == product.columns)
          contests[i].add(who, product.variant, product.seconds, task.error(product.result));
  };
  int const turns = host ? rounds : 1;
  request.batches = batches / turns;
  for (int turn = 0; turn < turns; ++turn) {
    add("solder", multi_dot_with_solder(config.space, basis, config.sizes, request));
    for (Contest const& contest : contests)
      if (!(contest.contestants[0].error <= most_error))
        throw std::runtime_error(format(
            "Solder's merged inner products of %d columns are wrong by %.1e of their terms' sum",
            static_cast<int>(contest.size), contest.contestants[0].error));
    for (std::string const& peer : peers) {
      std::string why_not = "does not run in this space";
      std::vector<Product<T>> products;
      try {
        products = multi_dot_with(peer, basis, config.sizes, request);
      } catch (std::exception const& error) {
        why_not = error.what();
      }
      add(peer, products);
      if (products.empty())
        for (Contest& contest : contests) contest.add_absent(peer + ": " + why_not);
    }
  }
  return contests;
}

}  // namespace

SizesConfig read_multi_dot(std::filesystem::path const& file,
                           std::vector<std::string> const& assignments, Driver::Errors& errors) {
  SizesConfig defaults{5'000'000, {}, false, "default"};
  for (int columns = 1; columns <= 32; ++columns) defaults.sizes.push_back(columns);
  return read_sizes({"multi_dot", "rows", 2'000'000'000, "columns", most_columns}, defaults, file,
                    assignments, errors);
}

nlohmann::ordered_json time_multi_dot(SizesConfig const& config,
                                      std::vector<std::string> const& peers, Machine& machine) {
  Machine::Space const& space = machine.at(config.space);
  ContestTable const table("columns");
  auto const contests = config.single_precision ? run<float>(config, peers, space)
                                                : run<double>(config, peers, space);
  std::cout << table.heading(space.bandwidth.copy);
  for (Contest const& contest : contests) std::cout << table.lines(contest);
  std::cout << table.means(contests);
  return table.json(contests);
}

}  // namespace Solder::Perf
