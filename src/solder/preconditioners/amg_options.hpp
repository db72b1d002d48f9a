// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <solder/core/options.hpp>

namespace Solder {

/// \brief The sweeps of a level. `jacobi`: damped, every sweep alike. `chebyshev`: the sweeps'
/// weights are the inverse roots of a Chebyshev polynomial. `fsai`: those of `chebyshev`, with a
/// factorised sparse approximate inverse of each level's matrix in place of its diagonal's. With
/// air, sweeps are for fine rows alone, and `fsai` is refused.
enum class AmgSmoother {
  jacobi,     ///< damped Jacobi
  chebyshev,  ///< a Chebyshev polynomial in D^-1 A
  fsai        ///< a Chebyshev polynomial in G^H G A
};

/// \brief All values, with their words.
constexpr auto words_of(AmgSmoother) {
  return std::array<Word<AmgSmoother>, 3>{{{AmgSmoother::jacobi, "jacobi"},
                                           {AmgSmoother::chebyshev, "chebyshev"},
                                           {AmgSmoother::fsai, "fsai"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(AmgSmoother smoother) { return word_of(smoother); }

/// \brief How levels are coarsened. `automatic`: aggregation or air, as A suggests: see
/// Impl::amg::choose_interpolation. `aggregation`: smoothed aggregation, for Hermitian positive
/// definite matrices. `extended`: classical interpolation of distance two, for such matrices whose
/// strong couplings are negative (or complex). `air`: approximate ideal restriction, for
/// nonsymmetric ones.
enum class AmgInterpolation {
  automatic,    ///< aggregation, or air for a nonsymmetric matrix
  aggregation,  ///< smoothed aggregation
  extended,     ///< classical, of distance two
  air           ///< approximate ideal restriction
};

/// \brief All values, with their words.
constexpr auto words_of(AmgInterpolation) {
  return std::array<Word<AmgInterpolation>, 4>{{{AmgInterpolation::automatic, "auto"},
                                                {AmgInterpolation::aggregation, "aggregation"},
                                                {AmgInterpolation::extended, "extended"},
                                                {AmgInterpolation::air, "air"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(AmgInterpolation interpolation) {
  return word_of(interpolation);
}

/// \brief How often a cycle goes through a level between the finest and the coarsest each time that
/// it reaches it: `v` once, `w` twice.
enum class AmgCycle {
  v,  ///< once
  w   ///< twice
};

/// \brief All values, with their words.
constexpr auto words_of(AmgCycle) {
  return std::array<Word<AmgCycle>, 2>{{{AmgCycle::v, "v"}, {AmgCycle::w, "w"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(AmgCycle cycle) { return word_of(cycle); }

namespace Impl::amg {

/// \brief The most levels of a cycle, and the most sweeps before or after the coarse grid.
inline constexpr int most_levels = 16, most_sweeps = 8;

/// \brief The most rows of a level that is inverted.
inline constexpr std::int32_t most_inverted = 1000;

/// \brief The most vectors of a near-nullspace, or unknowns of a node.
inline constexpr std::int32_t most_modes = 32;

}  // namespace Impl::amg

/// \brief Options of Amg.
struct AmgOptions {
  AmgInterpolation interpolation = AmgInterpolation::automatic;  ///< how levels are coarsened
  /// A coupling is strong if it has at least this share of the largest, in the geometric mean of
  /// both rows (aggregation) or of its row (extended, where positive entries are weak, and air);
  /// 0 to 1.
  double strength = 0.25;
  AmgSmoother smoother = AmgSmoother::chebyshev;  ///< the sweeps of a level
  AmgCycle cycle = AmgCycle::v;                   ///< how often the levels are gone through
  /// Sweeps before and after the coarse grid, not both 0. Where they differ the cycle is not
  /// Hermitian: not for CG.
  int pre = 1,
      post = 1;                        ///< sweeps after the coarse grid; see pre
  int max_levels = 16;                 ///< levels at most, A's own included; 2 to 16
  std::int32_t max_coarse_size = 128;  ///< rows up to which a level is inverted; 1 to 1000
  /// Unknowns of a node, which follow one another, such as the displacements of a point: they
  /// aggregate as one; a divisor of the rows.
  std::int32_t block_size = 1;

  /// \brief Names, ranges and purposes of the options; see core/options.hpp.
  static constexpr auto described() {
    return std::tuple(
        Option(
            "interpolation", &AmgOptions::interpolation,
            "aggregation: smoothed aggregation; extended: classical multigrid; both for positive "
            "definite matrices; air: approximate ideal restriction, for nonsymmetric ones, not "
            "with cg and block_cg; auto: aggregation, or air if A is far from symmetric"),
        Option("strength", &AmgOptions::strength, from_to(0, 1),
               "an entry is strong from this share of the largest in its row on; with aggregation, "
               "of the geometric mean of the largest in both rows"),
        Option("smoother", &AmgOptions::smoother,
               "damped Jacobi, or a Chebyshev polynomial over Jacobi (chebyshev) or over an "
               "approximate inverse (fsai)"),
        Option("cycle", &AmgOptions::cycle,
               "w visits each level between the first and the last twice"),
        Option("pre", &AmgOptions::pre, from_to(0, Impl::amg::most_sweeps),
               "sweeps of the smoother before the coarser level"),
        Option("post", &AmgOptions::post, from_to(0, Impl::amg::most_sweeps),
               "sweeps after it; default: as many as pre, which cg and block_cg need")
            .as("pre"),
        Option("max_levels", &AmgOptions::max_levels, from_to(2, Impl::amg::most_levels),
               "number of levels, A included, at most")
            .formerly("levels"),
        Option("max_coarse_size", &AmgOptions::max_coarse_size,
               from_to(1, Impl::amg::most_inverted),
               "a level with at most this many rows is inverted instead of coarsened")
            .formerly("coarsest"),
        Option("block_size", &AmgOptions::block_size, from_to(1, Impl::amg::most_modes),
               "unknowns per node, numbered consecutively and aggregated together")
            .only_with("near_nullspace", std::string_view("constant")));
  }
};

namespace Impl::amg {

/// \brief Whether these options leave the interpolation to the matrix: a near-nullspace, nodes and
/// sweeps of `fsai` are for aggregation.
constexpr bool looks_at_matrix(AmgOptions const& options, bool has_modes) {
  return options.interpolation == AmgInterpolation::automatic && !has_modes &&
         options.block_size == 1 && options.smoother != AmgSmoother::fsai;
}

/// \brief Whether the cycle is for Hermitian matrices alone, and keeps them so.
constexpr bool is_for_hermitian(AmgOptions const& options, bool has_modes) {
  return options.interpolation != AmgInterpolation::air && !looks_at_matrix(options, has_modes);
}

/// \brief Why there is no cycle of some options, or no symmetric one.
struct CycleFailure {
  std::string_view key;  ///< the option's
  std::string text;      ///< a sentence without a full stop
};

/// \brief All reasons why there is no cycle of these options, or no symmetric one.
/// \param section of the options, for people: "preconditioner."
/// \param symmetric_for the solver that needs a symmetric cycle; empty: none does
/// \param has_modes whether a near-nullspace is given
inline std::vector<CycleFailure> cycle_failures(AmgOptions const& options,
                                                std::string const& section,
                                                std::string const& symmetric_for, bool has_modes) {
  std::vector<CycleFailure> failures;
  if (options.pre + options.post == 0)
    failures.push_back({"pre", section + "pre and " + section +
                                   "post are both 0: a cycle needs at least one sweep"});
  auto const refuse = [&](std::string const& what) {
    failures.push_back({"interpolation", section + "interpolation is " +
                                             std::string(to_string(options.interpolation)) + ": " +
                                             what});
  };
  bool const is_air = options.interpolation == AmgInterpolation::air;
  if (is_air || options.interpolation == AmgInterpolation::extended) {
    if (has_modes)
      refuse("near_nullspace: rigid_body is for aggregation only; leave near_nullspace constant");
    if (options.block_size != 1)
      refuse("block_size is for aggregation only; it must be 1, not " +
             std::to_string(options.block_size));
  }
  if (is_air && options.smoother == AmgSmoother::fsai)
    refuse("its smoother must be jacobi or chebyshev, not fsai");
  if (is_air && !symmetric_for.empty())
    refuse("its cycle is not symmetric, as " + symmetric_for +
           " needs it; take gmres, bicgstab or idr, or aggregation");
  if (!symmetric_for.empty() && options.pre != options.post)
    failures.push_back({"post", section + "pre is " + std::to_string(options.pre) + " and " +
                                    section + "post " + std::to_string(options.post) + ": for " +
                                    symmetric_for +
                                    ", which needs a symmetric cycle, they must be equal"});
  return failures;
}

}  // namespace Impl::amg

}  // namespace Solder
