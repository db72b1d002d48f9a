// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every allocation fails, one after the other, in every set-up, solver and refresh: what is thrown
// says so, nothing leaks, and what was there before goes on working.
#include "../failing_allocations.hpp"
#include "../support.hpp"

#include <functional>
#include <iostream>
#include <memory>

#include <solder/solder.hpp>

namespace {

using namespace SolderTest;
using Exec = Kokkos::DefaultExecutionSpace;
using Solder::HostCsr;
using Csr = Solder::CsrMatrix<double, Exec>;
using Jacobi = Solder::Jacobi<double, Exec>;
using Fsai = Solder::Fsai<double, Exec>;
using Incomplete = Solder::Incomplete<double, Exec>;
using Amg = Solder::Amg<double, Exec>;
using Vector = Kokkos::View<double*, Exec::memory_space>;

/// A system, and another matrix of the same pattern.
struct System {
  explicit System(int nodes = 5) : host(Solder::fem_poisson_2d<double>(nodes)) {}

  Csr made_other() const {
    HostCsr<double> scaled = host;
    std::vector<double> d(host.rows);
    for (std::int32_t i = 0; i < host.rows; ++i) d[i] = 1 + i % 3;
    scale_both_sides(scaled, d);
    return {exec, scaled};
  }

  Exec exec;
  HostCsr<double> host;
  Csr A{exec, host}, other = made_other();
  std::vector<double> rhs = random_vector<double>(host.rows, 7);
  Vector b = to_device(exec, rhs), x = to_device(exec, std::vector<double>(host.rows));
};

/// What a solve comes to.
struct Outcome {
  std::vector<int> iterations;
  std::vector<Solder::Reason> reasons;
  std::vector<double> x;

  bool operator==(Outcome const&) const = default;
};

/// Puts the reports into a vector that has one already.
using Solve = std::function<void(std::vector<Solder::Report>&)>;

bool all_finite(std::vector<double> const& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

constexpr double guess = 0.25;

Outcome outcome_of(Exec const& exec, Vector const& x, Solve const& solve) {
  Kokkos::deep_copy(exec, x, guess);
  exec.fence();
  Outcome outcome;
  std::vector<Solder::Report> reports(1);
  solve(reports);
  for (Solder::Report const& report : reports) {
    outcome.iterations.push_back(report.iterations);
    outcome.reasons.push_back(report.reason);
  }
  outcome.x = to_host(exec, x);
  return outcome;
}

class FailedAllocations : public testing::Test {
 protected:
  /// \param make makes a call, which holds what it needs
  void each(std::string const& what, std::function<Call()> const& make) {
    SCOPED_TRACE(what);
    {  // what Kokkos and the standard library allocate once and for all
      Call const call = make();
      call.before();
      call.run();
      call.after(false);
    }
    for (bool const and_later : {false, true}) {
      if constexpr (Solder::Impl::is_host_space<Exec>) in_turn(Of::host, make, and_later, on_host);
      in_turn(Of::device, make, and_later, on_device);
    }
  }

  static void TearDownTestSuite() {
    std::cout << "[   COUNT  ] " << on_host.points << " allocations of the host and "
              << on_device.points << " of the device failed, one a call; of these calls "
              << on_host.survivals + on_device.survivals << " did without; " << on_host.spared
              << " for Kokkos's records of views were spared\n";
  }

 private:
  static void in_turn(Of of, std::function<Call()> const& make, bool and_later, Failed& sum) {
    SCOPED_TRACE(std::string(of == Of::host ? "of the host" : "of the device") +
                 (and_later ? ", and all later ones" : ""));
    if (HasFailure()) return;
    std::int64_t const blocks = live_blocks(), views = live_views();
    Failed const failed = fail_in_turn(of, make(), and_later, is_long() ? 1 : 23);
    // For a GPU Kokkos makes scratch as it is wanted, with records of it on the host.
    if constexpr (Solder::Impl::is_host_space<Exec>) {
      EXPECT_EQ(live_blocks() - blocks, 0) << "blocks of the host have leaked";
    }
    EXPECT_EQ(live_views() - views, 0)
        << "views have leaked; the newest are" << newest_views(live_views() - views);
    sum += failed;
  }

  static inline Failed on_host, on_device;
};

/// A call that makes something of a system, and throws it away.
template <class F>
std::function<Call()> made_anew(F const& make) {
  return [make] {
    auto const system = std::make_shared<System>();
    return Call{.run = [=] { make(*system); }};
  };
}

TEST_F(FailedAllocations, Matrices) {
  each("CsrMatrix", made_anew([](System& s) { Csr(s.exec, s.host); }));
  each("sell", made_anew([](System& s) { Solder::SellMatrix<double, Exec>::sell(s.exec, s.A); }));
  each("ell", made_anew([](System& s) { Solder::SellMatrix<double, Exec>::ell(s.exec, s.A); }));
  each("block", made_anew([](System& s) { Solder::BlockMatrix<double, Exec>(s.exec, s.A, 5); }));
  each("EqualSlices", made_anew([](System& s) { Solder::EqualSlices<Exec>(s.exec, 1000); }));
}

// ---- Preconditioners ----

/// f(name, make) for each preconditioner: make(exec, A) makes it.
template <class F>
void with_each_preconditioner(F const& f) {
  f("jacobi", [](Exec const& exec, Csr const& A) { return Jacobi(exec, A); });
  f("fsai", [](Exec const& exec, Csr const& A) { return Fsai(exec, A); });
  f("adaptive fsai",
    [](Exec const& exec, Csr const& A) { return Fsai(exec, A, {.adaptive = true}); });
  f("chebyshev",
    [](Exec const& exec, Csr const& A) { return Solder::Chebyshev(exec, A, Jacobi(exec, A)); });
  f("ic0",
    [](Exec const& exec, Csr const& A) { return Incomplete(exec, A, Solder::Factorisation::ic0); });
  f("ilu0 by colours, in levels", [](Exec const& exec, Csr const& A) {
    return Incomplete(exec, A, Solder::Factorisation::ilu0,
                      {.schedule = Solder::TriangularSchedule::levels,
                       .ordering = Solder::Ordering::multicolour});
  });
  f("ic0 by sweeps", [](Exec const& exec, Csr const& A) {
    return Incomplete(exec, A, Solder::Factorisation::ic0,
                      {.sweeps = 3, .trisolve = Solder::Trisolve::jacobi});
  });
  f("amg", [](Exec const& exec, Csr const& A) { return Amg(exec, A, {.max_coarse_size = 4}); });
  f("classical amg", [](Exec const& exec, Csr const& A) {
    return Amg(exec, A,
               {.interpolation = Solder::AmgInterpolation::extended, .max_coarse_size = 4});
  });
  f("amg with fsai", [](Exec const& exec, Csr const& A) {
    return Amg(exec, A,
               {.smoother = Solder::AmgSmoother::fsai,
                .cycle = Solder::AmgCycle::w,
                .max_coarse_size = 4});
  });
}

TEST(NoRows, AreSolvedAtOnceWithEachPreconditioner) {
  Exec const exec;
  Csr const A(exec, HostCsr<double>{});
  Vector const none("none", 0);
  with_each_preconditioner([&](char const* name, auto const& make) {
    SCOPED_TRACE(name);
    Solder::Cg solver(exec, A, make(exec, A));
    Solder::Report const report = solver.solve(none, none);
    EXPECT_EQ(report.reason, Solder::Reason::converged);
    EXPECT_EQ(report.iterations, 0);
  });
  EXPECT_NO_THROW(Solder::TriangularSolve(exec, A).solve(exec, none, none));
}

TEST_F(FailedAllocations, SetUps) {
  with_each_preconditioner([&](char const* name, auto const& make) {
    each(name, made_anew([make](System& s) { make(s.exec, s.A); }));
  });
}

// ---- Solves ----

template <class Options>
Options quick(Options options, Solder::Runner runner = Solder::Runner::automatic) {
  options.tolerance = 1e-6;
  options.max_iterations = 60;
  options.runner = runner;
  return options;
}

/// A solve by this solver, which it keeps.
template <class Solver>
Solve solve_by(std::shared_ptr<Solver> const& solver, Vector const& b, Vector const& x) {
  return [=](auto& reports) { reports[0] = solver->solve(b, x); };
}

/// Solves, of which each ends like any other, whatever failed before. Where the first allocation
/// fails x is as it was.
/// \param renew makes the solver anew, so that the solve is its first
Call solves(
    Exec const& exec, Vector const& x, Solve const& solve,
    std::function<void()> const& renew = [] {}) {
  renew();
  auto const whole = std::make_shared<Outcome const>(outcome_of(exec, x, solve));
  auto const first = std::make_shared<bool>(true);
  auto const reports = std::make_shared<std::vector<Solder::Report>>(1);
  return {.before =
              [=] {
                renew();
                Kokkos::deep_copy(exec, x, guess);
                exec.fence();
              },
          .run = [=] { solve(*reports); },
          .after =
              [=](bool threw) {
                auto const now = to_host(exec, x);
                EXPECT_TRUE(all_finite(now));
                if (threw && *first) {
                  EXPECT_EQ(now, std::vector<double>(now.size(), guess));
                }
                *first = false;
                for (std::size_t k = 0; !threw && k < now.size(); ++k)
                  ASSERT_NEAR(now[k], whole->x[k], 1e-5);
                EXPECT_TRUE(outcome_of(exec, x, solve) == *whole) << "the next solve is another";
              }};
}

/// f(name, make) for each solver: make(exec, A, M) makes it.
template <class F>
void with_each_solver(F const& f) {
  using Solder::Runner;
  f("cg", [](auto const& exec, auto const& A, auto const& M) {
    return Solder::Cg(exec, A, M, quick(Solder::CgOptions{}));
  });
  f("cg, launched", [](auto const& exec, auto const& A, auto const& M) {
    return Solder::Cg(exec, A, M, quick(Solder::CgOptions{}, Runner::launch));
  });
  f("cg, resident", [](auto const& exec, auto const& A, auto const& M) {
    return Solder::Cg(exec, A, M, quick(Solder::CgOptions{}, Runner::resident));
  });
  f("bicgstab", [](auto const& exec, auto const& A, auto const& M) {
    return Solder::BiCgStab(exec, A, M, quick(Solder::BiCgStabOptions{}, Runner::graph));
  });
  f("gmres", [](auto const& exec, auto const& A, auto const& M) {
    Solder::GmresOptions options;
    options.restart = 8;
    return Solder::Gmres(exec, A, M, quick(options));
  });
  f("idr", [](auto const& exec, auto const& A, auto const& M) {
    return Solder::Idr(exec, A, M, quick(Solder::IdrOptions{}));
  });
}

TEST_F(FailedAllocations, Solvers) {
  with_each_solver([&](std::string const& name, auto const& make) {
    each(name + " made", made_anew([make](System& s) { make(s.exec, s.A, Solder::Identity{}); }));
    each(name, [make] {
      System const s;
      auto const solver = std::make_shared<decltype(make(s.exec, s.A, Solder::Identity{}))>(
          make(s.exec, s.A, Solder::Identity{}));
      return solves(s.exec, s.x, solve_by(solver, s.b, s.x));
    });
  });
}

/// A CG solve with M, of A.
template <class M>
Solve solve_with(System const& s, M const& preconditioner) {
  using Solver = Solder::Cg<Exec, Csr, M>;
  return solve_by(std::make_shared<Solver>(s.exec, s.A, preconditioner, quick(Solder::CgOptions{})),
                  s.b, s.x);
}

TEST_F(FailedAllocations, SolvesWithEachPreconditioner) {
  with_each_preconditioner([&](char const* name, auto const& make) {
    each(name, [make] {
      System const s;
      return solves(s.exec, s.x, solve_with(s, make(s.exec, s.A)));
    });
  });
  each("apply", [] {
    System const s;
    auto const copies = [](std::span<double const> r, std::span<double> z) {
      std::copy(r.begin(), r.end(), z.begin());
    };
    return solves(s.exec, s.x,
                  solve_with(s, Solder::Apply<double, Exec>::on_host(s.host.rows, copies)));
  });
}

TEST_F(FailedAllocations, Refreshes) {
  with_each_preconditioner([&](char const* name, auto const& make) {
    each(name, [make] {
      auto const s = std::make_shared<System const>();
      auto const M = std::make_shared<decltype(make(s->exec, s->A))>(make(s->exec, s->A));
      auto const solve = solve_with(*s, *M);
      auto const solved = [=] { return outcome_of(s->exec, s->x, solve); };
      auto const old = std::make_shared<Outcome const>(solved());
      M->refresh(s->exec, s->other);
      auto const fresh = std::make_shared<Outcome const>(solved());
      EXPECT_NE(*old, *fresh) << "the test does not tell them apart";
      return Call{.before = [=] { M->refresh(s->exec, s->A); },
                  .run = [=] { M->refresh(s->exec, s->other); },
                  .after =
                      [=](bool threw) {
                        Outcome const now = solved();
                        bool const refuses =
                            now.reasons[0] == Solder::Reason::breakdown && now.iterations[0] == 0;
                        if (threw)
                          EXPECT_TRUE(now == *old || refuses);
                        else
                          EXPECT_EQ(now, *fresh);
                      }};
    });
  });
}

// ---- Several right-hand sides, and systems ----

/// Solves with 5 columns, of which 3 end at once, by make(system), each with a solver of its own;
/// entry i of column c is number 5 i + c.
template <class Make>
Call solves_columns(Make const& make) {
  constexpr int columns = 5;
  using Columns = Kokkos::View<double**, Kokkos::LayoutRight, Exec::memory_space>;
  auto const s = std::make_shared<System const>(9);
  std::vector<double> rhs = random_vector<double>(s->host.rows * columns, 11);
  for (std::size_t k = 0; k < rhs.size(); ++k)
    if (k % columns < 3) rhs[k] = 0;
  Vector const b = to_device(s->exec, rhs), x = to_device(s->exec, rhs);
  auto const solver = std::make_shared<std::unique_ptr<decltype(make(*s))>>();
  return solves(
      s->exec, x,
      [=](auto& reports) {
        auto const view = [&](Vector const& of) {
          return Columns(of.data(), s->host.rows, columns);
        };
        reports = (*solver)->solve(view(b), view(x));
      },
      [=] { *solver = std::make_unique<decltype(make(*s))>(make(*s)); });
}

TEST_F(FailedAllocations, Columns) {
  auto const tight = [](auto options) {
    options = quick(options);
    options.tolerance = 1e-12;
    return options;
  };
  using Solder::Identity;
  each("cg", [=] {
    return solves_columns([=](System const& s) {
      return Solder::Cg(s.exec, s.A, Identity{}, tight(Solder::CgOptions{}));
    });
  });
  each("gmres", [=] {
    return solves_columns([=](System const& s) {
      return Solder::Gmres(s.exec, s.A, Identity{}, tight(Solder::GmresOptions{}));
    });
  });
  each("block_cg", [=] {
    return solves_columns([=](System const& s) {
      return Solder::BlockCg(s.exec, s.A, Identity{}, tight(Solder::BlockCgOptions{}));
    });
  });
}

TEST_F(FailedAllocations, Batches) {
  each("cg", [] {
    Exec const exec;
    Solder::HostBatch<double> systems;
    for (int const nodes : {3, 1, 4, 2}) systems.append(Solder::fem_poisson_2d<double>(nodes));
    Csr const A(exec, systems.matrix);
    Solder::Batch<Exec> const batch(exec, systems.starts);
    using Solver = Solder::Cg<Exec, Csr, Jacobi>;
    auto const solver = std::make_shared<std::unique_ptr<Solver>>();
    Vector const b = to_device(exec, random_vector<double>(A.rows(), 5)), x("x", A.rows());
    return solves(
        exec, x, [=](auto& reports) { reports = (*solver)->solve(b, x, batch); },
        [=] {
          *solver = std::make_unique<Solver>(exec, A, Jacobi(exec, A), quick(Solder::CgOptions{}));
        });
  });
}

// ---- Triangles ----

TEST_F(FailedAllocations, TriangularSolves) {
  auto const lower = [](HostCsr<double> const& A, double by) {
    HostCsr<double> L{A.rows, A.rows, {0}, {}, {}};
    for (std::int32_t i = 0; i < A.rows; ++i) {
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
        if (A.columns[k] <= i) {
          L.columns.push_back(A.columns[k]);
          L.values.push_back(A.values[k] * by);
        }
      L.row_offsets.push_back(static_cast<std::int64_t>(L.columns.size()));
    }
    return L;
  };
  each("made", [=] {
    auto const s = std::make_shared<System>();
    auto const L = std::make_shared<Csr>(s->exec, lower(s->host, 1));
    return Call{.run = [=] { Solder::TriangularSolve(s->exec, *L); }};
  });
  each("solve", [=] {
    System const s;
    auto const solver = std::make_shared<Solder::TriangularSolve<double, Exec>>(
        s.exec, Csr(s.exec, lower(s.host, 1)));
    return solves(s.exec, s.x, [=](auto&) { solver->solve(s.exec, s.b, s.x); });
  });
  each("new values", [=] {
    auto const s = std::make_shared<System const>();
    auto const L = std::make_shared<Csr>(s->exec, lower(s->host, 1)),
               twice = std::make_shared<Csr>(s->exec, lower(s->host, 2));
    auto const solver = std::make_shared<Solder::TriangularSolve<double, Exec>>(s->exec, *L);
    auto const solved = [=] {
      return outcome_of(s->exec, s->x, [=](auto&) { solver->solve(s->exec, s->b, s->x); }).x;
    };
    auto const old = std::make_shared<std::vector<double> const>(solved());
    return Call{.before =
                    [=] {
                      solver->analyse(s->exec, *L);
                      solver->update_values(s->exec, *L);
                    },
                .run =
                    [=] {
                      solver->analyse(s->exec, *twice);
                      solver->update_values(s->exec, *twice);
                    },
                .after =
                    [=](bool threw) {
                      try {
                        auto now = solved();
                        if (!threw)
                          for (double& value : now) value *= 2;
                        EXPECT_EQ(now, *old);
                      } catch (std::logic_error const&) {  // it says that there are no values
                        EXPECT_TRUE(threw);
                      }
                    }};
  });
}

}  // namespace
