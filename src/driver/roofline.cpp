// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "roofline.hpp"

#include <cmath>
#include <map>
#include <string>

#include "bandwidth.hpp"
#include "spaces.hpp"

namespace Solder::Driver {
namespace {

/// The bytes of a step of IDR(s) if its operations, including smoothing, are not fused: s + 1 steps
/// move 22 + 55/2 s + 9/2 s^2 vectors and the matrix s + 1 times (paper 5, section 6).
double bytes_of_model(RunResult const& result, double scalar) {
  double const s = static_cast<double>(shadow_dimension(result)),
               vectors = 22 + 55.0 / 2 * s + 9.0 / 2 * s * s;
  return vectors / (s + 1) * scalar * double(result.rows) + (scalar + 4) * double(result.nonzeros);
}

}  // namespace

double copy_bandwidth(std::string_view space) {
  static std::map<std::string, double> measured;  // "default" is one of the others
  double copy = 0;
  with_space(space, [&](auto const& exec) {
    auto const place = measured.find(exec.name());
    copy = place != measured.end() ? place->second
                                   : measured[exec.name()] = BandwidthTest(exec).copy();
  });
  return copy;
}

Roofline roofline(RunResult const& result) {
  double const scalar = bytes_of(result.config->problem.scalar),
               model = bytes_of_model(result, scalar),
               could = result.copy_bandwidth * result.report.solve_seconds;
  double bytes = 0, of_model = 0;
  for (Report const& column : result.columns) {
    bytes += column.iterations * column.words_per_iteration * scalar;
    of_model += column.iterations * model;
  }
  bool const is_known = bytes > 0 && could > 0,
             is_plain_idr = result.config->solver.name == "idr" &&
                            result.config->preconditioner.name == "none";
  return {is_known ? bytes / could : std::nan(""),
          is_known && is_plain_idr ? of_model / could : std::nan("")};
}

}  // namespace Solder::Driver
