// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <solder/io/matrix_market.hpp>

/// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::random_device random;
    folder_ = std::filesystem::temp_directory_path() /
              ("solder-matrix-market-" + std::to_string(getpid()) + "-" + std::to_string(random()));
    std::filesystem::create_directories(folder_);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path(std::string const& name) const { return (folder_ / name).string(); }
  std::string write(std::string const& name, std::string const& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string write_gz(std::string const& name, std::string const& text) const {
    gzFile const file = gzopen(path(name).c_str(), "wb");
    EXPECT_EQ(gzwrite(file, text.data(), unsigned(text.size())), int(text.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    return path(name);
  }
  std::size_t files() const {
    return std::size_t(std::distance(std::filesystem::directory_iterator(folder_),
                                     std::filesystem::directory_iterator{}));
  }

 private:
  std::filesystem::path folder_;
};

inline std::string slurp(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

template <class Scalar>
using Entries = std::vector<std::vector<Scalar>>;

template <class Scalar>
Entries<Scalar> dense(Solder::HostCsr<Scalar> const& a) {
  Entries<Scalar> result(a.rows, std::vector<Scalar>(a.columns_count, Scalar(0)));
  for (std::int32_t i = 0; i < a.rows; ++i) {
    for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      EXPECT_GT(a.columns[k], k > a.row_offsets[i] ? a.columns[k - 1] : -1);
      result.at(i).at(a.columns[k]) += a.values[k];
    }
  }
  return result;
}

class MatrixMarket : public testing::Test {
 protected:
  template <class Scalar = double>
  Entries<Scalar> read(std::string const& text) {
    return dense(Solder::read_matrix_market<Scalar>(folder.write("a.mtx", text)));
  }
  TempFolder folder;
};

inline std::string const real_general = "%%MatrixMarket matrix coordinate real general\n";
