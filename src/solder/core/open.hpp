// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>
#include <utility>

#include <solder/core/application.hpp>
#include <solder/core/on_hosts.hpp>

namespace Solder {

namespace Impl {

/// \brief The type that a preconditioner's open() returns.
template <class Preconditioner, class Exec>
using OpenedAsGiven = std::remove_cvref_t<decltype(std::declval<Preconditioner const&>().open(
    std::declval<Arena<Exec>&>()))>;

/// \brief Whether a preconditioner takes vectors of several right-hand sides, or the systems of a
/// batch. One whose type does not tell, because its stages are a host's already, is asked.
template <class Exec, class Preconditioner>
bool is_for_columns(Preconditioner const& M) {
  if constexpr (requires { M.takes_columns(); })
    return M.takes_columns();
  else
    return Solder::takes_columns<OpenedAsGiven<Preconditioner, Exec>>;
}
template <class Exec, class Preconditioner>
bool is_for_batches(Preconditioner const& M) {
  if constexpr (requires { M.takes_batches(); })
    return M.takes_batches();
  else
    return Solder::takes_batches<OpenedAsGiven<Preconditioner, Exec>>;
}

/// \brief Whether a preconditioner has no host stages. As above.
template <class Exec, class Preconditioner>
bool works_on_device(Preconditioner const& M) {
  if constexpr (requires { M.is_on_device(); })
    return M.is_on_device();
  else
    return is_on_device<OpenedAsGiven<Preconditioner, Exec>>;
}

template <class Opened>
inline constexpr bool is_of_hosts = false;
template <class Scalar>
inline constexpr bool is_of_hosts<HostPreconditioner<Scalar>> = true;
template <class Opened>
inline constexpr bool is_of_hosts<WithHostStages<Opened>> = true;

/// \brief The type of an opened preconditioner in a solve.
template <class Opened>
struct Seen {
  using type = Opened;
};
template <class Opened>
struct Seen<WithHostStages<Opened>> {
  using type = Opened;
};

}  // namespace Impl

/// \brief Opens a preconditioner for a program with vectors of this scalar. On hosts all that are
/// not pointwise then have one type.
template <class Scalar, class Exec, class Preconditioner>
auto open_preconditioner(Arena<Exec>& arena, Preconditioner const& M) {
  using Opened = Impl::OpenedAsGiven<Preconditioner, Exec>;
  if constexpr (Impl::is_host_space<Exec> && !Opened::is_pointwise && !Impl::is_of_hosts<Opened>)
    return Impl::host_preconditioner<Scalar>(arena.keeper(), M.open(arena));
  else
    return M.open(arena);
}

/// \brief The type of an opened preconditioner.
template <class Preconditioner, class Exec, class Scalar>
using OpenedOf = decltype(open_preconditioner<Scalar>(std::declval<Arena<Exec>&>(),
                                                      std::declval<Preconditioner const&>()));
template <class Preconditioner, class Exec, class Scalar>
using SeenOf = typename Impl::Seen<OpenedOf<Preconditioner, Exec, Scalar>>::type;

}  // namespace Solder
