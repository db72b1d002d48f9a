// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schema.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <solder/problems/stand_in_figures.hpp>

#include "counts.hpp"

namespace Solder::Driver {
namespace {

constexpr double largest_seed = 9007199254740991;  // 2^53 - 1: exact in JSON and in double
constexpr double largest_int = std::numeric_limits<int>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::string number(double x) {
  std::array<char, 32> buffer{};
  bool const whole = x == static_cast<double>(static_cast<long long>(x));
  auto const end =
      whole ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<long long>(x))
                  .ptr
            : std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr;
  return {buffer.data(), end};
}

/// What counts when names are compared: small letters, no '_' or '-'.
std::string core_of(std::string_view text) {
  std::string result;
  for (char c : text)
    if (c != '_' && c != '-')
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// Edit distance with swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// The matrices that a stand-in can be like.
std::vector<std::string_view> stand_in_names() {
  std::vector<std::string_view> names;
  for (NamedStandIn const& item : named_stand_ins) names.push_back(item.name);
  return names;
}

/// What is a key of fsai is one of fsai under a polynomial too, but for the precision: a polynomial
/// over a factor in single is not compiled.
std::vector<Key> with_fsai_under_chebyshev(std::vector<Key> keys) {
  for (std::size_t k = 0; k < keys.size(); ++k) {
    if (keys[k].selector != "preconditioner.name" || keys[k].for_values[0] != "fsai" ||
        keys[k].name == "precision")
      continue;
    Key under = keys[k];
    under.selector = "preconditioner.over";
    keys.insert(keys.begin() + static_cast<std::ptrdiff_t>(++k), under);
  }
  return keys;
}

}  // namespace

std::vector<Key> const& schema() {
  constexpr std::string_view generator = "problem.generate", like = "problem.like";
  // clang-format off
  static std::vector<Key> const keys = with_fsai_under_chebyshev({
      {.section = "problem", .name = "matrix", .kind = Kind::path,
       .help = "Matrix Market file, .mtx or .mtx.gz"},
      {.section = "problem", .name = "generate",
       .words = {"fem_poisson_2d", "elasticity_3d", "poisson_3d_7pt", "poisson_3d_27pt",
                 "convection_diffusion_2d", "convection_diffusion_3d", "helmholtz_2d",
                 "magnetic_laplacian_2d", "random_spd", "block_lower_triangular",
                 "stand_in"},
       .help = "generated matrix, in place of a file"},
      {.section = "problem", .name = "rhs", .kind = Kind::word_or_path,
       .words = {"ones", "unit_solution", "random"}, .default_value = "ones",
       .help = "right-hand side; unit_solution: b = A*ones; random: uniform in [-1, 1]"},
      {.section = "problem", .name = "rhs_count", .kind = Kind::integer, .least = 1,
       .most = most_right_hand_sides,
       .help = "right-hand sides: of random ones, or of a file, which has as many columns; left out: 1, or all columns"},
      {.section = "problem", .name = "coordinates", .kind = Kind::path,
       .help = "Matrix Market file of points, 2 or 3 columns, for near_nullspace: rigid_body; elasticity_3d has its own"},
      {.section = "problem", .name = "batch", .kind = Kind::integer, .least = 1, .most = most_systems,
       .help = "so many independent systems, solved at once, each by one team: of random matrices each has the next seed"},
      {.section = "problem", .name = "seed", .kind = Kind::integer, .most = largest_seed,
       .default_value = "1", .help = "of the random right-hand side and of random matrices"},
      {.section = "problem", .name = "scalar",
       .words = {"float", "double", "complex_float", "complex_double"}, .default_value = "double",
       .help = "type of all numbers of the run"},

      // parameters of the generators
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 1,
       .most = largest_size("fem_poisson_2d"), .required = true, .selector = generator,
       .for_values = {"fem_poisson_2d"}, .help = "interior nodes a side: size^2 rows"},
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 1,
       .most = largest_size("convection_diffusion_2d"), .required = true, .selector = generator,
       .for_values = {"convection_diffusion_2d", "helmholtz_2d", "magnetic_laplacian_2d"},
       .help = "interior nodes a side: size^2 rows"},
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 1,
       .most = largest_size("poisson_3d_7pt"), .required = true, .selector = generator,
       .for_values = {"poisson_3d_7pt", "convection_diffusion_3d"},
       .help = "interior nodes a side: size^3 rows"},
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 1,
       .most = largest_size("poisson_3d_27pt"), .required = true, .selector = generator,
       .for_values = {"poisson_3d_27pt"}, .help = "interior nodes a side: size^3 rows"},
      {.section = "problem", .name = "size", .kind = Kind::integer, .least = 2,
       .most = largest_size("elasticity_3d"), .required = true, .selector = generator, .for_values = {"elasticity_3d"},
       .help = "cells a side: 3 (size - 1) (size + 1)^2 rows"},
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
       .for_values = {"convection_diffusion_2d", "convection_diffusion_3d"}, .help = "of the flow"},
      {.section = "problem", .name = "velocity_y", .kind = Kind::real, .least = -infinity,
       .default_value = "20", .selector = generator,
       .for_values = {"convection_diffusion_2d", "convection_diffusion_3d"}, .help = "of the flow"},
      {.section = "problem", .name = "velocity_z", .kind = Kind::real, .least = -infinity,
       .default_value = "10", .selector = generator, .for_values = {"convection_diffusion_3d"},
       .help = "of the flow"},
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
       .for_values = {"random_spd"}, .help = "on average"},
      {.section = "problem", .name = "components", .kind = Kind::integer, .least = 1,
       .most = most_counts.rows, .required = true, .selector = generator,
       .for_values = {"block_lower_triangular"}, .help = "independent diagonal blocks"},
      {.section = "problem", .name = "density", .kind = Kind::real, .most = 1, .required = true,
       .selector = generator, .for_values = {"block_lower_triangular"},
       .help = "share of a block's places below the diagonal that are filled"},
      {.section = "problem", .name = "like", .words = stand_in_names(), .selector = generator,
       .for_values = {"stand_in"},
       .help = "the matrix of the papers' tables whose size and row lengths the stand-in has"},
      {.section = "problem", .name = "mean", .kind = Kind::real, .least = 1, .most = most_counts.rows,
       .required = true, .selector = generator, .for_values = {"stand_in"}, .unless = like,
       .help = "entries a row"},
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
       .help = "share of the near entries; the others lie anywhere"},
      {.section = "problem", .name = "cluster", .kind = Kind::integer, .least = 1,
       .most = most_counts.rows, .default_value = "1", .selector = generator,
       .for_values = {"stand_in"}, .unless = like,
       .help = "neighbouring columns that come together"},
      {.section = "problem", .name = "alike", .kind = Kind::integer, .least = 1,
       .most = most_counts.rows, .default_value = "1", .selector = generator,
       .for_values = {"stand_in"}, .unless = like,
       .help = "neighbouring rows of one length and pattern"},
      {.section = "problem", .name = "symmetry", .words = {"none", "pattern", "symmetric", "spd"},
       .default_value = "none", .selector = generator, .for_values = {"stand_in"}, .unless = like,
       .help = "none, of the pattern, of the values too, or positive definite as well"},

      {.section = "solver", .name = "name", .words = {"cg", "block_cg", "bicgstab", "gmres", "idr"},
       .default_value = "cg",
       .help = "iterative method"},
      {.section = "solver", .name = "form", .words = {"auto", "classical", "pipelined"},
       .default_value = "auto", .selector = "solver.name", .for_values = {"cg"},
       .help = "textbook recurrences, or all sums at one point; auto: pipelined with none and jacobi"},
      {.section = "solver", .name = "form", .words = {"classical", "pipelined"},
       .default_value = "pipelined", .selector = "solver.name", .for_values = {"bicgstab"},
       .help = "textbook recurrences, or fused into fewer kernels"},
      {.section = "solver", .name = "form",
       .words = {"pipelined", "cgs", "cgs2", "mgs", "flexible"},
       .default_value = "cgs2", .selector = "solver.name", .for_values = {"gmres"},
       .help = "simpler GMRES; classical Gram-Schmidt once, or repeated where needed; modified; flexible"},
      {.section = "solver", .name = "restart", .kind = Kind::integer, .least = 1, .most = 1000,
       .default_value = "30", .selector = "solver.name", .for_values = {"gmres"},
       .help = "steps of a cycle"},
      {.section = "solver", .name = "tolerance", .kind = Kind::real, .most = 1,
       .default_value = "1e-8", .help = "stop at ||b - A x|| <= tolerance * ||b||; 0: never"},
      {.section = "solver", .name = "max_iterations", .kind = Kind::integer, .least = 1,
       .most = largest_int, .default_value = "10000", .help = "give up after so many"},
      {.section = "solver", .name = "second_round", .words = {"lost", "halved"},
       .default_value = "lost", .selector = "solver.form", .for_values = {"cgs2", "flexible"},
       .help = "when cgs2 and flexible orthogonalise again: orthogonality lost, or ||w||^2 halved"},
      {.section = "solver", .name = "shadow_space", .kind = Kind::integer, .least = 1, .most = 32,
       .default_value = "4", .selector = "solver.name", .for_values = {"idr"},
       .help = "random vectors that residuals are kept orthogonal to: products of a cycle, but for one"},
      {.section = "solver", .name = "smoothing", .words = {"true", "false"},
       .default_value = "false", .selector = "solver.name", .for_values = {"idr"},
       .help = "of residuals: they never grow then"},
      {.section = "solver", .name = "seed", .kind = Kind::integer, .most = largest_seed,
       .default_value = "1", .selector = "solver.name", .for_values = {"idr"},
       .help = "of the shadow space"},
      {.section = "solver", .name = "check_symmetry", .words = {"true", "false"},
       .default_value = "true",
       .help = "looks whether A is Hermitian: cg and block_cg refuse others, of fsai, chebyshev, ic0 and amg a word says it"},

      {.section = "preconditioner", .name = "name",
       .words = {"none", "jacobi", "fsai", "chebyshev", "ic0", "ilu0", "amg"},
       .default_value = "none", .help = "approximation of the inverse"},
      {.section = "preconditioner", .name = "over", .words = {"none", "jacobi", "fsai"},
       .default_value = "jacobi", .selector = "preconditioner.name", .for_values = {"chebyshev"},
       .help = "the preconditioner that the polynomial smooths"},
      {.section = "preconditioner", .name = "degree", .kind = Kind::integer, .least = 1, .most = 100,
       .default_value = "4", .selector = "preconditioner.name", .for_values = {"chebyshev"},
       .help = "of the polynomial: products with A in an application"},
      {.section = "preconditioner", .name = "share", .kind = Kind::real, .least = 1e-6, .most = 0.9,
       .default_value = "0.02", .selector = "preconditioner.name", .for_values = {"chebyshev"},
       .help = "smallest eigenvalue that the polynomial aims at, as a share of the largest"},
      {.section = "preconditioner", .name = "pattern", .words = {"static", "adaptive"},
       .default_value = "static", .selector = "preconditioner.name", .for_values = {"fsai"},
       .help = "of the factor: a power of A, or grown row by row where the gradient is largest"},
      {.section = "preconditioner", .name = "tau", .kind = Kind::real, .most = 1,
       .default_value = "0.05", .selector = "preconditioner.pattern", .for_values = {"static"},
       .help = "entries of A up to tau times their diagonals' mean do not count for the pattern"},
      {.section = "preconditioner", .name = "k", .kind = Kind::integer, .most = 100,
       .default_value = "2", .selector = "preconditioner.pattern", .for_values = {"static"},
       .help = "power of A that gives the pattern; 0: the diagonal"},
      {.section = "preconditioner", .name = "steps", .kind = Kind::integer, .most = 1000,
       .default_value = "5", .selector = "preconditioner.pattern", .for_values = {"adaptive"},
       .help = "most times that a row's pattern grows"},
      {.section = "preconditioner", .name = "entries_per_step", .kind = Kind::integer, .least = 1,
       .most = 1000, .default_value = "8", .selector = "preconditioner.pattern",
       .for_values = {"adaptive"}, .help = "entries that it grows by each time"},
      {.section = "preconditioner", .name = "improvement", .kind = Kind::real, .most = 1,
       .default_value = "0.01", .selector = "preconditioner.pattern", .for_values = {"adaptive"},
       .help = "a row is done when growing reduces its Kaporin number by no more than this share"},
      {.section = "preconditioner", .name = "delta", .kind = Kind::real, .most = 1,
       .default_value = "0.05", .selector = "preconditioner.name", .for_values = {"fsai"},
       .help = "entries of the factor up to delta times their row's norm are dropped"},
      {.section = "preconditioner", .name = "energy_limit", .kind = Kind::real,
       .default_value = "0.03", .selector = "preconditioner.name", .for_values = {"fsai"},
       .help = "delta is halved for a row until eps A eps^H of what it loses is no more than this"},
      {.section = "preconditioner", .name = "precision", .words = {"same", "single"},
       .default_value = "same", .selector = "preconditioner.name", .for_values = {"fsai", "amg"},
       .help = "of the factor or the hierarchy: that of problem.scalar, or float"},
      {.section = "preconditioner", .name = "ordering", .words = {"natural", "rcm", "multicolour"},
       .default_value = "natural", .selector = "preconditioner.name", .for_values = {"ic0", "ilu0"},
       .help = "of elimination: the matrix's, reverse Cuthill-McKee, or colour by colour"},
      {.section = "preconditioner", .name = "schedule",
       .words = {"auto", "natural", "levels", "partition"}, .default_value = "auto",
       .selector = "preconditioner.trisolve", .for_values = {"exact"},
       .help = "of the triangular solves: how their rows are grouped; auto: by a model of the time"},
      {.section = "preconditioner", .name = "shift", .kind = Kind::real, .most = 1,
       .default_value = "1e-3", .selector = "preconditioner.name", .for_values = {"ic0"},
       .help = "share of the diagonal that is added where a pivot is not positive, doubled nine times at most; 0: never"},
      {.section = "preconditioner", .name = "sweeps", .kind = Kind::integer, .most = 100,
       .default_value = "0", .selector = "preconditioner.name", .for_values = {"ic0", "ilu0"},
       .help = "of the fine-grained iteration for the factors; 0: elimination, row after row"},
      {.section = "preconditioner", .name = "trisolve", .words = {"exact", "jacobi"},
       .default_value = "exact", .selector = "preconditioner.name", .for_values = {"ic0", "ilu0"},
       .help = "how the factors are applied: triangular solves, or sweeps of Jacobi's iteration"},
      {.section = "preconditioner", .name = "trisolve_sweeps", .kind = Kind::integer, .least = 1,
       .most = 100, .default_value = "3", .selector = "preconditioner.trisolve",
       .for_values = {"jacobi"}, .help = "for each triangle: a product with it each"},
      {.section = "preconditioner", .name = "strength", .kind = Kind::real, .most = 1,
       .default_value = "0.25", .selector = "preconditioner.name", .for_values = {"amg"},
       .help = "couplings are strong from this share of the mean of both rows' largest"},
      {.section = "preconditioner", .name = "smoother", .words = {"jacobi", "chebyshev", "fsai"},
       .default_value = "chebyshev", .selector = "preconditioner.name", .for_values = {"amg"},
       .help = "damped Jacobi, all sweeps alike, or sweeps that make a Chebyshev polynomial, in D^-1 A or an approximate inverse times A"},
      {.section = "preconditioner", .name = "cycle", .words = {"v", "w"},
       .default_value = "v", .selector = "preconditioner.name", .for_values = {"amg"},
       .help = "levels between the first and the last are gone through once or twice, each time"},
      {.section = "preconditioner", .name = "pre", .kind = Kind::integer, .most = 8,
       .default_value = "1", .selector = "preconditioner.name", .for_values = {"amg"},
       .help = "sweeps of the smoother before the coarser level"},
      {.section = "preconditioner", .name = "post", .kind = Kind::integer, .most = 8,
       .selector = "preconditioner.name", .for_values = {"amg"},
       .help = "sweeps after it; left out: as many as before it, as cg and block_cg need"},
      {.section = "preconditioner", .name = "levels", .kind = Kind::integer, .least = 2, .most = 16,
       .default_value = "16", .selector = "preconditioner.name", .for_values = {"amg"},
       .help = "at most, the matrix's own among them"},
      {.section = "preconditioner", .name = "coarsest", .kind = Kind::integer, .least = 1, .most = 1000,
       .default_value = "128", .selector = "preconditioner.name", .for_values = {"amg"},
       .help = "rows up to which a level is inverted instead of made coarser"},
      {.section = "preconditioner", .name = "near_nullspace", .words = {"constant", "rigid_body"},
       .default_value = "constant", .selector = "preconditioner.name", .for_values = {"amg"},
       .help = "what converges slowly: nearly constant, or nearly the motion of a rigid body, for elasticity"},
      {.section = "preconditioner", .name = "block_size", .kind = Kind::integer, .least = 1, .most = 32,
       .default_value = "1", .selector = "preconditioner.near_nullspace", .for_values = {"constant"},
       .help = "unknowns of a node, which follow one another and are aggregated together"},

      {.section = "execution", .name = "space",
       .words = {"default", "serial", "openmp", "cuda", "hip"},
       .default_value = "default", .help = "where to run, of what this build has"},
      {.section = "execution", .name = "runner", .words = {"auto", "launch", "graph", "team", "resident"},
       .default_value = "auto", .help = "how to launch the kernels"},
      {.section = "execution", .name = "matrix_format", .words = {"auto", "csr", "sell", "ell"},
       .default_value = "auto", .help = "how to store the matrix for its products"},
      {.section = "execution", .name = "repeat", .kind = Kind::integer, .least = 1, .most = 1e6,
       .default_value = "1", .help = "solve so often, report the median time"},

      {.section = "output", .name = "json", .kind = Kind::path, .sweeps = false,
       .help = "results of all runs of the file"},
      {.section = "output", .name = "solution", .kind = Kind::path, .sweeps = false,
       .help = "Matrix Market file of x; numbered when there are several runs"},
      {.section = "output", .name = "history", .kind = Kind::path, .sweeps = false,
       .help = "CSV file of the residuals; numbered when there are several runs"},
      {.section = "output", .name = "verbose", .words = {"true", "false"}, .default_value = "false",
       .sweeps = false,
       .help = "prints each preconditioner's set-up by phase, and the levels of amg"},
      {.section = "output", .name = "roofline", .words = {"true", "false"},
       .default_value = "false", .sweeps = false,
       .help = "measures a copy, and says which share of its speed the iterations have"},
  });
  // clang-format on
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
  std::string const bounds = least == -infinity ? ""
                             : most == infinity ? " of at least " + number(least)
                                                : " from " + number(least) + " to " + number(most);
  switch (kind) {
    case Kind::word:
      return join(words);
    case Kind::integer:
      return "an integer" + bounds;
    case Kind::real:
      return "a number" + bounds;
    case Kind::path:
      return "a file name";
    case Kind::word_or_path:
      return join(words, ", ") + " or a file name";
  }
  return {};
}

std::string join(std::vector<std::string_view> const& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? std::string_view(", ") : last;
    text += words[i];
  }
  return text;
}

std::string_view nearest(std::string_view name, std::vector<std::string_view> const& valid) {
  std::string const wanted = core_of(name);
  if (wanted.size() > 64) return {};
  std::string_view best;
  std::size_t best_distance =
      wanted.size() < 2 ? 1 : std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (std::string_view candidate : valid) {
    std::size_t const distance = edit_distance(wanted, core_of(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty() || wanted.size() < 3) return best;
  for (std::string_view candidate : valid) {
    std::string const core = core_of(candidate);
    if (core.starts_with(wanted) || (core.size() >= 5 && wanted.starts_with(core)))
      return candidate;
  }
  return {};
}

std::string schema_text() {
  std::string text;
  std::string_view section;
  for (Key const& key : schema()) {
    if (key.section != section) {
      section = key.section;
      text += std::string(section) + ":\n";
    }
    std::string line = "  " + std::string(key.name) + ":";
    line.resize(std::max<std::size_t>(line.size() + 1, 20), ' ');
    line += key.allowed();
    if (!key.default_value.empty()) line += " [" + std::string(key.default_value) + "]";
    text += line + "\n" + std::string(20, ' ') + std::string(key.help);
    if (!key.selector.empty())
      text += "\n" + std::string(20, ' ') + "only with " + std::string(key.selector) + ": " +
              join(key.for_values);
    if (!key.unless.empty()) text += ", without " + std::string(key.unless);
    text += "\n";
  }
  return text;
}

}  // namespace Solder::Driver
