// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the peers made of Kokkos Kernels' calls share.

#include <KokkosSparse_CrsMatrix.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>

#include "peer.hpp"

namespace Solder::Perf::KernelsPeer {

template <class T, class Exec>
using Array = Kokkos::View<T*, Kokkos::LayoutLeft, typename Exec::device_type>;

template <class T, class Exec, class From>
Array<T, Exec> copy_to_device(std::vector<From> const& from) {
  Array<T, Exec> to(Kokkos::view_alloc("Solder::Perf::peer", Kokkos::WithoutInitializing),
                    from.size());
  auto const host = Kokkos::create_mirror_view(to);
  std::copy(from.begin(), from.end(), host.data());
  Kokkos::deep_copy(to, host);
  return to;
}

template <class Scalar, class Exec>
using Matrix = KokkosSparse::CrsMatrix<Scalar, int, typename Exec::device_type, void, int>;

template <class Exec, class Scalar>
Matrix<Scalar, Exec> make_matrix(PeerProblem<Scalar> const& problem) {
  int const n = problem.rows;
  return {"Solder::Perf::matrix",
          n,
          n,
          int(problem.values.size()),
          copy_to_device<Scalar, Exec>(problem.values),
          copy_to_device<int, Exec>(problem.row_offsets),
          copy_to_device<int, Exec>(problem.columns)};
}

template <class T, class Exec>
std::vector<T> copy_to_host(Array<T, Exec> const& from) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, from);
  return {host.data(), host.data() + host.size()};
}

/// \brief f(an instance of the space that a request means)
template <class Function>
auto with_space(bool on_device, [[maybe_unused]] int threads, Function const& f) {
  if (on_device) return f(Kokkos::DefaultExecutionSpace{});
#ifdef KOKKOS_ENABLE_SERIAL
  if (threads == 1) return f(Kokkos::Serial{});
#endif
  return f(Kokkos::DefaultHostExecutionSpace{});
}

}  // namespace Solder::Perf::KernelsPeer
