// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace Solder::Driver {

/// \brief What follows the program's name, for people.
inline constexpr std::string_view usage_of_arguments =
    "FILE.yaml|MATRIX.mtx[.gz] [more ...] [--set section.key=value ...]";

/// \brief The first page of help: what the program takes, and what else there is help for. At most
/// 60 lines of at most 100 characters, as every page that a person asks for by a method's name.
/// \param program as it was called
std::string help_text(std::string_view program);

/// \brief The page of a topic: a section of the YAML file, a solver, a preconditioner, a generator,
/// a key, or `all`; made of the schema. Empty where there is none.
std::string help_text(std::string_view program, std::string_view topic);

/// \brief All topics.
std::vector<std::string_view> help_topics();

/// \brief What a build has: solvers with their forms, preconditioners, generators, runners, matrix
/// formats, and these spaces and scalars.
std::string list_text(std::vector<std::string_view> const& spaces,
                      std::vector<std::string_view> const& scalars);

/// \brief What a word of solver.name, preconditioner.name or problem.generate stands for.
std::string_view what_is(std::string_view key, std::string_view word);

}  // namespace Solder::Driver
