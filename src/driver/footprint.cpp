// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "footprint.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <solder/core/plan.hpp>
#include <stdexcept>

#include "columns.hpp"
#include "methods.hpp"
#include "solve.hpp"

namespace Solder::Driver {
namespace {

/// How the right-hand sides of a run are solved (see ColumnGroups of the library): in groups of
/// nearly equal size that are solved at once. (GPUs group those of large systems differently, but
/// with no more columns in total.)
struct Groups {
  double count = 1;
  double width = 1;          ///< of the largest group
  bool are_unequal = false;  ///< some groups have one column less
  bool is_padded = false;    ///< a block has at least two columns
  bool are_concurrent =
      false;  ///< a GPU solves columns concurrently if it cannot solve them together
  bool are_narrowed = false;  ///< when most columns have ended, the others get a narrower solve

  Groups(RunConfig const& run, Counts const& counts) {
    std::string const& format = run.execution.matrix_format;
    bool const together = takes_columns(run) && (format == "auto" || format == "csr");
    are_concurrent = !together && !on_host(run.execution.space) && counts.right_hand_sides > 1;
    double const most = together         ? Solder::Impl::columns_at_once(counts.rows)
                        : are_concurrent ? Solder::Impl::columns_side_by_side(counts.rows)
                                         : 1;
    count = std::ceil(counts.right_hand_sides / most);
    width = std::ceil(counts.right_hand_sides / count);
    are_unequal = !are_concurrent && width * count > counts.right_hand_sides;
    is_padded = is_block(run) && width < 2;
    if (is_padded) width = 2;
    // A GPU does without narrowing if it lacks the memory; a host may not.
    are_narrowed = together && !is_block(run) && width > 2 && on_host(run.execution.space);
  }

  /// The number of columns for which a solver has vectors.
  double solver_columns() const { return width + (are_unequal ? width - 1 : 0); }
  /// Columns of b and x that are copied if there are several groups or columns are not contiguous.
  double copied_columns() const { return count > 1 || is_padded || are_concurrent ? 2 * width : 0; }
};

/// What determines the memory of a run.
struct Case {
  RunConfig const& run;
  Counts matrix;
  double scalar;  ///< bytes
  Groups groups;

  bool has(std::string_view preconditioner) const {
    return run.preconditioner.name == preconditioner;
  }
  bool is_pointwise() const { return has("none") || has("jacobi"); }
  double vectors(double count) const { return count * matrix.rows * scalar; }
  /// The bytes of a solver's own vectors.
  double work_vectors(double count) const { return vectors(count * groups.solver_columns()); }
  /// The bytes of an entry that the preconditioner stores.
  double stored() const {
    if (run.preconditioner.precision != "single") return scalar;
    return run.problem.scalar >= Scalar::complex_float ? 8 : 4;
  }
  /// The bytes of a CSR matrix with as many rows.
  double compressed(double nonzeros, double value) const {
    return nonzeros * (value + 4) + matrix.rows * 4;
  }
};

/// The copy of the guess.
double bytes_of_guess(Case const& of) {
  return shared_options(of.run.solver).never_converges() ? 0 : of.work_vectors(1);
}

/// A solver or a preconditioner, what it allocates, and the key that reduces this. This table is
/// the only place that knows; a new method needs a new line.
struct MemoryOf {
  std::string_view name;
  std::string_view key;  ///< empty: the matrix's
  double (*bytes)(Case const& of);
};

double bytes_of_cg(Case const& of) {
  bool const pipelined = of.run.solver.cg.form == CgForm::pipelined;
  return of.work_vectors(3 + (of.is_pointwise() ? 0 : pipelined ? 2 : of.has("fsai") ? 0 : 1));
}

/// q, p, v and y, and z if there is a preconditioner.
double bytes_of_block_cg(Case const& of) { return of.work_vectors(of.has("none") ? 4 : 5); }

double bytes_of_gmres(Case const& of) {
  GmresOptions const& gmres = of.run.solver.gmres;
  double const steps = std::min(double(gmres.restart), of.matrix.rows);
  double const z = of.has("none") ? 0 : gmres.form == GmresForm::flexible ? steps + 1 : 1;
  double const x_before = 1;  // as it was when the cycle began
  if (gmres.basis == GmresBasis::same) return of.work_vectors(steps + 1 + x_before + z);
  double const w = 1, v = of.has("jacobi") ? 0 : 1;
  double const full = std::min(steps + 1, 8.);  // with room for vectors in double
  return of.work_vectors(full + (steps + 1 - full) / 2 + w + v + x_before + z);
}

double bytes_of_idr(Case const& of) {
  IdrOptions const& idr = of.run.solver.idr;
  double const s = std::min(double(idr.shadow_dimension), of.matrix.rows);
  return of.work_vectors(2 * s + 3 + (idr.smoothing ? 2 : 0) + (of.is_pointwise() ? 0 : 1));
}

/// The factor and its conjugate transpose. A factor with two or more powers of A, or with many
/// adaptive steps, is assumed to be as dense as A. At the default thresholds most are a little less
/// dense.
double bytes_of_fsai(Case const& of) {
  FsaiOptions const& fsai = of.run.preconditioner.fsai;
  double const n = of.matrix.rows, all = of.matrix.nonzeros;
  double nonzeros = all;
  if (fsai.adaptive)
    nonzeros = std::min(all, n * (1 + double(fsai.steps) * fsai.entries_per_step));
  else if (fsai.k < 2)
    nonzeros = fsai.k == 0 ? n : (all + n) / 2;
  if (fsai.max_row_entries > 0) nonzeros = std::min(nonzeros, n * fsai.max_row_entries);
  return 2 * of.compressed(nonzeros, of.stored()) + of.work_vectors(1);
}

/// z twice; and the preconditioner that the polynomial is over, and s where that is fsai.
double bytes_of_chebyshev(Case const& of) {
  std::string const& inner = of.run.preconditioner.inner;
  if (inner == "fsai") return of.work_vectors(3) + bytes_of_fsai(of);
  return of.work_vectors(2) + (inner == "jacobi" ? of.vectors(1) : 0);
}

/// The factors three times: while they are computed, in the order of elimination, and in the order
/// of the schedules, with A's pattern and the source of each value. y and z, with z twice on GPUs;
/// with sweeps, two of each and z. And the host's analysis: 24 bytes per nonzero. In natural order
/// there are no sources, and the pattern is A's; there is no analysis either if everything is by
/// sweeps, or if one thread of a host takes the rows as they come. Fill is not known before: the
/// factors of these are counted as twice A's entries, or what fill_factor allows.
double bytes_of_incomplete(Case const& of) {
  IncompleteOptions const& options = of.run.preconditioner.incomplete;
  Factorisation kind{};
  read_word(of.run.preconditioner.name, kind);
  bool const on_cores = on_host(of.run.execution.space), is_filled = has_fill(kind),
             by_sweeps = options.trisolve == Trisolve::jacobi,
             natural = ordering_of(kind, options, on_cores) == Ordering::natural,
             in_turn = is_one_thread(of.run.execution.space) &&
                       (by_sweeps || options.schedule == TriangularSchedule::automatic ||
                        options.schedule == TriangularSchedule::natural),
             analysed = !natural || is_filled || !(in_turn || (by_sweeps && options.sweeps > 0));
  double const nonzeros = of.matrix.nonzeros * (is_filled ? std::min(2.0, options.fill_factor) : 1),
               order = in_turn || options.sweeps > 0 ? 0 : 4,  // of elimination
      exact = (on_cores ? 28 : 40) + order + (natural ? 0 : 4),
               swept = 16 + order + (natural ? 0 : 8);
  return nonzeros * (3 * of.scalar + (natural && !is_filled ? 3 : 5) * 4 + (analysed ? 24 : 0)) +
         of.matrix.rows * (by_sweeps ? swept : exact) +
         of.work_vectors(by_sweeps  ? 5
                         : on_cores ? 2
                                    : 3);
}

/// The coarser levels, P, and the matrices of the cycle's products, S with A's pattern and Q twice;
/// on most levels twice (with extended and air levels shrink less and have denser rows; auto counts
/// as aggregation); and three vectors per level. With several modes: the given modes, those of a
/// level, their orthonormal bases, and the points.
double bytes_of_amg(Case const& of) {
  PreconditionerConfig const& config = of.run.preconditioner;
  double const modes = config.near_nullspace == "rigid_body" ? 6 : config.amg.block_size,
               number = of.run.problem.scalar >= Scalar::complex_float ? 16 : 8;
  AmgInterpolation const interpolation = config.amg.interpolation;
  double const matrices = interpolation == AmgInterpolation::air        ? 40
                          : interpolation == AmgInterpolation::extended ? 10
                                                                        : 4;
  return matrices * of.compressed(of.matrix.nonzeros, of.stored()) + of.work_vectors(3) +
         (modes > 1 ? (3 * modes * number + 8) * of.matrix.rows : 0);
}

/// The values of the scaled matrix, the factors and a vector; with a matching its pattern and the
/// rows' places, too.
double bytes_of_scaling(Case const& of) {
  ScalingOptions const& scaling = of.run.preconditioner.scaling;
  if (!scaling.is_wanted()) return 0;
  double const n = of.matrix.rows;
  return of.matrix.nonzeros * of.scalar + 2 * n * of.scalar + of.work_vectors(1) +
         (scaling.match == Match::none ? 0 : of.matrix.nonzeros * 4 + n * 8);
}

// auto goes on to the next candidate where there is no memory for one: so what the least takes.
constexpr MemoryOf solvers[] = {
    {"auto", "", bytes_of_cg},
    {"cg", "", bytes_of_cg},
    {"block_cg", "", bytes_of_block_cg},
    {"bicgstab", "", [](Case const& of) { return of.work_vectors(of.is_pointwise() ? 5 : 7); }},
    {"gmres", "solver.restart", bytes_of_gmres},
    {"idr", "solver.shadow_dimension", bytes_of_idr},
};

constexpr MemoryOf preconditioners[] = {
    {"auto", "", [](Case const& of) { return of.vectors(1); }},
    {"none", "", [](Case const&) { return 0.0; }},
    {"jacobi", "", [](Case const& of) { return of.vectors(1); }},
    {"fsai", "preconditioner.name", bytes_of_fsai},
    {"chebyshev", "preconditioner.name", bytes_of_chebyshev},
    {"ic0", "preconditioner.name", bytes_of_incomplete},
    {"ilu0", "preconditioner.name", bytes_of_incomplete},
    {"ick", "preconditioner.level", bytes_of_incomplete},
    {"iluk", "preconditioner.level", bytes_of_incomplete},
    {"ict", "preconditioner.fill_factor", bytes_of_incomplete},
    {"ilut", "preconditioner.fill_factor", bytes_of_incomplete},
    {"amg", "preconditioner.name", bytes_of_amg},
};

template <std::size_t Count>
MemoryOf const& find(MemoryOf const (&methods)[Count], std::string_view name) {
  auto const found = std::find_if(std::begin(methods), std::end(methods),
                                  [&](MemoryOf const& method) { return method.name == name; });
  if (found == std::end(methods))
    throw std::logic_error(concat("nothing says what memory ", name, " takes"));
  return *found;
}

}  // namespace

std::vector<Share> footprint(RunConfig const& run, Counts const& matrix, bool is_made) {
  Case const of{run, matrix, bytes_of(run.problem.scalar), Groups(run, matrix)};
  MemoryOf const& solver = find(solvers, run.solver.name);
  MemoryOf const& preconditioner = find(preconditioners, run.preconditioner.name);
  bool const is_one = matrix.right_hand_sides == 1;
  std::string_view const columns_key = is_one                      ? run.matrix_key()
                                       : run.problem.rhs_count > 0 ? "problem.rhs_count"
                                                                   : "problem.rhs";
  auto const key = [&](std::string_view own) { return own.empty() ? run.matrix_key() : own; };
  std::string const cycle =
      run.solver.name == "gmres"
          ? concat("(restart=", std::to_string(run.solver.gmres.restart), ")")
      : run.solver.name == "idr"
          ? concat("(shadow_dimension=", std::to_string(run.solver.idr.shadow_dimension), ")")
          : "";
  double const entries = matrix.nonzeros * (of.scalar + 4);
  std::vector<Share> shares = {
      {concat(run.solver.name, cycle), solver.key.empty() ? columns_key : solver.key,
       solver.bytes(of) + bytes_of_guess(of)},
      {run.preconditioner.label, key(preconditioner.key),
       preconditioner.bytes(of) + bytes_of_scaling(of)},
      // with b and x, and the x that is returned
      {"the copy that is solved", run.matrix_key(),
       entries + matrix.rows * 4 + (is_one ? of.vectors(3) : 0)}};
  std::string const& format = run.execution.matrix_format;
  if (format != "auto" && format != "csr")
    shares.push_back({format, "execution.matrix_format", entries});
  if (of.groups.are_narrowed) {  // at most the same columns again, with b and x
    Case without = of;           // any columns: only what M stores itself
    without.groups.width = 0;
    without.groups.are_unequal = false;
    shares.push_back({"the columns that continue after most have ended", columns_key,
                      solver.bytes(of) + bytes_of_guess(of) + preconditioner.bytes(of) -
                          preconditioner.bytes(without) + of.work_vectors(2)});
  }
  double const columns = matrix.right_hand_sides;
  if (!is_one)
    shares.push_back(
        {concat(std::to_string(std::int64_t(columns)), " right-hand sides and solutions"),
         columns_key, of.vectors(3 * columns + of.groups.copied_columns())});
  if (run.problem.batch > 0)  // where each begins, how it ended, and its report
    shares.push_back({"the report of each system", "problem.batch", run.problem.batch * 1000.0});
  if (!is_made) shares.push_back(share_of_system(run, matrix));
  return shares;
}

Share share_of_system(RunConfig const& run, Counts const& matrix) {
  double const scalar = bytes_of(run.problem.scalar);
  return {"the system", run.matrix_key(),
          matrix.nonzeros * (scalar + 4) + matrix.rows * 8 +
              matrix.rows * matrix.right_hand_sides * scalar};
}

}  // namespace Solder::Driver
