// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <solder/io/matrix_market.hpp>

#include "../long.hpp"
#include "market_files.hpp"

namespace {

using Complex = Kokkos::complex<double>;
namespace fs = std::filesystem;

// ---- what is read ----------------------------------------------------------------------------

TEST_F(MatrixMarket, ReadsCoordinateGeneralInAnyOrder) {
  auto const a = read(real_general + "2 3 4\n2 3 4.5\n1 2 -1e-3\n2 1 3\n1 1 .5\n");
  EXPECT_EQ(a, (Entries<double>{{.5, -1e-3, 0}, {3, 0, 4.5}}));
}

TEST_F(MatrixMarket, SumsDuplicatesAndKeepsZerosOfCoordinateFiles) {
  auto const path =
      folder.write("a.mtx", real_general + "2 2 5\n1 2 1\n1 1 0\n1 2 2\n2 2 4\n1 2 8\n");
  auto const a = Solder::read_matrix_market<double>(path);
  EXPECT_EQ(a.nonzeros(), 3);
  EXPECT_EQ(a.row_offsets, (std::vector<std::int64_t>{0, 2, 3}));
  EXPECT_EQ(a.columns, (std::vector<std::int32_t>{0, 1, 1}));
  EXPECT_EQ(a.values, (std::vector<double>{0, 11, 4}));
}

TEST_F(MatrixMarket, ReadsEveryFieldIntoEveryScalarThatHoldsIt) {
  std::string const banner = "%%MatrixMarket matrix coordinate ";
  EXPECT_EQ(read(banner + "integer general\n1 2 2\n1 1 -7\n1 2 +3\n"), (Entries<double>{{-7, 3}}));
  EXPECT_EQ(read(banner + "double general\n1 1 1\n1 1 2.5\n"), (Entries<double>{{2.5}}));
  EXPECT_EQ(read(banner + "pattern general\n1 2 1\n1 2\n"), (Entries<double>{{0, 1}}));
  EXPECT_EQ(read<float>(banner + "real general\n1 1 1\n1 1 0.1\n"), (Entries<float>{{0.1f}}));
  EXPECT_EQ(read<Complex>(banner + "complex general\n1 1 1\n1 1 1.5 -2\n"),
            (Entries<Complex>{{{1.5, -2}}}));
  EXPECT_EQ(read<Complex>(banner + "real general\n1 1 1\n1 1 3\n"), (Entries<Complex>{{{3, 0}}}));
  EXPECT_EQ(read<Kokkos::complex<float>>(banner + "pattern general\n1 1 1\n1 1\n"),
            (Entries<Kokkos::complex<float>>{{{1, 0}}}));
}

TEST_F(MatrixMarket, ExpandsEverySymmetry) {
  std::string const banner = "%%MatrixMarket matrix coordinate ";
  EXPECT_EQ(read(banner + "real symmetric\n3 3 4\n1 1 1\n2 1 2\n3 2 3\n3 3 4\n"),
            (Entries<double>{{1, 2, 0}, {2, 0, 3}, {0, 3, 4}}));
  EXPECT_EQ(read(banner + "real skew-symmetric\n3 3 3\n2 1 2\n3 2 3\n3 3 0\n"),
            (Entries<double>{{0, -2, 0}, {2, 0, -3}, {0, 3, 0}}));
  EXPECT_EQ(read<Complex>(banner + "complex hermitian\n2 2 2\n1 1 5 0\n2 1 1 2\n"),
            (Entries<Complex>{{{5, 0}, {1, -2}}, {{1, 2}, {0, 0}}}));
  EXPECT_EQ(read<Complex>(banner + "complex symmetric\n2 2 2\n1 1 5 1\n2 1 1 2\n"),
            (Entries<Complex>{{{5, 1}, {1, 2}}, {{1, 2}, {0, 0}}}));
  EXPECT_EQ(read(banner + "pattern symmetric\n2 2 2\n1 1\n2 1\n"),
            (Entries<double>{{1, 1}, {1, 0}}));
  auto const doubled = read(banner + "real symmetric\n2 2 2\n2 1 2\n2 1 3\n");
  EXPECT_EQ(doubled, (Entries<double>{{0, 5}, {5, 0}}));
}

TEST_F(MatrixMarket, ReadsArraysByColumns) {
  std::string const banner = "%%MatrixMarket matrix array ";
  auto const path = folder.write("b.mtx", banner + "real general\n2 3\n1\n2\n0\n4\n5\n6\n");
  auto const a = Solder::read_matrix_market<double>(path);
  EXPECT_EQ(dense(a), (Entries<double>{{1, 0, 5}, {2, 4, 6}}));
  EXPECT_EQ(a.nonzeros(), 5) << "zeros of an array file are no entries";
  EXPECT_EQ(read(banner + "real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n"),
            (Entries<double>{{1, 2, 3}, {2, 4, 5}, {3, 5, 6}}));
  EXPECT_EQ(read(banner + "integer skew-symmetric\n3 3\n1\n2\n3\n"),
            (Entries<double>{{0, -1, -2}, {1, 0, -3}, {2, 3, 0}}));
  EXPECT_EQ(read<Complex>(banner + "complex hermitian\n2 2\n1 0\n2 3\n4 0\n"),
            (Entries<Complex>{{{1, 0}, {2, -3}}, {{2, 3}, {4, 0}}}));
}

TEST_F(MatrixMarket, AcceptsTheFormatsOfManyWriters) {
  Entries<double> const expected{{1000, 0}, {0.25, -2e-5}};
  EXPECT_EQ(read("%%MATRIXMARKET Matrix COORDINATE Real General\n% a comment\n\n%\n  % another\n"
                 "2 2 3\n1 1 1.0D+03\n\n% within\n2 1 +.25\n2 2 -2.d-5\n\n \n"),
            expected);
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate real general\r\n% dos\r\n\r\n2 2 3\r\n"
                 "1 1 1e3\r\n2 1 0.25\r\n2 2 -2e-05\r\n"),
            expected);
  EXPECT_EQ(read("%%MatrixMarket\tmatrix  coordinate\treal general  \n\t 2\t2  3 \n"
                 "\t1\t1\t1000.\n   2   1   0.25   \n2 2 -0.2E-4"),
            expected);
}

TEST_F(MatrixMarket, TakesTinyNumbersAmongLargerOnesForZero) {
  auto const a = read(real_general +
                      "1 4 4\n1 1 1e-400\n1 2 4.9406564584124654e-324\n1 3 -1D-999\n"
                      "1 4 1e-290\n");
  EXPECT_EQ(a[0][0], 0.0);
  EXPECT_EQ(a[0][1], std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(a[0][2], 0.0);
  EXPECT_EQ(read<float>(real_general + "1 2 2\n1 1 1e-60\n1 2 1\n")[0][0], 0.0f);
}

TEST_F(MatrixMarket, ReadsEmptyMatricesAndEmptyRows) {
  EXPECT_EQ(
      Solder::read_matrix_market<double>(folder.write("e.mtx", real_general + "0 0 0\n")).rows, 0);
  auto const a =
      Solder::read_matrix_market<double>(folder.write("e.mtx", real_general + "3 3 1\n2 2 1\n"));
  EXPECT_EQ(a.row_offsets, (std::vector<std::int64_t>{0, 0, 1, 1}));
}

TEST_F(MatrixMarket, ReadsGzippedFilesByContent) {
  std::string const text = real_general + "1 2 1\n1 2 7\n";
  Entries<double> const expected{{0, 7}};
  for (auto const* name : {"a.mtx.gz", "gzipped-without-saying-so.mtx"}) {
    EXPECT_EQ(dense(Solder::read_matrix_market<double>(folder.write_gz(name, text))), expected);
  }
  EXPECT_EQ(dense(Solder::read_matrix_market<double>(folder.write("plain.mtx.gz", text))),
            expected);
}

/// Many blocks of the reader, entries shuffled, against plain loops that know what was written.
TEST_F(MatrixMarket, ReadsFilesLongerThanItsBuffers) {
  std::int64_t const rows = 3001, columns = 1999, entries = 300000;
  std::mt19937_64 random(7);
  std::map<std::pair<std::int64_t, std::int64_t>, double> expected;
  std::ostringstream text;
  text.precision(17);
  text << real_general << rows << " " << columns << " " << entries << "\n";
  for (std::int64_t k = 0; k < entries; ++k) {
    std::int64_t const i = std::int64_t(random() % rows), j = std::int64_t(random() % columns);
    double const value = double(std::int64_t(random() % 2048) - 1024) / 64;  // sums are exact
    expected[{i, j}] += value;
    text << i + 1 << " " << j + 1 << " " << std::string(random() % 5, ' ') << value << "\n";
  }
  ASSERT_GT(text.str().size(), std::size_t{3} << 20);
  auto const plain = Solder::read_matrix_market<double>(folder.write("a.mtx", text.str()));
  auto const zipped = Solder::read_matrix_market<double>(folder.write_gz("a.mtx.gz", text.str()));
  EXPECT_EQ(plain.columns, zipped.columns);
  EXPECT_EQ(plain.values, zipped.values);
  ASSERT_EQ(plain.nonzeros(), std::int64_t(expected.size()));
  auto next = expected.begin();
  for (std::int32_t i = 0; i < plain.rows; ++i) {
    for (auto k = plain.row_offsets[i]; k < plain.row_offsets[i + 1]; ++k, ++next) {
      ASSERT_EQ(next->first, (std::pair<std::int64_t, std::int64_t>{i, plain.columns[k]}));
      ASSERT_EQ(next->second, plain.values[k]);
    }
  }
}

TEST_F(MatrixMarket, ReadsVectors) {
  using Solder::read_matrix_market_vector;
  auto const array =
      folder.write("v.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n-0\n3\n");
  EXPECT_EQ(read_matrix_market_vector<double>(array), (std::vector<double>{1, 0, 3}));
  EXPECT_EQ(read_matrix_market_vector<Complex>(array), (std::vector<Complex>{1., 0., 3.}));
  auto const sparse = folder.write("s.mtx", real_general + "4 1 3\n3 1 2\n1 1 5\n3 1 1\n");
  EXPECT_EQ(read_matrix_market_vector<float>(sparse), (std::vector<float>{5, 0, 3, 0}));
}

TEST_F(MatrixMarket, ReadsTheHeaderAlone) {
  auto const header = Solder::read_matrix_market_header(folder.write(
      "h.mtx", "%%MatrixMarket matrix array complex hermitian\n% no entries follow\n1 1\n1 0\n"));
  EXPECT_EQ(header.format, Solder::MarketFormat::array);
  EXPECT_EQ(header.field, Solder::MarketField::complex);
  EXPECT_EQ(header.symmetry, Solder::MarketSymmetry::hermitian);
  EXPECT_EQ(header.rows, 1);
  EXPECT_EQ(header.columns, 1);
  EXPECT_EQ(header.entries, 1);
}

// ---- what is refused -------------------------------------------------------------------------

/// The error that reading throws, "" if none.
template <class Scalar = double>
std::string error_of(std::string const& path) {
  try {
    Solder::read_matrix_market<Scalar>(path);
  } catch (Solder::InputError const& error) {
    return error.what();
  }
  return "";
}

struct BadFile {
  std::string text;
  int line;  // 0: the message names no line
  std::string words;
};

class BadMatrixMarket : public testing::TestWithParam<BadFile> {};

TEST_P(BadMatrixMarket, IsRefusedWithFileLineAndReason) {
  TempFolder const folder;
  auto const& [text, line, words] = GetParam();
  for (bool const zipped : {false, true}) {
    auto const path = zipped ? folder.write_gz("bad.mtx.gz", text) : folder.write("bad.mtx", text);
    if (zipped && words.find("can hold") != std::string::npos) continue;  // known for plain files
    auto const message = error_of(path);
    auto const place = path + (line > 0 ? ":" + std::to_string(line) : "") + ": ";
    EXPECT_EQ(message.substr(0, place.size()), place) << message;
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }
}

std::string const symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
std::string const array = "%%MatrixMarket matrix array real general\n";

INSTANTIATE_TEST_SUITE_P(
    Banner, BadMatrixMarket,
    testing::Values(
        BadFile{"", 0, "the file is empty"},
        BadFile{"1 2 3\n", 1,
                "not a Matrix Market file: the first line should begin with "
                "'%%MatrixMarket matrix', but is '1 2 3'"},
        BadFile{"\n%%MatrixMarket matrix coordinate real general\n", 1, "not a Matrix Market file"},
        BadFile{std::string("\x7f"
                            "ELF\x02\x01\x00\x00\x00\xff\xfe rubbish",
                            18),
                1, "'?ELF????"},
        BadFile{std::string(3 << 20, '\x01'), 1, "longer than 1048576 characters"},
        BadFile{"%%MatrixMarket vector coordinate real general\n1 1\n", 1,
                "unsupported object 'vector'; Valid: matrix"},
        BadFile{
            "%%MatrixMarket matrix coordiante real general\n1 1 0\n", 1,
            "unsupported format 'coordiante'; did you mean 'coordinate'? Valid: coordinate, array"},
        BadFile{"%%MatrixMarket matrix coordinate reel general\n1 1 0\n", 1,
                "unsupported field 'reel'; did you mean 'real'?"},
        BadFile{"%%MatrixMarket matrix coordinate quaternion general\n1 1 0\n", 1,
                "unsupported field 'quaternion'; Valid: real, integer, complex, pattern, double"},
        BadFile{"%%MatrixMarket matrix coordinate real symetric\n1 1 0\n", 1,
                "unsupported symmetry 'symetric'; did you mean 'symmetric'?"},
        BadFile{"%%MatrixMarket matrix coordinate real\n1 1 0\n", 1,
                "the banner names no symmetry"},
        BadFile{"%%MatrixMarket matrix coordinate real general extra\n1 1 0\n", 1,
                "unexpected text 'extra'"},
        BadFile{"%%MatrixMarket matrix array pattern general\n1 1\n", 1, "an array file cannot"},
        BadFile{"%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n", 1,
                "hermitian goes with"},
        BadFile{"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", 1,
                "skew-symmetric does not go with"}));

INSTANTIATE_TEST_SUITE_P(
    SizeLine, BadMatrixMarket,
    testing::Values(
        BadFile{real_general + "% only comments\n", 0, "ends before its size line"},
        BadFile{real_general + "%\n\n3 3\n1 1 1\n", 4, "the number of entries is missing"},
        BadFile{real_general + "3 3 1 1\n1 1 1\n", 2, "unexpected text '1'"},
        BadFile{real_general + "3 x 1\n1 1 1\n", 2,
                "the number of columns should be an integer, but is 'x'"},
        BadFile{real_general + "3.0 3 1\n1 1 1\n", 2, "should be an integer, but is '3.0'"},
        BadFile{real_general + "-3 3 1\n1 1 1\n", 2, "the number of rows is negative: -3"},
        BadFile{real_general + "3 3 -1\n", 2, "the number of entries is negative: -1"},
        BadFile{real_general + "3 2147483648 1\n1 1 1\n", 2, "at most 2147483647 are supported"},
        BadFile{real_general + "99999999999999999999 3 1\n1 1 1\n", 2, "which is out of range"},
        BadFile{real_general + "3 3 99999999999999999999\n1 1 1\n", 2, "which is out of range"},
        BadFile{real_general + "3 3 1000000000000000000\n1 1 1\n", 2, "bytes can hold"},
        BadFile{real_general + "2147483647 2147483647 1\n1 1 1\n", 2,
                "nearly all rows would be empty"},
        BadFile{real_general + "20000000 1 1\n1 1 1\n", 2, "nearly all rows would be empty"},
        BadFile{symmetric + "3 4 1\n1 1 1\n", 2, "must be square, but this is 3 x 4"},
        BadFile{array + "2147483647 2147483647\n1\n", 2, "bytes can hold"},
        BadFile{array + "3000000000 3000000000\n1\n", 2, "at most 2147483647 are supported"},
        BadFile{array + "4 4 16\n1\n", 2, "unexpected text '16'"}));

INSTANTIATE_TEST_SUITE_P(
    Entries, BadMatrixMarket,
    testing::Values(
        BadFile{real_general + "9 9 3\n1 1 1.00000\n% x\n2 2 1.00000\n", 5,
                "truncated: it ends after 2 of the 3 entries"},
        BadFile{real_general + "2 2 1\n1 1 1\n2 2 1\n", 4,
                "goes on with '2 2 1' after the 1 entries"},
        BadFile{real_general + "2 2 1\n0 1 1\n", 3,
                "the row index 0 is out of range: indices run from 1 to 2"},
        BadFile{real_general + "2 2 1\n1 -1 1\n", 3, "the column index -1 is out of range"},
        BadFile{real_general + "2 3 2\n1 1 1\n\n3 1 1\n", 5, "the row index 3 is out of range"},
        BadFile{real_general + "3 2 1\n1 3 1\n", 3,
                "the column index 3 is out of range: indices run from 1 to 2"},
        BadFile{real_general + "3 2 1\n1 4294967297 1\n", 3,
                "the column index 4294967297 is out of range"},
        BadFile{real_general + "2 2 1\n1.5 1 1\n", 3,
                "the row index should be an integer, but is '1.5'"},
        BadFile{real_general + "2 2 2\n1 1 1\n1 2\n", 4, "a value is missing"},
        BadFile{real_general + "2 2 2\n1 1 1\n1\n1 1 1\n", 4, "the column index is missing"},
        BadFile{real_general + "2 2 1\n1 1 nan\n", 3,
                "a value is 'nan'; numbers must be finite"},
        BadFile{real_general + "2 2 1\n1 1 -NaN\n", 3, "a value is '-NaN'"},
        BadFile{real_general + "2 2 1\n1 1 Inf\n", 3, "a value is 'Inf'"},
        BadFile{real_general + "2 2 1\n1 1 -infinity\n", 3, "a value is '-infinity'"},
        BadFile{real_general + "2 2 1\n1 1 abc\n", 3, "a value should be a number, but is 'abc'"},
        BadFile{real_general + "2 2 1\n1 1 1.2.3\n", 3, "should be a number, but is '1.2.3'"},
        BadFile{real_general + "2 2 1\n1 1 0x10\n", 3, "should be a number, but is '0x10'"},
        BadFile{real_general + "2 2 1\n1 1 +-1\n", 3, "should be a number, but is '+-1'"},
        BadFile{real_general + "2 2 1\n1 1 1,5\n", 3, "should be a number, but is '1,5'"},
        BadFile{real_general + "2 2 1\n1 1 1e999\n", 3,
                "'1e999' is too large for the scalar type double"},
        BadFile{real_general + "2 2 1\n1 1 -1D400\n", 3, "'-1D400' is too large"},
        BadFile{real_general + "2 2 1\n1 1 1 2\n", 3, "unexpected text '2'"},
        BadFile{real_general + "2 2 1\n1 1 1 % why\n", 3, "unexpected text '% why'"},
        BadFile{real_general + "1 1 2\n1 1 1e308\n1 1 1e308\n", 0, "the sum of repeated entries"},
        BadFile{"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 2.5\n", 3,
                "the value should be an integer, but is '2.5'"},
        BadFile{"%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 2.5\n", 3,
                "unexpected text '2.5'"},
        BadFile{symmetric + "2 2 1\n1 2 1\n", 3, "entry (1, 2) lies above the diagonal"},
        BadFile{"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n", 3,
                "the diagonal of a skew-symmetric matrix must be zero"},
        BadFile{"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2.5 1\n", 0,
                "the file holds complex numbers; choose a complex scalar type"},
        BadFile{array + "2 2\n1\n2\n3\n", 5, "truncated: it ends after 3 of the 4 entries"},
        BadFile{array + "1 2\n1 2\n", 3, "unexpected text '2'"},
        BadFile{array + "1 1\n1\n2\n", 4, "goes on with '2'"}));

TEST_F(MatrixMarket, RefusesAnImaginaryDiagonalOfAHermitianMatrix) {
  auto const path = folder.write(
      "h.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n2 1 1 1\n2 2 1 0.5\n");
  EXPECT_EQ(error_of<Complex>(path), path + ":4: the diagonal of a hermitian matrix must be real");
  auto const missing =
      folder.write("c.mtx", "%%MatrixMarket matrix coordinate complex general\n2 2 1\n2 1 1\n\n\n");
  EXPECT_EQ(error_of<Complex>(missing), missing + ":3: a value is missing");
}

TEST_F(MatrixMarket, RefusesWhatFloatCannotHold) {
  auto const path = folder.write("f.mtx", real_general + "1 1 1\n1 1 1e39\n");
  EXPECT_EQ(
      error_of<float>(path),
      path + ":3: the value '1e39' is too large for the scalar type float; double may hold it");
  EXPECT_EQ(error_of<double>(path), "");
  auto const complex_path = folder.write(
      "c.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1e39\n");
  EXPECT_EQ(error_of<Kokkos::complex<float>>(complex_path),
            complex_path +
                ":3: the value '1e39' is too large for the scalar type complex_float; "
                "complex_double may hold it");
  for (std::string const number : {"+-5", "-+5", "++5", "+"}) {
    auto const odd = folder.write("n.mtx", real_general + "1 1 1\n1 1 " + number + "\n");
    EXPECT_EQ(error_of<double>(odd),
              odd + ":3: a value should be a number, but is '" + number + "'");
  }
}

/// b would be 0, and x = 0 its solution.
TEST_F(MatrixMarket, RefusesTinyNumbersThatAreAllThereIs) {
  auto const path = folder.write("t.mtx", real_general + "1 3 3\n1 1 0\n1 2 1e-30\n1 3 -2e-50\n");
  EXPECT_EQ(error_of<double>(path), "");
  auto const tiny = folder.write("t.mtx", real_general + "1 3 3\n1 1 0\n1 2 1e-38\n1 3 -2e-50\n");
  EXPECT_EQ(error_of<float>(tiny),
            tiny +
                ":5: the value '-2e-50' is too small for the scalar type float, and no value of "
                "the file is much larger: scale them, or choose double");
  EXPECT_EQ(
      error_of<Kokkos::complex<double>>(folder.write(
          "t.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 0 1e-400\n")),
      folder.path("t.mtx") +
          ":3: the value '1e-400' is too small for the scalar type complex_double, and no "
          "value of the file is much larger: scale them");
  EXPECT_EQ(read<float>(real_general + "1 1 1\n1 1 0\n")[0][0], 0.0f);
}

TEST_F(MatrixMarket, RefusesMissingFilesAndFolders) {
  auto const missing = folder.path("missing.mtx");
  EXPECT_EQ(error_of(missing), missing + ": there is no such file");
  EXPECT_NE(error_of(folder.path("")).find("is a directory"), std::string::npos);
  auto const file = folder.write("file", "x");
  EXPECT_NE(error_of(file + "/a.mtx"), "");
}

TEST_F(MatrixMarket, RefusesALyingSizeLineInAGzippedFileWithoutAllocating) {
  auto const path = folder.write_gz("l.mtx.gz", real_general + "3 3 1000000000000000000\n1 1 1\n");
  EXPECT_EQ(error_of(path), path +
                                ":3: the file is truncated: it ends after 1 of the "
                                "1000000000000000000 entries that its size line promises");
  auto const dense = folder.write_gz("d.mtx.gz", array + "2147483647 2147483647\n1\n");
  EXPECT_NE(error_of(dense).find("of the 4611686014132420609 entries"), std::string::npos);
}

TEST_F(MatrixMarket, RefusesBrokenGzip) {
  std::ostringstream text;
  text << real_general << "1000 1000 100000\n";
  std::mt19937_64 random(3);
  for (int k = 0; k < 100000; ++k) {
    text << random() % 1000 + 1 << " " << random() % 1000 + 1 << " " << random() % 100000 << "\n";
  }
  auto const whole = slurp(folder.write_gz("a.mtx.gz", text.str()));
  ASSERT_EQ(error_of(folder.path("a.mtx.gz")), "");

  for (auto const length : {whole.size() / 2, whole.size() - 4, std::size_t{15}, std::size_t{5}}) {
    auto const path = folder.write("cut.mtx.gz", whole.substr(0, length));
    auto const message = error_of(path);
    EXPECT_NE(message.find("cut short (after line "), std::string::npos) << length << message;
    EXPECT_EQ(message.find(path), 0u);
  }
  auto damaged = whole;
  damaged[whole.size() - 8] ^= 1;  // the checksum
  auto message = error_of(folder.write("crc.mtx.gz", damaged));
  EXPECT_NE(message.find("broken gzip data: "), std::string::npos) << message;
  damaged = whole;
  for (std::size_t k = 0; k < 64; ++k) damaged[whole.size() / 2 + k] = char(0xff);
  message = error_of(folder.write("bits.mtx.gz", damaged));
  EXPECT_NE(message, "");
}

TEST_F(MatrixMarket, RefusesAVectorOfSeveralColumns) {
  auto const path = folder.write("v.mtx", array + "1 2\n1\n2\n");
  try {
    Solder::read_matrix_market_vector<double>(path);
    ADD_FAILURE() << "no error";
  } catch (Solder::InputError const& error) {
    EXPECT_EQ(error.what(), path + ":2: a vector needs one column, but this is 1 x 2");
  }
}

// ---- the real matrices -----------------------------------------------------------------------

TEST(RealMatrices, ReadWithTheCountsOfTheirIndex) {
  char const* const named = std::getenv("SOLDER_MATRICES");
  fs::path const folder =
      named != nullptr ? fs::path(named) : fs::path(SOLDER_SOURCE_DIR) / "../shared/matrices";
  std::ifstream index(folder / "INDEX.tsv");
  if (!index) GTEST_SKIP() << "no INDEX.tsv in " << folder << "; set SOLDER_MATRICES to the folder";
  std::string line;
  std::getline(index, line);
  int count = 0;
  while (std::getline(index, line)) {
    std::istringstream fields(line);
    std::string name, field, symmetry;
    std::int64_t rows = 0, columns = 0, stored = 0, full = 0;
    fields >> name >> rows >> columns >> stored >> full >> field >> symmetry;
    auto const path = (folder / (name + ".mtx.gz")).string();
    SCOPED_TRACE(name);
    EXPECT_EQ(Solder::read_matrix_market_header(path).entries, stored);
    if (stored > 100000 && !SolderTest::is_long()) continue;
    auto const check = [&](auto const& a) {
      EXPECT_EQ(a.rows, rows);
      EXPECT_EQ(a.columns_count, columns);
      EXPECT_EQ(a.nonzeros(), full);
      EXPECT_EQ(std::int64_t(a.columns.size()), full);
    };
    if (field == "complex") {
      check(Solder::read_matrix_market<Complex>(path));
    } else {
      check(Solder::read_matrix_market<double>(path));
    }
    ++count;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
