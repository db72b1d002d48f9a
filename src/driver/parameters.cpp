// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "parameters.hpp"

#include <cstdint>
#include <string>
#include <type_traits>

#include "methods.hpp"

namespace Solder::Driver {
namespace {

/// Adds the options that count.
template <class Options>
void add(Parameters& to, Options const& options, Choices const& choices = {}) {
  for_each_option_that_counts(options, choices, [&](auto const& option) {
    using Described = std::remove_cvref_t<decltype(option)>;
    auto const value = options.*option.member;
    if constexpr (Described::has_words)
      to.set(option.name, option.word(value));
    else if constexpr (Described::is_integer)
      to.set(option.name, static_cast<std::int64_t>(value));
    else
      to.set(option.name, value);
  });
}

Parameters parameters_of(PreconditionerConfig const& config) {
  std::string const& name = config.name;
  Parameters all{{"name", name}};
  if (name == "fsai" || name == "amg") all.set("precision", config.precision);
  if (name == "fsai") add(all, config.fsai);
  add(all, config.scaling);
  if (is_incomplete(config)) add(all, config.incomplete, {{"name", name}});
  if (name == "amg") {
    all.set("near_nullspace", config.near_nullspace);
    add(all, config.amg, {{"near_nullspace", config.near_nullspace}});
  }
  if (name == "chebyshev") {
    add(all, config.chebyshev);
    Parameters inner{{"name", config.inner}};
    if (config.inner == "fsai") add(inner, config.fsai);
    all.set("inner", inner);
  }
  return all;
}

}  // namespace

Parameters parameters_of(RunConfig const& run, std::string_view matrix_format) {
  Parameters all{{"name", run.solver.name},
                 {"runner", run.execution.runner},
                 {"matrix_format", matrix_format},
                 {"check_symmetry", false},
                 {"preconditioner", parameters_of(run.preconditioner)}};
  if (run.solver.name == "auto") all.set("candidates", run.solver.automatic.candidates);
  add(all, shared_options(run.solver));
  for_each(solver_methods, [&](auto const& method) {
    if (method.is(run.solver.name)) add(all, run.solver.*method.options);
  });
  return all;
}

}  // namespace Solder::Driver
