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
#include <variant>

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
static_assert(SOLDER_PARTS == 4);
/// \brief Which of SOLDER_PARTS compiles a system. Those of a part share most of their stages: they
/// have one format. Compressed rows, with the most stages, are two parts: a pointwise M is fused
/// into other stages than the others.
template <class T, class Exec, class System>
inline constexpr std::size_t part_of =
    std::is_same_v<typename System::OpenedA, OpenedMatrixOf<CsrMatrix<T, Exec>, Exec>>
        ? (System::OpenedM::is_pointwise ? 0 : 1)
    : std::is_same_v<typename System::OpenedA, OpenedMatrixOf<SellMatrix<T, Exec>, Exec>> ? 2
                                                                                          : 3;

/// \brief The same for the systems of this part among AnySystem.
template <template <class, class, class> class Method, class T, class Options, std::size_t Part,
          class Exec>
auto on_device(std::type_identity<Exec>) {
  return []<class... Pointer>(std::type_identity<std::variant<Pointer...>>) {
    auto const of = []<class System>(std::type_identity<System>) {
      if constexpr (part_of<T, Exec, System> == Part)
        return std::tuple(&Impl::compiled_method<Method, Exec, typename System::OpenedA,
                                                 typename System::OpenedM, Options>);
      else
        return std::tuple<>();
    };
    return std::tuple_cat(of(std::type_identity<typename Pointer::element_type>())...);
  }(std::type_identity<AnySystem<T, Exec>>());
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
