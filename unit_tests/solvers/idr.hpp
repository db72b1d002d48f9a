// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "solve.hpp"

#include <algorithm>

#include <solder/solvers/idr.hpp>

namespace SolderTest {

using Solder::Idr;
using Solder::IdrOptions;

inline std::string name_of(IdrOptions const& options) {
  return "idr(" + std::to_string(options.shadow_dimension) +
         (options.smoothing ? "), smoothed" : ")");
}

inline IdrOptions idr(int shadow_dimension, bool smoothing = false) {
  IdrOptions options;
  options.shadow_dimension = shadow_dimension;
  options.smoothing = smoothing;
  return options;
}

inline IdrOptions with_limits(IdrOptions options, double tolerance, int max_iterations,
                              Runner runner) {
  options.tolerance = tolerance;
  options.max_iterations = max_iterations;
  options.runner = runner;
  return options;
}

/// \brief Whether products with the shadow space are a kernel of their own.
inline bool has_shadow_kernel(IdrOptions const& options) { return options.shadow_dimension > 4; }

/// \brief With products with the shadow space in other stages, and in a kernel of their own.
template <>
struct Method<IdrOptions> {
  template <class Exec, class Matrix, class Preconditioner>
  using Solver = Idr<Exec, Matrix, Preconditioner>;

  /// As many cycles as have 16 steps, or one.
  static int iterations_of_a_batch(IdrOptions const& options) {
    int const cycle = options.shadow_dimension + 1;
    return cycle * std::max(1, 16 / cycle);
  }
  static std::vector<std::pair<std::string, IdrOptions>> forms() {
    std::vector<std::pair<std::string, IdrOptions>> list;
    for (auto const& options : {idr(1), idr(4), idr(4, true), idr(9), idr(9, true)})
      list.push_back({name_of(options), options});
    return list;
  }
};

}  // namespace SolderTest
