// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <driver/methods.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "config_of.hpp"

using namespace Solder::Driver;

namespace {

TEST(Config, Defaults) {
  auto const runs = runs_of(problem);
  ASSERT_EQ(runs.size(), 1u);
  RunConfig const& run = runs[0];
  EXPECT_EQ(run.problem.generate, "fem_poisson_2d");
  EXPECT_EQ(run.problem.name, "fem_poisson_2d(size=9)");
  EXPECT_EQ(std::get<double>(run.problem.parameters.at("size")), 9);
  EXPECT_EQ(run.problem.parameters.size(), 1u);
  EXPECT_EQ(run.problem.rhs, "ones");
  EXPECT_EQ(run.problem.rhs_count, 0);
  EXPECT_EQ(run.problem.seed, 1);
  EXPECT_EQ(run.problem.scalar, Scalar::double_);
  EXPECT_EQ(run.solver.name, "auto");
  EXPECT_EQ(run.solver.automatic.candidates, "");
  EXPECT_EQ(run.solver.automatic.time_limit, 0);
  EXPECT_EQ(run.solver.automatic.tolerance, 1e-8);
  EXPECT_EQ(run.solver.automatic.max_iterations, 10000);
  EXPECT_EQ(run.preconditioner.name, "auto");
  EXPECT_EQ(run.execution.space, "default");
  EXPECT_EQ(run.execution.runner, "auto");
  EXPECT_EQ(run.execution.matrix_format, "auto");
  EXPECT_EQ(run.execution.repeat, 1);
  EXPECT_TRUE(run.output.json.empty());
  EXPECT_TRUE(run.output.solution.empty());
  EXPECT_TRUE(run.output.history.empty());
}

TEST(Config, EveryKey) {
  auto const runs = runs_of(
      "problem: {matrix: /m/bus.mtx.gz, rhs: b.mtx, rhs_count: 4, seed: 7, "
      "scalar: complex_float}\n"
      "solver: {name: cg, form: classical, tolerance: 0.5, max_iterations: 12}\n"
      "preconditioner: {name: jacobi}\n"
      "execution: {space: serial, runner: graph, matrix_format: sell, repeat: 3}\n"
      "output: {json: /o/r.json, solution: x.mtx, history: h.csv}\n");
  ASSERT_EQ(runs.size(), 1u);
  RunConfig const& run = runs[0];
  EXPECT_EQ(run.problem.matrix, "/m/bus.mtx.gz");
  EXPECT_EQ(run.problem.name, "bus");
  EXPECT_EQ(run.problem.rhs, "");
  EXPECT_EQ(run.problem.rhs_file.filename(), "b.mtx");
  EXPECT_TRUE(run.problem.rhs_file.is_absolute())
      << "relative to the file's folder, which is absolute here";
  EXPECT_EQ(run.problem.rhs_count, 4);
  EXPECT_EQ(run.problem.seed, 7);
  EXPECT_EQ(run.problem.scalar, Scalar::complex_float);
  EXPECT_EQ(run.solver.cg.form, Solder::CgForm::classical);
  EXPECT_EQ(run.solver.cg.tolerance, 0.5);
  EXPECT_EQ(run.solver.cg.max_iterations, 12);
  EXPECT_EQ(run.preconditioner.name, "jacobi");
  EXPECT_EQ(run.execution.space, "serial");
  EXPECT_EQ(run.execution.runner, "graph");
  EXPECT_EQ(run.execution.matrix_format, "sell");
  EXPECT_EQ(run.execution.repeat, 3);
  EXPECT_EQ(run.output.json, "/o/r.json");
  EXPECT_EQ(run.output.solution.parent_path(), run.problem.rhs_file.parent_path());
}

TEST(Config, DocumentsOfAFileRunOneAfterTheOtherAndShareTheOutput) {
  auto const runs = runs_of(
      "problem: {generate: fem_poisson_2d, size: [3, 4]}\noutput: {history: h.csv, json: r.json}\n"
      "---\nproblem: {generate: poisson_3d_7pt, size: 5}\npreconditioner: {name: jacobi}\n");
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[1].problem.name, "fem_poisson_2d(size=4)");
  EXPECT_EQ(runs[1].preconditioner.name, "auto");
  EXPECT_EQ(runs[2].problem.name, "poisson_3d_7pt(size=5)");
  EXPECT_EQ(runs[2].preconditioner.name, "jacobi");
  EXPECT_EQ(runs[2].output.json, runs[0].output.json);
  EXPECT_EQ(runs[2].output.history.filename(), "h-3.csv");
}

TEST(Config, FormerNamesLeadToThoseOfNow) {
  auto const expect_renamed = [](std::string const& section, std::string const& keys,
                                 std::string const& was, std::string const& is) {
    std::string const message = concat("unknown key '", section, ".", was, "'; it is called '",
                                       section, ".", is, "' now\n");
    std::string const name = concat("{name: ", keys);
    EXPECT_TRUE(errors_of(concat(problem, section, ": ", name, ", ", was, ": 1}\n"))
                    .ends_with(concat("a.yaml:2: ", message)));
    EXPECT_EQ(
        errors_of(concat(problem, section, ": ", name, "}\n"), {concat(section, ".", was, "=1")}),
        concat("--set ", section, ".", was, "=1: ", message));
  };
  expect_renamed("solver", "gmres", "second_round", "reorthogonalisation");
  expect_renamed("solver", "idr", "shadow_space", "shadow_dimension");
  expect_renamed("preconditioner", "chebyshev", "over", "inner");
  expect_renamed("preconditioner", "chebyshev", "share", "eigenvalue_fraction");
  expect_renamed("preconditioner", "amg", "levels", "max_levels");
  expect_renamed("preconditioner", "amg", "coarsest", "max_coarse_size");
}

TEST(Config, JsonIsYaml) {
  auto const runs =
      runs_of(R"({"problem": {"generate": "poisson_3d_7pt", "size": 3, "rhs": "random"},
                               "solver": {"tolerance": 1e-6}})");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].problem.rhs, "random");
  EXPECT_EQ(runs[0].solver.cg.tolerance, 1e-6);
}

TEST(Config, UnknownNames) {
  expect_error(std::string(problem) + "solver:\n  name: cg\n  tolerence: 1e-8\n",
               {"a.yaml:4: ", "unknown key 'solver.tolerence'", "did you mean 'tolerance'?"});
  expect_error(std::string(problem) + "solvr: {name: cg}\n",
               {"a.yaml:2: ", "'solvr'", "did you mean 'solver'?"});
  expect_error(std::string(problem) + "solvr: {}\n",
               {"a.yaml:2: ", "'solvr'", "did you mean 'solver'?"});
  expect_error(std::string(problem) + "tolerance: 1e-8\n",
               {"a.yaml:2: ", "did you mean 'solver.tolerance'?"});
  expect_error(std::string(problem) + "solver: {repeat: 2}\n",
               {"a.yaml:2: ", "did you mean 'execution.repeat'?"});
  expect_error(std::string(problem) + "solver: {zzzzz: 2}\n",
               {"'solver.zzzzz'",
                "name, candidates, time_limit, form, restart, reorthogonalisation, basis"});
  expect_error(std::string(problem) + "solver: cg\n",
               {"a.yaml:2: ", "'solver' must hold keys", "solver: {name: ...}"});
  expect_error("problem: {generate: fem_poison_2d, size: 9}\n",
               {"a.yaml:1: ", "problem.generate", "did you mean 'fem_poisson_2d'?"});
  expect_error(std::string(problem) + "solver: {name: cg, form: fast}\n",
               {"a.yaml:2: ", "solver.form", "classical or pipelined", "'fast'"});
  expect_error(std::string(problem) + "preconditioner: {name: jacoby}\n",
               {"did you mean 'jacobi'?"});
}

/// A hint is near, and of the same section; or the one other section where the key is.
TEST(Config, HintsDoNotLeadElsewhere) {
  for (std::string const text :
       {"solver: {scaler: 1}", "name: cg", "'': 1", "preconditioner: {overlap: 1, prefix: 1}"}) {
    std::string const errors = errors_of(std::string(problem) + text + "\n");
    EXPECT_TRUE(contains(errors, "a.yaml:2: unknown ")) << errors;
    EXPECT_FALSE(contains(errors, "did you mean")) << errors;
  }
  for (std::string const text : {"copy: {rows: [1024, 2048], scalar: double}", "copy: {a: 1}"}) {
    std::string const errors = errors_of(std::string(problem) + text + "\n");
    EXPECT_TRUE(contains(errors, "a.yaml:2: 'copy' is a key of performance tests")) << errors;
    EXPECT_FALSE(contains(errors, "did you mean")) << errors;
  }
}

/// One meaning, one run, one name; and no number that another reader of YAML takes for another.
TEST(Config, ANumberIsReadInOneWay) {
  auto const runs = runs_of(
      "problem: {generate: convection_diffusion_2d, size: [3, +3], velocity_x: [-0.5, -.5, -5e-1], "
      "velocity_y: [0, -0, 100, 1e2, +100.]}\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].problem.name, "convection_diffusion_2d(size=3,velocity_x=-0.5,velocity_y=0)");
  EXPECT_EQ(runs[1].problem.name, "convection_diffusion_2d(size=3,velocity_x=-0.5,velocity_y=100)");
  for (std::string const wrong : {"+-5", "-+5", "++5", "--5", "+", "-", "0x10", "0o7", "1_0"}) {
    expect_error("problem: {generate: fem_poisson_2d, size: " + wrong + "}\n",
                 {"problem.size must be an integer", "'" + wrong + "'"});
    expect_error("problem: {generate: magnetic_laplacian_2d, size: 3, flux: " + wrong + "}\n",
                 {"problem.flux must be a number", "'" + wrong + "'"});
  }
  for (std::string const wrong : {"03", "+03", "010", "00"}) {
    expect_error("problem: {generate: fem_poisson_2d, size: " + wrong + "}\n",
                 {"problem.size must be an integer", "'" + wrong + "'"});
    expect_error("problem: {generate: magnetic_laplacian_2d, size: 3, flux: " + wrong + "}\n",
                 {"problem.flux must be a number", "'" + wrong + "'"});
  }
  expect_error("problem: {generate: magnetic_laplacian_2d, size: 08, flux: -01e-1}\n",
               {"did you mean '8'?", "did you mean '-1e-1'?"});
}

TEST(Config, WrongTypesAndRanges) {
  auto const solver = [](std::string const& text) {
    return std::string(problem) + "solver:\n  " + text + "\n";
  };
  expect_error(solver("tolerance: -1"), {"a.yaml:3: ", "solver.tolerance", "from 0 to 1", "'-1'"});
  expect_error(solver("tolerance: 2"), {"solver.tolerance"});
  expect_error(solver("tolerance: .nan"), {"solver.tolerance"});
  expect_error(solver("tolerance: nan"), {"solver.tolerance"});
  expect_error(solver("tolerance: inf"), {"solver.tolerance"});
  expect_error(solver("tolerance: 1e-8x"), {"solver.tolerance", "'1e-8x'"});
  expect_error(solver("tolerance: '1e-8'"), {"solver.tolerance", "in quotes"});
  expect_error(solver("tolerance: [1e-8, small]"), {"solver.tolerance", "'small'"});
  expect_error(solver("tolerance: {a: 1}"), {"solver.tolerance", "not a mapping"});
  expect_error(solver("tolerance: []"), {"solver.tolerance", "empty list"});
  expect_error(solver("tolerance: [[1e-8]]"), {"solver.tolerance", "plain values"});
  expect_error(solver("tolerance:"), {"solver.tolerance", "no value"});
  expect_error(solver("max_iterations: 0"), {"solver.max_iterations", "from 1 to 2147483647"});
  expect_error(solver("max_iterations: 2147483648"), {"solver.max_iterations"});
  expect_error(solver("max_iterations: 99999999999999999999"), {"solver.max_iterations"});
  expect_error(solver("max_iterations: 10.5"), {"solver.max_iterations", "an integer"});
  expect_error(std::string(problem) + "execution: {repeat: 0}\n", {"execution.repeat", "'0'"});
  expect_error("problem: {generate: fem_poisson_2d, size: 17516}\n", {"problem.size", "17515"});
  expect_error("problem: {generate: fem_poisson_2d, size: 0}\n", {"problem.size"});
}

TEST(Config, RangeEndsAreAllowed) {
  for (char const* text : {"tolerance: 0", "tolerance: 1", "max_iterations: 1",
                           "max_iterations: 2147483647", "tolerance: +1E-6"})
    EXPECT_EQ(errors_of(std::string(problem) + "solver: {" + text + "}\n"), "");
}

TEST(Config, Duplicates) {
  expect_error(std::string(problem) + "solver:\n  tolerance: 1e-8\n  tolerance: 1e-6\n",
               {"a.yaml:4: ", "'solver.tolerance' is given twice"});
  expect_error(std::string(problem) + "solver: {name: cg}\nsolver: {name: cg}\n",
               {"a.yaml:3: ", "'solver' is given twice"});
}

TEST(Config, MatrixOrGenerate) {
  expect_error("problem: {matrix: a.mtx, generate: fem_poisson_2d, size: 3}\n",
               {"a.yaml:1: ", "both", "problem.matrix"});
  expect_error("problem: {rhs: ones}\n",
               {"a.yaml: ", "no problem", "problem.matrix", "problem.generate"});
  expect_error("solver: {name: cg}\n", {"a.yaml: ", "no problem"});
}

TEST(Config, ParametersBelongToTheirGenerator) {
  expect_error("problem: {generate: fem_poisson_2d}\n",
               {"a.yaml: ", "problem.size is missing", "fem_poisson_2d"});
  expect_error("problem: {generate: fem_poisson_2d, size: 9, flux: 0.5}\n",
               {"a.yaml:1: ", "'problem.flux' does not apply", "magnetic_laplacian_2d"});
  expect_error("problem: {matrix: a.mtx, size: 9}\n",
               {"'problem.size' does not apply", "problem.generate"});
  auto const runs = runs_of("problem: {generate: [fem_poisson_2d, poisson_3d_7pt], size: 9}\n");
  ASSERT_EQ(runs.size(), 2u);
  expect_error("problem: {generate: [fem_poisson_2d, poisson_3d_7pt], size: 2000}\n",
               {"problem.size", "from 1 to 674"});
}

TEST(Config, SeveralRightHandSidesDiffer) {
  auto const with = [](std::string const& keys) {
    return "problem:\n  generate: fem_poisson_2d\n  size: 9\n" + keys;
  };
  auto const counts = [&](std::string const& keys) {
    std::vector<std::int32_t> found;
    for (auto const& run : runs_of(with(keys))) found.push_back(run.problem.rhs_count);
    return found;
  };
  using Counts = std::vector<std::int32_t>;
  EXPECT_EQ(counts("  rhs: random\n  rhs_count: [1, 8, 1000]\n"), (Counts{1, 8, 1000}));
  EXPECT_EQ(counts("  rhs: b.mtx\n  rhs_count: 3\n"), Counts{3});
  EXPECT_EQ(counts("  rhs: b.mtx\n"), Counts{0}) << "as many as the file has";
  EXPECT_EQ(counts("  rhs: [ones, unit_solution]\n  rhs_count: 1\n"), (Counts{1, 1}));
  for (std::string const same : {"ones", "unit_solution"})
    expect_error(
        with("  rhs: " + same + "\n  rhs_count: 8\n"),
        {"a.yaml:5: problem.rhs_count is 8, but problem.rhs is '" + same + "', which gives equal",
         "take rhs: random, or a file with that many columns"});
  expect_error(with("  rhs_count: 2\n"), {"a.yaml:4: problem.rhs_count is 2", "'ones'"});
  expect_error(with("  rhs: [random, ones]\n  rhs_count: [1, 2]\n"), {"a.yaml:5: ", "'ones'"});
  expect_error(with("  rhs: random\n"), {"--set problem.rhs_count=2", "'ones'"},
               {"problem.rhs=ones", "problem.rhs_count=2"});
  for (std::string const wrong : {"0", "1001", "-1", "2.5", "many", "'8'"})
    expect_error(with("  rhs: random\n  rhs_count: " + wrong + "\n"),
                 {"a.yaml:5: problem.rhs_count must be an integer from 1 to 1000"});
  expect_error(with("  rhs: random\n  rhs_cuont: 8\n"), {"did you mean 'rhs_count'"});
}

TEST(Config, StandInsAreLikeAMatrixOrHaveFigures) {
  auto const runs = runs_of("problem: {generate: stand_in, like: [pwtk, cant]}\n");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].problem.name, "stand_in(like=pwtk)");
  EXPECT_EQ(runs[1].problem.name, "stand_in(like=cant)");
  EXPECT_EQ(runs[0].problem.parameters.size(), 1u);
  auto const figures =
      runs_of("problem: {generate: stand_in, size: 9, mean: 3, longest: 4, deviation: 1}\n");
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].problem.name, "stand_in(deviation=1,longest=4,mean=3,size=9)");
  expect_error("problem: {generate: stand_in, like: [pwtk, pwkt]}\n", {"did you mean 'pwtk'?"});
  expect_error("problem: {generate: stand_in, like: Thermal2}\n", {"did you mean 'thermal2'?"});
  expect_error("problem: {generate: stand_in, like: pwtk, mean: 3}\n",
               {"a.yaml:1: ", "'problem.mean' does not apply together with 'problem.like'"});
  expect_error("problem: {generate: stand_in, like: pwtk, size: 3, symmetry: spd}\n",
               {"'problem.size' does not apply together with",
                "'problem.symmetry' does not apply together with"});
  expect_error("problem: {generate: stand_in, size: 9, mean: 3, longest: 4}\n",
               {"problem.deviation is missing", ", or problem.like"});
  expect_error("problem: {generate: fem_poisson_2d, size: 9, like: pwtk}\n",
               {"'problem.like' does not apply here", "stand_in"});
}

/// The inputs that come with Solder, those for solder_perf too: its own keys at the top of a file
/// are left to it, and so are the files of measures that describe no runs.
TEST(Config, AllInputsOfTheRepositoryAreValid) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (auto const& item : fs::recursive_directory_iterator(SOLDER_SOURCE_DIR "/inputs")) {
    if (item.path().extension() != ".yaml") continue;
    std::ifstream stream(item.path());
    std::string const text{std::istreambuf_iterator<char>(stream), {}};
    bool const of_runs = !contains(text, "\nmeasure: multi_dot\n") &&
                         !contains(text, "\nmeasure: batched_cholesky\n") &&
                         !contains(text, "\nmeasure: copy\n");
    if (of_runs) files.push_back(item.path());
  }
  EXPECT_GE(files.size(), 7u);
  Errors errors;
  auto const configs = read_config(files, {}, errors, {"compare", "measure"});
  for (std::string const& message : errors.messages()) ADD_FAILURE() << message;
  EXPECT_EQ(configs.size(), files.size());
  for (FileConfig const& config : configs) EXPECT_FALSE(config.runs.empty()) << config.file;
}

TEST(Config, FilesThatAreNoYaml) {
  expect_error("", {"a.yaml: ", "empty"});
  expect_error("# only a comment\n", {"a.yaml: ", "empty"});
  expect_error("problem: {generate: [}\n", {"a.yaml:1: ", "not valid YAML"});
  expect_error("problem:\n\tgenerate: fem_poisson_2d\n", {"a.yaml:2: ", "a tab indents this line"});
  expect_error("just some words\n", {"a.yaml:1: ", "not a mapping"});
  expect_error("- problem\n", {"not a mapping"});
  expect_error(std::string("\x7f"
                           "ELF\0\1\2",
                           7),
               {"binary file"});
  expect_error(std::string(problem) + "---\nsolver: {name: cg}\n", {"no problem"});
  expect_error(std::string(problem) + "---\n---\n" + problem, {"a.yaml:2: ", "empty document"});
  expect_error(std::string(problem) + "---\n# nothing\n---\nproblem: [\n", {"not valid YAML"});
  // yaml-cpp reads one document of this, and then none for ever.
  expect_error("!problem: {generate: fem_poisson_2d, size: 9}, \nsolver: {name: bic#gstab}\nformat",
               {"not valid YAML"});
  // Lines end in any way: what stands before the document that is none is read.
  for (std::string const end : {"\n", "\r", "\r\n"})
    expect_error("problem: {generate: fem_poisson_2d," + end + end + end + end + " size: 9}" + end +
                     "solver: {nme: cg}" + end + "---" + end + "problem: [" + end,
                 {"not valid YAML", "solver.nme"});
  expect_error("---\n---\n" + std::string(problem), {"a.yaml:1: ", "empty document"});
  expect_error(std::string(problem) + "---\n" + problem + "output: {json: r.json}\n",
               {"a.yaml:4: ", "'output.json' belongs in the first document"});
  expect_error("? [a, b]\n: c\n", {"a.yaml:1: ", "plain word"});
  Errors errors;
  read_config({"no/such/file.yaml"}, {}, errors);
  ASSERT_EQ(errors.messages().size(), 1u);
  EXPECT_EQ(errors.messages()[0], "no/such/file.yaml: no such file");
}

/// What is wrong with the structure of a document, here a key given twice, hides neither its other
/// errors nor those of other documents, and makes none that are not there.
TEST(Config, NoFileHasControlCharactersInItsName) {
  expect_error("problem: {matrix: \"A\\0.mtx\"}\n",
               {":1: problem.matrix must be a file name, not 'A?.mtx'"});
  expect_error(std::string(problem) + "output: {json: \"a\\nb.json\"}\n",
               {":2: output.json must be a file name, not 'a?b.json'"});
}

TEST(Config, MessagesHoldNothingThatATerminalObeys) {
  expect_error("problem: {\"si\\e[2Jze\": {}}\n", {"unknown key 'problem.si?[2Jze'"});
  expect_error(problem, {"--set solver.\x3f=1: unknown key 'solver.?'"}, {"solver.\x7f=1"});
}

TEST(Config, AllErrorsOfAllDocumentsAreReported) {
  std::string const text =
      "problem: {generate: fem_poisson_2d, size: 9, size: 8}\nsolvr: {name: cg}\n---\n" +
      std::string(problem) + "solver: {tolerance: -1}\n---\n- problem\n---\n" + problem +
      "solver: {name: cg, form: fast, form: slow}\n---\nproblem: {}\n";
  std::string const errors = errors_of(text);
  for (char const* const part :
       {"a.yaml:1: 'problem.size' is given twice\n", "a.yaml:2: unknown section 'solvr'",
        "a.yaml:5: solver.tolerance", "a.yaml:7: not a mapping",
        "a.yaml:10: 'solver.form' is given twice\n", "a.yaml:10: solver.form must be",
        "a.yaml: no problem"})
    EXPECT_TRUE(contains(errors, part)) << "no '" << part << "' in: " << errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 7) << errors;
}

TEST(Config, AllErrorsOfAllFilesAreReported) {
  Scratch const scratch;
  Errors errors;
  auto const first = scratch.write(
      "first.yaml", std::string(problem) + "solver: {name: cg, tolerance: -1, form: fast}\n");
  auto const second = scratch.write(
      "second.yaml", std::string(problem) + "solvr: {}\n" + "execution: {repeat: x}\n");
  read_config({first, second}, {}, errors);
  EXPECT_EQ(errors.messages().size(), 4u);
}

}  // namespace
