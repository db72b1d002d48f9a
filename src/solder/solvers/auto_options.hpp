// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <solder/core/names.hpp>
#include <solder/core/options.hpp>
#include <solder/core/report.hpp>

namespace Solder {

/// \brief Options of make_solver()'s `name: auto`, besides those that every solver has;
/// max_iterations limits all candidates together.
struct AutoOptions : SolverOptions {
  /// Seconds of a solve, including set-ups in it, and of all set-ups before it; 0: no limit.
  double time_limit = 0;
  /// Candidates to try in place of the table's, in order: "cg+amg gmres+ilu0"; empty: the table's.
  std::string candidates;

  /// \brief Names, ranges and purposes of the options that are numbers; see core/options.hpp.
  static constexpr auto described() {
    return std::tuple(Option("time_limit", &AutoOptions::time_limit, at_least(0),
                             "seconds after which auto gives up; 0: never"));
  }
};

namespace Impl {

/// \brief The solvers that auto chooses from.
inline constexpr std::array<std::string_view, 4> solvers_of_auto{"cg", "bicgstab", "gmres", "idr"};

/// \brief A candidate of AutoOptions::candidates.
struct NamedCandidate {
  std::string solver, preconditioner;  ///< names
};

/// \brief Reads AutoOptions::candidates. An item that is wrong is left out, and refuse(text) is
/// told why. \param preconditioners the names of all, except auto
template <class Refuse>
std::vector<NamedCandidate> read_candidates(std::string_view list,
                                            std::vector<std::string_view> const& preconditioners,
                                            Refuse const& refuse) {
  std::vector<NamedCandidate> candidates;
  std::vector<std::string_view> const solvers(solvers_of_auto.begin(), solvers_of_auto.end());
  auto const is_one_of = [&](std::string_view name, std::vector<std::string_view> const& names,
                             std::string_view item, std::string const& what) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return true;
    std::string_view const near = nearest_name(name, names);
    refuse("'" + std::string(item) + "' has an unknown " + what + "; valid: " + listed(names) +
           (near.empty() ? "" : "; did you mean " + std::string(near) + "?"));
    return false;
  };
  bool is_empty = true;
  for (std::size_t at = 0; at < list.size();) {
    std::size_t const end = std::min(list.find_first_of(", \t", at), list.size());
    std::string_view const item = list.substr(at, end - at);
    at = end + 1;
    if (item.empty()) continue;
    is_empty = false;
    auto const plus = item.find('+');
    if (plus == std::string_view::npos) {
      refuse("'" + std::string(item) + "' must be solver+preconditioner, as in cg+amg gmres+ilu0");
      continue;
    }
    std::string_view const solver = item.substr(0, plus), preconditioner = item.substr(plus + 1);
    bool const has_solver = is_one_of(solver, solvers, item, "solver"),
               has_preconditioner =
                   is_one_of(preconditioner, preconditioners, item, "preconditioner");
    if (has_solver && has_preconditioner)
      candidates.push_back({std::string(solver), std::string(preconditioner)});
  }
  if (is_empty && !list.empty())
    refuse("'" + std::string(list) + "' has no candidate; write them as in cg+amg gmres+ilu0");
  return candidates;
}

}  // namespace Impl
}  // namespace Solder
