// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "repeat.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "errors.hpp"

namespace Solder::Driver {
namespace {

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);  // NaN is NaN
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t const half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::vector<Report> solve_repeatedly(int repeat, std::function<std::vector<Report>()> const& solve,
                                     std::string_view each) {
  std::vector<Report> first = solve();
  std::vector<std::vector<double>> seconds;
  for (Report const& report : first) seconds.push_back({report.solve_seconds});
  for (int i = 2; i <= repeat; ++i) {
    std::vector<Report> const reports = solve();
    for (std::size_t c = 0; c < first.size(); ++c) {
      Report const &now = reports[c], &before = first[c];
      seconds[c].push_back(now.solve_seconds);
      first[c].busy_cores = std::max(before.busy_cores, now.busy_cores);
      if (now.iterations == before.iterations &&
          same_bits(now.true_relative_residual, before.true_relative_residual) &&
          std::equal(now.history.begin(), now.history.end(), before.history.begin(),
                     before.history.end(), same_bits))
        continue;
      std::string const of_column =
          first.size() > 1 ? concat(" for ", each, " ", std::to_string(c + 1), " (counted from 1)")
                           : "";
      throw std::runtime_error(concat("repeat ", std::to_string(i), " differs from the ",
                                      "first solve", of_column, ": ",
                                      std::to_string(now.iterations), " iterations, not ",
                                      std::to_string(before.iterations), ", or other residuals"));
    }
  }
  for (std::size_t c = 0; c < first.size(); ++c) first[c].solve_seconds = median(seconds[c]);
  return first;
}

}  // namespace Solder::Driver
