// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <limits>
#include <solder/core/options.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace Solder::Driver {

enum class Kind { word, integer, real, path, word_or_path, text };

/// \brief One key of the YAML file. The table of all keys (schema()) is the only description of
/// the input: validation, defaults, suggestions and --help all read it. The rows of a method's
/// options are made of what its options struct describes (solder/core/options.hpp).
struct Key {
  std::string_view section{};
  std::string_view name{};
  Kind kind = Kind::word;
  std::vector<std::string_view> words{};  ///< allowed words (word, word_or_path)
  double least = 0;                       ///< smallest allowed number; minus infinity: any
  double most = std::numeric_limits<double>::infinity();  ///< largest allowed number
  bool is_open = false;                                   ///< not least and most themselves
  std::string default_value{};                            ///< as one would write it; empty: none
  bool required = false;                                  ///< must be given where it applies
  bool sweeps = true;                                     ///< a list of values makes a sweep
  std::string selector{};  ///< "section.name" of the key that decides whether this one applies
  std::vector<std::string_view> for_values{};  ///< the values of the selector for which it applies
  std::string_view unless{};    ///< "section.name" of a key beside which this one does not apply
  std::string_view formerly{};  ///< the name that it had in an earlier version
  std::string_view help{};

  Interval range() const { return {least, most, is_open}; }
  std::string full_name() const { return std::string(section) + "." + std::string(name); }
  /// \brief To display: "float, double or ...", "an integer from 1 to 5", "a file".
  std::string allowed() const;
};

/// \brief All keys, in the order in which --help shows them.
std::vector<Key> const& schema();

/// \brief The names of the sections, in order.
std::vector<std::string_view> sections();

/// \brief The names of the keys of a section, each once; empty for an unknown section.
std::vector<std::string_view> keys_of(std::string_view section);

/// \brief The rows of the table with this name: more than one if a key's range depends on its
/// selector (problem.size), none for an unknown key.
std::vector<Key const*> rows_of(std::string_view section, std::string_view name);

/// \brief The valid name that the author of `name` most likely meant; empty if none is near. A
/// valid name is near if it differs by at most one edit per three letters (swapped neighbours count
/// as one edit; one edit is allowed in two letters), if `name` is a prefix of it with at least
/// three letters, or if it is a prefix of `name` with at least five letters.
std::string_view nearest(std::string_view name, std::vector<std::string_view> const& valid);

/// \brief "; did you mean 'name'?", or nothing for no name.
std::string suggestion(std::string_view name);

/// \brief "a, b or c".
std::string join(std::vector<std::string_view> const& words, std::string_view last = " or ");

}  // namespace Solder::Driver
