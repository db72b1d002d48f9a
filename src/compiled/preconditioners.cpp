// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include "preconditioners.hpp"

#include <tuple>
#include <type_traits>

namespace Solder::Compiled {

template <class T, class Exec>
Fsai<T, Exec> Make<T, Exec>::fsai(Exec const& exec, Matrix const& A, FsaiOptions const& options) {
  return Fsai<T, Exec>(exec, A, options);
}

template <class T, class Exec>
Fsai<T, Exec, Single<T>> Make<T, Exec>::single_fsai(Exec const& exec, Matrix const& A,
                                                    FsaiOptions const& options) {
  return Fsai<T, Exec, Single<T>>(exec, A, options);
}

template <class T, class Exec>
Incomplete<T, Exec> Make<T, Exec>::incomplete(Exec const& exec, Matrix const& A, Factorisation kind,
                                              IncompleteOptions const& options) {
  return Incomplete<T, Exec>(exec, A, kind, options);
}

template <class T, class Exec>
template <class Of>
DistributedFsai<T, Exec> Make<T, Exec>::distributed_fsai(Exec const& exec, Of const& A,
                                                         FsaiOptions const& options) {
  return DistributedFsai<T, Exec>(exec, A, options);
}

template <class T, class Exec>
template <class Of>
Schwarz<T, Exec> Make<T, Exec>::schwarz(Exec const& exec, Of const& A, Factorisation kind,
                                        IncompleteOptions const& options) {
  return Schwarz<T, Exec>(exec, A, kind, options);
}

template <class T, class Exec>
template <class Stored>
Amg<T, Exec, Stored> Make<T, Exec>::amg(Exec const& exec, Matrix const& A,
                                        AmgOptions const& options, Coordinates const& coordinates) {
  if (coordinates.extent(0) == 0) return Amg<T, Exec, Stored>(exec, A, options);
  AmgOptions of_nodes = options;
  of_nodes.block_size = static_cast<std::int32_t>(coordinates.extent(1));
  auto const there =
      Kokkos::create_mirror_view_and_copy(typename Exec::memory_space(), coordinates);
  return Amg<T, Exec, Stored>(exec, A, rigid_body_modes(exec, there), of_nodes);
}

template <class T, class Exec>
template <class Of, class Inner>
Chebyshev<Exec, Of, Inner> Make<T, Exec>::chebyshev(Exec const& exec, Of const& A,
                                                    Inner const& inner,
                                                    ChebyshevOptions const& options) {
  return Chebyshev<Exec, Of, Inner>(exec, A, inner, options);
}

template <class T, class Exec>
template <class Preconditioner, class Of>
void Make<T, Exec>::refresh(Exec const& exec, Preconditioner& M, Of const& A) {
  M.refresh(exec, A);
}

template <class T, class Exec>
template <class Preconditioner>
void Make<T, Exec>::apply(Exec const& exec, Preconditioner const& M, T const* r, T* z) {
  using Space = typename Exec::memory_space;
  std::size_t const rows = std::size_t(M.rows());
  M.apply(exec, Kokkos::View<T const*, Space>(r, rows), Kokkos::View<T*, Space>(z, rows));
}

/// \brief What is compiled here: to take a function's address compiles it.
template <class T>
auto preconditioners() {
  return Impl::for_each_space([]<class Exec>(std::type_identity<Exec>) {
    using M = Make<T, Exec>;
    using Csr = CsrMatrix<T, Exec>;
    auto const uses =
        []<class P, class Of = Csr>(std::type_identity<P>, std::type_identity<Of> = {}) {
      return std::tuple(&M::template refresh<P, Of>, &M::template apply<P>);
    };
    auto const chebyshev = [uses]<class Matrix>(std::type_identity<Matrix> of) {
      auto const over = [uses, of]<class Inner>(std::type_identity<Inner>) {
        return std::tuple(&M::template chebyshev<Matrix, Inner>,
                          uses(std::type_identity<Chebyshev<Exec, Matrix, Inner>>(), of));
      };
      return std::tuple(over(std::type_identity<Identity>()),
                        over(std::type_identity<Jacobi<T, Exec>>()),
                        over(std::type_identity<Fsai<T, Exec>>()));
    };
    auto const of_ranks = [&] {
      if constexpr (Impl::is_host_space<Exec>) {
        using Rows = DistributedMatrix<T, Exec>;
        std::type_identity<Rows> const of;
        return std::tuple(&M::template distributed_fsai<Rows>, &M::template schwarz<Rows>,
                          uses(std::type_identity<DistributedFsai<T, Exec>>(), of),
                          uses(std::type_identity<Schwarz<T, Exec>>(), of), chebyshev(of));
      } else {
        return std::tuple<>();
      }
    };
    return std::tuple(
        of_ranks(), &M::fsai, &M::single_fsai, &M::incomplete, &M::template amg<T>,
        &M::template amg<Single<T>>, uses(std::type_identity<Jacobi<T, Exec>>()),
        uses(std::type_identity<Fsai<T, Exec>>()),
        uses(std::type_identity<Fsai<T, Exec, Single<T>>>()),
        uses(std::type_identity<Incomplete<T, Exec>>()), uses(std::type_identity<Amg<T, Exec>>()),
        uses(std::type_identity<Amg<T, Exec, Single<T>>>()),
        &M::template apply<ScaledByName<T, Exec>>, chebyshev(std::type_identity<Csr>()),
        chebyshev(std::type_identity<PolynomialMatrix<SellMatrix<T, Exec>, T, Exec>>()));
  });
}

template auto preconditioners<SOLDER_SCALAR>();

}  // namespace Solder::Compiled
