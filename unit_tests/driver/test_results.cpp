// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the driver's executable writes of its runs: JSON as docs/results.schema.json has it, pages
// and pictures, and from what it takes to make them again.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "drive.hpp"
#include "json_schema.hpp"

namespace {

using Ordered = JsonSchema::Json;

Ordered schema_json() {
  std::ifstream stream(SOLDER_SOURCE_DIR "/docs/results.schema.json");
  return Ordered::parse(std::string(std::istreambuf_iterator<char>(stream), {}));
}

/// Every solver, every preconditioner, several right-hand sides, a batch, and runs that fail.
constexpr char const* many =
    "problem: {generate: fem_poisson_2d, size: 15}\n"
    "solver: {name: [cg, bicgstab, gmres, idr, block_cg]}\n"
    "preconditioner: {name: [none, jacobi]}\nexecution: {repeat: 3}\n"
    "output: {json: r.json, report: r.html, plot: r.svg}\n"
    "---\nproblem: {generate: fem_poisson_2d, size: 15}\nsolver: {name: cg}\n"
    "preconditioner: {name: [fsai, chebyshev, ic0, ilu0, amg]}\n"
    "---\nproblem: {generate: fem_poisson_2d, size: 7, rhs: random, rhs_count: 3}\nsolver: {name: "
    "cg}\n"
    "---\nproblem: {generate: random_spd, size: 20, batch: 4}\nsolver: {name: cg}\n"
    "---\nproblem: {generate: convection_diffusion_2d, size: 7}\nsolver: {name: cg}\n"
    "---\nproblem: {generate: fem_poisson_2d, size: 15}\nsolver: {name: cg, max_iterations: 2}\n"
    "---\nproblem: {matrix: A.mtx, rhs: unit_solution}\nsolver: {name: cg}\n"
    "---\nproblem: {generate: fem_poisson_2d, size: 15}\n";  // auto

TEST(Results, AreAsTheSchemaHasThem) {
  Scratch const scratch;
  scratch.write("a.yaml", many);
  scratch.write("A.mtx", market("2 2 2\n1 1 1\n2 2 3\n"));
  Outcome const outcome = drive(scratch, "a.yaml --set problem.seed=3");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  Ordered results = Ordered::parse(scratch.read("r.json"));
  JsonSchema const schema(schema_json());
  EXPECT_EQ(schema.wrong_with(results), "");
  ASSERT_EQ(results["runs"].size(), 21u);
  EXPECT_FALSE(results["runs"][20]["attempts"].empty());

  Ordered const& first = results["runs"][0];
  EXPECT_EQ(first["solve_seconds_each"].size(), 3u);
  EXPECT_EQ(first["input"]["solver"]["tolerance"], 1e-8);
  EXPECT_EQ(first["input"]["problem"]["size"], 15);
  EXPECT_EQ(first["input"]["solver"]["check_symmetry"], true);
  EXPECT_EQ(first["problem"]["matrix_hash"].get<std::string>().size(), 16u);
  EXPECT_EQ(first["problem"]["matrix_hash"], results["runs"][1]["problem"]["matrix_hash"]);
  EXPECT_NE(first["problem"]["matrix_hash"], results["runs"][19]["problem"]["matrix_hash"]);
  ASSERT_GE(first["checks"].size(), 2u);
  EXPECT_EQ(first["checks"][0]["iteration"], 0);
  EXPECT_EQ(first["checks"][0]["relative_residual"], 1);
  EXPECT_EQ(first["checks"].back()["iteration"], first["iterations"]);
  EXPECT_EQ(first["checks"].back()["relative_residual"], first["true_relative_residual"]);
  EXPECT_TRUE(results["runs"][19]["problem"]["path"].get<std::string>().ends_with("A.mtx"));
  EXPECT_EQ(results["yaml"], many);
  EXPECT_EQ(results["command"][0], "./solder-driver");
  EXPECT_EQ(results["command"][1], "a.yaml");
  EXPECT_TRUE(results["machine"]["host"].is_null());

  for (auto const& spoil : std::vector<std::function<void(Ordered&)>>{
           [](Ordered& json) { json.erase("kokkos"); }, [](Ordered& json) { json["more"] = 1; },
           [](Ordered& json) { json["runs"][0].erase("history"); },
           [](Ordered& json) { json["runs"][0]["iterations"] = 2.5; },
           [](Ordered& json) { json["runs"][0]["reason"] = "running"; },
           [](Ordered& json) { json["runs"][0]["history"][0] = "1"; },
           [](Ordered& json) { json["runs"][0]["input"]["solver"]["x"] = nullptr; },
           [](Ordered& json) { json["runs"][0]["roofline"] = 3; }}) {
    Ordered spoilt = results;
    spoil(spoilt);
    EXPECT_NE(schema.wrong_with(spoilt), "") << "a schema that takes everything";
  }
}

TEST(Results, MakePagesAndPicturesAgain) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: [7, 15]}\nsolver: {name: cg}\n"
                "output: {json: r.json, report: r.html, plot: r.svg, host: true}\n");
  ASSERT_EQ(drive(scratch, "a.yaml").code, 0);
  EXPECT_TRUE(scratch.read("r.html").starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(contains(scratch.read("r.svg"), "fem_poisson_2d: time over size"));
  EXPECT_TRUE(Ordered::parse(scratch.read("r.json"))["machine"]["host"].is_string());

  Outcome const again = drive(scratch, "report r.json --report again.html --plot again.svg");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "again.html\nagain.svg\n");
  EXPECT_EQ(scratch.read("again.svg"), scratch.read("r.svg"));
  EXPECT_EQ(drive(scratch, "report r.json --plot=c.svg --plot-kind convergence").code, 0);
  EXPECT_TRUE(contains(scratch.read("c.svg"), "residual over time"));
  EXPECT_EQ(drive(scratch, "report r.json --compare r.json --report both.html").code, 0);
  EXPECT_TRUE(contains(scratch.read("both.html"), "2 runs: 1."));
  EXPECT_EQ(drive(scratch, "report r.json").code, 0) << "the page is r.html";
}

TEST(Results, AreRefusedByNameWhereTheyAreNone) {
  Scratch const scratch;
  scratch.write("x.json", "{}");
  scratch.write("none.json", "{\"runs\": []}");
  scratch.write("z.json.gz", "\x1f\x8b\x08");
  scratch.write("a.yaml", "problem: {generate: fem_poisson_2d, size: 7}\noutput: {plot: p.png}\n");
  auto const before = scratch.files();
  for (auto const& [arguments, culprit] : std::vector<std::pair<std::string, std::string>>{
           {"report", "no file of results given"},
           {"report x.json", "x.json: has no list 'runs'"},
           {"report z.json.gz", "z.json.gz: is gzipped; unpack it first"},
           {"report none.json", "none.json: has no run in its list 'runs'"},
           {"report none.json --compare x.json", "none.json: has no run"},
           {"report no.json", "no.json: no such file"},
           {"report .", "is a folder"},
           {"report x.json --compar y", "did you mean --compare?"},
           {"report x.json --plot p.png", "must end in .svg"},
           {"report x.json --plot-kind pie", "must be auto, convergence"},
           {"report x.json --report", "--report: needs a value"},
           {"report x.json --report x.json", "would overwrite the results"},
           {"a.yaml", "must end in .svg"},
           {"a.yaml --set output.plot= --set output.plot_kind=time", "output.plot_kind is for"}}) {
    Outcome const outcome = drive(scratch, arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_TRUE(contains(outcome.err, culprit)) << arguments << ": " << outcome.err;
    EXPECT_EQ(scratch.files(), before) << arguments;
  }
}

}  // namespace
