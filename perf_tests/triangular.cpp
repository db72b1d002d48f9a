// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "triangular.hpp"

#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/preconditioners/triangular_solve.hpp>
#include <stdexcept>
#include <variant>

#include "contest.hpp"
#include "driver/solve.hpp"
#include "peers/triangle.hpp"
#include "text.hpp"

namespace Solder::Perf {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
using HostVector = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
template <class T>
using ConstHostVector =
    Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// A triangle of a run's problem; the ones of a unit diagonal are not stored.
template <class T>
struct Triangle {
  std::string name;
  std::shared_ptr<HostCsr<T> const> matrix;
  TriangularShape shape;

  bool lower() const { return shape.triangle == TriangularShape::Triangle::lower; }
};

/// The entries (i, j) of a matrix for which keep(i, j).
template <class T, class Offsets, class Columns, class Values, class Keep>
std::shared_ptr<HostCsr<T> const> part(std::int32_t rows, Offsets const& offsets,
                                       Columns const& columns, Values const& values,
                                       Keep const& keep) {
  auto const result = std::make_shared<HostCsr<T>>();
  result->rows = result->columns_count = rows;
  result->row_offsets = {0};
  for (std::int32_t i = 0; i < rows; ++i) {
    for (auto k = offsets[i]; k < offsets[i + 1]; ++k)
      if (keep(i, columns[k])) {
        result->columns.push_back(columns[k]);
        result->values.push_back(values[k]);
      }
    result->row_offsets.push_back(std::int64_t(result->columns.size()));
  }
  return result;
}

template <class T>
bool is_lower(HostCsr<T> const& matrix) {
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    for (auto k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
      if (matrix.columns[k] > i) return false;
  return true;
}

template <class T>
std::vector<Triangle<T>> triangles_of(std::string const& space,
                                      std::shared_ptr<Driver::System<T> const> const& system) {
  HostCsr<T> const& A = system->matrix;
  if (is_lower(A)) return {{"itself", {system, &A}, {}}};
  auto const below = [](std::int32_t i, std::int32_t j) { return j < i; };
  auto const not_below = [](std::int32_t i, std::int32_t j) { return j >= i; };
  auto const not_above = [](std::int32_t i, std::int32_t j) { return j <= i; };
  std::vector<Triangle<T>> triangles;
  Driver::with_space(space, [&]<class Exec>(Exec const& exec) {
    Incomplete<T, Exec> const factors(exec, CsrMatrix<T, Exec>(exec, A), Factorisation::ilu0);
    if (!factors.failure().empty()) return;
    auto const copy = [](auto const& view) {
      return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
    };
    auto const offsets = copy(factors.factor_offsets());
    auto const columns = copy(factors.factor_columns());
    auto const values = copy(factors.factor_values());
    triangles = {{"L of ILU(0)",
                  part<T>(A.rows, offsets, columns, values, below),
                  {TriangularShape::Triangle::lower, true}},
                 {"U of ILU(0)",
                  part<T>(A.rows, offsets, columns, values, not_below),
                  {TriangularShape::Triangle::upper}}};
  });
  if (triangles.empty())
    triangles = {
        {"lower part", part<T>(A.rows, A.row_offsets, A.columns, A.values, not_above), {}}};
  return triangles;
}

/// A triangle, the right-hand side, and what plain loops make of them.
template <class T>
class Task {
 public:
  Task(Triangle<T> triangle, std::vector<T> b) : triangle_(std::move(triangle)), b_(std::move(b)) {
    HostCsr<T> const& A = matrix();
    std::vector<T> x(A.rows);
    std::vector<std::int32_t> level(A.rows);
    for (std::int32_t turn = 0; turn < A.rows; ++turn) {
      std::int32_t const i = triangle_.lower() ? turn : A.rows - 1 - turn;
      T sum = b_[i], diagonal = triangle_.shape.unit_diagonal ? 1 : 0;
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
        if (std::int32_t const j = A.columns[k]; j == i) {
          diagonal = A.values[k];
        } else {
          sum -= A.values[k] * x[j];
          level[i] = std::max(level[i], level[j]);
        }
      x[i] = sum / diagonal;
      is_finite_ = is_finite_ && std::isfinite(x[i]);
      levels_ = std::max(levels_, ++level[i]);
      longest_ = std::max(longest_, A.row_offsets[i + 1] - A.row_offsets[i]);
    }
  }

  HostCsr<T> const& matrix() const { return *triangle_.matrix; }
  Triangle<T> const& triangle() const { return triangle_; }
  std::vector<T> const& b() const { return b_; }
  std::int32_t levels() const { return levels_; }
  /// \brief Can substitution solve it without overflow?
  bool is_finite() const { return is_finite_; }

  /// \brief The largest |T x - b|_i / (|T| |x| + |b|)_i.
  double error(std::vector<T> const& x) const {
    HostCsr<T> const& A = matrix();
    double worst = 0;
    for (std::int32_t i = 0; i < A.rows; ++i) {
      double const own = triangle_.shape.unit_diagonal ? x[i] : 0;
      double difference = own - b_[i], scale = std::abs(own) + std::abs(b_[i]);
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
        double const term = double(A.values[k]) * double(x[A.columns[k]]);
        difference += term;
        scale += std::abs(term);
      }
      double const relative = difference == 0 ? 0 : std::abs(difference) / scale;
      worst = relative <= worst ? worst : relative;  // NaN stays
    }
    return worst;
  }
  /// \brief No error is more by rounding.
  double most_error() const {
    return 2 * (double(longest_) + 3) * std::numeric_limits<T>::epsilon();
  }

  /// \brief What Solder moves: the entries once, and of a row the right-hand side, the solution and
  /// its two flagged copies, and four indices.
  double bytes() const {
    return double(matrix().nonzeros()) * (sizeof(T) + 4) +
           double(matrix().rows) * (4 * sizeof(T) + 16);
  }

 private:
  Triangle<T> triangle_;
  std::vector<T> b_;
  std::int32_t levels_ = 0;
  std::int64_t longest_ = 0;
  bool is_finite_ = true;
};

/// One triangle in one space, and what was measured with it.
struct Group {
  std::variant<Task<float>, Task<double>> task;
  std::string space, triangle;
  bool on_host;
  std::int32_t levels;
  Contest contest;
  std::map<std::string, TriangularReport> reports{};  ///< of Solder's ways
};

template <class T>
void time_solder(Group& group, Task<T> const& task, TriangularRequest const& request) {
  Driver::with_space(group.space, [&]<class Exec>(Exec const& exec) {
    std::size_t const n = task.b().size();
    CsrMatrix<T, Exec> const A(exec, task.matrix());
    Kokkos::View<T*, Exec> const b(Kokkos::view_alloc(exec, "Solder::Perf::b"), n),
        x(Kokkos::view_alloc(exec, "Solder::Perf::x"), n);
    Kokkos::deep_copy(exec, b, ConstHostVector<T>(task.b().data(), n));
    auto const fence = [&] { exec.fence("Solder::Perf::solved"); };
    for (auto const schedule : {TriangularSchedule::automatic, TriangularSchedule::natural,
                                TriangularSchedule::levels, TriangularSchedule::partition}) {
      std::optional<TriangularSolve<T, Exec>> solver;
      auto const analysis = time_preparation(
          request, [&] { solver.reset(); },
          [&] { solver.emplace(exec, A, task.triangle().shape, schedule); });
      auto const update = time_preparation(
          request, [] {}, [&] { solver->update_values(exec, A); });
      auto const seconds = time_enough(
          request, [&] { solver->solve(exec, b, x); }, fence);
      std::vector<T> solution(n);
      Kokkos::deep_copy(exec, HostVector<T>(solution.data(), n), x);
      fence();
      std::string how(to_string(schedule));
      if (schedule == TriangularSchedule::automatic)
        how += ": " + std::string(to_string(solver->report().schedule));
      double const error = task.error(solution);
      if (!(error <= task.most_error()))
        throw std::runtime_error(
            format("%s, %s: Solder's backward error by %s is %.1e, which is more than rounding",
                   group.contest.problem.c_str(), group.triangle.c_str(), how.c_str(), error));
      Contestant& own = group.contest.add("solder", how, seconds, error);
      own.analysis.insert(own.analysis.end(), analysis.begin(), analysis.end());
      own.update.insert(own.update.end(), update.begin(), update.end());
      group.reports[how] = solver->report();
    }
  });
}

template <class T>
std::vector<TriangularTiming<T>> solve_with([[maybe_unused]] std::string const& peer,
                                            [[maybe_unused]] TriangularProblem<T> const& problem,
                                            [[maybe_unused]] TriangularRequest const& request) {
#ifdef SOLDER_PERF_KOKKOS_KERNELS
  if (peer == "kokkos_kernels") return solve_triangle_with_kokkos_kernels(problem, request);
#endif
#ifdef SOLDER_PERF_VENDOR
  if (peer == "vendor") return solve_triangle_with_vendor(problem, request);
#endif
  return {};
}

template <class T>
void time_peers(Group& group, Task<T> const& task, std::vector<std::string> const& peers,
                TriangularRequest const& request) {
  auto const& A = task.matrix();
  TriangularProblem<T> const problem{{A.rows, A.row_offsets, A.columns, A.values, task.b()},
                                     task.triangle().lower(),
                                     task.triangle().shape.unit_diagonal};
  for (std::string const& peer : peers) {
    std::string why_not = "does not run in this space, or has no triangular solve";
    std::vector<TriangularTiming<T>> timings;
    try {
      timings = solve_with(peer, problem, request);
    } catch (std::exception const& error) {
      why_not = error.what();
    }
    if (timings.empty()) group.contest.add_absent(peer + ": " + why_not);
    for (auto const& timing : timings) {
      Contestant& other =
          group.contest.add(peer, timing.variant, timing.seconds, task.error(timing.solution));
      other.analysis.insert(other.analysis.end(), timing.analysis.begin(), timing.analysis.end());
      other.update.insert(other.update.end(), timing.update.begin(), timing.update.end());
    }
  }
}

/// What is printed of a contestant beside its times; empty: it does not apply.
struct Comparison {
  std::optional<double> of_copy;       ///< of Solder
  std::optional<double> vendor_ratio;  ///< the vendor's time over this one's
  std::optional<double> amortised;     ///< of Solder: after so many solves it has gained
  std::optional<double> update;
};

Comparison compare(Contestant const& own, Contest const& contest) {
  Comparison result;
  if (!own.update.empty()) result.update = median(own.update);
  if (own.is_solder()) result.of_copy = contest.bytes / own.seconds() / contest.copy_bandwidth;
  auto const is_vendor = [](Contestant const& c) { return c.who == "vendor"; };
  auto const vendor =
      std::find_if(contest.contestants.begin(), contest.contestants.end(), is_vendor);
  if (vendor == contest.contestants.end()) return result;
  result.vendor_ratio = vendor->seconds() / own.seconds();
  double const gain = vendor->seconds() - own.seconds();
  if (own.is_solder() && gain > 0)
    result.amortised =
        std::max(0.0, std::ceil((median(own.analysis) - median(vendor->analysis)) / gain));
  return result;
}

std::string heading(double copy_bandwidth) {
  return format(
             "copy %.1f GB/s; pays: after so many solves analysis and solves took less than the "
             "vendor's\n",
             copy_bandwidth * 1e-9) +
         format("  %-14s %-16s %11s %9s %11s %7s %8s %6s %7s\n", "who", "how", "analysis ms",
                "update ms", "us", "of copy", "vendor x", "pays", "error");
}

std::string lines(Group const& group) {
  Contest const& contest = group.contest;
  std::string text = contest.problem + ", " + group.triangle + ": " + counted(contest.rows, "row") +
                     ", " + counted(contest.size, "nonzero") + ", " +
                     counted(group.levels, "level") + "\n";
  auto const shown = [](char const* pattern, std::optional<double> value, double factor = 1) {
    return value ? format(pattern, *value * factor) : std::string("-");
  };
  for (Contestant const& c : contest.contestants) {
    Comparison const beside = compare(c, contest);
    text += format(
        "  %-14s %-16s %11.3f %9s %11.2f %7s %8s %6s %7.0e\n", c.who.c_str(), c.how.c_str(),
        median(c.analysis) * 1e3, shown("%.3f", beside.update, 1e3).c_str(), c.seconds() * 1e6,
        shown("%.1f%%", beside.of_copy, 100).c_str(), shown("%.3f", beside.vendor_ratio).c_str(),
        shown("%.0f", beside.amortised).c_str(), c.error);
  }
  for (std::string const& why : contest.absent) text += "  " + why + "\n";
  return text;
}

Json json_of(Group const& group) {
  Contest const& contest = group.contest;
  Json run{{"problem", contest.problem},
           {"triangle", group.triangle},
           {"rows", contest.rows},
           {"nonzeros", contest.size},
           {"levels", group.levels},
           {"bytes", contest.bytes},
           {"copy_bandwidth_gb_s", contest.copy_bandwidth * 1e-9},
           {"contestants", Json::array()},
           {"absent", contest.absent}};
  auto const json = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  for (Contestant const& c : contest.contestants) {
    Comparison const beside = compare(c, contest);
    Json one{{"who", c.who},
             {"how", c.how},
             {"analysis_seconds", median(c.analysis)},
             {"update_seconds", json(beside.update)},
             {"seconds", c.seconds()},
             {"seconds_each", c.samples},
             {"of_copy", json(beside.of_copy)},
             {"vendor_ratio", json(beside.vendor_ratio)},
             {"amortised_after", json(beside.amortised)},
             {"error", c.error}};
    if (c.is_solder()) {
      TriangularReport const& report = group.reports.at(c.how);
      one["schedule"] = to_string(report.schedule);
      one["tiles"] = report.tiles;
      one["tile_levels"] = report.tile_levels;
      one["external"] = report.external;
      one["predicted_seconds"] = report.predicted_seconds;
    }
    run["contestants"].push_back(std::move(one));
  }
  return run;
}

std::vector<Group> groups_of(Driver::FileConfig const& file, Driver::SystemStore& store,
                             Machine& machine) {
  std::vector<Group> groups;
  auto const add = [&]<class T>(Driver::RunConfig const& run,
                                std::shared_ptr<Driver::System<T> const> const& system) {
    std::string const& space = run.execution.space;
    if constexpr (std::is_floating_point_v<T>)
      for (Triangle<T> const& triangle : triangles_of(space, system)) {
        Task<T> task(triangle, system->rhs);
        if (!task.is_finite()) {
          std::cout << title_of(run) << ", " << triangle.name
                    << ": the solution is not finite, left out\n";
          continue;
        }
        Contest contest{title_of(run), task.matrix().rows, task.matrix().nonzeros(), task.bytes(),
                        machine.at(space).bandwidth.copy};
        std::int32_t const levels = task.levels();
        groups.push_back({std::move(task), space, triangle.name, Driver::on_host(space), levels,
                          std::move(contest)});
      }
    else
      std::cout << title_of(run) << ": measure: triangular is for real scalars\n";
  };
  for (Driver::RunConfig const& run : file.runs)
    std::visit([&](auto const& system) { add(run, system); }, store.get(run));
  return groups;
}

}  // namespace

Json time_triangles(Driver::FileConfig const& file, std::vector<std::string> const& peers,
                    Driver::SystemStore& store, Machine& machine) {
  constexpr int preparations = 3, batches = 15, rounds = 3;
  std::vector<Group> groups = groups_of(file, store, machine);
  std::cout << heading(machine.at(file.runs[0].execution.space).bandwidth.copy);
  auto const with_task = [](Group& group, auto const& f) {
    std::visit([&](auto const& task) { f(task); }, group.task);
  };
  auto const request = [&](Group const& group) {
    int const threads = machine.at(group.space).concurrency;
    return group.on_host ? TriangularRequest{1, batches / rounds, false, threads}
                         : TriangularRequest{preparations, batches, true, 0};
  };
  for (Group& group : groups)
    with_task(group, [&](auto const& task) {
      if (!group.on_host) return time_solder(group, task, request(group));
      for (int round = 0; round < rounds; ++round) {
        time_solder(group, task, request(group));
        time_peers(group, task, peers, request(group));
      }
      std::cout << lines(group) << std::flush;
    });
  std::vector<Contest> contests;
  Json runs = Json::array();
  for (Group& group : groups) {
    if (!group.on_host) {
      with_task(group, [&](auto const& task) { time_peers(group, task, peers, request(group)); });
      std::cout << lines(group) << std::flush;
    }
    contests.push_back(group.contest);
    runs.push_back(json_of(group));
  }
  std::cout << ContestTable::means(contests);
  return contests_json(contests, std::move(runs));
}

}  // namespace Solder::Perf
