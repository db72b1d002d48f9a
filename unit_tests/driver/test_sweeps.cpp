// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <driver/methods.hpp>

#include "config_of.hpp"

using namespace Solder::Driver;

namespace {

TEST(Config, SweepsGoThroughAllCombinationsInOrder) {
  auto const runs = runs_of(
      "problem: {generate: fem_poisson_2d, size: [9, 17]}\n"
      "solver: {name: cg, form: [classical, pipelined], tolerance: 1e-6}\n"
      "preconditioner: {name: [none, jacobi]}\n");
  ASSERT_EQ(runs.size(), 8u);
  std::string order;
  for (RunConfig const& run : runs)
    order += concat(run.problem.name, " ", form_of(run.solver), " ", run.preconditioner.name, "\n");
  EXPECT_EQ(order,
            "fem_poisson_2d(size=9) classical none\nfem_poisson_2d(size=9) classical jacobi\n"
            "fem_poisson_2d(size=9) pipelined none\nfem_poisson_2d(size=9) pipelined jacobi\n"
            "fem_poisson_2d(size=17) classical none\nfem_poisson_2d(size=17) classical jacobi\n"
            "fem_poisson_2d(size=17) pipelined none\nfem_poisson_2d(size=17) pipelined jacobi\n");
}

TEST(Config, ASweptKeyThatDoesNotApplyMakesNoFurtherRuns) {
  auto const runs = runs_of(
      "problem: {generate: [fem_poisson_2d, magnetic_laplacian_2d], size: 9, flux: [0.1, 0.2], "
      "scalar: complex_double}\n");
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].problem.name, "fem_poisson_2d(size=9)");
  EXPECT_EQ(runs[1].problem.name, "magnetic_laplacian_2d(flux=0.1,size=9)");
  EXPECT_EQ(runs[2].problem.name, "magnetic_laplacian_2d(flux=0.2,size=9)");
}

TEST(Config, SweepsNumberTheirOutputs) {
  auto const text = [](std::string const& sizes) {
    return "problem: {generate: fem_poisson_2d, size: " + sizes +
           "}\noutput: {json: r.json, solution: x.mtx.gz, history: h}\n";
  };
  auto const runs = runs_of(text("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"));
  ASSERT_EQ(runs.size(), 10u);
  EXPECT_EQ(runs[0].output.json.filename(), "r.json");
  EXPECT_EQ(runs[9].output.json, runs[0].output.json);
  EXPECT_EQ(runs[0].output.solution.filename(), "x-01.mtx.gz");
  EXPECT_EQ(runs[9].output.solution.filename(), "x-10.mtx.gz");
  EXPECT_EQ(runs[1].output.history.filename(), "h-02");
  EXPECT_EQ(runs_of(text("[1]"))[0].output.solution.filename(), "x.mtx.gz");
  expect_error(std::string(problem) + "output: {json: [a.json, b.json]}\n",
               {"a.yaml:2: ", "output.json", "list"});
}

TEST(Config, TooManyRunsAreRefused) {
  std::string list = "[1";
  for (int i = 2; i <= 1000; ++i) list += ", " + std::to_string(i);
  list += "]";
  expect_error("problem: {generate: fem_poisson_2d, size: " + list + ", seed: " + list + "}\n",
               {"100000 runs"});
}

TEST(Config, AssignmentsOverrideAddAndRemove) {
  std::string const text = std::string(problem) + "output: {json: r.json}\n";
  auto const runs = runs_of(text, {"problem.size=[3, 4]", "solver.tolerance=1e-3", "output.json="});
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].problem.name, "fem_poisson_2d(size=4)");
  EXPECT_EQ(shared_options(runs[1].solver).tolerance, 1e-3);
  EXPECT_TRUE(runs[0].output.json.empty());
  auto const other =
      runs_of(text, {"problem.generate=", "problem.size=", "problem.matrix=m/a.mtx"});
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other[0].problem.matrix, "m/a.mtx") << "relative to the current folder";
}

TEST(Config, AssignmentsAreCheckedAsFilesAre) {
  expect_error(problem, {"--set solver.tolerance=-1: ", "solver.tolerance", "from 0 to 1"},
               {"solver.tolerance=-1"});
  expect_error(problem, {"--set solver.tolerence=1: ", "did you mean 'tolerance'?"},
               {"solver.tolerence=1"});
  expect_error(problem, {"unknown key"}, {"solver.tolerence="});
  expect_error(problem, {"section.key=value"}, {"solver.tolerance"});
  expect_error(problem, {"section.key=value"}, {"tolerance=1"});
  expect_error(problem, {"section.key=value"}, {"solver.=1"});
  expect_error(problem, {"section.key=value"}, {"=1"});
  expect_error(problem, {"not a valid value"}, {"solver.tolerance=[1"});
  for (char const* const nothing : {"null", "~", " "})
    expect_error(problem, {"'solver.tolerance' has no value"},
                 {concat("solver.tolerance=", nothing)});
  expect_error(problem, {"set twice"}, {"solver.tolerance=1e-3", "solver.tolerance=1e-4"});
  expect_error(problem, {"both"}, {"problem.matrix=a.mtx"});
}

}  // namespace
