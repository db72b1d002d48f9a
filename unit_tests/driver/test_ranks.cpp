// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver under mpirun: what comes out is what one process gives, and what goes wrong on one
// rank ends all with one message. Residuals are recomputed from the files that were written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <solder/io/matrix_market.hpp>
#include <solder/io/matrix_market/write.hpp>
#include <solder/problems/generators.hpp>
#include <string>
#include <vector>

#include "drive.hpp"

namespace {

using Solder::HostCsr;

/// Without the words of MPI itself about the machine, and about processes that end badly.
std::string const quiet =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 UCX_LOG_LEVEL=fatal "
    "OMP_NUM_THREADS=1 timeout 100 ";

Outcome drive_over(int ranks, Scratch const& folder, std::string const& arguments,
                   std::string const& before = "", std::string const& pipe = "") {
  return drive(folder, arguments,
               pipe + quiet + SOLDER_MPIRUN " " + std::to_string(ranks) + " " + before);
}

/// What the driver says goes wrong: a message each.
Strings errors_of(Outcome const& outcome) {
  std::istringstream lines(outcome.err);
  Strings errors;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("error: ")) errors.push_back(line.substr(7));
  return errors;
}

/// ||b - A x|| / ||b||, of column c of k.
double residual(HostCsr<double> const& A, std::vector<double> const& b,
                std::vector<double> const& x, int c = 0, int k = 1) {
  double of_r = 0, of_b = 0;
  for (std::int32_t i = 0; i < A.rows; ++i) {
    double r = b[std::size_t(i) * k + c];
    of_b += r * r;
    for (auto e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e)
      r -= A.values[e] * x[std::size_t(A.columns[e]) * k + c];
    of_r += r * r;
  }
  return std::sqrt(of_r / of_b);
}

/// The entries of an array file, row by row.
std::vector<double> read_array(std::string const& path) {
  auto const of = Solder::read_matrix_market<double>(path);
  std::vector<double> values(std::size_t(of.rows) * of.columns_count);
  for (std::int32_t i = 0; i < of.rows; ++i)
    for (auto e = of.row_offsets[i]; e < of.row_offsets[i + 1]; ++e)
      values[std::size_t(i) * of.columns_count + of.columns[e]] = of.values[e];
  return values;
}

double sum(Json const& list) {
  double all = 0;
  for (double const value : list) all += value;
  return all;
}

TEST(DriverRanks, GiveWhatOneProcessGives) {
  Scratch const folder;
  folder.write("spd.yaml",
               "problem: {generate: fem_poisson_2d, size: 25, rhs: random}\n"
               "solver: {name: cg}\n"
               "preconditioner: {name: [none, jacobi, chebyshev, fsai], k: 1}\n"
               "output: {json: r.json}\n");
  folder.write("polynomial.yaml",
               "problem: {generate: fem_poisson_2d, size: 25, rhs: random}\n"
               "solver: {name: [cg, gmres]}\n"
               "preconditioner: {name: chebyshev, inner: fsai, degree: 2}\n"
               "output: {json: r.json}\n");
  folder.write("flow.yaml",
               "problem: {generate: convection_diffusion_3d, size: 9, rhs: unit_solution}\n"
               "solver: {name: [bicgstab, gmres, idr]}\n"
               "preconditioner: {name: jacobi}\n"
               "output: {json: r.json}\n");
  for (std::string const file : {"spd.yaml", "polynomial.yaml", "flow.yaml"}) {
    Json alone;
    for (int const ranks : {0, 1, 2, 3}) {
      Outcome const outcome = ranks == 0 ? drive(folder, file) : drive_over(ranks, folder, file);
      ASSERT_EQ(outcome.code, 0) << ranks << outcome.err << outcome.out;
      Json const runs = Json::parse(folder.read("r.json"))["runs"];
      if (ranks == 0) alone = runs;
      ASSERT_EQ(runs.size(), alone.size());
      for (std::size_t k = 0; k < runs.size(); ++k) {
        Json const &run = runs[k], &one = alone[k];
        std::string const what =
            std::to_string(ranks) + " ranks, " + std::string(one["preconditioner_label"]);
        EXPECT_EQ(run["reason"], "converged") << what;
        EXPECT_LE(std::abs(int(run["iterations"]) - int(one["iterations"])), 1) << what;
        EXPECT_EQ(run["problem"], one["problem"]) << what;  // fingerprints and symmetry, too
        EXPECT_EQ(run["ranks"].is_null(), ranks < 2) << what;
        if (ranks < 2) continue;
        Json const& of = run["ranks"];
        EXPECT_EQ(of["count"], ranks);
        EXPECT_EQ(sum(of["rows"]), double(run["problem"]["rows"]));
        EXPECT_EQ(sum(of["nonzeros"]), double(run["problem"]["nonzeros"]));
        for (double const ghosts : of["ghosts"]) EXPECT_GT(ghosts, 0);
        ASSERT_EQ(of["waited"].size(), std::size_t(ranks));
        for (double const share : of["waited"]) {
          EXPECT_GE(share, 0);
          EXPECT_LE(share, 1.01);
        }
        double const sums = of["all_reduces_per_iteration"];
        bool const is_pipelined_cg = run["solver"] == "cg" && k < 2 && file == "spd.yaml";
        if (is_pipelined_cg) {
          EXPECT_GE(sums, 1);
          EXPECT_LE(sums, 1.2);
          EXPECT_LE(double(of["exchanges_per_iteration"]), 1.2);
        }
      }
    }
  }
}

std::size_t count(std::string const& text, std::string const& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(DriverRanks, SayEverythingOnce) {
  Scratch const folder;
  folder.write(
      "p.yaml",
      "problem: {generate: fem_poisson_2d, size: 8}\n"
      "solver: {name: cg}\npreconditioner: {name: none}\n"
      "output: {json: r.json, table: t.csv, history: h.csv, report: r.html, verbose: true}\n");
  Outcome const outcome = drive_over(3, folder, "p.yaml");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (char const* const once : {"iterations  residual", "converged", "its diagonal is positive",
                                 "all-reduces and ", "on openmp, 3 ranks"})
    EXPECT_LE(count(outcome.out, once), 1u) << outcome.out;
  // Rows 0 to 21, 22 to 42 and 43 to 63 of 8 x 8 nodes, which reach 9 rows down and up.
  EXPECT_EQ(count(outcome.out, "3 ranks of 21 to 22 rows and 9 to 18 ghosts: "), 1u) << outcome.out;
  EXPECT_EQ(folder.files(), (Strings{"h.csv", "p.yaml", "r.html", "r.json", "t.csv"}));
  EXPECT_TRUE(contains(folder.read("r.html"), "3 ranks with 22, 21, 21 rows, "));
}

/// Long rows first, so that equal work is not equal rows; symmetric.
HostCsr<double> uneven() {
  Solder::TripletBuilder<double> builder;
  std::int32_t const n = 120;
  for (std::int32_t i = 0; i < n; ++i) {
    builder.add(i, i, 200);
    for (std::int32_t j = 0; j < i; ++j)
      if (i < 30 || j == i - 1 || (j < 30 && i % 7 == 0)) {
        builder.add(i, j, -1.0 / (1 + i + j));
        builder.add(j, i, -1.0 / (1 + i + j));
      }
  }
  return builder.build(n, n);
}

TEST(DriverRanks, ReadFilesOnceAndDealThemOut) {
  HostCsr<double> const A = uneven();
  std::vector<double> b;
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (int c = 0; c < 2; ++c) b.push_back(std::sin(1.0 + i + 10 * c));
  Scratch const folder;
  Solder::write_matrix_market(folder.path("A.mtx").string(), A);
  Solder::write_matrix_market_columns<double>(folder.path("b.mtx").string(), b, 2);
  folder.write("p.yaml",
               "problem: {matrix: pipe.mtx, rhs: b.mtx}\n"
               "solver: {name: gmres, tolerance: 1e-9}\npreconditioner: {name: ilu0}\n"
               "output: {json: r.json, solution: x.mtx}\n");
  for (int const ranks : {2, 3}) {  // a pipe can be read once
    Outcome const outcome = drive_over(ranks, folder, "p.yaml", "",
                                       "rm -f pipe.mtx && mkfifo pipe.mtx && "
                                       "{ cat A.mtx >pipe.mtx & } && ");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    auto const x = read_array(folder.path("x.mtx").string());
    ASSERT_EQ(x.size(), b.size());
    for (int c = 0; c < 2; ++c) EXPECT_LE(residual(A, b, x, c, 2), 1.001e-9);
    Json const run = Json::parse(folder.read("r.json"))["runs"][0];
    EXPECT_EQ(run["columns"].size(), 2u);
    Json const& of = run["ranks"];
    EXPECT_LT(double(of["rows"][0]), double(of["rows"][ranks - 1]) / 1.5) << of;
    double const mean = A.nonzeros() / double(ranks);  // and a little for each row
    for (double const nonzeros : of["nonzeros"]) EXPECT_NEAR(nonzeros, mean, 0.5 * mean) << of;
  }
}

TEST(DriverRanks, FindWhatIsNotSymmetricWhereverItIs) {
  HostCsr<double> A = Solder::fem_poisson_2d<double>(6);
  // Of the two ranks, the first has row 17, and the second column 23.
  for (auto e = A.row_offsets[17]; e < A.row_offsets[18]; ++e)
    if (A.columns[e] == 23) A.values[e] *= 1.5;
  Scratch const folder;
  Solder::write_matrix_market(folder.path("A.mtx").string(), A);
  folder.write("p.yaml",
               "problem: {matrix: A.mtx}\nsolver: {name: cg}\npreconditioner: {name: none}\n"
               "output: {json: r.json}\n");
  Outcome const alone = drive(folder, "p.yaml");
  Json const one = Json::parse(folder.read("r.json"))["runs"][0];
  ASSERT_EQ(one["reason"], "nonsymmetric_matrix");
  for (int const ranks : {2, 3}) {
    Outcome const outcome = drive_over(ranks, folder, "p.yaml");
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    Json const run = Json::parse(folder.read("r.json"))["runs"][0];
    EXPECT_EQ(run["reason"], one["reason"]);
    EXPECT_EQ(run["detail"], one["detail"]);
    EXPECT_EQ(run["problem"]["symmetry"], one["problem"]["symmetry"]);
  }
}

/// A flow through rows of different sizes, with zeros on the diagonal.
HostCsr<double> awkward() {
  Solder::TripletBuilder<double> builder;
  std::int32_t const n = 400;
  for (std::int32_t i = 0; i < n; ++i) {
    double const size = std::pow(10.0, i % 5);
    if (i % 40 != 7) builder.add(i, i, 3 * size);
    if (i > 0) builder.add(i, i - 1, -1.9 * size);
    if (i + 1 < n) builder.add(i, i + 1, -1.4 * size);
    if (i + 23 < n) builder.add(i, i + 23, 0.4 * size);
  }
  return builder.build(n, n);
}

TEST(DriverRanks, ChooseASolver) {
  Scratch const folder;
  std::vector<HostCsr<double>> const matrices{Solder::fem_poisson_2d<double>(40), uneven(),
                                              awkward()};
  for (std::size_t m = 0; m < matrices.size(); ++m) {
    HostCsr<double> const& A = matrices[m];
    std::vector<double> b(std::size_t(A.rows));
    for (std::int32_t i = 0; i < A.rows; ++i) b[i] = std::sin(1.0 + i);
    Solder::write_matrix_market(folder.path("A.mtx").string(), A);
    Solder::write_matrix_market_columns<double>(folder.path("b.mtx").string(), b, 1);
    folder.write("p.yaml",
                 "problem: {matrix: A.mtx, rhs: b.mtx}\noutput: {json: r.json, solution: x.mtx}\n");
    for (int const ranks : {1, 2, 3}) {
      std::string const what = std::to_string(m) + ", " + std::to_string(ranks) + " ranks";
      Outcome const outcome = drive_over(ranks, folder, "p.yaml");
      ASSERT_EQ(outcome.code, 0) << what << outcome.err << outcome.out;
      EXPECT_LE(residual(A, b, read_array(folder.path("x.mtx").string())), 1.001e-8) << what;
      Json const run = Json::parse(folder.read("r.json"))["runs"][0];
      ASSERT_FALSE(run["attempts"].empty()) << run;
      EXPECT_EQ(run["attempts"].back()["reason"], "converged") << what;
      int iterations = 0;
      for (Json const& attempt : run["attempts"]) iterations += int(attempt["iterations"]);
      EXPECT_EQ(run["iterations"], iterations) << what;
    }
  }
  Outcome const outcome = drive_over(2, folder, "A.mtx");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(count(outcome.out, "it looks like"), 0u);
  EXPECT_EQ(count(outcome.out, "400 rows, 1565 entries"), 1u) << outcome.out;
  EXPECT_EQ(count(outcome.out, "10 of its diagonal entries are zero or missing"), 1u)
      << outcome.out;
}

TEST(DriverRanks, ChooseForRanksWithoutRowsAndForColumns) {
  HostCsr<double> const two{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {4, -1, -1, 3}};
  HostCsr<double> const poisson = Solder::fem_poisson_2d<double>(12);
  Scratch const folder;
  for (HostCsr<double> const& A : {two, poisson}) {
    std::vector<double> b;
    for (std::int32_t i = 0; i < A.rows; ++i)
      for (int c = 0; c < 2; ++c) b.push_back(std::sin(1.0 + i + 10 * c));
    Solder::write_matrix_market(folder.path("A.mtx").string(), A);
    Solder::write_matrix_market_columns<double>(folder.path("b.mtx").string(), b, 2);
    folder.write("p.yaml",
                 "problem: {matrix: A.mtx, rhs: b.mtx}\noutput: {json: r.json, solution: x.mtx}\n");
    Outcome const outcome = drive_over(3, folder, "p.yaml");
    ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
    auto const x = read_array(folder.path("x.mtx").string());
    for (int c = 0; c < 2; ++c) EXPECT_LE(residual(A, b, x, c, 2), 1.001e-8);
    Json const run = Json::parse(folder.read("r.json"))["runs"][0];
    EXPECT_EQ(run["columns"].size(), 2u);
    EXPECT_EQ(run["attempts"].back()["reason"], "converged");
    Outcome const one = drive_over(3, folder, "A.mtx");
    EXPECT_EQ(one.code, 0) << one.err;
  }
}

TEST(DriverRanks, WriteTheWholeSolutionOfARefusedRun) {
  Scratch const folder;
  Solder::write_matrix_market(folder.path("A.mtx").string(), awkward());
  folder.write("p.yaml",
               "problem: {matrix: A.mtx}\nsolver: {name: cg}\npreconditioner: {name: none}\n"
               "output: {solution: x.mtx}\n");
  Outcome const outcome = drive_over(2, folder, "p.yaml");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(read_array(folder.path("x.mtx").string()), std::vector<double>(400));
}

TEST(DriverRanks, EndAlikeWhereOneHasABadRow) {
  for (bool const is_nan : {true, false}) {
    HostCsr<double> A = Solder::fem_poisson_2d<double>(6);
    for (auto e = A.row_offsets[30]; e < A.row_offsets[31]; ++e)
      if (A.columns[e] == 30) A.values[e] = is_nan ? NAN : 0;
    Scratch const folder;
    Solder::write_matrix_market(folder.path("A.mtx").string(), A);
    folder.write("p.yaml",
                 "problem: {matrix: A.mtx}\nsolver: {name: gmres}\n"
                 "preconditioner: {name: jacobi}\noutput: {json: r.json}\n");
    Outcome const alone = drive(folder, "p.yaml");
    std::string const before = folder.read("r.json");
    Outcome const outcome = drive_over(3, folder, "p.yaml");
    EXPECT_EQ(outcome.code, alone.code) << outcome.err << alone.err;
    if (alone.code == 2) continue;
    EXPECT_EQ(Json::parse(folder.read("r.json"))["runs"][0]["reason"],
              Json::parse(before)["runs"][0]["reason"]);
  }
}

TEST(DriverRanks, MayHaveNoRows) {
  Scratch const folder;
  folder.write("p.yaml",
               "problem: {generate: fem_poisson_2d, size: [1, 2]}\nsolver: {name: [cg, idr]}\n"
               "preconditioner: {name: [none, jacobi, ic0]}\noutput: {json: r.json}\n");
  Outcome const outcome = drive_over(3, folder, "p.yaml");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json const runs = Json::parse(folder.read("r.json"))["runs"];
  EXPECT_EQ(runs.size(), 12u);
  EXPECT_EQ(sum(runs[0]["ranks"]["rows"]), 1);
}

TEST(DriverRanks, DealNodesAsAWhole) {
  Scratch const folder;
  folder.write("p.yaml",
               "problem: {generate: elasticity_3d, size: 5}\nsolver: {name: cg}\n"
               "preconditioner: {name: amg, near_nullspace: rigid_body}\n"
               "output: {json: r.json}\n");
  Outcome const outcome = drive_over(2, folder, "p.yaml");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json const run = Json::parse(folder.read("r.json"))["runs"][0];
  for (double const rows : run["ranks"]["rows"]) EXPECT_EQ(std::fmod(rows, 3), 0);
}

TEST(DriverRanks, RandomMatricesAreThoseOfOneProcess) {
  Scratch const folder;
  folder.write("p.yaml",
               "problem: {generate: random_spd, size: 100, nonzeros_per_row: 7, seed: 3}\n"
               "solver: {name: cg}\npreconditioner: {name: jacobi}\noutput: {json: r.json}\n");
  ASSERT_EQ(drive(folder, "p.yaml").code, 0);
  Json const one = Json::parse(folder.read("r.json"))["runs"][0];
  Outcome const outcome = drive_over(3, folder, "p.yaml");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(folder.read("r.json"))["runs"][0]["problem"], one["problem"]);
}

TEST(DriverRanks, SolveComplexSystems) {
  Scratch const folder;
  if (!contains(drive(folder, "--list").out, "complex_double"))
    GTEST_SKIP() << "this driver is for real scalars";
  folder.write("p.yaml",
               "problem: {generate: [magnetic_laplacian_2d, helmholtz_2d], size: 12, rhs: random, "
               "scalar: complex_double}\n"
               "solver: {name: gmres}\npreconditioner: {name: jacobi}\noutput: {json: r.json}\n");
  ASSERT_EQ(drive(folder, "p.yaml").code, 0);
  Json const alone = Json::parse(folder.read("r.json"))["runs"];
  Outcome const outcome = drive_over(3, folder, "p.yaml");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json const runs = Json::parse(folder.read("r.json"))["runs"];
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(runs[k]["problem"], alone[k]["problem"]);
    EXPECT_LE(std::abs(int(runs[k]["iterations"]) - int(alone[k]["iterations"])), 1);
  }
}

TEST(DriverRanks, SayWhatDoesNotRunOverThem) {
  Scratch const folder;
  std::string const good =
      "problem: {generate: fem_poisson_2d, size: 8}\nsolver: {name: cg}\n"
      "preconditioner: {name: none}\n";
  folder.write("p.yaml", good);
  auto const refused = [&](std::string const& arguments, Strings const& messages) {
    Outcome const outcome = drive_over(2, folder, arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << outcome.err;
    auto const errors = errors_of(outcome);
    ASSERT_EQ(errors.size(), messages.size()) << arguments << outcome.err;
    for (std::size_t k = 0; k < messages.size(); ++k)
      EXPECT_TRUE(contains(errors[k], messages[k])) << errors[k];
  };
  std::string const over = "a run over 2 ranks needs ";
  refused("p.yaml --set solver.name=block_cg",
          {over + "solver.name: cg, bicgstab, gmres or idr, which solve"});
  refused("p.yaml --set problem.batch=3", {over + "problem.batch: none"});
  refused(
      "p.yaml --set execution.runner=team --set execution.matrix_format=sell "
      "--set output.roofline=true",
      {over + "execution.runner: auto or launch, not team",
       over + "execution.matrix_format: auto or csr, not sell", over + "output.roofline: false"});
  refused("--explain p.yaml", {"--explain: is for one process"});
}

TEST(DriverRanks, EndTogetherWithOneMessage) {
  Scratch const folder;
  std::string const good =
      "problem: {generate: fem_poisson_2d, size: 8}\nsolver: {name: cg}\n"
      "preconditioner: {name: none}\n";
  folder.write("good.yaml", good);
  folder.write("missing.yaml",
               "problem: {matrix: none.mtx}\nsolver: {name: cg}\npreconditioner: {name: none}\n");
  folder.write("half.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n");
  folder.write("half.yaml",
               "problem: {matrix: half.mtx}\nsolver: {name: cg}\npreconditioner: {name: none}\n");
  struct Case {
    std::string arguments, message;
  };
  for (Case const& of :
       std::vector<Case>{{"none.yaml", "none.yaml: no such file"},
                         {"good.yaml --set solver.nmae=cg", "did you mean"},
                         {"missing.yaml", "none.mtx"},
                         {"half.yaml", "half.mtx"},
                         {"good.yaml --set output.json=none/r.json", "its folder does not exist"},
                         {"good.yaml --set output.solution=/dev/full", "/dev/full"}}) {
    Outcome const outcome = drive_over(3, folder, of.arguments);
    EXPECT_EQ(outcome.code, 2) << of.arguments << outcome.err;
    auto const errors = errors_of(outcome);
    ASSERT_EQ(errors.size(), 1u) << of.arguments << outcome.err;
    EXPECT_TRUE(contains(errors[0], of.message)) << errors[0];
  }
  EXPECT_EQ(folder.files(), (Strings{"good.yaml", "half.mtx", "half.yaml", "missing.yaml"}));
}

TEST(DriverRanks, SayWhichRankHasFoundWhat) {
  Scratch const folder;
  folder.write("p.yaml",
               "problem: {generate: fem_poisson_2d, size: 8}\nsolver: {name: cg}\n"
               "preconditioner: {name: none}\n");
  folder.write("rank.sh",
               "case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 2) export KOKKOS_DEVICE_ID=x ;; esac\n"
               "exec \"$@\"\n");
  Outcome const outcome = drive_over(3, folder, "p.yaml", "sh rank.sh ");
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  ASSERT_EQ(errors_of(outcome).size(), 1u) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "error: rank 2: KOKKOS_DEVICE_ID=x: must be")) << outcome.err;
}

}  // namespace
