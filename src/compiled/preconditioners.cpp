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

/// \brief What is compiled here: to take a function's address compiles it.
template <class T>
auto preconditioners() {
  return Impl::for_each_space([]<class Exec>(std::type_identity<Exec>) {
    using M = Make<T, Exec>;
    auto const chebyshev = []<class Matrix>(std::type_identity<Matrix>) {
      return std::tuple(&M::template chebyshev<Matrix, Identity>,
                        &M::template chebyshev<Matrix, Jacobi<T, Exec>>,
                        &M::template chebyshev<Matrix, Fsai<T, Exec>>);
    };
    return std::tuple(
        &M::fsai, &M::single_fsai, &M::incomplete, &M::template amg<T>, &M::template amg<Single<T>>,
        chebyshev(std::type_identity<CsrMatrix<T, Exec>>()),
        chebyshev(std::type_identity<PolynomialMatrix<SellMatrix<T, Exec>, T, Exec>>()));
  });
}

template auto preconditioners<SOLDER_SCALAR>();

}  // namespace Solder::Compiled
