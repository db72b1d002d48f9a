// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How a matrix is opened for a program; on hosts all opened matrices have one type.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <solder/core/on_hosts.hpp>
#include <solder/core/twice.hpp>
#include <solder/matrix/compressed_rows.hpp>
#include <solder/matrix/csr_operator.hpp>

namespace Solder {

namespace Impl {

/// \brief The operator of a matrix; see LinearOperator. It goes through the rows of a CsrMatrix,
/// which most matrices are, by itself, and through those of another matrix by that one's operator.
template <class Scalar>
struct HostOperator {
  template <class X>
  using Fill = void (*)(void const* op, HostTeam const&, X const& x,
                        RowBlock<std::remove_cvref_t<decltype(x[0])>>&);

  using compiled_for = Scalar;  ///< see src/compiled

  Rows rows;
  std::int32_t teams;
  std::int32_t const *row_offsets = nullptr, *columns = nullptr;
  std::int64_t const* wide_offsets = nullptr;  ///< in place of row_offsets
  Scalar const* values = nullptr;
  GhostRows<Scalar> const* ghosts = nullptr;  ///< of those rows; null: they have none
  void const* op = nullptr;                   ///< null: the rows are those above
  Fill<Scalar const*> fill = nullptr;
  Fill<Widened<Scalar>> fill_widened = nullptr;

  static constexpr bool takes_columns = true, takes_batches = true,  ///< as far as the matrix does
      takes_twice = true;

  bool operator==(HostOperator const&) const = default;
  bool in_order() const { return op == nullptr; }
  bool has_columns() const { return op == nullptr; }
  /// Whether products wait for ghosts that are under way: at all, and in a window.
  bool may_wait() const { return ghosts != nullptr && ghosts->finish != nullptr; }
  bool waits(HostTeam const& part) const {
    return may_wait() && ghosts->before(part.first_) < ghosts->before(part.last_);
  }
  template <class X, class Consume>
  void for_each_row_of_columns(HostTeam const& team, X const& x, Consume const& consume) const {
    if (wide_offsets == nullptr)
      products_of_columns(team, rows, row_offsets, columns, values, x, consume);
    else
      products_of_columns(team, rows, wide_offsets, columns, values, x, consume);
  }

  template <class X, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row_product(HostTeam const& team, X const& x,
                                                        Prepare const& prepare,
                                                        Consume const& consume) const {
    if (!prepare()) return false;
    if (row_offsets != nullptr)
      compressed(row_offsets, team, x, consume);
    else if (wide_offsets != nullptr)
      compressed(wide_offsets, team, x, consume);
    else if constexpr (std::is_same_v<X, Widened<Scalar>>)
      products(fill_widened, team, x, consume);
    else
      products(fill, team, x, consume);
    return true;
  }

 private:
  template <class Offset, class X, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION void compressed(Offset const* offsets, HostTeam const& team,
                                              X const& x, Consume const& consume) const {
    if (ghosts == nullptr)
      compressed_products(team, rows, offsets, columns, values, x, consume);
    else
      products_with_ghosts(team, rows, *ghosts, offsets, columns, values, x, consume);
  }
  template <class X, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION void products(Fill<X> of, HostTeam const& team, X const& x,
                                            Consume const& consume) const {
    team.for_each_window(rows, [&](HostTeam const& part) {
      RowBlock<std::remove_cvref_t<decltype(x[0])>> block(part);
      of(op, part, x, block);
      block.hand_out(consume);
    });
  }
};

/// \brief Whether this is the operator of a CsrMatrix of that scalar.
template <class Operator, class Scalar>
inline constexpr bool is_csr_of = false;
template <class Scalar, class Offset>
inline constexpr bool is_csr_of<CsrOperator<Scalar, Offset>, Scalar> = true;

/// \brief The operator of a CsrMatrix as a HostOperator.
template <class Scalar, class Offset>
HostOperator<Scalar> csr_on_host(CsrOperator<Scalar, Offset> const& csr) {
  HostOperator<Scalar> host{csr.rows, csr.teams};
  if constexpr (sizeof(Offset) == sizeof(std::int32_t))
    host.row_offsets = csr.row_offsets;
  else  // std::size_t too: it is the unsigned type of the same size
    host.wide_offsets = reinterpret_cast<std::int64_t const*>(csr.row_offsets);
  host.columns = csr.columns;
  host.values = csr.values;
  return host;
}

/// \brief Any operator as a HostOperator; `kept` stays where it is.
template <class Scalar, class Operator>
HostOperator<Scalar> host_operator(Operator const* kept) {
  if constexpr (std::is_same_v<Operator, HostOperator<Scalar>>) {
    return *kept;
  } else if constexpr (is_csr_of<Operator, Scalar>) {
    return csr_on_host(*kept);
  } else {
    HostOperator<Scalar> host{kept->rows, kept->teams};
    constexpr auto products = [](void const* op, HostTeam const& team, auto const& x, auto& block) {
      static_cast<Operator const*>(op)->for_each_row_product(
          team, x, Always{}, [&](std::int32_t i, auto const& value) { block.take_any(i, value); });
    };
    host.op = kept;
    host.fill = products;
    constexpr auto take = [](std::int32_t, auto const&) {};
    if constexpr (TakesTwice<Operator>)
      host.fill_widened = products;
    else
      host.fill_widened = [](void const* op, HostTeam const& team, Widened<Scalar> const& x,
                             auto& block) {
        using Value = typename Widened<Scalar>::Value;
        auto const consume = [&](std::int32_t i, auto const& value) {
          block.take_any(i, Value(Wide<Scalar>(value)));
        };
        auto const& own = *static_cast<Operator const*>(op);
        if constexpr (TakesDoubles<Operator, Scalar, HostTeam, Always, decltype(take)>)
          own.for_each_row_product(team, Widened<Scalar, false>{x.values}, Always{}, consume);
        else
          own.for_each_row_product(team, x.values, Always{}, consume);
      };
    return host;
  }
}

/// \brief What a matrix runs before its product with x, if it needs anything.
using BeforeProduct = HostProgram (*)(void const* matrix, Keeper&, Phase, void const* place_of_x);

template <class Matrix, class Scalar>
inline constexpr bool has_before = requires(Matrix const& A, Place<Scalar const> const& x) {
  A.before(Phase::iterate, x);
};

/// \brief An opened matrix of a host.
template <class Scalar>
struct OpenedMatrixOnHost : OpenedMatrix<HostOperator<Scalar>, Scalar> {
  using Base = OpenedMatrix<HostOperator<Scalar>, Scalar>;

  Keeper* keeper = nullptr;
  void const* matrix = nullptr;
  BeforeProduct before = nullptr;  ///< null: nothing

  template <class Vector>
  auto apply(Phase phase, Vector const& x) const {
    return application(before_product(phase, x), Base::apply(phase, x).rows);
  }
  /// \param x a pointer, or a Place
  template <class Vector>
  HostProgram before_product(Phase phase, Vector const& x) const {
    static constexpr Program<> nothing{};
    if (before == nullptr) return HostProgram(nothing);
    auto const read = as_read(x);
    if constexpr (std::is_pointer_v<std::remove_const_t<decltype(read)>>) {
      Place<Scalar const> const place(read, 0, 0);
      return before(matrix, *keeper, phase, &place);
    } else {
      return before(matrix, *keeper, phase, &read);
    }
  }
};

}  // namespace Impl

/// \brief What runs before a product of an opened matrix with x, for programs that take the product
/// by themselves.
template <class Opened, class Vector>
auto before_product(Opened const& A, Phase phase, Vector const& x) {
  if constexpr (requires { A.before_product(phase, x); })
    return A.before_product(phase, x);
  else
    return program();
}

/// \brief Opens a matrix for a program; `most_teams` limits its league. On hosts all opened
/// matrices have one type.
template <class Exec, LinearOperator Matrix>
auto open_matrix(Arena<Exec>& arena, Matrix const& A,
                 std::int32_t most_teams = std::numeric_limits<std::int32_t>::max()) {
  using Scalar = typename Matrix::scalar_type;
  auto const op = A.device_operator();
  std::int32_t const league = std::min(arena.teams(op.teams), most_teams);
  if constexpr (Impl::is_host_space<Exec>) {
    auto const host = Impl::host_operator<Scalar>(arena.keeper().keep(op));
    Impl::OpenedMatrixOnHost<Scalar> opened{{host, op.rows, league}};
    if constexpr (Impl::has_before<Matrix, Scalar>) {
      opened.keeper = &arena.keeper();
      opened.matrix = &A;
      opened.before = [](void const* matrix, Impl::Keeper& keeper, Phase phase, void const* x) {
        return Impl::HostProgram(*keeper.keep(static_cast<Matrix const*>(matrix)->before(
            phase, *static_cast<Place<Scalar const> const*>(x))));
      };
    }
    return opened;
  } else {
    return OpenedMatrix<std::remove_cvref_t<decltype(op)>, Scalar>{op, op.rows, league};
  }
}

/// \brief The type of an opened matrix.
template <class Matrix, class Exec>
using OpenedMatrixOf =
    decltype(open_matrix(std::declval<Arena<Exec>&>(), std::declval<Matrix const&>()));

}  // namespace Solder
