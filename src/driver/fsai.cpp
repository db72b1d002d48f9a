// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include "fsai.hpp"

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

#ifdef KOKKOS_ENABLE_SERIAL
template struct FsaiMaker<SOLDER_SCALAR, Kokkos::Serial>;
#endif
#ifdef KOKKOS_ENABLE_OPENMP
template struct FsaiMaker<SOLDER_SCALAR, Kokkos::OpenMP>;
#endif
#ifdef KOKKOS_ENABLE_CUDA
template struct FsaiMaker<SOLDER_SCALAR, Kokkos::Cuda>;
#endif
#ifdef KOKKOS_ENABLE_HIP
template struct FsaiMaker<SOLDER_SCALAR, Kokkos::HIP>;
#endif

}  // namespace Solder::Driver
