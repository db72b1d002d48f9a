// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/runners/kernels.hpp>

namespace Solder::Impl {

/// \brief What use(judgement, iteration) calls, of one type whatever their types: so that hosts
/// compile what puts programs together once, and not for each use of them.
struct UseOnHosts {
  void const* use;
  void (*call)(void const* use, HostProgram const& judgement, HostProgram const& iteration);

  template <class Judgement, class Iteration>
  void operator()(Judgement const& judgement, Iteration const& iteration) const {
    call(use, HostProgram(judgement), HostProgram(iteration));
  }
};

/// \brief programs(b, x, use) with a use that answers nothing.
template <class Exec, class Programs, class Scalar, class Use>
void use_programs(Programs const& programs, Scalar const* b, Scalar* x, Use const& use) {
  if constexpr (is_host_space<Exec>)
    programs(b, x,
             UseOnHosts{&use, [](void const* of, HostProgram const& judgement,
                                 HostProgram const& iteration) {
                          (*static_cast<Use const*>(of))(judgement, iteration);
                        }});
  else
    programs(b, x, use);
}

}  // namespace Solder::Impl
