// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "config.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <solder/io/matrix_market.hpp>

#include "document.hpp"
#include "methods.hpp"
#include "schema.hpp"
#include "setting.hpp"
#include "text.hpp"

namespace Solder::Driver {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_runs = 100000;

/// One value for each entry of a document (nullptr: not applicable), and their order.
using Choice = std::vector<Text const*>;

// ---- names ----

/// What the writer of an entry that does not exist may have meant: of a section that there is the
/// nearest key, else the nearest section. And the key of this name, or at the top of a file of
/// nearly this name, where one other section has it.
std::string meant_by(Entry const& entry) {
  bool const at_top = entry.section.empty(), in_section = !keys_of(entry.section).empty();
  std::string_view const near = in_section
                                    ? nearest(entry.name, keys_of(entry.section))
                                    : nearest(at_top ? entry.name : entry.section, sections());
  if (!near.empty() || !(at_top || in_section)) return std::string(near);
  std::string meant;
  for (std::string_view section : sections()) {
    std::string_view const key = nearest(entry.name, keys_of(section));
    if (key.empty() || (!at_top && key != entry.name)) continue;
    if (!meant.empty()) return {};
    meant = concat(section, ".", key);
  }
  return meant;
}

/// Whether an entry of a section that does not have it is a key of another one.
bool is_elsewhere(Entry const& entry) {
  auto const has_it = [&](std::string_view section) {
    return !rows_of(section, entry.name).empty();
  };
  auto const names = sections();
  return std::any_of(names.begin(), names.end(), has_it);
}

/// Reports a key or section that does not exist, with the nearest that does.
bool check_name(Entry const& entry, Errors& errors) {
  if (!rows_of(entry.section, entry.name).empty()) return true;
  for (Key const& key : schema())
    if (key.section == entry.section && !entry.name.empty() && key.formerly == entry.name) {
      errors.add(entry.where, "unknown key ", shown(entry.full_name()), "; it is called '",
                 key.full_name(), "' now");
      return false;
    }
  static constexpr std::string_view of_perf[] = {"compare", "measure", "multi_dot",
                                                 "batched_cholesky", "copy"};
  std::string const& top = entry.section.empty() ? entry.name : entry.section;
  if (std::find(std::begin(of_perf), std::end(of_perf), top) != std::end(of_perf)) {
    errors.add(entry.where, "'", top, "' is a key of performance tests: run './solder perf ",
               entry.where.substr(0, entry.where.rfind(':')), "', or solder_perf");
    return false;
  }
  if (auto const keys = keys_of(entry.name); entry.section.empty() && !keys.empty()) {
    errors.add(entry.where, "'", entry.name, "' must hold keys (", join(keys, ", "), "), as in '",
               entry.name, ": {", keys[0], ": ...}'");
    return false;
  }
  auto const keys = keys_of(entry.section);
  bool const bad_section = !entry.section.empty() && keys.empty();
  std::string const meant = meant_by(entry);
  std::string const valid = keys.empty() ? join(sections(), ", ")
                                         : concat("in '", entry.section, "': ", join(keys, ", "));
  errors.add(entry.where, bad_section ? "unknown section " : "unknown key ",
             shown(bad_section ? entry.section : entry.full_name()),
             meant.empty() ? concat("; valid: ", valid) : suggestion(meant));
  return false;
}

// ---- one combination of values ----

/// A document, its entries in sweep order, and which of them served in any combination so far.
struct Sweep {
  Document const& document;
  std::vector<bool> used;
};

/// The checked values of one combination, and the keys of which it is not clear what they are, for
/// something was refused.
struct Settings : std::map<std::string, Setting, std::less<>> {
  std::set<std::string, std::less<>> unclear{};
};

/// Whether a key has a meaning in a combination; `maybe` where what was refused decides.
enum class Applies { no, maybe, yes };

/// The rows of the key that decides whether this one applies; none where nothing does.
std::vector<Key const*> selectors_of(Key const& row) {
  auto const dot = row.selector.find('.');
  if (dot == std::string_view::npos) return {};
  return rows_of(row.selector.substr(0, dot), row.selector.substr(dot + 1));
}

bool has(std::vector<std::string_view> const& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Applies applies(Key const& row, Document const& document, Choice const& choice);

/// The value that decides whether a key applies: as chosen, or else the default of that key.
/// Nothing where it is not clear, or none that the key may have.
std::optional<std::string_view> selected(std::vector<Key const*> const& selectors,
                                         Document const& document, Choice const& choice) {
  std::string const name = selectors[0]->full_name();
  if (!document.is_clear(name)) return {};
  for (std::size_t i = 0; i < document.entries.size(); ++i) {
    if (document.entries[i].full_name() != name) continue;
    std::string_view const value = choice[i]->text;
    bool const is_word = std::any_of(selectors.begin(), selectors.end(),
                                     [&](Key const* row) { return has(row->words, value); });
    return is_word ? std::optional(value) : std::nullopt;
  }
  for (Key const* row : selectors)
    if (applies(*row, document, choice) == Applies::yes) return row->default_value;
  return std::string_view();
}

/// A key applies where its selector does and has one of the right values.
Applies applies(Key const& row, Document const& document, Choice const& choice) {
  Applies most = Applies::yes;
  if (!row.unless.empty()) {
    if (document.find(row.unless)) return Applies::no;
    if (!document.is_clear(row.unless)) most = Applies::maybe;
  }
  auto const selectors = selectors_of(row);
  if (selectors.empty()) return most;
  Applies of_selector = Applies::no;
  for (Key const* selector : selectors)
    of_selector = std::max(of_selector, applies(*selector, document, choice));
  if (of_selector == Applies::no) return Applies::no;
  auto const value = selected(selectors, document, choice);
  if (!value || (of_selector == Applies::maybe && value->empty())) return Applies::maybe;
  return has(row.for_values, *value) ? std::min(most, of_selector) : Applies::no;
}

/// Of the rows of a name those that apply; where it is not clear which, all that they allow.
Key allowed_by_any(std::vector<Key const*> const& rows) {
  Key any = *rows[0];
  for (Key const* row : rows) {
    any.least = std::min(any.least, row->least);
    any.most = std::max(any.most, row->most);
    any.is_open = any.is_open && row->is_open;
    for (std::string_view word : row->words)
      if (!has(any.words, word)) any.words.push_back(word);
  }
  return any;
}

/// The checked values of one combination, defaults included.
Settings resolve(Sweep& sweep, Choice const& choice, Errors& errors) {
  Document const& document = sweep.document;
  Settings settings;
  auto const keep = [&](Key const& row, Text const& value) {
    if (auto setting = check_value(row, value, errors))
      settings.emplace(row.full_name(), std::move(*setting));
    else
      settings.unclear.insert(row.full_name());
  };
  auto const& entries = document.entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::vector<Key const*> possible;
    for (Key const* row : rows_of(entries[i].section, entries[i].name)) {
      Applies const state = applies(*row, document, choice);
      if (state != Applies::no) sweep.used[i] = true;
      if (state == Applies::yes) keep(*row, *choice[i]);
      if (state == Applies::maybe) possible.push_back(row);
    }
    if (!possible.empty()) check_value(allowed_by_any(possible), *choice[i], errors);
  }
  for (Key const& row : schema()) {
    std::string const name = row.full_name();
    Applies const state = applies(row, document, choice);
    if (state == Applies::no) continue;
    if (state == Applies::maybe || !document.is_clear(name)) {
      settings.unclear.insert(name);
      continue;
    }
    if (document.find(name)) continue;
    if (row.required) {
      errors.add(document.file.string(), name, " is missing; ", row.selector, ": ",
                 *selected(selectors_of(row), document, choice), " needs it; give ", row.allowed(),
                 row.unless.empty() ? "" : ", or ", row.unless);
      settings.unclear.insert(name);
    } else if (!row.default_value.empty()) {
      keep(row, {std::string(row.default_value), false, document.file.string(), {}});
    }
  }
  return settings;
}

/// Refuses several right-hand sides that would all be the same.
void check_right_hand_sides(Settings const& settings, Errors& errors) {
  auto const count = settings.find("problem.rhs_count"), rhs = settings.find("problem.rhs");
  if (count == settings.end() || rhs == settings.end() || count->second.integer < 2 ||
      settings.unclear.contains("problem.rhs"))
    return;
  std::string const& word = rhs->second.word;
  if (word.empty() || word == "random") return;
  errors.add(
      count->second.where, "problem.rhs_count is ", count->second.text, ", but problem.rhs is '",
      word,
      "', which gives equal right-hand sides; take rhs: random, or a file with that many columns");
}

void check_candidates(Settings const& settings, Errors& errors) {
  auto const candidates = settings.find("solver.candidates");
  if (candidates == settings.end()) return;
  std::vector<std::string_view> preconditioners{"none", "jacobi"};
  for_each(preconditioner_methods, [&](auto const& method) {
    for (std::string_view name : method.all_names()) preconditioners.push_back(name);
  });
  Impl::read_candidates(candidates->second.word, preconditioners, [&](std::string const& what) {
    errors.add(candidates->second.where, "solver.candidates: ", what);
  });
}

std::string name_of(ProblemConfig const& problem, Given const& given) {
  if (problem.matrix.empty()) return with_given(problem.generate, given, is_of_generator);
  fs::path stem = problem.matrix.filename();
  for (char const* const end : {".gz", ".mtx"})
    if (lower_case(stem.extension().string()) == end) stem = stem.stem();
  return stem.string();
}

std::string label_of(std::string const& preconditioner, Given const& given) {
  return with_given(preconditioner, given, [](std::string_view key) {
    return key.starts_with("preconditioner.") && key != "preconditioner.name";
  });
}

/// Takes what a section says for the options of a struct; the others stay.
template <class Options>
void read_options(std::string_view section, Settings const& settings, Options& options) {
  for_each_option<Options>([&](auto const& option) {
    using Described = std::remove_cvref_t<decltype(option)>;
    auto found = settings.find(concat(section, ".", option.name));
    if (found == settings.end() && !option.fallback.empty())
      found = settings.find(concat(section, ".", option.fallback));
    if (found == settings.end()) return;
    auto& value = options.*option.member;
    if constexpr (Described::has_words)
      option.read(found->second.word, value);
    else if constexpr (Described::is_integer)
      value = static_cast<typename Described::value_type>(found->second.integer);
    else
      value = found->second.number;
  });
}

/// All keys with their values, in the schema's order.
std::vector<KeyValue> all_keys(Settings const& settings) {
  std::vector<KeyValue> keys;
  for (Key const& row : schema()) {
    auto const found = settings.find(row.full_name());
    if (found == settings.end() || found->second.row != &row) continue;
    Setting const& setting = found->second;
    KeyValue& key = keys.emplace_back(KeyValue{row.section, row.name, setting.text});
    if (row.kind == Kind::integer) key.value = setting.integer;
    if (row.kind == Kind::real) key.value = setting.number;
    if (setting.word == "true" || setting.word == "false") key.value = setting.word == "true";
  }
  return keys;
}

RunConfig run_of(Settings const& settings, Document const& document) {
  RunConfig run;
  run.unclear = settings.unclear;
  run.origins.emplace("", document.file.string());
  for (auto const& [name, setting] : settings) {
    run.origins.emplace(name, setting.where);
    if (setting.row->selector != "problem.generate") continue;
    auto& parameter = run.problem.parameters[std::string(setting.row->name)];
    if (setting.row->kind == Kind::word)
      parameter = setting.word;
    else
      parameter = setting.number;
  }
  for (Entry const& entry : document.entries) {
    auto const setting = settings.find(entry.full_name());
    if (setting == settings.end()) continue;
    run.given.emplace(setting->first, setting->second.text);
    if (entry.values.size() > 1) run.swept.push_back(setting->first);
  }
  auto const get = [&](std::string_view name) {
    auto const found = settings.find(name);
    return found == settings.end() ? Setting{} : found->second;
  };
  run.problem.matrix = get("problem.matrix").path;
  run.problem.generate = get("problem.generate").word;
  run.problem.rhs = get("problem.rhs").word;
  run.problem.rhs_file = get("problem.rhs").path;
  run.problem.rhs_count = static_cast<std::int32_t>(get("problem.rhs_count").integer);
  run.problem.coordinates = get("problem.coordinates").path;
  run.problem.batch = static_cast<std::int32_t>(get("problem.batch").integer);
  run.problem.seed = get("problem.seed").integer;
  auto const scalar =
      std::find(scalar_names.begin(), scalar_names.end(), get("problem.scalar").word);
  if (scalar != scalar_names.end())
    run.problem.scalar = static_cast<Scalar>(scalar - scalar_names.begin());
  run.problem.name = name_of(run.problem, run.given);
  run.solver.name = get("solver.name").word;
  run.solver.automatic.candidates = get("solver.candidates").word;
  run.solver.check_symmetry = get("solver.check_symmetry").word == "true";
  for_each(solver_methods, [&](auto const& method) {
    read_options("solver", settings, run.solver.*method.options);
    read_options<SolverOptions>("solver", settings, run.solver.*method.options);
  });
  run.preconditioner.name = get("preconditioner.name").word;
  run.preconditioner.inner = get("preconditioner.inner").word;
  run.preconditioner.precision = get("preconditioner.precision").word;
  run.preconditioner.near_nullspace = get("preconditioner.near_nullspace").word;
  for_each(preconditioner_methods, [&](auto const& method) {
    read_options("preconditioner", settings, run.preconditioner.*method.options);
  });
  read_options("preconditioner", settings, run.preconditioner.scaling);
  run.preconditioner.label = label_of(run.preconditioner.name, run.given);
  run.execution = {get("execution.space").word, get("execution.runner").word,
                   get("execution.matrix_format").word,
                   static_cast<int>(get("execution.repeat").integer)};
  auto const is_on = [&](std::string_view name) { return get(name).word == "true"; };
  run.output = {get("output.json").path,      get("output.table").path,
                get("output.solution").path,  get("output.history").path,
                get("output.report").path,    get("output.plot").path,
                get("output.plot_kind").word, is_on("output.verbose"),
                is_on("output.roofline"),     is_on("output.host")};
  run.keys = all_keys(settings);
  return run;
}

// ---- one file ----

/// Refuses names that do not exist and lists that cannot be, and drops them.
void check_entries(Document& document, Errors& errors) {
  std::erase_if(document.entries, [&](Entry const& entry) {
    if (!check_name(entry, errors)) {
      bool const in_section = !keys_of(entry.section).empty() && !is_elsewhere(entry);
      bool const is_section = entry.section.empty() && !keys_of(entry.name).empty();
      document.unclear.insert(in_section ? entry.section : is_section ? entry.name : "");
      return true;
    }
    if (entry.values.size() < 2 || rows_of(entry.section, entry.name)[0]->sweeps) return false;
    errors.add(entry.where, entry.full_name(), " cannot be a list: all runs of a file share it");
    document.unclear.insert(entry.full_name());
    return true;
  });
}

/// A document says in one way which matrix.
void check_matrix(Document& document, Errors& errors) {
  Entry const* const matrix = document.find("problem.matrix");
  Entry const* const generate = document.find("problem.generate");
  bool const is_clear =
      document.is_clear("problem.matrix") && document.is_clear("problem.generate");
  if (is_clear && !matrix && !generate)
    errors.add(document.file.string(),
               "no problem: give 'problem.matrix' (a file) or 'problem.generate'");
  if (matrix && generate)
    errors.add(generate->where,
               "both 'problem.matrix' and 'problem.generate' are given; choose one");
  if (!matrix == !generate) document.unclear.insert({"problem.matrix", "problem.generate"});
}

/// Whether the values of a document select this row in some combination.
bool selectable(Key const& row, Document const& document) {
  if (row.selector.empty()) return true;
  auto const selects = [&](std::string_view value) { return has(row.for_values, value); };
  Entry const* const given = document.find(row.selector);
  auto const selectors = selectors_of(row);
  bool const selected =
      !given || std::any_of(given->values.begin(), given->values.end(),
                            [&](Text const& value) { return selects(value.text); });
  return selected && std::any_of(selectors.begin(), selectors.end(), [&](Key const* selector) {
           return (given || selects(selector->default_value)) && selectable(*selector, document);
         });
}

/// Of the rows of a key that serves no combination, and those of the keys that decide over it, the
/// ones to change first: tau is for a pattern, but where the name is jacobi there is no pattern.
std::vector<Key const*> deciding(std::vector<Key const*> const& rows, Document const& document) {
  std::vector<Key const*> selectors;  // of which a value selects one of the rows
  for (Key const* selector : selectors_of(*rows[0]))
    if (selector->words.empty() || std::any_of(rows.begin(), rows.end(), [&](Key const* row) {
          return std::any_of(row->for_values.begin(), row->for_values.end(),
                             [&](std::string_view value) { return has(selector->words, value); });
        }))
      selectors.push_back(selector);
  bool const in_reach =
      selectors.empty() || std::any_of(selectors.begin(), selectors.end(),
                                       [&](Key const* row) { return selectable(*row, document); });
  return in_reach ? rows : deciding(selectors, document);
}

/// A key that was given but serves no combination: says what it is for.
void report_unused(Sweep const& sweep, Errors& errors) {
  for (std::size_t i = 0; i < sweep.used.size(); ++i) {
    if (sweep.used[i]) continue;
    Entry const& entry = sweep.document.entries[i];
    std::vector<std::string_view> values;
    auto rows = rows_of(entry.section, entry.name);
    auto const displaced = std::find_if(rows.begin(), rows.end(), [&](Key const* row) {
      return !row->unless.empty() && sweep.document.find(row->unless);
    });
    if (displaced != rows.end()) {
      errors.add(entry.where, "'", entry.full_name(), "' does not apply together with '",
                 (*displaced)->unless, "', which already determines it; leave one of them out");
      continue;
    }
    rows = deciding(rows, sweep.document);
    // Rather a key that has its default than one that was given: inner, not name, of chebyshev.
    std::stable_partition(rows.begin(), rows.end(), [&](Key const* row) {
      auto const selectors = selectors_of(*row);
      return !sweep.document.find(row->selector) &&
             std::any_of(selectors.begin(), selectors.end(),
                         [&](Key const* each) { return selectable(*each, sweep.document); });
    });
    for (Key const* row : rows)
      if (row->selector == rows[0]->selector)
        values.insert(values.end(), row->for_values.begin(), row->for_values.end());
    errors.add(entry.where, "'", entry.full_name(), "' does not apply here; it is for ",
               rows[0]->selector, ": ", join(values));
  }
}

/// "x.mtx.gz" and 7 make "x-7.mtx.gz".
fs::path numbered(fs::path const& path, std::string const& number) {
  fs::path stem = path.stem(), extension = path.extension();
  if (extension == ".gz") {
    extension = concat(stem.extension().string(), ".gz");
    stem = stem.stem();
  }
  return path.parent_path() / concat(stem.string(), "-", number, extension.string());
}

/// Several runs of a file: each gets its own solution and history, in the order of the JSON file.
void number_outputs(std::vector<RunConfig>& runs) {
  if (runs.size() == 1) return;
  std::size_t const width = std::to_string(runs.size()).size();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::string number = std::to_string(i + 1);
    number.insert(0, width - number.size(), '0');
    for (fs::path* const path : {&runs[i].output.solution, &runs[i].output.history})
      if (!path->empty()) *path = numbered(*path, number);
  }
}

std::vector<RunConfig> expand(Document const& document, Errors& errors) {
  std::size_t count = 1;
  for (Entry const& entry : document.entries) {
    count *= entry.values.size();
    if (count > most_runs) {
      errors.add(entry.where, "the lists make more than ", std::to_string(most_runs), " runs");
      return {};
    }
  }
  Sweep sweep{document, std::vector<bool>(document.entries.size())};
  std::vector<RunConfig> runs;
  std::set<std::vector<std::string>>
      seen;  // a swept key that does not apply to a run must not repeat it
  for (std::size_t number = 0; number < count; ++number) {
    Choice choice(document.entries.size());
    std::size_t rest = number;
    for (std::size_t i = choice.size(); i-- > 0;) {
      auto const& values = document.entries[i].values;
      choice[i] = &values[rest % values.size()];
      rest /= values.size();
    }
    Settings const settings = resolve(sweep, choice, errors);
    check_right_hand_sides(settings, errors);
    check_candidates(settings, errors);
    std::vector<std::string> identity;
    for (Entry const& entry : document.entries) {
      auto const setting = settings.find(entry.full_name());
      identity.push_back(setting == settings.end() ? "" : setting->second.text);
    }
    if (seen.insert(std::move(identity)).second) runs.push_back(run_of(settings, document));
  }
  report_unused(sweep, errors);
  return runs;
}

/// What stands for a matrix by itself. Whether it is complex its header says; if that cannot be
/// read, the check of the file says why.
Document document_of(fs::path const& matrix) {
  auto const entry = [&](std::string const& name, std::string const& value) {
    return Entry{"problem", name, {Text{value, false, matrix.string(), {}}}, matrix.string()};
  };
  Document document{matrix, {entry("matrix", matrix.string())}};
  try {
    if (read_matrix_market_header(matrix.string()).field == MarketField::complex)
      document.entries.push_back(entry("scalar", "complex_double"));
  } catch (std::exception const&) {
  }
  return document;
}

}  // namespace

bool is_matrix(fs::path const& file) {
  std::string const name = lower_case(file.filename().string());
  return name.ends_with(".mtx") || name.ends_with(".mtx.gz");
}

std::string with_given(std::string const& name, Given const& given,
                       std::function<bool(std::string_view key)> const& chosen) {
  std::string all;
  for (auto const& [key, text] : given)
    if (chosen(key))
      all += concat(all.empty() ? "(" : ",", key.substr(key.find('.') + 1), "=", text);
  return concat(name, all, all.empty() ? "" : ")");
}

bool is_of_generator(std::string_view key) {
  auto const dot = key.find('.');
  auto const rows = rows_of(key.substr(0, dot), key.substr(dot + 1));
  return !rows.empty() && rows[0]->selector == "problem.generate";
}

double bytes_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::float_:
      return 4;
    case Scalar::double_:
    case Scalar::complex_float:
      return 8;
    case Scalar::complex_double:
      break;
  }
  return 16;
}

std::string const& RunConfig::where(std::string_view key) const {
  auto const found = origins.find(key);
  return found == origins.end() ? origins.find("")->second : found->second;
}

std::vector<FileConfig> read_config(std::vector<fs::path> const& files,
                                    std::vector<std::string> const& assignments, Errors& errors,
                                    std::vector<std::string_view> const& foreign) {
  std::vector<Entry> overrides;
  std::vector<std::string> unclear;  // what refused assignments may have been meant for
  for (std::string const& assignment : assignments) {
    auto entry = read_assignment(assignment, errors);
    if (!entry || !check_name(*entry, errors)) {
      for (std::string& key : meant_keys(assignment)) unclear.push_back(std::move(key));
      continue;
    }
    for (Entry const& other : overrides)
      if (other.full_name() == entry->full_name()) {
        errors.add(entry->where, "'", entry->full_name(), "' is set twice");
        unclear.push_back(entry->full_name());
      }
    overrides.push_back(std::move(*entry));
  }
  std::vector<FileConfig> configs;
  for (fs::path const& file : files) {
    Errors of_file;
    bool const introduces = is_matrix(file);
    std::vector<Document> documents =
        introduces ? std::vector{document_of(file)} : read_documents(file, of_file);
    std::vector<RunConfig> runs;
    for (Document& document : documents) {
      std::erase_if(document.entries, [&](Entry const& entry) {
        return entry.section.empty() &&
               std::find(foreign.begin(), foreign.end(), entry.name) != foreign.end();
      });
      for (Entry const& entry : overrides) apply_assignment(document, entry);
      document.unclear.insert(unclear.begin(), unclear.end());
      check_entries(document, of_file);
      check_matrix(document, of_file);
      for (RunConfig& run : expand(document, of_file)) {
        run.output.introduces = introduces;
        runs.push_back(std::move(run));
      }
    }
    number_outputs(runs);
    if (!documents.empty())
      configs.push_back({file, std::move(runs), std::move(documents[0].text)});
    for (std::string const& message : of_file.messages()) errors.add("", message);
  }
  return configs;
}

}  // namespace Solder::Driver
