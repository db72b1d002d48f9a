// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "document.hpp"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "schema.hpp"
#include "text.hpp"
#include "world.hpp"

namespace Solder::Driver {
namespace {

namespace fs = std::filesystem;

/// Where a node was written: "file:line", or the command line option as it was given.
struct Source {
  std::string name;
  bool lines = true;
  fs::path folder;
  std::string_view foreign{};  ///< a section that is not the driver's, with values all the same

  std::string at(YAML::Mark const& mark) const {
    return lines && !mark.is_null() ? name + ":" + std::to_string(mark.line + 1) : name;
  }
};

Text text_of(YAML::Node const& node, Source const& source) {
  return {node.Scalar(), node.Tag() != "?", source.at(node.Mark()), source.folder};
}

/// The values of one key: one for a scalar, all of a list, none after an error.
std::vector<Text> values_of(YAML::Node const& node, std::string const& name, Source const& source,
                            Errors& errors) {
  std::vector<Text> values;
  auto const refuse = [&](YAML::Node const& at, std::string_view what) {
    errors.add(source.at(at.Mark()), "'", name, "' ", what);
    return std::vector<Text>{};
  };
  if (node.IsScalar()) return {text_of(node, source)};
  if (node.IsMap()) return refuse(node, "must be a value or a list of values, not a mapping");
  if (!node.IsSequence()) return refuse(node, "has no value");
  if (node.size() == 0) return refuse(node, "is an empty list");
  for (YAML::Node const& item : node) {
    if (!item.IsScalar()) return refuse(item, "may list only plain values");
    values.push_back(text_of(item, source));
  }
  return values;
}

/// The key of a pair as text. Reports keys that are not plain words or that were given before.
std::optional<std::string> key_of(YAML::Node const& key, std::string const& section,
                                  std::vector<std::string>& seen, Source const& source,
                                  Document& document, Errors& errors) {
  if (!key.IsScalar()) {
    errors.add(source.at(key.Mark()), "a key must be a plain word");
    document.unclear.insert(section);
    return {};
  }
  std::string const name = key.Scalar();
  if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
    std::string const full_name = section.empty() ? name : section + "." + name;
    errors.add(source.at(key.Mark()), "'", full_name, "' is given twice");
    document.unclear.insert(full_name);
    return {};
  }
  seen.push_back(name);
  return name;
}

void read_section(YAML::Node const& map, std::string const& section, Source const& source,
                  Document& document, Errors& errors) {
  std::vector<std::string> seen;
  for (auto const& pair : map) {
    auto const name = key_of(pair.first, section, seen, source, document, errors);
    if (!name) continue;
    Entry entry{section, *name, {}, source.at(pair.first.Mark())};
    if (section == source.foreign || !rows_of(section, *name).empty()) {
      entry.values = values_of(pair.second, entry.full_name(), source, errors);
      if (entry.values.empty()) {
        document.unclear.insert(entry.full_name());
        continue;
      }
    }
    document.entries.push_back(std::move(entry));
  }
}

void read_top(YAML::Node const& top, Source const& source, Document& document, Errors& errors) {
  std::vector<std::string> seen;
  for (auto const& pair : top) {
    auto const name = key_of(pair.first, "", seen, source, document, errors);
    if (!name) continue;
    if (pair.second.IsMap() && (pair.second.size() > 0 || !keys_of(*name).empty()))
      read_section(pair.second, *name, source, document, errors);
    else  // not a section, or an empty one with an unknown name
      document.entries.push_back({"", *name, {}, source.at(pair.first.Mark())});
  }
}

/// Records where documents begin, and which are empty. YAML::LoadAll would stop at the first empty
/// one, and returns nothing if any document is not YAML.
class Beginnings : public YAML::EventHandler {
 public:
  std::vector<YAML::Mark> all, empty;

  void OnDocumentStart(YAML::Mark const& mark) override {
    all.push_back(mark);
    at_root_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(YAML::Mark const&, YAML::anchor_t) override {
    if (at_root_) empty.push_back(all.back());
    at_root_ = false;
  }
  void OnAlias(YAML::Mark const&, YAML::anchor_t) override { at_root_ = false; }
  void OnScalar(YAML::Mark const&, std::string const&, YAML::anchor_t,
                std::string const& value) override {
    if (at_root_ && (value.empty() || value == "~")) empty.push_back(all.back());
    at_root_ = false;
  }
  void OnSequenceStart(YAML::Mark const&, std::string const&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    at_root_ = false;
  }
  void OnSequenceEnd() override {}
  void OnMapStart(YAML::Mark const&, std::string const&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    at_root_ = false;
  }
  void OnMapEnd() override {}

 private:
  bool at_root_ = false;
};

/// The first lines of a text. Lines end as in YAML: with a line feed, a carriage return or both.
std::string first_lines(std::string_view text, int count) {
  std::size_t end = 0;
  for (int k = 0; k < count && end < text.size(); ++k) {
    end = std::min(text.find_first_of("\r\n", end), text.size());
    end += text.substr(end, 2) == "\r\n" ? 2 : end < text.size() ? 1 : 0;
  }
  return std::string(text.substr(0, end));
}

/// Adds an error of yaml-cpp, which does not say that a tab is to blame.
void add_invalid(YAML::Exception const& error, std::string const& text, Source const& source,
                 Errors& errors) {
  std::istringstream lines(text);
  std::string line;
  for (YAML::Mark at; at.line <= error.mark.line && std::getline(lines, line); ++at.line) {
    std::size_t const indent = line.find_first_not_of(" \t");
    if (indent == std::string::npos || line.find('\t') >= indent) continue;
    errors.add(source.at(at), "not valid YAML: a tab indents this line; use spaces");
    return;
  }
  errors.add(source.at(error.mark), "not valid YAML: ", error.msg);
}

/// The documents of a text. If it stops being valid YAML, the documents before that point, and an
/// error.
std::vector<YAML::Node> load(std::string const& text, Source const& source, Errors& errors) {
  Beginnings beginnings;
  bool is_whole = true;
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(beginnings)) {
      auto const& all = beginnings.all;
      if (all.size() < 2 || all.back().pos != all[all.size() - 2].pos) continue;
      auto const here = all.back();  // where the parser would stop silently
      std::erase_if(beginnings.empty, [&](YAML::Mark const& mark) { return mark.pos == here.pos; });
      throw YAML::ParserException(here, "this text belongs to no document");
    }
  } catch (YAML::Exception const& error) {
    add_invalid(error, text, source, errors);
    is_whole = false;
  }
  for (YAML::Mark const& mark : beginnings.empty)
    if (beginnings.all.size() > 1)
      errors.add(source.at(mark),
                 "an empty document: nothing between two '---', or after the last");
  if (is_whole) return YAML::LoadAll(text);
  try {
    int const lines = beginnings.all.empty() ? 0 : beginnings.all.back().line;
    return YAML::LoadAll(first_lines(text, lines));
  } catch (YAML::Exception const&) {  // already reported
    return {};
  }
}

/// Gives a later document the output of the file's first document.
void share_output(Document const& first, Document& later, Errors& errors) {
  std::erase_if(later.entries, [&](Entry const& entry) {
    if (entry.section != "output") return false;
    errors.add(entry.where, "'", entry.full_name(),
               "' belongs in the first document of the file: all its runs share the output");
    return true;
  });
  for (Entry const& entry : first.entries)
    if (entry.section == "output") later.entries.push_back(entry);
}

/// The text of a file; nothing, and an error, if it cannot be read or is not text.
std::optional<std::string> read_text(fs::path const& file, Errors& errors) {
  constexpr std::size_t largest = 16 * 1024 * 1024;
  std::error_code code;
  auto const refuse = [&](std::string_view what) {
    errors.add(file.string(), what);
    return std::nullopt;
  };
  if (!fs::exists(file, code)) return refuse("no such file");
  if (fs::is_directory(file, code)) return refuse("is a folder, not a YAML file");
  if (std::string const name = lower_case(file.string());
      name.ends_with(".tar.gz") || name.ends_with(".tgz") || name.ends_with(".zip"))
    return refuse("is an archive: unpack it, and give the name of the .mtx file in it");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  char part[4096];
  do {  // a device may have no end
    stream.read(part, sizeof(part));
    text.append(part, static_cast<std::size_t>(stream.gcount()));
  } while (stream && text.size() <= largest);
  if (text.size() > largest) return refuse("is too large to be a YAML file of runs");
  if (!stream.eof()) return refuse(concat("cannot be read: ", std::strerror(errno ? errno : EIO)));
  auto const control = [](char c) {
    return c >= 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r';
  };
  if (std::any_of(text.begin(), text.end(), control))
    return refuse("is a binary file, not YAML; the name of a matrix ends in .mtx or .mtx.gz");
  if (text.starts_with("%%MatrixMarket"))
    return refuse("is a matrix, but its name does not end in .mtx or .mtx.gz; rename it");
  return text;
}

}  // namespace

Entry const* Document::find(std::string_view full_name) const {
  for (Entry const& entry : entries)
    if (entry.full_name() == full_name) return &entry;
  return nullptr;
}

bool Document::is_clear(std::string_view full_name) const {
  if (unclear.empty()) return true;
  if (unclear.contains(full_name)) return false;
  return find(full_name) ||
         (!unclear.contains("") && !unclear.contains(full_name.substr(0, full_name.find('.'))));
}

std::vector<Document> read_documents(fs::path const& file, Errors& errors,
                                     std::string_view foreign) {
  std::vector<Document> documents;
  std::optional<std::string> text;
  if (world().is_first()) text = read_text(file, errors);
  if (world().any(world().is_first() && !text)) return documents;
  text = world().text_of_first(text.value_or(""));
  Source const source{file.string(), true, file.parent_path(), foreign};
  try {
    for (YAML::Node const& top : load(*text, source, errors)) {
      if (!top.IsMap()) {
        errors.add(source.at(top.Mark()), "not a mapping of sections such as 'problem: {...}'");
        continue;
      }
      Document document{file, {}};
      if (documents.empty()) document.text = *text;
      read_top(top, source, document, errors);
      if (!documents.empty()) share_output(documents[0], document, errors);
      documents.push_back(std::move(document));
    }
    if (documents.empty() && errors.empty())
      errors.add(source.name, "is empty; a file needs at least 'problem'");
  } catch (YAML::Exception const& error) {
    errors.add(source.at(error.mark), "not valid YAML: ", error.msg);
  }
  return documents;
}

std::optional<Entry> read_assignment(std::string const& assignment, Errors& errors) {
  Source const source{concat("--set ", assignment), false, {}};
  auto const equals = assignment.find('=');
  auto const dot = assignment.substr(0, equals).find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot == 0 || dot + 1 == equals) {
    errors.add(source.name, "must be written section.key=value, as in solver.tolerance=1e-6");
    return {};
  }
  Entry entry{
      assignment.substr(0, dot), assignment.substr(dot + 1, equals - dot - 1), {}, source.name};
  try {
    YAML::Node const value = YAML::Load(assignment.substr(equals + 1));
    if (equals + 1 == assignment.size()) return entry;
    entry.values = values_of(value, entry.full_name(), source, errors);
  } catch (YAML::Exception const& error) {
    errors.add(source.name, "not a valid value: ", error.msg);
  }
  if (entry.values.empty()) return {};
  return entry;
}

std::vector<std::string> meant_keys(std::string_view assignment) {
  std::string_view const written = assignment.substr(0, assignment.find('='));
  std::string_view const section = written.substr(0, written.find('.'));
  std::vector<std::string> keys;
  for (Key const& key : schema()) {
    if (key.full_name() == written) return {key.full_name()};
    if (key.section == section) keys.push_back(key.full_name());
  }
  return keys;
}

void apply_assignment(Document& document, Entry const& assignment) {
  document.unclear.erase(assignment.full_name());
  auto const same = [&](Entry const& entry) { return entry.full_name() == assignment.full_name(); };
  auto const old = std::find_if(document.entries.begin(), document.entries.end(), same);
  if (old == document.entries.end()) {
    if (!assignment.values.empty()) document.entries.push_back(assignment);
  } else if (assignment.values.empty()) {
    document.entries.erase(old);
  } else {
    *old = assignment;
  }
}

std::string shown(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string result = "'";
  for (char c : text.substr(0, longest)) result += c >= 0 && c < ' ' ? '?' : c;
  return result + (text.size() > longest ? "...'" : "'");
}

}  // namespace Solder::Driver
