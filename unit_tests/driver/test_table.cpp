// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <driver/help.hpp>
#include <driver/schema.hpp>
#include <driver/table.hpp>
#include <driver/text.hpp>

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "scratch.hpp"

using namespace Solder::Driver;

namespace {

std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The runs of a YAML file, and a result of each: the first takes 2 iterations, the next 3, ...
struct Runs {
  FileConfig file;
  std::vector<RunResult> results;

  explicit Runs(std::string const& text) {
    Scratch const scratch;
    Errors errors;
    file = read_config({scratch.write("a.yaml", text)}, {}, errors).at(0);
    for (std::string const& message : errors.messages()) ADD_FAILURE() << message;
    for (RunConfig const& run : file.runs) {
      Solder::Report report;
      report.reason = Solder::Reason::converged;
      report.iterations = 2 + static_cast<int>(results.size());
      report.true_relative_residual = 0.5;
      report.setup_seconds = 0.00125;
      report.solve_seconds = 0.03;
      report.form = run.solver.name == "cg" ? "pipelined" : "cgs2";
      report.runner = Solder::Runner::launch;
      results.push_back({&run, 12345, 60000, "serial", report, "csr", "so it is", {report}});
    }
  }
  std::string table(Style const& style = {}) const {
    std::vector<FileConfig> const files{file};
    Table table(files, style);
    std::string text = table.beginning();
    for (RunResult const& result : results) text += table.line(result);
    return text;
  }
};

TEST(TableOfRuns, OfOneRunHasAllThatItSharesAboveIt) {
  Runs const runs(
      "problem: {generate: fem_poisson_2d, size: 111}\nsolver: {name: cg}\n"
      "preconditioner: {name: jacobi}\n");
  EXPECT_EQ(runs.table(),
            "problem         fem_poisson_2d(size=111), double\n"
            "solver          cg, tolerance 1e-8\n"
            "preconditioner  jacobi\n"
            "matrix          12,345 rows, 60,000 nonzeros; csr: so it is\n"
            "run as          cg pipelined, runner launch, on serial\n"
            "\n"
            "iterations  residual  setup ms  solve ms  us/iter  reason\n"
            "         2  5.00e-01      1.25      30.0    15000  converged\n");
}

TEST(TableOfRuns, HasAColumnForWhateverDiffers) {
  Runs const runs(
      "problem: {generate: convection_diffusion_2d, size: [111, 5], velocity_x: 3}\n"
      "solver: {name: gmres, tolerance: [1e-4, 0.5]}\n");
  EXPECT_EQ(runs.table(),
            "problem         convection_diffusion_2d(velocity_x=3), double\n"
            "solver          gmres cgs2 30\n"
            "preconditioner  none\n"
            "matrix          csr: so it is\n"
            "run as          gmres cgs2 30, on serial\n"
            "\n"
            "size   rows  nonzeros  tolerance  runner     iter  residual  setup ms  solve ms  "
            "us/iter  reason\n"
            "111   12345     60000  1e-04      launch        2  5.00e-01      1.25      30.0  "
            "  15000  converged\n"
            "111   12345     60000  0.5        launch        3  5.00e-01      1.25      30.0  "
            "  10000  converged\n"
            "5     12345     60000  1e-04      launch        4  5.00e-01      1.25      30.0  "
            "   7500  converged\n"
            "5     12345     60000  0.5        launch        5  5.00e-01      1.25      30.0  "
            "   6000  converged\n");
}

TEST(TableOfRuns, HasNoLineLongerThanItsWidth) {
  Runs runs(
      "problem: {generate: convection_diffusion_3d, size: 9, velocity_x: 12345, velocity_y: 12345, "
      "velocity_z: 12345, scalar: double, rhs: random, rhs_count: 1}\n"
      "solver: {name: idr, seed: 9007199254740991, tolerance: 1e-8}\n"
      "preconditioner: {name: amg, smoother: jacobi, max_coarse_size: 100}\n"
      "execution: {matrix_format: csr, runner: launch, repeat: 1}\n"
      "---\n"
      "problem: {generate: random_spd, size: 11, scalar: complex_double, rhs: random, "
      "rhs_count: 3}\n"
      "solver: {name: idr, seed: 1, tolerance: 1e-9}\n"
      "preconditioner: {name: amg, smoother: fsai, max_coarse_size: 200}\n"
      "execution: {repeat: 2}\n"
      "---\n"
      "problem: {generate: random_spd, size: 11}\nsolver: {name: cg}\n");
  ASSERT_EQ(runs.results.size(), 3u);
  runs.results[1].report.reason = Solder::Reason::indefinite_preconditioner;
  for (std::size_t const width : {100u, 80u, 60u})
    for (std::string const& line : lines_of(runs.table({width})))
      EXPECT_LE(characters(line), width) << line;
  EXPECT_GT(characters(lines_of(runs.table({100, true, false})).back()), 150u) << "wide";
}

TEST(TableOfRuns, SaysWhichColumnsHaveNoRoom) {
  std::string const text =
      "problem: {generate: [fem_poisson_2d, poisson_3d_7pt], size: 9}\n"
      "solver: {name: [cg, gmres]}\n";
  std::string const table = Runs(text).table();
  EXPECT_TRUE(contains(table, "not shown       runner and nonzeros; --wide shows all\n")) << table;
  EXPECT_FALSE(contains(table, "  nonzeros  ")) << table;
  std::string const wide = Runs(text).table({most_columns, true, false});
  for (char const* const part : {"  nonzeros  ", "us/iter", "space", "runner", "csr: so it is"})
    EXPECT_TRUE(contains(wide, part)) << part << " in " << wide;
  EXPECT_EQ(wide.substr(0, 7), "problem");
}

TEST(TableOfRuns, ColumnsStandUnderTheirHeadings) {
  for (bool const wide : {false, true}) {
    auto const lines =
        lines_of(Runs("problem: {generate: fem_poisson_2d, size: [111, 112], rhs: random, "
                      "rhs_count: [1, 3]}\n"
                      "solver: {name: [cg, bicgstab]}\noutput: {roofline: true}\n")
                     .table({most_columns, wide, false}));
    auto const heading = std::find_if(lines.begin(), lines.end(), [](std::string const& line) {
      return contains(line, "  residual  ");
    });
    ASSERT_NE(heading, lines.end());
    for (char const* const column : {"residual", "solve ms", "of copy", "rhs"}) {
      std::size_t const end = heading->find(column) + std::string(column).size();
      for (auto line = heading + 1; line != lines.end(); ++line) {
        EXPECT_NE((*line)[end - 1], ' ') << column << " in " << *line;
        EXPECT_EQ((*line)[end], ' ') << column << " in " << *line;
      }
    }
    EXPECT_EQ(lines.end() - heading - 1, 8);
  }
}

TEST(TableOfRuns, NamesTheRunnerOfEachOfSeveralRunsWhereItMayDiffer) {
  std::string const text =
      "problem: {generate: fem_poisson_2d, size: [9, 10, 11]}\nsolver: {name: cg}\n";
  Runs runs(text);
  runs.results[1].report.runner = Solder::Runner::team;
  auto const lines = lines_of(runs.table());
  ASSERT_GE(lines.size(), 4u);
  EXPECT_TRUE(contains(*(lines.end() - 4), "  runner  ")) << *(lines.end() - 4);
  EXPECT_TRUE(contains(*(lines.end() - 2), "  team  ")) << *(lines.end() - 2);
  std::string const one = Runs(text + "execution: {runner: launch}\n").table();
  EXPECT_TRUE(contains(one, "runner launch, on serial\n")) << one;
}

TEST(TableOfRuns, NamesWhatAutoHasChosen) {
  std::string const text = "problem: {generate: fem_poisson_2d, size: ";
  auto const with_choice = [](Runs& runs) {
    for (RunResult& result : runs.results) {
      result.report.attempts.resize(1);
      result.report.attempts[0].solver = "cg";
      result.report.attempts[0].preconditioner = "amg";
      result.report.form = "classical";
    }
    return runs.table();
  };
  Runs one(text + "9}\n"), two(text + "[9, 10]}\n");
  std::string const table = with_choice(one);
  EXPECT_TRUE(contains(table, "solver          auto, tolerance 1e-8\n")) << table;
  EXPECT_TRUE(contains(table, "run as          cg classical, amg, runner launch, on serial\n"))
      << table;
  auto const lines = lines_of(with_choice(two));
  EXPECT_TRUE(contains(lines.back(), "  cg classical  ")) << lines.back();
  EXPECT_TRUE(contains(lines.back(), "  amg  ")) << lines.back();
}

TEST(TableOfRuns, HasColoursOnlyWhereTheStyleHas) {
  Runs runs("problem: {generate: fem_poisson_2d, size: [9, 10]}\nsolver: {name: cg}\n");
  runs.results[1].report.reason = Solder::Reason::stagnated;
  EXPECT_FALSE(contains(runs.table(), "\x1b"));
  std::string const table = runs.table({most_columns, false, true});
  EXPECT_TRUE(contains(table, "\x1b[32mconverged\x1b[0m\n")) << table;
  EXPECT_TRUE(contains(table, "\x1b[31mstagnated\x1b[0m\n")) << table;
}

TEST(TableOfRuns, AsAFile) {
  Scratch const scratch;
  Runs runs(
      "problem: {generate: fem_poisson_2d, size: [111, 5]}\nsolver: {name: cg}\n"
      "preconditioner: {name: fsai, k: 3}\n");
  runs.results[1].report.true_relative_residual = std::numeric_limits<double>::quiet_NaN();
  runs.results[0].report.solve_seconds = 0.0123456789;
  for (char const* const name : {"t.csv", "t.md", "t.tex"})
    write_table(scratch.path(name), runs.results);
  EXPECT_EQ(
      scratch.read("t.csv"),
      "run,label,problem,rows,nonzeros,scalar,solver,preconditioner,space,runner,iterations,"
      "residual,setup_ms,solve_ms,us/iter,reason,matrix_format\n"
      "1,\"fem_poisson_2d(size=111), cg, fsai(k=3)\",fem_poisson_2d(size=111),12345,60000,double,"
      "cg pipelined,fsai(k=3),serial,launch,2,0.5,1.25,12.3456789,6172.83945,converged,"
      "csr: so it is\n"
      "2,\"fem_poisson_2d(size=5), cg, fsai(k=3)\",fem_poisson_2d(size=5),12345,60000,double,"
      "cg pipelined,fsai(k=3),serial,launch,3,,1.25,30,10000,converged,csr: so it is\n");
  auto const markdown = lines_of(scratch.read("t.md"));
  ASSERT_EQ(markdown.size(), 4u);
  EXPECT_EQ(markdown[0],
            "| problem | rows | nonzeros | scalar | solver | preconditioner | space | runner | "
            "iterations | residual | setup ms | solve ms | us/iter | reason | matrix format |");
  EXPECT_EQ(markdown[1], "|---|---:|---:|---|---|---|---|---|---:|---:|---:|---:|---:|---|---|");
  EXPECT_EQ(markdown[2],
            "| fem_poisson_2d(size=111) | 12345 | 60000 | double | cg pipelined | fsai(k=3) | "
            "serial | launch | 2 | 5.00e-01 | 1.25 | 12.3 | 6173 | converged | csr: so it is |");
  auto const latex = lines_of(scratch.read("t.tex"));
  ASSERT_EQ(latex.size(), 8u);
  EXPECT_EQ(latex[0], "\\begin{tabular}{lrrlllllrrrrrll}");
  EXPECT_TRUE(latex[4].starts_with("fem\\_poisson\\_2d(size=111) & 12345 & ")) << latex[4];
  EXPECT_TRUE(latex[4].ends_with(" & converged & csr: so it is \\\\")) << latex[4];
  EXPECT_EQ(latex[7], "\\end{tabular}");
}

TEST(Title, NamesWhatTellsARunFromOthers) {
  Runs const runs(
      "problem: {generate: random_spd, size: 9, seed: [1, 2], rhs: random}\n"
      "solver: {name: [cg, gmres], restart: 7, tolerance: 1e-6}\n"
      "preconditioner: {name: fsai, k: [1, 3]}\nexecution: {repeat: [1, 2]}\n");
  EXPECT_EQ(title(runs.file.runs.front()), "random_spd(size=9), cg, fsai(k=1), seed=1, repeat=1");
  EXPECT_EQ(title(runs.file.runs.back()),
            "random_spd(size=9), gmres cgs2 7, fsai(k=3), seed=2, repeat=2");
}

TEST(Text, OfManyBytesCountsCharacters) {
  EXPECT_EQ(characters("\u00e4b"), 2u);
  EXPECT_EQ(shortened("\u00e4\u00e4b\u00f6", 3), "\u00e4~\u00f6");
  EXPECT_EQ(shortened("fem_poisson_2d(size=63)", 16), "fem_pois~ize=63)");
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(padded("\u00e4", 3, true), "\u00e4  ");
  EXPECT_EQ(padded("1", 3, false), "  1");
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(2147418111), "2,147,418,111");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(wrapped("ab ", "one two three four five six", 26),
            "ab one two three four five\n   six\n");
  EXPECT_EQ(narrowed("short\n  one two three four five six\n", 26),
            "short\n  one two three four\n      five six\n");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(1000, "row"), "1,000 rows");
}

// ---- help ----

TEST(Help, FitsAScreen) {
  auto const first = lines_of(help_text("./solder"));
  EXPECT_LE(first.size(), 60u);
  EXPECT_EQ(first[0].substr(0, 16), "usage: ./solder ");
  for (std::string const& line : first) EXPECT_LE(characters(line), 100u) << line;
  for (auto const topic : help_topics())
    for (std::string const& line : lines_of(help_text("./solder", topic)))
      EXPECT_LE(characters(line), 100u) << topic << ": " << line;
  for (std::string const& line : lines_of(list_text({"default", "openmp"}, {"double"})))
    EXPECT_LE(characters(line), 100u) << line;
}

TEST(Help, HasAPageOfEveryTopicAndNoOther) {
  for (auto const topic : help_topics())
    EXPECT_TRUE(contains(help_text("solder", topic), topic == "all" ? "problem" : topic)) << topic;
  EXPECT_EQ(help_text("solder", "amgg"), "");
  EXPECT_EQ(help_text("solder", ""), "");
}

TEST(Help, OfAMethodHasItsKeysAndNoOthers) {
  std::string const amg = help_text("solder", "amg");
  for (char const* const key : {"  strength:", "  smoother:", "  near_nullspace:", "  block_size:"})
    EXPECT_TRUE(contains(amg, key)) << key << " in " << amg;
  for (char const* const key : {"  tau:", "  degree:", "  shift:", "  tolerance:"})
    EXPECT_FALSE(contains(amg, key)) << key << " in " << amg;
  std::string const gmres = help_text("solder", "gmres");
  EXPECT_TRUE(contains(gmres, "  restart:          an integer from 1 to 1000 [30]\n")) << gmres;
  EXPECT_TRUE(contains(gmres, "  reorthogonalisation: ")) << gmres;
  EXPECT_FALSE(contains(gmres, "shadow_dimension")) << gmres;
  EXPECT_TRUE(contains(help_text("solder", "fsai"), "  tau:")) << "under its pattern";
  EXPECT_TRUE(contains(help_text("solder", "chebyshev"), "  tau:")) << "under inner and pattern";
  for (std::string const topic : {"cg", "bicgstab"})
    EXPECT_FALSE(contains(help_text("solder", topic), "  reorthogonalisation:"))
        << topic << " has a form, but not those of gmres that this is for";
  EXPECT_TRUE(contains(help_text("solder", "solver"), "  tolerance:"));
  EXPECT_TRUE(contains(help_text("solder", "tolerance"), "solver:\n  tolerance:"));
  EXPECT_TRUE(help_text("solder", "ell").starts_with("execution:\n  matrix_format:"));
}

TEST(Help, SaysWhatEveryMethodAndGeneratorIs) {
  for (auto const& [section, name] :
       {std::pair("solver", "name"), {"preconditioner", "name"}, {"problem", "generate"}})
    for (auto const word : rows_of(section, name)[0]->words) {
      EXPECT_NE(what_is(concat(section, ".", name), word), "") << word;
      EXPECT_TRUE(contains(list_text({"default", "openmp"}, {"double"}), word)) << word;
      EXPECT_TRUE(contains(help_text("solder"), word)) << word;
    }
}

}  // namespace
