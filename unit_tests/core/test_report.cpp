// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <sstream>

#include <solder/core/report.hpp>
#include <solder/log.hpp>
#include <solder/version.hpp>

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
  EXPECT_EQ(to_string(Reason::stopped), "stopped");
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

TEST(Report, AdviceGoesByWhatWasTriedAndHowItEnded) {
  Solder::Report exhausted;
  exhausted.reason = Reason::max_iterations;
  exhausted.attempts.resize(2);  // the second of them has used up the iterations
  EXPECT_TRUE(advice(exhausted).starts_with("allow more iterations")) << advice(exhausted);
  exhausted.true_relative_residual = exhausted.attempts[0].true_relative_residual = 4e-7;
  exhausted.attempts[1].true_relative_residual = 1;
  EXPECT_TRUE(advice(exhausted).starts_with("allow more iterations")) << advice(exhausted);
  exhausted.attempts[0].reason = Reason::stagnated;  // whose x is the best
  EXPECT_TRUE(advice(exhausted).starts_with("no candidate came nearer to a solution: ask for a "
                                            "tolerance above 8.1e-07, or allow more iterations"))
      << advice(exhausted);
  exhausted.attempts[0].ended = "A may be singular";
  EXPECT_TRUE(advice(exhausted).starts_with("A may be singular")) << advice(exhausted);
  Solder::Report stagnated;
  stagnated.reason = Reason::stagnated;
  stagnated.true_relative_residual = 2e-6;
  EXPECT_TRUE(advice(stagnated).starts_with("ask for a tolerance above 4.1e-06"))
      << advice(stagnated);
  stagnated.detail = "the last cycle has been undone";
  EXPECT_TRUE(advice(stagnated).starts_with("ask for a tolerance above 2.1e-05"))
      << advice(stagnated);
}

TEST(Report, IsPrinted) {
  Solder::Report report;
  report.reason = Reason::stagnated;
  report.iterations = 7;
  report.form = "pipelined";
  report.true_relative_residual = 0.5;
  report.guess_relative_residual = 1;
  report.solve_seconds = 0.25;
  report.detail = "why it is so";
  report.runner = Runner::graph;
  report.runner_because = "it was asked for";
  std::ostringstream out;
  out << report;
  EXPECT_EQ(
      out.str(),
      "stagnated after 7 iterations (pipelined), ||b - A x|| / ||b|| = 0.5, of the guess 1, "
      "in 0.25 s\n  why it is so\n  what next: take another preconditioner, another form or a "
      "longer restart of gmres, or the solver auto, which tries several; if A is singular, only "
      "some b have a solution\n  runner: graph, because it was asked for");
  report.detail = "A may be singular";  // which need not be said again
  EXPECT_TRUE(advice(report).ends_with("which tries several")) << advice(report);
  report.detail = "why it is so";
  report.reason = Reason::converged;
  report.attempts.push_back({.solver = "cg",
                             .preconditioner = "jacobi",
                             .why = "it is cheap",
                             .reason = Reason::breakdown,
                             .ended = "its set-up failed",
                             .iterations = 1,
                             .true_relative_residual = 1,
                             .setup_seconds = 0.5,
                             .solve_seconds = 0.25});
  std::ostringstream tried;
  tried << report;
  EXPECT_NE(
      tried.str().find("\n  tried cg + jacobi: breakdown after 1 iteration in 0.25 s, set up in "
                       "0.5 s, ||b - A x|| / ||b|| = 1; tried because it is cheap; its set-up "
                       "failed"),
      std::string::npos)
      << tried.str();
}

TEST(Report, HasAdviceForEveryReasonThatIsNoSuccess) {
  for (int k = 0; k <= int(Reason::nonsymmetric_matrix); ++k) {
    Solder::Report report;
    report.reason = Reason(k);
    report.true_relative_residual = 0.5;
    bool const has_none = report.reason == Reason::running || report.reason == Reason::converged ||
                          report.reason == Reason::stopped;
    EXPECT_EQ(advice(report).empty(), has_none) << to_string(report.reason);
  }
  Solder::Report report;
  report.reason = Reason::stagnated;
  report.true_relative_residual = 2.31e-9;
  EXPECT_NE(advice(report).find("above 4.7e-09"), std::string::npos) << advice(report);
}

TEST(Log, AddsUpSolves) {
  Solder::Log log;
  EXPECT_TRUE(log.empty());
  Solder::Report report;
  report.reason = Reason::converged;
  report.iterations = 40;
  report.form = "pipelined";
  report.runner = Runner::team;
  report.runner_because = "the system is small";
  report.setup_seconds = 0.5;
  report.solve_seconds = 2;
  report.preconditioner.phases = {{"pattern", 0.125}};
  log.add("Solder::Cg", report);
  report.reason = Reason::max_iterations;
  log.add("Solder::Cg", report);
  report.form = "classical";
  log.add("Solder::Cg", report);
  std::ostringstream out;
  out << log;
  std::string const text = out.str();
  EXPECT_NE(text.find("Solder::Cg         pipelined    team             2         1          80"
                      "         0.5           4        5e+04\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Solder::Cg         classical    team             1         0          40"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  runner: the system is small\n"), std::string::npos);
  EXPECT_NE(text.find("  set-up of the preconditioner: 0.125 s, pattern\n"), std::string::npos);
}

TEST(Version, IsThatOfThePackage) { EXPECT_EQ(Solder::version(), SOLDER_PACKAGE_VERSION); }

}  // namespace
