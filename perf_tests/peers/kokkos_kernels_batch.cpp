// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Kokkos Kernels' batched CG for systems of one pattern: one kernel, in which each team solves some
// of them together, until the last of these has converged. Needs its version 4.6 or later.

#include <KokkosBatched_CG.hpp>
#include <KokkosBatched_CrsMatrix.hpp>
#include <KokkosBatched_Krylov_Handle.hpp>
#include <optional>
#include <stdexcept>

#include "batch_problem.hpp"
#include "kokkos_kernels.hpp"

namespace Solder::Perf {
namespace {

using namespace KernelsPeer;

/// \brief A team's systems, its threads and their vector lanes, and the level of its scratch.
struct Shape {
  int systems, threads, lanes, level;

  std::string text() const {
    return std::to_string(threads) + " x " + std::to_string(lanes) + ", L" + std::to_string(level);
  }
};

template <class Scalar>
bool has_one_pattern(BatchProblem<Scalar> const& problem) {
  auto const& [rows, row_offsets, columns, values, right_side] = problem.all;
  std::int32_t const size = problem.starts[1];
  std::int64_t const nonzeros = row_offsets[size];
  for (int k = 1; k < problem.systems(); ++k) {
    std::int32_t const first = problem.starts[k];
    if (problem.starts[k + 1] - first != size) return false;
    for (std::int32_t i = 0; i <= size; ++i)
      if (row_offsets[first + i] != k * nonzeros + row_offsets[i]) return false;
    for (std::int64_t e = 0; e < nonzeros; ++e)
      if (columns[k * nonzeros + e] != first + columns[e]) return false;
  }
  return true;
}

/// \brief Values or vectors of a team's systems, system by system.
template <class Scalar, class Exec>
using Block = Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Exec::device_type,
                           Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class Scalar, class Exec>
using Matrices = KokkosBatched::CrsMatrix<Block<Scalar, Exec>, Array<int, Exec>>;

/// \brief Matrices that count how often they were applied.
template <class Scalar, class Exec>
struct CountingMatrices : Matrices<Scalar, Exec> {
  int* products;

  KOKKOS_INLINE_FUNCTION CountingMatrices(Matrices<Scalar, Exec> const& matrices, int* count)
      : Matrices<Scalar, Exec>(matrices), products(count) {}

  template <class Trans, class Mode, class Member, class X, class Y>
  KOKKOS_INLINE_FUNCTION void apply(Member const& member, X const& x, Y const& y, Scalar alpha = 1,
                                    Scalar beta = 0) const {
    Kokkos::single(Kokkos::PerTeam(member), [&] { ++*products; });
    Matrices<Scalar, Exec>::template apply<Trans, Mode>(member, x, y, alpha, beta);
  }
};

template <class Scalar, class Exec, bool counts>
struct CgKernel {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Handle = KokkosBatched::KrylovHandle<
      Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Exec::device_type>, Array<int, Exec>,
      Kokkos::View<Scalar***, Kokkos::LayoutRight, typename Exec::device_type>>;

  int systems, systems_of_a_team;
  Array<int, Exec> row_offsets, columns;  ///< of one system
  Array<Scalar, Exec> values, b, x;       ///< of all
  Array<int, Exec> products;              ///< of each team, if counted
  Handle handle;

  KOKKOS_FUNCTION void operator()(Member const& member) const {
    using Vectors = Block<Scalar, Exec>;
    using Cg = KokkosBatched::TeamVectorCG<Member>;
    int const first = member.league_rank() * systems_of_a_team;
    int const some = systems - first < systems_of_a_team ? systems - first : systems_of_a_team;
    std::size_t const rows = row_offsets.extent(0) - 1, nonzeros = columns.extent(0);
    Matrices<Scalar, Exec> const A(Vectors(values.data() + first * nonzeros, some, nonzeros),
                                   row_offsets, columns);
    Vectors const team_b(b.data() + first * rows, some, rows);
    Vectors const team_x(x.data() + first * rows, some, rows);
    if constexpr (counts) {
      using Counting = CountingMatrices<Scalar, Exec>;
      Counting const counting(A, products.data() + member.league_rank());
      Cg::template invoke<Counting, Vectors>(member, counting, team_b, team_x, handle);
    } else {
      Cg::template invoke<Matrices<Scalar, Exec>, Vectors>(member, A, team_b, team_x, handle);
    }
  }
};

template <class Scalar, class Exec>
class BatchedCg {
 public:
  BatchedCg(Exec const& exec, BatchProblem<Scalar> const& problem, BatchRequest const& request)
      : exec_(exec),
        tolerance_(Scalar(request.tolerance)),
        max_iterations_(request.max_iterations),
        systems_(problem.systems()),
        rows_(problem.starts[1]),
        values_(copy_to_device<Scalar, Exec>(problem.all.values)),
        b_(copy_to_device<Scalar, Exec>(problem.all.right_side)),
        x_("Solder::Perf::x", problem.all.rows) {
    auto const& offsets = problem.all.row_offsets;
    auto const& columns = problem.all.columns;
    row_offsets_ =
        copy_to_device<int, Exec>(std::vector<int>(offsets.begin(), offsets.begin() + rows_ + 1));
    columns_ = copy_to_device<int, Exec>(
        std::vector<int>(columns.begin(), columns.begin() + offsets[rows_]));
  }

  /// \brief Shapes of teams of so many systems that can run here.
  std::vector<Shape> shapes(int systems) const {
    std::vector<Shape> all;
    bool const on_host =
        Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;
    for (int const level : {0, 1})
      for (int const threads : on_host ? std::vector{1} : std::vector{4, 8, 16, 32})
        for (int const lanes : on_host ? std::vector{1} : std::vector{8, 32})
          if (Shape const shape{systems, threads, lanes, level}; fits(shape)) all.push_back(shape);
    return all;
  }

  /// \brief Solves all systems; the seconds of the kernel.
  double solve(Shape const& shape) const { return run(shape, kernel<false>(shape)); }

  /// \brief The same, and counts the iterations: those of a team are those of its systems.
  std::vector<int> count_iterations(Shape const& shape) const {
    auto counting = kernel<true>(shape);
    counting.products = Array<int, Exec>("Solder::Perf::products", league(shape));
    run(shape, counting);
    std::vector<int> const products = copy_to_host<int, Exec>(counting.products);
    std::vector<int> iterations;
    for (int k = 0; k < systems_; ++k)  // the first product was for the residual of x = 0
      iterations.push_back(products[k / shape.systems] - 1);
    return iterations;
  }

  /// \brief Of the latest solve.
  std::vector<Scalar> solution() const { return copy_to_host<Scalar, Exec>(x_); }

 private:
  using Policy = Kokkos::TeamPolicy<Exec>;

  int league(Shape const& shape) const { return (systems_ + shape.systems - 1) / shape.systems; }

  /// The scratch that the CG takes: four vectors and five numbers of each system.
  std::size_t scratch_bytes(Shape const& shape) const {
    using Scratch = typename Exec::scratch_memory_space;
    return Kokkos::View<Scalar**, Kokkos::LayoutRight, Scratch>::shmem_size(shape.systems,
                                                                            4 * rows_) +
           Kokkos::View<Scalar**, Scratch>::shmem_size(shape.systems, 5);
  }

  Policy policy(Shape const& shape) const {
    Policy policy(exec_, league(shape), shape.threads, shape.lanes);
    policy.set_scratch_size(shape.level, Kokkos::PerTeam(scratch_bytes(shape)));
    return policy;
  }

  bool fits(Shape const& shape) const {
    return scratch_bytes(shape) <= std::size_t(Policy::scratch_size_max(shape.level)) &&
           shape.threads <=
               policy(shape).team_size_max(kernel<false>(shape), Kokkos::ParallelForTag());
  }

  template <bool counts>
  CgKernel<Scalar, Exec, counts> kernel(Shape const& shape) const {
    typename CgKernel<Scalar, Exec, counts>::Handle handle(systems_, shape.systems,
                                                           max_iterations_);
    handle.set_tolerance(tolerance_);
    handle.set_scratch_pad_level(shape.level);
    return {systems_, shape.systems, row_offsets_, columns_, values_, b_, x_, {}, handle};
  }

  template <class Kernel>
  double run(Shape const& shape, Kernel const& kernel) const {
    Policy const all = policy(shape);
    Kokkos::deep_copy(exec_, x_, Scalar(0));
    exec_.fence("Solder::Perf::begin");
    auto const begin = Clock::now();
    Kokkos::parallel_for("Solder::Perf::batched CG", all, kernel);
    exec_.fence("Solder::Perf::end");
    return seconds_between(begin, Clock::now());
  }

  Exec exec_;
  Scalar tolerance_;
  int max_iterations_, systems_, rows_;
  Array<int, Exec> row_offsets_, columns_;
  Array<Scalar, Exec> values_, b_, x_;
};

}  // namespace

template <class Scalar>
std::vector<BatchTiming<Scalar>> solve_batch_with_kokkos_kernels(
    BatchProblem<Scalar> const& problem, BatchRequest const& request) {
  if (request.solver != "cg" || request.preconditioner != "none")
    throw std::runtime_error("is compared for cg without a preconditioner alone, not for " +
                             request.solver + " with " + request.preconditioner);
  if (!has_one_pattern(problem))
    throw std::runtime_error("its batched CG needs systems of one pattern, and these have several");
  return with_space(request.on_device, request.threads, [&]<class Exec>(Exec const& exec) {
    BatchedCg<Scalar, Exec> const cg(exec, problem, request);
    std::vector<BatchTiming<Scalar>> timings;
    for (int const systems : {1, 2, 4, 8}) {
      std::optional<Shape> best;
      double least = 0;
      for (Shape const& shape : cg.shapes(systems)) {
        cg.solve(shape);
        double const seconds = cg.solve(shape);
        if (best && seconds >= least) continue;
        best = shape;
        least = seconds;
      }
      if (!best) continue;
      BatchTiming<Scalar> timing{std::to_string(systems) + " a team", best->text(), {}, {}, {}};
      for (int i = 0; i < request.repeats; ++i) timing.seconds.push_back(cg.solve(*best));
      timing.solution = cg.solution();
      timing.iterations = cg.count_iterations(*best);
      timings.push_back(std::move(timing));
    }
    return timings;
  });
}

template std::vector<BatchTiming<float>> solve_batch_with_kokkos_kernels(BatchProblem<float> const&,
                                                                         BatchRequest const&);
template std::vector<BatchTiming<double>> solve_batch_with_kokkos_kernels(
    BatchProblem<double> const&, BatchRequest const&);

}  // namespace Solder::Perf
