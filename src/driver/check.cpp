// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <new>
#include <set>
#include <solder/core/errors.hpp>
#include <solder/io/detail/whole_file.hpp>
#include <solder/io/matrix_market.hpp>
#include <stdexcept>

#include "columns.hpp"
#include "footprint.hpp"
#include "memory.hpp"
#include "scalars.hpp"
#include "schema.hpp"
#include "solve.hpp"
#include "table.hpp"
#include "world.hpp"

namespace Solder::Driver {
namespace {

namespace fs = std::filesystem;

/// A text that is the same for all names of a file, whether it exists or not.
std::string identity(fs::path const& path) {
  std::error_code code;
  fs::path const canonical = fs::weakly_canonical(fs::absolute(path, code), code);
  return (code ? path : canonical).string();
}

void check_space(RunConfig const& run, Errors& errors) {
  if (run.is_clear("execution.space") && !has_space(run.execution.space))
    errors.add(run.where("execution.space"), not_in_build(run.execution.space));
}

/// Reports keys of a run that do not have the values that something needs.
class Needs {
 public:
  Needs(std::string_view who, RunConfig const& run, Errors& errors)
      : who_(who), run_(run), errors_(errors) {}

  void operator()(bool fine, std::string_view key, std::string_view allowed,
                  std::string_view given) const {
    if (!fine && run_.is_clear(key))
      errors_.add(run_.where(key), who_, " needs ", key, ": ", allowed, ", not ", given);
  }
  void compressed_rows() const {
    std::string const& format = run_.execution.matrix_format;
    (*this)(format == "auto" || format == "csr", "execution.matrix_format", "auto or csr", format);
  }
  /// A preconditioner of the matrix as it is.
  void unscaled() const {
    ScalingOptions const& scaling = run_.preconditioner.scaling;
    (*this)(scaling.scale == Scale::none, "preconditioner.scale", "none", to_string(scaling.scale));
    (*this)(scaling.match == Match::none, "preconditioner.match", "none", to_string(scaling.match));
  }

 private:
  std::string_view who_;
  RunConfig const& run_;
  Errors& errors_;
};

bool has_single_basis(RunConfig const& run) {
  return run.solver.name == "gmres" && run.solver.gmres.basis == GmresBasis::single;
}

/// What a key of a run needs and a build with these parts has not: a scalar, or "single".
struct Lack {
  std::string key, part;
};
std::vector<Lack> lacks_of(RunConfig const& run, std::string_view scalars, bool has_single) {
  std::vector<Lack> lacks;
  if (std::string_view const scalar = to_string(run.problem.scalar); !is_built(scalar, scalars))
    lacks.push_back({"problem.scalar", std::string(scalar)});
  if (!has_single && run.preconditioner.precision == "single")
    lacks.push_back({"preconditioner.precision", "single"});
  if (!has_single && has_single_basis(run)) lacks.push_back({"solver.basis", "single"});
  return lacks;
}

void check_scalar(RunConfig const& run, Errors& errors) {
  for (auto const& [key, part] : lacks_of(run, built_scalars, Impl::has_single))
    if (run.is_clear(key))
      errors.add(run.where(key),
                 part == "single"
                     ? key + " 'single' is not in this build; configure it with Solder_SINGLE=ON"
                     : not_built(part));
  Needs const need("solver.basis: single", run, errors);
  bool const is_single =
      run.problem.scalar == Scalar::float_ || run.problem.scalar == Scalar::complex_float;
  if (has_single_basis(run))
    need(!is_single, "problem.scalar", "double or complex_double", to_string(run.problem.scalar));
}

/// Refuses what cannot be used with a batch.
void check_batch(RunConfig const& run, Errors& errors) {
  if (run.problem.batch == 0) return;
  Needs const need("problem.batch", run, errors);
  ProblemConfig const& problem = run.problem;
  std::string const& runner = run.execution.runner;
  need(solves_many(run.solver.name), "solver.name", "auto, cg or bicgstab", run.solver.name);
  need(takes_batches(run.preconditioner.name), "preconditioner.name",
       "none, jacobi, fsai, chebyshev or auto", run.preconditioner.name);
  need.unscaled();
  need(runner == "auto" || runner == "team", "execution.runner", "auto or team", runner);
  need.compressed_rows();
  need(problem.rhs_count < 2, "problem.rhs_count", "1", std::to_string(problem.rhs_count));
  need(problem.rhs_file.empty(), "problem.rhs", "ones, unit_solution or random", "a file");
  if (!run.output.history.empty())
    errors.add(run.where("output.history"),
               "output.history does not apply together with problem.batch, whose systems keep no "
               "history; leave one of them out");
}

/// Refuses what does not run over ranks.
void check_ranks(RunConfig const& run, Errors& errors) {
  if (world().is_alone()) return;
  std::string const who = concat("a run over ", std::to_string(world().ranks()), " ranks");
  Needs const need(who, run, errors);
  need(!is_block(run), "solver.name",
       "cg, bicgstab, gmres or idr, which solve right-hand sides one by one", run.solver.name);
  need(run.problem.batch == 0, "problem.batch", "none, because a batch is solved by one process",
       std::to_string(run.problem.batch));
  std::string const &runner = run.execution.runner, &space = run.execution.space;
  need(runner == "auto" || runner == "launch", "execution.runner", "auto or launch", runner);
  need.compressed_rows();
  if (run.is_clear("execution.space") && has_space(space))
    need(on_host(space), "execution.space",
         "openmp, threads or serial, because ranks solve on hosts only", space);
  need(!run.output.roofline, "output.roofline",
       "false, because the bandwidth is measured by one process", "true");
}

/// Refuses what cannot be used with block_cg.
void check_block(RunConfig const& run, Errors& errors) {
  if (!is_block(run)) return;
  Needs const need("block_cg", run, errors);
  std::string const& runner = run.execution.runner;
  std::string const& name = run.preconditioner.name;
  need(takes_batches(name) || name == "amg", "preconditioner.name",
       "none, jacobi, fsai, chebyshev, amg or auto", name);
  need.unscaled();
  need.compressed_rows();
  need(runner != "team" && runner != "resident", "execution.runner", "auto, launch or graph",
       runner);
}

/// Refuses what a time limit cannot be used with.
void check_time_limit(RunConfig const& run, Errors& errors) {
  if (run.solver.automatic.time_limit <= 0 || !run.is_clear("solver.time_limit")) return;
  if (run.execution.repeat > 1)
    errors.add(run.where("execution.repeat"),
               "execution.repeat does not apply together with solver.time_limit, which may end "
               "each repeat at another iteration; leave one of them out");
  if (run.problem.batch > 0)
    errors.add(run.where("solver.time_limit"),
               "solver.time_limit does not apply together with problem.batch, whose systems report "
               "only when all have ended; leave one of them out");
}

/// Refuses a matching where the matrix must stay Hermitian, or auto decides on it.
void check_matching(RunConfig const& run, Errors& errors) {
  std::string const &solver = run.solver.name, &name = run.preconditioner.name;
  bool const is_ic = name == "ic0" || name == "ick" || name == "ict";
  if (run.preconditioner.scaling.match == Match::none) return;
  std::string const where = run.where("preconditioner.match");
  if (solver == "cg" || is_ic)
    errors.add(where, "preconditioner.", Solder::Impl::unfit_for_matching(is_ic ? name : solver));
  else if (name == "auto" && run.is_clear("preconditioner.name"))
    errors.add(where, "preconditioner.", Solder::Impl::auto_matches);
}

/// Refuses impossible cycles.
void check_cycle(RunConfig const& run, Errors& errors) {
  PreconditionerConfig const& config = run.preconditioner;
  if (config.name != "amg" || !run.is_clear("preconditioner.pre") ||
      !run.is_clear("preconditioner.post"))
    return;
  AmgOptions const& amg = config.amg;
  bool const needs_symmetry = run.solver.name == "cg" || is_block(run);
  for (auto const& why : Solder::Impl::amg::cycle_failures(amg, "preconditioner.",
                                                           needs_symmetry ? run.solver.name : "",
                                                           config.near_nullspace == "rigid_body"))
    errors.add(run.where(concat("preconditioner.", why.key)), why.text);
}

/// Refuses unknowns that do not belong to nodes or points as the preconditioner needs.
void check_nodes(RunConfig const& run, std::int32_t rows, bool has_points, Errors& errors) {
  PreconditionerConfig const& config = run.preconditioner;
  if (config.near_nullspace == "rigid_body" && !has_points && run.problem.batch == 0)
    errors.add(run.where("preconditioner.near_nullspace"),
               "preconditioner.near_nullspace: rigid_body needs the coordinates of the points: "
               "give problem.coordinates, a Matrix Market file with a row per point");
  if (config.name == "amg" && rows % config.amg.block_size != 0)
    errors.add(run.where("preconditioner.block_size"), "preconditioner.block_size ",
               std::to_string(config.amg.block_size), " does not divide the ", std::to_string(rows),
               " rows of ", run.problem.name);
}

/// Refuses points that no run of the file uses.
void check_points(FileConfig const& file, Errors& errors) {
  auto const uses = [](RunConfig const& run) {
    return run.preconditioner.near_nullspace == "rigid_body" || run.preconditioner.name == "auto" ||
           !run.is_clear("preconditioner.near_nullspace");
  };
  if (std::any_of(file.runs.begin(), file.runs.end(), uses)) return;
  for (RunConfig const& run : file.runs)
    if (!run.problem.coordinates.empty())
      errors.add(run.where("problem.coordinates"),
                 "problem.coordinates is for preconditioner.near_nullspace: rigid_body, which no "
                 "run of this file has; leave it out");
}

/// Why a file, after following its links, cannot be written; empty if it can.
std::string why_not_writable(fs::path const& file) {
  std::error_code code;
  fs::path const folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
  bool const is_there = fs::exists(file, code);
  if (!is_there && fs::is_symlink(file, code)) return "its links form a cycle";
  if (!fs::exists(folder, code)) return "its folder does not exist";
  if (!fs::is_directory(folder, code)) return concat("'", folder.string(), "' is not a folder");
  if (file.filename().empty() || fs::is_directory(file, code)) return "it is a folder";
  if (is_there && access(file.c_str(), W_OK) != 0) return "it is write-protected";
  if (is_there && !fs::is_regular_file(file, code)) return {};  // a device or pipe: not replaced
  if (access(folder.c_str(), W_OK | X_OK) != 0) return "its folder is not writable";
  // While it is being written, a file has a suffix of up to 19 characters.
  if (file.filename().native().size() > 255 - 19) return "its name is longer than 236 characters";
  return {};
}

/// Refuses a table's file whose ending does not say what it is.
void check_table(RunConfig const& run, Errors& errors) {
  std::string const ending = run.output.table.extension().string();
  auto const& all = table_endings;
  if (run.output.table.empty() ||
      std::find(std::begin(all), std::end(all), ending) != std::end(all))
    return;
  errors.add(run.where("output.table"), "output.table must end in ",
             join({std::begin(all), std::end(all)}), ", not '",
             run.output.table.filename().string(), "'");
}

void check_outputs(std::vector<FileConfig> const& files, Errors& errors) {
  if (!world().is_first()) return;           // which writes them
  std::map<std::string, std::string> taken;  // identity -> what uses the file
  for (FileConfig const& file : files) {
    taken.emplace(identity(file.file), concat("the input file ", file.file.string()));
    for (RunConfig const& run : file.runs) {
      if (!run.problem.matrix.empty())
        taken.emplace(identity(run.problem.matrix),
                      concat("the matrix of ", run.where("problem.matrix")));
      if (!run.problem.rhs_file.empty())
        taken.emplace(identity(run.problem.rhs_file),
                      concat("the right-hand side of ", run.where("problem.rhs")));
      if (!run.problem.coordinates.empty())
        taken.emplace(identity(run.problem.coordinates),
                      concat("the points of ", run.where("problem.coordinates")));
    }
  }
  auto const check = [&](fs::path const& path, RunConfig const& run, std::string const& key) {
    std::error_code code;
    if (path.empty()) return;
    fs::path const file = Solder::Impl::written_file(path);
    std::string const link =
        fs::is_symlink(path, code) ? concat(", a link to '", file.string(), "',") : std::string();
    std::string const what = concat(key, " '", path.string(), "'", link);
    if (std::string const why = why_not_writable(file); !why.empty())
      errors.add(run.where(key), what, " cannot be written: ", why);
    if (fs::exists(file, code) && !fs::is_regular_file(file, code)) return;  // a device or a pipe
    auto const [place, is_new] = taken.emplace(identity(file), concat(key, " of ", run.where(key)));
    if (!is_new) errors.add(run.where(key), what, " would overwrite ", place->second);
  };
  for (FileConfig const& file : files) {
    if (!file.runs.empty()) {
      RunConfig const& run = file.runs[0];
      check(run.output.json, run, "output.json");
      check(run.output.report, run, "output.report");
      check(run.output.plot, run, "output.plot");
      if (!run.output.plot.empty() && run.output.plot.extension() != ".svg")
        errors.add(run.where("output.plot"), "output.plot '", run.output.plot.string(),
                   "' must end in .svg: pictures are SVG");
      if (run.output.plot.empty() && run.output.plot_kind != "auto" &&
          run.is_clear("output.plot") && run.is_clear("output.plot_kind"))
        errors.add(run.where("output.plot_kind"),
                   "output.plot_kind is for output.plot, the file of the picture, which is not "
                   "given");
      check_table(run, errors);
      check(run.output.table, run, "output.table");
    }
    for (RunConfig const& run : file.runs) {
      check(run.output.solution, run, "output.solution");
      check(run.output.history, run, "output.history");
    }
  }
}

/// The memory of a run; if not all of its keys are clear, only that of the system.
std::vector<Share> clear_footprint(RunConfig const& run, Counts const& matrix, bool is_made) {
  if (run.unclear.empty()) return footprint(run, matrix, is_made);
  return is_made ? std::vector<Share>() : std::vector<Share>{share_of_system(run, matrix)};
}

/// Checks that main memory suffices for the runs of one problem, which may still have to be made.
/// False after an error.
bool check_memory(std::vector<RunConfig const*> const& runs, Counts const& matrix, bool is_made,
                  Errors& errors) {
  double const available = double(available_memory()) / world().ranks_here();
  bool suffices = true;
  for (RunConfig const* const run : runs) {
    if (!run->is_clear("execution.space") || !on_host(run->execution.space)) continue;
    std::vector<Share> const shares = clear_footprint(*run, matrix, is_made);
    double needed = 0;
    for (Share const& share : shares) needed += share.bytes;
    if (needed <= available) continue;
    std::string parts;
    for (Share const& share : shares)
      if (share.bytes > needed / 100)
        parts += concat(parts.empty() ? "" : ", ", share.what, " ", memory_text(share.bytes));
    auto const less = [](Share const& a, Share const& b) { return a.bytes < b.bytes; };
    std::string_view const key = std::max_element(shares.begin(), shares.end(), less)->key;
    errors.add(run->where(key), key, ": ", run->problem.name, " needs ", memory_text(needed),
               " more memory to be solved (", parts, "); ", memory_text(available),
               " is available");
    suffices = false;
  }
  return suffices;
}

/// Checks each file of a problem that cannot be made: of the matrix, which may be large, only the
/// header; the other files completely.
void check_files(RunConfig const& run, Errors& errors) {
  if (!world().is_first()) return;
  AllocationLimit const limit;
  auto const check = [&](fs::path const& file, std::string_view key, auto const& read) {
    std::error_code code;
    bool const is_pipe = fs::exists(file, code) && !fs::is_regular_file(file, code) &&
                         !fs::is_directory(file, code);  // can be read only once
    if (file.empty() || is_pipe) return;
    try {
      read(file.string());
    } catch (InputError const& error) {
      errors.add(run.where(key), key, ": ", error.what());
    } catch (std::bad_alloc const&) {  // the file may still be fine
    }
  };
  ProblemConfig const& problem = run.problem;
  check(problem.matrix, "problem.matrix", read_matrix_market_header);
  check(problem.rhs_file, "problem.rhs", [&](std::string const& file) {
    read_columns<Kokkos::complex<double>>(file, 0, problem.rhs_count);
  });
  check(problem.coordinates, "problem.coordinates",
        [](std::string const& file) { read_points(file, 0); });
}

/// What this rank has of a matrix while it is made: its share, or first of all the whole.
Counts counts_here(ProblemConfig const& problem, Counts counts) {
  if (makes_any_rows(problem)) {
    counts.rows /= world().ranks();
    counts.nonzeros /= world().ranks();
  } else if (!world().is_first()) {
    counts.rows = counts.nonzeros = 0;
  }
  return counts;
}

/// Checks one problem and the memory of all its runs: first with what is known before the matrix is
/// made, then with the matrix.
void check_problem(std::vector<RunConfig const*> const& runs, SystemStore& store, Errors& errors) {
  RunConfig const& run = *runs[0];
  if (!run.is_clear_section("problem.")) return check_files(run, errors);
  auto const report_memory = [&] {
    errors.add(run.where(run.matrix_key()), run.matrix_key(), ": ", run.problem.name,
               " does not fit in memory: ", memory_text(double(available_memory())), " available");
  };
  Counts const promised = promised_counts(run.problem);
  bool const is_too_large = !are_too_many(promised) &&
                            !check_memory(runs, counts_here(run.problem, promised), false, errors);
  if (world().any(is_too_large)) return check_files(run, errors);
  AllocationLimit const limit;
  try {
    Counts const counts = std::visit(
        [&](auto const& system) {
          for (RunConfig const* const each : runs)
            check_nodes(*each, system->rows(), system->points.dimensions > 0, errors);
          return Counts{double(system->matrix.rows), double(system->matrix.nonzeros()),
                        double(system->right_hand_sides())};
        },
        store.get(run));
    check_memory(runs, counts, true, errors);
  } catch (Solder::Impl::AnotherRankFailed const&) {  // that one says why
  } catch (InputError const& error) {
    errors.add("", error.what());
    check_files(run, errors);
  } catch (std::bad_alloc const&) {
    report_memory();
  } catch (std::length_error const&) {  // more than any vector can hold
    report_memory();
  }
}

}  // namespace

std::set<std::string> lacking_parts(std::vector<FileConfig> const& files, std::string_view scalars,
                                    bool has_single) {
  std::set<std::string> parts;
  for (FileConfig const& file : files)
    for (RunConfig const& run : file.runs)
      for (Lack const& lack : lacks_of(run, scalars, has_single)) parts.insert(lack.part);
  return parts;
}

void check_runs(std::vector<FileConfig> const& files, SystemStore& store, Errors& errors) {
  for (FileConfig const& file : files) {
    check_points(file, errors);
    for (RunConfig const& run : file.runs) {
      check_scalar(run, errors);
      check_space(run, errors);
      check_batch(run, errors);
      check_ranks(run, errors);
      check_block(run, errors);
      check_time_limit(run, errors);
      check_matching(run, errors);
      check_cycle(run, errors);
    }
  }
  check_outputs(files, errors);
  std::vector<std::vector<RunConfig const*>> problems;  // the runs of each
  for (FileConfig const& file : files)
    for (RunConfig const& run : file.runs) {
      auto const same = std::find_if(problems.begin(), problems.end(), [&](auto const& runs) {
        return runs[0]->problem == run.problem &&
               runs[0]->is_clear_section("problem.") == run.is_clear_section("problem.");
      });
      if (same == problems.end())
        problems.push_back({&run});
      else
        same->push_back(&run);
    }
  for (auto const& runs : problems) check_problem(runs, store, errors);
}

}  // namespace Solder::Driver
