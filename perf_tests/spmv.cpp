// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spmv.hpp"

#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <solder/core/errors.hpp>
#include <solder/core/runners/engine.hpp>
#include <solder/matrix/format.hpp>
#include <stdexcept>
#include <variant>

#include "compare.hpp"
#include "contest.hpp"
#include "driver/solve.hpp"

namespace Solder::Perf {
namespace {

/// y = A x by the operator's row products, as a stage of a solver forms them.
template <class Operator, class Scalar>
struct ProductKernel {
  static constexpr int sums = 2;  ///< a team's, for rows that a whole team works on

  Operator A;
  Scalar const* x;
  Scalar* y;

  template <class Where>
  KOKKOS_FUNCTION void operator()(Where const& where) const {
    if constexpr (std::is_integral_v<Where>)
      execute(Impl::HostTeam{static_cast<int>(where), A.teams});
    else
      execute(Impl::DeviceTeam<Where>(where, where.league_rank(), where.league_size(), sums));
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void execute(Team const& team) const {
    A.for_each_row_product(
        team, x, [] { return true; }, [&](std::int32_t i, Scalar const& value) { y[i] = value; });
  }
};

/// Calls f(matrix, its format's name).
template <class T, class Exec, class Function>
void with_matrix(Exec const& exec, Driver::RunConfig const& config, HostCsr<T> const& host,
                 Function const& f) {
  MatrixFormat wanted = MatrixFormat::automatic;
  read_word(config.execution.matrix_format, wanted);
  auto const made = Impl::formatted(exec, CsrMatrix<T, Exec>(exec, host), wanted);
  std::string const name(to_string(made.choice.format));
  std::visit(
      [&](auto const& matrix) { f(matrix, wanted == made.choice.format ? name : "auto: " + name); },
      made.matrix);
}

/// A matrix, the vector it is to be multiplied by, and what must come of it.
template <class T>
class Task {
 public:
  explicit Task(HostCsr<T> const& matrix)
      : matrix_(matrix), x_(matrix.rows), expected_(matrix.rows), scale_(matrix.rows) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = T(0.5 + double(i * 7919 % 1000) * 1e-3);
    for (std::int32_t i = 0; i < matrix.rows; ++i)
      for (auto k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
        auto const term = matrix.values[k] * x_[matrix.columns[k]];
        expected_[i] += term;
        scale_[i] += Kokkos::abs(term);
      }
  }

  HostCsr<T> const& matrix() const { return matrix_; }
  std::vector<T> const& x() const { return x_; }

  /// \brief The largest |y - A x|_i / (|A| |x|)_i, infinite where it is more than rounding
  /// explains: the longest row's nonzeros times epsilon.
  double error(std::vector<T> const& y) const {
    double worst = 0;
    for (std::int32_t i = 0; i < matrix_.rows; ++i) {
      double const difference = Kokkos::abs(y[i] - expected_[i]);
      if (difference == 0) continue;
      double const relative = difference / scale_[i];
      double const length = double(matrix_.row_offsets[i + 1] - matrix_.row_offsets[i]);
      if (!(relative <= 2 * (length + 1) * epsilon)) return std::numeric_limits<double>::infinity();
      worst = std::max(worst, relative);
    }
    return worst;
  }

  /// \brief What a product must move: the matrix's entries and a row's offset, x and y once each.
  double bytes() const {
    return double(matrix_.nonzeros()) * (sizeof(T) + 4) +
           double(matrix_.rows) * (2 * sizeof(T) + 4);
  }

 private:
  static constexpr double epsilon = std::numeric_limits<typename ScalarTraits<T>::Real>::epsilon();

  HostCsr<T> const& matrix_;
  std::vector<T> x_, expected_;
  std::vector<double> scale_;
};

template <class T>
Product<T> multiply_with_solder(Driver::RunConfig const& config, Task<T> const& task, int batches) {
  using HostVector = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using ConstHostVector =
      Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Product<T> product;
  Driver::with_space(config.execution.space, [&]<class Exec>(Exec const& exec) {
    with_matrix(exec, config, task.matrix(), [&](auto const& matrix, std::string const& format) {
      std::size_t const n = task.x().size();
      Kokkos::View<T*, Exec> const x(Kokkos::view_alloc(exec, "Solder::Perf::x"), n),
          y(Kokkos::view_alloc(exec, "Solder::Perf::y"), n);
      Kokkos::deep_copy(exec, x, ConstHostVector(task.x().data(), n));
      auto const A = matrix.device_operator();
      ProductKernel<std::decay_t<decltype(A)>, T> const kernel{A, x.data(), y.data()};
      auto const policy = Impl::team_policy<Exec, Impl::league_threads>(
          exec, A.teams, Impl::league_threads,
          Impl::DeviceTeam<int>::scratch_bytes(kernel.sums, 0));
      auto const launch = [&] { Kokkos::parallel_for("Solder::Perf::product", policy, kernel); };
      auto const fence = [&] { exec.fence("Solder::Perf::products done"); };
      Batches request{3, 3, !Impl::is_host_space<Exec>, 0};
      request.launches = launches_for(median(time_batches(request, launch, fence)));
      request.batches = batches;
      product = {format, time_batches(request, launch, fence), std::vector<T>(n)};
      Kokkos::deep_copy(exec, HostVector(product.result.data(), n), y);
      fence();
    });
  });
  return product;
}

template <class T>
std::vector<Product<T>> multiply_with([[maybe_unused]] std::string const& peer,
                                      [[maybe_unused]] PeerProblem<T> const& problem,
                                      [[maybe_unused]] Batches const& request) {
#ifdef SOLDER_PERF_EIGEN
  if (peer == "eigen") return multiply_with_eigen(problem, request);
#endif
#ifdef SOLDER_PERF_KOKKOS_KERNELS
  if (peer == "kokkos_kernels") return multiply_with_kokkos_kernels(problem, request);
#endif
#ifdef SOLDER_PERF_VENDOR
  if (peer == "vendor") return multiply_with_vendor(problem, request);
#endif
  return {};
}

/// The runs of a file that share a matrix and a space, and what was measured of them.
struct Group {
  std::vector<Driver::RunConfig const*> runs;
  Driver::AnySystem system;
  Contest contest;
  bool on_host;
};

template <class T>
void time_solder(Group& group, Task<T> const& task, int batches) {
  for (Driver::RunConfig const* const run : group.runs) {
    Product<T> product;
    try {
      product = multiply_with_solder(*run, task, batches);
    } catch (InputError const& error) {  // a format that this matrix does not suit
      group.contest.add_absent(std::string("solder: ") + error.what());
      continue;
    }
    double const error = task.error(product.result);
    if (!std::isfinite(error))
      throw std::runtime_error(run->where(run->matrix_key()) + ": Solder's product in the format " +
                               product.variant + " is wrong by more than rounding");
    group.contest.add("solder", product.variant, product.seconds, error);
  }
}

template <class T>
void time_peers(Group& group, Task<T> const& task, std::vector<std::string> const& peers,
                int batches, int threads) {
  double fastest = std::numeric_limits<double>::max();
  for (Contestant const& c : group.contest.contestants) fastest = std::min(fastest, c.seconds());
  Batches const request{launches_for(fastest), batches, !group.on_host,
                        group.on_host ? threads : 0};
  for (std::string const& peer : peers) {
    std::string why_not = "does not take this matrix or space";
    std::vector<Product<T>> products;
    if constexpr (std::is_floating_point_v<T>) {
      auto const& m = task.matrix();
      PeerProblem<T> const problem{m.rows, m.row_offsets, m.columns, m.values, task.x()};
      try {
        products = multiply_with(peer, problem, request);
      } catch (std::exception const& error) {
        why_not = error.what();
      }
    }
    if (products.empty()) group.contest.add_absent(peer + ": " + why_not);
    for (Product<T> const& product : products)
      group.contest.add(peer, product.variant, product.seconds, task.error(product.result));
  }
}

std::vector<Group> groups_of(Driver::FileConfig const& file, Driver::SystemStore& store,
                             Machine& machine) {
  std::vector<Group> groups;
  for (Driver::RunConfig const& run : file.runs) {
    auto const shares = [&](Group const& group) {
      return group.runs[0]->problem == run.problem &&
             group.runs[0]->execution.space == run.execution.space;
    };
    auto const group = std::find_if(groups.begin(), groups.end(), shares);
    if (group == groups.end())
      groups.push_back({{&run},
                        store.get(run),
                        {title_of(run), 0, 0, 0, machine.at(run.execution.space).bandwidth.copy},
                        Driver::on_host(run.execution.space)});
    else
      group->runs.push_back(&run);
  }
  return groups;
}

}  // namespace

nlohmann::ordered_json time_products(Driver::FileConfig const& file,
                                     std::vector<std::string> const& peers,
                                     Driver::SystemStore& store, Machine& machine) {
  constexpr int batches = 15, rounds = 5;
  std::vector<Group> groups = groups_of(file, store, machine);
  ContestTable const table("nonzeros");
  std::cout << table.heading(groups[0].contest.copy_bandwidth);
  auto const with_task = [](Group& group, auto const& f) {
    std::visit(
        [&]<class T>(std::shared_ptr<Driver::System<T> const> const& system) {
          Task<T> const task(system->matrix);
          group.contest.rows = system->matrix.rows;
          group.contest.size = system->matrix.nonzeros();
          group.contest.bytes = task.bytes();
          f(task);
        },
        group.system);
  };
  auto const threads = [&](Group const& group) {
    return machine.at(group.runs[0]->execution.space).concurrency;
  };
  for (Group& group : groups)
    with_task(group, [&](auto const& task) {
      if (!group.on_host) return time_solder(group, task, batches);
      for (int round = 0; round < rounds; ++round) {
        time_solder(group, task, batches / rounds);
        time_peers(group, task, peers, batches / rounds, threads(group));
      }
      std::cout << table.lines(group.contest) << std::flush;
    });
  std::vector<Contest> contests;
  for (Group& group : groups) {
    if (!group.on_host) {
      with_task(group,
                [&](auto const& task) { time_peers(group, task, peers, batches, threads(group)); });
      std::cout << table.lines(group.contest) << std::flush;
    }
    contests.push_back(group.contest);
  }
  std::cout << table.means(contests);
  return table.json(contests);
}

}  // namespace Solder::Perf
