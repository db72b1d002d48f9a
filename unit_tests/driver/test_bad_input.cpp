// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the driver's executable with input that it must refuse.
#include <gtest/gtest.h>
#include <driver/memory.hpp>
#include <driver/solve.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "drive.hpp"

namespace {

struct Bad {
  std::string name;
  std::string yaml;    ///< a.yaml
  std::string matrix;  ///< A.mtx; empty: no such file
  Strings culprits;    ///< what the message must name
  std::string arguments = "a.yaml";
};

void PrintTo(Bad const& bad, std::ostream* stream) { *stream << bad.name; }

class BadInput : public testing::TestWithParam<Bad> {};

TEST_P(BadInput, IsRefusedByNameAndNothingIsWritten) {
  Bad const& bad = GetParam();
  if (bad.name == std::string("larger_than_memory") &&
      Solder::Driver::available_memory() > 1'000'000'000'000'000)
    GTEST_SKIP() << "this system does not tell its memory";
  Scratch const scratch;
  scratch.write("a.yaml", bad.yaml);
  scratch.write("good.yaml",
                "problem: {generate: fem_poisson_2d, size: 3}\noutput: {json: good.json}\n");
  if (!bad.matrix.empty()) scratch.write("A.mtx", bad.matrix);
  auto const before = scratch.files();
  Outcome const outcome = drive(scratch, "good.yaml " + bad.arguments);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.substr(0, 7), "error: ");
  for (std::string const& culprit : bad.culprits)
    EXPECT_TRUE(contains(outcome.err, culprit)) << "no '" << culprit << "' in: " << outcome.err;
  EXPECT_EQ(scratch.files(), before);
}

std::string const gzip_header("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10);

std::vector<Bad> bad_inputs() {
  std::string const absent =
      std::ranges::count(Solder::Driver::space_names(), "hip") ? "cuda" : "hip";
  std::string const one = market("1 1 1\n1 1 1\n");
  return {
      {"missing_yaml", good, "", {"no.yaml", "no such file"}, "no.yaml"},
      {"missing_matrix", of_matrix(), "", {"a.yaml:1", "A.mtx"}},
      {"not_matrix_market", of_matrix(), "1 2 3\n", {"a.yaml:1", "A.mtx:1"}},
      {"truncated", of_matrix(), market("2 2 2\n1 1 1\n"), {"A.mtx:", "truncated"}},
      {"index_zero", of_matrix(), market("2 2 1\n0 1 1\n"), {"A.mtx:3", "0"}},
      {"index_too_large", of_matrix(), market("2 2 1\n1 3 1\n"), {"A.mtx:3", "3"}},
      {"nan_text", of_matrix(), market("1 1 1\n1 1 nan\n"), {"A.mtx:3", "nan"}},
      {"size_overflow",
       of_matrix(),
       market("3000000000 3000000000 1\n1 1 1\n"),
       {"A.mtx:2", "3000000000"}},
      {"product_overflow",
       of_matrix(),
       market("2147483647 2147483647\n1\n", "array real general"),
       {"A.mtx"}},
      {"not_square", of_matrix(), market("2 3 1\n1 1 1\n"), {"A.mtx", "2 x 3"}},
      {"too_many_promised", of_matrix(), market("2 2 9000000000000\n1 1 1\n"), {"A.mtx"}},
      {"too_few_promised", of_matrix(), market("2 2 1\n1 1 1\n2 2 1\n"), {"A.mtx:4"}},
      {"binary_rubbish", of_matrix(), std::string("\0\1\2\xff\xfe\x80", 6), {"A.mtx"}},
      {"broken_gzip", of_matrix(), gzip_header + "rubbish that does not inflate", {"A.mtx"}},
      {"cut_gzip", of_matrix(), gzip_header, {"A.mtx"}},
      {"matrix_is_a_folder", "problem: {matrix: .}\noutput: {json: r.json}\n", "", {"a.yaml:1"}},
      {"complex_in_real",
       of_matrix(),
       market("1 1 1\n1 1 1 0\n", "coordinate complex general"),
       {"A.mtx", "complex"}},
      {"complex_generator_in_real",
       "problem: {generate: magnetic_laplacian_2d, size: 3}\n",
       "",
       {"a.yaml:1", "complex_double"}},
      {"too_large_for_float",
       of_matrix(", scalar: float"),
       market("1 1 1\n1 1 1e300\n"),
       {"A.mtx:3"}},
      {"rhs_too_short",
       of_matrix(", rhs: b.mtx"),
       market("2 2 2\n1 1 1\n2 2 1\n"),
       {"a.yaml:1", "b.mtx"}},
      {"rhs_misspelt", of_matrix(", rhs: onse"), one, {"a.yaml:1", "onse", "did you mean 'ones'"}},
      {"rhs_count_of_ones",
       of_matrix(", rhs_count: 2"),
       one,
       {"a.yaml:1: problem.rhs_count is 2", "take rhs: random, or a file"}},
      {"rhs_count_is_not_the_columns",
       of_matrix(", rhs: A.mtx, rhs_count: 2"),
       one,
       {"a.yaml:1: problem.rhs: ", "A.mtx: has 1 column, but problem.rhs_count is 2"}},
      {"rhs_count_zero",
       of_matrix(", rhs: random, rhs_count: 0"),
       one,
       {"a.yaml:1", "problem.rhs_count must be an integer from 1 to 1000"}},
      {"empty_yaml", "", "", {"a.yaml", "empty"}},
      {"not_yaml", "problem: {matrix: [}\n", "", {"a.yaml:1", "YAML"}},
      {"binary_yaml",
       std::string("\x7f"
                   "ELF\0\1",
                   6),
       "",
       {"a.yaml", "binary"}},
      {"unknown_key",
       std::string(good) + "solver:\n  tolerence: 1e-8\n",
       "",
       {"a.yaml:5", "'tolerance'"}},
      {"unknown_section",
       std::string(good) + "solvers: {name: cg}\n",
       "",
       {"a.yaml:4", "'solver'"}},
      {"duplicate_key",
       std::string(good) + "solver:\n  name: cg\n  name: cg\n",
       "",
       {"a.yaml:6", "solver.name"}},
      {"negative_tolerance",
       std::string(good) + "solver: {tolerance: -1}\n",
       "",
       {"a.yaml:4", "solver.tolerance", "-1"}},
      {"form_fast",
       std::string(good) + "solver: {name: cg, form: fast}\n",
       "",
       {"a.yaml:4", "solver.form", "classical or pipelined"}},
      {"wrong_type",
       std::string(good) + "solver: {name: cg, max_iterations: many}\n",
       "",
       {"a.yaml:4", "an integer", "many"}},
      {"bad_assignment",
       good,
       "",
       {"--set solver.tolerence=1", "'tolerance'"},
       "a.yaml --set solver.tolerence=1"},
      {"matrix_and_generate",
       "problem: {matrix: A.mtx, generate: fem_poisson_2d, size: 3}\n",
       one,
       {"a.yaml:1", "both"}},
      {"no_problem", "solver: {name: cg}\n", "", {"a.yaml", "no problem"}},
      {"space_not_built",
       std::string(good) + "execution: {space: " + absent + "}\n",
       "",
       {"a.yaml:4", "'" + absent + "'"}},
      {"no_such_folder",
       "problem: {matrix: A.mtx}\noutput: {json: no/r.json}\n",
       one,
       {"a.yaml:2", "output.json", "no/r.json"}},
      {"output_is_a_folder",
       "problem: {matrix: A.mtx}\noutput: {json: .}\n",
       one,
       {"a.yaml:2", "output.json", "folder"}},
      {"two_outputs_of_one_name",
       "problem: {matrix: A.mtx}\noutput: {json: r, history: ./r}\n",
       one,
       {"a.yaml:2", "output.history"}},
      {"output_over_input",
       "problem: {matrix: A.mtx}\noutput: {solution: A.mtx}\n",
       one,
       {"a.yaml:2", "A.mtx", "overwrite"}},
      {"outputs_of_two_files", good, "", {"a.yaml:3", "overwrite"}, "a.yaml a.yaml"},
      {"larger_than_memory",
       "problem: {generate: random_spd, size: 1000000000, nonzeros_per_row: 2}\n"
       "solver:\n  name: gmres\n  restart: 1000\noutput: {json: r.json}\n",
       "",
       {"a.yaml:4: solver.restart: random_spd(",
        "gmres(restart=1000) 8024.0 GB",  // 1,001 + x as it was + the guess
        "more memory to be solved", "is available"}},
      {"too_large_for_the_library",
       "problem: {generate: random_spd, size: 1000000000}\noutput: {json: r.json}\n",
       "",
       {"a.yaml:1: problem.generate: ", "7000000000 nonzeros"}},
      {"unknown_option", good, "", {"--verbose", "--help"}, "a.yaml --verbose"},
      {"set_without_value", good, "", {"--set"}, "a.yaml --set"},
  };
}

INSTANTIATE_TEST_SUITE_P(Driver, BadInput, testing::ValuesIn(bad_inputs()),
                         [](auto const& test) { return test.param.name; });

TEST(Driver, KokkosOptionsPassThrough) {
  Scratch const scratch;
  scratch.write("a.yaml", good);
  Outcome const outcome =
      drive(scratch, "a.yaml --kokkos-print-configuration --kokkos-num-threads=1");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out + outcome.err, "Kokkos Version")) << outcome.out;
}

TEST(Driver, WhatKokkosAbortsAtIsRefused) {
  Scratch const scratch;
  scratch.write("a.yaml", good);
  for (char const* const option :
       {"--kokkos-num-threads=0", "--kokkos-num-threads=513", "--kokkos-num-threads=x",
        "--kokkos-num-threads", "--kokkos-device-id=-1", "--kokkos-print-configuration=zz",
        "--kokkos-disable-warnings=q", "--kokkos-map-device-id-by=foo"}) {
    Outcome const outcome = drive(scratch, std::string("a.yaml ") + option);
    EXPECT_EQ(outcome.code, 2) << option;
    EXPECT_TRUE(contains(outcome.err, option) && contains(outcome.err, "needs '=' and"))
        << outcome.err;
  }
  for (char const* const variable :
       {"KOKKOS_NUM_THREADS=abc", "KOKKOS_NUM_THREADS=99999999999", "KOKKOS_DEVICE_ID=foo",
        "KOKKOS_DISABLE_WARNINGS=maybe", "KOKKOS_MAP_DEVICE_ID_BY=foo"}) {
    std::string const text = variable;
    auto const equals = text.find('=');
    setenv(text.substr(0, equals).c_str(), text.substr(equals + 1).c_str(), 1);
    Outcome const outcome = drive(scratch, "a.yaml");
    unsetenv(text.substr(0, equals).c_str());
    EXPECT_EQ(outcome.code, 2) << variable;
    EXPECT_TRUE(contains(outcome.err, variable) && contains(outcome.err, "must be")) << outcome.err;
  }
}

TEST(Driver, MoreThreadsThanKokkosHasPlacesForAreRefused) {
  if (std::string(Kokkos::DefaultHostExecutionSpace::name()) != "OpenMP")
    GTEST_SKIP() << "for OpenMP alone";
  Scratch const scratch;
  scratch.write("a.yaml", good);
  std::string const before = std::getenv("OMP_NUM_THREADS") ? std::getenv("OMP_NUM_THREADS") : "";
  setenv("OMP_NUM_THREADS", "513", 1);
  Outcome const refused = drive(scratch, "a.yaml"),
                given = drive(scratch, "a.yaml --kokkos-num-threads=1");
  setenv("OMP_NUM_THREADS", before.empty() ? "2" : before.c_str(), 1);
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "513 threads")) << refused.err;
  EXPECT_EQ(given.code, 0) << given.err;
}

TEST(Driver, TheNameOfAMatrixSaysThatItIsOne) {
  Scratch const scratch;
  std::string const one = market("1 1 1\n1 1 4\n");
  for (char const* const name : {"A.MTX", "B.Mtx", "A.mtx.txt", "A.tar.gz"})
    scratch.write(name, one);
  for (char const* const name : {"A.MTX", "B.Mtx"}) {
    Outcome const outcome = drive(scratch, name);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "1 row, 1 nonzero")) << outcome.out;
  }
  for (auto const& [arguments, what] : std::vector<std::pair<std::string, std::string>>{
           {"A.mtx.txt", "A.mtx.txt: is a matrix, but its name does not end in .mtx"},
           {"/dev/stdin < A.MTX", "/dev/stdin: is a matrix, but"},
           {"- < A.MTX", "-: a matrix is not read from standard input: save it as A.mtx"},
           {"A.tar.gz", "A.tar.gz: is an archive: unpack it"}}) {
    if (arguments.starts_with("/dev/") && !std::filesystem::exists("/dev/stdin")) continue;
    Outcome const outcome = drive(scratch, arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_TRUE(contains(outcome.err, what)) << outcome.err;
  }
}

TEST(Driver, AFileWithoutEndIsRefused) {
  Outcome const outcome = drive(Scratch(), "/dev/zero");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "/dev/zero: is too large")) << outcome.err;
}

}  // namespace
