// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "contest.hpp"
#include "driver/solve.hpp"
#include "text.hpp"

namespace Solder::Perf {
namespace {

template <class T, class Exec>
using Vector = Kokkos::View<T*, typename Exec::memory_space>;

template <class T, class Exec>
Vector<T, Exec> vector(Exec const& exec, std::int64_t rows) {
  return Vector<T, Exec>(
      Kokkos::view_alloc(exec, "Solder::Perf::vector", Kokkos::WithoutInitializing),
      static_cast<std::size_t>(rows));
}

template <class T, class Exec>
void fill(Exec const& exec, Vector<T, Exec> const& a) {
  Kokkos::parallel_for(
      "Solder::Perf::fill", Kokkos::RangePolicy<Exec>(exec, 0, a.extent(0)),
      KOKKOS_LAMBDA(std::int64_t i) { a[i] = T(i % 1000); });
}

template <class T, class Exec>
void copy(Exec const& exec, std::int64_t rows, Vector<T, Exec> const& a, Vector<T, Exec> const& b) {
  Kokkos::parallel_for(
      "Solder::Perf::copy", Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { b[i] = a[i]; });
}

/// Rows that the copy got wrong.
template <class T, class Exec>
std::int64_t wrong(Exec const& exec, std::int64_t rows, Vector<T, Exec> const& a,
                   Vector<T, Exec> const& b) {
  std::int64_t count = 0;
  Kokkos::parallel_reduce(
      "Solder::Perf::wrong", Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t & sum) { sum += b[i] != a[i]; }, count);
  return count;
}

template <class T>
std::vector<Contest> run(SizesConfig const& config, Machine::Space const& space) {
  std::vector<Contest> contests;
  Driver::with_space(config.space, [&]<class Exec>(Exec const& exec) {
    auto const fence = [&] { exec.fence("Solder::Perf: copies done"); };
    auto const a = vector<T>(exec, *std::max_element(config.sizes.begin(), config.sizes.end()));
    fill(exec, a);
    for (int const rows : config.sizes) {
      double const bytes = 2.0 * rows * sizeof(T);
      Contest& contest =
          contests.emplace_back(Contest{std::string("b = a, ") + std::string(scalar_name<T>()),
                                        rows, 1, bytes, space.bandwidth.copy});
      auto const b = vector<T>(exec, rows);
      Kokkos::deep_copy(exec, b, T(-1));
      Batches const request{launches_for(bytes / space.bandwidth.copy), config.count,
                            !Driver::on_host(config.space), space.concurrency};
      auto const seconds = time_batches(
          request, [&] { copy(exec, rows, a, b); }, fence);
      if (wrong(exec, rows, a, b) > 0)
        throw std::runtime_error(format("a copy of %d rows is not what was copied", rows));
      contest.add("solder", "copy", seconds, 0);
    }
  });
  return contests;
}

}  // namespace

SizesConfig read_copy(std::filesystem::path const& file,
                      std::vector<std::string> const& assignments, Driver::Errors& errors) {
  constexpr int most_rows = 2'000'000'000, most_batches = 1000;
  SizesConfig defaults{15, {}, false, "default"};
  for (int rows = 1024; rows <= 1 << 27; rows *= 2) defaults.sizes.push_back(rows);
  return read_sizes({"copy", "batches", most_batches, "rows", most_rows}, defaults, file,
                    assignments, errors);
}

nlohmann::ordered_json time_copy(SizesConfig const& config, Machine& machine) {
  Machine::Space const& space = machine.at(config.space);
  ContestTable const table("columns");
  auto const contests =
      config.single_precision ? run<float>(config, space) : run<double>(config, space);
  std::cout << table.heading(space.bandwidth.copy);
  for (Contest const& contest : contests) std::cout << table.lines(contest);
  return table.json(contests);
}

}  // namespace Solder::Perf
