// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the driver does where a method needs a Hermitian matrix and the matrix is none.
#include <gtest/gtest.h>
#include <driver/symmetry.hpp>
#include <solder/io/matrix_market.hpp>

#include "drive.hpp"

namespace {

/// A flow in which convection prevails: convection-diffusion, each row's pattern symmetric.
std::string const flow =
    "problem: {generate: convection_diffusion_2d, size: 48, velocity_x: 200, velocity_y: -120,\n"
    "          rhs: random}\n"
    "output: {json: r.json, solution: x.mtx, history: h.csv}\n";

Json run_of(Scratch const& scratch) { return Json::parse(scratch.read("r.json"))["runs"][0]; }

// It ran for 10,000 iterations to a residual of 1.5e4, without a word.
TEST(Symmetry, TheFlowIsRefusedByCg) {
  Scratch const scratch;
  scratch.write("a.yaml", flow + "solver: {name: cg}\npreconditioner: {name: ic0}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "  nonsymmetric_matrix\n")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, "did not converge: nonsymmetric_matrix after 0 iterations"))
      << outcome.err;
  Json const run = run_of(scratch);
  EXPECT_EQ(run["reason"], "nonsymmetric_matrix");
  EXPECT_EQ(run["iterations"], 0);
  for (char const* const key : {"runner", "runner_reason", "form", "preconditioner_setup",
                                "kernels_per_iteration", "words_per_iteration"})
    EXPECT_TRUE(run[key].is_null()) << key;
  EXPECT_EQ(run["true_relative_residual"], 1) << "of x = 0";
  EXPECT_EQ(run["history"], Json::parse("[1.0]"));
  std::string const detail = run["detail"];
  EXPECT_TRUE(contains(outcome.err, detail)) << outcome.err;
  EXPECT_TRUE(contains(detail, "A is not symmetric: a(1, 2) = ")) << detail;
  EXPECT_TRUE(contains(detail, ", but a(2, 1) = ")) << detail;
  EXPECT_TRUE(contains(detail, "use bicgstab, gmres or idr, best with jacobi or ilu0")) << detail;
  EXPECT_TRUE(contains(detail, "solver.check_symmetry: false")) << detail;
  Json const seen = run["problem"]["symmetry"], worst = seen["hermitian"]["worst"];
  EXPECT_EQ(seen["hermitian"]["holds"], false);
  EXPECT_EQ(seen["symmetric"], seen["hermitian"]) << "a real matrix";
  EXPECT_EQ(seen["pattern"], true);
  EXPECT_EQ(seen["finite"], true);
  EXPECT_EQ(seen["diagonal"]["positive"], true);
  EXPECT_EQ(worst["row"], 1);
  EXPECT_EQ(worst["column"], 2);
  EXPECT_NE(worst["entry"], worst["mirrored"]);
  EXPECT_GT(worst["difference"], 0.1);
  auto const x = Solder::read_matrix_market_vector<double>(scratch.path("x.mtx").string());
  EXPECT_EQ(x, std::vector<double>(48 * 48));
  EXPECT_EQ(scratch.read("h.csv"),
            "run,iteration,relative_residual\n"
            "\"convection_diffusion_2d(size=48,velocity_x=200,velocity_y=-120), cg, ic0\",0,1\n");
}

TEST(Symmetry, WhereTheCheckIsWaivedTheEndSaysThatTheResidualHasGrown) {
  Scratch const scratch;
  scratch.write("a.yaml", flow +
                              "solver: {name: cg, check_symmetry: false, max_iterations: 1500}\n"
                              "preconditioner: {name: ic0}\nexecution: {runner: team}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  Json const run = run_of(scratch);
  EXPECT_EQ(run["reason"], "max_iterations") << run["detail"];
  EXPECT_EQ(run["iterations"], 1500);
  EXPECT_EQ(run["true_relative_residual"], 1);  // the guess's, which x is again
  EXPECT_TRUE(contains(outcome.err, "x is the guess: the residual at the end was ")) << outcome.err;
  EXPECT_TRUE(run["problem"]["symmetry"].is_null());
  EXPECT_TRUE(contains(outcome.err, "the residual has grown")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "positive definite")) << outcome.err;
}

TEST(Symmetry, SeveralRightHandSidesAndABatchAreRefusedToo) {
  Scratch const scratch;
  std::string const small = "problem: {generate: convection_diffusion_2d, size: 5, rhs: random, ";
  scratch.write("a.yaml", small +
                              "rhs_count: 3}\nsolver: {name: [cg, block_cg, bicgstab]}\n"
                              "output: {json: r.json, solution: x.mtx}\n");
  EXPECT_EQ(drive(scratch, "a.yaml").code, 1);
  Json runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 3u);
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(runs[r]["reason"], "nonsymmetric_matrix");
    ASSERT_EQ(runs[r]["columns"].size(), 3u);
    for (Json const& column : runs[r]["columns"]) EXPECT_EQ(column["detail"], runs[r]["detail"]);
    EXPECT_TRUE(contains(runs[r]["detail"].get<std::string>(),
                         runs[r]["solver"].get<std::string>() + " needs a symmetric"));
  }
  EXPECT_EQ(runs[2]["reason"], "converged") << "the others go on";
  EXPECT_TRUE(runs[2]["problem"]["symmetry"].is_null()) << "nobody asked";

  scratch.write("b.yaml",
                small + "batch: 4}\nsolver: {name: cg}\noutput: {json: r.json, solution: x.mtx}\n");
  EXPECT_EQ(drive(scratch, "b.yaml").code, 1);
  runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs[0]["systems"].size(), 4u);
  EXPECT_EQ(runs[0]["systems"][3]["reason"], "nonsymmetric_matrix");
  EXPECT_TRUE(contains(runs[0]["detail"].get<std::string>(), "A is system 1 of the batch"));
  EXPECT_TRUE(runs[0]["history"].empty());
}

TEST(Symmetry, XIsTheSolutionWhereBIsZero) {
  Scratch const scratch;
  scratch.write("A.mtx", market("2 2 3\n1 1 1\n1 2 1\n2 2 1\n"));
  scratch.write("b.mtx", market("2 2\n0\n0\n0\n1\n", "array real general"));
  scratch.write("a.yaml", of_matrix(", rhs: b.mtx") + "solver: {name: cg}\n");
  EXPECT_EQ(drive(scratch, "a.yaml").code, 1);
  Json const columns = run_of(scratch)["columns"];
  EXPECT_EQ(columns[0]["true_relative_residual"], 0);
  EXPECT_EQ(columns[1]["true_relative_residual"], 1);
}

TEST(Symmetry, RoundingPassesAndIsToldWhereAskedFor) {
  Scratch const scratch;
  std::string const text = "2 2 4\n1 1 2\n1 2 1\n2 2 2\n2 1 ";
  scratch.write("A.mtx", market(text + "1.0000000000000002\n"));
  scratch.write("a.yaml", of_matrix() + "solver: {name: cg}\n");
  Outcome outcome = drive(scratch, "a.yaml --set output.verbose=true");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(
      contains(outcome.out, "  A is symmetric to rounding: a(1, 2) = 1, but a(2, 1) = 1.00"))
      << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "; its diagonal is positive\n")) << outcome.out;
  Json seen = run_of(scratch)["problem"]["symmetry"]["hermitian"];
  EXPECT_EQ(seen["holds"], true);
  EXPECT_EQ(seen["exact"], false);
  EXPECT_EQ(seen["worst"]["row"], 1);

  scratch.write("A.mtx", market(text + "1.001\n"));
  EXPECT_EQ(drive(scratch, "a.yaml").code, 1);
  scratch.write("A.mtx", market(text + "1\n"));
  EXPECT_EQ(drive(scratch, "a.yaml").code, 0);
  seen = run_of(scratch)["problem"]["symmetry"]["hermitian"];
  EXPECT_EQ(seen["exact"], true);
  EXPECT_TRUE(seen["worst"].is_null());
}

TEST(Symmetry, ComplexSymmetricIsNotHermitian) {
  Scratch const scratch;
  std::string const output = "output: {json: r.json, verbose: true}\n";
  scratch.write("a.yaml", "problem: {generate: helmholtz_2d, size: 9, scalar: complex_double}\n" +
                              output + "solver: {name: cg}\n");
  Outcome outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "A is complex symmetric, not Hermitian: a(")) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "its diagonal is not: zero in row 1, not real in row 1"))
      << outcome.out;
  Json const seen = run_of(scratch)["problem"]["symmetry"];
  EXPECT_EQ(seen["symmetric"]["exact"], true);
  EXPECT_EQ(seen["hermitian"]["holds"], false);
  EXPECT_EQ(seen["hermitian"]["worst"]["entry"].size(), 2u);
  EXPECT_EQ(seen["diagonal"]["not_real"], 1);
  EXPECT_TRUE(seen["diagonal"]["missing"].is_null());

  scratch.write("a.yaml",
                "problem: {generate: magnetic_laplacian_2d, size: 9, scalar: complex_double}\n" +
                    output + "solver: {name: cg}\n");
  outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "  A is Hermitian; its diagonal is positive")) << outcome.out;
  EXPECT_EQ(run_of(scratch)["problem"]["symmetry"]["symmetric"]["holds"], false);
}

// Multigrid that looks at the matrix needs no symmetry; else it does.
TEST(Symmetry, OfMultigridItIsSaidWhereItDoesNotLook) {
  auto const errors_of = [](std::string const& options) {
    Scratch const scratch;
    scratch.write("a.yaml",
                  "problem: {generate: convection_diffusion_2d, size: 16}\n"
                  "solver: {name: gmres}\n"
                  "preconditioner: {name: amg" +
                      options + "}\n");
    return drive(scratch, "a.yaml").err;
  };
  std::string const word = "amg is made for symmetric positive definite matrices";
  EXPECT_EQ(errors_of(""), "");
  EXPECT_EQ(errors_of(", interpolation: air"), "");
  for (std::string const options : {", interpolation: aggregation", ", interpolation: extended",
                                    ", smoother: fsai", ", block_size: 2"})
    EXPECT_TRUE(contains(errors_of(options), word)) << options;
}

// A solver for any matrix goes on, and is right.
TEST(Symmetry, OfAPreconditionerItIsSaid) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: convection_diffusion_2d, size: 15}\n"
                "solver: {name: gmres, check_symmetry: [true, false]}\n"
                "preconditioner: {name: [fsai, chebyshev, ic0, amg, jacobi, ilu0]}\n"
                "output: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 12u);
  int words = 0;
  for (Json const& run : runs) {
    EXPECT_EQ(run["reason"], "converged");
    std::string const name = run["preconditioner"];
    bool const needs_it = name != "amg" && name != "jacobi" && name != "ilu0";
    if (needs_it) {
      EXPECT_TRUE(contains(outcome.err, "(counted from 1); " + name + " is made for symmetric"))
          << outcome.err;
    }
    words += !run["problem"]["symmetry"].is_null();
  }
  EXPECT_EQ(words, 3);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 3) << outcome.err;
  EXPECT_TRUE(contains(outcome.err,
                       "a.yaml:3: run 1 of 12, convection_diffusion_2d(size=15), gmres cgs2 30, "
                       "fsai, check_symmetry=true: A is not"))
      << outcome.err;
}

TEST(Symmetry, ARefusalNamesTheSystemOfABatch) {
  using namespace Solder::Driver;
  RunConfig run;
  run.solver.name = "cg";
  Solder::Symmetry seen;
  seen.is_square = seen.is_finite = true;
  seen.hermitian = {2, 1e-14, 5, 6, 1, -1};
  EXPECT_TRUE(refusal(run, seen, {}).starts_with("A is not symmetric: a(6, 7) = 1, but a(7, 6)"));
  for (int const start : {4, 5}) {
    std::string const text = refusal(run, seen, {0, start, 9, 12}),
                      place = start == 4 ? "a(2, 3)" : "a(1, 2)";
    EXPECT_TRUE(contains(text, place + " = 1, but ")) << text;
    EXPECT_TRUE(contains(text, "; A is system 2 of the batch; cg needs ")) << text;
  }
  run.solver.name = "gmres";
  EXPECT_EQ(refusal(run, seen, {}), "");
  run.solver.name = "cg";
  seen.is_finite = false;
  EXPECT_EQ(refusal(run, seen, {}), "") << "not_finite is the solver's word";
  seen.is_finite = true;
  seen.hermitian.difference = 1e-15;
  EXPECT_EQ(refusal(run, seen, {}), "");
}

}  // namespace
