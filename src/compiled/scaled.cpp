// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include "scaled.hpp"

#include <optional>
#include <type_traits>

#include "with_preconditioner.hpp"

namespace Solder::Compiled {

template <class T, class Exec>
MadeScaled<T, Exec> make_scaled(Exec const& exec, WantedPreconditioner const& wanted,
                                Coordinates const& coordinates, CsrMatrix<T, Exec> const& A) {
  using Csr = CsrMatrix<T, Exec>;
  Scaling<T, Exec> scaling(exec, A, wanted.scaling);
  std::optional<AnyPreconditioner<T, Exec>> of_scaled;
  std::function<void(Exec const&, Csr const&, Csr const&)> again;
  with_unscaled_preconditioner(
      exec, wanted, coordinates, scaling.matrix(), scaling.matrix(),
      [&]<class M, class Refresh>(M const& made, Refresh const& refresh) {
        again = refresh;
        of_scaled.emplace(A.rows(), made, [made](Exec const& on, auto const& r, auto const& z) {
          // Solvers refuse what cannot be applied, but on GPUs a batch is under way before.
          if constexpr (requires { made.failure(); })
            if (!made.failure().empty()) return;
          if constexpr (std::is_same_v<M, Identity>)
            Kokkos::deep_copy(on, z, r);
          else
            Make<T, Exec>::apply(on, made, r.data(), z.data());
        });
      });
  return {ScaledByName<T, Exec>(exec, scaling, *of_scaled),
          [scaling, again](Exec const& on, Csr const& anew) mutable {
            scaling.refresh(on, anew);
            again(on, scaling.matrix(), scaling.matrix());
          }};
}

/// \brief Taking a function's address compiles it.
template <class T>
auto scaled_preconditioners() {
  return Impl::for_each_space(
      []<class Exec>(std::type_identity<Exec>) { return &make_scaled<T, Exec>; });
}

template auto scaled_preconditioners<SOLDER_SCALAR>();

}  // namespace Solder::Compiled
