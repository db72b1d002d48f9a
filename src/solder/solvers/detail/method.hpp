// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/compiled.hpp>
#include <solder/core/identity.hpp>
#include <solder/core/on_hosts.hpp>
#include <solder/solvers/detail/batches.hpp>
#include <solder/solvers/detail/columns.hpp>

namespace Solder::Impl {

template <class Scalar>
struct JacobiOperator;  // of preconditioners/jacobi.hpp

/// \brief A solver's method, whatever the types of A and M: all that its users call.
template <class Exec, class Scalar>
class AnyMethod {
 public:
  virtual ~AnyMethod() = default;
  /// \brief Of the solver, for people: "Solder::Cg".
  virtual std::string_view name() const = 0;
  /// \brief Allocates what one right-hand side needs; else its first solve does.
  virtual void reserve() = 0;
  virtual Report solve(Scalar const* b, Scalar* x) = 0;
  /// \brief A report for each column.
  virtual std::vector<Report> solve_columns(ColumnsView<Scalar const> const& b,
                                            ColumnsView<Scalar> const& x) = 0;
  /// \brief Whether columns are solved at once, where there are enough of them.
  virtual bool takes_columns() const = 0;
  /// \brief A report for each system.
  virtual std::vector<Report> solve_batch(Scalar const* b, Scalar* x, Batch<Exec> const& batch) = 0;
};

/// \brief A method for A and M of given types.
///
/// \tparam Method with Scalar, System, name, takes_many and solve(b, x), made of an Exec, a System
///         and Options; where it takes_many also of a Many, with solve_many(b, x); one that
///         is_block with that alone
template <class Method, class Exec, class Options>
class MethodFor final : public AnyMethod<Exec, typename Method::Scalar> {
  using Scalar = typename Method::Scalar;
  using System = typename Method::System;

 public:
  MethodFor(Exec const& exec, std::shared_ptr<System> system, Options const& options)
      : exec_(exec),
        system_(std::move(system)),
        options_(options),
        columns_(exec, system_, options) {}

  std::string_view name() const override { return Method::name; }
  void reserve() override {
    if constexpr (!is_block_method<Method>)
      if (one_ == nullptr) one_ = std::make_unique<Method>(exec_, system_, options_);
  }
  Report solve([[maybe_unused]] Scalar const* b, [[maybe_unused]] Scalar* x) override {
    if constexpr (is_block_method<Method>) {
      throw std::logic_error(std::string(Method::name) + " is for blocks of right-hand sides");
    } else {
      reserve();
      return one_->solve(b, x);
    }
  }
  std::vector<Report> solve_columns(ColumnsView<Scalar const> const& b,
                                    ColumnsView<Scalar> const& x) override {
    return columns_.solve(b, x);
  }
  bool takes_columns() const override { return columns_.are_solved_at_once(); }
  std::vector<Report> solve_batch(Scalar const* b, Scalar* x, Batch<Exec> const& batch) override {
    if (batch_ == nullptr || !batch_->is_for(batch)) {
      batch_.reset();
      batch_ = std::make_unique<BatchOf<Method, Exec, Options>>(exec_, system_, options_, batch);
    }
    return batch_->solve(b, x);
  }

 private:
  Exec exec_;
  std::shared_ptr<System> system_;
  Options options_;
  std::unique_ptr<Method> one_;  ///< for one right-hand side
  ColumnsOf<Method, Exec, Options> columns_;
  std::unique_ptr<BatchOf<Method, Exec, Options>> batch_;  ///< for the last one
};

/// \brief make_method() compiled apart: defined and instantiated in src/compiled.
template <template <class, class, class> class Method, class Exec, class OpenedA, class OpenedM,
          class Options>
std::unique_ptr<AnyMethod<Exec, typename OpenedA::scalar_type>> compiled_method(
    Exec const& exec, std::shared_ptr<System<Exec, OpenedA, OpenedM>> system,
    Options const& options);

/// \brief All matrices on hosts, and all preconditioners but pointwise ones of users: see
/// core/on_hosts.hpp.
template <class Scalar>
using MatrixOnHosts = OpenedMatrix<HostOperator<Scalar>, Scalar>;
template <class Scalar>
using PreconditionersOnHosts =
    std::tuple<NoOperation, JacobiOperator<Scalar>, HostPreconditioner<Scalar, true, true>,
               HostPreconditioner<Scalar, false, true>, HostPreconditioner<Scalar, false, false>>;

/// \brief Whether T is one of a tuple's types.
template <class T, class Tuple>
inline constexpr bool is_one_of = false;
template <class T, class... Types>
inline constexpr bool is_one_of<T, std::tuple<Types...>> = (std::is_same_v<T, Types> || ...);

/// \brief A method for a system.
template <template <class, class, class> class Method, class Exec, class OpenedA, class OpenedM,
          class Options>
std::unique_ptr<AnyMethod<Exec, typename OpenedA::scalar_type>> make_method(
    Exec const& exec, std::shared_ptr<System<Exec, OpenedA, OpenedM>> system,
    Options const& options) {
  using Scalar = typename OpenedA::scalar_type;
  if constexpr (is_compiled<Exec, Scalar> && std::is_same_v<OpenedA, MatrixOnHosts<Scalar>> &&
                is_one_of<OpenedM, PreconditionersOnHosts<Scalar>>)
    return compiled_method<Method>(exec, std::move(system), options);
  else
    return std::make_unique<MethodFor<Method<Exec, OpenedA, OpenedM>, Exec, Options>>(
        exec, std::move(system), options);
}

}  // namespace Solder::Impl
