// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include <Kokkos_Core.hpp>
#include <memory>
#include <solder/core/errors.hpp>
#include <solder/matrix/distributed.hpp>
#include <solder/solver.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

#include "any_preconditioner.hpp"

namespace Solder {
template <class Scalar, class Exec>
Preconditioner<Scalar, Exec> make_preconditioner(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                                 Parameters const& parameters,
                                                 Coordinates const& coordinates) {
  auto const wanted = Compiled::read_preconditioner(parameters);
  return Impl::with_memory_for("Solder: a preconditioner is set up", A.rows(), A.nonzeros(), [&] {
    return Preconditioner<Scalar, Exec>(Compiled::make_any(exec, wanted, coordinates, A, A));
  });
}

template <class Scalar, class Exec>
Preconditioner<Scalar, Exec> make_preconditioner(Exec const& exec,
                                                 DistributedMatrix<Scalar, Exec> const& A,
                                                 Parameters const& parameters,
                                                 Coordinates const& coordinates) {
  std::shared_ptr<Impl::MadePreconditioner<Scalar, Exec>> made;
  Impl::together(A.ranks(), [&] {
    auto const wanted = Compiled::read_preconditioner(parameters);
    Impl::with_memory_for("Solder: a preconditioner is set up", A.rows(), A.nonzeros(), [&] {
      made = Compiled::make_any(exec, wanted, coordinates, A.own_block(exec), A);
    });
  });
  return Preconditioner<Scalar, Exec>(std::move(made));
}

namespace Compiled {

/// \brief Taking a function's address compiles it.
template <class T>
auto made_preconditioners() {
  return Impl::for_each_space([]<class Exec>(std::type_identity<Exec>) {
    using Of = Preconditioner<T, Exec>;
    using Csr = CsrMatrix<T, Exec>;
    Of (*const of_csr)(Exec const&, Csr const&, Parameters const&, Coordinates const&) =
        &make_preconditioner<T, Exec>;
    if constexpr (Impl::is_host_space<Exec> && has_ranks) {
      using Rows = DistributedMatrix<T, Exec>;
      Of (*const of_rows)(Exec const&, Rows const&, Parameters const&, Coordinates const&) =
          &make_preconditioner<T, Exec>;
      return std::tuple(of_csr, of_rows);
    } else {
      return of_csr;
    }
  });
}

template auto made_preconditioners<SOLDER_SCALAR>();

}  // namespace Compiled
}  // namespace Solder
