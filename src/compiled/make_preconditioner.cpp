// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include <Kokkos_Core.hpp>
#include <functional>
#include <solder/core/errors.hpp>
#include <solder/solver.hpp>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "with_preconditioner.hpp"

namespace Solder {
namespace Compiled {
namespace {

struct NoRefresh {};

/// \brief A preconditioner of a known type.
/// \tparam Refresh of a CsrMatrix, or NoRefresh
template <class T, class Exec, class M, class Refresh>
class MadeOf final : public Impl::MadePreconditioner<T, Exec> {
 public:
  using Csr = CsrMatrix<T, Exec>;

  MadeOf(WantedPreconditioner const& wanted, M const& made, Refresh const& refresh,
         std::int32_t rows)
      : description_(described(wanted, "  ")), made_(made), refresh_(refresh), rows_(rows) {}

  std::string describe() const override { return description_; }
  std::int32_t rows() const override { return rows_; }
  std::string failure() const override {
    if constexpr (requires { made_.failure(); })
      return made_.failure();
    else
      return {};
  }
  SetupReport setup() const override {
    if constexpr (requires { made_.setup(); })
      return made_.setup();
    else
      return {};
  }
  bool is_stale() const override { return Impl::is_stale(made_); }
  void refresh([[maybe_unused]] Exec const& exec, [[maybe_unused]] Csr const& A) override {
    if constexpr (std::is_same_v<Refresh, NoRefresh>) {
      throw std::invalid_argument(
          "Solder: a preconditioner over ranks cannot be refreshed; make another one");
    } else {
      refresh_(exec, A, A);
      rows_ = A.rows();
    }
  }
  void apply(Exec const& exec, T const* r, T* z) const override {
    if constexpr (std::is_same_v<M, Identity>)
      Kokkos::deep_copy(exec, View<T>(z, rows_), View<T const>(r, rows_));
    else
      Make<T, Exec>::apply(exec, made_, r, z);
  }

 private:
  template <class Entry>
  using View =
      Kokkos::View<Entry*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  std::string description_;
  M made_;
  Refresh refresh_;
  std::int32_t rows_;
};

}  // namespace
}  // namespace Compiled

template <class Scalar, class Exec>
Preconditioner<Scalar, Exec> make_preconditioner(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                                 Parameters const& parameters,
                                                 Coordinates const& coordinates) {
  auto const wanted = Compiled::read_preconditioner(parameters);
  std::shared_ptr<Impl::MadePreconditioner<Scalar, Exec>> made;
  Impl::with_memory_for("Solder: a preconditioner is set up", A.rows(), A.nonzeros(), [&] {
    Compiled::with_preconditioner(
        exec, wanted, coordinates, A, A,
        [&]<class M, class Refresh>(M const& M_made, Refresh const& refresh) {
          made = std::make_shared<Compiled::MadeOf<Scalar, Exec, M, Refresh>>(wanted, M_made,
                                                                              refresh, A.rows());
        });
  });
  return Preconditioner<Scalar, Exec>(std::move(made));
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
      Compiled::with_preconditioner(
          exec, wanted, coordinates, A.own_block(exec), A,
          [&]<class M>(M const& M_made, auto const& /*refresh*/) {
            made = std::make_shared<Compiled::MadeOf<Scalar, Exec, M, Compiled::NoRefresh>>(
                wanted, M_made, Compiled::NoRefresh{}, A.rows());
          });
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
    if constexpr (Impl::is_host_space<Exec>) {
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
