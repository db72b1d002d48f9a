// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <solder/core/application.hpp>
#include <solder/core/scalar.hpp>
#include <solder/core/twice.hpp>
#include <solder/matrix/open_matrix.hpp>

namespace Solder::Impl {

/// \brief Where M r goes by a recurrence beside r's, the rounding of its first value stays in it.
/// Once its squared norm is below this share of the first one, eps^(4/3), that rounding is more
/// than eps^(1/3) of it, and the method begins anew.
///
/// A first square that has overflowed or underflowed tells nothing.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION bool has_faded(double squared, double first_squared) {
  constexpr double share =
      std::is_same_v<typename ScalarTraits<Scalar>::Real, float> ? 5.9e-10 : 1.3e-21;
  return squared < share * first_squared && Kokkos::isfinite(first_squared);
}

/// \brief The rows of A x, summed with twice the digits of double where A's operator takes such an
/// x (see TakesTwice); otherwise floats are summed in double where it takes that. Where |A||x| is
/// far above |b|, a residual of plain products is rounding, and an iteration can make that small
/// while the residual is not. With twice the digits this begins only where |A||x| is 1e32 times
/// |b|.
template <class Operator, class Scalar>
struct WideProduct {
  Operator A;
  std::int32_t league;
  Scalar const* x;

  bool operator==(WideProduct const&) const = default;

  KOKKOS_FUNCTION std::int32_t teams() const { return league; }
  Rows dealt_rows() const { return A.rows; }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const&, Prepare const& prepare,
                                                Consume const& consume) const {
    if constexpr (TakesTwice<Operator>)
      return A.for_each_row_product(team, Widened<Scalar>{x}, prepare, consume);
    else if constexpr (TakesDoubles<Operator, Scalar, Team, Prepare, Consume>)
      return A.for_each_row_product(team, Widened<Scalar, false>{x}, prepare, consume);
    else
      return A.for_each_row_product(team, x, prepare, consume);
  }

  bool has_columns() const requires requires(Operator const& op) { op.has_columns(); }
  { return A.has_columns(); }
  template <class Consume>
  void for_each_row_of_columns(HostTeam const& team, At const&, Consume const& consume) const {
    A.for_each_row_of_columns(team, Widened<Scalar>{x}, consume);
  }
};

/// \brief s = b - A x, with (s, s), (b, b), the nonzeros of b and the entries of x that are not
/// finite; the numbers stored are taken as they are, products are summed as WideProduct does, and
/// everything else is done in double. Words: the matrix, and 4 a row.
template <class Scalar>
struct Residual {
  static constexpr std::size_t sums = 4;

  Scalar const *b, *x;
  Scalar* s;
  Sum<sums> left;

  bool operator==(Residual const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, auto const& Ax, Sums<sums>& mine) const {
    Wide<Scalar> const difference = wide_difference(b[i], Ax);
    s[i] = narrow<Scalar>(difference);
    double const of_x = 0 * count_nonzero(x[i]);  // 0 or NaN: a column of zeros may hide it from s
    mine[0] += abs_squared(difference) + of_x;
    mine[1] += abs_squared(b[i]);
    mine[2] += count_nonzero(b[i]);
    mine[3] += of_x == 0 ? 0 : 1;
  }
};

/// \brief Compares the claim with the true residual; sets x = 0 or begins anew from s where the
/// residual check says so. The first time it keeps the guess.
///
/// \tparam Begin the method's beginning: a body whose rows are those of s, but with
///         scalars(team, next, Scalars&)
template <class Scalar, class Begin>
struct CheckResidual {
  static constexpr std::size_t sums = Begin::sums;
  using Scalars = typename Begin::Scalars;

  Limits limits;
  Enough enough;
  Recovery recovery;
  Sum<4> of_residual;
  Rows rows;
  Scalar* x;
  Scalar* guess;         ///< where it is kept; null: it is not
  Scalar const* before;  ///< x at the last restart, where the method can go back to it
  Begin begin;

  bool operator==(CheckResidual const&) const = default;

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION auto with_earlier(F const& f) const {
    return f(of_residual);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const& team, Sums<4> const& total, auto const&,
                                           At const&, Control const&, Control& next,
                                           Scalars& mine) const {
    bool const first = next.recorded == 0;
    Verdict const verdict =
        check_residual(next, limits, total[0], total[1], total[2], recovery, total[3], enough);
    if (verdict == Verdict::zero) team.for_each_row(rows, [&](std::int32_t i) { x[i] = {}; });
    if (verdict == Verdict::revert)
      team.for_each_row(rows, [&](std::int32_t i) { x[i] = before[i]; });
    if (verdict != Verdict::restart) return false;
    if (first && guess != nullptr)
      team.for_each_row(rows, [&](std::int32_t i) { guess[i] = x[i]; });
    begin.scalars(team, next, mine);
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& s, auto&&... others) const {
    begin.row(i, s, others...);
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<sums> const& mine, Control const& now,
                                       Control& next) const {
    begin.end(team, mine, now, next);
  }
};

/// \brief What every residual check is told.
template <class Scalar>
struct Checked {
  Limits limits;
  Enough enough;
  Scalar const* b;
  Scalar* x;
  Scalar* guess;  ///< where the guess is kept; null: it is not
};

/// \brief The residual check of every solver: a stage that puts the true residual into s, and one
/// that compares the claim with it.
/// \param s free while a claim is checked
/// \param rows how the vector stages of the solver deal the rows
/// \param before x as it was at the last restart; only where recovery.reverts
template <class Exec, class Opened, class Scalar, class Begin>
auto residual_check(Arena<Exec>& arena, char const* label, Opened const& A, Rows const& rows,
                    Checked<Scalar> const& of, Recovery const& recovery, Scalar* s,
                    Begin const& begin, Scalar const* before = nullptr) {
  auto const sums = arena.template sum<4>(A.league);
  WideProduct<decltype(A.A), Scalar> const product{A.A, A.league, of.x};
  return program(
      before_product(A, Phase::check, of.x),
      stage("Solder::residual", Phase::check, product, Residual<Scalar>{of.b, of.x, s, sums}),
      stage(label, Phase::check, arena.template range<Scalar>(rows, static_cast<Scalar const*>(s)),
            CheckResidual<Scalar, Begin>{of.limits, of.enough, recovery, sums, rows, of.x, of.guess,
                                         before, begin}));
}

}  // namespace Solder::Impl
