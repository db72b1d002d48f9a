// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <solder/core/report.hpp>

namespace {

using Solder::Reason;
using Solder::Runner;

TEST(Report, NamesOfReasons) {
  EXPECT_EQ(to_string(Reason::running), "running");
  EXPECT_EQ(to_string(Reason::converged), "converged");
  EXPECT_EQ(to_string(Reason::max_iterations), "max_iterations");
  EXPECT_EQ(to_string(Reason::breakdown), "breakdown");
  EXPECT_EQ(to_string(Reason::indefinite_matrix), "indefinite_matrix");
  EXPECT_EQ(to_string(Reason::indefinite_preconditioner), "indefinite_preconditioner");
  EXPECT_EQ(to_string(Reason::not_finite), "not_finite");
  EXPECT_EQ(to_string(Reason::diverged), "diverged");
  EXPECT_EQ(to_string(Reason::stagnated), "stagnated");
  EXPECT_EQ(to_string(Reason::nonsymmetric_matrix), "nonsymmetric_matrix");
  EXPECT_EQ(to_string(Reason(99)), "unknown");
}

TEST(Report, NamesOfRunners) {
  EXPECT_EQ(to_string(Runner::automatic), "auto");
  EXPECT_EQ(to_string(Runner::launch), "launch");
  EXPECT_EQ(to_string(Runner::graph), "graph");
  EXPECT_EQ(to_string(Runner::team), "team");
  EXPECT_EQ(to_string(Runner::resident), "resident");
  EXPECT_EQ(to_string(Runner(99)), "unknown");
}

TEST(Report, ANewReportClaimsNothing) {
  Solder::Report const report;
  EXPECT_EQ(report.reason, Reason::running);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_TRUE(report.history.empty());
}

}  // namespace
