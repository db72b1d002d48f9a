// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CMakeLists.txt defines SOLDER_SCALARS, the types that typed.cpp is compiled for.
#include <Kokkos_Core.hpp>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "typed.hpp"

namespace Solder::Python {
namespace {

template <class T>
constexpr Scalar scalar_of = std::is_same_v<T, float>                    ? Scalar::float32
                             : std::is_same_v<T, double>                 ? Scalar::float64
                             : std::is_same_v<T, Kokkos::complex<float>> ? Scalar::complex64
                                                                         : Scalar::complex128;

/// \brief f(std::type_identity<the type of this scalar>()).
template <class Result, class F>
Result with_type(Scalar scalar, F const& f) {
  Result result;
  bool is_there = false;
  [&]<class... T>(std::type_identity<std::tuple<T...>>) {
    ((scalar_of<T> == scalar && (is_there = true, result = f(std::type_identity<T>()), true)) ||
     ...);
  }(std::type_identity<std::tuple<SOLDER_SCALARS>>());
  if (is_there) return result;
  constexpr char const* names[] = {"float32", "float64", "complex64", "complex128"};
  throw std::invalid_argument(std::string("solder: this build does not have the scalar ") +
                              names[int(scalar)] + ": Solder_SCALARS says which it has");
}

bool is_ours = false;

}  // namespace

std::unique_ptr<AnySolver> make_solver(Scalar scalar, Arrays const& A, Wish const& wish) {
  return with_type<std::unique_ptr<AnySolver>>(
      scalar, [&]<class T>(std::type_identity<T>) { return make_typed_solver<T>(A, wish); });
}
std::unique_ptr<AnyPreconditioner> make_preconditioner(Scalar scalar, Arrays const& A,
                                                       Wish const& wish) {
  return with_type<std::unique_ptr<AnyPreconditioner>>(
      scalar,
      [&]<class T>(std::type_identity<T>) { return make_typed_preconditioner<T>(A, wish); });
}

void start() {
  if (Kokkos::is_initialized()) return;
  Kokkos::initialize(Kokkos::InitializationSettings().set_disable_warnings(true));
  is_ours = true;
}
void end() {
  if (is_ours && Kokkos::is_initialized() && !Kokkos::is_finalized()) Kokkos::finalize();
}
std::string spaces() {
  std::string const host = Kokkos::DefaultHostExecutionSpace::name(),
                    device = Kokkos::DefaultExecutionSpace::name();
  return host == device ? host : host + ", " + device;
}
int threads() { return Kokkos::DefaultHostExecutionSpace().concurrency(); }

}  // namespace Solder::Python
