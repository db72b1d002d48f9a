// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What a solve makes Kokkos do, counted through the callbacks of Kokkos Tools: kernels, and
/// nothing else.

#include "../kokkos_events.hpp"
#include "solve.hpp"

#include <memory>

#include <solder/matrix/sell.hpp>
#include <solder/problems/poisson.hpp>

namespace SolderTest {

std::uint32_t id_of(auto const& exec) { return Kokkos::Tools::Experimental::device_id(exec); }

/// \brief Kokkos emulates graphs on hosts, and fences in doing so; no other graph has a fence.
inline bool is_of_emulated_graph(std::string const& fence) {
  return fence.find("Kokkos::DefaultGraph") == 0;
}

template <class Options>
Options with(Options options, Runner runner, int iterations, double tolerance = 0) {
  options.runner = runner;
  options.max_iterations = iterations;
  options.tolerance = tolerance;
  return options;
}

/// \brief One system, and solvers of it on an instance that is not the default one.
template <class Exec>
struct Bench {
  Exec exec = another_instance<Exec>();
  HostCsr<double> host = Solder::fem_poisson_2d<double>(20);
  CsrMatrix<double, Exec> A{exec, host};
  Kokkos::View<double*, typename Exec::memory_space> b = to_device(exec, random_vector<double>(
                                                                             host.rows, 61)),
                                                     x = to_device(exec,
                                                                   std::vector<double>(host.rows));

  /// \brief What a fresh solver's solve number `solves` does.
  template <class Preconditioner, class Options>
  std::unique_ptr<KokkosEvents> watch(Preconditioner const& M, Options const& o, int solves = 1) {
    return watch_with(A, M, o, solves);
  }

  /// \brief The same with the matrix in another format.
  template <class Matrix, class Preconditioner, class Options>
  std::unique_ptr<KokkosEvents> watch_with(Matrix const& matrix, Preconditioner const& M,
                                           Options const& o, int solves = 1) {
    SolverOn<Options, Exec, Matrix, Preconditioner> solver(exec, matrix, M, o);
    Report report;
    for (int k = 1; k < solves; ++k) solver.solve(b, x);
    Kokkos::deep_copy(x, 0);
    Kokkos::fence("SolderTest: before the solve");
    auto events = std::make_unique<KokkosEvents>();
    report = solver.solve(b, x);
    events->stop();
    EXPECT_EQ(report.iterations, o.tolerance == 0 ? o.max_iterations : report.iterations);
    EXPECT_EQ(report.reason, o.tolerance == 0 ? Reason::max_iterations : Reason::converged);
    return events;
  }

  void expect_labels_and_instance(KokkosEvents const& events) {
    EXPECT_FALSE(events.kernels.empty());
    for (auto const& kernel : events.kernels) {
      EXPECT_EQ(kernel.label.rfind("Solder::", 0), 0u) << kernel.label;
      EXPECT_EQ(kernel.device, id_of(exec)) << kernel.label;
    }
    EXPECT_EQ(events.copies, std::vector<std::string>{});
    EXPECT_EQ(events.allocations.size(), 0u);
  }

  void expect_only_kernels_of_the_instance(KokkosEvents const& events) {
    expect_labels_and_instance(events);
    EXPECT_EQ(events.fences, std::vector<std::string>{});
  }
};

/// \brief The preconditioners that a solver applies inside its own kernels.
struct RowWise {
  static constexpr int kernels_of_residual_check = 2;  ///< the residual and the residual check

  template <class Exec, class F>
  static void for_each(Bench<Exec>& bench, F const& f) {
    {
      SCOPED_TRACE("identity");
      f(Identity{});
    }
    SCOPED_TRACE("jacobi");
    f(Jacobi<double, Exec>(bench.exec, bench.A));
  }
};

/// \brief f(preconditioner, options) for each of the preconditioners, and for each form.
template <class Options, class Preconditioners = RowWise, class Exec, class F>
void with_each_preconditioner_and_form(Bench<Exec>& bench, F const& f) {
  for (auto const& [name, options] : Method<Options>::forms()) {
    SCOPED_TRACE(name);
    Preconditioners::for_each(bench, [&](auto const& M) { f(M, options); });
  }
}

/// \brief Iterations that are sent to a GPU together, or a multiple of them.
template <class Options>
int iterations_of_batches(Options const& options) {
  if constexpr (requires { Method<Options>::iterations_of_a_batch(options); })
    return Method<Options>::iterations_of_a_batch(options);
  else
    return 16;
}

/// \brief Expects kernels_per_iteration(options) kernels an iteration, and not many around them; of
/// a restarted method on average over a cycle, of 8 steps.
template <class Options, class Exec, class Preconditioners = RowWise, class F>
void expect_kernels(F const& kernels_per_iteration) {
  Bench<Exec> bench;
  with_each_preconditioner_and_form<Options, Preconditioners>(
      bench, [&](auto const& M, Options const& options) {
        auto const kernels = [&](int iterations) {
          return static_cast<int>(
              bench.watch(M, with(options, Runner::launch, iterations))->kernels.size());
        };
        double const each = kernels_per_iteration(options);
        int const base = kernels(20), batch = iterations_of_batches(options);
        EXPECT_EQ(kernels(20 + batch) - base, each * batch);
        EXPECT_EQ(kernels(20 + batch * 9) - base, each * batch * 9);
        // The residual check at both ends, and a batch ahead on GPUs.
        int const ahead = Solder::Impl::is_host_space<Exec> ? 1 : 48;
        EXPECT_LE(base, each * (20 + ahead) + 2 * Preconditioners::kernels_of_residual_check);
      });
}

/// \brief Expects that solves do nothing but launch kernels; one where the runner has the whole
/// solve in a kernel.
template <class Options, class Exec, class Preconditioners = RowWise>
void expect_nothing_but_kernels() {
  Bench<Exec> bench;
  with_each_preconditioner_and_form<Options, Preconditioners>(
      bench, [&](auto const& M, Options const& options) {
        for (Runner const runner : {Runner::launch, Runner::team, Runner::resident}) {
          for (double const tolerance : {0.0, 1e-8}) {
            SCOPED_TRACE(to_string(runner));
            auto const of_run = with(options, runner, tolerance == 0 ? 50 : 1000, tolerance);
            auto const events = bench.watch(M, of_run);
            bench.expect_only_kernels_of_the_instance(*events);
            constexpr bool of_league = !requires { Preconditioners::has_no_league; };
            if (is_whole(runs_by<Exec>(of_run, is_pointwise<Exec>(M), of_league))) {
              EXPECT_EQ(events->kernels.size(), 1u);
            }
          }
        }
      });
}

/// \brief Expects that the second solve with a graph records nothing and fences nothing.
template <class Options, class Exec, class Preconditioners = RowWise>
void expect_graph_recorded_once() {
  Bench<Exec> bench;
  with_each_preconditioner_and_form<Options, Preconditioners>(
      bench, [&](auto const& M, Options const& options) {
        auto const events = bench.watch(M, with(options, Runner::graph, 1000, 1e-8), 2);
        bench.expect_labels_and_instance(*events);
        for (auto const& fence : events->fences) {
          EXPECT_TRUE(Solder::Impl::is_host_space<Exec> && is_of_emulated_graph(fence)) << fence;
        }
      });
}

/// \brief Expects that construction labels all it makes and works on the instance given.
template <class Options, class Exec, class Preconditioners = RowWise>
void expect_construction_on_the_instance() {
  Bench<Exec> bench;
  with_each_preconditioner_and_form<Options, Preconditioners>(bench, [&](auto const& M,
                                                                         Options const& options) {
    for (Runner const runner : every_runner) {
      SCOPED_TRACE(to_string(runner));
      auto const of_run = with(options, runner, 10);
      constexpr bool of_league = !requires { Preconditioners::has_no_league; };
      bool const is_graph =
          runs_by<Exec>(of_run, is_pointwise<Exec>(M), of_league) == Runner::graph;
      KokkosEvents const events;
      SolverOf<Options, Exec, double, std::decay_t<decltype(M)>> solver(bench.exec, bench.A, M,
                                                                        of_run);
      EXPECT_FALSE(events.allocations.empty());
      for (auto const& allocation : events.allocations) {
        // A graph is recorded on an instance of its own, for which Kokkos allocates scratch.
        if (is_graph && allocation.label.rfind("Kokkos::InternalScratch", 0) == 0) continue;
        EXPECT_EQ(allocation.label.rfind("Solder::", 0), 0u) << allocation.label;
      }
      for (auto const& kernel : events.kernels) {
        EXPECT_NE(kernel.label.find("Solder::"), std::string::npos) << kernel.label;
        EXPECT_EQ(kernel.device, id_of(bench.exec)) << kernel.label;
      }
    }
  });
}

/// \brief The matrix of the bench in padded formats.
template <class Exec>
std::vector<Solder::SellMatrix<double, Exec>> padded_formats(Bench<Exec>& bench) {
  using Matrix = Solder::SellMatrix<double, Exec>;
  return {Matrix::sell(bench.exec, bench.A, {64, 0}), Matrix::sell(bench.exec, bench.A, {1, 1}),
          Matrix::ell(bench.exec, bench.A)};
}

/// \brief Expects as many kernels as with CSR, and nothing else, in every padded format.
template <class Options, class Exec, class Preconditioners = RowWise, class F>
void expect_padded_formats_take_the_same_kernels(F const& kernels_per_iteration) {
  Bench<Exec> bench;
  for (auto const& A : padded_formats(bench)) {
    SCOPED_TRACE(A.is_ell() ? "ell" : "sell, sigma " + std::to_string(A.sigma()));
    with_each_preconditioner_and_form<Options, Preconditioners>(bench, [&](auto const& M,
                                                                           Options const& options) {
      auto const watch = [&](Runner runner, int iterations, double tolerance) {
        return bench.watch_with(A, M, with(options, runner, iterations, tolerance));
      };
      int const further = 2 * iterations_of_batches(options);
      auto const base = watch(Runner::launch, 20, 0), more = watch(Runner::launch, 20 + further, 0);
      EXPECT_EQ(more->kernels.size() - base->kernels.size(),
                further * kernels_per_iteration(options));
      bench.expect_only_kernels_of_the_instance(*more);
      bench.expect_only_kernels_of_the_instance(*watch(Runner::launch, 1000, 1e-8));
      for (Runner const runner : {Runner::team, Runner::resident}) {
        auto const whole = watch(runner, 1000, 1e-8);
        bench.expect_only_kernels_of_the_instance(*whole);
        if (is_whole(runs_by<Exec>(with(options, runner, 1000, 1e-8), is_pointwise<Exec>(M)))) {
          EXPECT_EQ(whole->kernels.size(), 1u);
        }
      }
    });
  }
}

/// \brief Expects the same bits of a padded matrix that is made and solved with again.
template <class Options, class Exec>
void expect_padded_formats_repeat() {
  Bench<Exec> bench;
  auto const run = [&](Solder::SellMatrix<double, Exec> const& A, Runner runner) {
    SolverOn<Options, Exec, Solder::SellMatrix<double, Exec>, Identity> solver(
        bench.exec, A, Identity{}, with(Options{}, runner, 1000, 1e-8));
    Kokkos::deep_copy(bench.x, 0);
    Report const report = solver.solve(bench.b, bench.x);
    EXPECT_EQ(report.reason, Reason::converged);
    auto x = to_host(bench.exec, bench.x);
    EXPECT_LE(true_residual(bench.host, to_host(bench.exec, bench.b), x).relative, 1.01e-8);
    x.insert(x.end(), report.history.begin(), report.history.end());
    return x;
  };
  for (Runner const runner : every_runner) {
    SCOPED_TRACE(to_string(runner));
    auto const once = padded_formats(bench), again = padded_formats(bench);
    for (std::size_t k = 0; k < once.size(); ++k)
      EXPECT_TRUE(same_bits(run(once[k], runner), run(again[k], runner)));
  }
}

}  // namespace SolderTest
