// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matrix without YAML, --explain, and what a run whose solver is auto writes.
#include "drive.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

namespace {

/// A tridiagonal matrix as a Matrix Market file.
std::string tridiagonal(int n, double lower, double diagonal, double upper) {
  std::string entries;
  int count = 0;
  auto const add = [&](int i, int j, double value) {
    if (i < 1 || j < 1 || i > n || j > n || value == 0) return;
    entries += std::to_string(i) + " " + std::to_string(j) + " " + std::to_string(value) + "\n";
    ++count;
  };
  for (int i = 1; i <= n; ++i) {
    add(i, i - 1, lower);
    add(i, i, diagonal);
    add(i, i + 1, upper);
  }
  std::string const size = std::to_string(n);
  return market(size + " " + size + " " + std::to_string(count) + "\n" + entries);
}

TEST(DriverAuto, SolvesAMatrixWithoutYaml) {
  Scratch const scratch;
  scratch.write("A.mtx", tridiagonal(50, -1, 2, -1));
  Outcome const outcome = drive(scratch, "A.mtx");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  // First what A is, then what is tried first and why, then the table.
  std::size_t const is = outcome.out.find("A is symmetric"),
                    first = outcome.out.find("first: cg with"),
                    because = outcome.out.find("because"), table = outcome.out.find("problem  "),
                    tried = outcome.out.find("  tried cg + ");
  EXPECT_TRUE(outcome.out.starts_with("A\n  50 rows, 148 entries")) << outcome.out;
  EXPECT_LT(is, first) << outcome.out;
  EXPECT_LT(first, because) << outcome.out;
  EXPECT_LT(because, table) << outcome.out;
  EXPECT_LT(table, tried) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "converged")) << outcome.out;
}

TEST(DriverAuto, TakesAssignmentsBesideAMatrix) {
  Scratch const scratch;
  scratch.write("A.mtx", tridiagonal(3, 0, 2, 0));
  scratch.write("b.mtx", market("3 1\n2\n4\n6\n", "array real general"));
  Outcome const outcome = drive(scratch,
                                "A.mtx --set problem.rhs=b.mtx --set output.solution=x.mtx "
                                "--set output.json=r.json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream solution(scratch.read("x.mtx"));
  std::string banner, sizes;
  std::getline(solution, banner);
  std::getline(solution, sizes);
  for (double const expected : {1.0, 2.0, 3.0}) {
    double value = 0;
    solution >> value;
    EXPECT_NEAR(value, expected, 1e-7);
  }
  Json const run = Json::parse(scratch.read("r.json"))["runs"][0];
  EXPECT_EQ(run["solver"], "auto");
  EXPECT_EQ(run["preconditioner"], "auto");
  ASSERT_EQ(run["attempts"].size(), 1u);
  EXPECT_EQ(run["attempts"][0]["reason"], "converged");
  EXPECT_EQ(run["attempts"][0]["iterations"], run["iterations"]);
  EXPECT_FALSE(run["attempts"][0]["why"].get<std::string>().empty());
}

TEST(DriverAuto, SaysWhatWasTriedAndHowItEnded) {
  Scratch const scratch;
  scratch.write("A.mtx", tridiagonal(60, -1, 1.2, -1));  // indefinite, which cg finds out
  scratch.write("a.yaml", "problem: {matrix: A.mtx}\noutput: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "  tried cg + ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "indefinite_matrix after")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "  then ")) << outcome.out;
  Json const run = Json::parse(scratch.read("r.json"))["runs"][0];
  ASSERT_GT(run["attempts"].size(), 1u);
  EXPECT_EQ(run["attempts"][0]["reason"], "indefinite_matrix");
  int iterations = 0;
  for (Json const& attempt : run["attempts"]) iterations += attempt["iterations"].get<int>();
  EXPECT_EQ(run["iterations"], iterations);
  EXPECT_EQ(run["history"].size(), std::size_t(iterations) + 1);
}

TEST(DriverAuto, ExplainsWithoutSolving) {
  Scratch const scratch;
  scratch.write("A.mtx", tridiagonal(50, -1, 2, -1));
  scratch.write("a.yaml",
                "problem: {generate: convection_diffusion_2d, size: 9}\n"
                "output: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "--explain A.mtx a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (char const* const part :
       {"A\nthe matrix:\n  50 rows", "candidates, in this order:\n   1. cg+", " iterations,",
        "convection_diffusion_2d(size=9)\nthe matrix:\n  81 rows", "   1. ", "bicgstab+ilu0"})
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in\n" << outcome.out;
  EXPECT_FALSE(contains(outcome.out, "converged")) << outcome.out;
  EXPECT_FALSE(std::filesystem::exists(scratch.path("r.json")));
}

TEST(DriverAuto, IsRestrictedAndLimited) {
  Scratch const scratch;
  scratch.write("A.mtx", tridiagonal(50, -1, 2, -1));
  scratch.write("a.yaml",
                "problem: {matrix: A.mtx}\noutput: {json: r.json}\n"
                "solver: {name: auto, candidates: idr+none gmres+ilu0, max_iterations: 500}\n");
  EXPECT_EQ(drive(scratch, "a.yaml").code, 0);
  EXPECT_EQ(Json::parse(scratch.read("r.json"))["runs"][0]["attempts"][0]["solver"], "idr");
  Outcome const wrong = drive(scratch, "a.yaml --set solver.candidates=idr+ilu9");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(contains(wrong.err, "candidates: 'idr+ilu9' has an unknown preconditioner"))
      << wrong.err;
  // It is found where the file is read, with all else that is wrong there, before any run.
  scratch.write("b.yaml",
                "problem: {matrix: A.mtx}\noutput: {json: b.json}\n"
                "solver:\n  candidates: cg+amq gmres+ilu0\n  tolerance: -1\n");
  Outcome const both = drive(scratch, "a.yaml b.yaml");
  EXPECT_EQ(both.code, 2);
  EXPECT_TRUE(contains(
      both.err, "b.yaml:4: solver.candidates: 'cg+amq' has an unknown preconditioner; valid: "))
      << both.err;
  EXPECT_TRUE(contains(both.err, "did you mean amg?")) << both.err;
  EXPECT_TRUE(contains(both.err, "b.yaml:5: ")) << both.err;
  EXPECT_TRUE(both.out.empty()) << both.out;
  Outcome const form = drive(scratch, "a.yaml --set solver.form=classical");
  EXPECT_EQ(form.code, 2);
  EXPECT_TRUE(contains(form.err, "'solver.form' does not apply here")) << form.err;
  // A solver that is named has no preconditioner unless one is asked for.
  EXPECT_EQ(drive(scratch, "a.yaml --set solver.candidates= --set solver.name=cg").code, 0);
  EXPECT_EQ(Json::parse(scratch.read("r.json"))["runs"][0]["preconditioner"], "none");
  EXPECT_TRUE(Json::parse(scratch.read("r.json"))["runs"][0]["attempts"].is_null());
}

TEST(DriverAuto, RepeatsWithWhatItHasFound) {
  Scratch const scratch;
  scratch.write("A.mtx", tridiagonal(60, -1, 1.2, -1));
  Outcome const outcome = drive(scratch, "A.mtx --set execution.repeat=3 --set output.json=r.json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const run = Json::parse(scratch.read("r.json"))["runs"][0];
  EXPECT_GT(run["attempts"].size(), 1u);
  EXPECT_LE(run["iterations"], run["attempts"].back()["iterations"]);  // not those of the search
}

/// The run is stopped, not the program: others follow.
TEST(DriverAuto, GoesOnWhereASetUpTakesLongerThanItMay) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 60}\n"
                "solver: {time_limit: 1.0e-4}\n"
                "preconditioner: {name: [ilut, jacobi]}\n"
                "output: {json: r.json, solution: x.mtx}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "did not converge: stopped after 0 iterations")) << outcome.err;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]["reason"], "stopped");
  std::string const detail = runs[0]["detail"];
  std::string const said = "the set-up of ilut was ended: it took longer than the ";
  ASSERT_TRUE(contains(detail, said)) << detail;
  double const left = std::stod(detail.substr(detail.find(said) + said.size()));  // of 1e-4
  EXPECT_LE(left, 1e-4);
  EXPECT_GT(left, 5e-5);
  EXPECT_EQ(runs[0]["true_relative_residual"], 1) << "of x = 0";
  EXPECT_TRUE(runs[0]["runner"].is_null());
  EXPECT_FALSE(runs[1]["runner"].is_null());
}

TEST(DriverAuto, RefusesWhatDoesNotGoTogetherBeforeAnythingRuns) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 6}\n"
                "solver: {time_limit: 3}\n"
                "preconditioner: {match: [none, product]}\n"
                "execution: {repeat: 2}\n"
                "output: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 2) << outcome.out;
  for (char const* const part :
       {"a.yaml:4: execution.repeat does not apply together with solver.time_limit",
        "a.yaml:3: preconditioner.match: the preconditioner auto decides on matching itself"})
    EXPECT_TRUE(contains(outcome.err, part)) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(scratch.path("r.json")));
}

TEST(DriverAuto, RefusesWhatIsNoMatrix) {
  Scratch const scratch;
  Outcome const missing = drive(scratch, "no.mtx");
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(contains(missing.err, "no.mtx: there is no such file")) << missing.err;
  scratch.write("B.mtx", "hello\n");
  EXPECT_EQ(drive(scratch, "B.mtx").code, 2);
  scratch.write("C.mtx", market("2 3 1\n1 1 1\n"));
  Outcome const wide = drive(scratch, "C.mtx");
  EXPECT_EQ(wide.code, 2);
  EXPECT_TRUE(contains(wide.err, "not square")) << wide.err;
  scratch.write("b.mtx", market("3 1\n2\n4\n6\n", "array real general"));
  Outcome const column = drive(scratch, "b.mtx");
  EXPECT_TRUE(contains(column.err, "3 x 1; a right-hand side is named by problem.rhs"))
      << column.err;
}

TEST(DriverAuto, TakesAComplexMatrixAsOne) {
  Scratch const scratch;
  scratch.write("A.mtx", market("2 2 2\n1 1 2 1\n2 2 3 -1\n", "coordinate complex general"));
  Outcome const outcome = drive(scratch, "A.mtx");
  // A build may have real scalars alone, and says so.
  EXPECT_TRUE(outcome.code == 0 || contains(outcome.err, "'complex_double' is not in this build"))
      << outcome.err;
}

}  // namespace
