// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>
#include <utility>

#include <solder/core/application.hpp>
#include <solder/core/on_hosts.hpp>

namespace Solder {

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

/// \brief The type of an opened preconditioner.
template <class Preconditioner, class Exec, class Scalar>
using OpenedOf = decltype(open_preconditioner<Scalar>(std::declval<Arena<Exec>&>(),
                                                      std::declval<Preconditioner const&>()));

}  // namespace Solder
