// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <solder/preconditioners/apply.hpp>
#include <solder/preconditioners/scaled.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace Solder::Compiled {

/// \brief A preconditioner of any type, so that what is made of it is compiled once: on hosts its
/// stages as any other's there, of one column; on GPUs a call between two kernels.
template <class T, class Exec>
class AnyPreconditioner {
 public:
  /// \param rows of its matrix, of which an Identity knows nothing
  /// \param applied (exec, r, z): z = M r; for GPUs
  template <class M>
  AnyPreconditioner(std::int32_t rows, M const& made, typename Apply<T, Exec>::Function applied)
      : rows_(rows), made_(std::make_shared<Of<M>>(made)), applied_(std::move(applied)) {}

  std::int32_t rows() const { return made_->rows() < 0 ? rows_ : made_->rows(); }
  std::string failure() const { return made_->failure(); }
  SetupReport setup() const { return made_->setup(); }
  bool is_stale() const { return made_->is_stale(); }
  template <class Scalar>
  double words(std::int32_t rows) const {
    return made_->words(rows) * sizeof(T) / sizeof(Scalar);
  }
  auto open(Arena<Exec>& arena) const {
    if constexpr (Impl::is_host_space<Exec>)
      return made_->open(arena, rows());
    else
      return Apply<T, Exec>(rows(), applied_).open(arena);
  }

 private:
  using OnHost = Impl::HostPreconditioner<T, false, true>;
  struct Any {
    virtual ~Any() = default;
    virtual std::int32_t rows() const = 0;
    virtual std::string failure() const = 0;
    virtual SetupReport setup() const = 0;
    virtual bool is_stale() const = 0;
    virtual double words(std::int32_t rows) const = 0;
    virtual OnHost open(Arena<Exec>& arena, std::int32_t rows) const = 0;
  };
  template <class M>
  struct Of final : Any {
    M made;

    explicit Of(M const& of) : made(of) {}
    std::int32_t rows() const override { return made.rows(); }
    std::string failure() const override {
      if constexpr (requires { made.failure(); })
        return made.failure();
      else
        return {};
    }
    SetupReport setup() const override {
      if constexpr (requires { made.setup(); })
        return made.setup();
      else
        return {};
    }
    bool is_stale() const override { return Impl::is_stale(made); }
    double words(std::int32_t rows) const override { return made.template words<T>(rows); }
    OnHost open(Arena<Exec>& arena, std::int32_t rows) const override {
      if constexpr (Impl::is_host_space<Exec>)
        return Impl::host_preconditioner<T>(arena.keeper(), Impl::as_rows<T>(arena, made, rows));
      else
        return {};
    }
  };

  std::int32_t rows_;
  std::shared_ptr<Any const> made_;
  typename Apply<T, Exec>::Function applied_;
};

/// \brief What a preconditioner by name is whose matrix is scaled or matched.
template <class T, class Exec>
using ScaledByName = Scaled<T, Exec, AnyPreconditioner<T, Exec>>;

}  // namespace Solder::Compiled
