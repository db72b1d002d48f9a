// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <type_traits>
#include <utility>
#include <variant>

#include "contest.hpp"
#include "driver/methods.hpp"
#include "driver/solve.hpp"
#include "measure.hpp"
#include "peers/batch_problem.hpp"
#include "text.hpp"

namespace Solder::Perf {
namespace {

using Json = nlohmann::ordered_json;

/// On hosts: how often Solder and the peers take turns.
constexpr int rounds = 3;
/// Systems that are solved one after another, if there are so many, and how often each.
constexpr int most_alone = 64, repeats_alone = 3;

constexpr char const* together = "a batch";
constexpr char const* alone = "one after another";

/// What is said of a contestant beside its times.
struct Remarks {
  std::string teams;
  int most_iterations;
  double mean_iterations;
};

/// One run, and what was measured of it.
struct Group {
  Driver::RunConfig const* run;
  Driver::AnySystem system;
  bool on_host;
  Contest contest;                                                   ///< size: the systems
  std::map<std::pair<std::string, std::string>, Remarks> remarks{};  ///< of (who, how)

  template <class Iterations>
  void add(std::string const& who, std::string const& how, std::vector<double> const& seconds,
           double residual, std::string const& teams, Iterations const& iterations) {
    contest.add(who, how, seconds, residual);
    double const sum = std::accumulate(iterations.begin(), iterations.end(), 0.0);
    remarks[{who, how}] = {teams, *std::max_element(iterations.begin(), iterations.end()),
                           sum / double(iterations.size())};
  }
};

/// ||b - A x|| / ||b|| of the rows from `first` to `last` - 1, by a plain loop in double.
template <class T>
double residual(Driver::System<T> const& system, std::vector<T> const& x, std::int32_t first,
                std::int32_t last) {
  HostCsr<T> const& A = system.matrix;
  double squared = 0, norm = 0;
  for (std::int32_t i = first; i < last; ++i) {
    Wide<T> const b(system.rhs[i]);
    Wide<T> sum = b;
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      sum -= Wide<T>(A.values[k]) * Wide<T>(x[A.columns[k]]);
    squared += std::pow(Kokkos::abs(sum), 2);
    norm += std::pow(Kokkos::abs(b), 2);
  }
  return std::sqrt(squared / norm);
}

/// The largest residual of the systems of a batch.
template <class T>
double worst_residual(Driver::System<T> const& batch, std::vector<T> const& x) {
  double worst = 0;
  for (std::size_t k = 0; k + 1 < batch.starts.size(); ++k) {
    double const one = residual(batch, x, batch.starts[k], batch.starts[k + 1]);
    worst = one <= worst ? worst : one;  // NaN stays
  }
  return worst;
}

/// System k of a batch alone.
template <class T>
Driver::System<T> system_of(Driver::System<T> const& batch, std::int32_t k) {
  std::int32_t const first = batch.starts[k], last = batch.starts[k + 1];
  HostCsr<T> const& A = batch.matrix;
  std::int64_t const begin = A.row_offsets[first], end = A.row_offsets[last];
  Driver::System<T> system;
  system.matrix.rows = system.matrix.columns_count = last - first;
  for (std::int32_t i = first; i <= last; ++i)
    system.matrix.row_offsets.push_back(A.row_offsets[i] - begin);
  for (std::int64_t e = begin; e < end; ++e) system.matrix.columns.push_back(A.columns[e] - first);
  system.matrix.values.assign(A.values.begin() + begin, A.values.begin() + end);
  system.rhs.assign(batch.rhs.begin() + first, batch.rhs.begin() + last);
  return system;
}

template <class T>
void time_together(Group& group, Driver::System<T> const& batch, int repeats) {
  Driver::RunConfig run = *group.run;
  run.execution.repeat = repeats;
  Driver::Solved<T> const solved = Driver::solve<T>(run, batch, {});
  std::vector<int> iterations;
  for (Report const& report : solved.columns) iterations.push_back(report.iterations);
  group.add("solder", together, {solved.report.solve_seconds},
            worst_residual(batch, solved.solution), "", iterations);
}

template <class T>
void time_alone(Group& group, Driver::System<T> const& batch) {
  Driver::RunConfig run = *group.run;
  run.problem.batch = 0;
  run.execution.runner = "auto";
  run.execution.repeat = repeats_alone;
  std::int64_t const systems = group.contest.size,
                     some = std::min<std::int64_t>(systems, most_alone);
  double seconds = 0, worst = 0;
  std::vector<int> iterations;
  for (std::int64_t i = 0; i < some; ++i) {
    Driver::System<T> const one = system_of(batch, static_cast<std::int32_t>(i * systems / some));
    Driver::Solved<T> const solved = Driver::solve<T>(run, one, {});
    seconds += solved.report.solve_seconds;
    iterations.push_back(solved.report.iterations);
    double const own = residual(one, solved.solution, 0, one.matrix.rows);
    worst = own <= worst ? worst : own;  // NaN stays
  }
  group.add("solder", alone, {seconds * double(systems) / double(some)}, worst, "", iterations);
}

/// As often as the run says, but at least 9 times; on hosts in each round a share of that.
int repeats_of(Group const& group) {
  int const all = std::max(group.run->execution.repeat, 9);
  return group.on_host ? (all + rounds - 1) / rounds : all;
}

template <class T>
void time_solder(Group& group, Driver::System<T> const& batch) {
  time_together(group, batch, repeats_of(group));
  time_alone(group, batch);
}

template <class T>
std::vector<BatchTiming<T>> solve_with([[maybe_unused]] std::string const& peer,
                                       [[maybe_unused]] BatchProblem<T> const& problem,
                                       [[maybe_unused]] BatchRequest const& request) {
#ifdef SOLDER_PERF_KOKKOS_KERNELS
  if (peer == "kokkos_kernels") return solve_batch_with_kokkos_kernels(problem, request);
#endif
  return {};
}

template <class T>
void time_peers(Group& group, Driver::System<T> const& batch, std::vector<std::string> const& peers,
                int threads) {
  Driver::RunConfig const& run = *group.run;
  for (std::string const& peer : peers) {
    std::string why_not = "does not run in this space, or has no batched solves for this scalar";
    if constexpr (std::is_floating_point_v<T>) {
      HostCsr<T> const& A = batch.matrix;
      BatchProblem<T> const systems{{A.rows, A.row_offsets, A.columns, A.values, batch.rhs},
                                    batch.starts};
      SolverOptions const& options = Driver::shared_options(run.solver);
      BatchRequest const request{run.solver.name,
                                 run.preconditioner.name,
                                 options.tolerance,
                                 options.max_iterations,
                                 repeats_of(group),
                                 !group.on_host,
                                 group.on_host ? threads : 0};
      try {
        auto const timings = solve_with(peer, systems, request);
        for (BatchTiming<T> const& timing : timings)
          group.add(peer, timing.variant, timing.seconds, worst_residual(batch, timing.solution),
                    timing.teams, timing.iterations);
        if (!timings.empty()) continue;
      } catch (std::exception const& error) {
        why_not = error.what();
      }
    }
    group.contest.add_absent(peer + ": " + why_not);
  }
}

double seconds_alone(Contest const& contest) {
  for (Contestant const& c : contest.contestants)
    if (c.is_solder() && c.how == alone) return c.seconds();
  return 0;
}

std::string title_of_batch(Driver::RunConfig const& run) {
  std::string const preconditioner =
      run.preconditioner.name == "none" ? "" : " with " + run.preconditioner.label;
  return title_of(run) + ", " + run.solver.name + preconditioner;
}

std::string heading() {
  return "gain: over solder one after another, of " + std::to_string(most_alone) +
         " systems at most, scaled to all;\nspeed: over that of the first line of another "
         "library\n" +
         format("  %-14s %-17s %-10s %9s %9s %6s %6s %4s %5s %8s\n", "who", "how", "teams", "ms",
                "us each", "gain", "speed", "most", "mean", "residual");
}

std::string lines(Group const& group) {
  Contest const& contest = group.contest;
  std::string text = contest.problem + ": " + counted(contest.size, "system") + " of " +
                     counted(contest.rows / contest.size, "row") + "; most and mean iterations\n";
  double const reference = contest.reference_seconds(), before = seconds_alone(contest);
  for (Contestant const& c : contest.contestants) {
    Remarks const& remarks = group.remarks.at({c.who, c.how});
    std::string const speed = reference > 0 ? format("%.2f", reference / c.seconds()) : "-";
    text +=
        format("  %-14s %-17s %-10s %9.2f %9.2f %6.1f %6s %4d %5.1f %8.1e\n", c.who.c_str(),
               c.how.c_str(), remarks.teams.empty() ? "-" : remarks.teams.c_str(),
               c.seconds() * 1e3, c.seconds() * 1e6 / double(contest.size), before / c.seconds(),
               speed.c_str(), remarks.most_iterations, remarks.mean_iterations, c.error);
  }
  for (std::string const& why : contest.absent) text += "  " + why + "\n";
  return text;
}

Json json_of(Group const& group) {
  Contest const& contest = group.contest;
  Json run{{"problem", contest.problem},
           {"systems", contest.size},
           {"rows", contest.rows},
           {"tolerance", Driver::shared_options(group.run->solver).tolerance},
           {"contestants", Json::array()},
           {"absent", contest.absent}};
  double const reference = contest.reference_seconds(), before = seconds_alone(contest);
  for (Contestant const& c : contest.contestants) {
    Remarks const& remarks = group.remarks.at({c.who, c.how});
    Json one{{"who", c.who},
             {"how", c.how},
             {"seconds", c.seconds()},
             {"seconds_each", c.samples},
             {"gain", before / c.seconds()},
             {"most_iterations", remarks.most_iterations},
             {"mean_iterations", remarks.mean_iterations},
             {"residual", c.error}};
    if (!remarks.teams.empty()) one["teams"] = remarks.teams;
    if (reference > 0) one["speed"] = reference / c.seconds();
    run["contestants"].push_back(std::move(one));
  }
  return run;
}

}  // namespace

void check_batches(std::string const& measure, Driver::FileConfig const& file,
                   Driver::Errors& errors) {
  for (Driver::RunConfig const& run : file.runs)
    if (measure == "batch" && run.problem.batch == 0)
      errors.add(run.where(run.matrix_key()),
                 "measure: batch needs problem.batch: how many systems");
    else if (measure != "batch" && run.problem.batch > 0)
      errors.add(run.where("problem.batch"), "problem.batch needs measure: batch, not ", measure);
}

Json time_batch_solves(Driver::FileConfig const& file, std::vector<std::string> const& peers,
                       Driver::SystemStore& store, Machine& machine) {
  auto const with_system = [](Group& group, auto const& f) {
    visit_built([&](auto const& system) { f(*system); }, group.system);
  };
  auto const ask_peers = [&](Group& group) {
    with_system(group, [&](auto const& system) {
      time_peers(group, system, peers, machine.at(group.run->execution.space).concurrency);
    });
  };
  std::vector<Group> groups;
  std::cout << heading();
  for (Driver::RunConfig const& run : file.runs) {
    Group& group = groups.emplace_back(Group{&run,
                                             store.get(run),
                                             Driver::on_host(run.execution.space),
                                             {title_of_batch(run), 0, run.problem.batch, 0, 0}});
    with_system(group, [&](auto const& system) { group.contest.rows = system.matrix.rows; });
    for (int round = 0; round < (group.on_host ? rounds : 1); ++round) {
      with_system(group, [&](auto const& system) { time_solder(group, system); });
      if (group.on_host) ask_peers(group);
    }
    if (group.on_host) std::cout << lines(group) << std::flush;
  }
  std::vector<Contest> contests;
  Json runs = Json::array();
  for (Group& group : groups) {
    if (!group.on_host) {
      ask_peers(group);
      std::cout << lines(group) << std::flush;
    }
    contests.push_back(group.contest);
    runs.push_back(json_of(group));
  }
  std::cout << ContestTable::means(contests);
  return contests_json(contests, std::move(runs));
}

}  // namespace Solder::Perf
