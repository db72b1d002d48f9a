// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Solvers and preconditioners by name.
#include "../support.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/solver.hpp>

namespace SolderTest {

using Solder::make_solver;
using Solder::Parameters;
using Solder::Reason;
using Solder::Report;
using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Solder::CsrMatrix<double, Exec>;

constexpr char const* every_preconditioner[] = {"jacobi", "fsai",      "ic0",
                                                "ilu0",   "chebyshev", "amg"};

inline Parameters in_csr(Parameters parameters) { return parameters.set("matrix_format", "csr"); }

struct ByName : testing::Test {
  Exec exec;
  Solder::HostCsr<double> host = Solder::fem_poisson_2d<double>(20);
  Matrix A{exec, host};
  std::vector<double> b = random_vector<double>(host.rows, 1);

  /// f(b, x), and x after it.
  template <class Solve>
  std::pair<Report, std::vector<double>> solved(Solve const& f) {
    auto const b_there = to_device(exec, b), x = to_device(exec, std::vector<double>(b.size()));
    Report const report = f(b_there, x);
    return {report, to_host(exec, x)};
  }
  template <class Typed>
  void expect_same(Parameters const& parameters, Typed& typed) {
    auto const by_name = make_solver(exec, A, parameters);
    auto const [one, x] = solved([&](auto const& r, auto const& y) { return by_name.solve(r, y); });
    auto const [other, z] = solved([&](auto const& r, auto const& y) { return typed.solve(r, y); });
    EXPECT_EQ(one.reason, Reason::converged) << one.detail;
    EXPECT_EQ(x, z);
    EXPECT_EQ(one.history, other.history);
    EXPECT_EQ(one.runner, other.runner);
    EXPECT_EQ(one.form, other.form);
    EXPECT_EQ(by_name.matrix_format(), "csr");
  }
  std::string error_of(Parameters const& parameters) {
    try {
      make_solver(exec, A, parameters);
    } catch (std::invalid_argument const& error) {
      return error.what();
    }
    return "no error";
  }
  void expect_error(Parameters const& parameters, std::string const& text) {
    EXPECT_EQ(error_of(parameters), "Solder::make_solver:" + text);
  }
};

}  // namespace SolderTest
