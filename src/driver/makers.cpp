// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include "makers.hpp"

#include <tuple>
#include <type_traits>

namespace Solder::Driver {
namespace {

FsaiOptions options_of(PreconditionerConfig const& config) {
  FsaiOptions options;
  options.adaptive = config.pattern == "adaptive";
  options.delta = config.delta;
  options.energy_limit = config.energy_limit;
  if (options.adaptive) {
    options.steps = config.steps;
    options.entries_per_step = config.entries_per_step;
    options.improvement = config.improvement;
  } else {
    options.tau = config.tau;
    options.k = config.k;
  }
  return options;
}

}  // namespace

template <class T, class Exec>
Fsai<T, Exec> FsaiMaker<T, Exec>::same(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                       PreconditionerConfig const& config) {
  return Fsai<T, Exec>(exec, A, options_of(config));
}

template <class T, class Exec>
Fsai<T, Exec, Single<T>> FsaiMaker<T, Exec>::single(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                                    PreconditionerConfig const& config) {
  return Fsai<T, Exec, Single<T>>(exec, A, options_of(config));
}

template <class T, class Exec>
Incomplete<T, Exec> IncompleteMaker<T, Exec>::make(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                                   PreconditionerConfig const& config) {
  IncompleteOptions options;
  for (TriangularSchedule const schedule :
       {TriangularSchedule::automatic, TriangularSchedule::natural, TriangularSchedule::levels,
        TriangularSchedule::partition})
    if (to_string(schedule) == config.schedule) options.schedule = schedule;
  for (Ordering const ordering : {Ordering::natural, Ordering::rcm, Ordering::multicolour})
    if (to_string(ordering) == config.ordering) options.ordering = ordering;
  options.shift = config.shift;
  options.sweeps = config.sweeps;
  if (config.trisolve == to_string(Trisolve::jacobi)) {
    options.trisolve = Trisolve::jacobi;
    options.trisolve_sweeps = config.trisolve_sweeps;
  }
  auto const kind = config.name == "ic0" ? Factorisation::ic0 : Factorisation::ilu0;
  return Incomplete<T, Exec>(exec, A, kind, options);
}

template <class T, class Exec, class Stored>
Amg<T, Exec, Stored> AmgMaker<T, Exec, Stored>::make(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                                     PreconditionerConfig const& config,
                                                     Points const& points) {
  AmgOptions options;
  options.strength = config.strength;
  for (AmgSmoother const smoother :
       {AmgSmoother::jacobi, AmgSmoother::chebyshev, AmgSmoother::fsai})
    if (to_string(smoother) == config.smoother) options.smoother = smoother;
  options.cycle = config.cycle == to_string(AmgCycle::w) ? AmgCycle::w : AmgCycle::v;
  options.pre = config.pre;
  options.post = config.post;
  options.levels = config.levels;
  options.coarsest = config.coarsest;
  if (config.near_nullspace == "rigid_body") {
    using Coordinates = Kokkos::View<double const**, Kokkos::LayoutRight, Kokkos::HostSpace,
                                     Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    Coordinates const given(points.values.data(), points.values.size() / points.dimensions,
                            points.dimensions);
    options.block_size = points.dimensions;
    auto const coordinates =
        Kokkos::create_mirror_view_and_copy(typename Exec::memory_space(), given);
    return Amg<T, Exec, Stored>(exec, A, rigid_body_modes(exec, coordinates), options);
  }
  options.block_size = config.block_size;
  return Amg<T, Exec, Stored>(exec, A, options);
}

template <class Exec, class Matrix, class Inner>
Chebyshev<Exec, Matrix, Inner> ChebyshevMaker<Exec, Matrix, Inner>::make(
    Exec const& exec, Matrix const& A, Inner const& inner, PreconditionerConfig const& config) {
  ChebyshevOptions options;
  options.degree = config.degree;
  options.share = config.share;
  return Chebyshev<Exec, Matrix, Inner>(exec, A, inner, options);
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
