// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/compiled.hpp>
#include <solder/solvers/detail/columns.hpp>

namespace Solder::Impl {

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

/// \brief A method for the systems of a batch.
template <class Method, class Exec, class Options>
class BatchOf {
 public:
  using System = typename Method::System;

  BatchOf(Exec const& exec, std::shared_ptr<System> system, Options const& options,
          Batch<Exec> const& batch)
      : batch_(batch), system_(std::move(system)) {
    std::string const name = "Solder: a batch ";
    if (options.runner != Runner::automatic && options.runner != Runner::team)
      throw std::invalid_argument(name + "is solved by the runner team, not " +
                                  std::string(to_string(options.runner)));
    if (!Method::takes_many || Method::is_block)
      throw std::invalid_argument(name + "is solved by Cg and BiCgStab, not by " + Method::name);
    if (!Method::can_be_batch || !system_->takes_batches())
      throw std::invalid_argument(
          name +
          "needs a CsrMatrix, and a preconditioner that can be applied to one system alone: this "
          "matrix or this preconditioner cannot (takes_batches)");
    check_rows();
    if (std::int32_t const row = system_->first_coupled_row(exec, batch.device_rows()); row >= 0)
      throw std::invalid_argument(name + "needs systems that are independent: row " +
                                  std::to_string(row) + " has an entry in a column of another one");
    if constexpr (Method::can_be_batch)
      method_ = make_ready<Method>(exec, system_, options, Many{1, batch_.device_rows()});
  }

  /// \brief Whether it is for this batch.
  bool is_for(Batch<Exec> const& batch) const {
    return batch.device_rows().starts == batch_.device_rows().starts;
  }

  /// \brief A report for each system.
  std::vector<Report> solve(typename Method::Scalar const* b, typename Method::Scalar* x) {
    check_rows();
    std::vector<Report> reports;
    if constexpr (Method::can_be_batch) reports = method_->solve_many(b, x);
    auto const& starts = batch_.starts();
    for (std::size_t k = 0; k < reports.size(); ++k)
      reports[k].words_per_iteration *= double(starts[k + 1] - starts[k]) / batch_.rows();
    return reports;
  }

 private:
  void check_rows() const {
    if (batch_.rows() != system_->rows())
      throw std::invalid_argument("Solder: a batch of " + std::to_string(batch_.rows()) +
                                  " rows needs a matrix of as many, not of " +
                                  std::to_string(system_->rows()));
  }

  Batch<Exec> batch_;
  std::shared_ptr<System> system_;
  std::unique_ptr<Method> method_;
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
      : exec_(exec),
        system_(std::move(system)),
        options_(options),
        columns_(exec, system_, options) {}

  std::string_view name() const override { return Method::name; }
  void reserve() override {
    if constexpr (!Method::is_block)
      if (one_ == nullptr) one_ = make_ready<Method>(exec_, system_, options_);
  }
  Report solve([[maybe_unused]] Scalar const* b, [[maybe_unused]] Scalar* x) override {
    if constexpr (Method::is_block) {
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

/// \brief A method for a system.
template <template <class, class, class> class Method, class Exec, class OpenedA, class OpenedM,
          class Options>
std::unique_ptr<AnyMethod<Exec, typename OpenedA::scalar_type>> make_method(
    Exec const& exec, std::shared_ptr<System<Exec, OpenedA, OpenedM>> system,
    Options const& options) {
  using Scalar = typename OpenedA::scalar_type;
  if constexpr (is_compiled<Exec, Scalar> && is_compiled_for<typename OpenedA::Opened, Scalar> &&
                is_compiled_for<OpenedM, Scalar>)
    return compiled_method<Method>(exec, std::move(system), options);
  else
    return std::make_unique<MethodFor<Method<Exec, OpenedA, OpenedM>, Exec, Options>>(
        exec, std::move(system), options);
}

}  // namespace Solder::Impl
