// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <memory>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/solvers/detail/method.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

#if SOLDER_PARTS > 1  // there is a GPU
#include "systems.hpp"
#endif

namespace Solder {

namespace Impl {

template <template <class, class, class> class Method, class Exec, class OpenedA, class OpenedM,
          class Options>
std::unique_ptr<AnyMethod<Exec, typename OpenedA::scalar_type>> compiled_method(
    Exec const& exec, std::shared_ptr<System<Exec, OpenedA, OpenedM>> system,
    Options const& options) {
  MethodFor<Method<Exec, OpenedA, OpenedM>> const made_of(std::move(system), options);
  auto method = made_of.any(exec);
  method->add_columns(made_of.template make<Serving::columns>());
  method->add_batch(made_of.template make<Serving::batch>());
  return method;
}

}  // namespace Impl

namespace Compiled {

/// \brief What solvers see on hosts: all matrices, and all preconditioners except pointwise ones of
/// users (core/on_hosts.hpp). Each of them says `compiled_for`.
template <class T>
using MatrixOnHosts = Impl::OpenedMatrixOnHost<T>;
template <class T>
using PreconditionersOnHosts =
    std::tuple<Impl::NoOperation, Impl::JacobiOperator<T>, Impl::HostPreconditioner<T>>;

/// \brief The compiled_method() for each preconditioner type of hosts. Taking a function's address
/// compiles it.
template <template <class, class, class> class Method, class T, class Options, class Exec>
auto on_host(std::type_identity<Exec>) {
  return []<class... M>(std::type_identity<std::tuple<M...>>) {
    return std::tuple(&Impl::compiled_method<Method, Exec, MatrixOnHosts<T>, M, Options>...);
  }(std::type_identity<PreconditionersOnHosts<T>>());
}

#if SOLDER_PARTS > 1
/// \brief The same for every SOLDER_PARTS-th alternative of AnySystem, from Part on.
template <template <class, class, class> class Method, class T, class Options, std::size_t Part,
          class Exec>
auto on_device(std::type_identity<Exec>) {
  using All = AnySystem<T, Exec>;
  return []<std::size_t... Turn>(std::index_sequence<Turn...>) {
    auto const of = []<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if constexpr (I < std::variant_size_v<All>) {
        using System = typename std::variant_alternative_t<I, All>::element_type;
        return std::tuple(&Impl::compiled_method<Method, Exec, typename System::OpenedA,
                                                 typename System::OpenedM, Options>);
      } else {
        return std::tuple<>();
      }
    };
    return std::tuple_cat(of(std::integral_constant<std::size_t, Part + Turn * SOLDER_PARTS>())...);
  }
  (std::make_index_sequence<std::variant_size_v<All>>());
}
#endif

/// \brief The methods for all spaces of this build. Instantiated once per method and scalar; those
/// for hosts in part 0 of SOLDER_PARTS.
template <template <class, class, class> class Method, class T, class Options,
          std::size_t Part = SOLDER_PART>
auto instances() {
  return Impl::for_each_space([]<class Exec>(std::type_identity<Exec> exec) {
    if constexpr (!Impl::is_host_space<Exec>) {
#if SOLDER_PARTS > 1
      return on_device<Method, T, Options, Part>(exec);
#endif
    } else if constexpr (Part == 0) {
      return on_host<Method, T, Options>(exec);
    } else {
      return std::tuple<>();
    }
  });
}

}  // namespace Compiled
}  // namespace Solder
