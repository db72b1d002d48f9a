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
#include <solder/solvers/detail/method_base.hpp>

namespace Solder::Impl {

/// \brief A method for the systems of a batch.
template <class Exec, class Scalar>
class Batches {
 public:
  /// \param make its solves
  Batches(Exec const& exec, std::shared_ptr<SystemBase<Exec>> system,
          std::shared_ptr<SolverOptions const> options, MethodTraits const& method,
          MakeSolve<Exec, Scalar> const& make)
      : exec_(exec),
        system_(std::move(system)),
        options_(std::move(options)),
        method_(method),
        make_(make) {}

  /// \brief A report for each system.
  std::vector<Report> solve(Scalar const* b, Scalar* x, Batch<Exec> const& batch);

 private:
  bool is_ready_for(Batch<Exec> const& batch) const {
    return solve_ != nullptr && batch_->device_rows().starts == batch.device_rows().starts;
  }
  void check(Batch<Exec> const& batch) const;
  void check_rows(Batch<Exec> const& batch) const {
    if (batch.rows() != system_->rows())
      throw std::invalid_argument("Solder: a batch of " + std::to_string(batch.rows()) +
                                  " rows needs a matrix of as many, not of " +
                                  std::to_string(system_->rows()));
  }

  Exec exec_;
  std::shared_ptr<SystemBase<Exec>> system_;
  std::shared_ptr<SolverOptions const> options_;
  MethodTraits method_;
  MakeSolve<Exec, Scalar> make_;
  std::unique_ptr<Solve<Exec, Scalar>> solve_;  ///< for the last batch
  std::optional<Batch<Exec>> batch_;            ///< that one
};

template <class Exec, class Scalar>
std::vector<Report> Batches<Exec, Scalar>::solve(Scalar const* b, Scalar* x,
                                                 Batch<Exec> const& batch) {
  check_rows(batch);
  if (!is_ready_for(batch)) {
    solve_.reset();
    check(batch);
    solve_ = make_ready<Exec, Scalar>(make_, system_->ranks(), exec_, options_->monitor,
                                      {.batch = batch.device_rows(), .serving = Serving::batch});
    batch_ = batch;
  }
  std::vector<Report> reports = solve_->solve_batch(b, x);
  auto const& starts = batch.starts();
  for (std::size_t k = 0; k < reports.size(); ++k)
    reports[k].words_per_iteration *= double(starts[k + 1] - starts[k]) / batch.rows();
  return reports;
}

template <class Exec, class Scalar>
void Batches<Exec, Scalar>::check(Batch<Exec> const& batch) const {
  std::string const name = "Solder: a batch ";
  if (options_->runner != Runner::automatic && options_->runner != Runner::team)
    throw std::invalid_argument(name + "is solved by the runner team, not " +
                                std::string(to_string(options_->runner)));
  if (!method_.takes_many || method_.plan.is_block)
    throw std::invalid_argument(name + "is solved by Cg and BiCgStab, not by " + method_.name);
  if (!method_.can_be_batch || !system_->takes_batches())
    throw std::invalid_argument(
        name +
        "needs a CsrMatrix, and a preconditioner that can be applied to one system alone: this "
        "matrix or this preconditioner cannot (takes_batches)");
  if (std::int32_t const row = system_->first_coupled_row(exec_, batch.device_rows()); row >= 0)
    throw std::invalid_argument(name + "needs systems that are independent: row " +
                                std::to_string(row) + " has an entry in a column of another one");
}

/// \brief A solver's method, whatever the types of A and M: all that its users call.
///
/// What is for several right-hand sides, or for batches, are parts of their own: a program that
/// does not use them does not compile their kernels.
template <class Exec, class Scalar>
class AnyMethod {
 public:
  /// \param one makes its solves of one right-hand side; empty for block methods
  AnyMethod(Exec const& exec, std::shared_ptr<SystemBase<Exec>> system,
            std::shared_ptr<SolverOptions const> options, MethodTraits const& method,
            MakeSolve<Exec, Scalar> one)
      : exec_(exec),
        system_(std::move(system)),
        options_(std::move(options)),
        method_(method),
        one_(std::move(one)) {}

  /// \brief Of the solver, for people: "Solder::Cg".
  char const* name() const { return method_.name; }
  /// \brief How one right-hand side is solved, and why, for people: " (resident, because ...)";
  /// empty for block methods.
  std::string plan() const;
  /// \brief What reserve() allocates.
  std::size_t workspace_bytes() const;
  /// \brief Allocates what one right-hand side needs; else its first solve does.
  void reserve();
  Report solve(Scalar const* b, Scalar* x);

  std::unique_ptr<ColumnGroups<Exec, Scalar>> columns;
  std::unique_ptr<Batches<Exec, Scalar>> batch;

  /// \param make solves of several right-hand sides; empty where there are none
  void add_columns(MakeSolve<Exec, Scalar> const& make) {
    columns = std::make_unique<ColumnGroups<Exec, Scalar>>(exec_, system_, *options_, method_.plan,
                                                           one_, make);
  }
  /// \param make solves of batches; empty where there are none
  void add_batch(MakeSolve<Exec, Scalar> const& make) {
    batch = std::make_unique<Batches<Exec, Scalar>>(exec_, system_, options_, method_, make);
  }

 private:
  Exec exec_;
  std::shared_ptr<SystemBase<Exec>> system_;
  std::shared_ptr<SolverOptions const> options_;
  MethodTraits method_;
  MakeSolve<Exec, Scalar> one_;
  std::unique_ptr<Solve<Exec, Scalar>> solve_;  ///< of one right-hand side
};

template <class Exec, class Scalar>
std::string AnyMethod<Exec, Scalar>::plan() const {
  if (!one_) return {};
  Plan const plan = plan_solve(machine_of(exec_), system_->shape(), method_.plan, options_->runner);
  return " (" + std::string(to_string(plan.runner)) + ": " + plan.because + ")";
}

template <class Exec, class Scalar>
std::size_t AnyMethod<Exec, Scalar>::workspace_bytes() const {
  return one_ ? one_(exec_, options_->monitor, {})->workspace_bytes() : 0;
}

template <class Exec, class Scalar>
void AnyMethod<Exec, Scalar>::reserve() {
  if (one_ && solve_ == nullptr)
    solve_ = make_ready<Exec, Scalar>(one_, system_->ranks(), exec_, options_->monitor);
}

template <class Exec, class Scalar>
Report AnyMethod<Exec, Scalar>::solve(Scalar const* b, Scalar* x) {
  if (!one_) throw std::logic_error(std::string(name()) + " is for blocks of right-hand sides");
  reserve();
  return solve_->solve(b, x);
}

#ifdef SOLDER_COMPILED
// Compiled once for hosts and for GPUs: src/compiled/solves.cpp.
extern template class Solve<Host, float>;
extern template class Solve<Host, double>;
extern template class Solve<Host, Kokkos::complex<float>>;
extern template class Solve<Host, Kokkos::complex<double>>;
extern template class ColumnGroups<Host, float>;
extern template class ColumnGroups<Host, double>;
extern template class ColumnGroups<Host, Kokkos::complex<float>>;
extern template class ColumnGroups<Host, Kokkos::complex<double>>;
extern template class Batches<Host, float>;
extern template class Batches<Host, double>;
extern template class Batches<Host, Kokkos::complex<float>>;
extern template class Batches<Host, Kokkos::complex<double>>;
extern template class AnyMethod<Host, float>;
extern template class AnyMethod<Host, double>;
extern template class AnyMethod<Host, Kokkos::complex<float>>;
extern template class AnyMethod<Host, Kokkos::complex<double>>;
#ifdef SOLDER_HAS_GPU
extern template class Solve<Gpu, float>;
extern template class Solve<Gpu, double>;
extern template class Solve<Gpu, Kokkos::complex<float>>;
extern template class Solve<Gpu, Kokkos::complex<double>>;
extern template class ColumnGroups<Gpu, float>;
extern template class ColumnGroups<Gpu, double>;
extern template class ColumnGroups<Gpu, Kokkos::complex<float>>;
extern template class ColumnGroups<Gpu, Kokkos::complex<double>>;
extern template class Batches<Gpu, float>;
extern template class Batches<Gpu, double>;
extern template class Batches<Gpu, Kokkos::complex<float>>;
extern template class Batches<Gpu, Kokkos::complex<double>>;
extern template class AnyMethod<Gpu, float>;
extern template class AnyMethod<Gpu, double>;
extern template class AnyMethod<Gpu, Kokkos::complex<float>>;
extern template class AnyMethod<Gpu, Kokkos::complex<double>>;
#endif
#endif

/// \brief What AnyMethod is made of: a method for A and M of given types.
///
/// \tparam Method see MethodBase
template <class Method>
class MethodFor {
  using Exec = typename Method::Space;
  using Scalar = typename Method::Scalar;
  using System = typename Method::System;
  using Options = typename Method::Options;

 public:
  MethodFor(std::shared_ptr<System> system, Options const& options)
      : system_(std::move(system)), options_(std::make_shared<Options>(options)) {}

  std::unique_ptr<AnyMethod<Exec, Scalar>> any(Exec const& exec) const {
    return std::make_unique<AnyMethod<Exec, Scalar>>(
        exec, system_, options_, Method::traits_of(*system_, *options_), make<Serving::one>());
  }
  /// \brief Makes solves that serve this; empty where the method, A and M cannot.
  template <Serving For>
  MakeSolve<Exec, Scalar> make() const {
    constexpr bool can = For == Serving::one       ? !Method::is_block
                         : For == Serving::columns ? Method::can_be_together
                                                   : Method::can_be_batch;
    if constexpr (can)
      return [of = *this](Exec const& exec, Monitor const& monitor,
                          Many const& many) -> std::unique_ptr<Solve<Exec, Scalar>> {
        auto const options = std::make_shared<Options>(*of.options_);
        options->monitor = monitor;
        using Made = Serves<Method, is_host_space<Exec> ? Serving::one : For>;
        return std::make_unique<Made>(exec, of.system_, options, many);
      };
    else
      return {};
  }

 private:
  std::shared_ptr<System> system_;
  std::shared_ptr<Options const> options_;
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
    if constexpr (is_apart) {
      method_ = compiled_method<Method>(exec, std::move(system), options);
    } else {
      made_of_.emplace(std::move(system), options);
      method_ = made_of_->any(exec);
    }
  }

  AnyMethod<Exec, Scalar>& one() const { return *method_; }
  ColumnGroups<Exec, Scalar>& columns() const {
    if constexpr (!is_apart)
      if (method_->columns == nullptr)
        method_->add_columns(made_of_->template make<Serving::columns>());
    return *method_->columns;
  }
  Batches<Exec, Scalar>& batch() const {
    if constexpr (!is_apart)
      if (method_->batch == nullptr) method_->add_batch(made_of_->template make<Serving::batch>());
    return *method_->batch;
  }

 private:
  static constexpr bool is_apart = is_compiled<Exec, Scalar> &&
                                   is_compiled_for<typename OpenedA::Opened, Scalar> &&
                                   is_compiled_for<OpenedM, Scalar>;
  struct None {};
  using MadeOf = std::conditional_t<is_apart, None, MethodFor<Method<Exec, OpenedA, OpenedM>>>;

  std::unique_ptr<AnyMethod<Exec, Scalar>> method_;
  std::optional<MadeOf> made_of_;
};

}  // namespace Solder::Impl
