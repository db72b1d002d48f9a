// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief The matrices folder: $SOLDER_MATRICES, or beside the checkout. Its INDEX.tsv says what is
/// there.

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace SolderTest {

struct RealMatrix {
  std::string name;
  int rows;
  bool is_complex, symmetric, spd;  ///< symmetric: or Hermitian, or skew-symmetric
};

inline std::string matrices_folder() {
  char const* const named = std::getenv("SOLDER_MATRICES");
  return named ? named : std::string(SOLDER_SOURCE_DIR) + "/../shared/matrices";
}

inline std::string matrix_file(RealMatrix const& matrix) {
  return matrices_folder() + "/" + matrix.name + ".mtx.gz";
}

/// \brief The square matrices of the folder with up to `most_rows` rows; none without a folder.
inline std::vector<RealMatrix> real_matrices(int most_rows) {
  std::vector<RealMatrix> list;
  std::ifstream index(matrices_folder() + "/INDEX.tsv");
  std::string line;
  std::getline(index, line);
  while (std::getline(index, line)) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
    if (cells.size() <= 7 || cells[1] != cells[2] || std::stol(cells[1]) > most_rows) continue;
    list.push_back({cells[0], std::stoi(cells[1]), cells[5] == "complex", cells[6] != "general",
                    cells[7] == "yes"});
  }
  return list;
}

}  // namespace SolderTest
