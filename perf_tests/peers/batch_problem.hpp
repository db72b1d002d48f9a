// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "peer.hpp"

/// \brief Other libraries' solves of many independent systems at once
namespace Solder::Perf {

/// \brief A block diagonal system: rows starts[k] to starts[k + 1] - 1 are system k.
template <class Scalar>
struct BatchProblem {
  PeerProblem<Scalar> all;
  std::vector<std::int32_t> const& starts;

  int systems() const { return static_cast<int>(starts.size()) - 1; }
};

/// \brief How to solve it, each system from x = 0, and how often.
struct BatchRequest {
  std::string solver, preconditioner;  ///< as the driver names them
  double tolerance;                    ///< of a system: ||b - A x|| / ||b||, of the recursion
  int max_iterations;
  int repeats;  ///< timed solves
  bool on_device;
  int threads;  ///< of the host
};

/// \brief One way in which a library solved it
template <class Scalar>
struct BatchTiming {
  std::string variant;
  std::string teams;            ///< how many threads had a system, or some, in words
  std::vector<double> seconds;  ///< of each solve of all systems, set-up excluded
  std::vector<int> iterations;  ///< of each system
  std::vector<Scalar> solution;
};

// Each returns its variants, or nothing when it does not run there; may throw std::exception, which
// says what it does not take. For float and double.
template <class Scalar>
std::vector<BatchTiming<Scalar>> solve_batch_with_kokkos_kernels(BatchProblem<Scalar> const&,
                                                                 BatchRequest const&);

}  // namespace Solder::Perf
