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

/// \brief A value as it was written, and where it was written.
struct Text {
  std::string text;
  bool quoted = false;
  std::string where;             ///< "file:line" or "--set ..."
  std::filesystem::path folder;  ///< what a relative path in it is relative to
};

/// \brief `section: {name: values}`, with several values if a list was written. A key at the top
/// level of the file that is not a mapping has an empty section. Values are only stored for known
/// keys: there are none at the top level or for unknown names.
struct Entry {
  std::string section, name;
  std::vector<Text> values;
  std::string where;

  std::string full_name() const { return section.empty() ? name : section + "." + name; }
};

/// \brief A YAML document as sections of keys. Names and values are not checked yet.
struct Document {
  std::filesystem::path file;
  std::vector<Entry> entries;
  /// What was refused, so that nothing can be concluded about it: a key "section.name"; "section"
  /// for all keys of a section that are not there, because they may have been misspelt; "" for such
  /// keys of all sections.
  std::set<std::string, std::less<>> unclear{};
  std::string text{};  ///< of the whole file; of its first document only

  Entry const* find(std::string_view full_name) const;
  /// \brief Whether it is known what the document says about a key: its values, or that it has
  /// none.
  bool is_clear(std::string_view full_name) const;
};

/// \brief Reads the documents of a file, which `---` separates; none if the file is not YAML.
/// A document must be two levels of mappings that contain scalars or lists of scalars, and must
/// give each key once. Everything else is added to `errors` with its line, and is unclear. If a
/// file stops being valid YAML, the documents before that point are returned.
///
/// The first document's `output` applies to all; a later document with its own is an error.
/// \param foreign a section that is not the driver's, whose keys have values all the same
std::vector<Document> read_documents(std::filesystem::path const& file, Errors& errors,
                                     std::string_view foreign = {});

/// \brief Reads "section.key=value" from the command line; the value is written as in YAML ([1, 2]
/// makes a sweep). An entry without values means an empty value. Returns nothing after an error.
std::optional<Entry> read_assignment(std::string const& assignment, Errors& errors);

/// \brief The keys that a refused assignment may have meant: one key, or all keys of its section.
std::vector<std::string> meant_keys(std::string_view assignment);

/// \brief Replaces or adds the entry with that name; removes it if there are no values. The key is
/// clear afterwards.
void apply_assignment(Document& document, Entry const& assignment);

/// \brief A user's text for a message: quoted, shortened, and with '?' for unprintable characters.
std::string shown(std::string_view text);

}  // namespace Solder::Driver
