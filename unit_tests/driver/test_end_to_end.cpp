// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the driver's executable as a user does.
#if defined(__linux__)
#include <sched.h>
#endif

#include <gtest/gtest.h>
#include <driver/check.hpp>
#include <driver/schema.hpp>
#include <driver/solve.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <solder/io/matrix_market.hpp>
#include <solder/problems/generators.hpp>

#include "../long.hpp"
#include "drive.hpp"

namespace {

TEST(Driver, ConvergedRunWritesEverythingAndReturnsZero) {
  Scratch const scratch;
  scratch.write("a.yaml", good);
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(scratch.files(), (Strings{"a.yaml", "h.csv", "r.json", "x.mtx"}));
  EXPECT_EQ(outcome.out.substr(0, 7), "problem") << "standard output is the table and nothing else";
  EXPECT_FALSE(contains(outcome.err, "\x1b")) << "no progress when standard error is no terminal";
  Json const json = Json::parse(scratch.read("r.json"));
  ASSERT_EQ(json["runs"].size(), 1u);
  Json const run = json["runs"][0];
  EXPECT_EQ(run["reason"], "converged");
  EXPECT_EQ(run["problem"]["rows"], 225);
  EXPECT_LE(run["true_relative_residual"].get<double>(), 1e-8);
  EXPECT_EQ(run["history"].size(), run["iterations"].get<std::size_t>() + 1);
  EXPECT_NEAR(run["seconds_per_iteration"].get<double>() * run["iterations"].get<double>(),
              run["solve_seconds"].get<double>(), 1e-12);
  auto const x = Solder::read_matrix_market_vector<double>(scratch.path("x.mtx").string());
  auto const A = Solder::fem_poisson_2d<double>(15);
  ASSERT_EQ(x.size(), 225u);
  double squares = 0;
  for (int i = 0; i < 225; ++i) {
    double residual = 1;
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      residual -= A.values[k] * x[A.columns[k]];
    squares += residual * residual;
  }
  EXPECT_LE(std::sqrt(squares / 225), 1e-8) << "the x that was written solves the system";
}

// ---- more of runs ----

#if defined(__linux__) && defined(_OPENMP) && defined(__GNUC__) && !defined(__clang__)
/// GNU's OpenMP tells what it has read of the environment; the user's word counts more.
TEST(Driver, HasThreadsOfOpenMpSleepSoonWhereTheyWait) {
  if (!std::filesystem::exists("/proc/self/cmdline"))
    GTEST_SKIP() << "there is no /proc, from which the driver knows how it was called";
  Scratch const scratch;
  scratch.write("a.yaml", good);
  auto const outcome_with = [&](char const* policy) {
    std::string const before = "env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT OMP_DISPLAY_ENV=verbose " +
                               std::string(policy) + " ";
    return drive(scratch, "a.yaml", before);
  };
  std::string const spins = "GOMP_SPINCOUNT = '300'";
  Outcome const as_it_comes = outcome_with("");
  EXPECT_EQ(as_it_comes.code, 0) << as_it_comes.err;
  EXPECT_NE(as_it_comes.err.find(spins), std::string::npos) << as_it_comes.err;
  EXPECT_EQ(outcome_with("OMP_WAIT_POLICY=active").err.find(spins), std::string::npos);
  EXPECT_NE(outcome_with("GOMP_SPINCOUNT=77").err.find("GOMP_SPINCOUNT = '77'"), std::string::npos);
}

/// The driver restarts itself, bound to the first place: its threads must not all stay there.
TEST(Driver, HasEachThreadOnThePlaceThatOmpProcBindGivesIt) {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) GTEST_SKIP() << "there are too many CPUs";
  std::vector<std::string> ids;
  for (int id = 0; id < CPU_SETSIZE && ids.size() < 2; ++id)
    if (CPU_ISSET(id, &cpus)) ids.push_back(std::to_string(id));
  if (ids.size() < 2) GTEST_SKIP() << "there is one CPU";
  Scratch const scratch;
  scratch.write("a.yaml", good);
  Outcome const outcome = drive(scratch, "a.yaml",
                                "env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT OMP_NUM_THREADS=2 "
                                "OMP_PROC_BIND=true OMP_PLACES='{" +
                                    ids[0] + "},{" + ids[1] +
                                    "}' OMP_DISPLAY_AFFINITY=true OMP_AFFINITY_FORMAT='CPU %A.' ");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (std::string const& id : ids)
    EXPECT_NE(outcome.err.find("CPU " + id + "."), std::string::npos) << outcome.err;
}
#endif

TEST(Driver, OutputsAreWrittenWhereTheirLinksLead) {
  Scratch const scratch;
  std::filesystem::create_directory(scratch.path("out"));
  for (std::string const name : {"r.json", "x.mtx", "h.csv"})
    std::filesystem::create_symlink("out/" + name, scratch.path(name));
  scratch.write("a.yaml", good);
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (std::string const name : {"r.json", "x.mtx", "h.csv"}) {
    EXPECT_TRUE(std::filesystem::is_symlink(scratch.path(name))) << name;
    EXPECT_TRUE(std::filesystem::is_regular_file(scratch.path("out/" + name))) << name;
  }
}

TEST(Driver, EveryMatrixFormatConvergesAlike) {
  Scratch const scratch;
  auto const spaces = Solder::Driver::space_names();
  auto const host = std::ranges::find_if(spaces, Solder::Driver::on_host);
  if (host == spaces.end()) GTEST_SKIP() << "no space of this build works in main memory";
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 15}\n"
                "preconditioner: {name: jacobi}\n"
                "execution: {space: " +
                    std::string(*host) +
                    ", matrix_format: [auto, csr, sell, ell]}\n"
                    "output: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml --wide");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 4u);
  Strings formats;
  for (auto const& run : runs) {
    formats.push_back(run["matrix_format"]);
    EXPECT_EQ(run["iterations"], runs[0]["iterations"]);
    std::string const why = run["matrix_format_reason"];
    EXPECT_TRUE(contains(outcome.out, formats.back() + ": " + why)) << outcome.out;
  }
  EXPECT_EQ(formats, (Strings{"csr", "csr", "sell", "ell"}));
  EXPECT_TRUE(contains(std::string(runs[3]["matrix_format_reason"]), "rows of 3 to 7 nonzeros"))
      << runs[3]["matrix_format_reason"];
}

TEST(Driver, BlocksOfSeveralUnknownsAtAPoint) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: elasticity_3d, size: 5}\n"
                "preconditioner: {name: jacobi}\n"
                "execution: {matrix_format: [csr, block]}\n"
                "output: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1]["matrix_format"], "block");
  EXPECT_EQ(runs[1]["matrix_format_reason"], "asked for; blocks of 3 x 3, 0% padding");
  EXPECT_EQ(runs[0]["iterations"], runs[1]["iterations"]);

  scratch.write("b.yaml",
                "problem: {generate: fem_poisson_2d, size: 15}\n"
                "execution: {matrix_format: block}\n");
  Outcome const without = drive(scratch, "b.yaml");
  EXPECT_EQ(without.code, 2);
  EXPECT_TRUE(contains(without.err, "b.yaml:2: execution.matrix_format")) << without.err;
  EXPECT_TRUE(contains(without.err, "block would gain too little")) << without.err;
}

TEST(Driver, AbsurdPaddingIsAnErrorThatSaysWhatToTake) {
  Scratch const scratch;
  int const n = 3000;  // an arrow: one full row and column, and the diagonal
  std::string entries = std::to_string(n) + " " + std::to_string(n) + " " +
                        std::to_string(2 * n - 1) + "\n1 1 5000\n";
  for (int i = 2; i <= n; ++i) {
    std::string const k = std::to_string(i);
    entries += k + " 1 1\n" + k + " " + k + " 2\n";
  }
  scratch.write("A.mtx", market(entries, "coordinate real symmetric"));
  scratch.write("a.yaml", of_matrix());
  Outcome const outcome = drive(scratch, "a.yaml --set execution.matrix_format=ell");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "ell would store")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "take sell, csr or auto")) << outcome.err;
}

TEST(Driver, FailedRunSaysWhyAndReturnsOne) {
  Scratch const scratch;
  scratch.write("A.mtx", market("2 2 2\n1 1 1\n2 2 -1\n"));
  scratch.write("a.yaml", of_matrix(", rhs: b.mtx"));
  scratch.write("b.mtx", market("2 1\n1\n2\n", "array real general"));
  Outcome const outcome = drive(scratch, "a.yaml --set solver.name=cg");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.out, "indefinite_matrix")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, "indefinite_matrix")) << outcome.err;
  EXPECT_EQ(Json::parse(scratch.read("r.json"))["runs"][0]["reason"], "indefinite_matrix");
}

TEST(Driver, OneFailureAmongManyRunsReturnsOne) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 15}\nsolver: {name: cg, max_iterations: "
                "[1, 1000]}\n"
                "output: {json: r.json, history: h.csv}\n");
  EXPECT_EQ(drive(scratch, "a.yaml").code, 1);
  Json const json = Json::parse(scratch.read("r.json"));
  EXPECT_EQ(json["runs"][0]["reason"], "max_iterations");
  EXPECT_EQ(json["runs"][1]["reason"], "converged");
  EXPECT_EQ(scratch.files(), (Strings{"a.yaml", "h-1.csv", "h-2.csv", "r.json"}));
}

/// The right-hand sides are made on the host, whatever solves for them: all of them with one
/// preconditioner.
TEST(Driver, EveryScalarSpaceRunnerSolverFormAndPreconditioner) {
  Scratch const scratch;
  auto const spaces = Solder::Driver::space_names();
  auto const part = [&](std::string const& rhs, std::string const& preconditioner,
                        std::string const& runner) {
    return "problem:\n"
           "  {generate: fem_poisson_2d, size: 9, rhs: " +
           rhs +
           ",\n"
           "   scalar: [float, double, complex_float, complex_double]}\n"
           "solver: {name: [cg, bicgstab], form: [classical, pipelined], tolerance: 1e-4}\n"
           "preconditioner: " +
           preconditioner + "\nexecution: {space: [" + Solder::Driver::join(spaces, ", ") +
           "], runner: " + runner + ", repeat: 2}\n";
  };
  scratch.write("a.yaml",
                part("random",
                     "{name: [none, jacobi, fsai, chebyshev, ic0, ilu0, amg], inner: [none, "
                     "jacobi, fsai]}",
                     "[auto, launch, graph, team]") +
                    "output: {json: r.json}\n---\n" +
                    part("[ones, unit_solution, random]", "{name: jacobi}", "auto"));
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const json = Json::parse(scratch.read("r.json"));
  EXPECT_EQ(json["runs"].size(), 4u * 2 * 2 * (9 * spaces.size() * 4 + 3 * spaces.size()));
  std::size_t pipelined = 0;
  for (Json const& run : json["runs"]) {
    EXPECT_EQ(run["reason"], "converged") << run;
    pipelined += run["form"] == "pipelined";
  }
  EXPECT_EQ(pipelined, json["runs"].size() / 2) << "what is asked for is what runs";
}

TEST(Driver, EveryFormOfGmresOnEveryScalarAndRunner) {
  Scratch const scratch;
  scratch.write(
      "a.yaml",
      "problem:\n"
      "  {generate: convection_diffusion_2d, size: 9,\n"
      "   scalar: [float, double, complex_float, complex_double]}\n"
      "solver: {name: gmres, form: [pipelined, cgs, cgs2, mgs, flexible], restart: [7, 200],\n"
      "         tolerance: 1e-4}\n"
      "preconditioner: {name: [none, jacobi, ilu0]}\n"
      "execution: {runner: [auto, launch, graph, team]}\n"
      "output: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const json = Json::parse(scratch.read("r.json"));
  EXPECT_EQ(json["runs"].size(), 4u * 5 * 2 * 3 * 4);
  for (Json const& run : json["runs"]) EXPECT_EQ(run["reason"], "converged") << run;
}

TEST(Driver, FsaiReportsItsSetUp) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 15}\n"
                "solver: {name: [cg, bicgstab, gmres]}\n"
                "preconditioner: {name: fsai, k: 1, tau: 0, delta: 0}\noutput: {json: r.json}\n"
                "---\nproblem: {generate: fem_poisson_2d, size: 15}\n"
                "preconditioner: {name: fsai, pattern: adaptive, precision: single}\n"
                "---\nproblem: {generate: fem_poisson_2d, size: 15}\n"
                "preconditioner: {name: fsai, max_row_entries: 3}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  auto const A = Solder::fem_poisson_2d<double>(15);
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 5u);
  for (int i = 0; i < 3; ++i) {
    Json const& setup = runs[i]["preconditioner_setup"];
    EXPECT_EQ(setup["nonzeros"], (A.nonzeros() + A.rows) / 2) << "the lower triangle of A";
    EXPECT_NEAR(setup["density"].get<double>(),
                setup["nonzeros"].get<double>() / double(A.nonzeros()), 1e-12);
    EXPECT_EQ(setup["repaired_rows"], 0);
    EXPECT_EQ(setup["k"], 1);
    EXPECT_TRUE(setup["steps"].is_null()) << "of the other pattern";
    EXPECT_EQ(setup["max_row_entries"], 0);
    for (char const* const phase : {"pattern", "values", "compress", "transpose"})
      EXPECT_GE(setup["phase_seconds"][phase].get<double>(), 0);
  }
  EXPECT_EQ(runs[3]["preconditioner_setup"]["pattern"], "adaptive");
  EXPECT_TRUE(runs[3]["preconditioner_setup"]["k"].is_null()) << "of the other pattern";
  EXPECT_EQ(runs[3]["preconditioner_setup"]["precision"], "single");
  Json const& limited = runs[4]["preconditioner_setup"];
  EXPECT_EQ(limited["max_row_entries"], 3);
  EXPECT_LE(limited["nonzeros"], 3 * A.rows);
  EXPECT_GT(limited["nonzeros"], 2 * A.rows);
}

TEST(Driver, ChebyshevReportsItsSetUpAndTheFormThatRan) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 15}\n"
                "solver: {name: [cg, gmres]}\n"
                "preconditioner: {name: chebyshev, inner: [none, jacobi, fsai], degree: 3}\n"
                "output: {json: r.json}\n---\nproblem: {generate: fem_poisson_2d, size: 15}\n"
                "preconditioner: {name: jacobi}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 7u);
  for (int i = 0; i < 6; ++i) {
    Json const& setup = runs[i]["preconditioner_setup"];
    EXPECT_EQ(setup["inner"], (Strings{"none", "jacobi", "fsai"})[i % 3]);
    EXPECT_EQ(setup["degree"], 3);
    EXPECT_EQ(setup["eigenvalue_fraction"], 0.02);
    EXPECT_EQ(setup["lanczos_steps"], 12);
    EXPECT_EQ(setup.contains("nonzeros"), i % 3 == 2) << "of the factor";
    EXPECT_EQ(setup.contains("precision"), i % 3 == 2);
    if (i % 3 == 2) {
      EXPECT_TRUE(setup["precision"].is_null()) << "it does not apply";
    }
    EXPECT_GT(setup["largest_eigenvalue"].get<double>(), i % 3 == 0 ? 5 : 1);
    EXPECT_EQ(runs[i]["form"], i < 3 ? "classical" : "cgs2");
  }
  EXPECT_EQ(runs[6]["form"], "pipelined") << "cg's auto";
  EXPECT_TRUE(contains(outcome.out, "cg classical")) << outcome.out;
}

TEST(Driver, RowsThatFsaiRepairsAreSaid) {
  Scratch const scratch;
  scratch.write("A.mtx",
                "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n"
                "1 1 1\n2 1 2\n2 2 1\n3 3 1\n");
  scratch.write("a.yaml",
                "problem: {matrix: A.mtx}\npreconditioner: {name: fsai}\n"
                "solver: {name: gmres}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "a.yaml:2: A: 1 of 3 rows of fsai, the first of them row 2"))
      << outcome.err;
}

TEST(Driver, IncompleteFactorsReportTheirSetUp) {
  Scratch const scratch;
  scratch.write(
      "a.yaml",
      "problem: {generate: fem_poisson_2d, size: 15, scalar: [double, complex_double]}\n"
      "preconditioner: {name: [jacobi, ic0], ordering: [natural, rcm, multicolour]}\n"
      "output: {json: r.json}\n"
      "---\nproblem:\n"
      "  {generate: convection_diffusion_2d, size: 15, scalar: [double, complex_double]}\n"
      "solver: {name: [bicgstab, gmres]}\n"
      "preconditioner: {name: [jacobi, ilu0], schedule: [auto, natural, levels, partition]}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "") << "no shift is needed";
  auto const A = Solder::fem_poisson_2d<double>(15);
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 2u * 4 + 2 * 2 * 5);
  Json jacobi;
  for (Json const& run : runs) {
    EXPECT_EQ(run["reason"], "converged");
    EXPECT_LE(run["true_relative_residual"].get<double>(), 1e-8);
    if (run["preconditioner"] == "jacobi") {
      jacobi = run;
      continue;
    }
    EXPECT_LT(run["iterations"], jacobi["iterations"]) << run;
    Json const& setup = run["preconditioner_setup"];
    EXPECT_GT(setup["nonzeros"], 0);
    for (char const* const phase : {"analysis", "factorisation"})
      EXPECT_GE(setup["phase_seconds"][phase].get<double>(), 0);
    EXPECT_EQ(setup.contains("shift"), run["preconditioner"] == "ic0");
    EXPECT_EQ(setup.contains("shift_taken"), run["preconditioner"] == "ic0");
    std::string const schedule = setup["schedule"], taken = setup["schedule_taken"];
    if (schedule != "auto") {
      EXPECT_EQ(taken, schedule + ", " + schedule) << "of L and of U";
    }
    EXPECT_FALSE(contains(taken, "auto")) << taken;
  }
  for (int i = 1; i < 4; ++i) {
    Json const& setup = runs[i]["preconditioner_setup"];
    EXPECT_EQ(setup["ordering"], (Strings{"natural", "rcm", "multicolour"})[i - 1]);
    EXPECT_EQ(setup["ordering_taken"], setup["ordering"]);
    EXPECT_EQ(setup["shift"], 1e-3);
    EXPECT_EQ(setup["shift_taken"], 0);
    EXPECT_EQ(setup["nonzeros"], A.nonzeros());
  }
}

TEST(Driver, IncompleteFactorsAndTheirSolvesBySweeps) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 15}\n"
                "preconditioner: {name: ic0, sweeps: [0, 3], trisolve: [exact, jacobi]}\n"
                "output: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 4u);
  for (Json const& run : runs) {
    EXPECT_EQ(run["reason"], "converged");
    Json const& setup = run["preconditioner_setup"];
    bool const is_exact = setup["trisolve"] == "exact", eliminates = setup["sweeps"] == 0;
    EXPECT_EQ(setup["ordering"], "auto");
    EXPECT_EQ(setup["ordering_taken"], is_exact && eliminates && !Solder::Driver::on_host("default")
                                           ? "multicolour"
                                           : "natural");
    EXPECT_EQ(setup["trisolve_sweeps"], is_exact ? Json(nullptr) : Json(3));
    EXPECT_EQ(setup["schedule"], is_exact ? Json("auto") : Json(nullptr));
    EXPECT_EQ(setup["schedule_taken"].is_null(), !is_exact);
    EXPECT_EQ(setup["shift_taken"], 0);
  }
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 15}\n"
                "preconditioner: {name: ic0, trisolve: jacobi, schedule: levels}\n");
  Outcome const refused = drive(scratch, "a.yaml");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err,
                       "a.yaml:2: 'preconditioner.schedule' does not apply here; it is for "
                       "preconditioner.trisolve: exact"))
      << refused.err;
}

/// The figures hang together, and all runs have the same copy beside them.
TEST(Driver, MeasuresTheRooflineWhereItIsAskedFor) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 30, scalar: [float, complex_double]}\n"
                "solver: {name: [cg, idr], tolerance: 1e-4}\n"
                "output: {json: a.json, roofline: true}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "of copy")) << outcome.out;
  Json const runs = Json::parse(scratch.read("a.json"))["runs"];
  ASSERT_EQ(runs.size(), 4u);
  double const copy = runs[0]["roofline"]["copy_gb_s"];
  EXPECT_GT(copy, 0.1);
  EXPECT_LT(copy, 1e5);
  for (Json const& run : runs) {
    double const bytes = run["problem"]["scalar"] == "float" ? 4 : 16;
    EXPECT_EQ(run["roofline"]["copy_gb_s"], copy);
    EXPECT_NEAR(run["roofline"]["of_copy"].get<double>() * copy * 1e9 *
                    run["seconds_per_iteration"].get<double>(),
                run["words_per_iteration"].get<double>() * bytes,
                1e-6 * run["words_per_iteration"].get<double>() * bytes);
    EXPECT_EQ(run["roofline"]["of_model"].is_null(), run["solver"] == "cg");
  }
}

/// Kershaw's matrix: positive definite, and its fourth pivot is not, unless the diagonal grows.
TEST(Driver, TheShiftThatIc0NeedsIsSaid) {
  Scratch const scratch;
  scratch.write("A.mtx",
                "%%MatrixMarket matrix coordinate real symmetric\n4 4 8\n"
                "1 1 3\n2 1 -2\n4 1 2\n2 2 3\n3 2 -2\n3 3 3\n4 3 -2\n4 4 3\n");
  scratch.write("a.yaml",
                "problem: {matrix: A.mtx}\npreconditioner:\n  {name: ic0, shift: [1e-3, 1e-4, 0]}\n"
                "output: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err,
                       "a.yaml:3: run 1 of 3, A, auto, ic0(shift=0.001): ic0 needed a diagonal "
                       "that is 25.6% larger: otherwise a pivot"))
      << outcome.err;
  EXPECT_EQ(outcome.err.find("ic0 needed"), outcome.err.rfind("ic0 needed")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "the pivot of row 4 (counted from 1) of ic0 is not positive"))
      << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "even with a diagonal that is 5.12% larger")) << outcome.err;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0]["reason"], "converged");
  EXPECT_EQ(runs[0]["preconditioner_setup"]["shift"], 1e-3);
  EXPECT_EQ(runs[0]["preconditioner_setup"]["shift_taken"], 0.256);
  for (int i = 1; i < 3; ++i) {
    EXPECT_EQ(runs[i]["reason"], "breakdown");
    EXPECT_TRUE(runs[i]["preconditioner_setup"]["shift_taken"].is_null());
    EXPECT_TRUE(runs[i]["preconditioner_setup"]["schedule_taken"].is_null());
  }
}

TEST(Driver, WhyIncompleteFactorsCannotBeMadeIsSaid) {
  Scratch const scratch;
  scratch.write("A.mtx", market("2 2 3\n1 1 2\n1 2 1\n2 2 2\n"));
  scratch.write("B.mtx", market("2 2 2\n1 2 1\n2 1 1\n"));
  scratch.write("a.yaml",
                "problem: {matrix: [A.mtx, B.mtx]}\nsolver: {name: gmres}\n"
                "preconditioner: {name: [ic0, ilu0]}\noutput: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "row 1 (counted from 1) has an entry whose mirror image"))
      << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "row 1 (counted from 1) has no diagonal entry")) << outcome.err;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  Strings reasons;
  for (Json const& run : runs) reasons.push_back(run["reason"]);
  EXPECT_EQ(reasons, (Strings{"breakdown", "converged", "breakdown", "breakdown"}));
}

TEST(Driver, EachFileHasItsOwnJson) {
  Scratch const scratch;
  std::filesystem::create_directory(scratch.path("in"));
  scratch.write("in/a.yaml",
                "problem: {generate: fem_poisson_2d, size: 5}\noutput: {json: a.json}\n");
  scratch.write(
      "b.json",
      R"({"problem": {"generate": "poisson_3d_7pt", "size": 4}, "output": {"json": "out.json"}})");
  Outcome const outcome =
      drive(scratch, "in/a.yaml b.json --set problem.size=6 --set=solver.tolerance=1e-3");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(scratch.read("in/a.json"))["runs"][0]["problem"]["rows"], 36);
  EXPECT_EQ(Json::parse(scratch.read("out.json"))["runs"][0]["problem"]["rows"], 216);
}

TEST(Driver, RepeatsAndReferenceToTheSameInputGiveTheSameBits) {
  Scratch const scratch;
  scratch.write("a.yaml", std::string(good) + "execution: {repeat: 3}\n");
  ASSERT_EQ(drive(scratch, "a.yaml").code, 0);
  std::string const history = scratch.read("h.csv"), solution = scratch.read("x.mtx");
  ASSERT_EQ(drive(scratch, "a.yaml").code, 0);
  EXPECT_EQ(scratch.read("h.csv"), history);
  EXPECT_EQ(scratch.read("x.mtx"), solution);
}

TEST(Driver, RealMatrixInComplexScalar) {
  Scratch const scratch;
  scratch.write("A.mtx", market("2 2 2\n1 1 2\n2 2 4\n"));
  scratch.write("a.yaml", of_matrix(", scalar: complex_double"));
  EXPECT_EQ(drive(scratch, "a.yaml").code, 0);
  EXPECT_TRUE(contains(scratch.read("x.mtx"), "complex"));
}

TEST(Driver, HelpAndVersionNeedNoFile) {
  Scratch const scratch;
  Outcome const help = drive(scratch, "--help");
  EXPECT_EQ(help.code, 0);
  for (char const* part : {"usage:", "--list", "magnetic_laplacian_2d"})
    EXPECT_TRUE(contains(help.out, part)) << part;
  EXPECT_TRUE(contains(drive(scratch, "--help all").out, "  max_iterations:"));
  Outcome const version = drive(scratch, "--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(contains(version.out, "Kokkos"));
  EXPECT_EQ(help.err + version.err, "");
  EXPECT_EQ(drive(scratch, "").code, 2);
}

/// Each file can run as it is. What takes seconds for its size is run with smaller ones, unless
/// $SOLDER_TEST_LONG is set.
TEST(Driver, EveryExampleOfInputsRuns) {
  std::string const no_files = " --set output.json= --set output.solution= --set output.history=";
  std::vector<std::pair<std::string, std::string>> smaller{
      {"multigrid.yaml", " --set 'problem.size=[8, 16]'"},
      {"batch.yaml", " --set problem.batch=100"}};
  if (SolderTest::is_long()) smaller.clear();
  Scratch const scratch;
  std::vector<std::filesystem::path> paths;
  Strings with_less;
  std::string as_they_are;
  for (auto const& entry : std::filesystem::directory_iterator(SOLDER_SOURCE_DIR "/inputs")) {
    if (entry.path().extension() != ".yaml") continue;
    paths.push_back(entry.path());
    std::string const file = " '" + entry.path().string() + "'";
    auto const less = std::ranges::find(smaller, entry.path().filename().string(),
                                        &std::pair<std::string, std::string>::first);
    if (less == smaller.end())
      as_they_are += file;
    else
      with_less.push_back(file + less->second);
  }
  ASSERT_TRUE(contains(as_they_are, "quickstart.yaml"));
  EXPECT_EQ(with_less.size(), smaller.size());

  Solder::Driver::Errors errors;
  Solder::Driver::SystemStore store;
  auto const files = Solder::Driver::read_config(paths, {}, errors);
  if (errors.empty()) Solder::Driver::check_runs(files, store, errors);
  for (std::string const& message : errors.messages()) ADD_FAILURE() << message;

  with_less.push_back(as_they_are);
  for (std::string const& arguments : with_less) {
    Outcome const outcome = drive(scratch, arguments + no_files);
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  }
}

}  // namespace
