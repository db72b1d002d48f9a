// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid, by the driver's executable as a user runs it.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "drive.hpp"

namespace {

TEST(Driver, MultigridReportsItsHierarchy) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 63}\n"
                "solver: {name: [cg, gmres, idr]}\n"
                "preconditioner: {name: amg, pre: [1, 2], smoother: [jacobi, chebyshev]}\n"
                "execution: {matrix_format: [csr, sell]}\n"
                "output: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 3u * 2 * 2 * 2);
  for (Json const& run : runs) {
    EXPECT_EQ(run["reason"], "converged");
    EXPECT_LE(run["true_relative_residual"].get<double>(), 1e-8);
    EXPECT_LE(run["iterations"], 26) << run;
    Json const& setup = run["preconditioner_setup"];
    EXPECT_EQ(setup["strength"], 0.25);
    EXPECT_EQ(setup["cycle"], "v");
    EXPECT_EQ(setup["post"], setup["pre"]);
    EXPECT_EQ(setup["max_levels"], 16);
    EXPECT_EQ(setup["max_coarse_size"], 128);
    std::vector<int> const rows = setup["level_rows"];
    ASSERT_GE(rows.size(), 3u);
    EXPECT_EQ(rows.front(), 63 * 63);
    EXPECT_LE(rows.back(), 128);
    for (std::size_t l = 1; l < rows.size(); ++l) EXPECT_LT(3 * rows[l], rows[l - 1]);
    EXPECT_GT(setup["nonzeros"], run["problem"]["nonzeros"]);
    EXPECT_NEAR(setup["operator_complexity"].get<double>(),
                setup["nonzeros"].get<double>() / run["problem"]["nonzeros"].get<double>(), 1e-12);
    EXPECT_GT(setup["largest_eigenvalue"], 1);
    EXPECT_LT(setup["largest_eigenvalue"], 2.3);
    for (char const* const phase : {"strength", "aggregation", "prolongator", "coarse matrix"})
      EXPECT_GE(setup["phase_seconds"][phase].get<double>(), 0);
  }
}

TEST(Driver, MultigridTakesEveryCycle) {
  Scratch const scratch;
  std::string const problem = "problem: {generate: fem_poisson_2d, size: 63}\n";
  scratch.write("a.yaml", problem +
                              "preconditioner: {name: amg, cycle: [v, w], pre: [1, 2],\n"
                              "  smoother: [chebyshev, fsai], max_coarse_size: 20}\n"
                              "output: {json: a.json}\n");
  scratch.write("b.yaml", problem +
                              "solver: {name: [bicgstab, gmres, idr]}\n"
                              "preconditioner: {name: amg, pre: [0, 1], post: 2,\n"
                              "  smoother: [chebyshev, fsai]}\n"
                              "output: {json: b.json}\n");
  for (std::string const name : {"a", "b"}) {
    Outcome const outcome = drive(scratch, name + ".yaml");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    Json const runs = Json::parse(scratch.read(name + ".json"))["runs"];
    EXPECT_EQ(runs.size(), name == "a" ? 8u : 12u);
    for (Json const& run : runs) {
      EXPECT_LE(run["true_relative_residual"].get<double>(), 1e-8);
      EXPECT_LE(run["iterations"], 25) << run;
    }
  }
}

TEST(Driver, MultigridRefusesCyclesThatCannotBe) {
  Scratch const scratch;
  auto const refused = [&](std::string const& solver, std::string const& keys,
                           std::string const& why) {
    scratch.write("a.yaml", "problem: {generate: fem_poisson_2d, size: 20}\nsolver: {name: " +
                                solver + "}\npreconditioner: {name: amg, " + keys + "}\n");
    Outcome const outcome = drive(scratch, "a.yaml");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("a.yaml:3: "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
  };
  refused("gmres", "pre: 0", "are both 0");
  refused("gmres", "pre: 0, post: 0", "are both 0");
  refused("cg", "post: 2", "preconditioner.pre is 1 and preconditioner.post 2: for cg");
  refused("block_cg", "pre: 1, post: 0", "for block_cg, which needs a symmetric cycle");
  refused("cg", "interpolation: air", "its cycle is not symmetric, as cg needs it");
  refused("gmres", "interpolation: air, smoother: fsai", "smoother must be jacobi or chebyshev");
  refused("gmres", "interpolation: air, block_size: 2",
          "block_size is for aggregation only; it must be 1, not 2");
  refused("gmres", "interpolation: air, pre: 0", "are both 0");
  refused("cg", "interpolation: extended, block_size: 2",
          "block_size is for aggregation only; it must be 1, not 2");
  refused("cg", "interpolation: extended, post: 2", "preconditioner.pre is 1");
}

TEST(Driver, MultigridTakesNonsymmetricMatrices) {
  Scratch const scratch;
  scratch.write(
      "a.yaml",
      "problem: {generate: [convection_diffusion_2d, convection_diffusion_3d], size: 16,\n"
      "          scalar: [double, complex_double], rhs: ones}\n"
      "solver: {name: [gmres, bicgstab, idr]}\n"
      "preconditioner: {name: amg, interpolation: air, precision: [same, single]}\n"
      "output: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("symmetric"), std::string::npos) << outcome.err;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 2u * 2 * 3 * 2);
  for (Json const& run : runs) {
    EXPECT_LE(run["true_relative_residual"].get<double>(), 1e-8);
    EXPECT_LE(run["iterations"], 20) << run;
    EXPECT_EQ(run["preconditioner_setup"]["interpolation"], "air");
    EXPECT_EQ(run["preconditioner_setup"]["largest_eigenvalue"], 0);
  }
}

TEST(Driver, MultigridLooksAtTheMatrix) {
  Scratch const scratch;
  auto const taken = [&](std::string const& problem, std::string const& solver) {
    scratch.write("a.yaml", "problem: {generate: " + problem +
                                ", size: 24, rhs: ones}\n"
                                "solver: {name: " +
                                solver +
                                "}\npreconditioner: {name: amg}\n"
                                "output: {json: r.json, verbose: true}\n");
    Outcome const outcome = drive(scratch, "a.yaml");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err.find("symmetric"), std::string::npos) << outcome.err;
    Json const setup = Json::parse(scratch.read("r.json"))["runs"][0]["preconditioner_setup"];
    EXPECT_EQ(setup["interpolation"], "auto");
    std::string const word = setup["interpolation_taken"];
    EXPECT_NE(outcome.out.find("levels by interpolation: " + word), std::string::npos);
    return word;
  };
  EXPECT_EQ(taken("convection_diffusion_2d, velocity_x: 4000", "gmres"), "air");
  EXPECT_EQ(taken("convection_diffusion_2d, velocity_x: 4", "gmres"), "aggregation");
  EXPECT_EQ(taken("fem_poisson_2d", "gmres"), "aggregation");
  EXPECT_EQ(taken("fem_poisson_2d", "cg"), "aggregation");
}

TEST(Driver, MultigridIsClassicalToo) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: [fem_poisson_2d, poisson_3d_7pt], size: 20,\n"
                "          scalar: [double, complex_double], rhs: ones}\n"
                "solver: {name: [cg, block_cg]}\n"
                "preconditioner: {name: amg, interpolation: extended, precision: [same, single]}\n"
                "output: {json: r.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const runs = Json::parse(scratch.read("r.json"))["runs"];
  ASSERT_EQ(runs.size(), 2u * 2 * 2 * 2);
  for (Json const& run : runs) {
    EXPECT_LE(run["true_relative_residual"].get<double>(), 1e-8);
    EXPECT_LE(run["iterations"], 15) << run;
    EXPECT_EQ(run["preconditioner_setup"]["interpolation"], "extended");
    EXPECT_GT(run["preconditioner_setup"]["largest_eigenvalue"], 1);
  }
}

TEST(Driver, MultigridIsHadInSinglePrecision) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 40,\n"
                "          scalar: [float, double, complex_double]}\n"
                "solver: {name: cg, tolerance: 1e-5}\n"
                "preconditioner: {name: [fsai, amg], precision: [same, single]}\n"
                "output: {json: a.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const runs = Json::parse(scratch.read("a.json"))["runs"];
  ASSERT_EQ(runs.size(), 3u * 2 * 2);
  for (std::size_t k = 0; k < runs.size(); k += 2) {
    Json const &same = runs[k], &single = runs[k + 1];
    EXPECT_EQ(same["preconditioner_setup"]["precision"], "same");
    EXPECT_EQ(single["preconditioner_setup"]["precision"], "single");
    EXPECT_NEAR(same["iterations"].get<int>(), single["iterations"].get<int>(), 1);
    EXPECT_LE(single["true_relative_residual"].get<double>(), 1e-5);
    bool const is_float = same["problem"]["scalar"] == "float";
    double const words = same["words_per_iteration"], fewer = single["words_per_iteration"];
    EXPECT_EQ(fewer < words, !is_float) << same;
  }
}

/// Points of a grid of nodes x nodes x nodes, x fastest, as a Matrix Market array.
std::string points_of_grid(int nodes, int dimensions) {
  std::string text = "%%MatrixMarket matrix array real general\n" +
                     std::to_string(nodes * nodes * nodes) + " " + std::to_string(dimensions) +
                     "\n";
  for (int d = 0; d < dimensions; ++d)
    for (int p = 0; p < nodes * nodes * nodes; ++p)
      text += std::to_string((d == 0 ? p : d == 1 ? p / nodes : p / nodes / nodes) % nodes) + "\n";
  return text;
}

TEST(Driver, MultigridTakesRigidBodies) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: elasticity_3d, size: 10}\n"
                "preconditioner: {name: amg, near_nullspace: [constant, rigid_body]}\n"
                "output: {json: a.json, verbose: true}\n");
  scratch.write("b.yaml",
                "problem: {generate: elasticity_3d, size: 10}\n"
                "preconditioner: {name: amg, block_size: 3}\n"
                "output: {json: b.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml b.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const a = Json::parse(scratch.read("a.json"))["runs"],
             b = Json::parse(scratch.read("b.json"))["runs"];
  ASSERT_EQ(a.size(), 2u);
  int const plain = a[0]["iterations"], rigid = a[1]["iterations"], nodes = b[0]["iterations"];
  EXPECT_LT(2 * rigid, plain);
  EXPECT_LT(rigid, nodes);
  EXPECT_LT(nodes, plain);
  EXPECT_EQ(a[0]["preconditioner_setup"]["near_nullspace"], "constant");
  EXPECT_EQ(a[0]["preconditioner_setup"]["block_size"], 1);
  EXPECT_EQ(b[0]["preconditioner_setup"]["block_size"], 3);
  EXPECT_EQ(a[1]["preconditioner_setup"]["near_nullspace"], "rigid_body");
  EXPECT_TRUE(a[1]["preconditioner_setup"]["block_size"].is_null());
  Json const& setup = a[1]["preconditioner_setup"];
  EXPECT_EQ(setup["level_rows"].size(), setup["level_nonzeros"].size());
  EXPECT_EQ(setup["level_nonzeros"][0], a[1]["problem"]["nonzeros"]);
  std::int64_t all = 0;
  for (std::int64_t const nonzeros : setup["level_nonzeros"]) all += nonzeros;
  EXPECT_EQ(setup["nonzeros"], all);
  EXPECT_TRUE(contains(outcome.out, "  level  1:       3267 rows,")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "  set-up: duplicates ")) << outcome.out;
}

TEST(Driver, MultigridTakesRigidBodiesInAllScalars) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: elasticity_3d, size: 8,\n"
                "          scalar: [float, double, complex_float, complex_double]}\n"
                "solver: {name: cg, tolerance: 1e-5}\n"
                "preconditioner: {name: amg, near_nullspace: rigid_body, max_coarse_size: 50}\n"
                "output: {json: a.json}\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json const runs = Json::parse(scratch.read("a.json"))["runs"];
  ASSERT_EQ(runs.size(), 4u);
  int const expected = runs[1]["iterations"];
  EXPECT_LE(expected, 20);
  for (Json const& run : runs) {
    EXPECT_NEAR(run["iterations"].get<int>(), expected, 1) << run["problem"]["scalar"];
    EXPECT_LE(run["true_relative_residual"].get<double>(), 1e-5);
  }
}

/// The points of a file are those of the generator: as many iterations.
TEST(Driver, PointsMayBeAFile) {
  Scratch const scratch;
  std::string points = "%%MatrixMarket matrix array real general\n245 3\n";
  for (int d = 0; d < 3; ++d)
    for (int z = 0; z < 7; ++z)
      for (int y = 0; y < 7; ++y)
        for (int x = 1; x < 6; ++x) points += std::to_string(d == 0 ? x : d == 1 ? y : z) + "\n";
  scratch.write("points.mtx", points);
  scratch.write("a.yaml",
                "problem: {generate: elasticity_3d, size: 6}\n"
                "solver: {name: [cg, gmres]}\n"
                "preconditioner: {name: amg, near_nullspace: rigid_body, max_coarse_size: 30}\n"
                "output: {json: a.json}\n");
  Outcome const own = drive(scratch, "a.yaml"),
                given = drive(scratch,
                              "a.yaml --set problem.coordinates=points.mtx "
                              "--set output.json=b.json");
  // Other points: all in a plane, which has three motions fewer.
  std::string flat = "%%MatrixMarket matrix array real general\n245 3\n";
  for (int d = 0; d < 3; ++d)
    for (int p = 0; p < 245; ++p) flat += std::to_string(d == 2 ? 0 : (7 * d + 3) * p % 11) + "\n";
  scratch.write("flat.mtx", flat);
  Outcome const other = drive(scratch,
                              "a.yaml --set problem.coordinates=flat.mtx "
                              "--set output.json=c.json");
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(own.code, 0) << own.err;
  EXPECT_EQ(given.code, 0) << given.err;
  Json const a = Json::parse(scratch.read("a.json"))["runs"],
             b = Json::parse(scratch.read("b.json"))["runs"];
  Json const c = Json::parse(scratch.read("c.json"))["runs"];
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(a[k]["iterations"], b[k]["iterations"]);
    EXPECT_LT(a[k]["iterations"], c[k]["iterations"]);
  }

  // In the plane, two displacements a point, which is no more than a grid with its unknowns in
  // pairs to the solver.
  scratch.write("grid.mtx", points_of_grid(4, 2));
  scratch.write("b.yaml",
                "problem: {generate: random_spd, size: 128, coordinates: grid.mtx}\n"
                "preconditioner: {name: amg, near_nullspace: rigid_body}\n");
  Outcome const plane = drive(scratch, "b.yaml");
  EXPECT_EQ(plane.code, 0) << plane.err;
}

TEST(Driver, RefusesUnknownsThatAreNotThoseOfPoints) {
  Scratch const scratch;
  scratch.write("grid2.mtx", points_of_grid(4, 2));
  scratch.write("grid3.mtx", points_of_grid(4, 3));
  scratch.write("grid4.mtx", points_of_grid(4, 4));
  auto const refused = [&](std::string const& problem, std::string const& preconditioner,
                           std::vector<std::string> const& texts) {
    scratch.write("a.yaml", "problem: {" + problem + "}\npreconditioner: {name: amg, " +
                                preconditioner + "}\noutput: {json: a.json}\n");
    Outcome const outcome = drive(scratch, "a.yaml");
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    for (std::string const& text : texts)
      EXPECT_TRUE(contains(outcome.err, text)) << text << " in: " << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(scratch.path("a.json")));
  };
  std::string const rigid = "near_nullspace: rigid_body", random = "generate: random_spd, size: ";
  refused(random + "128", rigid, {"a.yaml:2: ", "give problem.coordinates"});
  refused(random + "128, coordinates: grid3.mtx", rigid,
          {"a.yaml:1: problem.coordinates: ", "is 64 x 3, but the 128 rows of the matrix",
           "no whole number of points with 3 displacements each"});
  refused(random + "192, coordinates: grid2.mtx", rigid, {"is 64 x 2", "make up 96 points"});
  refused(random + "256, coordinates: grid4.mtx", rigid, {"points have 2 or 3 coordinates"});
  refused(random + "128, coordinates: nowhere.mtx", rigid, {"nowhere.mtx"});
  refused(random + "128, coordinates: grid2.mtx", "block_size: 2",
          {"a.yaml:1: problem.coordinates is for", "rigid_body, which no run of this file has"});
  refused(random + "128", rigid + ", block_size: 2",
          {"preconditioner.block_size", "it is for preconditioner.near_nullspace: constant"});
  refused(random + "128", "block_size: 3", {"a.yaml:2: ", "3 does not divide the 128 rows"});
  refused(random + "128", "block_size: 33", {"from 1 to 32"});
  refused("generate: elasticity_3d, size: 3", "near_nullspace: rigid",
          {"did you mean 'rigid_body'?"});
}

}  // namespace
