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

/// \brief A level in a program: matrices in Stored, vectors in Scalar.
template <class Scalar, class Stored>
struct Level {
  Operator<Stored> QH, SQ, A;  ///< of the coarsest level SQ is S, or the inverse
  std::int32_t QH_league, SQ_league, A_league;
  Diagonal<Scalar, Stored> inverse;
  Scalar *b, *z;
  Scalar *x, *r[2];  ///< with more than one sweep: what they have made of x, residuals by turns
  Kokkos::Array<typename ScalarTraits<Scalar>::Real, most_sweeps> weights;

  bool operator==(Level const& other) const {
    for (int k = 0; k < most_sweeps; ++k)
      if (weights[k] != other.weights[k]) return false;
    return QH == other.QH && SQ == other.SQ && A == other.A && QH_league == other.QH_league &&
           SQ_league == other.SQ_league && A_league == other.A_league && inverse == other.inverse &&
           b == other.b && z == other.z && x == other.x && r[0] == other.r[0] && r[1] == other.r[1];
  }
};

/// \brief All levels, the finest first, and how a cycle goes through them.
template <class Scalar, class Stored>
struct Levels {
  std::int32_t levels, sweeps;
  std::int32_t columns;  ///< of the vectors
  bool direct;           ///< the coarsest level is solved by its inverse
  Level<Scalar, Stored> level[most_levels];

  bool operator==(Levels const& other) const {
    for (int l = 0; l < levels; ++l)
      if (!(level[l] == other.level[l])) return false;
    return levels == other.levels && sweeps == other.sweeps && columns == other.columns &&
           direct == other.direct;
  }
};

/// \brief A V-cycle for r: the stages of all levels, down to the coarsest and up again.
///
/// The innermost pair of sweeps, before and after the coarse grid, is one with it. From x = 0 they
/// are x = w D^-1 r, e = (P^H A P)^-1 P^H (r - A x), x = x + P e + w D^-1 (r - A (x + P e)), or
///
///     x = S r + Q e,  e = (P^H A P)^-1 Q^H r,
///     S = 2 w D^-1 - w^2 D^-1 A D^-1,  Q = (I - w D^-1 A) P
///
/// so that a level takes two products and nothing else: one with Q^H down, one with [S Q] up. Other
/// sweeps come before and after these, each a product with A.
template <class Scalar, class Stored, class Vector>
struct Cycle : Levels<Scalar, Stored> {
  static constexpr bool goes_through_rows = true;

  using Plain = Product<Operator<Stored>, Scalar const*>;
  using Levels<Scalar, Stored>::levels, Levels<Scalar, Stored>::sweeps,
      Levels<Scalar, Stored>::columns, Levels<Scalar, Stored>::direct,
      Levels<Scalar, Stored>::level;

  Phase phase;
  Vector given;

  bool operator==(Cycle const&) const = default;

  SOLDER_FOR_HOST_OR_DEVICE
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_stage(At const& at, F const& f) const {
    if (sweeps > 1)
      f(kernel("Solder::amg::begin", PlacedRange<Vector>{level[0].A.rows, level[0].A_league, given},
               keep(level[0].b)),
        at);
    // The levels but the coarsest, this one, and those again: one loop, so that a stage is compiled
    // once.
    for (std::int32_t leg = 0; leg < 2 * levels - 1; ++leg) {
      std::int32_t const coarsest = levels - 1, l = leg < levels ? leg : 2 * coarsest - leg;
      Level<Scalar, Stored> const& here = level[l];
      if (leg == coarsest && direct) {
        f(kernel("Solder::amg::coarsest", Plain{here.SQ, here.SQ_league, here.b}, keep(here.z)),
          at);
        continue;
      }
      for (std::int32_t k = 1; k < sweeps && leg <= coarsest; ++k) {
        Scaled<Scalar, Stored> const step{here.weights[k], here.inverse, residual(here, k - 1)};
        f(kernel("Solder::amg::sweep_before",
                 ScaledProduct<Scalar, Stored>{here.A, here.A_league, step},
                 SweepBefore<Scalar, Stored>{step, here.r[k & 1], here.x, k == 1}),
          at);
      }
      if (leg < coarsest) {
        Scalar* const next = level[l + 1].b;
        if (l == 0 && sweeps == 1)
          f(kernel("Solder::amg::restrict",
                   Product<Operator<Stored>, Vector>{here.QH, here.QH_league, given}, keep(next)),
            at);
        else
          f(kernel("Solder::amg::restrict",
                   Plain{here.QH, here.QH_league, residual(here, sweeps - 1)}, keep(next)),
            at);
        continue;
      }
      if (l == 0 && sweeps == 1) continue;  // rows() hands it out
      f(kernel("Solder::amg::correct",
               CorrectedRows<Scalar, Stored, Scalar const*>{
                   here.SQ, here.SQ_league, columns, residual(here, sweeps - 1), correction(l)},
               Corrected<Scalar>{sweeps > 1 ? here.x : nullptr, here.z}),
        at);
      for (std::int32_t k = sweeps - 1; k > 0; --k) {
        bool const from_z = (sweeps - 1 - k) % 2 == 0;
        Scalar* const from = from_z ? here.z : here.x;
        f(kernel("Solder::amg::sweep_after", Plain{here.A, here.A_league, from},
                 SweepAfter<Scalar, Stored>{here.weights[k], here.inverse, here.b, from,
                                            from_z ? here.x : here.z}),
          at);
      }
    }
  }

  CycleRows<Scalar, Stored, Vector> rows() const {
    return {{level[0].SQ, level[0].SQ_league, columns, given, correction(0)},
            sweeps > 1 ? result(level[0]) : nullptr};
  }

 private:
  template <class Source, class Body>
  KOKKOS_FORCEINLINE_FUNCTION Stage<Source, Body> kernel(char const* label, Source const& source,
                                                         Body const& body) const {
    return {label, phase, source, body};
  }
  KOKKOS_FORCEINLINE_FUNCTION static StoreBody<Scalar, Scalar*> keep(Scalar* to) { return {to}; }
  /// After k sweeps.
  KOKKOS_FORCEINLINE_FUNCTION static Scalar const* residual(Level<Scalar, Stored> const& of,
                                                            std::int32_t k) {
    return k == 0 ? of.b : of.r[k & 1];
  }
  /// Where a level's last sweep leaves its result.
  KOKKOS_FORCEINLINE_FUNCTION Scalar const* result(Level<Scalar, Stored> const& of) const {
    return sweeps % 2 == 1 ? of.z : of.x;
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
