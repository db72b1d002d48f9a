// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "counts.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <solder/core/errors.hpp>
#include <solder/io/matrix_market.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/problems/stand_in_figures.hpp>
#include <string>

#include "world.hpp"

namespace Solder::Driver {
namespace {

/// The size of a grid generator's matrix, as a function of problem.size.
struct Grid {
  std::string_view generator;
  Counts (*counts)(double size);
};

/// n x n nodes; each couples to its neighbours in x and y.
constexpr Counts five_point(double n) { return {n * n, 5 * n * n - 4 * n}; }
/// n x n x n nodes; each couples to its neighbours in x, y and z.
constexpr Counts seven_point(double n) { return {n * n * n, 7 * n * n * n - 6 * n * n}; }

/// a x b x b nodes, which couple along the edges, the face diagonals and the space diagonals, each
/// in one direction, through blocks of 3 x 3.
constexpr Counts elasticity(double cells) {
  double const a = cells - 1, b = cells + 1;
  double const axes = (a - 1) * b * b + 2 * a * b * (b - 1);
  double const faces = 2 * (a - 1) * b * (b - 1) + a * (b - 1) * (b - 1);
  double const space = (a - 1) * (b - 1) * (b - 1);
  return {3 * a * b * b, 9 * (a * b * b + 2 * (axes + faces + space))};
}

constexpr std::array<Grid, 8> grids = {{
    {"fem_poisson_2d",
     [](double n) -> Counts {
       return {n * n, 7 * n * n - 8 * n + 2};
     }},
    {"convection_diffusion_2d", five_point},
    {"helmholtz_2d", five_point},
    {"magnetic_laplacian_2d", five_point},
    {"poisson_3d_7pt", seven_point},
    {"convection_diffusion_3d", seven_point},
    {"poisson_3d_27pt",
     [](double n) -> Counts {
       return {n * n * n, (3 * n - 2) * (3 * n - 2) * (3 * n - 2)};
     }},
    {"elasticity_3d", elasticity},
}};

Grid const* find_grid(std::string_view generator) {
  auto const found = std::find_if(grids.begin(), grids.end(),
                                  [&](Grid const& grid) { return grid.generator == generator; });
  return found == grids.end() ? nullptr : &*found;
}

Counts counts_of_generator(ProblemConfig const& problem) {
  auto const& parameters = problem.parameters;
  if (auto const like = parameters.find("like"); like != parameters.end()) {
    StandInFigures const figures = stand_in_figures(std::get<std::string>(like->second));
    return {double(figures.rows), double(figures.nonzeros)};
  }
  auto const number = [&](char const* key) { return std::get<double>(parameters.at(key)); };
  double const size = number("size");
  if (problem.generate == "stand_in") return {size, std::round(size * number("mean"))};
  if (problem.generate == "random_spd") return {size, size * number("nonzeros_per_row")};
  if (problem.generate == "block_lower_triangular") {
    double const rows = number("components") * size;
    return {rows, rows * (1 + number("density") * (size - 1) / 2)};
  }
  Grid const* const grid = find_grid(problem.generate);
  return grid == nullptr ? Counts{} : grid->counts(size);
}

Counts counts_of_file(std::filesystem::path const& file) {
  std::error_code code;
  if (!world().is_first()) return {};
  if (!std::filesystem::is_regular_file(file, code)) return {};  // a pipe can be read only once
  try {
    MatrixMarketHeader const header = read_matrix_market_header(file.string());
    double const rows = header.rows, stored = double(header.entries);
    if (header.format == MarketFormat::array) return {rows, 0};  // zeros do not count
    switch (header.symmetry) {
      case MarketSymmetry::general:
        return {rows, stored};
      case MarketSymmetry::skew_symmetric:
        return {rows, 2 * stored};
      case MarketSymmetry::symmetric:
      case MarketSymmetry::hermitian:
        return {rows, std::max(stored, 2 * stored - rows)};
    }
  } catch (InputError const&) {  // reported when the matrix is read
  }
  return {};
}

using HostMatrix = CsrMatrix<double, Kokkos::DefaultHostExecutionSpace>;

}  // namespace

constinit Counts const most_counts = {HostMatrix::most_rows, HostMatrix::most_nonzeros};

double largest_size(std::string_view generator) {
  Grid const* const grid = find_grid(generator);
  double size = 1;
  while (grid != nullptr && !are_too_many(grid->counts(size + 1))) ++size;
  return size;
}

bool makes_any_rows(ProblemConfig const& problem) {
  return problem.matrix.empty() && find_grid(problem.generate) != nullptr;
}

std::int32_t promised_right_hand_sides(ProblemConfig const& problem) {
  std::error_code code;
  if (problem.rhs_count > 0) return problem.rhs_count;
  if (!world().is_first() || !std::filesystem::is_regular_file(problem.rhs_file, code)) return 1;
  try {
    return std::clamp(read_matrix_market_header(problem.rhs_file.string()).columns, 1,
                      most_right_hand_sides);
  } catch (InputError const&) {  // reported when they are read
    return 1;
  }
}

Counts promised_counts(ProblemConfig const& problem) {
  Counts counts =
      problem.matrix.empty() ? counts_of_generator(problem) : counts_of_file(problem.matrix);
  counts.rows *= std::max(problem.batch, 1);
  counts.nonzeros *= std::max(problem.batch, 1);
  counts.right_hand_sides = promised_right_hand_sides(problem);
  return counts;
}

}  // namespace Solder::Driver
