// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "repeat.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
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

Report solve_repeatedly(int repeat, std::function<Report()> const& solve) {
  Report first = solve();
  std::vector<double> seconds{first.solve_seconds};
  for (int i = 2; i <= repeat; ++i) {
    Report const report = solve();
    seconds.push_back(report.solve_seconds);
    if (report.iterations != first.iterations ||
        !std::equal(report.history.begin(), report.history.end(), first.history.begin(),
                    first.history.end(), same_bits))
      throw std::runtime_error(concat("repeat ", std::to_string(i), " went another way than the ",
                                      "first: ", std::to_string(report.iterations),
                                      " iterations, not ", std::to_string(first.iterations),
                                      ", or other residuals"));
  }
  first.solve_seconds = median(seconds);
  return first;
}

}  // namespace Solder::Driver
