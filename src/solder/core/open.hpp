// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <solder/core/application.hpp>
#include <solder/core/on_hosts.hpp>

namespace Solder {

/// \brief A matrix in a program; `most_teams` limits its league. On hosts all matrices are of one
/// type there.
template <class Exec, LinearOperator Matrix>
auto open_matrix(Arena<Exec>& arena, Matrix const& A,
                 std::int32_t most_teams = std::numeric_limits<std::int32_t>::max()) {
  using Scalar = typename Matrix::scalar_type;
  auto const op = A.device_operator();
  std::int32_t const league = std::min(arena.teams(op.teams), most_teams);
  if constexpr (Impl::is_host_space<Exec>) {
    auto const host = Impl::host_operator<Scalar>(arena.keeper().keep(op));
    return OpenedMatrix<Impl::HostOperator<Scalar>, Scalar>{host, op.rows, league};
  } else {
    return OpenedMatrix<std::remove_cvref_t<decltype(op)>, Scalar>{op, op.rows, league};
  }
}

/// \brief A preconditioner in a program, of vectors of this scalar. On hosts all that are split are
/// of one type there, and all that are neither split nor pointwise.
template <class Scalar, class Exec, class Preconditioner>
auto open_preconditioner(Arena<Exec>& arena, Preconditioner const& M) {
  using Opened = std::remove_cvref_t<decltype(M.open(arena))>;
  if constexpr (Impl::is_host_space<Exec> && !Opened::is_pointwise)
    return Impl::host_preconditioner<Scalar>(arena.keeper(), M.open(arena));
  else
    return M.open(arena);
}

/// \brief The types of an opened matrix and of an opened preconditioner.
template <class Matrix, class Exec>
using OpenedMatrixOf =
    decltype(open_matrix(std::declval<Arena<Exec>&>(), std::declval<Matrix const&>()));
template <class Preconditioner, class Exec, class Scalar>
using OpenedOf = decltype(open_preconditioner<Scalar>(std::declval<Arena<Exec>&>(),
                                                      std::declval<Preconditioner const&>()));

}  // namespace Solder
