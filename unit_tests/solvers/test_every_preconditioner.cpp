// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A solver with every preconditioner, on CSR and SELL, in all forms: what it solves, what it says
// of it, and the kernels it takes. Compiled for each scalar.
#include "bench.hpp"
#include "bicgstab.hpp"
#include "cg.hpp"
#include "gmres.hpp"
#include "idr.hpp"

#include <algorithm>
#include <stdexcept>

#include <solder/preconditioners/apply.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/problems/waves.hpp>

namespace {

using namespace SolderTest;
using Solder::Apply;
using Solder::Chebyshev;
using Solder::Fsai;
using Exec = Kokkos::DefaultExecutionSpace;
using Scalar = SOLDER_TEST_SCALAR;
using Csr = CsrMatrix<Scalar, Exec>;
using Sell = Solder::SellMatrix<Scalar, Exec>;

constexpr int degree = 3;

// ---- What each form is said to cost ----

/// A preconditioner in this test; kernels: of an application, the last one's rows being handed out.
struct About {
  std::string name;
  int kernels;  ///< 0: pointwise
  bool is_split = false, on_device = true;
};

double kernels_per_iteration(CgOptions const& options, About const& M) {
  bool const pipelined = options.form == CgForm::pipelined;
  if (M.kernels == 0 || M.is_split) return (M.kernels == 0 && !pipelined ? 3 : 2) + M.kernels;
  return (pipelined ? 2 : 3) + M.kernels;
}

double kernels_per_iteration(BiCgStabOptions const& options, About const& M) {
  return (M.kernels == 0 ? 4 : 2 + 2 * M.kernels) +
         (options.form == BiCgStabForm::classical ? 1 : 0);
}

/// On average over a cycle, its end included: there M is applied once more, unless all M v_j were
/// kept.
double kernels_per_iteration(GmresOptions const& options, About const& M) {
  int const m = options.restart;
  int const steps = [&] {
    switch (options.form) {
      case GmresForm::pipelined:
        return 4 * m - 2;
      case GmresForm::cgs:
        return 3 * m;
      case GmresForm::mgs:
        return m * (m + 1) / 2 + m;
      default:
        return 5 * m;
    }
  }();
  int const end = 4 + (options.form == GmresForm::flexible ? 0 : M.kernels);
  return double(steps + m * M.kernels + end) / m;
}

double kernels_per_iteration(IdrOptions const& options, About const& M) {
  return (has_shadow_kernel(options) ? 3 : 2) + M.kernels;
}

/// All of them; of GMRES with short cycles.
template <class Of>
std::vector<Of> forms_of() {
  std::vector<Of> list;
  for (auto const& [name, options] : every_form<Of>()) list.push_back(options);
  return list;
}
/// The form that a report should name.
template <class Of>
std::string form_that_runs(Of const& options, About const& M) {
  if constexpr (std::is_same_v<Of, CgOptions>)
    if (options.form == CgForm::automatic) return M.kernels == 0 ? "pipelined" : "classical";
  if constexpr (std::is_same_v<Of, IdrOptions>)
    return options.smoothing ? "smoothed" : "biorthogonal";
  else
    return std::string(to_string(options.form));
}

/// Who runs it. Identity leaves `flexible` nothing that changes: its kernels are those of cgs2.
template <class Exec, class Of>
Runner who_runs(Of options, About const& M) {
  if constexpr (std::is_same_v<Of, GmresOptions>)
    if (M.name == "none" && options.form == GmresForm::flexible) options.form = GmresForm::cgs2;
  return runs_by<Exec>(options, M.kernels == 0);
}

// ---- A system with every preconditioner ----

template <class S>
HostCsr<S> laplacian(int nodes) {
  if constexpr (Solder::ScalarTraits<S>::is_complex)
    return Solder::magnetic_laplacian_2d<S>(nodes, 0.1);
  else
    return Solder::fem_poisson_2d<S>(nodes);
}

/// z = r / (i % 3 + 1), by one kernel.
struct ScaleRows {
  Scalar const* r;
  Scalar* z;
  KOKKOS_FUNCTION void operator()(int i) const { z[i] = r[i] / double(i % 3 + 1); }
};

Apply<Scalar, Exec> scaling(std::int32_t rows) {
  return {rows, [](Exec const& exec, auto const& r, auto const& z) {
            Kokkos::parallel_for("Solder::test::apply",
                                 Kokkos::RangePolicy<Exec>(exec, 0, int(r.extent(0))),
                                 ScaleRows{r.data(), z.data()});
          }};
}

template <class Options>
struct EveryPreconditioner : testing::Test {
  Exec exec = another_instance<Exec>();
  HostCsr<Scalar> host = laplacian<Scalar>(18);
  Csr A{exec, host};
  Sell sell = Sell::sell(exec, A);
  std::vector<Scalar> b = random_vector<Scalar>(host.rows, 95);
  Kokkos::View<Scalar*, typename Exec::memory_space> device_b = to_device(exec, b),
                                                     x = to_device(exec, b);

  /// f(about, M), M being for a matrix like A.
  template <class F>
  void with_each(Csr const& like, F const& f) {
    Jacobi<Scalar, Exec> const jacobi(exec, like);
    Fsai<Scalar, Exec> const fsai(exec, like);
    f(About{"none", 0}, Identity{});
    f(About{"jacobi", 0}, jacobi);
    f(About{"fsai", 2, true}, fsai);
    f(About{"chebyshev over jacobi", degree + 1}, Chebyshev(exec, like, jacobi, {degree}));
    f(About{"chebyshev over fsai", 3 * degree + 2}, Chebyshev(exec, like, fsai, {degree}));
    f(About{"apply", 2, false, false}, scaling(like.rows()));
  }

  /// f(about, M, matrix) in both formats.
  template <class F>
  void with_each_and_format(F const& f) {
    with_each(A, [&](About const& about, auto const& M) {
      SCOPED_TRACE(about.name);
      {
        SCOPED_TRACE("csr");
        f(about, M, A);
      }
      SCOPED_TRACE("sell");
      f(about, M, sell);
    });
  }

  /// One solve with a solver of its own.
  template <class Matrix, class M>
  Solved<Scalar> solve(Matrix const& matrix, M const& m, Options const& options) {
    SolverOn<Options, Exec, Matrix, M> solver(exec, matrix, m, options);
    return solve_by(solver);
  }
  template <class Solver>
  Solved<Scalar> solve_by(Solver& solver) {
    Kokkos::deep_copy(x, Scalar{});
    Kokkos::fence("SolderTest: before the solve");
    Solved<Scalar> s;
    s.report = solver.solve(device_b, x);
    s.x = to_host(exec, x);
    return s;
  }

  /// What a solve of so many iterations makes Kokkos do.
  template <class Matrix, class M>
  std::unique_ptr<KokkosEvents> watch(Matrix const& matrix, M const& m, Options const& options) {
    SolverOn<Options, Exec, Matrix, M> solver(exec, matrix, m, options);
    Kokkos::deep_copy(x, Scalar{});
    Kokkos::fence("SolderTest: before the solve");
    auto events = std::make_unique<KokkosEvents>();
    Report const report = solver.solve(device_b, x);
    events->stop();
    EXPECT_EQ(report.iterations, options.max_iterations);
    return events;
  }
};

using Methods = testing::Types<CgOptions, BiCgStabOptions, GmresOptions, IdrOptions>;
TYPED_TEST_SUITE(EveryPreconditioner, Methods);

TYPED_TEST(EveryPreconditioner, SolvesInTheFormAskedFor) {
  using Options = TypeParam;
  this->with_each_and_format([&](About const& about, auto const& M, auto const& matrix) {
    auto list = forms_of<Options>();
    if constexpr (std::is_same_v<Options, CgOptions>) list.push_back({});  // automatic
    for (auto const& form : list)
      for (Runner const runner : {Runner::launch, Runner::team, Runner::resident}) {
        auto const options = with(form, runner, 2000, 1e-10);
        SCOPED_TRACE(form_that_runs(form, about) + ", " + std::string(to_string(runner)));
        if (is_whole(runner) && !about.on_device) {
          EXPECT_THROW(this->solve(matrix, M, options), std::invalid_argument);
          continue;
        }
        auto const s = this->solve(matrix, M, options), again = this->solve(matrix, M, options);
        EXPECT_EQ(s.report.reason, Reason::converged) << s.report.detail;
        expect_true_report(this->host, this->b, s, options);
        EXPECT_EQ(s.report.form, form_that_runs(form, about));
        EXPECT_EQ(s.report.runner, who_runs<Exec>(options, about));
        EXPECT_TRUE(same_bits(s.x, again.x));
        EXPECT_TRUE(same_bits(s.report.history, again.report.history));
      }
  });
}

TYPED_TEST(EveryPreconditioner, TakesItsKernelsAndNothingElse) {
  using Options = TypeParam;
  this->with_each_and_format([&](About const& about, auto const& M, auto const& matrix) {
    for (auto const& form : forms_of<Options>()) {
      SCOPED_TRACE(form_that_runs(form, about));
      int const steps = iterations_of_batches(form);
      auto const few = this->watch(matrix, M, with(form, Runner::launch, steps)),
                 more = this->watch(matrix, M, with(form, Runner::launch, 2 * steps));
      EXPECT_EQ(double(more->kernels.size() - few->kernels.size()) / steps,
                kernels_per_iteration(form, about));
      auto const count = [&](char const* label) {
        auto const in = [&](auto const& events) {
          return std::count_if(events->kernels.begin(), events->kernels.end(),
                               [&](auto const& kernel) { return kernel.label == label; });
        };
        return in(more)-in(few);
      };
      if (about.name == "chebyshev over jacobi") {
        EXPECT_EQ(count("Solder::chebyshev::turn"),
                  count("Solder::chebyshev::start") * (degree - 1));
      }
      for (auto const& events : {few.get(), more.get()}) {
        EXPECT_EQ(events->fences, std::vector<std::string>{});
        EXPECT_EQ(events->copies, std::vector<std::string>{});
        EXPECT_EQ(events->allocations.size(), 0u);
        for (auto const& kernel : events->kernels) {
          EXPECT_EQ(kernel.label.rfind("Solder::", 0), 0u) << kernel.label;
          EXPECT_EQ(kernel.device, id_of(this->exec)) << kernel.label;
        }
      }
      if (!about.on_device) continue;
      auto const of_team = with(form, Runner::team, 16);
      if (!is_whole(who_runs<Exec>(of_team, about))) continue;
      auto const whole = this->watch(matrix, M, of_team);
      EXPECT_EQ(whole->kernels.size(), 1u);
      EXPECT_EQ(whole->fences.size() + whole->copies.size() + whole->allocations.size(), 0u);
    }
  });
}

TYPED_TEST(EveryPreconditioner, OneOfAnotherSizeIsRefused) {
  using Options = TypeParam;
  auto const& exec = this->exec;
  Csr const& A = this->A;
  auto const options = with(Options{}, Runner::launch, 100, 1e-8);
  for (int const nodes : {3, 17, 19}) {
    auto const other_host = laplacian<Scalar>(nodes);
    Csr const other(exec, other_host);
    this->with_each(other, [&](About const& about, auto const& M) {
      using Solver = SolverOn<Options, Exec, Csr, std::decay_t<decltype(M)>>;
      if (about.name == "none") return;
      EXPECT_THROW(Solver(exec, A, M, options), std::invalid_argument) << about.name;
    });
    // One that had the size, and was then set up for another matrix.
    this->with_each(A, [&](About const& about, auto M) {
      using M_ = decltype(M);
      if constexpr (requires { M.refresh(exec, other); } &&
                    !std::is_same_v<M_, Jacobi<Scalar, Exec>>) {
        SCOPED_TRACE(about.name);
        SolverOn<Options, Exec, Csr, M_> solver(exec, A, M, options);
        auto const before = this->solve_by(solver);
        try {
          M.refresh(exec, other);
        } catch (std::invalid_argument const&) {  // it is bound to the size of what is within
          EXPECT_TRUE(same_bits(this->solve_by(solver).x, before.x));
          return;
        }
        EXPECT_THROW(this->solve_by(solver), std::invalid_argument);
        M.refresh(exec, A);
        EXPECT_TRUE(same_bits(this->solve_by(solver).x, before.x));
      }
    });
    // What is within was set up for another matrix, and what is around it not yet.
    Fsai<Scalar, Exec> fsai(exec, A);
    Chebyshev polynomial(exec, A, fsai, {degree});
    using M_ = decltype(polynomial);
    SolverOn<Options, Exec, Csr, M_> solver(exec, A, polynomial, options);
    auto const before = this->solve_by(solver);
    fsai.refresh(exec, other);
    EXPECT_THROW(this->solve_by(solver), std::invalid_argument);
    EXPECT_THROW((SolverOn<Options, Exec, Csr, M_>(exec, A, polynomial, options)),
                 std::invalid_argument);
    EXPECT_THROW((SolverOn<Options, Exec, Csr, M_>(exec, other, polynomial, options)),
                 std::invalid_argument);
    fsai.refresh(exec, A);
    EXPECT_TRUE(same_bits(this->solve_by(solver).x, before.x));
  }
}

TYPED_TEST(EveryPreconditioner, NoRowsAreSolvedAtOnce) {
  using Options = TypeParam;
  auto const& exec = this->exec;
  Csr const empty(exec, HostCsr<Scalar>{});
  Kokkos::View<Scalar*, typename Exec::memory_space> const none("SolderTest::none", 0);
  Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Exec::memory_space> const columns(
      "SolderTest::columns", 0, 3);
  auto const expect_solved = [&](Report const& report) {
    EXPECT_EQ(report.reason, Reason::converged);
    EXPECT_EQ(report.iterations, 0);
    EXPECT_EQ(report.true_relative_residual, 0);
  };
  this->with_each(empty, [&](About const& about, auto const& M) {
    SCOPED_TRACE(about.name);
    auto const expect_solves = [&](auto const& matrix) {
      SolverOn<Options, Exec, std::decay_t<decltype(matrix)>, std::decay_t<decltype(M)>> solver(
          exec, matrix, M, with(Options{}, Runner::launch, 100, 1e-8));
      expect_solved(solver.solve(none, none));
      auto const reports = solver.solve(columns, columns);
      EXPECT_EQ(reports.size(), 3u);
      for (Report const& report : reports) expect_solved(report);
    };
    expect_solves(empty);
    expect_solves(Sell::sell(exec, empty));
    expect_solves(Sell::ell(exec, empty));
  });
}

}  // namespace
