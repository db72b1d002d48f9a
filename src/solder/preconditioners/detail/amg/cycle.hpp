// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <solder/core/application.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/detail/block_operator.hpp>
#include <solder/preconditioners/amg_options.hpp>
#include <solder/preconditioners/jacobi.hpp>

namespace Solder::Impl::amg {

template <class Scalar>
using Operator = CsrOperator<Scalar, std::int32_t>;

/// \brief A level's vector, followed by the correction from the next coarser level.
template <class Scalar>
struct WithCorrection {
  Scalar const *r, *e;
  std::int32_t length;  ///< entries of r

  KOKKOS_FORCEINLINE_FUNCTION Scalar operator[](std::int32_t j) const {
    return j < length ? r[j] : e[j - length];
  }
};

/// \brief D^-1, stored in Stored, for vectors of Scalar.
template <class Scalar, class Stored>
struct Diagonal {
  JacobiOperator<Stored> inverse;

  bool operator==(Diagonal const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(std::int32_t i, Scalar const& r) const {
    if constexpr (std::is_same_v<Scalar, Stored>)
      return inverse(i, r);
    else
      return Scalar(inverse(i, Stored(1))) * r;
  }
};

/// \brief w D^-1 r.
template <class Scalar, class Stored>
struct Scaled {
  typename ScalarTraits<Scalar>::Real weight;
  Diagonal<Scalar, Stored> inverse;
  Scalar const* r;

  bool operator==(Scaled const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION Scalar operator[](std::int32_t j) const {
    return weight * inverse(j, r[j]);
  }
};

/// \brief The rows of [S Q] [r; e]. Words: the matrix, and a row of each level.
template <class Scalar, class Stored, class Vector>
struct CorrectedRows {
  Operator<Stored> SQ;
  std::int32_t league, columns;
  Vector r;
  Scalar const* e;

  bool operator==(CorrectedRows const&) const = default;
  KOKKOS_FUNCTION std::int32_t teams() const { return league; }
  Rows dealt_rows() const { return SQ.rows; }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const& at,
                                                Prepare const& prepare,
                                                Consume const& consume) const {
    return SQ.for_each_row_product(
        team, WithCorrection<Scalar>{vector_at(r, at), e, SQ.rows.count * columns}, prepare,
        consume);
  }
};

/// \brief The rows of a cycle's result: `corrected`, or z if sweeps follow the correction.
template <class Scalar, class Stored, class Vector>
struct CycleRows {
  CorrectedRows<Scalar, Stored, Vector> corrected;
  Scalar const* z;  ///< null: no sweeps follow

  bool operator==(CycleRows const&) const = default;
  KOKKOS_FUNCTION std::int32_t teams() const { return corrected.league; }
  Rows dealt_rows() const { return corrected.SQ.rows; }
  static constexpr bool in_order() { return true; }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const& at,
                                                Prepare const& prepare,
                                                Consume const& consume) const {
    if (z == nullptr) return corrected.for_each_row(team, at, prepare, consume);
    return team.for_each_row(
        corrected.SQ.rows, [&](std::int32_t i) { return z[i]; }, prepare, consume);
  }
};

/// \brief The rows of A w D^-1 r. Words: the matrix, and 2 a row.
template <class Scalar, class Stored>
struct ScaledProduct {
  Operator<Stored> A;
  std::int32_t league;
  Scaled<Scalar, Stored> operand;

  bool operator==(ScaledProduct const&) const = default;
  KOKKOS_FUNCTION std::int32_t teams() const { return league; }
  Rows dealt_rows() const { return A.rows; }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const&, Prepare const& prepare,
                                                Consume const& consume) const {
    return A.for_each_row_product(team, operand, prepare, consume);
  }
};

/// \brief A sweep before the coarse grid, from one residual to the next: x += w D^-1 r,
/// r = r - A w D^-1 r, where the source hands out the product. Words: 5 a row.
template <class Scalar, class Stored>
struct SweepBefore {
  Scaled<Scalar, Stored> step;
  Scalar *next, *x;
  bool first;  ///< x is 0

  bool operator==(SweepBefore const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& product) const {
    next[i] = step.r[i] - product;
    x[i] = first ? step[i] : x[i] + step[i];
  }
};

/// \brief z = x + [S Q] [r; e], where the source hands out the product. Words: 1 or 2 a row.
template <class Scalar>
struct Corrected {
  Scalar const* x;  ///< null: 0
  Scalar* z;

  bool operator==(Corrected const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value) const {
    z[i] = x == nullptr ? value : x[i] + value;
  }
};

/// \brief What a stage does with a product A u that its source hands out. All share one body, so
/// that a kernel of a whole solve contains the product's code once and fits the instruction cache.
enum class Taken : std::int32_t {
  kept,        ///< to = A u
  correction,  ///< to = w A u, x += to
  residual,    ///< to = b - A u, and x = u if x is not null
  sweep        ///< to = u + w D^-1 (b - A u)
};

/// \brief Words: 1 to 4 a row.
template <class Scalar, class Stored>
struct Take {
  Taken how;
  bool first;  ///< x is 0
  typename ScalarTraits<Scalar>::Real weight;
  Diagonal<Scalar, Stored> inverse;
  Scalar const *b, *u;
  Scalar *to, *x;

  bool operator==(Take const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& product) const {
    if (how == Taken::kept) {
      to[i] = product;
    } else if (how == Taken::correction) {
      Scalar const step = weight * product;
      to[i] = step;
      x[i] = first ? step : x[i] + step;
    } else {
      Scalar const r = b[i] - product;
      to[i] = how == Taken::residual ? r : u[i] + weight * inverse(i, r);
      if (how == Taken::residual && x != nullptr) x[i] = u[i];
    }
  }
};

/// \brief A level in a program: matrices in Stored, vectors in Scalar.
template <class Scalar, class Stored>
struct Level {
  using Weights = Kokkos::Array<typename ScalarTraits<Scalar>::Real, most_sweeps>;

  Operator<Stored> QH, SQ, A;  ///< on the coarsest level SQ is S or the inverse; see Cycle
  Operator<Stored> G, GH;      ///< the factors of the smoother, if it is G^H G
  std::int32_t QH_league, SQ_league, A_league, G_league, GH_league;
  BlockOperator<Stored> QH_blocks, SQ_blocks;  ///< the same in blocks, for [b; e] in one vector
  std::int32_t QH_blocks_league, SQ_blocks_league;
  Diagonal<Scalar, Stored> inverse;
  Scalar *b, *z;
  Scalar *x, *r[2];       ///< x after the sweeps so far; residuals, double buffered
  Scalar *t, *y;          ///< G r, and a correction
  Scalar* kept;           ///< the result of the first pass, during the second
  Weights before, after;  ///< of the sweeps, counted from the coarse grid outwards

  bool operator==(Level const& other) const {
    for (int k = 0; k < most_sweeps; ++k)
      if (before[k] != other.before[k] || after[k] != other.after[k]) return false;
    return QH == other.QH && SQ == other.SQ && A == other.A && G == other.G && GH == other.GH &&
           QH_league == other.QH_league && SQ_league == other.SQ_league &&
           A_league == other.A_league && G_league == other.G_league &&
           GH_league == other.GH_league && inverse == other.inverse && b == other.b &&
           z == other.z && x == other.x && r[0] == other.r[0] && r[1] == other.r[1] &&
           t == other.t && y == other.y && kept == other.kept && QH_blocks == other.QH_blocks &&
           SQ_blocks == other.SQ_blocks && QH_blocks_league == other.QH_blocks_league &&
           SQ_blocks_league == other.SQ_blocks_league;
  }
  KOKKOS_FUNCTION bool is_in_blocks() const { return SQ_blocks.values != nullptr; }
};

/// \brief The path of a cycle through its levels.
struct Way {
  std::int32_t levels = 0;
  std::int32_t pre = 0, post = 0;  ///< sweeps before and after the coarse grid
  std::int32_t columns = 1;        ///< of the vectors
  bool in_blocks = false;          ///< level 0's products are taken in blocks
  bool direct = false;             ///< the coarsest level is solved by its inverse
  bool split = false;              ///< the smoother is G^H G, not the diagonal
  bool twice = false;              ///< each intermediate level is passed through twice

  bool operator==(Way const&) const = default;

  /// \brief Sweeps in addition to those that are merged with the coarse grid.
  KOKKOS_FUNCTION std::int32_t more_before() const { return pre > 1 ? pre - 1 : 0; }
  KOKKOS_FUNCTION std::int32_t more_after() const { return post > 1 ? post - 1 : 0; }
  /// \brief Whether a level takes two products and nothing else.
  KOKKOS_FUNCTION bool is_plain() const { return !split && pre <= 1 && post <= 1; }
  /// \brief Whether the last product hands out the cycle's rows, and the first one reads the given
  /// r directly.
  KOKKOS_FUNCTION bool hands_out() const { return is_plain() && !in_blocks; }

  /// \brief The residual after k sweeps with the diagonal.
  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION static auto const* residual(Level const& of, std::int32_t k) {
    return k == 0 ? of.b : of.r[k & 1];
  }
  /// \brief The residual that is restricted to the coarse grid.
  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION auto const* coarse_residual(Level const& of) const {
    return residual(of, !split ? more_before() : pre > 0 ? 2 : 0);
  }
  /// \brief Where a level's last sweep leaves its result.
  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION auto* result(Level const& of) const {
    return !split && more_after() % 2 == 0 ? of.z : of.x;
  }
  /// \brief The correction that the next coarser level computed for this one; null if there is
  /// none.
  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION auto const* correction(Level const* level, std::int32_t l) const {
    using Pointer = decltype(level->z);
    if (l + 1 == levels) return Pointer{};
    return l + 2 == levels && direct ? level[l + 1].z : result(level[l + 1]);
  }
};

/// \brief All levels, the finest first.
template <class Scalar, class Stored>
struct Levels : Way {
  Level<Scalar, Stored> level[most_levels];

  bool operator==(Levels const& other) const {
    if (!Way::operator==(other)) return false;
    for (int l = 0; l < levels; ++l)
      if (!(level[l] == other.level[l])) return false;
    return true;
  }
};

/// \brief A V- or W-cycle for r: the stages of all levels, down to the coarsest and up again. A
/// W-cycle that comes up to an intermediate level for the first time goes down from there again.
///
/// The innermost pair of sweeps x += w D^-1 (b - A x), directly before and after the coarse grid,
/// is merged with it. Started from x = 0, they compute x = v D^-1 r, e = (P^H A P)^-1 P^H (r - A
/// x), x = x + P e + w D^-1 (r - A (x + P e)), that is
///
///     x = S r + Q_w e,  e = (P^H A P)^-1 Q_v^H r,
///     S = (v + w) D^-1 - v w D^-1 A D^-1,  Q_w = (I - w D^-1 A) P
///
/// so that a level takes just two products: one with Q_v^H on the way down, one with [S Q_w] on the
/// way up. Without the sweep before, v = 0; without the sweep after, w = 0. Other sweeps run before
/// and after these, and each takes a product with A.
///
/// On hosts Q_v^H and [S Q_w] of a level may be in blocks, too, for vectors of one column, with
/// [r; e] in one vector.
///
/// With G^H G in place of D^-1, each sweep and the coarse grid are corrections y: x += y, r -= A y.
/// A sweep takes three products, and the coarse grid takes those with P^H, P and A.
template <class Scalar, class Stored, class Vector>
struct Cycle : Levels<Scalar, Stored> {
  static constexpr bool goes_through_rows = true;

  using Here = Level<Scalar, Stored>;
  using Plain = Product<Operator<Stored>, Scalar const*>;
  using Blocks = Product<BlockOperator<Stored>, Scalar const*>;
  using Levels<Scalar, Stored>::level;

  Phase phase;
  Vector given;

  bool operator==(Cycle const&) const = default;

  SOLDER_FOR_HOST_OR_DEVICE
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_stage(At const& at, F const& f) const {
    Way const way = *this;  // in registers: a kernel of the whole solve loads it once per cycle
    if (!way.hands_out())
      f(kernel("Solder::amg::begin", PlacedRange<Vector>{level[0].A.rows, level[0].A_league, given},
               keep(level[0].b)),
        at);
    std::int32_t const coarsest = way.levels - 1;
    std::uint32_t again = 0;  // a bit for each level that is in its second pass
    // One loop for both directions, so that each stage is compiled only once.
    for (std::int32_t l = 0, down = 1;;) {
      Here const& here = level[l];
      bool const is_last = l == coarsest, is_solved = is_last && way.direct,
                 goes_down = down != 0 && !is_last,
                 comes_again = way.twice && down == 0 && l > 0 && (again >> l & 1) == 0,
                 by_blocks = is_for_host<F> && here.is_in_blocks();
      if (!way.split && !is_solved) {
        for (std::int32_t k = 1; k <= way.more_before() && down != 0; ++k) {
          Scaled<Scalar, Stored> const step{here.before[k], here.inverse,
                                            Way::residual(here, k - 1)};
          f(kernel("Solder::amg::sweep_before",
                   ScaledProduct<Scalar, Stored>{here.A, here.A_league, step},
                   SweepBefore<Scalar, Stored>{step, here.r[k & 1], here.x, k == 1}),
            at);
        }
        if (l == 0 && way.hands_out()) {
          if (!goes_down) return;  // rows() hands it out
          f(kernel("Solder::amg::restrict",
                   Product<Operator<Stored>, Vector>{here.QH, here.QH_league, given},
                   keep(level[1].b)),
            at);
        } else if (by_blocks) {
          if constexpr (is_for_host<F>)
            f(kernel(goes_down ? "Solder::amg::restrict" : "Solder::amg::correct",
                     goes_down ? Blocks{here.QH_blocks, here.QH_blocks_league, here.b}
                               : Blocks{here.SQ_blocks, here.SQ_blocks_league, here.b},
                     keep(goes_down ? level[l + 1].b : here.z)),
              at);
        } else if (!goes_down) {
          f(kernel("Solder::amg::correct",
                   CorrectedRows<Scalar, Stored, Scalar const*>{
                       here.SQ, here.SQ_league, way.columns, Way::residual(here, way.more_before()),
                       way.correction(level, l)},
                   Corrected<Scalar>{way.more_before() > 0 ? here.x : nullptr, here.z}),
            at);
        }
      }
      std::int32_t const own = own_products(way, is_last, goes_down),
                         more = goes_down ? (l > 0 || !way.hands_out()) && !by_blocks : comes_again;
      for (std::int32_t k = 0; k < own + more; ++k) {
        PlainStep const step = k < own     ? own_product(way, l, down != 0, k)
                               : goes_down ? restriction(way, l)
                                           : coming_again(way, here);
        f(kernel(step.label, Plain{*step.A, step.league, step.take.u}, step.take), at);
      }
      if (goes_down) {
        ++l;
        continue;
      }
      if (l == 0) return;
      if (way.twice && !is_last) {
        Scalar* const x = way.result(here);
        if (!comes_again)
          f(kernel("Solder::amg::both",
                   PlacedRange<Scalar const*>{here.A.rows, here.A_league, here.kept},
                   Corrected<Scalar>{x, x}),
            at);
        again ^= 1u << l;
      }
      down = comes_again ? 1 : 0;
      l -= 1 - down;
    }
  }

  CycleRows<Scalar, Stored, Vector> rows() const {
    Way const way = *this;
    return {{level[0].SQ, level[0].SQ_league, way.columns, given, way.correction(level, 0)},
            way.hands_out() ? nullptr : way.result(level[0])};
  }

 private:
  template <class Source, class Body>
  KOKKOS_FORCEINLINE_FUNCTION Stage<Source, Body> kernel(char const* label, Source const& source,
                                                         Body const& body) const {
    return {label, phase, source, body};
  }
  KOKKOS_FORCEINLINE_FUNCTION static StoreBody<Scalar, Scalar*> keep(Scalar* to) { return {to}; }

  /// A product with a vector of a level, and what is done with it.
  struct PlainStep {
    char const* label;
    Operator<Stored> const* A;
    std::int32_t league;
    Take<Scalar, Stored> take;
  };

  KOKKOS_FORCEINLINE_FUNCTION static PlainStep kept(char const* label, Operator<Stored> const& A,
                                                    std::int32_t league, Scalar const* u,
                                                    Scalar* to) {
    return {label, &A, league, {Taken::kept, false, 0, {}, nullptr, u, to, nullptr}};
  }
  KOKKOS_FORCEINLINE_FUNCTION PlainStep restriction(Way const& way, std::int32_t l) const {
    return kept("Solder::amg::restrict", level[l].QH, level[l].QH_league,
                way.coarse_residual(level[l]), level[l + 1].b);
  }
  /// Prepares the second pass: its right-hand side b - A x, and a copy of x.
  KOKKOS_FORCEINLINE_FUNCTION static PlainStep coming_again(Way const& way, Here const& here) {
    return {"Solder::amg::again",
            &here.A,
            here.A_league,
            {Taken::residual, false, 0, {}, here.b, way.result(here), here.b, here.kept}};
  }

  /// The products of a level on the way down or up, not counting the restriction.
  KOKKOS_FORCEINLINE_FUNCTION static std::int32_t own_products(Way const& way, bool is_last,
                                                               bool goes_down) {
    if (is_last && way.direct) return 1;
    if (!way.split) return goes_down ? 0 : way.more_after();
    // Three per sweep, and two with the coarse grid; the last sweep leaves no residual.
    if (goes_down) return 3 * way.pre;
    return 3 * (way.post + (is_last ? way.pre : 0)) - 1 + (is_last ? 0 : 2);
  }
  /// Product k of these: on the way down to the next level, or up from it. The coarsest level does
  /// both at once.
  KOKKOS_FORCEINLINE_FUNCTION PlainStep own_product(Way const& way, std::int32_t l, bool down,
                                                    std::int32_t k) const {
    Here const& here = level[l];
    bool const is_last = l + 1 == way.levels;
    if (is_last && way.direct)
      return kept("Solder::amg::coarsest", here.SQ, here.SQ_league, here.b, here.z);
    if (!way.split) {
      bool const from_z = k % 2 == 0;
      return {"Solder::amg::sweep_after",
              &here.A,
              here.A_league,
              {Taken::sweep, false, here.after[way.more_after() - k], here.inverse, here.b,
               from_z ? here.z : here.x, from_z ? here.x : here.z, nullptr}};
    }
    // A turn is a sweep or the coarse grid. Its parts: 0 is G r, 1 the correction, 2 the residual.
    std::int32_t const before = down ? 3 * way.pre : 0, with_coarse = down ? 0 : 2;
    bool const is_before = k < before, of_coarse = !is_before && k < before + with_coarse;
    std::int32_t const within = is_before ? k : k - before - with_coarse,
                       turn = of_coarse ? 0 : within / 3, part = of_coarse ? k + 1 : within % 3;
    // Whether x and r[0] are already set.
    bool const is_begun = turn > 0 || (!is_before && (way.pre > 0 || !(is_last || of_coarse)));
    Scalar const* const r = is_begun ? here.r[0] : here.b;
    if (part == 0) return kept("Solder::amg::factor", here.G, here.G_league, r, here.t);
    if (part == 2)
      return {"Solder::amg::residual",
              &here.A,
              here.A_league,
              {Taken::residual, false, 0, {}, r, here.y, here.r[0], nullptr}};
    auto const weight = of_coarse   ? 1
                        : is_before ? here.before[way.pre - 1 - turn]
                                    : here.after[turn];
    return {"Solder::amg::correction",
            of_coarse ? &here.SQ : &here.GH,
            of_coarse ? here.SQ_league : here.GH_league,
            {Taken::correction,
             !is_begun,
             weight,
             {},
             nullptr,
             of_coarse ? way.correction(level, l) : here.t,
             here.y,
             here.x}};
  }
};

/// \brief A multigrid cycle in a program; see Application.
/// \tparam Stored the scalar of the hierarchy's matrices
template <class Scalar, class Stored>
struct Opened {
  static constexpr bool is_identity = false, is_pointwise = false, is_split = false,
                        takes_columns = true;

  Levels<Scalar, Stored> levels;
  Rows dealt;

  Rows rows(Rows const&) const { return dealt; }

  /// \param r_given a pointer, or a Place
  template <class Vector>
  auto apply(Phase phase, Vector const& r_given) const {
    auto const r = as_read(r_given);
    Cycle<Scalar, Stored, std::remove_const_t<decltype(r)>> const cycle{levels, phase, r};
    return application(program(cycle), cycle.rows());
  }
};

}  // namespace Solder::Impl::amg
