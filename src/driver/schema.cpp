// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schema.hpp"

#include <algorithm>
#include <solder/core/names.hpp>
#include <solder/matrix/matrix_format.hpp>
#include <solder/problems/stand_in_figures.hpp>
#include <type_traits>
#include <utility>

#include "counts.hpp"
#include "methods.hpp"
#include "report/charts.hpp"

namespace Solder::Driver {
namespace {

constexpr double largest_seed = 9007199254740991;  // 2^53 - 1: exact in JSON and in double
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The matrices that a stand-in can be like.
std::vector<std::string_view> stand_in_names() {
  std::vector<std::string_view> names;
  for (NamedStandIn const& item : named_stand_ins) names.push_back(item.name);
  return names;
}

/// All words of an enumeration.
template <HasWords Enum>
std::vector<std::string_view> words_of_all() {
  std::vector<std::string_view> words;
  for (auto const& each : words_of(Enum{})) words.push_back(each.word);
  return words;
}

/// The names of methods, behind others.
template <class Methods>
std::vector<std::string_view> names_of(Methods const& methods,
                                       std::vector<std::string_view> names = {}) {
  for_each(methods, [&](auto const& method) {
    for (std::string_view name : method.all_names())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  });
  return names;
}

/// The row of an option that nothing decides over.
template <class Owner, class Value>
Key plain_row(std::string_view section, Option<Owner, Value> const& option) {
  using Described = Option<Owner, Value>;
  Key key{.section = section, .name = option.name, .words = option.words()};
  Value const value = Owner{}.*option.member;
  if constexpr (Described::has_words) {
    key.default_value = option.word(value);
  } else {
    key.kind = Described::is_integer ? Kind::integer : Kind::real;
    key.least = option.range.least;
    key.most = option.range.most;
    key.is_open = option.range.is_open;
    if constexpr (std::is_unsigned_v<Value>) key.least = std::max(key.least, 0.0);
    if constexpr (Described::is_integer) key.most = std::min(key.most, largest_seed);
    key.default_value = Solder::Impl::number_text(static_cast<double>(value));
  }
  if (!option.fallback.empty()) key.default_value.clear();
  key.formerly = option.former_name;
  key.help = option.help;
  return key;
}

/// The row of an option of the methods that the selector, "section.name", has these values for;
/// another option may decide over it.
template <class Owner, class Value>
Key row_of(std::string_view section, Option<Owner, Value> const& option, std::string selector,
           std::vector<std::string_view> values) {
  Key key = plain_row(section, option);
  key.selector = std::move(selector);
  key.for_values = std::move(values);
  if (option.selector.empty()) return key;
  key.selector = concat(section, ".", option.selector);
  key.for_values.clear();
  for (std::string_view word : option.for_words)
    if (!word.empty()) key.for_values.push_back(word);
  return key;
}

/// Adds the rows of all solvers' options, and of those that all have.
void add_solver_options(std::vector<Key>& keys) {
  for_each(solver_methods, [&](auto const& method) {
    using Options = typename std::remove_cvref_t<decltype(method)>::Options;
    for_each_option<Options>([&](auto const& option) {
      keys.push_back(row_of("solver", option, "solver.name", {method.names[0]}));
    });
  });
  for_each_option<SolverOptions>(
      [&](auto const& option) { keys.push_back(plain_row("solver", option)); });
}

/// Adds the rows of all preconditioners' options. Those of fsai apply to fsai under a polynomial
/// too.
void add_preconditioner_options(std::vector<Key>& keys) {
  for_each(preconditioner_methods, [&](auto const& method) {
    using Options = typename std::remove_cvref_t<decltype(method)>::Options;
    std::vector<std::string_view> const names = method.all_names();
    for_each_option<Options>([&](auto const& option) {
      keys.push_back(row_of("preconditioner", option, "preconditioner.name", names));
      if (std::is_same_v<Options, FsaiOptions> && option.selector.empty())
        keys.push_back(row_of("preconditioner", option, "preconditioner.inner", {"fsai"}));
    });
  });
}

std::vector<Key> all_keys() {
  static constexpr char generator[] = "problem.generate", like[] = "problem.like";
  // clang-format off
  std::vector<Key> keys = {
      {.section = "problem", .name = "matrix", .kind = Kind::path,
       .help = "Matrix Market file, .mtx or .mtx.gz"},
      {.section = "problem", .name = "generate",
       .words = {"fem_poisson_2d", "elasticity_3d", "poisson_3d_7pt", "poisson_3d_27pt",
                 "convection_diffusion_2d", "convection_diffusion_3d", "helmholtz_2d",
                 "magnetic_laplacian_2d", "random_spd", "block_lower_triangular",
                 "stand_in"},
       .help = "generated matrix instead of a file"},
      {.section = "problem", .name = "rhs", .kind = Kind::word_or_path,
       .words = {"ones", "unit_solution", "random"}, .default_value = "ones",
       .help = "right-hand side; unit_solution: b = A*ones; random: uniform in [-1, 1)"},
      {.section = "problem", .name = "rhs_count", .kind = Kind::integer, .least = 1,
       .most = most_right_hand_sides,
       .help = "number of right-hand sides, for rhs: random or a file with that many columns; default: 1, or all columns of the file"},
      {.section = "problem", .name = "coordinates", .kind = Kind::path,
       .help = "Matrix Market file with the coordinates of the points, 2 or 3 columns, for near_nullspace: rigid_body; elasticity_3d has its own"},
      {.section = "problem", .name = "batch", .kind = Kind::integer, .least = 1, .most = most_systems,
       .help = "number of independent systems, solved in one kernel; random matrices get successive seeds"},
      {.section = "problem", .name = "seed", .kind = Kind::integer, .most = largest_seed,
       .default_value = "1", .help = "seed of random right-hand sides and matrices"},
      {.section = "problem", .name = "scalar",
       .words = {"float", "double", "complex_float", "complex_double"}, .default_value = "double",
       .help = "type of all numbers of the run"},

      // parameters of the generators
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 1,
       .most = largest_size("fem_poisson_2d"), .required = true, .selector = generator,
       .for_values = {"fem_poisson_2d"}, .help = "interior nodes per side: size^2 rows"},
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 1,
       .most = largest_size("convection_diffusion_2d"), .required = true, .selector = generator,
       .for_values = {"convection_diffusion_2d", "helmholtz_2d", "magnetic_laplacian_2d"},
       .help = "interior nodes per side: size^2 rows"},
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 1,
       .most = largest_size("poisson_3d_7pt"), .required = true, .selector = generator,
       .for_values = {"poisson_3d_7pt", "convection_diffusion_3d"},
       .help = "interior nodes per side: size^3 rows"},
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 1,
       .most = largest_size("poisson_3d_27pt"), .required = true, .selector = generator,
       .for_values = {"poisson_3d_27pt"}, .help = "interior nodes per side: size^3 rows"},
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 2,
       .most = largest_size("elasticity_3d"), .required = true, .selector = generator, .for_values = {"elasticity_3d"},
       .help = "cells per side: 3 (size - 1) (size + 1)^2 rows"},
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 1, .most = most_counts.rows,
       .required = true, .selector = generator, .for_values = {"random_spd"}, .help = "rows"},
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 1, .most = most_counts.rows,
       .required = true, .selector = generator, .for_values = {"block_lower_triangular"},
       .help = "rows of a component"},
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 1, .most = most_counts.rows,
       .required = true, .selector = generator, .for_values = {"stand_in"}, .unless = like,
       .help = "rows"},
      {.section = "problem", .name = "velocity_x", .kind = Kind::real, .least = -infinity,
       .default_value = "40", .selector = generator,
       .for_values = {"convection_diffusion_2d", "convection_diffusion_3d"}, .help = "component of the flow velocity"},
      {.section = "problem", .name = "velocity_y", .kind = Kind::real, .least = -infinity,
       .default_value = "20", .selector = generator,
       .for_values = {"convection_diffusion_2d", "convection_diffusion_3d"}, .help = "component of the flow velocity"},
      {.section = "problem", .name = "velocity_z", .kind = Kind::real, .least = -infinity,
       .default_value = "10", .selector = generator, .for_values = {"convection_diffusion_3d"},
       .help = "component of the flow velocity"},
      {.section = "problem", .name = "convection", .words = {"upwind", "central"},
       .default_value = "upwind", .selector = generator,
       .for_values = {"convection_diffusion_2d", "convection_diffusion_3d"},
       .help = "how the flow is discretised"},
      {.section = "problem", .name = "wavenumber", .kind = Kind::real, .default_value = "20",
       .selector = generator, .for_values = {"helmholtz_2d"},
       .help = "k of -Laplace(u) - k^2 (1 - i damping) u"},
      {.section = "problem", .name = "damping", .kind = Kind::real, .default_value = "0.1",
       .selector = generator, .for_values = {"helmholtz_2d"},
       .help = "share of k^2 that is absorbed"},
      {.section = "problem", .name = "flux", .kind = Kind::real, .least = -infinity,
       .default_value = "0.1", .selector = generator, .for_values = {"magnetic_laplacian_2d"},
       .help = "flux quanta through a grid cell"},
      {.section = "problem", .name = "nonzeros_per_row", .kind = Kind::integer, .least = 1,
       .most = most_counts.rows, .default_value = "7", .selector = generator,
       .for_values = {"random_spd"}, .help = "nonzeros per row on average"},
      {.section = "problem", .name = "components", .kind = Kind::integer, .least = 1,
       .most = most_counts.rows, .required = true, .selector = generator,
       .for_values = {"block_lower_triangular"}, .help = "independent diagonal blocks"},
      {.section = "problem", .name = "density", .kind = Kind::real, .most = 1, .required = true,
       .selector = generator, .for_values = {"block_lower_triangular"},
       .help = "share of nonzeros below the diagonal of a block"},
      {.section = "problem", .name = "like", .words = stand_in_names(), .selector = generator,
       .for_values = {"stand_in"},
       .help = "matrix whose size and row lengths the stand-in has"},
      {.section = "problem", .name = "mean", .kind = Kind::real, .least = 1, .most = most_counts.rows,
       .required = true, .selector = generator, .for_values = {"stand_in"}, .unless = like,
       .help = "entries per row on average"},
      {.section = "problem", .name = "longest", .kind = Kind::integer, .least = 1,
       .most = most_counts.rows, .required = true, .selector = generator, .for_values = {"stand_in"},
       .unless = like, .help = "entries of the longest row"},
      {.section = "problem", .name = "deviation", .kind = Kind::real, .required = true,
       .selector = generator, .for_values = {"stand_in"}, .unless = like,
       .help = "standard deviation of the row lengths"},
      {.section = "problem", .name = "half_bandwidth", .kind = Kind::integer,
       .most = most_counts.rows, .default_value = "0", .selector = generator,
       .for_values = {"stand_in"}, .unless = like,
       .help = "near entries (i, j) have |i - j| up to this; 0: chosen by size and longest row"},
      {.section = "problem", .name = "near", .kind = Kind::real, .most = 1, .default_value = "1",
       .selector = generator, .for_values = {"stand_in"}, .unless = like,
       .help = "share of near entries; the others are anywhere in the row"},
      {.section = "problem", .name = "cluster", .kind = Kind::integer, .least = 1,
       .most = most_counts.rows, .default_value = "1", .selector = generator,
       .for_values = {"stand_in"}, .unless = like,
       .help = "number of neighbouring columns that occur together"},
      {.section = "problem", .name = "alike", .kind = Kind::integer, .least = 1,
       .most = most_counts.rows, .default_value = "1", .selector = generator,
       .for_values = {"stand_in"}, .unless = like,
       .help = "number of neighbouring rows with the same length and pattern"},
      {.section = "problem", .name = "symmetry", .words = {"none", "pattern", "symmetric", "spd"},
       .default_value = "none", .selector = generator, .for_values = {"stand_in"}, .unless = like,
       .help = "none; pattern: only the pattern; symmetric: the values, too; spd: symmetric positive definite"},
  };

  keys.push_back({.section = "solver", .name = "name", .words = names_of(solver_methods),
                  .default_value = "auto",
                  .help = "iterative method; auto: chosen by an analysis of A; if it fails, others are tried"});
  keys.push_back({.section = "solver", .name = "candidates", .kind = Kind::text,
                  .selector = "solver.name", .for_values = {"auto"},
                  .help = "candidates to try, in this order: cg+amg gmres+ilu0; default: chosen by auto"});
  add_solver_options(keys);
  keys.push_back({.section = "solver", .name = "check_symmetry", .words = {"true", "false"},
                  .default_value = "true",
                  .help = "check that A is Hermitian, if the method needs it: cg and block_cg refuse other matrices; with fsai, chebyshev, ic0, ick, ict and amg there is a warning"});

  std::vector<std::string_view> named = names_of(solver_methods);
  std::erase(named, "auto");
  keys.push_back({.section = "preconditioner", .name = "name",
                  .words = names_of(preconditioner_methods, {"auto", "none", "jacobi"}),
                  .default_value = "auto", .selector = "solver.name", .for_values = {"auto"},
                  .help = "approximation of the inverse; auto: chosen with the solver"});
  keys.push_back({.section = "preconditioner", .name = "name",
                  .words = names_of(preconditioner_methods, {"auto", "none", "jacobi"}),
                  .default_value = "none", .selector = "solver.name", .for_values = named,
                  .help = "approximation of the inverse; auto: chosen by an analysis of A"});
  keys.push_back({.section = "preconditioner", .name = "inner", .words = {"none", "jacobi", "fsai"},
                  .default_value = "jacobi", .selector = "preconditioner.name",
                  .for_values = {"chebyshev"}, .formerly = "over",
                  .help = "preconditioner M inside the polynomial p(M A) M"});
  add_preconditioner_options(keys);
  for_each_option<ScalingOptions>(
      [&](auto const& option) { keys.push_back(plain_row("preconditioner", option)); });
  keys.push_back({.section = "preconditioner", .name = "precision", .words = {"same", "single"},
                  .default_value = "same", .selector = "preconditioner.name",
                  .for_values = {"fsai", "amg"},
                  .help = "store the factor or the hierarchy in problem.scalar, or in float"});
  keys.push_back({.section = "preconditioner", .name = "near_nullspace",
                  .words = {"constant", "rigid_body"}, .default_value = "constant",
                  .selector = "preconditioner.name", .for_values = {"amg"},
                  .help = "vectors that converge slowly: constant, or rigid body modes for elasticity"});

  std::vector<Key> const others = {
      {.section = "execution", .name = "space",
       .words = {"default", "gpu", "serial", "openmp", "cuda", "hip"},
       .default_value = "default", .help = "execution space, see --list; default: the best of this build; gpu: an error without one"},
      {.section = "execution", .name = "runner", .words = words_of_all<Runner>(),
       .default_value = "auto", .help = "launch each kernel, a graph of them, or the whole solve as one kernel of one team or of all (resident)"},
      {.section = "execution", .name = "matrix_format", .words = words_of_all<MatrixFormat>(),
       .default_value = "auto", .help = "compressed rows, slices of padded rows, all rows padded, or blocks; auto: by the rows and blocks of the matrix"},
      {.section = "execution", .name = "repeat", .kind = Kind::integer, .least = 1, .most = 1e6,
       .default_value = "1", .help = "number of solves; the median time is reported"},

      {.section = "output", .name = "json", .kind = Kind::path, .sweeps = false,
       .help = "JSON results of all runs of the file"},
      {.section = "output", .name = "table", .kind = Kind::path, .sweeps = false,
       .help = "the table of all runs of the file, with all columns: .md, .tex or .csv"},
      {.section = "output", .name = "solution", .kind = Kind::path, .sweeps = false,
       .help = "Matrix Market file of x; numbered when there are several runs"},
      {.section = "output", .name = "history", .kind = Kind::path, .sweeps = false,
       .help = "CSV file of the residuals; numbered when there are several runs"},
      {.section = "output", .name = "report", .kind = Kind::path, .sweeps = false,
       .help = "page of HTML with tables and pictures of all runs of the file"},
      {.section = "output", .name = "plot", .kind = Kind::path, .sweeps = false,
       .help = "picture of all runs of the file, SVG"},
      {.section = "output", .name = "plot_kind",
       .words = {Charts::kind_names.begin(), Charts::kind_names.end()}, .default_value = "auto",
       .sweeps = false, .help = "what output.plot shows; auto: what suits the runs"},
      {.section = "output", .name = "host", .words = {"true", "false"}, .default_value = "false",
       .sweeps = false, .help = "write the machine's name into the results"},
      {.section = "output", .name = "verbose", .words = {"true", "false"}, .default_value = "false",
       .sweeps = false,
       .help = "print the symmetry of A, the set-up by phase, and the levels of amg"},
      {.section = "output", .name = "roofline", .words = {"true", "false"},
       .default_value = "false", .sweeps = false,
       .help = "measure the bandwidth of a copy, and report the share of it that the iterations reach"},
  };
  // clang-format on
  keys.insert(keys.end(), others.begin(), others.end());
  return keys;
}

}  // namespace

std::vector<Key> const& schema() {
  static std::vector<Key> const keys = all_keys();
  return keys;
}

std::vector<std::string_view> sections() {
  std::vector<std::string_view> names;
  for (Key const& key : schema())
    if (names.empty() || names.back() != key.section) names.push_back(key.section);
  return names;
}

std::vector<std::string_view> keys_of(std::string_view section) {
  std::vector<std::string_view> names;
  for (Key const& key : schema())
    if (key.section == section && std::find(names.begin(), names.end(), key.name) == names.end())
      names.push_back(key.name);
  return names;
}

std::vector<Key const*> rows_of(std::string_view section, std::string_view name) {
  std::vector<Key const*> rows;
  for (Key const& key : schema())
    if (key.section == section && key.name == name) rows.push_back(&key);
  return rows;
}

std::string Key::allowed() const {
  switch (kind) {
    case Kind::word:
      return join(words);
    case Kind::integer:
    case Kind::real:
      return Solder::Impl::range_text(range(), kind == Kind::integer);
    case Kind::path:
      return "a file name";
    case Kind::word_or_path:
      return join(words, ", ") + " or a file name";
    case Kind::text:
      return "a text";
  }
  return {};
}

std::string join(std::vector<std::string_view> const& words, std::string_view last) {
  return Solder::Impl::listed(words, last);
}

std::string_view nearest(std::string_view name, std::vector<std::string_view> const& valid) {
  return Solder::Impl::nearest_name(name, valid);
}

std::string suggestion(std::string_view name) {
  return name.empty() ? std::string() : concat("; did you mean '", name, "'?");
}

}  // namespace Solder::Driver
