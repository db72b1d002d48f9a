// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a solve makes Kokkos do, counted through the callbacks of Kokkos Tools: kernels, and nothing
// else.
#include "../kokkos_events.hpp"
#include "solve.hpp"

#include <memory>

#include <solder/matrix/generators/poisson.hpp>
#include <solder/matrix/sell.hpp>

namespace {

using namespace SolderTest;

std::uint32_t id_of(auto const& exec) { return Kokkos::Tools::Experimental::device_id(exec); }

/// Kokkos emulates graphs on hosts, and fences in doing so; no other graph has a fence.
bool is_of_emulated_graph(std::string const& fence) {
  return fence.find("Kokkos::DefaultGraph") == 0;
}

/// One system, and solvers of it on an instance that is not the default one.
template <class Exec>
struct Bench {
  Exec exec = another_instance<Exec>();
  HostCsr<double> host = Solder::fem_poisson_2d<double>(20);
  CsrMatrix<double, Exec> A{exec, host};
  Kokkos::View<double*, typename Exec::memory_space> b = to_device(exec, random_vector<double>(
                                                                             host.rows, 61)),
                                                     x = to_device(exec,
                                                                   std::vector<double>(host.rows));

  static CgOptions options(CgForm form, Runner runner, int iterations, double tolerance = 0) {
    CgOptions o;
    o.form = form;
    o.runner = runner;
    o.max_iterations = iterations;
    o.tolerance = tolerance;
    return o;
  }

  /// What a fresh solver's solve number `solves` does.
  template <class Preconditioner>
  std::unique_ptr<KokkosEvents> watch(Preconditioner const& M, CgOptions const& o, int solves = 1) {
    return watch_with(A, M, o, solves);
  }

  template <class Matrix, class Preconditioner>
  std::unique_ptr<KokkosEvents> watch_with(Matrix const& matrix, Preconditioner const& M,
                                           CgOptions const& o, int solves = 1) {
    Cg<Exec, Matrix, Preconditioner> cg(exec, matrix, M, o);
    Report report;
    for (int k = 1; k < solves; ++k) cg.solve(b, x);
    Kokkos::deep_copy(x, 0);
    Kokkos::fence("SolderTest: before the solve");
    auto events = std::make_unique<KokkosEvents>();
    report = cg.solve(b, x);
    events->stop();
    EXPECT_EQ(report.iterations, o.tolerance == 0 ? o.max_iterations : report.iterations);
    EXPECT_EQ(report.reason, o.tolerance == 0 ? Reason::max_iterations : Reason::converged);
    return events;
  }

  void expect_only_kernels_of_the_instance(KokkosEvents const& events) {
    EXPECT_FALSE(events.kernels.empty());
    for (auto const& kernel : events.kernels) {
      EXPECT_EQ(kernel.label.rfind("Solder::", 0), 0u) << kernel.label;
      EXPECT_EQ(kernel.device, id_of(exec)) << kernel.label;
    }
    EXPECT_EQ(events.fences, std::vector<std::string>{});
    EXPECT_EQ(events.copies, std::vector<std::string>{});
    EXPECT_EQ(events.allocations.size(), 0u);
  }
};

/// f(preconditioner) for Identity and Jacobi.
template <class Exec, class F>
void with_each_preconditioner(Bench<Exec>& bench, F const& f) {
  {
    SCOPED_TRACE("identity");
    f(Identity{});
  }
  SCOPED_TRACE("jacobi");
  f(Jacobi<double, Exec>(bench.exec, bench.A));
}

template <class Exec>
struct CgKernels : testing::Test {};
TYPED_TEST_SUITE(CgKernels, Spaces::Types, TypeName);

TYPED_TEST(CgKernels, TwoAnIterationPipelinedAndThreeClassical) {
  Bench<TypeParam> bench;
  with_each_preconditioner(bench, [&](auto const& M) {
    for (CgForm const form : {CgForm::pipelined, CgForm::classical}) {
      SCOPED_TRACE(to_string(form));
      auto const kernels = [&](int iterations) {
        return static_cast<int>(
            bench.watch(M, bench.options(form, Runner::launch, iterations))->kernels.size());
      };
      int const per_iteration = form == CgForm::pipelined ? 2 : 3;
      int const base = kernels(20);
      EXPECT_EQ(kernels(20 + 16) - base, per_iteration * 16);
      EXPECT_EQ(kernels(20 + 16 * 9) - base, per_iteration * 16 * 9);
      // And not many more around them: the residual and the judge at both ends, a batch ahead on
      // GPUs.
      int const ahead = Solder::Impl::is_host_space<TypeParam> ? 1 : 48;
      EXPECT_LE(base, per_iteration * (20 + ahead) + 4);
    }
  });
}

TYPED_TEST(CgKernels, NothingElseInASolve) {
  Bench<TypeParam> bench;
  with_each_preconditioner(bench, [&](auto const& M) {
    for (CgForm const form : {CgForm::pipelined, CgForm::classical}) {
      for (Runner const runner : {Runner::launch, Runner::team}) {
        for (double const tolerance : {0.0, 1e-8}) {
          SCOPED_TRACE(std::string(to_string(form)) + ", " + std::string(to_string(runner)));
          int const iterations = tolerance == 0 ? 50 : 1000;
          bench.expect_only_kernels_of_the_instance(
              *bench.watch(M, bench.options(form, runner, iterations, tolerance)));
        }
      }
    }
  });
}

TYPED_TEST(CgKernels, PaddedFormatsTakeTheSameKernelsAndNothingElse) {
  Bench<TypeParam> bench;
  using Matrix = Solder::SellMatrix<double, TypeParam>;
  for (Matrix const& A :
       {Matrix::sell(bench.exec, bench.A, {64, 0}), Matrix::sell(bench.exec, bench.A, {1, 1}),
        Matrix::ell(bench.exec, bench.A)}) {
    SCOPED_TRACE(A.is_ell() ? "ell" : "sell, sigma " + std::to_string(A.sigma()));
    with_each_preconditioner(bench, [&](auto const& M) {
      for (CgForm const form : {CgForm::pipelined, CgForm::classical}) {
        SCOPED_TRACE(to_string(form));
        auto const watch = [&](Runner runner, int iterations, double tolerance) {
          return bench.watch_with(A, M, bench.options(form, runner, iterations, tolerance));
        };
        auto const base = watch(Runner::launch, 20, 0), more = watch(Runner::launch, 52, 0);
        EXPECT_EQ(more->kernels.size() - base->kernels.size(),
                  32u * (form == CgForm::pipelined ? 2 : 3));
        bench.expect_only_kernels_of_the_instance(*more);
        bench.expect_only_kernels_of_the_instance(*watch(Runner::launch, 1000, 1e-8));
        auto const team = watch(Runner::team, 1000, 1e-8);
        bench.expect_only_kernels_of_the_instance(*team);
        EXPECT_EQ(team->kernels.size(), 1u);
      }
    });
  }
}

TYPED_TEST(CgKernels, PaddedFormatsRepeatBitForBit) {
  Bench<TypeParam> bench;
  using Matrix = Solder::SellMatrix<double, TypeParam>;
  auto const run = [&](Matrix const& A, Runner runner) {
    Cg<TypeParam, Matrix> cg(bench.exec, A, Identity{},
                             bench.options(CgForm::pipelined, runner, 1000, 1e-8));
    Kokkos::deep_copy(bench.x, 0);
    Report const report = cg.solve(bench.b, bench.x);
    EXPECT_EQ(report.reason, Reason::converged);
    auto x = to_host(bench.exec, bench.x);
    EXPECT_LE(true_residual(bench.host, to_host(bench.exec, bench.b), x).relative, 1.01e-8);
    x.insert(x.end(), report.history.begin(), report.history.end());
    return x;
  };
  for (Runner const runner : {Runner::launch, Runner::graph, Runner::team}) {
    SCOPED_TRACE(to_string(runner));
    for (bool const ell : {false, true}) {
      auto const make = [&] {
        return ell ? Matrix::ell(bench.exec, bench.A) : Matrix::sell(bench.exec, bench.A, {64, 0});
      };
      EXPECT_TRUE(same_bits(run(make(), runner), run(make(), runner)));
    }
  }
}

TYPED_TEST(CgKernels, ATeamsSolveIsOneKernel) {
  Bench<TypeParam> bench;
  with_each_preconditioner(bench, [&](auto const& M) {
    for (CgForm const form : {CgForm::pipelined, CgForm::classical}) {
      EXPECT_EQ(bench.watch(M, bench.options(form, Runner::team, 1000, 1e-8))->kernels.size(), 1u);
      EXPECT_EQ(bench.watch(M, bench.options(form, Runner::team, 1000))->kernels.size(), 1u);
    }
  });
}

TYPED_TEST(CgKernels, AGraphIsRecordedOnceAndSubmittedWithoutAFence) {
  Bench<TypeParam> bench;
  with_each_preconditioner(bench, [&](auto const& M) {
    for (CgForm const form : {CgForm::pipelined, CgForm::classical}) {
      auto const events = bench.watch(M, bench.options(form, Runner::graph, 1000, 1e-8), 2);
      EXPECT_EQ(events->allocations.size(), 0u);
      EXPECT_EQ(events->copies, std::vector<std::string>{});
      for (auto const& fence : events->fences) {
        EXPECT_TRUE(Solder::Impl::is_host_space<TypeParam> && is_of_emulated_graph(fence)) << fence;
      }
      for (auto const& kernel : events->kernels) {
        EXPECT_EQ(kernel.label.rfind("Solder::", 0), 0u) << kernel.label;
        EXPECT_EQ(kernel.device, id_of(bench.exec)) << kernel.label;
      }
    }
  });
}

TYPED_TEST(CgKernels, ConstructionWorksOnTheInstanceGiven) {
  Bench<TypeParam> bench;
  with_each_preconditioner(bench, [&](auto const& M) {
    for (Runner const runner : {Runner::launch, Runner::graph, Runner::team}) {
      SCOPED_TRACE(to_string(runner));
      KokkosEvents const events;
      Cg<TypeParam, CsrMatrix<double, TypeParam>, std::decay_t<decltype(M)>> cg(
          bench.exec, bench.A, M, bench.options(CgForm::pipelined, runner, 10));
      EXPECT_FALSE(events.allocations.empty());
      for (auto const& allocation : events.allocations) {
        EXPECT_EQ(allocation.label.rfind("Solder::", 0), 0u) << allocation.label;
      }
      for (auto const& kernel : events.kernels) {
        EXPECT_NE(kernel.label.find("Solder::"), std::string::npos) << kernel.label;
        EXPECT_EQ(kernel.device, id_of(bench.exec)) << kernel.label;
      }
    }
  });
}

// ---- The checks above can fail ----

struct NothingBody {
  KOKKOS_FUNCTION void operator()(int) const {}
};

TYPED_TEST(CgKernels, EventsAreSeen) {
  using Exec = TypeParam;
  Exec const exec = another_instance<Exec>();
  Kokkos::View<double*, typename Exec::memory_space> const to("SolderTest::to", 1000),
      from("SolderTest::from", 1000);
  KokkosEvents events;

  Kokkos::parallel_for("SolderTest::here", Kokkos::RangePolicy<Exec>(exec, 0, 10), NothingBody{});
  Kokkos::parallel_for("SolderTest::elsewhere", Kokkos::RangePolicy<Exec>(Exec(), 0, 10),
                       NothingBody{});
  ASSERT_EQ(events.kernels.size(), 2u);
  EXPECT_EQ(events.kernels[0].label, "SolderTest::here");
  EXPECT_EQ(events.kernels[0].device, id_of(exec));
  EXPECT_EQ(events.kernels[1].device, id_of(Exec()));
  if (!Solder::Impl::is_host_space<Exec>) {  // hosts give all their instances one number
    EXPECT_NE(events.kernels[0].device, events.kernels[1].device);
  }
  EXPECT_EQ(events.fences, std::vector<std::string>{});

  exec.fence("SolderTest::fence");
  EXPECT_EQ(events.fences, std::vector<std::string>{"SolderTest::fence"});
  Kokkos::fence("SolderTest::global fence");
  EXPECT_GE(events.fences.size(), 2u);

  EXPECT_EQ(events.copies.size(), 0u);
  Kokkos::deep_copy(exec, to, from);
  EXPECT_EQ(events.copies, std::vector<std::string>{"SolderTest::from > SolderTest::to"});

  EXPECT_EQ(events.allocations.size(), 0u);
  Kokkos::View<double*, typename Exec::memory_space> const more(
      Kokkos::view_alloc("SolderTest::more", exec, Kokkos::WithoutInitializing), 1000);
  ASSERT_EQ(events.allocations.size(), 1u);
  EXPECT_EQ(events.allocations[0].label, "SolderTest::more");
  EXPECT_GE(events.allocations[0].bytes, 1000 * sizeof(double));

  events.stop();
  exec.fence("SolderTest::unseen");
  EXPECT_NE(events.fences.back(), "SolderTest::unseen");
}

TYPED_TEST(CgKernels, AFenceInASolveWouldBeSeen) {
  Bench<TypeParam> bench;
  CgOptions options = bench.options(CgForm::pipelined, Runner::launch, 50);
  options.monitor = [&](Solder::Progress const&) { bench.exec.fence("SolderTest::monitor"); };
  auto const events = bench.watch(Identity{}, options);
  EXPECT_FALSE(events->fences.empty());
}

}  // namespace
