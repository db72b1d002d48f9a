// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "product.hpp"

/// \brief Other libraries' sparse triangular solves
namespace Solder::Perf {

/// \brief T x = b: the matrix of the system is triangular. The ones of a unit diagonal are not
/// stored.
template <class Scalar>
struct TriangularProblem {
  PeerProblem<Scalar> system;
  bool lower, unit_diagonal;
};

/// \brief How to time it
struct TriangularRequest {
  int preparations;  ///< at most
  int batches;       ///< of solves
  bool on_device;
  int threads;  ///< of the host
};

/// \brief One way in which a library solved it
template <class Scalar>
struct TriangularTiming {
  std::string variant;
  std::vector<double> analysis;  ///< seconds from a matrix in device memory to where it can solve
  std::vector<double> update;    ///< seconds until it has taken other values; empty: none needed
  std::vector<double> seconds;   ///< of a solve, in each batch
  std::vector<Scalar> solution;
};

/// \brief Seconds of prepare(), again and again after discard(): a few times, or for a second.
template <class Discard, class Prepare>
std::vector<double> time_preparation(TriangularRequest const& request, Discard const& discard,
                                     Prepare const& prepare) {
  std::vector<double> seconds;
  double total = 0;
  for (int i = 0; i < request.preparations && total < 1; ++i) {
    discard();
    auto const begin = Clock::now();
    prepare();
    seconds.push_back(seconds_between(begin, Clock::now()));
    total += seconds.back();
  }
  return seconds;
}

/// \brief Seconds of a launch, in each batch; a batch is as many as take a few milliseconds.
template <class Launch, class Fence>
std::vector<double> time_enough(TriangularRequest const& request, Launch const& launch,
                                Fence const& fence) {
  Batches batches{3, 3, request.on_device, request.threads};
  batches.launches = launches_for(median(time_batches(batches, launch, fence)));
  batches.batches = request.batches;
  return time_batches(batches, launch, fence);
}

// Each returns its variants, or nothing when it does not run there; may throw std::exception. For
// float and double.
template <class Scalar>
std::vector<TriangularTiming<Scalar>> solve_triangle_with_kokkos_kernels(
    TriangularProblem<Scalar> const&, TriangularRequest const&);
template <class Scalar>
std::vector<TriangularTiming<Scalar>> solve_triangle_with_vendor(TriangularProblem<Scalar> const&,
                                                                 TriangularRequest const&);

}  // namespace Solder::Perf
