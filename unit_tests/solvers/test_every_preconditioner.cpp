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

std::string method(CgOptions const&) { return "cg"; }
std::string method(BiCgStabOptions const&) { return "bicgstab"; }
std::string method(GmresOptions const&) { return "gmres"; }
std::string method(IdrOptions const&) { return "idr"; }

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

// The preconditioners, each a test of its own: about(), and how it is made for a matrix.

struct None {
  static About about() { return {"none", 0}; }
  static Identity make(Exec const&, Csr const&) { return {}; }
};
struct ByJacobi {
  static About about() { return {"jacobi", 0}; }
  static Jacobi<Scalar, Exec> make(Exec const& exec, Csr const& A) { return {exec, A}; }
};
struct ByFsai {
  static About about() { return {"fsai", 2, true}; }
  static Fsai<Scalar, Exec> make(Exec const& exec, Csr const& A) { return {exec, A}; }
};
struct ChebyshevOverJacobi {
  static About about() { return {"chebyshev over jacobi", degree + 1}; }
  static auto make(Exec const& exec, Csr const& A) {
    return Chebyshev(exec, A, ByJacobi::make(exec, A), {degree});
  }
};
struct ChebyshevOverFsai {
  static About about() { return {"chebyshev over fsai", 3 * degree + 2}; }
  static auto make(Exec const& exec, Csr const& A) {
    return Chebyshev(exec, A, ByFsai::make(exec, A), {degree});
  }
};
struct ByApply {
  static About about() { return {"apply", 2, false, false}; }
  static auto make(Exec const&, Csr const& A) { return scaling(A.rows()); }
};

template <class O, class M>
struct Pair {
  using Options = O;
  using Preconditioner = M;
};

template <class Pair>
struct EveryPreconditioner : testing::Test {
  using Options = typename Pair::Options;
  using Preconditioner = typename Pair::Preconditioner;
  About const about = Preconditioner::about();
  Exec exec = another_instance<Exec>();
  HostCsr<Scalar> host = laplacian<Scalar>(18);
  Csr A{exec, host};
  Sell sell = Sell::sell(exec, A);
  std::vector<Scalar> b = random_vector<Scalar>(host.rows, 95);
  Kokkos::View<Scalar*, typename Exec::memory_space> device_b = to_device(exec, b),
                                                     x = to_device(exec, b);

  auto for_matrix(Csr const& like) { return Preconditioner::make(exec, like); }

  /// f(matrix) in both formats.
  template <class F>
  void with_each_format(F const& f) {
    {
      SCOPED_TRACE("csr");
      f(A);
    }
    SCOPED_TRACE("sell");
    f(sell);
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

template <class... O>
using WithEach = testing::Types<Pair<O, None>..., Pair<O, ByJacobi>..., Pair<O, ByFsai>...,
                                Pair<O, ChebyshevOverJacobi>..., Pair<O, ChebyshevOverFsai>...,
                                Pair<O, ByApply>...>;
using Pairs = WithEach<CgOptions, BiCgStabOptions, GmresOptions, IdrOptions>;

struct PairName {
  template <class Pair>
  static std::string GetName(int) {
    std::string name = method(typename Pair::Options{}) + "_" + Pair::Preconditioner::about().name;
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
  }
};
TYPED_TEST_SUITE(EveryPreconditioner, Pairs, PairName);

TYPED_TEST(EveryPreconditioner, SolvesInTheFormAskedFor) {
  using Options = typename TypeParam::Options;
  About const& about = this->about;
  auto const M = this->for_matrix(this->A);
  this->with_each_format([&](auto const& matrix) {
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
  using Options = typename TypeParam::Options;
  About const& about = this->about;
  auto const M = this->for_matrix(this->A);
  this->with_each_format([&](auto const& matrix) {
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
  using Options = typename TypeParam::Options;
  using M = decltype(this->for_matrix(this->A));
  using Solver = SolverOn<Options, Exec, Csr, M>;
  if (this->about.name == "none") return;
  auto const& exec = this->exec;
  Csr const& A = this->A;
  auto const options = with(Options{}, Runner::launch, 100, 1e-8);
  for (int const nodes : {3, 17, 19}) {
    Csr const other(exec, laplacian<Scalar>(nodes));
    EXPECT_THROW(Solver(exec, A, this->for_matrix(other), options), std::invalid_argument);
    // One that had the size, and was then set up for another matrix.
    if constexpr (requires(M & m) { m.refresh(exec, other); } &&
                  !std::is_same_v<M, Jacobi<Scalar, Exec>>) {
      auto m = this->for_matrix(A);
      Solver solver(exec, A, m, options);
      auto const before = this->solve_by(solver);
      try {
        m.refresh(exec, other);
        EXPECT_THROW(this->solve_by(solver), std::invalid_argument);
        m.refresh(exec, A);
      } catch (std::invalid_argument const&) {  // it is bound to the size of what is within
        EXPECT_EQ(this->about.name.rfind("chebyshev over", 0), 0u);
      }
      EXPECT_TRUE(same_bits(this->solve_by(solver).x, before.x));
    }
    // What is within was set up for another matrix, and what is around it not yet.
    if constexpr (std::is_same_v<typename TypeParam::Preconditioner, ChebyshevOverFsai>) {
      Fsai<Scalar, Exec> fsai(exec, A);
      Chebyshev polynomial(exec, A, fsai, {degree});
      Solver solver(exec, A, polynomial, options);
      auto const before = this->solve_by(solver);
      fsai.refresh(exec, other);
      EXPECT_THROW(this->solve_by(solver), std::invalid_argument);
      EXPECT_THROW(Solver(exec, A, polynomial, options), std::invalid_argument);
      EXPECT_THROW(Solver(exec, other, polynomial, options), std::invalid_argument);
      fsai.refresh(exec, A);
      EXPECT_TRUE(same_bits(this->solve_by(solver).x, before.x));
    }
  }
}

TYPED_TEST(EveryPreconditioner, NoRowsAreSolvedAtOnce) {
  using Options = typename TypeParam::Options;
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
  auto const M = this->for_matrix(empty);
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
}

}  // namespace
