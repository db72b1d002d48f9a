// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <unistd.h>
#include <driver/check.hpp>
#include <driver/footprint.hpp>
#include <driver/memory.hpp>
#include <driver/scalars.hpp>
#include <driver/schema.hpp>
#include <driver/solve.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "../kokkos_events.hpp"
#include "config_of.hpp"

using namespace Solder::Driver;

namespace {

/// The messages for a file of this text, one a line; empty if it can run.
std::string errors_to_run(std::string const& text, Scratch const& scratch = {}) {
  Errors errors;
  auto const files = read_config({scratch.write("a.yaml", text)}, {}, errors);
  SystemStore store;
  if (errors.empty()) check_runs(files, store, errors);
  return messages_of(errors);
}

/// A space that works in main memory; empty where there is none.
std::string host_space() {
  auto const names = space_names();
  auto const host = std::ranges::find_if(names, on_host);
  return host == names.end() ? "" : std::string(*host);
}

TEST(Check, ABasisInSinglePrecisionIsForDoubles) {
  std::string const text = "problem: {generate: fem_poisson_2d, size: 9, scalar: ",
                    rest = "}\nsolver: {name: gmres, basis: single}\n";
  for (char const* const scalar : {"float", "complex_float"})
    EXPECT_TRUE(contains(errors_to_run(text + scalar + rest),
                         concat("a.yaml:1: solver.basis: single needs problem.scalar: double or "
                                "complex_double, not ",
                                scalar)))
        << errors_to_run(text + scalar + rest);
  EXPECT_EQ(errors_to_run(text + "double" + rest), "");
}

// ---- memory ----

/// Bytes of the Kokkos views that have one of these labels, or one of these before "::".
double allocated(SolderTest::KokkosEvents const& events, std::vector<std::string> const& labels) {
  double bytes = 0;
  for (auto const& allocation : events.allocations)
    for (std::string const& label : labels)
      if (allocation.label == label || allocation.label.starts_with(label + "::"))
        bytes += double(allocation.bytes);
  return bytes;
}

/// The first one that says so.
Share share_of(std::vector<Share> const& shares, std::string const& what) {
  auto const found =
      std::ranges::find_if(shares, [&](Share const& each) { return contains(each.what, what); });
  EXPECT_NE(found, shares.end()) << what;
  return found == shares.end() ? Share{} : *found;
}

/// The order of elimination counts although a single thread needs none: how many threads there will
/// be is not known before.
double unneeded_order(double rows) {
  bool const is_one = Kokkos::DefaultHostExecutionSpace().concurrency() == 1;
  return is_one && !is_one_thread(host_space()) ? 4 * rows : 0;
}

TEST(Footprint, IsWhatTheSolveAllocates) {
  if (host_space().empty()) GTEST_SKIP() << "no space of this build works in main memory";
  constexpr double n = 10000;
  std::string const problem = "problem: {generate: fem_poisson_2d, size: 100}\n";
  std::string const further =
      "preconditioner: {name: [none, jacobi, fsai, chebyshev, ic0, ilu0], inner: [jacobi, fsai], "
      "k: [0, 1], tau: 0, delta: 0}\n"
      "execution: {space: " +
      host_space() + "}\n";
  auto const runs = runs_of(
      problem +
      "solver: {name: [cg, bicgstab], form: [classical, pipelined], max_iterations: 3}\n" +
      further + "---\n" + problem +
      "solver: {name: gmres, form: [cgs2, flexible], basis: [same, single], restart: [4, 30], "
      "max_iterations: 3}\n" +
      further + "---\n" + problem +
      "solver: {name: idr, shadow_dimension: [1, 8], smoothing: [false, true], max_iterations: "
      "3}\n" +
      further);
  EXPECT_EQ(runs.size(), 2u * 2 * 9 + 2 * 2 * 2 * 9 + 2 * 2 * 9);
  auto const system = make_system<double>(runs[0]);
  Counts const counts = {n, double(system.matrix.nonzeros())};
  EXPECT_NEAR(footprint(runs[0], counts, false).back().bytes, double(system.bytes()), 8);
  for (RunConfig const& run : runs) {
    std::string const what = run.solver.name + " " + run.preconditioner.label;
    auto const shares = footprint(run, counts, true);
    ASSERT_EQ(shares.size(), 3u);
    SolderTest::KokkosEvents events;
    auto const solved = solve<double>(run, system, {});
    events.stop();
    double const slack = 0.4 * 8 * n;  // bounds, sums, small matrices: less than half a vector
    EXPECT_NEAR(shares[0].bytes, allocated(events, {"Solder::" + run.solver.name, "Solder::guess"}),
                slack)
        << what;
    double const nonzeros = double(solved.report.preconditioner.nonzeros);
    bool const is_incomplete =
        run.preconditioner.name == "ic0" || run.preconditioner.name == "ilu0";
    double const analysis = is_one_thread(host_space()) ? 0 : 24 * counts.nonzeros;  // in no view
    double const preconditioner =
        (is_incomplete  ? analysis + unneeded_order(n)
         : nonzeros > 0 ? 2 * (nonzeros * (8 + 4) + n * 4)
                        : 0) +
        allocated(events, {"Solder::jacobi", "Solder::fsai::t", "Solder::chebyshev",
                           "Solder::incomplete", "Solder::triangular"}) -
        // Lanczos's method has one of its own, which is gone when the solve begins.
        (run.preconditioner.inner == "fsai" ? 8 * n : 0);
    EXPECT_NEAR(shares[1].bytes, preconditioner, slack) << what;
    double const solution = 8 * n;  // in no view
    EXPECT_NEAR(shares[2].bytes,
                allocated(events, {"Solder::csr", "Solder::b", "Solder::x"}) + solution, slack)
        << what;
  }
}

/// With all by sweeps in natural order nothing is looked at on the host.
TEST(Footprint, OfSweepsIsWhatTheSolveAllocates) {
  if (host_space().empty()) GTEST_SKIP() << "no space of this build works in main memory";
  constexpr double n = 10000;
  auto const runs = runs_of(
      "problem: {generate: fem_poisson_2d, size: 100}\n"
      "solver: {name: cg, max_iterations: 3}\n"
      "preconditioner: {name: [ic0, ilu0], sweeps: [0, 3], trisolve: jacobi, ordering: [natural, "
      "rcm]}\nexecution: {space: " +
      host_space() + "}\n");
  EXPECT_EQ(runs.size(), 2u * 2 * 2);
  auto const system = make_system<double>(runs[0]);
  Counts const counts = {n, double(system.matrix.nonzeros())};
  for (RunConfig const& run : runs) {
    SolderTest::KokkosEvents events;
    auto const solved = solve<double>(run, system, {});
    events.stop();
    PreconditionerConfig const& config = run.preconditioner;
    bool const needs_none = (config.incomplete.sweeps > 0 || is_one_thread(host_space())) &&
                            config.incomplete.ordering == Solder::Ordering::natural;
    double const order = config.incomplete.sweeps > 0 ? 0 : unneeded_order(n);
    double const analysis = order + (needs_none ? 0 : 24 * counts.nonzeros);
    double const bytes = analysis + allocated(events, {"Solder::incomplete", "Solder::triangular"});
    double const slack = 0.4 * 8 * n;
    EXPECT_NEAR(footprint(run, counts, true)[1].bytes, bytes, slack) << config.label;
  }
}

/// Beside the solver of one column there are those of groups of at most 32, two where their widths
/// differ, and copies of the columns of a group where there are several groups.
TEST(Footprint, OfSeveralRightHandSidesIsWhatTheSolveAllocates) {
  if (host_space().empty()) GTEST_SKIP() << "no space of this build works in main memory";
  constexpr double n = 2500;
  auto const runs = runs_of(
      "problem: {generate: fem_poisson_2d, size: 50, rhs: random, rhs_count: [2, 8, 32, 33, 64]}\n"
      "solver: {name: [cg, bicgstab, gmres], max_iterations: 3}\n"
      "preconditioner: {name: [none, jacobi, fsai, chebyshev, ic0], k: 0}\n"
      "execution: {space: " +
      host_space() + ", matrix_format: [auto, sell]}\n");
  EXPECT_EQ(runs.size(), 5u * 3 * 5 * 2);
  for (RunConfig const& run : runs) {
    auto const system = make_system<double>(run);
    double const columns = system.right_hand_sides();
    std::string const what =
        concat(std::to_string(system.right_hand_sides()), " ", run.solver.name, " ",
               run.preconditioner.label, " ", run.execution.matrix_format);
    Counts const counts = {n, double(system.matrix.nonzeros()), columns};
    EXPECT_NEAR(footprint(run, counts, false).back().bytes, double(system.bytes()), 8) << what;
    auto const shares = footprint(run, counts, true);
    Share const share = share_of(shares, "right-hand sides");
    SolderTest::KokkosEvents events;
    solve<double>(run, system, {});
    events.stop();
    double const slack = 0.4 * 8 * n;  // of each column
    EXPECT_NEAR(shares[0].bytes, allocated(events, {"Solder::" + run.solver.name, "Solder::guess"}),
                slack * columns)
        << what;
    double const solution = 8 * n * columns;  // in no view
    double copy = 0;                          // of b's columns, and x's: a wider one replaces it
    for (auto const& allocation : events.allocations)
      if (allocation.label == "Solder::columns") copy = std::max(copy, double(allocation.bytes));
    EXPECT_NEAR(share.bytes, allocated(events, {"Solder::b", "Solder::x"}) + solution + 2 * copy,
                slack)
        << what;
    EXPECT_EQ(share.key, "problem.rhs_count");
    if (run.preconditioner.name == "fsai" || run.preconditioner.name == "chebyshev") {
      double const work = allocated(events, {"Solder::fsai::t", "Solder::chebyshev"});
      auto one = counts;
      one.right_hand_sides = 1;
      double const vectors = run.preconditioner.name == "fsai" ? 1 : 2;
      EXPECT_NEAR(shares[1].bytes - footprint(run, one, true)[1].bytes, work - vectors * 8 * n,
                  slack * columns)
          << what;
    }
  }
}

/// When half of them have ended there is another workspace for the rest.
TEST(Footprint, OfRightHandSidesThatGoOnByThemselvesIsEnough) {
  if (host_space().empty()) GTEST_SKIP() << "no space of this build works in main memory";
  constexpr double n = 10000, columns = 8;
  auto const runs = runs_of(
      "problem: {generate: fem_poisson_2d, size: 100, rhs: random, rhs_count: 8}\n"
      "solver: {name: [cg, bicgstab], max_iterations: 40}\n"
      "preconditioner: {name: [none, fsai, chebyshev], k: 0}\n"
      "execution: {space: " +
      host_space() + "}\n");
  for (RunConfig const& run : runs) {
    auto system = make_system<double>(run);
    for (std::size_t k = 0; k < system.rhs.size(); ++k)
      if (k % 8 < 4) system.rhs[k] = 0;
    Counts const counts = {n, double(system.matrix.nonzeros()), columns};
    auto const shares = footprint(run, counts, true);
    Share const share = share_of(shares, "the columns that continue");
    SolderTest::KokkosEvents events;
    solve<double>(run, system, {});
    events.stop();
    double const of_solver = allocated(events, {"Solder::" + run.solver.name, "Solder::guess"}),
                 of_all = of_solver + allocated(events, {"Solder::columns", "Solder::fsai::t",
                                                         "Solder::chebyshev"});
    EXPECT_GT(of_solver, 1.4 * shares[0].bytes) << run.solver.name;
    EXPECT_LE(of_all, shares[0].bytes + shares[1].bytes + share.bytes) << run.solver.name;
  }
}

TEST(Check, MemoryOfTooManyRightHandSides) {
  if (host_space().empty()) GTEST_SKIP() << "no space of this build works in main memory";
  if (double(available_memory()) > 1e12) GTEST_SKIP() << "this system does not tell its memory";
  std::string const why = errors_to_run(
      "problem:\n  generate: random_spd\n  size: 100000000\n  nonzeros_per_row: 1\n"
      "  rhs: random\n  rhs_count: 1000\nexecution: {space: " +
      host_space() + "}\n");
  EXPECT_TRUE(contains(why, "a.yaml:6: problem.rhs_count: random_spd(")) << why;
  EXPECT_TRUE(contains(why, "1000 right-hand sides and solutions 24")) << why;
}

TEST(Footprint, CountsEverySolverPreconditionerScalarAndFormat) {
  Counts const counts = {1000, 5000};
  auto const bytes = [&](std::string const& text, int share) {
    return footprint(runs_of("problem: {generate: fem_poisson_2d, size: 9}\n" + text)[0], counts,
                     true)[share]
        .bytes;
  };
  for (auto const name : rows_of("solver", "name")[0]->words)
    EXPECT_GT(bytes(concat("solver: {name: ", name, "}\n"), 0), 0) << name;
  for (auto const name : rows_of("preconditioner", "name")[0]->words)
    EXPECT_EQ(bytes(concat("preconditioner: {name: ", name, "}\n"), 1) > 0, name != "none");
  auto const of_scalar = [&](std::string const& scalar) {
    return footprint(runs_of("problem: {generate: fem_poisson_2d, size: 9, scalar: " + scalar +
                             "}\npreconditioner: {name: fsai, precision: single}\n")[0],
                     counts, true);
  };
  EXPECT_EQ(of_scalar("float")[0].bytes, 4 * 4 * 1000);
  EXPECT_EQ(of_scalar("complex_float")[0].bytes, 4 * 8 * 1000);
  EXPECT_EQ(of_scalar("complex_double")[0].bytes, 4 * 16 * 1000);
  double const t = 8 * 1000;  // G r
  EXPECT_EQ(of_scalar("double")[1].bytes, 2 * (5000 * (4 + 4) + 1000 * 4) + t);
  EXPECT_EQ(of_scalar("complex_double")[1].bytes, 2 * (5000 * (8 + 4) + 1000 * 4) + 2 * t);
  std::string const multigrid = "preconditioner: {name: amg, precision: ";
  EXPECT_EQ(bytes(multigrid + "same}\n", 1), 4 * (5000 * (8 + 4) + 1000 * 4) + 3 * t);
  EXPECT_EQ(bytes(multigrid + "single}\n", 1), 4 * (5000 * (4 + 4) + 1000 * 4) + 3 * t);
  std::string const adaptive = "preconditioner: {name: fsai, pattern: adaptive, steps: ";
  EXPECT_EQ(bytes(adaptive + "1, entries_per_step: 2}\n", 1), 2 * (3000 * (8 + 4) + 1000 * 4) + t);
  EXPECT_EQ(bytes(adaptive + "100}\n", 1), 2 * (5000 * (8 + 4) + 1000 * 4) + t);
  // One thread of a host takes the rows as they come.
  bool const is_in_turn = is_one_thread("default");
  double const order = is_in_turn ? 0 : 4;
  for (std::string const name : {"ic0", "ilu0"})
    EXPECT_EQ(bytes("preconditioner: {name: " + name + ", ordering: rcm}\n", 1),
              5000 * (3 * 8 + 44) +
                  (on_host("default") ? 1000 * (32 + order) + 2 * t : 1000 * (44 + order) + 3 * t));
  EXPECT_EQ(bytes("preconditioner: {name: ic0, trisolve: jacobi}\n", 1),
            5000 * (3 * 8 + 12 + (is_in_turn ? 0 : 24)) + 1000 * (16 + order) + 5 * t);
  EXPECT_EQ(bytes("preconditioner: {name: ic0, sweeps: 3, trisolve: jacobi}\n", 1),
            5000 * (3 * 8 + 12) + 1000 * 16 + 5 * t);
  EXPECT_EQ(bytes("solver: {name: gmres, restart: 1000}\n", 0), 8 * 1003 * 1000);
  EXPECT_EQ(bytes("execution: {matrix_format: ell}\n", 3), 5000 * (8 + 4));
}

/// Each run of a problem has its own needs, and the key to change is that of the largest.
TEST(Check, MemoryOfEveryRunBeforeAnythingIsMade) {
  if (host_space().empty()) GTEST_SKIP() << "no space of this build works in main memory";
  if (double(available_memory()) > 1e15) GTEST_SKIP() << "this system does not tell its memory";
  std::string const further = "execution: {space: " + host_space() + "}\n";
  std::string const restarts = errors_to_run(
      "problem: {generate: random_spd, size: 2000000000, nonzeros_per_row: 1, seed: 1}\n"
      "solver:\n  name: gmres\n  restart:\n    - 1000\n    - 900\n" +
      further);
  EXPECT_TRUE(contains(restarts, "a.yaml:5: solver.restart: random_spd(")) << restarts;
  EXPECT_TRUE(contains(restarts, "gmres(restart=1000) 16048.0 GB")) << restarts;
  EXPECT_TRUE(contains(restarts, "a.yaml:6: solver.restart: random_spd(")) << restarts;
  EXPECT_TRUE(contains(restarts, "gmres(restart=900) 14448.0 GB")) << restarts;
}

/// What is known of a file before it is read counts as well.
TEST(Check, MemoryOfAFileBeforeItIsRead) {
  if (host_space().empty()) GTEST_SKIP() << "no space of this build works in main memory";
  if (double(available_memory()) > 1e15) GTEST_SKIP() << "this system does not tell its memory";
  Scratch const scratch;
  std::string const path = scratch.write("A.mtx",
                                         "%%MatrixMarket matrix coordinate real general\n"
                                         "1000000000 1000000000 1000000000\n1 1 1\n");
  std::filesystem::resize_file(path, 10'000'000'000);  // a hole: takes no room
  std::string const why = errors_to_run("problem: {matrix: " + path +
                                        "}\nsolver: {name: gmres, restart: 1000}\n"
                                        "execution: {space: " +
                                        host_space() + "}\n");
  EXPECT_TRUE(contains(why, "a.yaml:2: solver.restart: A needs ")) << why;
  EXPECT_TRUE(contains(why, "gmres(restart=1000) 8024.0 GB")) << why;
}

// ---- outputs ----

namespace fs = std::filesystem;

std::string with_outputs(std::string const& outputs) {
  return "problem: {matrix: A.mtx}\noutput: {" + outputs + "}\n";
}

/// A folder with a matrix, in which links can be made.
struct Folder : Scratch {
  Folder() { write("A.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n"); }
  void link(std::string const& name, std::string const& to) const {
    fs::create_symlink(to, path(name));
  }
  void expect_refused(std::string const& outputs, std::vector<std::string> const& parts) const {
    std::string const errors = errors_to_run(with_outputs(outputs), *this);
    EXPECT_FALSE(errors.empty()) << outputs;
    for (std::string const& part : parts)
      EXPECT_TRUE(contains(errors, part)) << "no '" << part << "' in: " << errors;
  }
  void expect_fine(std::string const& outputs) const {
    EXPECT_EQ(errors_to_run(with_outputs(outputs), *this), "");
  }
};

TEST(Outputs, BehindLinksAreCheckedWhereTheyAreWritten) {
  Folder const folder;
  fs::create_directories(folder.path("out/in"));
  folder.link("into_nothing", "no/such/folder/r.json");
  folder.expect_refused("json: into_nothing", {"a.yaml:2: output.json '", "into_nothing'",
                                               "no/such/folder/r.json'", "does not exist"});
  folder.link("by_another", "into_nothing");
  folder.expect_refused("json: by_another", {"no/such/folder/r.json'", "does not exist"});
  folder.link("absolute", folder.path("no/r.json"));
  folder.expect_refused("json: absolute", {"no/r.json'", "does not exist"});
  folder.link("to_folder", "out");
  folder.expect_refused("json: to_folder", {"it is a folder"});
  folder.link("round", "and_round");
  folder.link("and_round", "round");
  folder.expect_refused("json: round", {"a.yaml:2: output.json '", "cycle"});
  folder.link("to_long", "out/" + std::string(240, 'x'));
  folder.expect_refused("json: to_long", {"longer than 236 characters"});

  folder.link("to_new", "out/r.json");
  folder.expect_fine("json: to_new");
  folder.link("out/in/up", "../r.json");  // relative to the folder of the link
  folder.expect_fine("json: out/in/up");
  folder.write("old.json", "");
  folder.link("to_old", "old.json");
  folder.expect_fine("json: to_old");
  folder.expect_fine("json: to_folder/r.json");
}

TEST(Outputs, ThatAreOneFileThroughLinksAreRefused) {
  Folder const folder;
  fs::create_directory(folder.path("out"));
  folder.link("to_new", "out/r");
  folder.link("again", "to_new");
  folder.link("out_again", "out");
  folder.write("old", "");
  folder.link("to_old", "old");
  for (std::string const outputs :
       {"json: to_new, history: out/r", "json: out/r, history: to_new",
        "json: to_new, history: again", "json: out_again/r, history: to_new",
        "json: old, history: to_old"})
    folder.expect_refused(outputs, {"output.history '", "would overwrite output.json of"});
  folder.link("to_matrix", "A.mtx");
  folder.expect_refused("solution: to_matrix", {"would overwrite the matrix of"});
  folder.link("to_yaml", "a.yaml");
  folder.expect_refused("json: to_yaml", {"would overwrite the input file"});
  folder.expect_fine("json: /dev/null, history: /dev/null");
}

/// Root may write everywhere: what the rights are is for others.
TEST(Outputs, BehindLinksNeedTheRightToWriteThere) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  Folder const folder;
  fs::create_directory(folder.path("out"));
  folder.write("out/old.json", "");
  folder.link("to_new", "out/r.json");
  folder.link("to_old", "out/old.json");
  folder.expect_fine("json: to_new, history: to_old");
  fs::permissions(folder.path("out"), fs::perms::owner_read | fs::perms::owner_exec);
  folder.expect_refused("json: to_new", {"its folder is not writable"});
  folder.expect_refused("json: to_old", {"its folder is not writable"});
  fs::permissions(folder.path("out"), fs::perms::owner_all);
  fs::permissions(folder.path("out/old.json"), fs::perms::owner_read);
  folder.expect_refused("json: to_old", {"write-protected"});
}

}  // namespace

TEST(Check, ABuildSaysWhichScalarsItHas) {
  EXPECT_TRUE(Solder::Impl::has_single) << "tests are built with it";
  for (auto const* const name : {"float", "double", "complex_float", "complex_double"}) {
    EXPECT_TRUE(is_built(name)) << name;  // tests are built with all
    EXPECT_FALSE(is_built(name, "")) << name;
    EXPECT_EQ(is_built(name, "double,complex_float,"),
              std::string_view(name) == "double" || std::string_view(name) == "complex_float");
  }
  EXPECT_EQ(
      not_built("float"),
      concat("problem.scalar 'float' is not in this build, which has ", SOLDER_SCALARS,
             "; configure it with this scalar in Solder_SCALARS, or call ./solder with a file "
             "that names it"));
}

TEST(Check, ABuildSaysWhatItLacks) {
  std::vector<FileConfig> const files{
      {"a.yaml", runs_of(std::string(problem) + "solver: {name: gmres, basis: [same, single]}\n"
                                                "preconditioner: {name: fsai}\n")},
      {"b.yaml", runs_of("problem: {generate: fem_poisson_2d, size: 9, scalar: complex_float}\n")}};
  using Parts = std::set<std::string>;
  EXPECT_EQ(lacking_parts(files), Parts());  // tests are built with all
  EXPECT_EQ(lacking_parts(files, "double,", false), (Parts{"complex_float", "single"}));
  EXPECT_EQ(lacking_parts(files, "double,", true), (Parts{"complex_float"}));
  EXPECT_EQ(lacking_parts({files[1]}, "double,complex_float,", false), Parts());
  auto const precise =
      runs_of(std::string(problem) + "preconditioner: {name: fsai, precision: single}\n");
  EXPECT_EQ(lacking_parts({{"c.yaml", precise}}, "double,", false), (Parts{"single"}));
}
