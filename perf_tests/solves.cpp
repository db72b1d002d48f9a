// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "solves.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <solder/kernels/shadow_space.hpp>
#include <type_traits>

#include "compare.hpp"
#include "measure.hpp"
#include "results.hpp"

namespace Solder::Perf {
namespace {

/// On hosts: how often Solder and the peers take turns, and how often where a turn takes longer.
constexpr int rounds = 9, fewer_rounds = 5;
constexpr double long_turn = 2;  // seconds

/// Asks one peer, or asks it again and adds its times to those it has.
template <class T>
void ask(PeerResult& peer, Row const& row, Driver::System<T> const& system, int repeats,
         int threads) {
  if (!peer.why_not.empty()) return;
  if (system.right_hand_sides() > 1 && peer.name != "vendor") {
    peer.why_not = "several right-hand sides";
    return;
  }
  std::vector<PeerTiming> timings;
  if constexpr (std::is_floating_point_v<T>) {
    PeerProblem<T> const problem{
        system.matrix.rows, system.matrix.row_offsets, system.matrix.columns, system.matrix.values,
        system.rhs,         system.right_hand_sides()};
    Driver::RunConfig const& config = *row.config;
    bool const host = Driver::on_host(config.execution.space);
    ShadowSpace<T> const shadow{config.solver.idr.seed};
    PeerRequest const request{config.solver.name,
                              cycle_of(config),
                              config.preconditioner.name,
                              row.solder.iterations,
                              repeats,
                              row.solder.check_iterations,
                              !host,
                              host ? threads : 0,
                              [shadow](std::int32_t i, int j) { return shadow.entry(i, j); }};
    try {
      timings = run_peer(peer.name, problem, request);
    } catch (std::exception const& error) {
      peer.why_not = error.what();
    }
  }
  if (peer.timings.empty())
    peer.timings = std::move(timings);
  else
    for (std::size_t v = 0; v < timings.size(); ++v)
      peer.timings[v].seconds.insert(peer.timings[v].seconds.end(), timings[v].seconds.begin(),
                                     timings[v].seconds.end());
  if (peer.timings.empty() && peer.why_not.empty())
    peer.why_not = "does not take this problem, solver or space";
}

/// A run without times.
template <class T>
Row make_row(Driver::RunConfig const& config, Driver::System<T> const& system,
             std::vector<std::string> const& peers, Machine& machine) {
  Row row{&config,
          system.matrix.rows,
          system.matrix.nonzeros(),
          sizeof(T),
          machine.at(config.execution.space).bandwidth,
          {},
          {}};
  for (std::string const& peer : peers) row.peers.push_back({peer, {}, {}});
  return row;
}

/// Everything about a run on a host.
template <class T>
void take_turns(Row& row, Driver::System<T> const& system, int threads) {
  TimedSolves<T> solves(*row.config, system);
  row.solder = solves.calibrate();
  int const repeats = (row.solder.repeats + rounds - 1) / rounds;
  int wanted = rounds;
  for (int round = 0; round < wanted; ++round) {
    auto const begin = Clock::now();
    solves.time_solves(row.solder, repeats);
    for (PeerResult& peer : row.peers) ask(peer, row, system, repeats, threads);
    if (seconds_between(begin, Clock::now()) > long_turn) wanted = fewer_rounds;
  }
  row.solder.repeats = static_cast<int>(row.solder.samples.size());
}

}  // namespace

nlohmann::ordered_json time_solves(Driver::FileConfig const& file,
                                   std::vector<std::string> const& peers,
                                   Driver::SystemStore& store, Machine& machine) {
  std::vector<Row> rows;
  std::vector<Driver::AnySystem> systems;
  auto const with_system = [&](std::size_t i, auto const& f) {
    visit_built([&](auto const& system) { f(*system); }, systems[i]);
  };
  auto const threads = [&](Row const& row) {
    return machine.at(row.config->execution.space).concurrency;
  };
  auto print = [&, any = false](Row const& row) mutable {
    std::cout << (any ? "" : heading(row)) << lines(row) << std::flush;
    any = true;
  };
  for (std::size_t i = 0; i < file.runs.size(); ++i) {
    systems.push_back(store.get(file.runs[i]));
    with_system(i, [&]<class T>(Driver::System<T> const& system) {
      Row& row = rows.emplace_back(make_row(file.runs[i], system, peers, machine));
      if (Driver::on_host(row.config->execution.space)) {
        take_turns(row, system, threads(row));
        print(row);
      } else {
        TimedSolves<T> solves(file.runs[i], system);
        row.solder = solves.calibrate();
        solves.time_solves(row.solder, row.solder.repeats);
      }
    });
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    if (Driver::on_host(row.config->execution.space)) continue;
    with_system(i, [&](auto const& system) {
      for (PeerResult& peer : row.peers) ask(peer, row, system, row.solder.repeats, threads(row));
    });
    print(row);
  }
  return results_json(rows);
}

}  // namespace Solder::Perf
