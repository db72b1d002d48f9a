// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <optional>
#include <solder/core/report.hpp>
#include <solder/matrix/symmetry.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "problem.hpp"

namespace Solder::Driver {

/// \brief What a run gave.
template <class T>
struct Solved {
  Report report;  ///< of all right-hand sides or systems (see summary()); the median time of the
                  ///< repeats
  std::string space;
  std::string matrix_format;         ///< csr, sell or ell
  std::string format_reason;         ///< why, in words
  std::optional<Symmetry> symmetry;  ///< of the matrix, where it was asked for
  std::vector<T> solution;           ///< entry i of column c of k is number i * k + c
  std::vector<Report> columns;       ///< of each right-hand side, or of each system of a batch
};

/// \brief Solves from x = 0, execution.repeat times, on the space, with the solver, preconditioner,
/// runner and matrix format of `run`. Throws std::bad_alloc or std::runtime_error if memory does
/// not suffice, std::runtime_error if the repeats differ in iterations or residuals. A matrix that
/// the solver cannot take (see refusal in symmetry.hpp) is not solved: x = 0. Needs Kokkos
/// initialised.
template <class T>
Solved<T> solve(RunConfig const& run, System<T> const& system,
                std::function<void(Progress const&)> const& monitor);

/// \brief YAML names of the execution spaces of this build, "default" first; works before Kokkos
/// starts.
std::vector<std::string_view> space_names();

/// \brief Does this space (one of space_names()) work in main memory?
bool on_host(std::string_view space);

/// \brief "4.6.99".
std::string kokkos_version();

/// \brief What the default execution space runs on: a GPU's name, or a CPU's and the threads.
std::string device_name();

}  // namespace Solder::Driver
