// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several right-hand sides, by the driver's executable as a user runs it.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <solder/io/matrix_market.hpp>
#include <solder/problems/generators.hpp>
#include <sstream>

#include "drive.hpp"

namespace {

/// A Matrix Market array file: entry i of column c is column[c][i].
std::vector<std::vector<double>> array_of(std::string const& text) {
  std::istringstream stream(text);
  std::string banner;
  std::getline(stream, banner);
  EXPECT_EQ(banner, "%%MatrixMarket matrix array real general");
  std::size_t rows = 0, columns = 0;
  stream >> rows >> columns;
  std::vector<std::vector<double>> array(columns, std::vector<double>(rows));
  for (auto& column : array)
    for (double& entry : column) stream >> entry;
  EXPECT_TRUE(bool(stream)) << "all entries are there";
  EXPECT_TRUE((stream >> banner).eof()) << "and no others";
  return array;
}

/// The number of run i of many, counted from 0, in a file's name.
std::string number(std::size_t i) { return (i < 9 ? "0" : "") + std::to_string(i + 1); }

/// ||b - A x|| / ||b||
double residual_of(Solder::HostCsr<double> const& A, std::vector<double> const& b,
                   std::vector<double> const& x) {
  double squares = 0, all = 0;
  for (int i = 0; i < A.rows; ++i) {
    double residual = b[i];
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      residual -= A.values[k] * x[A.columns[k]];
    squares += residual * residual;
    all += b[i] * b[i];
  }
  return std::sqrt(squares / all);
}

TEST(Driver, FiveRightHandSidesAreFiveRuns) {
  Scratch const scratch;
  std::string const further =
      "solver: {name: [cg, bicgstab, gmres, idr], tolerance: 1e-9}\n"
      "preconditioner: {name: [none, jacobi, fsai, ic0]}\n";
  std::string const problem = "problem: {generate: fem_poisson_2d, size: 15, rhs: random, ";
  scratch.write("five.yaml", problem + "rhs_count: 5, seed: 7}\n" + further +
                                 "execution: {repeat: 2}\noutput: {json: five.json, solution: "
                                 "five.mtx, history: five.csv}\n");
  scratch.write("one.yaml", problem + "seed: [7, 8, 9, 10, 11]}\n" + further +
                                "output: {json: one.json, solution: one.mtx}\n");
  Outcome const outcome = drive(scratch, "five.yaml one.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "rhs  ")) << outcome.out;
  Json const five = Json::parse(scratch.read("five.json"))["runs"];
  Json const one = Json::parse(scratch.read("one.json"))["runs"];
  ASSERT_EQ(five.size(), 16u);
  ASSERT_EQ(one.size(), 5 * 16u);
  auto const A = Solder::fem_poisson_2d<double>(15);
  for (std::size_t k = 0; k < 16; ++k) {
    auto const what = std::string(five[k]["solver"]) + " " + std::string(five[k]["preconditioner"]);
    EXPECT_EQ(five[k]["right_hand_sides"], 5);
    ASSERT_EQ(five[k]["columns"].size(), 5u);
    auto const x = array_of(scratch.read("five-" + number(k) + ".mtx"));
    ASSERT_EQ(x.size(), 5u);
    int most = 0;
    double worst = 0;
    for (std::size_t c = 0; c < 5; ++c) {
      Json const &column = five[k]["columns"][c], &alone = one[16 * c + k];
      ASSERT_EQ(alone["solver"], five[k]["solver"]);
      ASSERT_EQ(alone["preconditioner"], five[k]["preconditioner"]);
      EXPECT_FALSE(alone.contains("columns"));
      EXPECT_EQ(column["reason"], "converged") << what;
      EXPECT_NEAR(column["iterations"].get<int>(), alone["iterations"].get<int>(),
                  std::max(1, alone["iterations"].get<int>() / 10))
          << what;
      auto const x_alone = array_of(scratch.read("one-" + number(16 * c + k) + ".mtx"))[0];
      double difference = 0, largest = 0;
      for (std::size_t i = 0; i < 225; ++i) {
        difference = std::max(difference, std::abs(x[c][i] - x_alone[i]));
        largest = std::max(largest, std::abs(x_alone[i]));
      }
      EXPECT_LE(difference, 1e-6 * largest) << what << ", column " << c;
      most = std::max(most, column["iterations"].get<int>());
      worst = std::max(worst, column["true_relative_residual"].get<double>());
    }
    EXPECT_EQ(five[k]["iterations"], most) << what;
    EXPECT_EQ(five[k]["true_relative_residual"], worst) << what;
    EXPECT_LE(worst, 1e-9) << what;
    EXPECT_EQ(five[k]["history"].size(), std::size_t(most) + 1) << what;
    std::string const history = scratch.read("five-" + number(k) + ".csv");
    EXPECT_EQ(std::ranges::count(history, '\n'), most + 2) << what;
    EXPECT_TRUE(history.starts_with("run,iteration,relative_residual_1,relative_residual_2,"))
        << what;
  }
}

TEST(Driver, AFileOfSeveralColumnsIsSeveralRightHandSides) {
  Scratch const scratch;
  auto const A = Solder::fem_poisson_2d<double>(15);
  std::vector<std::vector<double>> b(37, std::vector<double>(225));  // two groups
  std::string text = "225 37\n";
  for (std::size_t c = 0; c < b.size(); ++c)
    for (std::size_t i = 0; i < 225; ++i) {
      b[c][i] = double((i * (c + 1)) % 7) - 2;
      text += std::to_string(int(b[c][i])) + "\n";
    }
  scratch.write("b.mtx", market(text, "array integer general"));
  for (std::string const solver : {"cg", "gmres"}) {
    scratch.write("a.yaml",
                  "problem: {generate: fem_poisson_2d, size: 15, rhs: b.mtx}\n"
                  "solver: {name: " +
                      solver +
                      "}\npreconditioner: {name: jacobi}\n"
                      "output: {json: r.json, solution: x.mtx}\n");
    Outcome const outcome = drive(scratch, "a.yaml");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "rhs  ")) << outcome.out;
    auto const x = array_of(scratch.read("x.mtx"));
    ASSERT_EQ(x.size(), b.size());
    Json const run = Json::parse(scratch.read("r.json"))["runs"][0];
    EXPECT_EQ(run["right_hand_sides"], 37);
    for (std::size_t c = 0; c < b.size(); ++c) {
      double const residual = residual_of(A, b[c], x[c]);
      EXPECT_LE(residual, 1.001e-8) << c;
      EXPECT_NEAR(run["columns"][c]["true_relative_residual"].get<double>(), residual, 1e-12);
    }
  }
}

TEST(Driver, RightHandSidesThatFailAreCounted) {
  Scratch const scratch;
  scratch.write("A.mtx", market("2 2 2\n1 1 1\n2 2 -1\n"));
  scratch.write("b.mtx", market("2 3\n1\n0\n1\n2\n1\n3\n", "array real general"));
  scratch.write("a.yaml", of_matrix(", rhs: b.mtx, rhs_count: 3") + "solver: {name: cg}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.out, "indefinite_matrix")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err,
                       "a.yaml: A: 2 of 3 right-hand sides did not converge: the first of them, "
                       "number 2 (counted from 1): indefinite_matrix after "))
      << outcome.err;
  Json const run = Json::parse(scratch.read("r.json"))["runs"][0];
  EXPECT_EQ(run["reason"], "indefinite_matrix");
  Strings reasons;
  for (Json const& column : run["columns"]) reasons.push_back(column["reason"]);
  EXPECT_EQ(reasons, (Strings{"converged", "indefinite_matrix", "indefinite_matrix"}));
  EXPECT_TRUE(run["columns"][0]["detail"].is_null());
  for (Json const& failed : {run, run["columns"][1], run["columns"][2]})
    EXPECT_TRUE(contains(failed["detail"].get<std::string>(), "(p, A p)")) << failed;
  auto const x = array_of(scratch.read("x.mtx"));
  ASSERT_EQ(x.size(), 3u) << "what there is is written";
  EXPECT_EQ(x[0], (std::vector<double>{1, 0}));
}

TEST(Driver, RepeatsOfSeveralRightHandSidesGiveTheSameBits) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 31, rhs: random, rhs_count: 5}\n"
                "preconditioner: {name: jacobi}\nexecution: {repeat: 3}\n"
                "output: {solution: x.mtx, history: h.csv}\n");
  ASSERT_EQ(drive(scratch, "a.yaml").code, 0);
  std::string const history = scratch.read("h.csv"), solution = scratch.read("x.mtx");
  ASSERT_EQ(drive(scratch, "a.yaml").code, 0);
  EXPECT_EQ(scratch.read("h.csv"), history);
  EXPECT_EQ(scratch.read("x.mtx"), solution);
}

TEST(Driver, ABlockNeedsFewerIterationsAndTellsTheTruth) {
  Scratch const scratch;
  scratch.write(
      "a.yaml",
      "problem: {generate: fem_poisson_2d, size: 31, rhs: random, rhs_count: [1, 16, 40]}\n"
      "solver: {name: [block_cg, cg], tolerance: 1e-9}\n"
      "preconditioner: {name: [none, jacobi, fsai, chebyshev, amg]}\n"
      "execution: {repeat: 2}\noutput: {json: r.json, solution: x.mtx}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 30u);
  auto const A = Solder::fem_poisson_2d<double>(31);
  std::map<std::string, int> iterations;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    Json const& run = runs[r];
    std::size_t const columns = run.contains("columns") ? run["columns"].size() : 1;
    std::string const preconditioner = run["preconditioner"];
    iterations[std::string(run["solver"]) + preconditioner + std::to_string(columns)] =
        run["iterations"];
    if (run["solver"] == "cg") continue;
    EXPECT_EQ(run["form"], "block");
    EXPECT_EQ(run["matrix_format"], "csr");
    auto const x = array_of(scratch.read("x-" + number(r) + ".mtx"));
    ASSERT_EQ(x.size(), columns);
    // The same right-hand sides gave cg's solutions, which the other tests hold against the truth.
    auto const of_cg = array_of(scratch.read("x-" + number(r + 5) + ".mtx"));
    for (std::size_t c = 0; c < columns; ++c) {
      double difference = 0, largest = 0;
      for (std::int32_t i = 0; i < A.rows; ++i) {
        difference = std::max(difference, std::abs(x[c][i] - of_cg[c][i]));
        largest = std::max(largest, std::abs(of_cg[c][i]));
      }
      EXPECT_LE(difference, 1e-6 * largest) << preconditioner << ", column " << c;
      if (columns > 1) {
        EXPECT_EQ(run["columns"][c]["reason"], "converged");
      }
    }
  }
  for (std::string const of : {"none16", "jacobi16", "none40", "jacobi40"})
    EXPECT_LE(iterations["block_cg" + of], 0.6 * iterations["cg" + of]) << of;
}

TEST(Driver, WhatABlockDoesNotTakeIsRefusedBeforeAnythingRuns) {
  Scratch const scratch;
  std::string const problem =
      "problem: {generate: fem_poisson_2d, size: 5}\nsolver: {name: block_cg}\n";
  std::map<std::string, std::string> const cases = {
      {"preconditioner: {name: ic0}\n", "a.yaml:3: block_cg needs preconditioner.name: none, "},
      {"execution: {matrix_format: sell}\n", "a.yaml:3: block_cg needs execution.matrix_format: "},
      {"execution: {runner: resident}\n", "a.yaml:3: block_cg needs execution.runner: auto, "}};
  for (auto const& [further, why] : cases) {
    scratch.write("a.yaml", problem + further);
    Outcome const outcome = drive(scratch, "a.yaml");
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_TRUE(contains(outcome.err, why)) << outcome.err;
  }
  scratch.write(
      "a.yaml",
      "problem: {generate: fem_poisson_2d, size: 5, batch: 3}\nsolver: {name: block_cg}\n");
  EXPECT_TRUE(
      contains(drive(scratch, "a.yaml").err, "problem.batch needs solver.name: auto, cg or "));
}

}  // namespace
