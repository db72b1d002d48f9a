// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include "preconditioners.hpp"

#include <Kokkos_Core.hpp>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "with_preconditioner.hpp"

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

namespace {

/// \brief A preconditioner of a known type.
template <class T, class Exec, class Of, class M, class Refresh>
class MadeOf final : public AnyPreconditioner<T, Exec, Of> {
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
    if constexpr (std::is_same_v<Of, Csr>)
      refresh(exec, A, A);
    else
      throw std::invalid_argument(
          "Solder: a preconditioner over ranks cannot be refreshed; make a new one");
  }
  void refresh(Exec const& exec, Csr const& own, Of const& A) override {
    refresh_(exec, own, A);
    rows_ = own.rows();
  }
  void apply(Exec const& exec, T const* r, T* z) const override {
    View<T const> const from(r, rows_);
    View<T> const to(z, rows_);
    if constexpr (std::is_same_v<M, Identity>)
      Impl::copy(exec, to, from);
    else
      made_.apply(exec, from, to);
  }
  double words(std::int32_t rows) const override { return made_.template words<T>(rows); }
  bool takes_columns() const override { return Impl::is_for_columns<Exec>(made_); }
  bool takes_batches() const override { return Impl::is_for_batches<Exec>(made_); }
  bool is_on_device() const override { return Impl::works_on_device<Exec>(made_); }
  std::size_t opened_as() const override {
    if constexpr (Impl::is_host_space<Exec>)
      return OpenedOnHost<T>(std::in_place_type<SeenOf<M, Exec, T>>).index();
    else
      return 0;
  }
  OpenedOnHost<T> open([[maybe_unused]] Arena<Exec>& arena) const override {
    if constexpr (Impl::is_host_space<Exec>)
      return open_preconditioner<T>(arena, made_);
    else
      return {};
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

template <class T, class Exec, class Of>
std::shared_ptr<AnyPreconditioner<T, Exec, Of>> make_any(Exec const& exec,
                                                         WantedPreconditioner const& wanted,
                                                         Coordinates const& coordinates,
                                                         CsrMatrix<T, Exec> const& own,
                                                         Of const& A) {
  std::shared_ptr<AnyPreconditioner<T, Exec, Of>> made;
  with_preconditioner(exec, wanted, coordinates, own, A,
                      [&]<class M, class Refresh>(M const& of, Refresh const& refresh) {
                        made = std::make_shared<MadeOf<T, Exec, Of, M, Refresh>>(
                            wanted, of, refresh, own.rows());
                      });
  return made;
}

/// \brief For GPUs, where a solver sees each preconditioner's type. Taking a function's address
/// compiles it.
template <class T, class Exec>
auto of_each_type() {
  using M = Make<T, Exec>;
  auto const refresh = []<class P, class Of>(std::type_identity<P>, std::type_identity<Of>) {
    return &M::template refresh<P, Of>;
  };
  auto const chebyshev = [&]<class Of>(std::type_identity<Of> of) {
    auto const over = [&]<class Inner>(std::type_identity<Inner>) {
      return std::tuple(&M::template chebyshev<Of, Inner>,
                        refresh(std::type_identity<Chebyshev<Exec, Of, Inner>>(), of));
    };
    return std::tuple(over(std::type_identity<Identity>()),
                      over(std::type_identity<Jacobi<T, Exec>>()),
                      over(std::type_identity<Fsai<T, Exec>>()));
  };
  std::type_identity<CsrMatrix<T, Exec>> const csr;
  return std::tuple(&M::fsai, &M::single_fsai, &M::incomplete, &M::template amg<T>,
                    &M::template amg<Single<T>>,
                    refresh(std::type_identity<Jacobi<T, Exec>>(), csr),
                    refresh(std::type_identity<Fsai<T, Exec>>(), csr),
                    refresh(std::type_identity<Fsai<T, Exec, Single<T>>>(), csr),
                    refresh(std::type_identity<Incomplete<T, Exec>>(), csr),
                    refresh(std::type_identity<Amg<T, Exec>>(), csr),
                    refresh(std::type_identity<Amg<T, Exec, Single<T>>>(), csr), chebyshev(csr),
                    chebyshev(std::type_identity<SellMatrix<T, Exec>>()),
                    chebyshev(std::type_identity<BlockMatrix<T, Exec>>()));
}

template <class T>
auto preconditioners() {
  return Impl::for_each_space([]<class Exec>(std::type_identity<Exec>) {
    auto const of_csr = &make_any<T, Exec, CsrMatrix<T, Exec>>;
    // What the performance tests call, too.
    auto const of_csr_alone = std::tuple(of_csr, &Make<T, Exec>::fsai, &Make<T, Exec>::single_fsai);
    if constexpr (!Impl::is_host_space<Exec>)
      return std::tuple(of_csr, of_each_type<T, Exec>());
    else if constexpr (has_ranks)
      return std::tuple(of_csr_alone, &make_any<T, Exec, DistributedMatrix<T, Exec>>);
    else
      return of_csr_alone;
  });
}

template auto preconditioners<SOLDER_SCALAR>();

}  // namespace Solder::Compiled
