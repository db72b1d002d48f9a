// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <solder/core/errors.hpp>

namespace Solder {

/// \brief What is symmetric in a stand-in: nothing, only the pattern, or the values too; spd: the
/// values are symmetric and all eigenvalues are positive.
enum class StandInSymmetry {
  none,       ///< nothing
  pattern,    ///< only the pattern
  symmetric,  ///< the values too
  spd         ///< the values, and all eigenvalues are positive
};

/// \brief The figures of a matrix that stand_in() imitates.
struct StandInFigures {
  std::int64_t rows = 0;      ///< of the matrix, which is square
  std::int64_t nonzeros = 0;  ///< of the matrix
  std::int64_t longest = 0;   ///< entries of the longest row
  double deviation = 0;       ///< standard deviation of the row lengths
  /// Near entries (i, j) have |i - j| <= half_bandwidth; 0: rows / 20, but not below longest.
  std::int64_t half_bandwidth = 0;
  double near = 1;           ///< share of near entries; the others are anywhere
  std::int64_t cluster = 1;  ///< length of runs of neighbouring columns, as in dense blocks
  std::int64_t alike = 1;    ///< neighbouring rows with about the same length and pattern
  StandInSymmetry symmetry = StandInSymmetry::none;  ///< what is symmetric
};

namespace Impl {

inline std::int64_t half_bandwidth(StandInFigures const& figures) {
  if (figures.half_bandwidth > 0) return figures.half_bandwidth;
  return std::max(figures.longest, figures.rows / 20);
}

}  // namespace Impl

/// \brief A matrix from the papers' tables, and its figures.
struct NamedStandIn {
  std::string_view name;   ///< in the SuiteSparse Matrix Collection, or in its paper
  StandInFigures figures;  ///< what stand_in() makes of it
};

/// \brief The matrices of the tables of Rupp et al. (2016, table 1), Anzt et al. (2016, table 1),
/// Bernaschi et al. (2016, table 4) and Tali (block CG, table I), by their names in the SuiteSparse
/// Matrix Collection.
///
/// Rows and nonzeros (including stored zeros) are those of the collection; for Cube3D and helm_fem,
/// those of the papers. Rupp et al. print pwtk's and kkt_power's nonzeros with a wrong digit or
/// two. Symmetry is also that of the collection, or close to it: RM07R's pattern is symmetric to
/// 93% and counts as none.
///
/// Longest row and deviation: for G3_circuit, thermal2, apache2, Cube3D and PFlow_742 they are
/// printed by Bernaschi et al. For 1138_bus and mhd1280b they were counted; for helm_fem they were
/// counted in a matrix of its size. For the first nine and webbase-1M they are quoted from the
/// literature on sparse products, not counted. For the others both are estimates, guided by the
/// padding of SELL-32 that Anzt et al. print; but Tali prints the longest rows of m_t1 and
/// parabolic_fem.
///
/// Half bandwidth, near share, cluster and alike are estimates (they were counted only for mhd1280b
/// and helm_fem): finite elements give dense blocks near the diagonal, structured grids give long
/// runs of similar rows, and circuits, webs and economies give scattered columns.
inline constexpr auto named_stand_ins = [] {
  constexpr auto none = StandInSymmetry::none, pattern = StandInSymmetry::pattern,
                 symmetric = StandInSymmetry::symmetric, spd = StandInSymmetry::spd;
  // clang-format off
  return std::to_array<NamedStandIn>({
      // name                rows     nonzeros  longest deviation half bw  near cluster alike
      // Rupp et al., table 1
      {"pdb1HYS",          {  36417,   4344765,  204,  31.86,   3000, 0.95,  6,     3, spd}},
      {"cant",             {  62451,   4007383,   78,  14.06,    280, 1.00,  9,     3, spd}},
      {"consph",           {  83334,   6010480,   81,  19.08,   6000, 0.95,  3,     3, spd}},
      {"shipsec1",         { 140874,   7813404,  102,  11.07,   5000, 0.98,  6,     6, spd}},
      {"pwtk",             { 217918,  11634424,  180,   4.74,   1200, 0.98,  6,     6, spd}},
      {"rma10",            {  46835,   2374001,  145,  27.78,   2000, 0.90,  6,     3, pattern}},
      {"cop20k_A",         { 121192,   2624331,   81,  13.79,   8000, 0.60,  2,     1, symmetric}},
      {"scircuit",         { 170998,    958936,  353,   4.39,   1000, 0.70,  1,     4, pattern}},
      {"mac_econ_fwd500",  { 206500,   1273389,   44,   4.44,    600, 0.60,  1,     2, none}},
      {"RM07R",            { 381689,  37464962,  295,  68.6,   15000, 0.95,  7,     7, none}},
      {"Hamrle3",          {1447360,   5514242,    9,   1.9,    5000, 0.80,  1,     1, none}},
      {"kkt_power",        {2063494,  14612663,   96,   7.4,   20000, 0.60,  1,     1, symmetric}},
      // Anzt et al., table 1
      {"thermomech_dK",    { 204316,   2846228,   20,   1.43,   2000, 0.90,  2,     3, pattern}},
      {"webbase-1M",       {1000005,   3105536, 4700,  25.35,    500, 0.60,  1,     9, none}},
      {"nlpkkt80",         {1062400,  28704672,   28,   2.9,  540000, 1.00,  3,   200, symmetric}},
      {"dielFilterV2real", {1157456,  48538952,  110,  16.15,  20000, 0.90,  2,     1, symmetric}},
      {"thermal2",         {1228045,   8580313,   11,   0.81,  20000, 0.70,  1,     1, spd}},
      {"af_shell10",       {1508065,  52672325,   35,   0.84,   4000, 1.00,  5,   100, symmetric}},
      {"ML_Geer",          {1504002, 110879972,   74,   2.5,    5000, 1.00,  3,     3, pattern}},
      {"G3_circuit",       {1585478,   7660826,    6,   0.64,   5000, 0.95,  1,   100, spd}},
      {"Transport",        {1602111,  23500731,   15,   0.9,   16000, 1.00,  1,    32, pattern}},
      // Bernaschi et al., table 4, with Thermal2 and G3_circuit above
      {"apache2",          { 715176,   4817870,    8,   0.45,   6000, 1.00,  1,   500, spd}},
      {"Cube3D",           { 190581,   7531389,   96,  16.19,   5000, 0.95,  3,     3, spd}},
      {"PFlow_742",        { 742793,  37138461,  137,  19.97,  20000, 0.95,  1,     1, spd}},
      // Tali, table I
      {"1138_bus",         {   1138,      4054,   18,   1.80,     64, 0.75,  1,     1, spd}},
      {"m_t1",             {  97578,   9753570,  237,  13.0,    5000, 0.98,  6,     6, spd}},
      {"parabolic_fem",    { 525825,   3674625,    7,   0.11,   2000, 0.70,  1,  2000, spd}},
      {"mhd1280b",         {   1280,     22778,   32,   9.91,     43, 1.00,  8,     4, spd}},
      {"helm_fem",         {  16384,    113666,    7,   0.35,    129, 1.00,  1,   128, symmetric}},
  });
  // clang-format on
}();

/// \brief The figures of the matrix with this name; InputError that lists the known names.
/// \ingroup problems
inline StandInFigures const& stand_in_figures(std::string_view name) {
  auto const found = std::find_if(named_stand_ins.begin(), named_stand_ins.end(),
                                  [&](NamedStandIn const& item) { return item.name == name; });
  if (found != named_stand_ins.end()) return found->figures;
  std::string message = "stand_in: there are no figures of '" + std::string(name) + "'; known are:";
  for (NamedStandIn const& item : named_stand_ins) message.append(" ").append(item.name);
  throw InputError(message);
}

}  // namespace Solder
