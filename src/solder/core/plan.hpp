// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Who runs a solve, and how: a pure function of the machine, the shape of the system and
/// what A, M and the method can do. All measured constants of these choices are here.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <solder/core/kokkos_ext.hpp>
#include <solder/core/report.hpp>
#include <solder/core/team.hpp>

namespace Solder {

/// \brief What a plan asks of a device.
struct Machine {
  bool is_host = true;
  std::int32_t multiprocessors = 1;  ///< of a GPU; the threads of a host space
  std::int32_t cores = 1;            ///< hardware threads of a host; of GPUs not read
  std::int32_t resident_teams = 1;   ///< teams of league_threads that a GPU holds at once
  bool is_measured = false;          ///< a GPU of the kind that the constants were measured on
  bool has_progress = true;          ///< running teams make progress: a barrier of all can work

  /// \brief Whether a barrier of all teams is quick, as far as one can know.
  bool can_meet() const {
    if (!is_host) return is_measured && has_progress;
    return multiprocessors > 1 && multiprocessors <= cores;
  }
};

template <class Exec>
Machine machine_of(Exec const& exec) {
  static auto const cores =  // the system reads a file: 20 us
      static_cast<std::int32_t>(std::thread::hardware_concurrency());
  return {.is_host = Impl::is_host_space<Exec>,
          .multiprocessors = Impl::multiprocessors(exec),
          .cores = cores,
          .resident_teams = Impl::resident_league(exec),
          .is_measured = Impl::is_measured(exec),
          .has_progress = Impl::has_progress<Exec>};
}

/// \brief The size of a system.
struct Shape {
  std::int64_t rows = 0;
  std::int64_t nonzeros = 0;
  std::int64_t items = 0;  ///< GPU threads that A has work for: rows, times lanes that share one
  std::int64_t threads_to_hold = 0;  ///< threads that hold all rows in their registers; 0: none do
  double words = 0;                  ///< of A, and of one application of M
};

/// \brief The kernels of a whole solve that are compiled for a method, its form, A and M.
struct WholeKernels {
  bool of_team = true;    ///< of one team
  bool of_league = true;  ///< of as many teams as the device holds

  constexpr bool has(Runner runner) const {
    if (runner == Runner::team) return of_team;
    return runner != Runner::resident || of_league;
  }
};

inline constexpr WholeKernels no_whole_kernels{.of_team = false, .of_league = false};

/// \brief What a method, A and M can do.
struct Traits {
  bool on_device = true;    ///< no part of an iteration is the host's
  WholeKernels kernels{};   ///< of the whole solve: which there are
  bool has_cycles = false;  ///< as GMRES and IDR(s)
  bool pointwise = true;    ///< M has no kernels of its own
  bool split = false;       ///< M = F^H F
  bool owns = false;        ///< some vectors may stay on chip: see Owned
  bool merges = false;      ///< the form has a program of fewer stages for rows held in registers
  bool together = false;    ///< A, M and the method take several right-hand sides at once
  bool concurrent = false;  ///< right-hand sides may be solved side by side
  bool is_block = false;    ///< the method is for blocks of right-hand sides alone
};

/// \brief How one system is solved.
struct Plan {
  Runner runner = Runner::launch;
  std::int32_t teams = 0;  ///< of a kernel of the whole solve; 0: there is no such kernel
  std::int32_t threads = Impl::league_threads;  ///< of each of its teams, on GPUs
  bool on_chip = false;        ///< owned vectors stay on chip between two residual checks
  bool merges_stages = false;  ///< by the program of fewer stages
  std::string because = {};    ///< why this runner, in a sentence
};

/// \brief Columns of several right-hand sides that are solved at once. They lie in rows of `stride`
/// entries, of which those beyond `width` are zero; or one after another, stride = width.
struct ColumnGroup {
  std::int32_t first, width, stride;
  bool concurrent = false;  ///< side by side, each column a solve of its own
};

namespace Impl {

/// \brief The measured constants. The work of an iteration is nonzeros + 4 rows. On hosts the
/// limits of resident are those of each thread: what launch takes to wake them grows with their
/// number.
struct PlanConstants {
  // "Crossover of the runners" in docs/performance/runners.md.
  std::int64_t most_work_of_team;      ///< up to which one team beats a league
  std::int64_t most_work_of_resident;  ///< up to which one kernel beats a graph of kernels
  // "Vectors on chip".
  std::int64_t most_work_on_chip;     ///< the same with vectors on chip
  std::int64_t least_rows_on_chip;    ///< of each multiprocessor: L2 holds what fewer would save
  std::int64_t most_entries_on_chip;  ///< of a row, on average: longer rows save too little
  // "A whole solve in one kernel".
  std::int64_t most_work_of_cycles;  ///< of a method with cycles, M being pointwise
  // "Many right-hand sides".
  std::int64_t most_entries_of_columns;  ///< of all columns, up to which one kernel beats a graph
  std::int64_t most_entries_in_memory;   ///< the same where its programs lie in memory
  std::int64_t many_entries_of_columns;  ///< from which vector stages have twice the threads
  double most_words_side_by_side;        ///< of A and M, all columns, that the nearest cache serves
  double most_words_of_few_stages;       ///< the same with a pointwise or split M
  double entries_side_by_side;           ///< of all columns that keep a GPU busy
};

inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

inline constexpr PlanConstants constants_of_hosts{.most_work_of_team = 6'000,
                                                  .most_work_of_resident = 500'000,
                                                  .most_work_on_chip = 0,
                                                  .least_rows_on_chip = unlimited,
                                                  .most_entries_on_chip = 0,
                                                  .most_work_of_cycles = 500'000,
                                                  .most_entries_of_columns = 0,
                                                  .most_entries_in_memory = 0,
                                                  .many_entries_of_columns = unlimited,
                                                  .most_words_side_by_side = 0,
                                                  .most_words_of_few_stages = 0,
                                                  .entries_side_by_side = 0};

/// \brief H100 and H200. Other GPUs take them too, but no kernel whose teams meet.
inline constexpr PlanConstants constants_of_hopper{.most_work_of_team = 16'000,
                                                   .most_work_of_resident = 6'000'000,
                                                   .most_work_on_chip = 24'000'000,
                                                   .least_rows_on_chip = 2'700,
                                                   .most_entries_on_chip = 16,
                                                   .most_work_of_cycles = 20'000'000,
                                                   .most_entries_of_columns = 1'200'000,
                                                   .most_entries_in_memory = 400'000,
                                                   .many_entries_of_columns = 12'000'000,
                                                   .most_words_side_by_side = 1e7,
                                                   .most_words_of_few_stages = 2.25e6,
                                                   .entries_side_by_side = 2e6};

constexpr PlanConstants const& constants_of(Machine const& machine) {
  return machine.is_host ? constants_of_hosts : constants_of_hopper;
}

/// \brief What an iteration of 1, 2, 4, ... columns of a large system takes on a GPU, relative to
/// one column ("Many right-hand sides"). Other widths leave lanes of a warp idle, and take more
/// than the sum of two of these.
inline constexpr double pack_costs[] = {1, 1.35, 2, 3.2, 5.6, 10.8};

/// \brief The most right-hand sides of so many rows that are solved together; 1: none are. The
/// number of an entry is an int32; the operand of a multigrid level is nearly two vectors long, and
/// GPUs take an even number of columns.
inline std::int32_t columns_at_once(double rows) {
  double const most = 2 * std::floor(most_rows / 4 / std::max(rows, 1.0));
  return most < 4 ? 1 : static_cast<std::int32_t>(std::min<double>(most, most_columns));
}

/// \brief The most right-hand sides of so many rows that a GPU solves side by side where it cannot
/// solve them together: as many as keep it busy, since more only take more memory.
inline std::int32_t columns_side_by_side(double rows) {
  return static_cast<std::int32_t>(std::clamp<double>(
      constants_of_hopper.entries_side_by_side / std::max(rows, 1.0), 1, most_columns));
}

/// \brief Whether so many threads hold all rows of A in their registers.
inline bool hold_rows(Shape const& shape, std::int64_t threads) {
  return shape.threads_to_hold > 0 && shape.threads_to_hold <= threads;
}

/// \brief The league of a kernel of the whole solve by plan.runner: one team; or as many as have
/// work and are sure to be on the device together. That is one for each multiprocessor, more where
/// vectors stay on chip, and all threads of a host.
///
/// \param sharing solves that share the device
inline void plan_league(Plan& plan, Machine const& machine, Shape const& shape,
                        Traits const& traits, std::int32_t sharing) {
  PlanConstants const& constants = constants_of(machine);
  if (plan.runner == Runner::team) {
    bool const widens =
        traits.merges && hold_rows(shape, team_threads) && !hold_rows(shape, league_threads);
    std::int64_t const items = widens ? team_threads : shape.rows;
    plan.teams = 1;
    while (plan.threads < team_threads && plan.threads < items) plan.threads *= 2;
  } else if (plan.runner == Runner::resident) {
    std::int64_t const most = std::max(2, machine.multiprocessors / sharing);
    if (machine.is_host) {
      plan.teams = machine.multiprocessors;
    } else if (traits.owns && sharing == 1 && machine.is_measured &&
               shape.items >= most * constants.least_rows_on_chip) {
      plan.on_chip = true;
      plan.teams = machine.resident_teams;
    } else {
      if (shape.items > most * plan.threads) plan.threads = team_threads;
      plan.teams = static_cast<std::int32_t>(
          std::clamp<std::int64_t>((shape.items + plan.threads - 1) / plan.threads, 2, most));
    }
  }
  plan.merges_stages = traits.merges && plan.teams > 0 && !plan.on_chip &&
                       hold_rows(shape, std::int64_t(plan.teams) * plan.threads);
}

}  // namespace Impl

/// \brief How a system is solved.
///
/// \param wanted automatic, or the runner that was asked for
/// \param sharing solves that share the device: see ColumnGroup::concurrent
inline Plan plan_solve(Machine const& machine, Shape const& shape, Traits const& traits,
                       Runner wanted, std::int32_t sharing = 1) {
  Impl::PlanConstants const& constants = Impl::constants_of(machine);
  std::int64_t const work = shape.nonzeros + 4 * shape.rows;
  bool const chip = traits.owns && !machine.is_host &&
                    shape.rows >= machine.multiprocessors * constants.least_rows_on_chip &&
                    shape.nonzeros <= constants.most_entries_on_chip * shape.rows;
  std::int64_t const of_one = chip ? constants.most_work_on_chip
                              : traits.has_cycles && traits.pointwise
                                  ? constants.most_work_of_cycles
                                  : constants.most_work_of_resident;
  std::int64_t const most = machine.is_host ? of_one * machine.multiprocessors : of_one;
  Runner const many_kernels = machine.is_host ? Runner::launch : Runner::graph;
  auto const of_work = [&](char const* what, std::int64_t limit) {
    return std::to_string(shape.nonzeros) + " nonzeros + 4 x " + std::to_string(shape.rows) +
           " rows make " + std::to_string(work) + ": up to " + std::to_string(limit) + " " + what;
  };
  Plan plan;
  auto const choose = [&](Runner runner, std::string because) {
    plan.runner = runner;
    plan.because = std::move(because);
  };
  char const* const no_kernel =
      "no such kernel of the whole solve is compiled for this form and preconditioner";
  bool const meets = machine.can_meet() && traits.kernels.of_league;
  if (wanted != Runner::automatic)
    traits.kernels.has(wanted) || !traits.on_device ? choose(wanted, "it was asked for")
                                                    : choose(many_kernels, no_kernel);
  else if (!traits.on_device)
    choose(Runner::launch, "the host takes part in every iteration");
  else if (traits.merges && Impl::hold_rows(shape, Impl::team_threads))
    choose(Runner::team, "the threads of one team hold a row each, which saves stages");
  else if (traits.merges && meets &&
           Impl::hold_rows(shape,
                           machine.multiprocessors / sharing * std::int64_t(Impl::team_threads)))
    choose(Runner::resident, "the threads of the device hold a row each, which saves stages");
  else if (work <= constants.most_work_of_team && traits.kernels.of_team)
    choose(Runner::team, of_work("one team is the fastest", constants.most_work_of_team));
  else if (work <= most && meets)
    choose(Runner::resident, of_work("one kernel is the fastest", most));
  else if (work > most)
    choose(many_kernels, of_work("one kernel would be the fastest", most));
  else if (!traits.kernels.of_league)
    choose(many_kernels, no_kernel);
  else
    choose(many_kernels, machine.is_host
                             ? "a barrier pays only with at least two threads and a core for each"
                             : "barriers of all teams have not been measured on this GPU");
  Impl::plan_league(plan, machine, shape, traits, sharing);
  return plan;
}

/// \brief What runs the right-hand sides that are solved together.
///
/// \param entries of a vector of all columns
/// \param has_kernel whether there is a kernel of the whole solve for these programs
/// \param carried whether its launch takes them along; else they lie in memory
inline Plan plan_columns(Machine const& machine, std::int64_t entries, Runner wanted,
                         bool has_kernel, bool carried) {
  Impl::PlanConstants const& constants = Impl::constants_of(machine);
  if (machine.is_host)
    return {.runner = Runner::launch, .because = "hosts solve several columns together by launch"};
  if (wanted == Runner::launch) return {.runner = wanted, .because = "it was asked for"};
  if (wanted == Runner::graph) return {.runner = wanted, .because = "it was asked for"};
  if (!has_kernel || !machine.has_progress)
    return {.runner = Runner::graph, .because = "there is no kernel of the whole solve"};
  if (wanted != Runner::automatic)
    return {.runner = Runner::resident, .because = "it was asked for"};
  std::int64_t const most =
      carried ? constants.most_entries_of_columns : constants.most_entries_in_memory;
  std::string const of_entries = "all columns have " + std::to_string(entries) +
                                 " entries: up to " + std::to_string(most) +
                                 " one kernel is the fastest";
  if (entries > most) return {.runner = Runner::graph, .because = of_entries};
  if (!machine.can_meet())
    return {.runner = Runner::graph,
            .because = "barriers of all teams have not been measured on this GPU"};
  return {.runner = Runner::resident, .because = of_entries};
}

namespace Impl {

/// \brief The widths of the groups of `count` columns that take the least time by pack_costs, with
/// at most `most` columns in a group, the widest first. A group whose width is between two of
/// pack_costs is filled up with columns of zeros.
inline std::vector<std::int32_t> quickest_groups(std::int32_t count, std::int32_t most) {
  std::vector<double> cost{0};
  std::vector<std::int32_t> taken{0};
  for (std::int32_t c = 1; c <= count; ++c) {
    cost.push_back(std::numeric_limits<double>::infinity());
    taken.push_back(0);
    std::int32_t width = 1;
    for (double const of_pack : pack_costs) {
      if (width > most) break;
      double const sum = of_pack + cost[std::max(0, c - width)];
      if (sum < cost[c]) {
        cost[c] = sum;
        taken[c] = std::min(width, c);
      }
      width *= 2;
    }
  }
  std::vector<std::int32_t> widths;
  for (std::int32_t left = count; left > 0; left -= taken[left]) widths.push_back(taken[left]);
  std::sort(widths.begin(), widths.end(), std::greater<>());
  return widths;
}

/// \brief The widths of the fewest groups of `count` columns that have at most `most` each, nearly
/// equal.
inline std::vector<std::int32_t> equal_groups(std::int32_t count, std::int32_t most) {
  std::int32_t const groups = (count + most - 1) / most;
  auto const bound = [&](std::int32_t k) {
    return static_cast<std::int32_t>(std::int64_t(count) * k / groups);
  };
  std::vector<std::int32_t> widths;
  for (std::int32_t g = 0; g < groups; ++g) widths.push_back(bound(g + 1) - bound(g));
  return widths;
}

/// \brief How many of `count` columns a GPU solves side by side, at most; 0: they are solved
/// together, or one after another.
inline std::int32_t plan_side_by_side(Machine const& machine, Shape const& shape,
                                      Traits const& traits, Runner wanted, std::int32_t count) {
  PlanConstants const& constants = constants_of(machine);
  if (!traits.concurrent) return 0;
  if (!traits.together) return std::min(count, columns_side_by_side(double(shape.rows)));
  if (count < 2 || wanted != Runner::automatic || !machine.can_meet()) return 0;
  // Small systems: their solves consist mostly of waits, which they share, and the nearest cache
  // serves their reads of A and M.
  std::int32_t const most = std::min(count, most_columns);
  if (traits.merges) {  // as many turns as beat one turn with a stage more
    std::int32_t const turns = traits.pointwise ? 2 : 1;
    std::int32_t merged = most;
    while (merged > 0 &&
           !hold_rows(shape, machine.multiprocessors / merged * std::int64_t(team_threads)))
      --merged;
    if (turns * merged >= most) return merged;
  }
  // An iteration of few stages waits less, and comes to the limits of that cache earlier.
  double const most_words = traits.pointwise || traits.split ? constants.most_words_of_few_stages
                                                             : constants.most_words_side_by_side;
  return most * shape.words <= most_words ? most : 0;
}

}  // namespace Impl

/// \brief The groups in which `count` right-hand sides are solved, one group after another.
inline std::vector<ColumnGroup> plan_groups(Machine const& machine, Shape const& shape,
                                            Traits const& traits, Runner wanted,
                                            std::int32_t count) {
  using namespace Impl;
  std::vector<ColumnGroup> groups;
  if (count == 0) return groups;
  std::int32_t first = 0;
  if (auto const most = plan_side_by_side(machine, shape, traits, wanted, count); most > 0) {
    std::int32_t const some = (count + most - 1) / most, width = (count + some - 1) / some;
    for (; first < count; first += width) {
      std::int32_t const here = std::min(width, count - first);
      groups.push_back({first, here, here, true});
    }
    return groups;
  }
  bool const is_alone = !machine.is_host && count == 1 && !traits.is_block;
  std::int32_t const most =
      !traits.together || is_alone ? 1 : columns_at_once(static_cast<double>(shape.rows));
  bool const in_packs = most > 1 && !traits.is_block && !machine.is_host &&
                        count * shape.rows > constants_of(machine).most_entries_of_columns;
  for (std::int32_t const width :
       in_packs ? quickest_groups(count, most) : equal_groups(count, most)) {
    std::int32_t stride = width;
    if (in_packs)
      stride = static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(width)));
    else if (!machine.is_host && (most > 1 || traits.is_block))
      stride = width + width % 2;  // GPUs take an even number of columns
    else if (traits.is_block)
      stride = std::max(width, 2);  // a block has two at least
    groups.push_back({first, width, stride});
    first += width;
  }
  return groups;
}

}  // namespace Solder
