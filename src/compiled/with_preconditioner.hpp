// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

#include "any_preconditioner.hpp"
#include "preconditioners.hpp"
#include "wanted.hpp"

namespace Solder::Compiled {

/// \brief Makes none, jacobi or fsai, and calls f(preconditioner).
template <class T, class Exec, class Function>
void with_plain_preconditioner(std::string const& name, Exec const& exec, FsaiOptions const& fsai,
                               CsrMatrix<T, Exec> const& A, Function const& f) {
  if (name == "none") f(Identity{});
  if (name == "jacobi") f(Jacobi<T, Exec>(exec, A));
  if (name == "fsai") f(Make<T, Exec>::fsai(exec, A, fsai));
}

/// \brief The coordinates that the preconditioner takes; none if it takes none.
template <class T, class Exec>
Coordinates coordinates_for(WantedPreconditioner const& wanted, Coordinates const& given,
                            CsrMatrix<T, Exec> const& A) {
  if (!wanted.has_rigid_bodies) {
    if (given.size() == 0) return {};
    throw std::invalid_argument(
        "Solder: coordinates are for preconditioner amg with near_nullspace: rigid_body alone");
  }
  std::size_t const nodes = given.extent(0), dimensions = given.extent(1);
  if ((dimensions == 2 || dimensions == 3) && nodes * dimensions == std::size_t(A.rows()))
    return given;
  throw std::invalid_argument(
      "Solder: near_nullspace: rigid_body needs coordinates of 2 or 3 dimensions, an unknown each: "
      "they are " +
      std::to_string(nodes) + " x " + std::to_string(dimensions) + ", for " +
      std::to_string(A.rows()) + " unknowns");
}

/// \brief Makes the preconditioner and calls f(preconditioner, refresh); refresh(exec, A, matrix)
/// refreshes what it is made of, and then the preconditioner. It is made from A as it is; a
/// polynomial is made from `matrix`, which is A in the format of the solver or, where rows are
/// dealt to ranks, their matrix, of which A is this rank's own block.
template <class T, class Exec, class Matrix, class Function>
void with_unscaled_preconditioner(Exec const& exec, WantedPreconditioner const& wanted,
                                  Coordinates const& given, CsrMatrix<T, Exec> const& A,
                                  Matrix const& matrix, Function const& f) {
  using M = Make<T, Exec>;
  using Csr = CsrMatrix<T, Exec>;
  std::string const& name = wanted.name;
  bool const is_single = wanted.is_single && !std::is_same_v<T, Single<T>>;
  if (wanted.is_single && !Impl::has_single)
    throw std::invalid_argument(std::string("Solder: precision: single") + Impl::single_is_missing);
  Coordinates const coordinates = coordinates_for(wanted, given, A);
  auto const plain = [&]<class Of>(Of const& made) {
    if constexpr (std::is_same_v<Of, Identity>)
      f(made, [](Exec const&, Csr const&, Matrix const&) {});
    else
      f(made, [made = made](Exec const& on, Csr const& anew, Matrix const&) mutable {
        M::refresh(on, made, anew);
      });
  };
  if (name == "chebyshev") {
    auto const of = [](Csr const& csr, Matrix const& in_format) -> auto const& {
      if constexpr (std::is_same_v<PolynomialMatrix<Matrix, T, Exec>, Matrix>)
        return in_format;
      else
        return csr;
    };
    auto const over = [&](auto inner, auto refresh_inner) {
      auto polynomial = M::chebyshev(exec, of(A, matrix), inner, wanted.chebyshev);
      f(polynomial, [=](Exec const& on, Csr const& anew, Matrix const& in_format) mutable {
        refresh_inner(on, inner, anew, in_format);
        M::refresh(on, polynomial, of(anew, in_format));
      });
    };
    if constexpr (over_ranks<Matrix>)
      if (wanted.inner == "fsai")
        return over(M::distributed_fsai(exec, matrix, wanted.fsai),
                    [](Exec const& on, auto& inner, Csr const&, Matrix const& anew) {
                      M::refresh(on, inner, anew);
                    });
    with_plain_preconditioner(
        wanted.inner, exec, wanted.fsai, A, [&]<class Inner>(Inner const& inner) {
          if constexpr (!(over_ranks<Matrix> && std::is_same_v<Inner, Fsai<T, Exec>>))
            over(inner, [](Exec const& on, auto& of_own, Csr const& anew, Matrix const&) {
              if constexpr (!std::is_same_v<Inner, Identity>) M::refresh(on, of_own, anew);
            });
        });
  } else if (name == "fsai" && is_single) {
    plain(M::single_fsai(exec, A, wanted.fsai));
  } else if (over_ranks<Matrix> && (name == "fsai" || wanted.overlap > 0)) {
    if constexpr (over_ranks<Matrix>) {
      auto const of_all = [&](auto made) {
        f(made, [made](Exec const& on, Csr const&, Matrix const& anew) mutable {
          M::refresh(on, made, anew);
        });
      };
      if (name == "fsai")
        of_all(M::distributed_fsai(exec, matrix, wanted.fsai));
      else
        of_all(M::schwarz(exec, matrix, wanted.factorisation()->value, wanted.incomplete));
    }
  } else if (wanted.overlap > 0) {
    throw std::invalid_argument(
        "Solder: overlap works only over ranks, and without scale and match");
  } else if (wanted.is_incomplete()) {
    plain(M::incomplete(exec, A, wanted.factorisation()->value, wanted.incomplete));
  } else if (name == "amg" && is_single) {
    plain(M::template amg<Single<T>>(exec, A, wanted.amg, coordinates));
  } else if (name == "amg") {
    plain(M::template amg<T>(exec, A, wanted.amg, coordinates));
  } else {
    with_plain_preconditioner(name, exec, wanted.fsai, A, plain);
  }
}

/// \brief The same, of a scaled or matched A where that is asked for.
template <class T, class Exec, class Matrix, class Function>
void with_preconditioner(Exec const& exec, WantedPreconditioner const& wanted,
                         Coordinates const& given, CsrMatrix<T, Exec> const& A,
                         Matrix const& matrix, Function const& f) {
  if (!wanted.scaling.is_wanted())
    return with_unscaled_preconditioner(exec, wanted, given, A, matrix, f);
  using Csr = CsrMatrix<T, Exec>;
  Scaling<T, Exec> scaling(exec, A, wanted.scaling);
  WantedPreconditioner of_scaled = wanted;
  of_scaled.scaling = {};
  auto const inner =
      make_any<T, Exec, Csr>(exec, of_scaled, given, scaling.matrix(), scaling.matrix());
  f(ScaledByName<T, Exec>(exec, scaling, AsCalled<T, Exec>(inner)),
    [scaling, inner](Exec const& on, Csr const& anew, Matrix const&) mutable {
      scaling.refresh(on, anew);
      inner->refresh(on, scaling.matrix(), scaling.matrix());
    });
}

}  // namespace Solder::Compiled
