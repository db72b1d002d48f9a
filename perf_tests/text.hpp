// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "driver/report/records.hpp"
#include "driver/report/text.hpp"
#include "driver/text.hpp"

/// Lines of tables have at most Driver::most_columns characters.
namespace Solder::Perf {

using Driver::counted;
using Driver::format;

/// \brief The quartiles of times, in microseconds: "14.1 to 14.9"; "-" of fewer than three.
inline std::string quartiles_text(std::vector<double> const& seconds) {
  if (seconds.size() < 3) return "-";
  Charts::Quartiles const q = Charts::quartiles(seconds);
  auto const text = [](double us) { return us < 100 ? Charts::number(us, 3) : format("%.0f", us); };
  return text(q.lower * 1e6) + " to " + text(q.upper * 1e6);
}

}  // namespace Solder::Perf
