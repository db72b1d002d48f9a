// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver's executable says at once all that is wrong with its input, and nothing that is not.
#include <gtest/gtest.h>

#include <sstream>

#include "drive.hpp"

namespace {

constexpr char const* problem = "problem: {generate: fem_poisson_2d, size: 9}\n";

/// What the driver finds wrong, a message each.
Strings errors_of(Scratch const& folder, std::string const& arguments) {
  Outcome const outcome = drive(folder, arguments);
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  Strings messages;
  std::istringstream lines(outcome.err);
  for (std::string line; std::getline(lines, line);)
    messages.push_back(line.starts_with("error: ") ? line.substr(7) : line);
  return messages;
}

/// Each message begins with one of these, in order.
void expect_errors(Strings const& messages, Strings const& beginnings) {
  std::string all;
  for (std::string const& message : messages) all += message + "\n";
  ASSERT_EQ(messages.size(), beginnings.size()) << all;
  for (std::size_t k = 0; k < messages.size(); ++k)
    EXPECT_TRUE(messages[k].starts_with(beginnings[k]))
        << "no '" << beginnings[k] << "' in: " << all;
}

TEST(AllErrors, OfAFile) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem:\n  matrix: no.mtx\n  rhs: non.mtx\n  scalr: float\n"
                "solver: {name: gmres, toll: 1, restart: 0}\n"
                "slover:\n"
                "preconditioner:\n  name: jacoby\n  k: -1\n  tau: {}\n"
                "execution: {repeat: 0, repeat: 2}\n"
                "output: {json: no/r.json, verbose: [true, false]}\n");
  expect_errors(errors_of(scratch, "a.yaml"),
                {"a.yaml:10: 'preconditioner.tau' must be a value",
                 "a.yaml:11: 'execution.repeat' is given twice",
                 "a.yaml:4: unknown key 'problem.scalr'; did you mean 'scalar'?",
                 "a.yaml:5: unknown key 'solver.toll'",
                 "a.yaml:6: unknown key 'slover'; did you mean 'solver'?",
                 "a.yaml:12: output.verbose cannot be a list",
                 "a.yaml:5: solver.restart must be an integer from 1 to 1000, not '0'",
                 "a.yaml:8: preconditioner.name must be auto, none, jacobi,",
                 "a.yaml:9: preconditioner.k must be an integer from 0 to 100, not '-1'",
                 "a.yaml:11: execution.repeat must be an integer",
                 "a.yaml:12: output.json 'no/r.json' cannot be written",
                 "a.yaml:2: problem.matrix: no.mtx: there is no such file",
                 "a.yaml:3: problem.rhs: non.mtx: there is no such file"});
}

TEST(AllErrors, OfACycle) {
  Scratch const scratch;
  scratch.write("a.yaml", std::string(problem) +
                              "solver: {name: cg}\npreconditioner: {name: amg, interpolation: air, "
                              "pre: 1, post: 2, block_size: 3}\n");
  expect_errors(errors_of(scratch, "a.yaml"),
                {"a.yaml:3: preconditioner.interpolation is air: block_size is for aggregation",
                 "a.yaml:3: preconditioner.interpolation is air: its cycle is not symmetric",
                 "a.yaml:3: preconditioner.pre is 1 and preconditioner.post 2"});
}

TEST(AllErrors, OfFilesDocumentsAndTheCommandLine) {
  Scratch const scratch;
  scratch.write("a.yaml", std::string(problem) +
                              "solver: {name: cg, form: fast}\n---\nproblem: {matrix: no.mtx}\n"
                              "---\nproblem: [\n");
  scratch.write("b.yaml", "problem: {generate: fem_poisson_2d, size: 0}\n");
  expect_errors(errors_of(scratch,
                          "a.yaml b.yaml c.yaml --bogus --set solver.tolerence=1 "
                          "--set solver.max_iterations=-1"),
                {"--bogus: unknown option", "--set solver.tolerence=1: unknown key",
                 "a.yaml:7: not valid YAML", "a.yaml:2: solver.form must be",
                 "--set solver.max_iterations=-1: solver.max_iterations must be",
                 "b.yaml:1: problem.size must be", "c.yaml: no such file",
                 "a.yaml:4: problem.matrix: no.mtx: there is no such file"});
}

TEST(AllErrors, OfTheFilesOfAProblem) {
  Scratch const scratch;
  scratch.write("A.mtx", market("2 2 2\n1 1 1\n2 2 nan\n"));
  scratch.write("b.mtx", market("2 1\n1\nx\n", "array real general"));
  scratch.write("a.yaml",
                "problem: {matrix: A.mtx, rhs: b.mtx, coordinates: c.mtx}\n"
                "preconditioner: {name: amg, near_nullspace: rigid_body}\n");
  Strings const of_both = {"a.yaml:1: problem.rhs: b.mtx:4: a value should be a number",
                           "a.yaml:1: problem.coordinates: c.mtx: there is no such file"};
  expect_errors(errors_of(scratch, "a.yaml"),
                {"a.yaml:1: problem.matrix: A.mtx:4: a value is 'nan'", of_both[0], of_both[1]});
  scratch.write("a.yaml",
                "problem: {matrix: B.mtx, rhs: b.mtx, coordinates: c.mtx, sclar: double}\n"
                "preconditioner: {name: amg, near_nullspace: rigid_body}\n");
  expect_errors(errors_of(scratch, "a.yaml"),
                {"a.yaml:1: unknown key 'problem.sclar'",
                 "a.yaml:1: problem.matrix: B.mtx: there is no such file", of_both[0], of_both[1]});
}

/// What follows from what was refused is no error: each of these has one.
TEST(AllErrors, AreNotInvented) {
  Scratch const scratch;
  scratch.write("A.mtx", market("4 4 4\n1 1 1\n2 2 1\n3 3 1\n4 4 1\n"));
  scratch.write("c.mtx", market("2 2\n0\n0\n1\n1\n", "array real general"));
  std::string const good(problem), matrix = "problem: {matrix: A.mtx, coordinates: c.mtx}\n";
  struct {
    std::string text, error, arguments = "";
  } const cases[] = {
      {"problem: {genrate: fem_poisson_2d, size: 9}\n", "a.yaml:1: unknown key"},
      {"problem: {generate: fem_poison_2d, size: 9}\n", "a.yaml:1: problem.generate must be"},
      {"problem: {generate: fem_poisson_2d, sise: 9}\n", "a.yaml:1: unknown key"},
      {"problem: {generate: fem_poisson_2d, size: []}\n", "a.yaml:1: 'problem.size' is an empty"},
      {"problem: {matrix: A.mtx, generate: fem_poisson_2d, size: 9}\n", "a.yaml:1: both"},
      {"problm: {generate: fem_poisson_2d, size: 9}\n", "a.yaml:1: unknown section"},
      {"problem: fem_poisson_2d\n", "a.yaml:1: 'problem' must hold keys"},
      {"problem: {generate: stand_in, lik: pwtk}\n", "a.yaml:1: unknown key"},
      {"problem: {generate: fem_poisson_2d, size: 9, rsh: random, rhs_count: 8}\n",
       "a.yaml:1: unknown key"},
      {"problem: {generate: magnetic_laplacian_2d, size: 9, sclar: complex_double}\n",
       "a.yaml:1: unknown key"},
      {good + "solver: {name: gmrs, form: cgs2, restart: 5, reorthogonalisation: halved}\n",
       "a.yaml:2: solver.name must be"},
      {good + "solver: {nam: gmres, form: cgs2, restart: 5, reorthogonalisation: halved}\n",
       "a.yaml:2: unknown key"},
      {good + "slover: {name: gmres}\nsolver: {form: cgs2, restart: 5}\n",
       "a.yaml:2: unknown section"},
      {good + "solver: {name: cg, name: gmres, restart: 5}\n", "a.yaml:2: 'solver.name' is given"},
      {good + "solver: {generate: x}\nexecution: {repeat: 2}\n", "a.yaml:2: unknown key"},
      {good + "preconditioner: {name: fsia, k: 3, tau: 0.1, precision: single}\n",
       "a.yaml:2: preconditioner.name must be"},
      {good + "preconditioner: {name: fsai, patern: adaptive, steps: 3}\n",
       "a.yaml:2: unknown key"},
      {good + "preconditioner: {name: amg, pre: 9, post: 2}\n",
       "a.yaml:2: preconditioner.pre must"},
      {good + "solver: {name: block_cg}\npreconditioner: {name: [none, ilu]}\n",
       "a.yaml:3: preconditioner.name must be"},
      {matrix + "preconditioner: {nmae: amg, near_nullspace: rigid_body}\n",
       "a.yaml:2: unknown key"},
      {matrix + "preconditioner: {name: amg, near_nulspace: rigid_body}\n",
       "a.yaml:2: unknown key"},
      {good + "preconditioner: {name: amg, near_nullspace: rigid_body}\n",
       "--set problem.cordinates=c.mtx: unknown key", "--set problem.cordinates=c.mtx"},
      {"problem: {generate: fem_poisson_2d, size: 9, rhs: ones, rhs: random, rhs_count: 8}\n",
       "a.yaml:1: 'problem.rhs' is given twice"},
      {good, "--set output.json=[a, b]: output.json cannot be a list",
       "--set 'output.json=[a, b]'"},
      {good, "--set problem.genrate=helmholtz_2d: unknown key",
       "--set problem.genrate=helmholtz_2d --set problem.damping=0.2"},
      {good + "solver: {restart: 5}\n", "--set solver.name=[gmres: not a valid value",
       "--set solver.name=[gmres"},
      {good + "---\n" + problem + "output: {json: r.json}\n", "a.yaml:4: 'output.json' belongs"},
  };
  for (auto const& each : cases) {
    scratch.write("a.yaml", each.text);
    SCOPED_TRACE(each.text);
    expect_errors(errors_of(scratch, "a.yaml " + each.arguments), {each.error});
  }
}

}  // namespace
