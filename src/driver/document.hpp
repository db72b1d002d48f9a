// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "errors.hpp"

namespace Solder::Driver {

/// \brief A value as it was written, and where.
struct Text {
  std::string text;
  bool quoted = false;
  std::string where;             ///< "file:line" or "--set ..."
  std::filesystem::path folder;  ///< what a relative path in it is relative to
};

/// \brief `section: {name: values}`; several values where a list was written. A key at the top of
/// the file that holds no mapping has an empty section. There are no values where there is nothing
/// that could have one: at the top, and of names that no key has.
struct Entry {
  std::string section, name;
  std::vector<Text> values;
  std::string where;

  std::string full_name() const { return section.empty() ? name : section + "." + name; }
};

/// \brief A YAML document as sections of keys; names and values are not checked yet.
struct Document {
  std::filesystem::path file;
  std::vector<Entry> entries;
  /// What was refused, so that nothing may be concluded from it: a key "section.name"; with
  /// "section" those of its keys that are not there, which may have been misspelt; with "" those of
  /// all sections.
  std::set<std::string, std::less<>> unclear{};

  Entry const* find(std::string_view full_name) const;
  /// \brief Whether it is known what the document says of a key: its values, or that it has none.
  bool is_clear(std::string_view full_name) const;
};

/// \brief Reads the documents of a file, which `---` separates; none of a file that is not YAML.
/// What is not two levels of mappings with scalars or lists of scalars in them, and what is given
/// twice, goes to `errors` with its line, and is unclear. Of a file that ceases to be YAML there
/// are the documents before.
///
/// The first document's `output` is that of all; a later one that has its own is an error.
std::vector<Document> read_documents(std::filesystem::path const& file, Errors& errors);

/// \brief Reads "section.key=value" of the command line, the value written as in YAML ([1, 2]
/// sweeps). An entry without values stands for an empty value; nothing after an error.
std::optional<Entry> read_assignment(std::string const& assignment, Errors& errors);

/// \brief What a refused assignment may have been meant for: a key, or all of its section.
std::vector<std::string> meant_keys(std::string_view assignment);

/// \brief Replaces the entry of that name or adds it; without values: removes it. It is clear then.
void apply_assignment(Document& document, Entry const& assignment);

/// \brief A text of the user's for a message: quoted, shortened, unprintable characters as '?'.
std::string shown(std::string_view text);

}  // namespace Solder::Driver
