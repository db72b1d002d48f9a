// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <solder/core/options.hpp>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "config.hpp"

namespace Solder::Driver {

/// \brief What has options of its own: its name in YAML, or its names, and where a configuration
/// keeps them.
template <class Config, class Options_>
struct Method {
  using Options = Options_;

  std::array<std::string_view, 6> names{};  ///< the rest is empty
  Options Config::*options;

  constexpr Method(std::string_view name, Options Config::*options_)
      : names{name}, options(options_) {}
  /// \brief The words of an enumeration.
  template <HasWords Enum>
  constexpr Method(Enum which, Options Config::*options_) : options(options_) {
    std::size_t next = 0;
    for (auto const& each : words_of(which)) names[next++] = each.word;
  }

  constexpr bool is(std::string_view name) const {
    for (std::string_view each : names)
      if (!each.empty() && each == name) return true;
    return false;
  }
  /// \brief The names that there are.
  std::vector<std::string_view> all_names() const {
    std::vector<std::string_view> all(names.begin(), names.end());
    std::erase(all, std::string_view());
    return all;
  }
};

/// \brief All of solver.name.
inline constexpr std::tuple solver_methods{
    Method("auto", &SolverConfig::automatic), Method("cg", &SolverConfig::cg), Method("block_cg", &SolverConfig::block_cg),
    Method("bicgstab", &SolverConfig::bicgstab), Method("gmres", &SolverConfig::gmres),
    Method("idr", &SolverConfig::idr)};

/// \brief All of preconditioner.name but auto, none and jacobi, which have no options.
inline constexpr std::tuple preconditioner_methods{
    Method("fsai", &PreconditionerConfig::fsai),
    Method("chebyshev", &PreconditionerConfig::chebyshev),
    Method(Factorisation{}, &PreconditionerConfig::incomplete),
    Method("amg", &PreconditionerConfig::amg)};

/// \brief Calls f(method) for each of them.
template <class... Methods, class Function>
constexpr void for_each(std::tuple<Methods...> const& methods, Function const& f) {
  std::apply([&](auto const&... method) { (f(method), ...); }, methods);
}

/// \brief Whether it is an incomplete factorisation.
inline bool is_incomplete(PreconditionerConfig const& config) {
  return Method(Factorisation{}, &PreconditionerConfig::incomplete).is(config.name);
}

/// \brief What the solver that is named shares with all others; cg's where none is.
///
/// \tparam Config SolverConfig, or const
template <class Config>
constexpr auto& shared_options(Config& solver) {
  using Shared = std::conditional_t<std::is_const_v<Config>, SolverOptions const, SolverOptions>;
  Shared* shared = &solver.cg;
  for_each(solver_methods, [&](auto const& method) {
    if (method.is(solver.name)) shared = &(solver.*method.options);
  });
  return *shared;
}

/// \brief The form that a solver is to have; empty where it has no forms.
constexpr std::string_view form_of(SolverConfig const& solver) {
  std::string_view form;
  for_each(solver_methods, [&](auto const& method) {
    if (method.is(solver.name)) form = word_of_option(solver.*method.options, "form");
  });
  return form;
}

}  // namespace Solder::Driver
