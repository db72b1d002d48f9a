// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What the tests of batches share: each system against a solve of its own.

#include "columns.hpp"

#include <solder/matrix/batch.hpp>

namespace SolderTest {

using Solder::Batch;
using Solder::HostBatch;

template <class Scalar>
HostBatch<Scalar> batch_of(std::vector<HostCsr<Scalar>> const& systems) {
  HostBatch<Scalar> batch;
  for (auto const& system : systems) batch.append(system);
  return batch;
}

template <class Scalar>
std::vector<Scalar> joined(Vectors<Scalar> const& parts) {
  std::vector<Scalar> all;
  for (auto const& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// \brief Solves a batch with one solver, and each system with one of its own, by one team;
/// make(exec, A) is the preconditioner. On hosts every bit is the same; a batch keeps no history.
template <class Options, class Scalar, class Make>
void expect_batch_as_alone(std::vector<HostCsr<Scalar>> const& systems, Vectors<Scalar> const& b,
                           Vectors<Scalar> const& x0, Options const& given, Make const& make,
                           double slack) {
  Default const exec;
  auto const host = batch_of(systems);
  CsrMatrix<Scalar, Default> const A(exec, host.matrix);
  auto const M = make(exec, A);
  using M_type = std::remove_const_t<decltype(M)>;
  SolverOf<Options, Default, Scalar, M_type> solver(exec, A, M, given);
  auto const b_device = to_device(exec, joined(b)), x = to_device(exec, joined(x0));
  auto const reports = solver.solve(b_device, x, Batch<Default>(exec, host.starts));
  auto const x_host = to_host(exec, x);
  ASSERT_EQ(reports.size(), systems.size());
  for (std::size_t k = 0; k < systems.size(); ++k) {
    SCOPED_TRACE("system " + std::to_string(k));
    std::vector<Scalar> const mine(x_host.begin() + host.starts[k],
                                   x_host.begin() + host.starts[k + 1]);
    if (norm(b[k]) == 0) {
      EXPECT_EQ(reports[k].reason, Reason::converged);
      for (Scalar const& entry : mine) EXPECT_EQ(entry, Scalar{});
    } else if (reports[k].reason == Reason::converged) {
      auto const [relative, rounding] = true_residual(systems[k], b[k], mine);
      EXPECT_LE(relative, given.tolerance + rounding);
    }
    Options options = given;
    options.runner = Runner::team;
    CsrMatrix<Scalar, Default> const A1(exec, systems[k]);
    SolverOf<Options, Default, Scalar, M_type> alone(exec, A1, make(exec, A1), options);
    auto const x1 = to_device(exec, x0[k]);
    Report report = alone.solve(to_device(exec, b[k]), x1);
    EXPECT_EQ(reports[k].runner, Runner::team);
    EXPECT_EQ(reports[k].kernels_per_iteration, 0);
    EXPECT_TRUE(reports[k].history.empty());
    Report with_history = reports[k];
    with_history.history = report.history;
    with_history.history.resize(std::size_t(with_history.iterations) + 1);
    expect_as_alone(with_history, mine, report, to_host(exec, x1), slack);
  }
  EXPECT_TRUE(same_memory(to_host(exec, b_device), joined(b))) << "b was written to";
}

}  // namespace SolderTest
