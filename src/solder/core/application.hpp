// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <utility>

#include <solder/core/arena.hpp>
#include <solder/core/program.hpp>

namespace Solder {

/// \brief A linear map applied to a vector in a program: the stages that must run before, and the
/// source of the rows of the result.
///
/// A matrix and a preconditioner are the same here. Both are opened once, by `open(arena)`, while a
/// solver's program is put together. The result is applied as often as the method needs:
/// `apply(phase, x)` is the Application to the vector at x, in stages of that phase.
///
/// An opened preconditioner M has one of three shapes:
///   - `is_pointwise`: M(i, r_i) is z_i and M.undo(i, z_i) is r_i, fused into whatever kernel has
///     r_i. is_identity: both do nothing;
///   - `is_split`: M = F^H F, and apply(phase, r, rz) also leaves (r, z) = ||F r||^2 in
///     rz.of(iteration), at no cost. On devices F can be applied alone, also to a made vector:
///     apply_inner_made(r), whose rows are to be stored at inner() for apply_outer(); M's
///     threads_to_hold() says when that pays;
///   - neither: apply(phase, r).
/// On hosts the type of M tells only whether it is pointwise; see splits(). Where it is not
/// pointwise, `Rows rows(rows of A)` deals the rows of the solver's vector stages as M's own
/// kernels do.
template <class Before, class Source>
struct Application {
  Before before;  ///< a program: the stages that run before the rows are there
  Source rows;    ///< the source of the rows of the result
};

/// \brief Whether M is split, or its type leaves that open.
template <class M>
inline constexpr bool may_split = M::is_split || requires(M const& m) {
  m.splits();
};
/// \brief Whether m is split.
template <class M>
bool splits(M const& m) {
  if constexpr (requires { m.splits(); })
    return m.splits();
  else
    return M::is_split;
}

/// \cond kernels
template <class Before, class Source>
Application<Before, Source> application(Before const& before, Source const& rows) {
  return {before, rows};
}

/// \brief The rows of vector stages that leave the same sums as a stage over the rows of an applied
/// M, and so must have as many teams: `rows` where they have, else rows dealt as M deals its own.
template <class Exec, class Source>
Rows rows_as_dealt(Rows rows, Source const& of_M) {
  if (rows.teams == of_M.teams()) return rows;
  if constexpr (Impl::is_host_space<Exec>) return of_M.dealt_rows();
  rows.teams = of_M.teams();
  return rows;
}

/// \brief A body that keeps what it is given, in a vector, a pointer or a Place. Words: 1 a row.
template <class Scalar, class Vector>
struct StoreBody {
  Vector to;
  struct Scalars {
    Scalar* to;
  };
  bool operator==(StoreBody const&) const = default;

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const&, auto const&, auto const&, At const& at,
                                           Control const&, Control&, Scalars& s) const {
    s.to = vector_at(to, at);
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& value,
                                       Scalars const& s) const {
    s.to[i] = value;
  }
};

template <class Scalar>
StoreBody<Scalar, Scalar*> store(Scalar* to) {
  return {to};
}
template <class Scalar>
StoreBody<Scalar, Place<Scalar>> store(Place<Scalar> const& to) {
  return {to};
}

/// \brief A pointwise preconditioner's z = M r, as the function of a Mapped source.
template <class M>
struct PointwiseOf {
  M m;
  bool operator==(PointwiseOf const&) const = default;

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(At const&, std::int32_t i, Scalar const& r) const {
    return m(i, r);
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_for(At const&, std::int32_t i) const {
    Impl::ask_for_row(m, i);
  }
};

/// \brief Whether these take vectors of several right-hand sides; see HostTeam. A type that says
/// nothing does not: each column is then solved alone. State that is kept between applications must
/// be a vector, sum or kept scalar of the arena, which hands it on to a narrower solve.
template <class... T>
inline constexpr bool takes_columns = ([] {
  if constexpr (requires { T::takes_columns; })
    return T::takes_columns;
  else
    return false;
}() && ...);

/// \brief Whether these can be applied to the rows of one system of a batch alone: a row's value
/// depends, by products, only on rows of its system, and the stages keep no state.
template <class... T>
inline constexpr bool takes_batches = ([] {
  if constexpr (requires { T::takes_batches; })
    return T::takes_batches;
  else
    return false;
}() && ...);

/// \brief An opened matrix whose rows come from a product.
template <class Operator, class Scalar>
struct OpenedMatrix {
  using scalar_type = Scalar;
  using Opened = Operator;
  static constexpr bool takes_columns = Solder::takes_columns<Operator>,
                        takes_batches = Solder::takes_batches<Operator>;

  /// Whether it can say that its rows go to the teams that have them in vector stages; see
  /// OnChipTeam.
  static constexpr bool may_be_aligned = requires(Operator const& op) { op.is_aligned(); };
  /// Whether whole solves with it are compiled as one kernel for GPUs; it may say that they are
  /// not.
  static constexpr bool has_whole_kernels = [] {
    if constexpr (requires { Operator::has_whole_kernels; })
      return Operator::has_whole_kernels;
    else
      return true;
  }();
  /// Whether the threads of a whole solve can hold its rows in their registers, for products with
  /// made vectors.
  static constexpr bool can_hold_rows = requires(Operator const& op) { op.threads_to_hold(); };

  Operator A;
  Rows rows;
  std::int32_t league;

  /// \brief The source of A x; see MadeProduct.
  template <class Vector>
  MadeProduct<Operator, Vector> apply_made(Vector const& x) const {
    return {A, league, x};
  }
  /// \param x a pointer, or a Place
  template <class Vector>
  auto apply(Phase, Vector const& x) const {
    auto const read = as_read(x);
    return application(program(),
                       Product<Operator, std::remove_const_t<decltype(read)>>{A, league, read});
  }
};

/// \brief Whether an opened preconditioner consists of stages of the device alone.
template <class Opened>
inline constexpr bool is_on_device = [] {
  if constexpr (requires { Opened::on_device; })
    return Opened::on_device;
  else
    return true;
}();

/// \brief Whether teams of its stages wait for others of the same kernel, as triangular solves do:
/// it says `static constexpr bool waits = true`.
template <class Opened>
inline constexpr bool waits = [] {
  if constexpr (requires { Opened::waits; })
    return Opened::waits;
  else
    return false;
}();

/// \endcond

/// \brief What a solver asks of a matrix, or of a user's own operator.
///
/// device_operator() returns a plain struct whose `rows` deals its rows (on hosts into as many
/// slices as it has `teams`), with for_each_row_product(team, x, prepare, consume): see Product,
/// and the operators in matrix/. On hosts this function goes through its team's rows by
/// team.for_each_row, or from team.first(rows) to team.last(rows), because it is called for some of
/// them at a time. x is anything with x[i], and a row is to be summed in the type of x[i]: the
/// residual check passes doubles where vectors are float, and its residual is as true as these
/// sums. nonzeros() counts the multiplications of a product, and words() the words of the scalar
/// that it reads of the matrix.
template <class Matrix>
concept LinearOperator = requires(Matrix const& A) {
  typename Matrix::scalar_type;
  { A.rows() } -> std::convertible_to<std::int64_t>;
  { A.columns() } -> std::convertible_to<std::int64_t>;
  { A.nonzeros() } -> std::convertible_to<std::int64_t>;
  { A.words() } -> std::convertible_to<double>;
  { A.device_operator().rows } -> std::convertible_to<Rows>;
  { A.device_operator().teams } -> std::convertible_to<std::int32_t>;
  { A.device_operator() == A.device_operator() } -> std::convertible_to<bool>;
};

/// \brief What a solver asks of a preconditioner; see Application.
template <class M, class Exec>
concept PreconditionerOn = requires(M const& m, Arena<Exec>& arena) {
  { m.rows() } -> std::convertible_to<std::int32_t>;
  {m.open(arena)};
  { std::remove_cvref_t<decltype(m.open(arena))>::is_pointwise } -> std::convertible_to<bool>;
  { m.template words<double>(std::int32_t{}) } -> std::convertible_to<double>;
};

}  // namespace Solder
