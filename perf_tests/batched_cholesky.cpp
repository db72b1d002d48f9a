// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched_cholesky.hpp"

#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <solder/kernels/batched_cholesky.hpp>
#include <stdexcept>

#include "contest.hpp"
#include "driver/solve.hpp"
#include "text.hpp"

namespace Solder::Perf {
namespace {

constexpr int most_different = 16;

/// C + m I, C symmetric with entries from -1 to 1.
template <class T>
std::vector<T> make_matrices(int count, int m) {
  std::vector<T> values(std::size_t(count) * m * m);
  std::uint64_t state = 1;
  for (int b = 0; b < count; ++b)
    for (int r = 0; r < m; ++r)
      for (int c = 0; c <= r; ++c) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        T const entry = T(double(state >> 11) * 0x1p-52 - 1 + (c == r ? m + 1 : 0));
        T* const matrix = values.data() + std::size_t(b) * m * m;
        matrix[r * m + c] = matrix[c * m + r] = entry;
      }
  return values;
}

/// The largest ||A - L L^T|| / ||A|| of the different matrices, by Frobenius norms of the lower
/// triangles.
template <class T>
double error(MatrixBatch<T> const& batch, std::vector<T> const& factors, bool by_columns) {
  double worst = 0;
  int const m = batch.order;
  std::vector<double> L(batch.entries_of_one());
  for (int b = 0; b < batch.different(); ++b) {
    T const* const A = batch.values.data() + b * L.size();
    T const* const F = factors.data() + b * L.size();
    for (int r = 0; r < m; ++r)
      for (int c = 0; c <= r; ++c) L[r * m + c] = by_columns ? F[c * m + r] : F[r * m + c];
    double difference = 0, norm = 0;
    for (int r = 0; r < m; ++r)
      for (int c = 0; c <= r; ++c) {
        double sum = A[r * m + c];
        norm += sum * sum;
        for (int k = 0; k <= c; ++k) sum -= L[r * m + k] * L[c * m + k];
        difference += sum * sum;
      }
    double const relative = std::sqrt(difference / norm);
    worst = relative <= worst ? worst : relative;  // NaN stays
  }
  return worst;
}

template <class T>
std::vector<Product<T>> factor_with_solder(std::string const& space, MatrixBatch<T> const& batch,
                                           Batches const& request) {
  using HostVector = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using HostConst =
      Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  std::vector<Product<T>> products;
  Driver::with_space(space, [&]<class Exec>(Exec const& exec) {
    using Memory = typename Exec::memory_space;
    using Vector = Kokkos::View<T*, Memory>;
    std::size_t const one = batch.entries_of_one(), all = batch.count * one,
                      some = batch.values.size();
    auto const make = [&](std::string const& label, std::size_t size) {
      return Vector(Kokkos::view_alloc(exec, label, Kokkos::WithoutInitializing), size);
    };
    Vector const original = make("Solder::Perf::original", some);
    Kokkos::deep_copy(exec, original, HostConst(batch.values.data(), some));
    Vector const matrices = make("Solder::Perf::matrices", all * request.launches);
    Kokkos::View<std::int32_t*, Memory> const info(Kokkos::view_alloc(exec, "Solder::Perf::info"),
                                                   batch.count);
    auto const restore = [&] {
      for (int k = 0; k < request.launches; ++k)
        for (std::size_t done = 0; done < all; done += some) {
          std::size_t const now = std::min(some, all - done), at = k * all + done;
          Kokkos::deep_copy(exec, Kokkos::subview(matrices, std::make_pair(at, at + now)),
                            Kokkos::subview(original, std::make_pair(std::size_t(0), now)));
        }
    };
    for (bool const by_columns : {false, true}) {
      int const m = batch.order;
      Kokkos::LayoutStride const layout(batch.count, one, m, by_columns ? 1 : m, m,
                                        by_columns ? m : 1);
      auto const factor = [&](int k) {
        Kokkos::View<T***, Kokkos::LayoutStride, Memory,
                     Kokkos::MemoryTraits<Kokkos::Unmanaged>> const A(matrices.data() + k * all,
                                                                      layout);
        batched_cholesky(exec, A, info);
      };
      auto seconds = time_in_place(request, restore, factor,
                                   [&] { exec.fence("Solder::Perf::factors done"); });
      std::vector<T> factors(some);
      Kokkos::deep_copy(exec, HostVector(factors.data(), some),
                        Kokkos::subview(matrices, std::make_pair(std::size_t(0), some)));
      exec.fence("Solder::Perf::factors copied");
      products.push_back(
          {by_columns ? "by columns" : "by rows", std::move(seconds), std::move(factors)});
    }
  });
  return products;
}

template <class T>
std::vector<Product<T>> factor_with([[maybe_unused]] std::string const& peer,
                                    [[maybe_unused]] MatrixBatch<T> const& batch,
                                    [[maybe_unused]] Batches const& request) {
#ifdef SOLDER_PERF_VENDOR_CHOLESKY
  if (peer == "vendor") return factor_with_vendor(batch, request);
#endif
  if (peer == "kokkos_kernels")
    throw std::runtime_error("its batched routines have no dense Cholesky factorization");
  return {};
}

template <class T>
Contest run(int order, SizesConfig const& config, std::vector<std::string> const& peers,
            Machine::Space const& space) {
  bool const host = Driver::on_host(config.space);
  double const bytes = double(config.count) * order * (order + 1) * sizeof(T);
  Contest contest{std::string("A = L L^H, ") + (config.single_precision ? "float" : "double"),
                  config.count, order, bytes, space.bandwidth.copy};
  auto const values = make_matrices<T>(std::min(config.count, most_different), order);
  MatrixBatch<T> const batch{config.count, order, values};
  // As many batches of matrices as fit 1 GB, for the small kernels' sake.
  double const gigabyte = 1e9 / (double(config.count) * order * order * sizeof(T));
  Batches const request{static_cast<int>(std::clamp(gigabyte, 1.0, 50.0)), host ? 3 : 9, !host,
                        host ? space.concurrency : 0};
  for (auto const& product : factor_with_solder(config.space, batch, request)) {
    double const residual = error(batch, product.result, product.variant == "by columns");
    if (!(residual <= 50.0 * order * std::numeric_limits<T>::epsilon()))
      throw std::runtime_error(
          format("Solder's factors of matrices of order %d, stored %s, are wrong by %.1e", order,
                 product.variant.c_str(), residual));
    contest.add("solder", product.variant, product.seconds, residual);
  }
  for (std::string const& peer : peers) {
    std::string why_not = "does not run in this space";
    try {
      auto const products = factor_with(peer, batch, request);
      for (auto const& product : products)
        contest.add(peer, product.variant, product.seconds, error(batch, product.result, true));
      if (!products.empty()) continue;
    } catch (std::exception const& error) {
      why_not = error.what();
    }
    contest.add_absent(peer + ": " + why_not);
  }
  return contest;
}

}  // namespace

SizesConfig read_batched_cholesky(std::filesystem::path const& file,
                                  std::vector<std::string> const& assignments,
                                  Driver::Errors& errors) {
  SizesConfig const defaults{13'000, {16, 32, 64, 96, 128, 160, 192, 224, 256}, false, "default"};
  return read_sizes({"batched_cholesky", "matrices", 10'000'000, "orders", 4096}, defaults, file,
                    assignments, errors);
}

nlohmann::ordered_json time_batched_cholesky(SizesConfig const& config,
                                             std::vector<std::string> const& peers,
                                             Machine& machine) {
  Machine::Space const& space = machine.at(config.space);
  ContestTable const table("order");
  std::vector<Contest> contests;
  std::cout << table.heading(space.bandwidth.copy);
  for (int const order : config.sizes) {
    contests.push_back(config.single_precision ? run<float>(order, config, peers, space)
                                               : run<double>(order, config, peers, space));
    std::cout << table.lines(contests.back()) << std::flush;
  }
  std::cout << table.means(contests);
  return table.json(contests);
}

}  // namespace Solder::Perf
