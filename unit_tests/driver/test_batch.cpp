// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches of systems, by the driver's executable as a user runs it.
#include <gtest/gtest.h>

#include <cmath>
#include <solder/problems/generators.hpp>
#include <sstream>

#include "drive.hpp"

namespace {

TEST(DriverBatch, SystemsOfARandomMatrixHaveSeedsOfTheirOwn) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: random_spd, size: 90, rhs: ones, seed: 3, batch: 40}\n"
                "solver: {name: [cg, bicgstab], tolerance: 1e-9}\n"
                "preconditioner: {name: [none, jacobi, fsai, chebyshev]}\n"
                "execution: {repeat: 2}\noutput: {json: r.json, solution: x.mtx}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "\nsystems  ")) << outcome.out;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 8u);
  for (std::size_t r = 0; r < 8; ++r) {
    Json const& run = runs[r];
    std::istringstream x(scratch.read("x-" + std::to_string(r + 1) + ".mtx"));
    std::string line;
    std::getline(x, line);
    int rows = 0, columns = 0;
    x >> rows >> columns;
    EXPECT_EQ(rows, 40 * 90);
    EXPECT_EQ(columns, 1);
    EXPECT_EQ(run["problem"]["rows"], 40 * 90);
    EXPECT_EQ(run["batch"], 40);
    EXPECT_EQ(run["runner"], "team");
    EXPECT_EQ(run["matrix_format_reason"], "for a batch");
    EXPECT_FALSE(run.contains("columns"));
    ASSERT_EQ(run["systems"].size(), 40u);
    int most = 0;
    for (int k = 0; k < 40; ++k) {
      auto const A = Solder::random_spd<double>(90, 7, unsigned(3 + k));
      std::vector<double> own(90);
      for (double& entry : own) x >> entry;
      double squares = 0;
      for (int i = 0; i < 90; ++i) {
        double residual = 1;
        for (auto e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e)
          residual -= A.values[e] * own[A.columns[e]];
        squares += residual * residual;
      }
      Json const& system = run["systems"][k];
      EXPECT_EQ(system["reason"], "converged");
      EXPECT_LE(std::sqrt(squares / 90), 1.001e-9) << r << ", system " << k;
      EXPECT_NEAR(system["true_relative_residual"].get<double>(), std::sqrt(squares / 90), 1e-12);
      most = std::max(most, system["iterations"].get<int>());
    }
    EXPECT_EQ(run["iterations"], most);
  }
}

TEST(DriverBatch, AFileIsSolvedAsOftenAndFailuresAreCounted) {
  Scratch const scratch;
  scratch.write("A.mtx", market("2 2 2\n1 1 1\n2 2 -1\n"));
  scratch.write("a.yaml",
                "problem: {matrix: A.mtx, batch: 3}\nsolver: {name: cg}\noutput: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "3 of 3 systems did not converge: the first of them, number 1"))
      << outcome.err;
  Json const run = Json::parse(scratch.read("r.json"))["runs"][0];
  EXPECT_EQ(run["systems"].size(), 3u);
  EXPECT_EQ(run["systems"][2]["reason"], run["reason"]);
  scratch.write("one.yaml", "problem: {generate: fem_poisson_2d, size: 9, batch: 1}\n");
  EXPECT_EQ(drive(scratch, "one.yaml").code, 0);
}

TEST(DriverBatch, WhatABatchIsNotSolvedWithIsRefusedBeforeAnythingRuns) {
  Scratch const scratch;
  struct Case {
    std::string further, why;
  };
  std::string const problem = "problem:\n  generate: fem_poisson_2d\n  size: 5\n  batch: 4\n";
  for (Case const& of : {
           Case{"solver: {name: gmres}\n",
                "a.yaml:5: problem.batch needs solver.name: auto, cg or bicgstab"},
           {"solver: {time_limit: 3}\n",
            "a.yaml:5: solver.time_limit does not apply together with problem.batch"},
           {"preconditioner: {name: ic0}\n",
            "a.yaml:5: problem.batch needs preconditioner.name: none"},
           {"execution: {runner: graph}\n",
            "a.yaml:5: problem.batch needs execution.runner: auto or "},
           {"execution: {matrix_format: sell}\n",
            "a.yaml:5: problem.batch needs execution.matrix_"},
           {"  rhs: random\n  rhs_count: 2\n",
            "a.yaml:6: problem.batch needs problem.rhs_count: 1"},
           {"  rhs: b.mtx\n", "a.yaml:5: problem.batch needs problem.rhs: ones, unit_solution or "},
           {"output: {history: h.csv}\n", "a.yaml:5: output.history does not apply together with"},
       }) {
    scratch.write("b.mtx", market("100 1\n1\n", "array integer general"));
    scratch.write("a.yaml", problem + of.further);
    Outcome const outcome = drive(scratch, "a.yaml");
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_TRUE(contains(outcome.err, of.why)) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
  for (std::string const wrong : {"0", "-1", "1000001", "many"}) {
    scratch.write("a.yaml", "problem: {generate: fem_poisson_2d, size: 5, batch: " + wrong + "}\n");
    Outcome const outcome = drive(scratch, "a.yaml");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome.err, "problem.batch must be an integer from 1 to 1000000"))
        << outcome.err;
  }
  // More rows than the library holds, said before they are made.
  scratch.write("a.yaml", "problem: {generate: fem_poisson_2d, size: 5000, batch: 1000000}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "a.yaml:1: problem.generate: ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "too large")) << outcome.err;
}

}  // namespace
