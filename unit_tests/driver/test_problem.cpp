// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <zlib.h>
#include <driver/counts.hpp>
#include <driver/memory.hpp>
#include <driver/problem.hpp>
#include <driver/schema.hpp>

#include <new>
#include <solder/core/errors.hpp>
#include <solder/matrix/csr.hpp>

#include "config_of.hpp"

using namespace Solder::Driver;
using Complex = Kokkos::complex<double>;

namespace {

constexpr char const* three_by_three =
    "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 2\n2 2 3\n3 3 4\n3 1 -1\n";

/// The run of a file with `text` after "problem:".
RunConfig problem_of(std::string const& text) {
  auto const runs = runs_of("problem: " + text + "\n");
  return runs.empty() ? RunConfig() : runs[0];
}

std::string why_refused(RunConfig const& run) {
  try {
    make_system<double>(run);
  } catch (Solder::InputError const& error) {
    return error.what();
  }
  return {};
}

TEST(Problem, EveryGeneratorOfTheSchemaMakesAMatrix) {
  auto const names = rows_of("problem", "generate")[0]->words;
  ASSERT_EQ(names.size(), 11u);
  for (auto const name : names) {
    std::string const further = name == "block_lower_triangular" ? ", components: 2, density: 0.5"
                                : name == "stand_in" ? ", mean: 3, longest: 5, deviation: 1"
                                                     : "";
    auto const problem = problem_of("{generate: " + std::string(name) + ", size: 9" + further +
                                    ", scalar: complex_double}");
    auto const system = make_system<Complex>(problem);
    EXPECT_GT(system.matrix.rows, 8) << name;
    EXPECT_GE(system.matrix.nonzeros(), system.matrix.rows) << name;
    EXPECT_EQ(system.rhs.size(), std::size_t(system.matrix.rows)) << name;
  }
}

TEST(Problem, ParametersReachTheGenerator) {
  auto const upwind = make_system<double>(
      problem_of("{generate: convection_diffusion_2d, size: 3, velocity_x: 4, velocity_y: 0}"));
  auto const central =
      make_system<double>(problem_of("{generate: convection_diffusion_2d, size: 3, velocity_x: 4, "
                                     "velocity_y: 0, convection: central}"));
  EXPECT_EQ(upwind.matrix.values[0], 5);  // 4 + h |v|, h = 1/4
  EXPECT_EQ(upwind.matrix.values[1], -1);
  EXPECT_EQ(central.matrix.values[0], 4);
  EXPECT_EQ(central.matrix.values[1], -0.5);  // -1 + v h / 2
  auto const still = make_system<Complex>(
      problem_of("{generate: magnetic_laplacian_2d, size: 3, flux: 0, scalar: complex_double}"));
  for (Complex const& value : still.matrix.values) EXPECT_EQ(value.imag(), 0);
  auto const helmholtz = make_system<Complex>(problem_of(
      "{generate: helmholtz_2d, size: 3, wavenumber: 4, damping: 2, scalar: complex_double}"));
  EXPECT_EQ(helmholtz.matrix.values[0], Complex(3, 2));  // 4 - (hk)^2 (1 - i damping), hk = 1
  auto const diagonal =
      make_system<double>(problem_of("{generate: random_spd, size: 50, nonzeros_per_row: 1}"));
  EXPECT_EQ(diagonal.matrix.nonzeros(), 50);
  auto const blocks = make_system<double>(
      problem_of("{generate: block_lower_triangular, components: 3, size: 4, density: 1}"));
  EXPECT_EQ(blocks.matrix.rows, 12);
  EXPECT_EQ(blocks.matrix.nonzeros(), 30);
  auto const one = make_system<double>(problem_of("{generate: random_spd, size: 50, seed: 1}"));
  auto const two = make_system<double>(problem_of("{generate: random_spd, size: 50, seed: 2}"));
  EXPECT_NE(one.matrix.columns, two.matrix.columns);
}

TEST(Problem, CountsAreKnownBeforeTheMatrixIsMade) {
  auto const expect_counts = [](std::string const& text, double tolerance = 0) {
    RunConfig const run = problem_of("{" + text + ", scalar: complex_double}");
    auto const matrix = make_system<Complex>(run).matrix;
    Counts const counts = promised_counts(run.problem);
    EXPECT_EQ(counts.rows, matrix.rows) << text;
    EXPECT_NEAR(counts.nonzeros, double(matrix.nonzeros()), tolerance * counts.nonzeros) << text;
  };
  for (auto const* const size : rows_of("problem", "size"))
    for (auto const name : size->for_values)
      for (int n = 2; n < 6; ++n) {
        if (name == "random_spd" || name == "block_lower_triangular" || name == "stand_in") break;
        expect_counts(concat("generate: ", name, ", size: ", std::to_string(n)));
      }
  expect_counts("generate: random_spd, size: 20000, nonzeros_per_row: 5", 1e-3);
  expect_counts("generate: block_lower_triangular, size: 300, components: 5, density: 0.1", 0.02);
  expect_counts("generate: stand_in, size: 999, mean: 3.3, longest: 9, deviation: 1");
  expect_counts("generate: stand_in, like: 1138_bus");

  Scratch const scratch;
  auto const expect_of_file = [&](std::string const& kind, std::string const& rest) {
    scratch.write("A.mtx", "%%MatrixMarket matrix " + kind + "\n" + rest);
    expect_counts("matrix: " + scratch.path("A.mtx").string());
  };
  expect_of_file("coordinate real general", "2 2 3\n1 1 1\n1 2 1\n2 2 1\n");
  expect_of_file("coordinate real symmetric", "2 2 3\n1 1 1\n2 1 1\n2 2 1\n");
  expect_of_file("coordinate complex hermitian", "2 2 3\n1 1 1 0\n2 1 1 0\n2 2 1 0\n");
  expect_of_file("coordinate real skew-symmetric", "2 2 1\n2 1 1\n");
}

/// Rows and nonzeros of a grid are polynomials of its size, so that those of four small matrices
/// tell those of every other.
TEST(Problem, LargestSizesAreThoseThatTheLibraryHolds) {
  using Matrix = Solder::CsrMatrix<double, Kokkos::DefaultHostExecutionSpace>;
  int generators = 0;
  for (auto const* const row : rows_of("problem", "size"))
    for (auto const name : row->for_values) {
      if (name == "random_spd" || name == "block_lower_triangular" || name == "stand_in") {
        EXPECT_EQ(row->most, Matrix::most_rows) << name;
        continue;
      }
      ++generators;
      auto const least = static_cast<int>(row->least);
      double rows[4], nonzeros[4];
      for (int i = 0; i < 4; ++i) {
        auto const matrix =
            make_system<Complex>(
                problem_of(concat("{generate: ", name, ", size: ", std::to_string(least + i),
                                  ", scalar: complex_double}")))
                .matrix;
        rows[i] = matrix.rows;
        nonzeros[i] = double(matrix.nonzeros());
      }
      auto const at = [&](double const(&f)[4], double size) {  // Newton's forward differences
        double const t = size - least;
        return f[0] + t * (f[1] - f[0]) + t * (t - 1) / 2 * (f[2] - 2 * f[1] + f[0]) +
               t * (t - 1) * (t - 2) / 6 * (f[3] - 3 * f[2] + 3 * f[1] - f[0]);
      };
      EXPECT_TRUE(at(rows, row->most) <= Matrix::most_rows &&
                  at(nonzeros, row->most) <= double(Matrix::most_nonzeros))
          << name;
      EXPECT_TRUE(at(rows, row->most + 1) > Matrix::most_rows ||
                  at(nonzeros, row->most + 1) > double(Matrix::most_nonzeros))
          << name;
    }
  EXPECT_EQ(generators, 8);
}

/// Beyond what the library holds: refused before anything is made or read, which would take hours
/// or all memory.
TEST(Problem, MatricesTooLargeForTheLibraryAreRefusedUpFront) {
  std::string const limits = "at most 2143289343 rows and 2147418111 nonzeros";
  auto const expect_refused = [&](std::string const& text, std::string const& counts) {
    std::string const why = why_refused(problem_of("{" + text + "}"));
    EXPECT_TRUE(contains(why, "a.yaml:1: problem.") && contains(why, counts) &&
                contains(why, limits))
        << text << ": " << why;
  };
  expect_refused("generate: stand_in, size: 3000000, mean: 1000, longest: 2000, deviation: 9",
                 "3000000 rows and 3000000000 nonzeros");
  expect_refused("generate: random_spd, size: 1000000000, nonzeros_per_row: 3",
                 "1000000000 rows and 3000000000 nonzeros");
  expect_refused("generate: block_lower_triangular, size: 50000, components: 42950, density: 0",
                 "2147500000 rows");
  Scratch const scratch;
  auto const file = [&](std::string const& text) {
    std::string const path = scratch.path("A.mtx.gz").string();
    gzFile const zipped = gzopen(path.c_str(), "wb");
    gzwrite(zipped, text.data(), static_cast<unsigned>(text.size()));
    gzclose(zipped);
    return "matrix: " + path;
  };
  std::string const banner = "%%MatrixMarket matrix coordinate real ";
  expect_refused(file(banner + "general\n2147000000 2147000000 2147000000\n1 1 1\n"),
                 "A.mtx.gz: the matrix is too large, 2147000000 rows");
  expect_refused(file(banner + "general\n1000000 1000000 2147418112\n1 1 1\n"),
                 "1000000 rows and 2147418112 nonzeros");
  expect_refused(file(banner + "symmetric\n1000000 1000000 1100000000\n1 1 1\n"),
                 "1000000 rows and 2199000000 nonzeros");
}

TEST(Problem, StandInsHaveTheFiguresGiven) {
  auto const bus = make_system<double>(problem_of("{generate: stand_in, like: 1138_bus}"));
  EXPECT_EQ(bus.matrix.rows, 1138);
  EXPECT_EQ(bus.matrix.nonzeros(), 4054);
  std::string const figures =
      "{generate: stand_in, size: 200, mean: 6.125, longest: 12, "
      "deviation: 2, half_bandwidth: 40, near: 0.9, cluster: 2, alike: 3";
  for (char const* symmetry : {"none", "pattern", "symmetric", "spd"}) {
    auto const system =
        make_system<double>(problem_of(figures + ", symmetry: " + symmetry + "}")).matrix;
    EXPECT_EQ(system.rows, 200);
    EXPECT_EQ(system.nonzeros(), symmetry == std::string("none") ? 1225 : 1224);
    std::int64_t longest = 0, mirrored = 0, positive = 0;
    for (int i = 0; i < 200; ++i) {
      longest = std::max(longest, system.row_offsets[i + 1] - system.row_offsets[i]);
      for (auto k = system.row_offsets[i]; k < system.row_offsets[i + 1]; ++k) {
        int const j = system.columns[k];
        positive += j != i && system.values[k] > 0;
        for (auto l = system.row_offsets[j]; l < system.row_offsets[j + 1]; ++l)
          mirrored += system.columns[l] == i && system.values[l] == system.values[k];
      }
    }
    EXPECT_EQ(longest, 12);
    EXPECT_EQ(mirrored == 1224,
              symmetry == std::string("symmetric") || symmetry == std::string("spd"));
    EXPECT_EQ(positive > 0, symmetry == std::string("symmetric")) << symmetry;
  }
  EXPECT_TRUE(contains(
      why_refused(problem_of("{generate: stand_in, size: 9, mean: 3, longest: 5, deviation: 4}")),
      "a.yaml:1: problem.generate: stand_in: "));
}

TEST(Problem, ComplexGeneratorsNeedAComplexScalar) {
  for (char const* name : {"helmholtz_2d", "magnetic_laplacian_2d"})
    EXPECT_TRUE(contains(why_refused(problem_of(std::string("{generate: ") + name + ", size: 3}")),
                         "complex_double"));
}

TEST(Problem, RightHandSides) {
  Scratch const scratch;
  std::string const matrix = "{matrix: " + scratch.write("A.mtx", three_by_three).string();
  EXPECT_EQ(make_system<double>(problem_of(matrix + "}")).rhs, (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(make_system<double>(problem_of(matrix + ", rhs: unit_solution}")).rhs,
            (std::vector<double>{2, 3, 3}));
  std::string const file =
      scratch.write("b.mtx", "%%MatrixMarket matrix array real general\n3 1\n5\n6\n7\n").string();
  EXPECT_EQ(make_system<double>(problem_of(matrix + ", rhs: " + file + "}")).rhs,
            (std::vector<double>{5, 6, 7}));
  std::string const shorter =
      scratch.write("c.mtx", "%%MatrixMarket matrix array real general\n2 1\n5\n6\n").string();
  std::string const why = why_refused(problem_of(matrix + ", rhs: " + shorter + "}"));
  EXPECT_TRUE(contains(why, "c.mtx") && contains(why, "2 entries") && contains(why, "3 rows"))
      << why;
}

/// Column c of a system's right-hand sides.
template <class T>
std::vector<T> column(System<T> const& system, std::int32_t c) {
  std::vector<T> entries;
  for (std::int32_t i = 0; i < system.matrix.rows; ++i)
    entries.push_back(system.rhs[std::size_t(i) * system.right_hand_sides() + c]);
  return entries;
}

TEST(Problem, ColumnsOfAFileAreRightHandSides) {
  Scratch const scratch;
  std::string const matrix = "{matrix: " + scratch.write("A.mtx", three_by_three).string();
  auto const file = [&](std::string const& kind, std::string const& rest) {
    return matrix + ", scalar: complex_double, rhs: " +
           scratch.write("b.mtx", "%%MatrixMarket matrix " + kind + "\n" + rest).string();
  };
  auto const expect_columns = [&](std::string const& problem) {
    auto const system = make_system<Complex>(problem_of(problem));
    EXPECT_EQ(system.right_hand_sides(), 2);
    EXPECT_EQ(column(system, 0), (std::vector<Complex>{1, 2, 3}));
    EXPECT_EQ(column(system, 1), (std::vector<Complex>{Complex(4), Complex(5), Complex(6)}));
    EXPECT_EQ(system.bytes(), 4 * 8 + 4 * (4 + 16) + 6 * 16);
  };
  std::string const array = file("array real general", "3 2\n1\n2\n3\n4\n5\n6\n");
  expect_columns(array + "}");
  expect_columns(array + ", rhs_count: 2}");
  EXPECT_EQ(promised_counts(problem_of(array + "}").problem).right_hand_sides, 2);
  expect_columns(file("array complex general", "3 2\n1 0\n2 0\n3 0\n4 0\n5 0\n6 0\n") + "}");
  expect_columns(file("coordinate integer general",
                      "3 2 7\n1 2 4\n2 2 5\n3 2 6\n1 1 1\n2 1 2\n3 1 1\n3 1 2\n") +
                 "}");
}

TEST(Problem, FilesThatAreNotTheRightHandSidesWanted) {
  Scratch const scratch;
  std::string const matrix = "{matrix: " + scratch.write("A.mtx", three_by_three).string();
  auto const why = [&](std::string const& kind, std::string const& rest,
                       std::string const& further = "") {
    return why_refused(problem_of(
        matrix + further + ", rhs: " +
        scratch.write("b.mtx", "%%MatrixMarket matrix " + kind + "\n" + rest).string() + "}"));
  };
  auto const expect_refused = [](std::string const& why, std::string const& part) {
    EXPECT_TRUE(contains(why, "a.yaml:1: problem.rhs: ") && contains(why, "b.mtx") &&
                contains(why, part))
        << "no '" << part << "' in: " << why;
  };
  std::string const array = "array real general", six = "1\n2\n3\n4\n5\n6\n";
  expect_refused(why(array, "2 3\n" + six), "is 2 x 3, but the matrix has 3 rows");
  expect_refused(why(array, "3 2\n" + six, ", rhs_count: 4"),
                 "has 2 columns, but problem.rhs_count is 4");
  expect_refused(why(array, "3 2\n" + six, ", rhs_count: 1"),
                 "has 2 columns, but problem.rhs_count is 1");
  expect_refused(why(array, "3 1\n1\n2\n3\n", ", rhs_count: 2"),
                 "has 1 column, but problem.rhs_count is 2");
  expect_refused(why(array, "3 0\n"), "no columns");
  expect_refused(why(array, "3 2\n1\n2\n3\n4\n5\n"), "truncated");
  expect_refused(why(array, "3 2\n" + six + "7\n"), "goes on");
  expect_refused(why("array real symmetric", "3 3\n" + six), "is not general");
  expect_refused(why("coordinate real general", "3 1001 1\n1 1 1\n"), "at most 1000 right-hand");
  expect_refused(why("coordinate real general", "3 2 2\n1 1 1e308\n1 1 1e308\n"),
                 "too large for the");
}

TEST(Problem, RandomColumnsAreThoseOfTheNextSeeds) {
  for (std::string const scalar : {"double", "complex_double"}) {
    std::string const text =
        "{generate: fem_poisson_2d, size: 7, rhs: random, scalar: " + scalar + ", ";
    auto const several = problem_of(text + "seed: 3, rhs_count: 5}");
    EXPECT_EQ(promised_counts(several.problem).right_hand_sides, 5);
    auto const system = make_system<Complex>(several);
    ASSERT_EQ(system.right_hand_sides(), 5);
    for (int c = 0; c < 5; ++c) {
      auto const one =
          make_system<Complex>(problem_of(concat(text, "seed: ", std::to_string(3 + c), "}")));
      EXPECT_EQ(one.right_hand_sides(), 1);
      EXPECT_EQ(column(system, c), one.rhs) << c;
    }
  }
}

TEST(Problem, RandomRightHandSideDependsOnTheSeedOnly) {
  std::string const text =
      "{generate: fem_poisson_2d, size: 30, scalar: complex_double, rhs: random, seed: ";
  auto const first = make_system<Complex>(problem_of(text + "3}")).rhs;
  EXPECT_EQ(first, make_system<Complex>(problem_of(text + "3}")).rhs);
  EXPECT_NE(first, make_system<Complex>(problem_of(text + "4}")).rhs);
  double real = 0, imaginary = 0;
  for (Complex const& value : first) {
    EXPECT_LE(std::abs(value.real()), 1);
    EXPECT_LE(std::abs(value.imag()), 1);
    real += value.real() * value.real();
    imaginary += value.imag() * value.imag();
  }
  EXPECT_NEAR(real / 900, 1 / 3., 0.05) << "variance of a uniform number in [-1, 1]";
  EXPECT_NEAR(imaginary / 900, 1 / 3., 0.05);
}

TEST(Problem, MatricesThatCannotBeSolved) {
  Scratch const scratch;
  auto const refusal = [&](std::string const& text) {
    return why_refused(problem_of("{matrix: " + scratch.write("A.mtx", text).string() + "}"));
  };
  EXPECT_TRUE(contains(refusal("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n"),
                       "not square: 2 x 3"));
  EXPECT_FALSE(refusal("%%MatrixMarket matrix coordinate real general\n0 0 0\n").empty());
  EXPECT_TRUE(contains(
      refusal("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n"), "complex"));
}

TEST(Problem, StoreReturnsWhatItHasAndSaysWhereAProblemWasGiven) {
  Scratch const scratch;
  scratch.write("A.mtx", three_by_three);
  Errors errors;
  auto const files =
      read_config({scratch.write("a.yaml", "problem:\n  matrix: A.mtx\n")}, {}, errors);
  ASSERT_TRUE(errors.empty());
  SystemStore store;
  auto const first = store.get(files[0].runs[0]);
  std::filesystem::remove(scratch.path("A.mtx"));
  EXPECT_EQ(store.get(files[0].runs[0]), first);
  try {
    SystemStore().get(files[0].runs[0]);
    FAIL() << "the file is gone";
  } catch (Solder::InputError const& error) {
    EXPECT_TRUE(contains(error.what(), "a.yaml:2: ") && contains(error.what(), "A.mtx"))
        << error.what();
  }
}

TEST(Memory, LimitThrowsInsteadOfOvercommitting) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's operator new ends the program instead of throwing";
#endif
  auto const available = available_memory();
  if (available == std::numeric_limits<std::uint64_t>::max())
    GTEST_SKIP() << "this system does not tell its memory";
  ASSERT_GT(available, 1u << 20);
  AllocationLimit const limit;
  EXPECT_THROW(::operator delete(::operator new(available + (available >> 2))), std::bad_alloc);
  EXPECT_NO_THROW(::operator delete(::operator new(1 << 20)));
}

TEST(Memory, Text) {
  EXPECT_EQ(memory_text(2.5e9), "2.5 GB");
  EXPECT_EQ(memory_text(3e6), "3 MB");
}

}  // namespace
