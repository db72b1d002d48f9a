// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/compiled.hpp>
#include <solder/solvers/detail/columns.hpp>

namespace Solder::Impl {

/// \brief A method for the systems of a batch.
template <class Exec, class Scalar>
class AnyBatch {
 public:
  virtual ~AnyBatch() = default;
  /// \brief A report for each system.
  virtual std::vector<Report> solve(Scalar const* b, Scalar* x, Batch<Exec> const& batch) = 0;
};

template <class Method, class Exec, class Options>
class BatchOf final : public AnyBatch<Exec, typename Method::Scalar> {
 public:
  using System = typename Method::System;
  using Scalar = typename Method::Scalar;

  BatchOf(Exec const& exec, std::shared_ptr<System> system, Options const& options)
      : exec_(exec), system_(std::move(system)), options_(options) {}

  std::vector<Report> solve(Scalar const* b, Scalar* x, Batch<Exec> const& batch) override {
    check_rows(batch);
    std::vector<Report> reports;
    if (!is_ready_for(batch)) {
      method_.reset();
      check(batch);
    }
    if constexpr (Method::can_be_batch) {
      if (method_ == nullptr) {
        method_ = make_ready<Method, Serving::batch>(exec_, system_, options_,
                                                     Many{1, batch.device_rows()});
        batch_ = batch;
      }
      reports = method_->solve_batch(b, x);
    }
    auto const& starts = batch.starts();
    for (std::size_t k = 0; k < reports.size(); ++k)
      reports[k].words_per_iteration *= double(starts[k + 1] - starts[k]) / batch.rows();
    return reports;
  }

 private:
  bool is_ready_for(Batch<Exec> const& batch) const {
    return method_ != nullptr && batch_->device_rows().starts == batch.device_rows().starts;
  }
  void check(Batch<Exec> const& batch) const {
    std::string const name = "Solder: a batch ";
    if (options_.runner != Runner::automatic && options_.runner != Runner::team)
      throw std::invalid_argument(name + "is solved by the runner team, not " +
                                  std::string(to_string(options_.runner)));
    if (!Method::takes_many || Method::is_block)
      throw std::invalid_argument(name + "is solved by Cg and BiCgStab, not by " + Method::name);
    if (!Method::can_be_batch || !system_->takes_batches())
      throw std::invalid_argument(
          name +
          "needs a CsrMatrix, and a preconditioner that can be applied to one system alone: this "
          "matrix or this preconditioner cannot (takes_batches)");
    if (std::int32_t const row = system_->first_coupled_row(exec_, batch.device_rows()); row >= 0)
      throw std::invalid_argument(name + "needs systems that are independent: row " +
                                  std::to_string(row) + " has an entry in a column of another one");
  }
  void check_rows(Batch<Exec> const& batch) const {
    if (batch.rows() != system_->rows())
      throw std::invalid_argument("Solder: a batch of " + std::to_string(batch.rows()) +
                                  " rows needs a matrix of as many, not of " +
                                  std::to_string(system_->rows()));
  }

  Exec exec_;
  std::shared_ptr<System> system_;
  Options options_;
  std::unique_ptr<Method> method_;    ///< for the last batch
  std::optional<Batch<Exec>> batch_;  ///< that one
};

/// \brief A solver's method, whatever the types of A and M: all that its users call.
///
/// What is for several right-hand sides, or for batches, are parts of their own: a program that
/// does not use them does not compile their kernels.
template <class Exec, class Scalar>
class AnyMethod {
 public:
  virtual ~AnyMethod() = default;
  /// \brief Of the solver, for people: "Solder::Cg".
  virtual std::string_view name() const = 0;
  /// \brief How one right-hand side is solved, and why, for people: " (resident, because ...)";
  /// empty of blocks.
  virtual std::string plan() const = 0;
  /// \brief What reserve() allocates.
  virtual std::size_t workspace_bytes() const = 0;
  /// \brief Allocates what one right-hand side needs; else its first solve does.
  virtual void reserve() = 0;
  virtual Report solve(Scalar const* b, Scalar* x) = 0;

  std::unique_ptr<ColumnGroups<Exec, Scalar>> columns;
  std::unique_ptr<AnyBatch<Exec, Scalar>> batch;
};

/// \brief A method for A and M of given types.
///
/// \tparam Method see MethodBase
template <class Method, class Exec, class Options>
class MethodFor final : public AnyMethod<Exec, typename Method::Scalar> {
  using Scalar = typename Method::Scalar;
  using System = typename Method::System;

 public:
  MethodFor(Exec const& exec, std::shared_ptr<System> system, Options const& options)
      : exec_(exec), system_(std::move(system)), options_(options) {}

  std::string_view name() const override { return Method::name; }
  std::string plan() const override {
    if constexpr (Method::is_block) {
      return {};
    } else {
      Plan const plan = plan_solve(machine_of(exec_), system_->shape(),
                                   traits_of<Method>(*system_, options_), options_.runner);
      return " (" + std::string(to_string(plan.runner)) + ": " + plan.because + ")";
    }
  }
  std::size_t workspace_bytes() const override {
    if constexpr (Method::is_block)
      return 0;
    else
      return Method(exec_, system_, options_).template workspace_bytes<Serving::one>();
  }
  void reserve() override {
    if constexpr (!Method::is_block)
      if (one_ == nullptr) one_ = make_ready<Method, Serving::one>(exec_, system_, options_);
  }
  Report solve([[maybe_unused]] Scalar const* b, [[maybe_unused]] Scalar* x) override {
    if constexpr (Method::is_block) {
      throw std::logic_error(std::string(Method::name) + " is for blocks of right-hand sides");
    } else {
      reserve();
      return one_->solve(b, x);
    }
  }
  void add_columns() {
    if (this->columns == nullptr)
      this->columns = std::make_unique<ColumnsOf<Method, Exec, Options>>(exec_, system_, options_);
  }
  void add_batch() {
    if (this->batch == nullptr)
      this->batch = std::make_unique<BatchOf<Method, Exec, Options>>(exec_, system_, options_);
  }

 private:
  Exec exec_;
  std::shared_ptr<System> system_;
  Options options_;
  std::unique_ptr<Method> one_;  ///< for one right-hand side
};

/// \brief A method with all its parts, compiled apart: defined and instantiated in src/compiled.
template <template <class, class, class> class Method, class Exec, class OpenedA, class OpenedM,
          class Options>
std::unique_ptr<AnyMethod<Exec, typename OpenedA::scalar_type>> compiled_method(
    Exec const& exec, std::shared_ptr<System<Exec, OpenedA, OpenedM>> system,
    Options const& options);

/// \brief Whether src/compiled has all methods of this scalar for an opened matrix or
/// preconditioner of hosts: it says for which scalar, or for any by void.
template <class Opened, class Scalar>
inline constexpr bool is_compiled_for = [] {
  if constexpr (requires { typename Opened::compiled_for; })
    return std::is_same_v<typename Opened::compiled_for, Scalar> ||
           std::is_void_v<typename Opened::compiled_for>;
  else
    return false;
}();

/// \brief A method for a system, as a solver holds it.
template <template <class, class, class> class Method, class Exec, class OpenedA, class OpenedM,
          class Options>
class MethodOfSystem {
 public:
  using Scalar = typename OpenedA::scalar_type;

  MethodOfSystem() = default;
  MethodOfSystem(Exec const& exec, std::shared_ptr<System<Exec, OpenedA, OpenedM>> system,
                 Options const& options) {
    if constexpr (is_apart)
      method_ = compiled_method<Method>(exec, std::move(system), options);
    else
      method_ = std::make_unique<Typed>(exec, std::move(system), options);
  }

  AnyMethod<Exec, Scalar>& one() const { return *method_; }
  ColumnGroups<Exec, Scalar>& columns() const {
    if constexpr (!is_apart) static_cast<Typed&>(*method_).add_columns();
    return *method_->columns;
  }
  AnyBatch<Exec, Scalar>& batch() const {
    if constexpr (!is_apart) static_cast<Typed&>(*method_).add_batch();
    return *method_->batch;
  }

 private:
  using Typed = MethodFor<Method<Exec, OpenedA, OpenedM>, Exec, Options>;
  static constexpr bool is_apart = is_compiled<Exec, Scalar> &&
                                   is_compiled_for<typename OpenedA::Opened, Scalar> &&
                                   is_compiled_for<OpenedM, Scalar>;

  std::unique_ptr<AnyMethod<Exec, Scalar>> method_;
};

}  // namespace Solder::Impl
