// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <limits>
#include <string_view>
#include <tuple>

#include <solder/core/options.hpp>

namespace Solder {

/// \brief Options of Fsai.
struct FsaiOptions {
  /// An off-diagonal a_ij takes part in the pattern where |a_ij| > tau sqrt(|a_ii a_jj|).
  double tau = 0.05;
  /// Steps B <- Low(B A) of the pattern, from the identity (paper 2, 3.9); 0: diagonal.
  int k = 2;
  /// Entries of G of at most delta times the norm of their row are dropped.
  double delta = 0.05;
  /// delta is halved for a row until eps A eps^H, eps being what it loses, is no more than this;
  /// g A g^H = 1 before. Infinite: the paper's postfiltration.
  double energy_limit = 0.03;

  /// Grow each row's pattern where it helps most instead; tau and k are not used then.
  bool adaptive = false;
  int steps = 5;              ///< at most, of growth
  int entries_per_step = 8;   ///< that a row grows by
  double improvement = 3e-2;  ///< growth that reduces the row's Kaporin number by less is the last

  /// A row of G that has more entries after all this keeps its diagonal entry and the largest
  /// others (of equal ones, those nearest to the diagonal), and is scaled again. 0: no limit.
  int max_row_entries = 0;

  /// \brief Whether all options are equal.
  bool operator==(FsaiOptions const&) const = default;

  /// \brief Names, ranges and purposes of the options; see core/options.hpp.
  static constexpr auto described() {
    constexpr std::string_view fixed = "static", grown = "adaptive";
    return std::tuple(
        Option("pattern", &FsaiOptions::adaptive, Flag{fixed, grown},
               "of the factor: a power of A, or grown row by row where that helps most"),
        Option("tau", &FsaiOptions::tau, from_to(0, 1),
               "entries of A up to tau sqrt(a_ii a_jj) are ignored for the pattern")
            .only_with("pattern", fixed),
        Option("k", &FsaiOptions::k, from_to(0, 100),
               "power of A that gives the pattern; 0: the diagonal")
            .only_with("pattern", fixed),
        Option("steps", &FsaiOptions::steps, from_to(0, 1000),
               "times that a row's pattern grows, at most")
            .only_with("pattern", grown),
        Option("entries_per_step", &FsaiOptions::entries_per_step, from_to(1, 1000),
               "entries by which a row grows each time")
            .only_with("pattern", grown),
        Option("improvement", &FsaiOptions::improvement, from_to(0, 1),
               "a row stops growing when a step reduces its Kaporin number by this share or less")
            .only_with("pattern", grown),
        Option("delta", &FsaiOptions::delta, from_to(0, 1),
               "entries of the factor up to delta times the norm of their row are dropped"),
        Option("energy_limit", &FsaiOptions::energy_limit, at_least(0),
               "delta is halved for a row until its dropped entries eps have eps A eps^H of at "
               "most this"),
        Option("max_row_entries", &FsaiOptions::max_row_entries,
               from_to(0, std::numeric_limits<int>::max()),
               "number of entries that a row of the factor keeps, the largest; 0: all"));
  }
};

}  // namespace Solder
