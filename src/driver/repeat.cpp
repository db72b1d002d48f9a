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
#include "streams.hpp"
#include "text.hpp"
#include "world.hpp"

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
                                     std::string_view each,
                                     std::function<std::vector<Report>()> const& search) {
  std::vector<Report> const found = search && repeat > 1 ? search() : std::vector<Report>();
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
  for (std::size_t c = 0; c < found.size(); ++c) first[c].attempts = found[c].attempts;
  return first;
}

void introduce(RunConfig const& run, std::function<std::string()> const& explain) {
  if (run.output.introduces && run.chooses() && world().is_first())
    print(narrowed(concat(run.problem.name, "\n", explain()), width_of_output()));
}

}  // namespace Solder::Driver
