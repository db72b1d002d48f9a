// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <driver/solve.hpp>

#include <algorithm>
#include <sstream>

#include "drive.hpp"

namespace {

constexpr char const* sweep =
    "problem: {generate: fem_poisson_2d, size: [5, 7]}\n"
    "solver: {name: [cg, gmres], max_iterations: 2}\n";

/// Whether a program of util-linux that runs another one on a terminal is here.
bool has_script() { return std::system("script --version >/dev/null 2>&1") == 0; }

/// What the driver writes to a terminal.
std::string on_terminal(Scratch const& scratch, std::string const& environment = "") {
  std::string const command =
      "cd '" + scratch.path("").string() + "' && TERM=xterm " + environment +
      " script -qec \"'" SOLDER_DRIVER_PATH "' a.yaml\" typescript >/dev/null 2>&1";
  EXPECT_NE(std::system(command.c_str()), -1);
  return scratch.read("typescript");
}

TEST(Terminal, InAPipeThereIsNoEscape) {
  Scratch const scratch;
  scratch.write("a.yaml", sweep);
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_FALSE(contains(outcome.out + outcome.err, "\x1b")) << outcome.out << outcome.err;
}

TEST(Terminal, HasColoursUnlessTheyAreNotWanted) {
  if (!has_script()) GTEST_SKIP() << "no terminal can be made here";
  Scratch const scratch;
  scratch.write("a.yaml", sweep);
  EXPECT_TRUE(contains(on_terminal(scratch), "\x1b[31mmax_iterations\x1b[0m"));
  EXPECT_FALSE(contains(on_terminal(scratch, "NO_COLOR=1"), "\x1b[31m"));
  EXPECT_TRUE(contains(on_terminal(scratch, "NO_COLOR="), "\x1b[31m")) << "empty: not set";
  EXPECT_FALSE(contains(on_terminal(scratch, "TERM=dumb"), "\x1b[31m"));
}

TEST(Terminal, EveryFailureSaysWhichRun) {
  Scratch const scratch;
  scratch.write("a.yaml", sweep);
  std::istringstream lines(drive(scratch, "a.yaml").err);
  Strings const expected = {
      "a.yaml: run 1 of 4, fem_poisson_2d(size=5), cg: did not converge: max_iterations after 2 ",
      "a.yaml: run 2 of 4, fem_poisson_2d(size=5), gmres cgs2 30: did not converge: max_iterat",
      "a.yaml: run 3 of 4, fem_poisson_2d(size=7), cg: did not converge: max_iterations after 2 ",
      "a.yaml: run 4 of 4, fem_poisson_2d(size=7), gmres cgs2 30: did not converge: max_iterat"};
  Strings found;
  for (std::string line; std::getline(lines, line);) {
    std::size_t const i = found.size();
    found.push_back(line);
    if (i < expected.size()) {
      EXPECT_EQ(line.substr(0, expected[i].size()), expected[i]);
    }
  }
  EXPECT_EQ(found.size(), expected.size());
}

TEST(Terminal, CallsItselfAsItWasCalled) {
  Scratch const scratch;
  EXPECT_TRUE(drive(scratch, "--help").out.starts_with("usage: " SOLDER_DRIVER_PATH " FILE"));
  Outcome const by_script = drive(scratch, "", "SOLDER_CALLED_AS=./solder ");
  EXPECT_TRUE(contains(by_script.err, "usage: ./solder FILE.yaml")) << by_script.err;
  EXPECT_EQ(by_script.code, 2);
}

TEST(Terminal, HelpHasTopicsAndNamesTheNearest) {
  Scratch const scratch;
  Outcome const amg = drive(scratch, "--help amg");
  EXPECT_EQ(amg.code, 0);
  EXPECT_TRUE(contains(amg.out, "  strength:")) << amg.out;
  Outcome const none = drive(scratch, "--help chebishev");
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(
      none.err,
      "error: --help chebishev: there is no such topic; did you mean 'chebyshev'? see --help\n");
  EXPECT_TRUE(contains(drive(scratch, "--helpp").err,
                       "error: --helpp: unknown option; did you mean '--help'? see --help"));
  for (std::string const option : {"--max-iterations=9", "--max_iterations"})
    EXPECT_EQ(drive(scratch, option).err,
              "error: " + option +
                  ": unknown option; did you mean '--set solver.max_iterations=...'? see --help\n");
}

TEST(Terminal, ListSaysWhatThisBuildHas) {
  Scratch const scratch;
  Outcome const list = drive(scratch, "--list");
  EXPECT_EQ(list.code, 0);
  for (auto const space : Solder::Driver::space_names())
    EXPECT_TRUE(contains(list.out, space)) << list.out;
  EXPECT_TRUE(contains(list.out, "\nscalars ")) << list.out;
  EXPECT_TRUE(contains(list.out, "  cg ")) << list.out;
  EXPECT_TRUE(contains(list.out, "form: auto,")) << list.out;
}

TEST(Terminal, WritesATableAsItsEndingSays) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: [5, 7]}\n"
                "output: {table: t.csv}\n");
  EXPECT_EQ(drive(scratch, "a.yaml").code, 0);
  std::string const table = scratch.read("t.csv");
  EXPECT_TRUE(table.starts_with("run,label,problem,")) << table;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3) << table;
  EXPECT_EQ(drive(scratch, "a.yaml --set output.table=t.tex").code, 0);
  EXPECT_TRUE(scratch.read("t.tex").starts_with("\\begin{tabular}"));
  Outcome const other = drive(scratch, "a.yaml --set output.table=t.xlsx");
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(contains(other.err, "output.table must end in .md, .tex or .csv, not 't.xlsx'"))
      << other.err;
  EXPECT_EQ(scratch.files(), (Strings{"a.yaml", "t.csv", "t.tex"}));
}

TEST(Terminal, ASpaceThatIsNotBuiltComesWithTheRemedy) {
  Scratch const scratch;
  for (std::string const space : {"gpu", "serial", "openmp", "cuda", "hip"}) {
    if (Solder::Driver::has_space(space)) continue;
    std::string upper = space == "gpu" ? "cuda" : space;
    std::transform(upper.begin(), upper.end(), upper.begin(), ::toupper);
    if (space == "gpu") upper += " (AMD: HIP)";
    scratch.write("a.yaml", "problem: {generate: fem_poisson_2d, size: 5}\nexecution: {space: " +
                                space + "}\n");
    Outcome const outcome = drive(scratch, "a.yaml");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome.err, "a.yaml:2: execution.space '" + space + "' is not in this"))
        << outcome.err;
    bool const is_a_thread = space == "serial" && Solder::Driver::has_space("openmp");
    std::string const remedy = is_a_thread ? "OMP_NUM_THREADS=1" : "SOLDER_DEVICES=" + upper;
    EXPECT_TRUE(contains(outcome.err, "put " + remedy + " before the command")) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "docs/execution-spaces.md")) << outcome.err;
  }
}

/// What ./solder says before it looks for anything.
std::string refusal_of_devices(Scratch const& scratch, std::string const& environment) {
  std::string const command = environment + " '" SOLDER_SOURCE_DIR "/solder' a.yaml 2>'" +
                              scratch.path("err").string() + "'";
  int const status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << status;
  return scratch.read("err");
}

TEST(Terminal, DevicesWithoutACompilerAreRefusedWithTheRemedy) {
  Scratch const scratch;
  EXPECT_EQ(refusal_of_devices(scratch, "SOLDER_DEVICES=TPU"),
            "solder: SOLDER_DEVICES has TPU; it is a list of CUDA, HIP, OPENMP and SERIAL\n");
  std::string const nowhere = scratch.path("").string();
  if (std::system("command -v nvcc >/dev/null 2>&1") != 0) {
    EXPECT_EQ(refusal_of_devices(scratch, "SOLDER_DEVICES=cuda CUDA_HOME='" + nowhere + "'"),
              "solder: SOLDER_DEVICES=cuda needs nvcc, which is neither in PATH nor in " + nowhere +
                  "/bin: install NVIDIA's CUDA toolkit, or put the folder of nvcc into PATH\n");
  }
  if (std::system("command -v hipcc >/dev/null 2>&1") != 0) {
    EXPECT_EQ(refusal_of_devices(scratch, "SOLDER_DEVICES=HIP ROCM_PATH='" + nowhere + "'"),
              "solder: SOLDER_DEVICES=HIP needs hipcc, which is neither in PATH nor in " + nowhere +
                  "/bin: install AMD's ROCm, or put the folder of hipcc into PATH\n");
  }
}

TEST(Terminal, AKeyOfPerformanceTestsNamesTheirProgram) {
  Scratch const scratch;
  scratch.write("a.yaml", "problem: {generate: fem_poisson_2d, size: 5}\ncompare: [eigen]\n");
  Outcome const outcome = drive(scratch, "a.yaml");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err,
                       "a.yaml:2: 'compare' is a key of performance tests: run "
                       "'./solder perf a.yaml', or solder_perf"))
      << outcome.err;
}

}  // namespace
