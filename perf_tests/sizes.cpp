// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sizes.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "driver/document.hpp"
#include "driver/schema.hpp"
#include "driver/solve.hpp"

namespace Solder::Perf {
namespace {

/// The integers at a key; what is none, or out of range, goes to `errors`.
std::vector<int> integers(Driver::Entry const& entry, int most, Driver::Errors& errors) {
  std::vector<int> numbers;
  for (Driver::Text const& value : entry.values) {
    int number = 0;
    char const* const end = value.text.data() + value.text.size();
    auto const [stop, code] = std::from_chars(value.text.data(), end, number);
    if (code != std::errc{} || stop != end || number < 1 || number > most)
      errors.add(value.where, entry.full_name(), " must be an integer from 1 to ",
                 std::to_string(most), ", not ", Driver::shown(value.text));
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

SizesConfig read_sizes(SizesKeys const& keys, SizesConfig const& defaults,
                       std::filesystem::path const& file,
                       std::vector<std::string> const& assignments, Driver::Errors& errors) {
  std::string const count_name = keys.section + "." + keys.count,
                    sizes_name = keys.section + "." + keys.sizes,
                    scalar_name = keys.section + ".scalar";
  std::vector<std::string_view> const known{count_name,        sizes_name,    scalar_name,
                                            "execution.space", "output.json", "output.report",
                                            "output.plot",     "compare",     "measure"};
  auto const documents = Driver::read_documents(file, errors, keys.section);
  if (documents.size() > 1)
    errors.add(file.string(), "several YAML documents ('---'): measure: ", keys.section,
               " takes one");
  Driver::Document document = documents.empty() ? Driver::Document{} : documents[0];
  for (std::string const& assignment : assignments) {
    bool const ours = assignment.starts_with(keys.section + ".") ||
                      assignment.starts_with("execution.") || assignment.starts_with("output.");
    if (!ours) continue;  // for another file of the same call
    if (auto const entry = Driver::read_assignment(assignment, errors))
      Driver::apply_assignment(document, *entry);
  }
  SizesConfig config = defaults;
  config.text = document.text;
  for (Driver::Entry const& entry : document.entries) {
    std::string const name = entry.full_name();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      errors.add(entry.where, "'", name, "' is no key of 'measure: ", keys.section,
                 "', which knows ", Driver::join(known, " and "));
    } else if (name == sizes_name) {
      config.sizes = integers(entry, keys.most_size, errors);
    } else if (entry.values.size() > 1) {
      errors.add(entry.where, name, " cannot be a list here");
    } else if (entry.values.empty()) {
      continue;  // a list at the top of the file: compare
    } else if (name == count_name) {
      config.count = integers(entry, keys.most_count, errors)[0];
    } else if (name == scalar_name) {
      config.single_precision = entry.values[0].text == "float";
      if (!config.single_precision && entry.values[0].text != "double")
        errors.add(entry.where, name, " must be float or double");
    } else if (name == "execution.space") {
      config.space = entry.values[0].text;
      if (!Driver::has_space(config.space))
        errors.add(entry.where, Driver::not_in_build(config.space));
    } else if (name == "output.json") {
      config.output.json = entry.values[0].folder / entry.values[0].text;
    } else if (name == "output.report") {
      config.output.report = entry.values[0].folder / entry.values[0].text;
    } else if (name == "output.plot") {
      config.output.plot = entry.values[0].folder / entry.values[0].text;
    }
  }
  return config;
}

}  // namespace Solder::Perf
