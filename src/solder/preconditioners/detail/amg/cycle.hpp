// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <solder/core/application.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/jacobi.hpp>

namespace Solder::Impl::amg {

/// \brief Levels, and sweeps before and after the coarse grid, that a cycle may have.
inline constexpr int most_levels = 16, most_sweeps = 8;

template <class Scalar>
using Operator = CsrOperator<Scalar, std::int32_t>;

/// \brief A level's vector, and behind it the correction of the next coarser level.
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

/// \brief The result of a cycle: these rows, or, where sweeps came after them, those of z.
template <class Scalar, class Stored, class Vector>
struct CycleRows {
  CorrectedRows<Scalar, Stored, Vector> corrected;
  Scalar const* z;  ///< null: it is not there

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

/// \brief A sweep before, from a residual to the next one: x += w D^-1 r, r = r - A w D^-1 r, the
/// product being handed out. Words: 5 a row.
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

/// \brief z = x + [S Q] [r; e], the product being handed out. Words: 1 or 2 a row.
template <class Scalar>
struct Corrected {
  Scalar const* x;  ///< null: 0
  Scalar* z;

  bool operator==(Corrected const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value) const {
    z[i] = x == nullptr ? value : x[i] + value;
  }
};

/// \brief A sweep after: x = z + w D^-1 (b - A z), A z being handed out. Words: 4 a row.
template <class Scalar, class Stored>
struct SweepAfter {
  typename ScalarTraits<Scalar>::Real weight;
  Diagonal<Scalar, Stored> inverse;
  Scalar const *b, *z;
  Scalar* x;

  bool operator==(SweepAfter const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& Az) const {
    x[i] = z[i] + weight * inverse(i, b[i] - Az);
  }
};

/// \brief y = w v, x += y, v being handed out. Words: 2 or 3 a row.
template <class Scalar>
struct Corrects {
  typename ScalarTraits<Scalar>::Real weight;
  Scalar *y, *x;
  bool first;  ///< x is 0

  bool operator==(Corrects const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& v) const {
    Scalar const step = weight * v;
    y[i] = step;
    x[i] = first ? step : x[i] + step;
  }
};

/// \brief r = b - A y, the product being handed out. Words: 2 a row, and 2 where y is kept.
template <class Scalar>
struct Residual {
  Scalar const *b, *y;
  Scalar *r, *kept;  ///< kept: y, null: nowhere

  bool operator==(Residual const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& Ay) const {
    r[i] = b[i] - Ay;
    if (kept != nullptr) kept[i] = y[i];
  }
};

/// \brief A level in a program: matrices in Stored, vectors in Scalar.
template <class Scalar, class Stored>
struct Level {
  using Weights = Kokkos::Array<typename ScalarTraits<Scalar>::Real, most_sweeps>;

  Operator<Stored> QH, SQ, A;  ///< of the coarsest level SQ is S, or the inverse; see Cycle
  Operator<Stored> G, GH;      ///< of the smoother, where it is G^H G
  std::int32_t QH_league, SQ_league, A_league, G_league, GH_league;
  Diagonal<Scalar, Stored> inverse;
  Scalar *b, *z;
  Scalar *x, *r[2];       ///< what sweeps have made of x, residuals by turns
  Scalar *t, *y;          ///< G r, and a correction
  Weights before, after;  ///< of the sweeps, from the coarse grid on

  bool operator==(Level const& other) const {
    for (int k = 0; k < most_sweeps; ++k)
      if (before[k] != other.before[k] || after[k] != other.after[k]) return false;
    return QH == other.QH && SQ == other.SQ && A == other.A && G == other.G && GH == other.GH &&
           QH_league == other.QH_league && SQ_league == other.SQ_league &&
           A_league == other.A_league && G_league == other.G_league &&
           GH_league == other.GH_league && inverse == other.inverse && b == other.b &&
           z == other.z && x == other.x && r[0] == other.r[0] && r[1] == other.r[1] &&
           t == other.t && y == other.y;
  }
};

/// \brief How a cycle goes through its levels.
struct Way {
  std::int32_t levels;
  std::int32_t pre, post;  ///< sweeps before and after the coarse grid
  std::int32_t columns;    ///< of the vectors
  bool direct;             ///< the coarsest level is solved by its inverse
  bool split;              ///< the smoother is G^H G, not the diagonal
  bool twice;              ///< each level between the finest and the coarsest is gone through twice

  bool operator==(Way const&) const = default;

  /// \brief Sweeps beside those that are one with the coarse grid.
  KOKKOS_FUNCTION std::int32_t more_before() const { return pre > 1 ? pre - 1 : 0; }
  KOKKOS_FUNCTION std::int32_t more_after() const { return post > 1 ? post - 1 : 0; }
  /// \brief The rows of a cycle are handed out as they are made, and r is read as it is given.
  KOKKOS_FUNCTION bool is_plain() const { return !split && pre <= 1 && post <= 1; }
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

/// \brief A V- or W-cycle for r: the stages of all levels, down to the coarsest and up again. In a
/// W-cycle, having come up to a level from below, it goes down from there once more.
///
/// The innermost pair of sweeps x += w D^-1 (b - A x), before and after the coarse grid, is one
/// with it. From x = 0 they are x = v D^-1 r, e = (P^H A P)^-1 P^H (r - A x), x = x + P e + w D^-1
/// (r - A (x + P e)), or
///
///     x = S r + Q_w e,  e = (P^H A P)^-1 Q_v^H r,
///     S = (v + w) D^-1 - v w D^-1 A D^-1,  Q_w = (I - w D^-1 A) P
///
/// so that a level takes two products and nothing else: one with Q_v^H down, one with [S Q_w] up.
/// Without the sweep before v = 0, without the one after w = 0. Other sweeps come before and after
/// these, each a product with A.
///
/// With G^H G in place of D^-1 every sweep and the coarse grid are corrections y, x += y, r -= A y:
/// three products a sweep, and P^H, P and A.
template <class Scalar, class Stored, class Vector>
struct Cycle : Levels<Scalar, Stored> {
  static constexpr bool goes_through_rows = true;

  using Here = Level<Scalar, Stored>;
  using Plain = Product<Operator<Stored>, Scalar const*>;
  using Levels<Scalar, Stored>::levels, Levels<Scalar, Stored>::level;
  using Way::columns, Way::direct, Way::is_plain, Way::more_after, Way::more_before, Way::post,
      Way::pre, Way::split, Way::twice;

  Phase phase;
  Vector given;

  bool operator==(Cycle const&) const = default;

  SOLDER_FOR_HOST_OR_DEVICE
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_stage(At const& at, F const& f) const {
    if (!is_plain())
      f(kernel("Solder::amg::begin", PlacedRange<Vector>{level[0].A.rows, level[0].A_league, given},
               keep(level[0].b)),
        at);
    std::int32_t const coarsest = levels - 1;
    std::uint32_t again = 0;  // a bit for each level that is gone through for the second time
    // One loop for all, down and up, so that a stage is compiled once.
    for (std::int32_t l = 0, down = 1;;) {
      Here const& here = level[l];
      bool const is_again = (again >> l & 1) != 0, is_last = l == coarsest;
      if (is_last && direct) {
        f(kernel("Solder::amg::coarsest", Plain{here.SQ, here.SQ_league, here.b}, keep(here.z)),
          at);
      } else {
        if (split) {
          correct_and_sweep(here, correction(l), is_again, is_last, down != 0, at, f);
        } else if (down != 0) {
          for (std::int32_t k = 1; k <= more_before(); ++k) {
            Scaled<Scalar, Stored> const step{here.before[k], here.inverse,
                                              residual(here, k - 1, is_again)};
            f(kernel("Solder::amg::sweep_before",
                     ScaledProduct<Scalar, Stored>{here.A, here.A_league, step},
                     SweepBefore<Scalar, Stored>{step, here.r[k & 1], here.x, k == 1 && !is_again}),
              at);
          }
        }
        if (down != 0 && !is_last) {
          Scalar* const next = level[l + 1].b;
          if (l == 0 && is_plain())
            f(kernel("Solder::amg::restrict",
                     Product<Operator<Stored>, Vector>{here.QH, here.QH_league, given}, keep(next)),
              at);
          else
            f(kernel("Solder::amg::restrict",
                     Plain{here.QH, here.QH_league, coarse_residual(here, is_again)}, keep(next)),
              at);
          ++l;
          continue;
        }
        if (l == 0 && is_plain()) return;  // rows() hands it out
        if (!split) {
          f(kernel("Solder::amg::correct",
                   CorrectedRows<Scalar, Stored, Scalar const*>{
                       here.SQ, here.SQ_league, columns, residual(here, more_before(), is_again),
                       correction(l)},
                   Corrected<Scalar>{more_before() > 0 || is_again ? here.x : nullptr, here.z}),
            at);
          for (std::int32_t k = more_after(); k > 0; --k) {
            bool const from_z = (more_after() - k) % 2 == 0;
            Scalar* const from = from_z ? here.z : here.x;
            f(kernel("Solder::amg::sweep_after", Plain{here.A, here.A_league, from},
                     SweepAfter<Scalar, Stored>{here.after[k], here.inverse, here.b, from,
                                                from_z ? here.x : here.z}),
              at);
          }
        }
      }
      if (l == 0) return;
      bool const goes_down = twice && !is_last && !is_again;
      if (goes_down) {
        Scalar const* const x = result(here);
        f(kernel("Solder::amg::again", Plain{here.A, here.A_league, x},
                 Residual<Scalar>{here.b, x, here.r[0], x == here.x ? nullptr : here.x}),
          at);
        again |= 1u << l;
      } else {
        again &= ~(1u << l);
        --l;
      }
      down = goes_down ? 1 : 0;
    }
  }

  CycleRows<Scalar, Stored, Vector> rows() const {
    return {{level[0].SQ, level[0].SQ_league, columns, given, correction(0)},
            is_plain() ? nullptr : result(level[0])};
  }

 private:
  template <class Source, class Body>
  KOKKOS_FORCEINLINE_FUNCTION Stage<Source, Body> kernel(char const* label, Source const& source,
                                                         Body const& body) const {
    return {label, phase, source, body};
  }
  KOKKOS_FORCEINLINE_FUNCTION static StoreBody<Scalar, Scalar*> keep(Scalar* to) { return {to}; }

  /// With G^H G: the sweeps before the coarse grid, or its correction and those after it; on the
  /// coarsest level all sweeps.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void correct_and_sweep(Here const& here, Scalar const* e,
                                                     bool is_again, bool is_last, bool down,
                                                     At const& at, F const& f) const {
    bool is_begun = is_again || (!down && pre > 0);  // x and r[0] are there
    for (std::int32_t k = down ? 0 : pre; k <= (down && !is_last ? pre - 1 : pre + post); ++k) {
      bool const of_coarse = k == pre;
      if (of_coarse && is_last) continue;
      Scalar const* const r = is_begun ? here.r[0] : here.b;
      if (!of_coarse)
        f(kernel("Solder::amg::factor", Plain{here.G, here.G_league, r}, keep(here.t)), at);
      f(kernel(
            "Solder::amg::correction",
            of_coarse ? Plain{here.SQ, here.SQ_league, e} : Plain{here.GH, here.GH_league, here.t},
            Corrects<Scalar>{of_coarse ? 1
                             : k < pre ? here.before[pre - 1 - k]
                                       : here.after[k - pre - 1],
                             here.y, here.x, !is_begun}),
        at);
      if (k < pre + post)
        f(kernel("Solder::amg::residual", Plain{here.A, here.A_league, here.y},
                 Residual<Scalar>{r, here.y, here.r[0], nullptr}),
          at);
      is_begun = true;
    }
  }
  /// After k sweeps with the diagonal.
  KOKKOS_FORCEINLINE_FUNCTION static Scalar const* residual(Here const& of, std::int32_t k,
                                                            bool is_again) {
    return k == 0 && !is_again ? of.b : of.r[k & 1];
  }
  /// Of which the coarse grid takes its share.
  KOKKOS_FORCEINLINE_FUNCTION Scalar const* coarse_residual(Here const& of, bool is_again) const {
    if (split) return pre > 0 || is_again ? of.r[0] : of.b;
    return residual(of, more_before(), is_again);
  }
  /// Where a level's last sweep leaves its result.
  KOKKOS_FORCEINLINE_FUNCTION Scalar const* result(Here const& of) const {
    return !split && more_after() % 2 == 0 ? of.z : of.x;
  }
  /// What the next coarser level made for this one; null: there is none.
  KOKKOS_FORCEINLINE_FUNCTION Scalar const* correction(std::int32_t l) const {
    if (l + 1 == levels) return nullptr;
    return l + 2 == levels && direct ? level[l + 1].z : result(level[l + 1]);
  }
};

/// \brief What a multigrid cycle is in a program; see Application.
/// \tparam Stored of the hierarchy's matrices
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
