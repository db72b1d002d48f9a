// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "help.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "errors.hpp"
#include "schema.hpp"
#include "text.hpp"

namespace Solder::Driver {
namespace {

/// wrapped() to the screen.
std::string fitted(std::string_view first, std::string_view text) {
  return wrapped(first, text, width_of_output());
}

/// A method or generator, and what it is in a line.
struct Topic {
  std::string_view key, word, text;
};

constexpr std::string_view solver = "solver.name", preconditioner = "preconditioner.name",
                           generator = "problem.generate";

constexpr Topic named_topics[] = {
    {solver, "auto", "chooses by an analysis of A, and tries the next solver if one fails"},
    {solver, "cg", "conjugate gradients, for symmetric (Hermitian) positive definite matrices"},
    {solver, "block_cg",
     "block conjugate gradients, for several right-hand sides of such matrices"},
    {solver, "bicgstab", "BiCGStab, for any nonsingular matrix, with little memory"},
    {solver, "gmres", "restarted GMRES, for any nonsingular matrix"},
    {solver, "idr", "IDR(s), for any nonsingular matrix, by default with less memory than gmres"},
    {preconditioner, "auto", "chooses by an analysis of A"},
    {preconditioner, "none", "no preconditioner"},
    {preconditioner, "jacobi", "the inverse of the diagonal"},
    {preconditioner, "fsai",
     "factorised sparse approximate inverse, for positive definite matrices"},
    {preconditioner, "chebyshev",
     "polynomial in A over none, jacobi or fsai, for positive definite matrices"},
    {preconditioner, "ic0",
     "incomplete Cholesky factors with the pattern of A, for positive definite matrices"},
    {preconditioner, "ilu0", "incomplete LU factors with the pattern of A, for any matrix"},
    {preconditioner, "ilut",
     "incomplete LU factors with fill above a drop tolerance, for any matrix"},
    {preconditioner, "iluk", "incomplete LU factors with fill up to a fill level, for any matrix"},
    {preconditioner, "ict", "incomplete Cholesky factors with fill above a drop tolerance"},
    {preconditioner, "ick", "incomplete Cholesky factors with fill up to a fill level"},
    {preconditioner, "amg", "multigrid for PDEs, positive definite or nonsymmetric"},
    {generator, "fem_poisson_2d", "Poisson's equation, anisotropic, linear finite elements"},
    {generator, "elasticity_3d", "linear elasticity on tetrahedra"},
    {generator, "poisson_3d_7pt", "Poisson's equation, finite differences of 7 points"},
    {generator, "poisson_3d_27pt", "Poisson's equation, finite differences of 27 points"},
    {generator, "convection_diffusion_2d", "convection and diffusion in a square, nonsymmetric"},
    {generator, "convection_diffusion_3d", "convection and diffusion in a cube, nonsymmetric"},
    {generator, "helmholtz_2d", "damped waves, complex symmetric"},
    {generator, "magnetic_laplacian_2d", "a charge in a magnetic field, Hermitian"},
    {generator, "random_spd", "random entries, symmetric positive definite"},
    {generator, "block_lower_triangular", "random blocks, lower triangular"},
    {generator, "stand_in", "random, with the size and row lengths of a known matrix"},
};

constexpr std::size_t indent = 20;

std::string topics_of(std::string_view key) {
  std::string text;
  for (Topic const& topic : named_topics)
    if (topic.key == key)
      text += fitted(padded(concat("  ", topic.word), indent + 6, true), topic.text);
  return text;
}

/// A key: what it may be and its default, and its help.
std::string text_of(Key const& key, bool with_selector) {
  std::string value = key.allowed();
  if (!key.default_value.empty()) value += concat(" [", key.default_value, "]");
  if (key.required) value += " (needed)";
  std::string help(key.help);
  if (with_selector && !key.selector.empty())
    help += concat("; only with ", key.selector, ": ", join(key.for_values));
  if (with_selector && !key.unless.empty()) help += concat(", without ", key.unless);
  std::string const name = concat("  ", key.name, ":");
  return fitted(padded(name, std::max(indent, name.size() + 1), true), value) +
         fitted(std::string(indent, ' '), help);
}

template <class Chosen>
std::string keys_text(Chosen const& chosen, bool with_selector) {
  std::string text;
  for (Key const& key : schema())
    if (chosen(key)) text += text_of(key, with_selector);
  return text;
}

bool is_for(Key const& key, Topic const& topic) {
  auto const& values = key.for_values;
  return key.selector == topic.key &&
         std::find(values.begin(), values.end(), topic.word) != values.end();
}

/// The keys of a method or generator, and those that words of these decide over.
std::set<Key const*> keys_of(Topic const& topic) {
  std::set<Key const*> all;
  auto const decided = [&](Key const& key) {
    return std::any_of(all.begin(), all.end(), [&](Key const* by) {
      return by->full_name() == key.selector &&
             std::any_of(by->words.begin(), by->words.end(), [&](std::string_view word) {
               return std::find(key.for_values.begin(), key.for_values.end(), word) !=
                      key.for_values.end();
             });
    });
  };
  for (std::size_t before = 1; before != all.size();) {
    before = all.size();
    for (Key const& key : schema())
      if (is_for(key, topic) || decided(key)) all.insert(&key);
  }
  return all;
}

/// What it is, how it is asked for, and its keys.
std::string page_of(Topic const& topic) {
  auto const dot = topic.key.find('.');
  std::string_view const section = topic.key.substr(0, dot);
  std::string text = fitted(concat(topic.word, ": "), topic.text);
  text += concat("\n", section, ": {", topic.key.substr(dot + 1), ": ", topic.word, ", ...}\n");
  std::set<Key const*> const chosen = keys_of(topic);
  std::string keys;
  for (Key const& key : schema())
    if (key.section == section && chosen.contains(&key))
      keys += text_of(key, !is_for(key, topic));
  if (keys.empty()) keys = "  no options of its own\n";
  return text + keys;
}

std::string page_of_section(std::string_view section, std::string_view program) {
  std::string text = concat(section, ":\n");
  text += keys_text(
      [&](Key const& key) {
        bool const is_of_method =
            key.name != "name" && (key.selector == solver || key.selector == generator ||
                                   key.selector.starts_with("preconditioner."));
        return key.section == section && !is_of_method;
      },
      true);
  for (std::string_view const key : {solver, preconditioner, generator})
    if (key.starts_with(section))
      text += concat("\n", key.substr(section.size() + 1), " is one of the following; ", program,
                     " --help NAME has its keys:\n", topics_of(key));
  return text;
}

std::string words_line(std::string_view name, std::string_view words) {
  return fitted(padded(name, 19, true), words);
}

}  // namespace

std::string_view what_is(std::string_view key, std::string_view word) {
  for (Topic const& topic : named_topics)
    if (topic.key == key && topic.word == word) return topic.text;
  return {};
}

std::string help_text(std::string_view program) {
  std::string text = concat(
      fitted("usage: ", concat(program, " ", usage_of_arguments)), "\n",
      fitted("",
             "Solves the linear systems that the files describe. A list in place of a value "
             "makes one run for each value. A Matrix Market file by itself is solved with b = 1."),
      "\n  problem:        {matrix: A.mtx}   # or {generate: fem_poisson_2d, size: 255}\n"
      "  solver:         {name: cg, tolerance: 1e-8}\n"
      "  preconditioner: {name: fsai}\n"
      "  output:         {json: result.json, table: table.md}\n\n");
  for (auto const& [option, what] : std::initializer_list<std::pair<char const*, char const*>>{
           {"  --set section.key=value", "sets a key in all files; without a value removes it"},
           {"  --wide", "a table with all columns, however wide"},
           {"  --explain",
            "solves nothing; prints the properties of each matrix, and the solvers that would be "
            "tried and why"},
           {"  --list", "the solvers, preconditioners, spaces and scalars of this build"},
           {"  --help TOPIC",
            "a section, a solver, a preconditioner, a generator, a key, a word that a key takes, "
            "or all"},
           {"  --version", "the versions of Solder and Kokkos"},
           {"  --kokkos-...", "goes to Kokkos, as in --kokkos-num-threads=4"},
           {"", ""},
           {"Other commands:", ""},
           {"  report RESULTS.json", "makes a page and a picture of results again; report --help"},
           {"  perf FILE.yaml",
            "times Solder beside other libraries; perf --help; only by the "
            "script ./solder"},
           {"  --ranks P FILE.yaml",
            "solves with P processes; only by the script ./solder. An MPI "
            "build without it: mpirun -np P ..."}})
    text += *what == '\0' ? concat(option, "\n") : fitted(padded(option, indent + 8, true), what);
  text += "\nTopics:\n";
  std::vector<std::string_view> of_solvers, of_preconditioners, of_generators;
  for (Topic const& topic : named_topics)
    (topic.key == solver           ? of_solvers
     : topic.key == preconditioner ? of_preconditioners
                                   : of_generators)
        .push_back(topic.word);
  text += words_line("  sections", join(sections(), ", "));
  text += words_line("  solvers", join(of_solvers, ", "));
  text += words_line("  preconditioners", join(of_preconditioners, ", "));
  text += words_line("  generators", join(of_generators, ", "));
  return text + "\n" +
         fitted("",
                "Exit code: 0 every run converged, 1 some run did not, 2 invalid input or a run "
                "could not be carried out, 128 + n ended by signal n. docs/yaml.md explains "
                "every key.");
}

std::string help_text(std::string_view program, std::string_view topic) {
  std::string text;
  auto const names = sections();
  if (topic == "all") {
    for (std::string_view const section : names)
      text += concat(text.empty() ? "" : "\n", section, ":\n",
                     keys_text([&](Key const& key) { return key.section == section; }, true));
    return text;
  }
  if (std::find(names.begin(), names.end(), topic) != names.end())
    return page_of_section(topic, program);
  auto const add_keys = [&](auto const& is_meant) {
    for (std::string_view const section : names) {
      std::string const keys = keys_text(
          [&](Key const& key) { return key.section == section && is_meant(key); }, true);
      if (!keys.empty()) text += concat(text.empty() ? "" : "\n", section, ":\n", keys);
    }
  };
  std::set<std::string_view> of_pages;  // keys that the pages below show how to use
  for (Topic const& each : named_topics)
    if (each.word == topic) {
      text += concat(text.empty() ? "" : "\n", page_of(each));
      of_pages.insert(each.key);
    }
  if (text.empty())
    add_keys([&](Key const& key) { return key.name == topic || key.full_name() == topic; });
  if (text.empty() || !of_pages.empty())
    add_keys([&](Key const& key) {
      return std::find(key.words.begin(), key.words.end(), topic) != key.words.end() &&
             !of_pages.contains(key.full_name());
    });
  return text;
}

std::vector<std::string_view> help_topics() {
  std::vector<std::string_view> topics = sections();
  auto const add = [&](std::string_view topic) {
    if (std::find(topics.begin(), topics.end(), topic) == topics.end()) topics.push_back(topic);
  };
  for (Topic const& topic : named_topics) add(topic.word);
  for (Key const& key : schema()) add(key.name);
  for (Key const& key : schema())
    for (std::string_view const word : key.words) add(word);
  add("all");
  return topics;
}

std::string list_text(std::vector<std::string_view> const& spaces,
                      std::vector<std::string_view> const& scalars) {
  auto const words = [](std::string_view section, std::string_view name) {
    return rows_of(section, name)[0]->words;
  };
  std::string text = "solvers\n";
  for (std::string_view const name : words("solver", "name")) {
    std::string forms;
    for (Key const* key : rows_of("solver", "form"))
      if (key->for_values[0] == name) forms = concat("; form: ", join(key->words));
    text += fitted(padded(concat("  ", name), 14, true), concat(what_is(solver, name), forms));
  }
  text += "preconditioners\n" + topics_of(preconditioner) + "generators\n" + topics_of(generator);
  text += words_line("spaces", join(spaces, ", "));
  text += words_line("scalars", join(scalars, ", "));
  text += words_line("runners", join(words("execution", "runner"), ", "));
  return text + words_line("matrix formats", join(words("execution", "matrix_format"), ", "));
}

}  // namespace Solder::Driver
