// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches of systems, each system against a solve of its own matrix by one team.
#include "../kokkos_events.hpp"
#include "batches.hpp"
#include "bicgstab.hpp"
#include "cg.hpp"
#include "gmres.hpp"

#include <stdexcept>

#include <solder/matrix/sell.hpp>
#include <solder/preconditioners/amg.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>

namespace {

using namespace SolderTest;
using Solder::Fsai;

/// Hermitian positive definite systems of many sizes and patterns, rows of hundreds among them.
template <class Scalar>
std::vector<HostCsr<Scalar>> definite_systems() {
  std::vector<HostCsr<Scalar>> systems;
  for (int const n : {1, 2, 31, 300})
    systems.push_back(Solder::random_spd<Scalar>(n, n < 5 ? n : 5, unsigned(n)));
  systems.push_back(Solder::random_spd<Scalar>(400, 200, 1));
  for (int const side : {3, 9, 20, 26}) systems.push_back(definite<Scalar>(side));
  return systems;
}

/// Which of many systems has b = 0.
constexpr std::size_t zeros = 5, enough = 8;

/// Random right-hand sides and first guesses. Of many systems one has b = 0, one a NaN, and one
/// begins with its solution.
template <class Scalar>
void make_vectors(std::vector<HostCsr<Scalar>> const& systems, Vectors<Scalar>& b,
                  Vectors<Scalar>& x0) {
  for (std::size_t k = 0; k < systems.size(); ++k) {
    b.push_back(random_vector<Scalar>(systems[k].rows, unsigned(10 + k)));
    x0.push_back(random_vector<Scalar>(systems[k].rows, unsigned(90 + k)));
  }
  if (systems.size() < enough) return;
  std::fill(b[zeros].begin(), b[zeros].end(), Scalar{});
  b[6][40] = Scalar(std::nan(""));
  b[3] = multiply(systems[3], x0[3]);
}

/// With the vectors that many systems have here; see SolderTest::expect_batch_as_alone.
template <class Options, class Scalar, class Make>
void expect_batch_as_alone(std::vector<HostCsr<Scalar>> const& systems, Options const& options,
                           Make const& make, double slack) {
  Vectors<Scalar> b, x0;
  make_vectors(systems, b, x0);
  SolderTest::expect_batch_as_alone(systems, b, x0, options, make, slack);
}

constexpr auto none = [](auto const&, auto const&) { return Identity{}; };
constexpr auto jacobi = [](auto const& exec, auto const& A) {
  return Jacobi<typename std::decay_t<decltype(A)>::scalar_type, Default>(exec, A);
};
constexpr auto fsai = [](auto const& exec, auto const& A) {
  return Fsai<typename std::decay_t<decltype(A)>::scalar_type, Default>(exec, A);
};

/// Two of the scalars, one with each solver: the others share what is tested, and cost many seconds
/// to compile.
TEST(BatchOfCg, SystemsAreAsAlone) {
  for (auto [name, options] : Method<CgOptions>::forms()) {
    SCOPED_TRACE(name);
    options.tolerance = 1e-9;
    auto const systems = definite_systems<double>();
    expect_batch_as_alone(systems, options, none, 0.05);
    expect_batch_as_alone(systems, options, jacobi, 0.05);
    expect_batch_as_alone(systems, options, fsai, 0.05);
  }
}

TEST(BatchOfBiCgStab, SystemsAreAsAlone) {
  using Scalar = Kokkos::complex<double>;
  auto systems = definite_systems<Scalar>();
  systems.push_back(Solder::convection_diffusion_2d<Scalar>(17));
  for (auto [name, options] : Method<Solder::BiCgStabOptions>::forms()) {
    SCOPED_TRACE(name);
    options.tolerance = 1e-9;
    expect_batch_as_alone(systems, options, jacobi, 0.5);
    if (name == Method<Solder::BiCgStabOptions>::forms()[0].first)
      expect_batch_as_alone(systems, options, fsai, 0.5);
  }
}

/// Whose eigenvalues are those of the whole batch: a system alone would have another polynomial.
TEST(BatchOf, PolynomialsSolveThemAll) {
  Default const exec;
  auto const systems = definite_systems<double>();
  auto const host = batch_of(systems);
  CsrMatrix<double, Default> const A(exec, host.matrix);
  Vectors<double> b;
  for (auto const& system : systems) b.push_back(random_vector<double>(system.rows, 3));
  for (int const over : {0, 1}) {
    auto const solve_with = [&](auto const& M) {
      SolverOf<CgOptions, Default, double, std::decay_t<decltype(M)>> solver(exec, A, M,
                                                                             CgOptions{});
      auto const x = to_device(exec, std::vector<double>(A.rows()));
      auto const reports =
          solver.solve(to_device(exec, joined(b)), x, Batch<Default>(exec, host.starts));
      auto const x_host = to_host(exec, x);
      for (std::size_t k = 0; k < systems.size(); ++k) {
        EXPECT_EQ(reports[k].reason, Reason::converged) << k << ": " << reports[k].detail;
        auto const [relative, rounding] =
            true_residual(systems[k], b[k],
                          std::vector<double>(x_host.begin() + host.starts[k],
                                              x_host.begin() + host.starts[k + 1]));
        EXPECT_LE(relative, 1e-8 + rounding) << k;
      }
    };
    if (over == 0)
      solve_with(Solder::Chebyshev(exec, A, Jacobi<double, Default>(exec, A), {.degree = 3}));
    else
      solve_with(Solder::Chebyshev(exec, A, Fsai<double, Default>(exec, A), {.degree = 2}));
  }
}

/// Each ends for a reason of its own, and at its own time.
TEST(BatchOf, SystemsThatCannotBeSolvedDoNotDisturbTheOthers) {
  auto const diagonal = [](double first, double other) {
    Solder::TripletBuilder<double> builder;
    for (std::int32_t i = 0; i < 50; ++i) builder.add(i, i, i == 0 ? first : other + i);
    return builder.build(50, 50);
  };
  std::vector<HostCsr<double>> const systems = {diagonal(1, 2), diagonal(-1, -100),
                                                Solder::fem_poisson_2d<double>(12), diagonal(0, 2),
                                                Solder::fem_poisson_2d<double>(30)};
  for (int const limit : {0, 1, 40, 1000}) {
    CgOptions options;
    options.max_iterations = limit;
    expect_batch_as_alone(systems, options, none, 0.1);
  }
}

TEST(BatchOf, ManySystemsAreOneKernelAndTheSameBitsAgain) {
  Default const exec;
  HostBatch<double> host;
  for (int k = 0; k < 3000; ++k)
    host.append(Solder::random_spd<double>(1 + k % 40, std::min(1 + k % 40, 4), unsigned(k)));
  CsrMatrix<double, Default> const A(exec, host.matrix);
  Batch<Default> const batch(exec, host.starts);
  auto const b = random_vector<double>(A.rows(), 5);
  auto const b_device = to_device(exec, b), x = to_device(exec, std::vector<double>(A.rows()));
  int calls = 0;
  CgOptions options;
  options.monitor = [&](Solder::Progress const& progress) {
    ++calls;
    EXPECT_LE(progress.relative_residual, options.tolerance);
  };
  SolverOf<CgOptions, Default, double, Jacobi<double, Default>> solver(
      exec, A, Jacobi<double, Default>(exec, A), options);
  auto const first = solver.solve(b_device, x, batch);
  auto const x_first = to_host(exec, x);
  EXPECT_EQ(calls, 1);
  Kokkos::deep_copy(exec, x, 0.0);
  exec.fence();
  KokkosEvents events;
  auto const again = solver.solve(b_device, x, batch);
  events.stop();
  std::vector<std::string> kernels;
  for (auto const& kernel : events.kernels)
    if (kernel.label.rfind("Kokkos::", 0) != 0) kernels.push_back(kernel.label);
  EXPECT_EQ(kernels, std::vector<std::string>{"Solder::cg::solve"});
  EXPECT_TRUE(events.allocations.empty());
  EXPECT_TRUE(same_bits(to_host(exec, x), x_first));
  ASSERT_EQ(first.size(), 3000u);
  for (std::size_t k = 0; k < first.size(); ++k) {
    ASSERT_EQ(first[k].reason, Reason::converged) << k;
    ASSERT_EQ(first[k].iterations, again[k].iterations);
    auto const begin = host.starts[k], end = host.starts[k + 1];
    auto const system = Solder::random_spd<double>(end - begin, std::min(end - begin, 4), k);
    auto const [relative, rounding] =
        true_residual(system, std::vector<double>(b.begin() + begin, b.begin() + end),
                      std::vector<double>(x_first.begin() + begin, x_first.begin() + end));
    ASSERT_LE(relative, options.tolerance + rounding) << k;
  }
}

/// The batch may be another one, and the matrix's values others.
TEST(BatchOf, ASolverTakesOtherBatchesAndNewValues) {
  Default const exec;
  auto const host = batch_of(definite_systems<double>());
  Solder::CsrMatrix<double, Default> const A(exec, host.matrix);
  SolverOf<CgOptions, Default, double> solver(exec, A, Identity{}, CgOptions{});
  auto const b = to_device(exec, random_vector<double>(A.rows(), 5)),
             x = to_device(exec, std::vector<double>(A.rows()));
  Batch<Default> const all(exec, {0, A.rows()}), parts(exec, host.starts);
  EXPECT_EQ(solver.solve(b, x, all).size(), 1u);
  EXPECT_EQ(solver.solve(b, x, all)[0].iterations, 0);
  for (Report const& report : solver.solve(b, x, parts)) EXPECT_LE(report.iterations, 400);
  Kokkos::deep_copy(x, 0.0);
  auto const reports = solver.solve(b, x, parts);
  auto const whole = solver.solve(b, x, all);
  EXPECT_EQ(reports.size(), host.starts.size() - 1);
  for (Report const& report : reports) EXPECT_EQ(report.reason, Reason::converged);
  EXPECT_EQ(whole[0].iterations, 0) << "what solves the parts solves the whole";
}

TEST(BatchOf, WhatCannotBeSolvedSoIsRefused) {
  Default const exec;
  auto const poisson = Solder::fem_poisson_2d<double>(5);
  auto const host = batch_of(std::vector{poisson, poisson});
  CsrMatrix<double, Default> const A(exec, host.matrix);
  auto const b = to_device(exec, random_vector<double>(50, 5)),
             x = to_device(exec, std::vector<double>(50));
  Batch<Default> const batch(exec, host.starts);
  auto const refuses = [&](auto&& solver, Batch<Default> const& of, char const* why) {
    try {
      solver.solve(b, x, of);
      ADD_FAILURE() << why;
    } catch (std::invalid_argument const& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  using Cg = SolverOf<CgOptions, Default, double>;
  refuses(Cg(exec, A, Identity{}, CgOptions{}), Batch<Default>(exec, {0, 20, 50}),
          "row 15 has an entry in a column of another one");
  refuses(Cg(exec, A, Identity{}, CgOptions{}), Batch<Default>(exec, {0, 25, 49}),
          "a batch of 49 rows needs a matrix of as many, not of 50");
  CgOptions graph;
  graph.runner = Runner::graph;
  refuses(Cg(exec, A, Identity{}, graph), batch, "the runner team, not graph");
  refuses(SolverOf<Solder::GmresOptions, Default, double>(exec, A, Identity{}, {}), batch,
          "Cg and BiCgStab, not by Solder::Gmres");
  Solder::Amg const M(exec, A, {.max_coarse_size = 4});
  refuses(SolverOf<CgOptions, Default, double, std::remove_const_t<decltype(M)>>(exec, A, M, {}),
          batch, "applied to one system alone");
  refuses(
      SolverOf<
          CgOptions, Default, double,
          Solder::Chebyshev<Default, CsrMatrix<double, Default>, std::remove_const_t<decltype(M)>>>(
          exec, A, Solder::Chebyshev(exec, A, M), {}),
      batch, "applied to one system alone");
  using Sell = Solder::SellMatrix<double, Default>;
  refuses(SolverOn<CgOptions, Default, Sell, Identity>(exec, Sell::sell(exec, A), Identity{}, {}),
          batch, "CsrMatrix");
  Cg solver(exec, A, Identity{}, CgOptions{});
  EXPECT_THROW(solver.solve(to_device(exec, random_vector<double>(49, 5)), x, batch),
               std::invalid_argument);

  for (std::vector<std::int32_t> const& starts :
       {std::vector<std::int32_t>{}, {0}, {1, 2}, {0, 5, 5}, {0, 6, 3}})
    EXPECT_THROW(Batch<Default>(exec, starts), std::invalid_argument);
  HostBatch<double> some;
  EXPECT_THROW(some.append(HostCsr<double>{2, 3, {0, 0, 0}, {}, {}}), std::invalid_argument);
  EXPECT_THROW(some.append(HostCsr<double>{}), std::invalid_argument);
}

}  // namespace
