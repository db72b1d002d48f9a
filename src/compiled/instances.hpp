// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <memory>
#include <solder/solvers/detail/method.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
#include "systems.hpp"
#endif

namespace Solder {

namespace Impl {

template <template <class, class, class> class Method, class Exec, class OpenedA, class OpenedM,
          class Options>
std::unique_ptr<AnyMethod<Exec, typename OpenedA::scalar_type>> compiled_method(
    Exec const& exec, std::shared_ptr<System<Exec, OpenedA, OpenedM>> system,
    Options const& options) {
  return std::make_unique<MethodFor<Method<Exec, OpenedA, OpenedM>, Exec, Options>>(
      exec, std::move(system), options);
}

}  // namespace Impl

namespace Compiled {

/// \brief The compiled_method() of each of the preconditioners of hosts: to take a function's
/// address compiles it.
template <template <class, class, class> class Method, class T, class Options, class Exec>
auto on_host(std::type_identity<Exec>) {
  return []<class... M>(std::type_identity<std::tuple<M...>>) {
    return std::tuple(&Impl::compiled_method<Method, Exec, Impl::MatrixOnHosts<T>, M, Options>...);
  }(std::type_identity<Impl::PreconditionersOnHosts<T>>());
}

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
/// \brief The same of each of AnySystem.
template <template <class, class, class> class Method, class T, class Options, class Exec>
auto on_device(std::type_identity<Exec>) {
  return []<class... Systems>(std::type_identity<std::variant<std::shared_ptr<Systems>...>>) {
    return std::tuple(&Impl::compiled_method<Method, Exec, typename Systems::OpenedA,
                                             typename Systems::OpenedM, Options>...);
  }(std::type_identity<AnySystem<T, Exec>>());
}
#endif

/// \brief Those of all spaces of this build; instantiated once a method and scalar.
template <template <class, class, class> class Method, class T, class Options>
auto instances() {
  return std::tuple_cat(
#ifdef KOKKOS_ENABLE_SERIAL
      on_host<Method, T, Options>(std::type_identity<Kokkos::Serial>()),
#endif
#ifdef KOKKOS_ENABLE_OPENMP
      on_host<Method, T, Options>(std::type_identity<Kokkos::OpenMP>()),
#endif
#ifdef KOKKOS_ENABLE_CUDA
      on_device<Method, T, Options>(std::type_identity<Kokkos::Cuda>()),
#endif
#ifdef KOKKOS_ENABLE_HIP
      on_device<Method, T, Options>(std::type_identity<Kokkos::HIP>()),
#endif
      std::tuple<>());
}

}  // namespace Compiled
}  // namespace Solder
