// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <memory>
#include <solder/solvers/detail/solving.hpp>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "makers.hpp"
#include "problem.hpp"

namespace Solder::Driver {

namespace Impl {

/// \brief A variant that has each of its types once.
template <class Variant, class... More>
struct Distinct {
  using type = Variant;
};
template <class... Have, class First, class... Rest>
struct Distinct<std::variant<Have...>, First, Rest...>
    : Distinct<std::conditional_t<(std::is_same_v<Have, First> || ...), std::variant<Have...>,
                                  std::variant<Have..., First>>,
               Rest...> {};

/// \brief What solvers see of the systems of one matrix format: hosts see four kinds of
/// preconditioners (see core/on_hosts.hpp), GPUs each one.
template <class T, class Exec, class Matrix, class Variant = std::variant<>>
struct SystemsWith {
  template <class Preconditioner>
  using With =
      std::unique_ptr<typename Solder::Impl::SystemOf<Exec, Matrix, Preconditioner>::AsSeen>;
  template <class Inner>
  using Polynomial = Chebyshev<Exec, PolynomialMatrix<Matrix, T, Exec>, Inner>;

  using type =
      typename Distinct<Variant, With<Identity>, With<Jacobi<T, Exec>>, With<Fsai<T, Exec>>,
                        With<Fsai<T, Exec, Single<T>>>, With<Incomplete<T, Exec>>,
                        With<Amg<T, Exec>>, With<Amg<T, Exec, Single<T>>>,
                        With<Polynomial<Identity>>, With<Polynomial<Jacobi<T, Exec>>>,
                        With<Polynomial<Fsai<T, Exec>>>>::type;
};

}  // namespace Impl

/// \brief A run's system where it is solved: its matrix in the format of the run, and its
/// preconditioner. Compiled in systems.cpp, once a scalar, whatever solvers there are.
template <class T, class Exec>
struct SystemOn {
  using Any = typename Impl::SystemsWith<
      T, Exec, SellMatrix<T, Exec>,
      typename Impl::SystemsWith<T, Exec, CsrMatrix<T, Exec>>::type>::type;

  Any system;
  Kokkos::View<T*, Exec> b, x;  ///< of all columns, row by row
  std::string matrix_format, format_reason;
  double setup_seconds = 0;  ///< of the format and the preconditioner

  SystemOn(Exec const& exec, RunConfig const& run, System<T> const& of);
  void clear_x(Exec const& exec) const;
  std::vector<T> solution(Exec const& exec) const;
};

}  // namespace Solder::Driver
