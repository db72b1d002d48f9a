// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include <solder/core/options.hpp>

namespace Solder {

/// \brief Whether a preconditioner is made of A with scaled rows and columns.
enum class Scale : std::int32_t {
  none,        ///< of A as it is
  equilibrate  ///< by powers of two, so that the largest entry of each row and column is near 1
};

/// \brief All values, with their words.
constexpr auto words_of(Scale) {
  return std::array<Word<Scale>, 2>{{{Scale::none, "none"}, {Scale::equilibrate, "equilibrate"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(Scale scale) { return word_of(scale); }

/// \brief Whether a preconditioner is made of A with permuted rows.
enum class Match : std::int32_t {
  none,    ///< of A as it is
  product  ///< the product of the diagonal entries becomes as large as it can
};

/// \brief All values, with their words.
constexpr auto words_of(Match) {
  return std::array<Word<Match>, 2>{{{Match::none, "none"}, {Match::product, "product"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(Match match) { return word_of(match); }

/// \brief Options of Scaling.
struct ScalingOptions {
  Scale scale = Scale::none;  ///< of rows and columns
  Match match = Match::none;  ///< of rows to columns
  /// Rows and columns are scaled by the same factors, so that a Hermitian A stays Hermitian.
  bool is_symmetric = false;

  /// \brief Whether all options are equal.
  bool operator==(ScalingOptions const&) const = default;
  /// \brief Whether anything is to be done.
  bool is_wanted() const { return scale != Scale::none || match != Match::none; }

  /// \brief Names and purposes of the options; see core/options.hpp. The rest is the solver's.
  static constexpr auto described() {
    return std::tuple(
        Option("scale", &ScalingOptions::scale,
               "make the preconditioner of A with rows and columns scaled by powers of two; "
               "equilibrate: the largest entry of each is near 1"),
        Option(
            "match", &ScalingOptions::match,
            "make the preconditioner of A with permuted rows; product: the product of the diagonal "
            "entries is as large as possible"));
  }
};

namespace Impl {

/// \brief Why match: product is refused with the preconditioner auto.
inline constexpr char auto_matches[] =
    "match: the preconditioner auto decides on matching itself; leave match out, or name a "
    "preconditioner";
/// \brief Why it is refused with a solver or a preconditioner for Hermitian matrices.
inline std::string unfit_for_matching(std::string const& who) {
  return "match: product permutes rows but not columns, so the matrix is no longer Hermitian, as " +
         who + " needs it: take match: none, or gmres with ilut";
}

}  // namespace Impl

}  // namespace Solder
