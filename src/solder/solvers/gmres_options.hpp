// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

#include <solder/core/report.hpp>

namespace Solder {

/// \brief How GMRES makes its basis orthogonal.
///
/// `cgs2`, the default: classical Gram-Schmidt, a second time where once was not enough; see
/// GmresReorthogonalisation.
/// `cgs`: classical Gram-Schmidt once: the fastest iteration; where it loses orthogonality a cycle
/// does less than its residual says, and the residual check restarts it.
/// `mgs`: modified Gram-Schmidt, a kernel for each vector of the basis: for comparison.
/// `pipelined`: paper 1's Algorithm 6, simpler GMRES with classical Gram-Schmidt once.
/// `flexible`: cgs2 for an M that varies from step to step (Saad 1993): all M v_j are kept.
enum class GmresForm {
  pipelined,  ///< simpler GMRES
  cgs,        ///< classical Gram-Schmidt, once
  cgs2,       ///< classical Gram-Schmidt, a second time where needed
  mgs,        ///< modified Gram-Schmidt
  flexible    ///< cgs2 for an M that varies
};

/// \brief All values, with their words.
constexpr auto words_of(GmresForm) {
  return std::array<Word<GmresForm>, 5>{{{GmresForm::pipelined, "pipelined"},
                                         {GmresForm::cgs, "cgs"},
                                         {GmresForm::cgs2, "cgs2"},
                                         {GmresForm::mgs, "mgs"},
                                         {GmresForm::flexible, "flexible"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(GmresForm form) { return word_of(form); }

/// \brief When cgs2 and flexible GMRES orthogonalise a second time in a step.
///
/// `lost`: where a bound on what the basis has lost of its orthogonality passes 1e-4 (in float
/// 3e-2), or the first round took all but a hundredth of ||w|| away: seldom. The residual may be as
/// much off, which the residual check corrects.
/// `halved`: where the first round took more than half of ||w||^2 away (Daniel, Gragg, Kaufman &
/// Stewart): orthogonal to rounding, in most steps of most systems.
///
/// With a basis in single precision (GmresBasis) the bound starts from that rounding; there `lost`
/// means that it passes 1, and two second rounds in succession reset it.
enum class GmresReorthogonalisation : std::int32_t {
  lost,   ///< where the basis has lost too much of its orthogonality
  halved  ///< where more than half of ||w||^2 was taken away
};

/// \brief All values, with their words.
constexpr auto words_of(GmresReorthogonalisation) {
  return std::array<Word<GmresReorthogonalisation>, 2>{
      {{GmresReorthogonalisation::lost, "lost"}, {GmresReorthogonalisation::halved, "halved"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(GmresReorthogonalisation when) { return word_of(when); }

/// \brief How the vectors of the basis are stored.
///
/// `same`, the default: in the scalar of A, as all other vectors.
/// `single`, for double and complex double, and not with `pipelined`: in float or complex float,
/// half the bytes. Arithmetic, sums, the small system and the residual check stay in double, as do
/// flexible GMRES's M v_j (Aliaga, Anzt, Gruetzmacher, Quintana-Orti & Tomas 2023), and the first
/// eight vectors of a cycle that may have to reduce the residual below the rounding of float.
enum class GmresBasis {
  same,   ///< in the scalar of A
  single  ///< in its single-precision counterpart
};

/// \brief All values, with their words.
constexpr auto words_of(GmresBasis) {
  return std::array<Word<GmresBasis>, 2>{
      {{GmresBasis::same, "same"}, {GmresBasis::single, "single"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(GmresBasis basis) { return word_of(basis); }

namespace Impl {
inline constexpr int most_restart = 1000;
}

/// \brief Options of Gmres.
struct GmresOptions : SolverOptions {
  GmresForm form = GmresForm::cgs2;  ///< how the basis is made orthogonal
  int restart = 30;                  ///< steps of a cycle, m; 1 to 1000
  /// When cgs2 and flexible orthogonalise a second time in a step.
  GmresReorthogonalisation reorthogonalisation = GmresReorthogonalisation::lost;
  GmresBasis basis = GmresBasis::same;  ///< how its vectors are stored

  /// \brief Names, ranges and purposes of the options; see core/options.hpp.
  static constexpr auto described() {
    return std::tuple(
        Option("form", &GmresOptions::form,
               "simpler GMRES (pipelined); classical Gram-Schmidt, never repeated (cgs) or if "
               "needed (cgs2); modified (mgs); cgs2 for a varying preconditioner (flexible)"),
        Option("restart", &GmresOptions::restart, from_to(1, Impl::most_restart),
               "steps of a cycle"),
        Option("reorthogonalisation", &GmresOptions::reorthogonalisation,
               "when a step repeats Gram-Schmidt: if orthogonality is being lost, or if ||w||^2 "
               "was halved")
            .only_with("form", GmresForm::cgs2, GmresForm::flexible)
            .formerly("second_round"),
        Option("basis", &GmresOptions::basis,
               "store the basis in the scalar of A, or in float (double scalars only)")
            .only_with("form", GmresForm::cgs2, GmresForm::cgs, GmresForm::mgs,
                       GmresForm::flexible));
  }
};

}  // namespace Solder
