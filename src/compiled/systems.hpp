// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <solder/matrix/block.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/distributed.hpp>
#include <solder/matrix/sell.hpp>
#include <solder/preconditioners/amg.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/distributed_fsai.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/preconditioners/schwarz.hpp>
#include <solder/solvers/detail/system.hpp>
#include <type_traits>
#include <variant>

#include "any_preconditioner.hpp"

namespace Solder::Compiled {

/// \brief The single-precision counterpart of T; T itself in a build without.
template <class T>
using Single = std::conditional_t<Impl::has_single, SingleOf<T>, T>;

/// \brief Whether the rows of a matrix are dealt to ranks.
template <class Matrix>
inline constexpr bool over_ranks = false;
template <class T, class Exec>
inline constexpr bool over_ranks<DistributedMatrix<T, Exec>> = true;

/// \brief The matrix type that a polynomial uses if the solver uses a Matrix. It is the same type,
/// except on hosts. Hosts gain nothing from padded rows, so CSR is used there, which leaves less to
/// compile.
template <class Matrix, class T, class Exec>
using PolynomialMatrix = std::conditional_t<Impl::is_host_space<Exec> && !over_ranks<Matrix>,
                                            CsrMatrix<T, Exec>, Matrix>;

/// \brief A variant without repeated types.
template <class Variant, class... More>
struct Distinct {
  using type = Variant;
};
template <class... Have, class First, class... Rest>
struct Distinct<std::variant<Have...>, First, Rest...>
    : Distinct<std::conditional_t<(std::is_same_v<Have, First> || ...), std::variant<Have...>,
                                  std::variant<Have..., First>>,
               Rest...> {};

/// \brief The types that solvers see for the systems of one matrix format. On hosts there are three
/// kinds of these preconditioners (see core/on_hosts.hpp); on GPUs each preconditioner has its own
/// type.
template <class T, class Exec, class Matrix, class Variant = std::variant<>>
struct SystemsWith {
  template <class Preconditioner>
  using With = std::shared_ptr<typename Impl::SystemOf<Exec, Matrix, Preconditioner>::AsSeen>;
  template <class Inner>
  using Polynomial = Chebyshev<Exec, PolynomialMatrix<Matrix, T, Exec>, Inner>;

  using type =
      typename Distinct<Variant, With<Identity>, With<Jacobi<T, Exec>>, With<Fsai<T, Exec>>,
                        With<Fsai<T, Exec, Single<T>>>, With<Incomplete<T, Exec>>,
                        With<Amg<T, Exec>>, With<Amg<T, Exec, Single<T>>>,
                        With<ScaledByName<T, Exec>>, With<Polynomial<Identity>>,
                        With<Polynomial<Jacobi<T, Exec>>>, With<Polynomial<Fsai<T, Exec>>>>::type;
};

/// \brief Any of the systems for which all methods are compiled.
template <class T, class Exec>
using AnySystem = typename SystemsWith<
    T, Exec, BlockMatrix<T, Exec>,
    typename SystemsWith<T, Exec, SellMatrix<T, Exec>,
                         typename SystemsWith<T, Exec, CsrMatrix<T, Exec>>::type>::type>::type;

}  // namespace Solder::Compiled
