// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include <solder/core/options.hpp>

namespace Solder {

/// \brief In which order, and in which groups, the rows of a triangular matrix are solved.
enum class TriangularSchedule : std::int32_t {
  automatic,  ///< the one that the model of paper 3, (5), followed tile by tile, says is quickest
  natural,    ///< rows that follow each other share a tile
  levels,     ///< tiles of rows of one level, which need nothing of each other: most concurrency
  partition   ///< tiles of rows that need each other: most locality
};

/// \brief All values, with their words.
constexpr auto words_of(TriangularSchedule) {
  return std::array<Word<TriangularSchedule>, 4>{{{TriangularSchedule::automatic, "auto"},
                                                  {TriangularSchedule::natural, "natural"},
                                                  {TriangularSchedule::levels, "levels"},
                                                  {TriangularSchedule::partition, "partition"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(TriangularSchedule schedule) { return word_of(schedule); }

/// \brief In which order an incomplete factorisation eliminates.
enum class Ordering : std::int32_t {
  automatic,    ///< see ordering_of()
  natural,      ///< as the matrix has it
  rcm,          ///< reverse Cuthill-McKee: a narrow band
  multicolour,  ///< rows without common entries together: as few levels as there are colours
  amd           ///< approximate minimum degree: little fill
};

/// \brief All values, with their words.
constexpr auto words_of(Ordering) {
  return std::array<Word<Ordering>, 5>{{{Ordering::automatic, "auto"},
                                        {Ordering::natural, "natural"},
                                        {Ordering::rcm, "rcm"},
                                        {Ordering::multicolour, "multicolour"},
                                        {Ordering::amd, "amd"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(Ordering ordering) { return word_of(ordering); }

/// \brief Which entries the factors have, and what is asked of their pivots.
enum class Factorisation : std::int32_t {
  ic0,   ///< those of A, for a Hermitian positive definite A: positive pivots, with a shift if
         ///< needed
  ilu0,  ///< those of A, for any A: pivots that are not zero
  ick,   ///< fill up to a level, for a Hermitian positive definite A
  iluk,  ///< fill up to a level, for any A
  ict,   ///< fill that is not small, for a Hermitian positive definite A
  ilut   ///< fill that is not small, for any A
};

/// \brief All values, with their words.
constexpr auto words_of(Factorisation) {
  return std::array<Word<Factorisation>, 6>{{{Factorisation::ic0, "ic0"},
                                             {Factorisation::ilu0, "ilu0"},
                                             {Factorisation::ick, "ick"},
                                             {Factorisation::iluk, "iluk"},
                                             {Factorisation::ict, "ict"},
                                             {Factorisation::ilut, "ilut"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(Factorisation kind) { return word_of(kind); }
/// \brief Whether it is for Hermitian positive definite matrices alone, as M then is.
constexpr bool is_hermitian(Factorisation kind) {
  return kind == Factorisation::ic0 || kind == Factorisation::ick || kind == Factorisation::ict;
}

/// \brief Whether the factors may have entries that A has not.
constexpr bool has_fill(Factorisation kind) {
  return kind != Factorisation::ic0 && kind != Factorisation::ilu0;
}
/// \brief The factorisation with the same fill that takes any matrix.
constexpr Factorisation for_any_matrix(Factorisation kind) {
  return kind == Factorisation::ic0   ? Factorisation::ilu0
         : kind == Factorisation::ick ? Factorisation::iluk
         : kind == Factorisation::ict ? Factorisation::ilut
                                      : kind;
}

/// \brief How the factors are applied.
enum class Trisolve : std::int32_t {
  exact,  ///< by triangular solves, in which rows wait for each other
  jacobi  ///< by a few sweeps of Jacobi's iteration for each triangle: products, which wait for
          ///< none
};

/// \brief All values, with their words.
constexpr auto words_of(Trisolve) {
  return std::array<Word<Trisolve>, 2>{{{Trisolve::exact, "exact"}, {Trisolve::jacobi, "jacobi"}}};
}
/// \brief The word of a value.
constexpr std::string_view to_string(Trisolve trisolve) { return word_of(trisolve); }

/// \brief Options of Incomplete.
struct IncompleteOptions {
  TriangularSchedule schedule = TriangularSchedule::automatic;  ///< of exact solves
  Ordering ordering = Ordering::automatic;                      ///< in which rows are eliminated
  int level = 1;  ///< of fill, at most: ick and iluk; 0: the pattern of A
  /// Smaller entries are left out: relative to the mean |a_ij| of A's row (ilut), or to
  /// sqrt(|a_ii a_jj|) (ict).
  double drop_tolerance = 1e-3;
  double fill_factor = 10;  ///< with fill: entries of the factors per entry of A, at most
  /// ic0, ick and ict, where a pivot is not positive: A + shift diag(A) is factorised instead, with
  /// this shift, which is doubled up to nine times. 0: never.
  double shift = 1e-3;
  /// Sweeps of Chow's and Patel's fine-grained iteration for the factors, from A on, instead of
  /// their elimination; 0: elimination. Some 3 to 5 make good factors; each takes the time of a few
  /// products where rows are short, and of more where they are long.
  int sweeps = 0;
  Trisolve trisolve = Trisolve::exact;  ///< how the factors are applied
  int trisolve_sweeps = 3;              ///< of each triangle where trisolve is jacobi
  /// With `ordering: amd`, and not over ranks: A's rows in the order of elimination, where one that
  /// reduces fill is known already (METIS's, for example); null: it is found. Other orderings pass
  /// it over. A refresh with another pattern takes it, too: then it must have as many rows.
  std::shared_ptr<std::vector<std::int32_t> const> order{};

  /// \brief Whether all options are equal, and `order` is the same object.
  bool operator==(IncompleteOptions const&) const = default;

  /// \brief Names, ranges and purposes of the options; see core/options.hpp.
  static constexpr auto described() {
    return std::tuple(
        Option("level", &IncompleteOptions::level, from_to(0, 100),
               "highest fill level; 0: the pattern of A")
            .only_with("name", Factorisation::ick, Factorisation::iluk),
        Option("drop_tolerance", &IncompleteOptions::drop_tolerance, from_to(0, 1),
               "entries below this size, relative to their row of A, are dropped")
            .only_with("name", Factorisation::ict, Factorisation::ilut),
        Option("fill_factor", &IncompleteOptions::fill_factor, from_to(1, 1000),
               "entries of the factors per entry of A, at most")
            .only_with("name", Factorisation::ick, Factorisation::iluk, Factorisation::ict,
                       Factorisation::ilut),
        Option("ordering", &IncompleteOptions::ordering,
               "of elimination: that of the matrix, reverse Cuthill-McKee, by colours, or "
               "approximate minimum degree, for little fill; auto: by colours for ic0 on GPUs, "
               "minimum degree for ilut, and for ick and ict if A has a dense row, else that of "
               "the matrix"),
        Option("schedule", &IncompleteOptions::schedule,
               "how the rows of the triangular solves are grouped; auto: by a model of the time")
            .only_with("trisolve", Trisolve::exact),
        Option("shift", &IncompleteOptions::shift, from_to(0, 1),
               "share of the diagonal that is added if a pivot is not positive; doubled up to nine "
               "times; 0: never")
            .only_with("name", Factorisation::ic0, Factorisation::ick, Factorisation::ict),
        Option("sweeps", &IncompleteOptions::sweeps, from_to(0, 100),
               "fixed-point sweeps that compute the factors; 0: elimination"),
        Option("trisolve", &IncompleteOptions::trisolve,
               "how the factors are applied: exact triangular solves, or Jacobi sweeps"),
        Option("trisolve_sweeps", &IncompleteOptions::trisolve_sweeps, from_to(1, 100),
               "Jacobi sweeps for each triangle, a product with it each")
            .only_with("trisolve", Trisolve::jacobi));
  }
};

/// \brief The order of elimination that is taken, which is never `automatic`. (The set-up
/// knows A better: natural if A is triangular, and amd for ick and ict if A has a dense row.)
///
/// By colours, ic0 takes more iterations, and its triangular solves have few levels, which a GPU
/// needs: on 72 real matrices on an H200 CG converges for the same 53, in 0.51 of the time. GMRES
/// with ilu0 converges for fewer matrices, and hosts gain nothing
/// (docs/performance/triangular.md). Sweeps have no levels. GMRES with ilut takes 0.70 of the time
/// with minimum degree, on 82 real matrices, and solves three more; on hosts iluk, ick and ict take
/// more (docs/performance/defaults.md).
inline Ordering ordering_of(Factorisation kind, IncompleteOptions const& options, bool on_host) {
  if (options.ordering != Ordering::automatic) return options.ordering;
  if (kind == Factorisation::ilut) return Ordering::amd;
  bool const by_levels = !on_host && kind == Factorisation::ic0 && options.sweeps == 0 &&
                         options.trisolve == Trisolve::exact &&
                         options.schedule == TriangularSchedule::automatic;
  return by_levels ? Ordering::multicolour : Ordering::natural;
}

}  // namespace Solder
