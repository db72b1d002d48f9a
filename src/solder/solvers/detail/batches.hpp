// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/solvers/detail/solving.hpp>

namespace Solder::Impl {

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
    if (!possible || !system_->takes_batches())
      throw std::invalid_argument(
          name +
          "can be solved by Cg and BiCgStab, with a CsrMatrix and no preconditioner, Jacobi, "
          "Fsai or Chebyshev with one of them");
    check_rows();
    if (std::int32_t const row = system_->first_coupled_row(exec, batch.device_rows()); row >= 0)
      throw std::invalid_argument(name + "needs systems that are independent: row " +
                                  std::to_string(row) + " has an entry in a column of another one");
    if constexpr (possible)
      method_ = std::make_unique<Method>(exec, system_, options, Many{1, batch_.device_rows()});
  }

  /// \brief Whether it is for this batch.
  bool is_for(Batch<Exec> const& batch) const {
    return batch.device_rows().starts == batch_.device_rows().starts;
  }

  /// \brief A report for each system.
  std::vector<Report> solve(typename Method::Scalar const* b, typename Method::Scalar* x) {
    check_rows();
    std::vector<Report> reports;
    if constexpr (possible) reports = method_->solve_many(b, x);
    auto const& starts = batch_.starts();
    for (std::size_t k = 0; k < reports.size(); ++k)
      reports[k].words_per_iteration *= double(starts[k + 1] - starts[k]) / batch_.rows();
    return reports;
  }

 private:
  static constexpr bool possible =
      Method::takes_many && !is_block_method<Method> &&
      takes_batches<typename System::OpenedA, typename System::OpenedM>;

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

}  // namespace Solder::Impl
