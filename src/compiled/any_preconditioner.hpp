// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <solder/core/identity.hpp>
#include <solder/preconditioners/apply.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/preconditioners/scaled.hpp>
#include <solder/solver.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "wanted.hpp"

namespace Solder::Compiled {

/// \brief Whether matrices over ranks are solved; not in a build without (Solder_RANKS=OFF).
#ifdef SOLDER_NO_RANKS
inline constexpr bool has_ranks = false;
#else
inline constexpr bool has_ranks = true;
#endif

/// \brief What solvers on hosts see of a preconditioner by name (core/on_hosts.hpp).
template <class T>
using OpenedOnHost =
    std::variant<Impl::NoOperation, Impl::JacobiOperator<T>, Impl::HostPreconditioner<T>>;

/// \brief A preconditioner by name whose type only preconditioners.cpp knows, where all that the
/// type entails is compiled once.
///
/// \tparam Of what it is a preconditioner of: a CsrMatrix; or a DistributedMatrix, of which this
/// rank's own block is given beside it
template <class T, class Exec, class Of>
class AnyPreconditioner : public Impl::MadePreconditioner<T, Exec> {
 public:
  using Impl::MadePreconditioner<T, Exec>::refresh;
  virtual void refresh(Exec const& exec, CsrMatrix<T, Exec> const& own, Of const& A) = 0;
  /// \brief Words of T that one application moves, not counting its operand and result.
  virtual double words(std::int32_t rows) const = 0;
  virtual bool takes_columns() const = 0;
  virtual bool takes_batches() const = 0;
  virtual bool is_on_device() const = 0;
  /// \brief The alternative that open() answers. For hosts.
  virtual std::size_t opened_as() const = 0;
  virtual OpenedOnHost<T> open(Arena<Exec>& arena) const = 0;
};

/// \brief Makes one, of a scaled or matched matrix where that is wanted. Compiled only in
/// preconditioners.cpp.
template <class T, class Exec, class Of>
std::shared_ptr<AnyPreconditioner<T, Exec, Of>> make_any(Exec const& exec,
                                                         WantedPreconditioner const& wanted,
                                                         Coordinates const& coordinates,
                                                         CsrMatrix<T, Exec> const& own,
                                                         Of const& A);

/// \brief One as an object that solvers and other preconditioners hold.
template <class T, class Exec, class Of>
class HeldPreconditioner {
 public:
  using Any = AnyPreconditioner<T, Exec, Of>;

  explicit HeldPreconditioner(std::shared_ptr<Any const> made) : made_(std::move(made)) {}

  std::int32_t rows() const { return made_->rows(); }
  std::string failure() const { return made_->failure(); }
  SetupReport setup() const { return made_->setup(); }
  bool is_stale() const { return made_->is_stale(); }
  bool takes_columns() const { return made_->takes_columns(); }
  bool takes_batches() const { return made_->takes_batches(); }
  bool is_on_device() const { return made_->is_on_device(); }
  template <class Scalar>
  double words(std::int32_t rows) const {
    return made_->words(rows) * sizeof(T) / sizeof(Scalar);
  }

 protected:
  std::shared_ptr<Any const> made_;
};

/// \brief For solvers on hosts: one that opens as an Opened, an alternative of OpenedOnHost.
template <class T, class Exec, class Of, class Opened>
class OpenedAs : public HeldPreconditioner<T, Exec, Of> {
 public:
  using HeldPreconditioner<T, Exec, Of>::HeldPreconditioner;
  Opened open(Arena<Exec>& arena) const { return std::get<Opened>(this->made_->open(arena)); }
};

/// \brief For Scaled: on hosts its stages, which are neither split nor pointwise; on GPUs a call
/// between two kernels.
template <class T, class Exec>
class AsCalled : public HeldPreconditioner<T, Exec, CsrMatrix<T, Exec>> {
 public:
  using HeldPreconditioner<T, Exec, CsrMatrix<T, Exec>>::HeldPreconditioner;
  /// \brief What is called takes one right-hand side.
  bool takes_columns() const { return Impl::is_host_space<Exec> && this->made_->takes_columns(); }
  auto open(Arena<Exec>& arena) const {
    if constexpr (Impl::is_host_space<Exec>) {
      if (!this->is_on_device())
        throw std::logic_error("Solder: no preconditioner of a CsrMatrix works on the host");
      using Host = Impl::HostPreconditioner<T>;
      return std::visit(
          [&]<class Opened>(Opened const& opened) -> Host {
            if constexpr (std::is_same_v<Opened, Host>)
              return opened;
            else
              return Impl::host_preconditioner<T>(arena.keeper(),
                                                  Impl::as_rows(arena, opened, this->rows()));
          },
          this->made_->open(arena));
    } else {
      // Solvers refuse what cannot be applied, but a batch of iterations may be under way before.
      return Apply<T, Exec>(this->rows(),
                            [made = this->made_](Exec const& on, auto const& r, auto const& z) {
                              if (made->failure().empty()) made->apply(on, r.data(), z.data());
                            })
          .open(arena);
    }
  }
};

/// \brief The type of a preconditioner by name whose matrix is scaled or matched.
template <class T, class Exec>
using ScaledByName = Scaled<T, Exec, AsCalled<T, Exec>>;

}  // namespace Solder::Compiled
