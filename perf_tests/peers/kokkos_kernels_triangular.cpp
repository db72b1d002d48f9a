// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Kokkos Kernels' sparse triangular solve by levels: a kernel a level, a thread or a team a row;
// and with chains of small levels in one kernel of one team. Needs its version 4.6 or later.

#include <KokkosKernels_Handle.hpp>
#include <KokkosSparse_sptrsv.hpp>

#include "kokkos_kernels.hpp"
#include "triangle.hpp"

namespace Solder::Perf {
namespace {

using namespace KernelsPeer;
using KokkosSparse::Experimental::SPTRSVAlgorithm;

struct Algorithm {
  char const* name;
  SPTRSVAlgorithm id;
  bool adds = false;  ///< to x, which must be zero
  int chained = 0;  ///< rows of a level that may be in a chain, and threads of a team; 0: no chains
};

/// \brief The system with a diagonal that is stored: last in a row of a lower triangle, first in
/// one of an upper triangle.
template <class Scalar>
struct WithDiagonal {
  std::vector<std::int64_t> row_offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<Scalar> values;

  explicit WithDiagonal(TriangularProblem<Scalar> const& problem) {
    auto const& system = problem.system;
    auto const add = [&](std::int32_t column, Scalar value) {
      columns.push_back(column);
      values.push_back(value);
    };
    for (std::int32_t i = 0; i < system.rows; ++i) {
      if (problem.unit_diagonal && !problem.lower) add(i, 1);
      for (auto k = system.row_offsets[i]; k < system.row_offsets[i + 1]; ++k)
        add(system.columns[k], system.values[k]);
      if (problem.unit_diagonal && problem.lower) add(i, 1);
      row_offsets.push_back(std::int64_t(columns.size()));
    }
  }
};

template <class Scalar, class Exec>
TriangularTiming<Scalar> time_algorithm(Exec exec, Algorithm const& algorithm, bool lower,
                                        Matrix<Scalar, Exec> const& matrix,
                                        Array<Scalar, Exec> const& b,
                                        TriangularRequest const& request) {
  using Memory = typename Exec::memory_space;
  KokkosKernels::Experimental::KokkosKernelsHandle<int, int, Scalar, Exec, Memory, Memory> handle;
  auto const& offsets = matrix.graph.row_map;
  auto const& columns = matrix.graph.entries;
  Array<Scalar, Exec> const x("Solder::Perf::x", b.size());
  auto const analyse = [&] {
    handle.create_sptrsv_handle(algorithm.id, int(b.size()), lower);
    if (algorithm.chained > 0) {
      handle.get_sptrsv_handle()->set_team_size(algorithm.chained);
      handle.get_sptrsv_handle()->reset_chain_threshold(algorithm.chained);
    }
    KokkosSparse::sptrsv_symbolic(exec, &handle, offsets, columns);
    exec.fence("Solder::Perf::analysed");
  };
  TriangularTiming<Scalar> timing{algorithm.name, {}, {}, {}, {}};
  timing.analysis = time_preparation(
      request, [&] { handle.destroy_sptrsv_handle(); }, analyse);
  auto const solve = [&] {
    if (algorithm.adds) Kokkos::deep_copy(exec, x, Scalar(0));
    KokkosSparse::sptrsv_solve(exec, &handle, offsets, columns, matrix.values, b, x);
  };
  timing.seconds = time_enough(request, solve, [&] { exec.fence("Solder::Perf::solved"); });
  timing.solution = copy_to_host<Scalar, Exec>(x);
  return timing;
}

}  // namespace

template <class Scalar>
std::vector<TriangularTiming<Scalar>> solve_triangle_with_kokkos_kernels(
    TriangularProblem<Scalar> const& problem, TriangularRequest const& request) {
  return with_space(request.on_device, request.threads, [&]<class Exec>(Exec const& exec) {
    WithDiagonal<Scalar> const full(problem);
    auto const& system = problem.system;
    auto const matrix = make_matrix<Exec>(PeerProblem<Scalar>{
        system.rows, full.row_offsets, full.columns, full.values, system.right_side});
    auto const b = copy_to_device<Scalar, Exec>(system.right_side);
    std::vector<Algorithm> algorithms{{"levels, RP", SPTRSVAlgorithm::SEQLVLSCHD_RP, true},
                                      {"levels, TP1", SPTRSVAlgorithm::SEQLVLSCHD_TP1}};
    if (request.on_device)  // hosts have no such teams
      algorithms.insert(algorithms.end(),
                        {{"chains of 32", SPTRSVAlgorithm::SEQLVLSCHD_TP1CHAIN, false, 32},
                         {"chains of 256", SPTRSVAlgorithm::SEQLVLSCHD_TP1CHAIN, false, 256}});
    std::vector<TriangularTiming<Scalar>> timings;
    for (Algorithm const& algorithm : algorithms)
      timings.push_back(time_algorithm(exec, algorithm, problem.lower, matrix, b, request));
    return timings;
  });
}

template std::vector<TriangularTiming<float>> solve_triangle_with_kokkos_kernels(
    TriangularProblem<float> const&, TriangularRequest const&);
template std::vector<TriangularTiming<double>> solve_triangle_with_kokkos_kernels(
    TriangularProblem<double> const&, TriangularRequest const&);

}  // namespace Solder::Perf
