// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include "makers.hpp"

#include <tuple>
#include <type_traits>

namespace Solder::Driver {
template <class T, class Exec>
Fsai<T, Exec> FsaiMaker<T, Exec>::same(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                       PreconditionerConfig const& config) {
  return Fsai<T, Exec>(exec, A, config.fsai);
}

template <class T, class Exec>
Fsai<T, Exec, Single<T>> FsaiMaker<T, Exec>::single(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                                    PreconditionerConfig const& config) {
  return Fsai<T, Exec, Single<T>>(exec, A, config.fsai);
}

template <class T, class Exec>
Incomplete<T, Exec> IncompleteMaker<T, Exec>::make(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                                   PreconditionerConfig const& config) {
  auto const kind = config.name == "ic0" ? Factorisation::ic0 : Factorisation::ilu0;
  return Incomplete<T, Exec>(exec, A, kind, config.incomplete);
}

template <class T, class Exec, class Stored>
Amg<T, Exec, Stored> AmgMaker<T, Exec, Stored>::make(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                                     PreconditionerConfig const& config,
                                                     Points const& points) {
  if (config.near_nullspace == "rigid_body") {
    using Coordinates = Kokkos::View<double const**, Kokkos::LayoutRight, Kokkos::HostSpace,
                                     Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    Coordinates const given(points.values.data(), points.values.size() / points.dimensions,
                            points.dimensions);
    AmgOptions options = config.amg;
    options.block_size = points.dimensions;
    auto const coordinates =
        Kokkos::create_mirror_view_and_copy(typename Exec::memory_space(), given);
    return Amg<T, Exec, Stored>(exec, A, rigid_body_modes(exec, coordinates), options);
  }
  return Amg<T, Exec, Stored>(exec, A, config.amg);
}

template <class Exec, class Matrix, class Inner>
Chebyshev<Exec, Matrix, Inner> ChebyshevMaker<Exec, Matrix, Inner>::make(
    Exec const& exec, Matrix const& A, Inner const& inner, PreconditionerConfig const& config) {
  return Chebyshev<Exec, Matrix, Inner>(exec, A, inner, config.chebyshev);
}

/// What is compiled here, for a space: to take a function's address compiles it.
template <class Exec>
auto compiled() {
  using T = SOLDER_SCALAR;
  auto const chebyshev = []<class Matrix>(std::type_identity<Matrix>) {
    return std::tuple(&ChebyshevMaker<Exec, Matrix, Identity>::make,
                      &ChebyshevMaker<Exec, Matrix, Jacobi<T, Exec>>::make,
                      &ChebyshevMaker<Exec, Matrix, Fsai<T, Exec>>::make);
  };
  return std::tuple(
      &FsaiMaker<T, Exec>::same, &FsaiMaker<T, Exec>::single, &IncompleteMaker<T, Exec>::make,
      &AmgMaker<T, Exec, T>::make, &AmgMaker<T, Exec, Single<T>>::make,
      chebyshev(std::type_identity<CsrMatrix<T, Exec>>()),
      chebyshev(std::type_identity<Compiled::PolynomialMatrix<SellMatrix<T, Exec>, T, Exec>>()));
}

#ifdef KOKKOS_ENABLE_SERIAL
template auto compiled<Kokkos::Serial>();
#endif
#ifdef KOKKOS_ENABLE_OPENMP
template auto compiled<Kokkos::OpenMP>();
#endif
#ifdef KOKKOS_ENABLE_CUDA
template auto compiled<Kokkos::Cuda>();
#endif
#ifdef KOKKOS_ENABLE_HIP
template auto compiled<Kokkos::HIP>();
#endif

}  // namespace Solder::Driver
