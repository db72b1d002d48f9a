// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <solder/core/report.hpp>
#include <solder/matrix/symmetry.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "problem.hpp"

namespace Solder::Driver {

/// \brief What ranks had of a run, and what they said to each other. One rank: nothing.
struct RanksReport {
  std::vector<std::int64_t> rows, nonzeros;  ///< of each rank
  std::vector<std::int64_t> ghosts;          ///< entries of x that each needs of others
  /// Share of the solve in which each waited for the others: in sums, and for ghosts under way.
  std::vector<double> waited;
  double sums_per_iteration = 0;       ///< all-reduces; those before and after iterations count
  double exchanges_per_iteration = 0;  ///< of ghosts, likewise
};

/// \brief The results of a run.
template <class T>
struct Solved {
  Report report;  ///< of all right-hand sides or systems (see summary()), with the median time of
                  ///< the repeats
  std::string space;
  std::string matrix_format;         ///< csr, sell, ell or block
  std::string format_reason;         ///< why this format, in words
  std::optional<Symmetry> symmetry;  ///< of the matrix, if it was checked
  std::vector<T> solution;           ///< entry i of column c, out of k, is number i * k + c
  std::vector<Report> columns;       ///< of each right-hand side, or of each system of a batch
  std::vector<double> seconds;       ///< of each repeat, all right-hand sides or systems together
  std::optional<RanksReport> ranks;  ///< where there are several
};

/// \brief Solves from x = 0, execution.repeat times, on the space, with the solver, preconditioner,
/// runner and matrix format of `run`. Throws std::bad_alloc or std::runtime_error if memory does
/// not suffice, and std::runtime_error if the repeats differ in iterations or residuals. If the
/// solver cannot be used for the matrix (see refusal in symmetry.hpp), nothing is solved and x = 0.
/// Needs Kokkos initialised. All ranks call this together; the first one gets the solution, if the
/// output wants it.
template <class T>
Solved<T> solve(RunConfig const& run, System<T> const& system, Monitor const& monitor);

/// \brief What the matrix of a run is, and what its solver would try, in which order and why; for
/// people. Nothing is set up.
template <class T>
std::string explain(RunConfig const& run, System<T> const& system);

/// \brief The YAML names of the execution spaces of this build, "default" first. Works before
/// Kokkos is initialised.
std::vector<std::string_view> space_names();

/// \brief Whether this build has this space: one of space_names(), or "gpu", the default space
/// where that is a GPU's.
bool has_space(std::string_view space);

/// \brief What is wrong with a space that the build does not have, and what is to be done.
std::string not_in_build(std::string_view space);

/// \brief Whether this space, which the build has, works in main memory.
bool on_host(std::string_view space);
/// \brief Whether it always is a single thread of a host. Needs no initialised Kokkos.
bool is_one_thread(std::string_view space);

/// \brief "4.6.99".
std::string kokkos_version();

/// \brief What the default execution space runs on: the name of a GPU, or of a CPU and its threads.
std::string device_name();

}  // namespace Solder::Driver
