// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What the candidates of `name: auto` cost, in seconds: the model that they are judged by.

#include <algorithm>
#include <array>
#include <cmath>
#include <solder/core/plan.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace Solder::Compiled {

/// What a kind of machine takes, in seconds.
struct Rates {
  double entry;    ///< to multiply with an entry of A
  double word;     ///< to read or write an entry of a vector
  double stage;    ///< of an iteration's stage where there is nothing to do: launches and barriers
  double level;    ///< for a triangular solve's next level, its rows waiting for each other
  double step;     ///< of a set-up: a kernel and, on a GPU, the wait for what it has counted
  double element;  ///< of a set-up, for each entry of A that it goes through once
  double element_alone;  ///< the same where one thread of a host does it all
};

// Hosts, a thread: the rates and the tables of costs are fitted to set-ups and iterations on 98
// matrices (perf_tests/auto/sweep.py), within a factor of two or three for nine of ten. GPUs:
// the rates of an H100, by the tables of docs/performance; steps and levels by 3,100 solves of 185
// matrices on an H200, within a factor of three for nine of ten, and of eight with fill.
constexpr Rates host_rates{.entry = 0.5e-9,
                           .word = 0.36e-9,
                           .stage = 0.3e-6,
                           .level = 0,
                           .step = 0.3e-6,
                           .element = 0.62e-9,
                           .element_alone = 0.62e-9};
constexpr Rates gpu_rates{.entry = 5e-12,
                          .word = 3.2e-12,
                          .stage = 2.4e-6,
                          .level = 2e-6,
                          .step = 10e-6,
                          .element = 5e-12,
                          .element_alone = host_rates.element_alone};
/// A stage of several threads of a host, which meet at its end.
constexpr double host_barrier = 3e-6;

inline Rates rates_of(Machine const& machine) {
  if (!machine.is_host) return gpu_rates;
  Rates rates = host_rates;
  if (machine.multiprocessors < 2) return rates;
  double const speed = 0.85 * machine.multiprocessors;
  rates.entry /= speed;
  rates.word /= speed;
  rates.element /= speed;
  rates.stage = rates.step = host_barrier;
  return rates;
}

/// An iteration of a solver: products with A, as many applications of M, words a row beside those
/// of the products, stages.
struct SolverCost {
  std::string_view name;
  double products, words, stages;
};
constexpr std::array solver_costs{SolverCost{"cg", 1, 5, 2}, SolverCost{"bicgstab", 2, 8, 4},
                                  SolverCost{"gmres", 1, 23, 3}, SolverCost{"idr", 1, 17, 3}};

/// What a preconditioner costs. An application: entries for each one of A (with fill: of the
/// factors), words a row, stages, and levels for each entry of a row, as a share of the root of the
/// number of rows, or as such. The set-up: steps, also for each entry of a row, and elements for
/// each entry of A, at least elements_by_row times the entries of a row.
struct PreconditionerCost {
  std::string_view name;
  double entries, words, stages, levels, steps, elements, elements_by_row = 0;
  /// Whether all threads of a machine share the elements: not those of factors, and on a host
  /// hardly those of multigrid.
  bool is_shared_on_host = false, is_shared_on_gpu = false;
  double levels_by_row = 0, steps_by_row = 0;
};
// clang-format off
constexpr std::array preconditioner_costs{
    PreconditionerCost{"none", 0, 0, 0, 0, 0, 0},
    PreconditionerCost{"jacobi", 0, 0, 0, 0, 8, 3, 0, true, true},
    PreconditionerCost{"fsai", 3, 0, 2, 0, 100, 390, 0, true, true},
    PreconditionerCost{"ic0", 1.5, 9, 2, 0.13, 100, 95, 3.5},
    PreconditionerCost{"ilu0", 1.5, 9, 2, 0.13, 100, 70, 3},
    PreconditionerCost{"chebyshev", 4.2, 27, 6, 0, 50, 30, 0, true, true},
    PreconditionerCost{"amg", 1, 70, 8, 0, 200, 190, 0, false, true},
    PreconditionerCost{"ict", 1.2, 14, 2, 0.13, 300, 115},
    PreconditionerCost{"ilut", 1.2, 14, 2, 0.13, 300, 200},
    PreconditionerCost{"ick", 1.2, 14, 2, 0.13, 300, 200},
    PreconditionerCost{"iluk", 1.2, 14, 2, 0.13, 300, 200}};
/// Those that cost something else on a GPU: fsai, by 25 real matrices on an H200, within a factor of
/// two; and, ordered by colours, ic0 and ilu0, by 69 with ic0, within a factor of two for nine of ten.
constexpr std::string_view by_colours = "by colours";
constexpr std::array costs_on_gpus{
    PreconditionerCost{"fsai", 3, 0, 3, 0, 110, 390, 25, false, true},
    PreconditionerCost{by_colours, 1.5, 9, 2, 0, 150, 100, 0, false, true, 0.6, 12}};
// clang-format on
/// Iterations by colours, in those of natural order.
constexpr double iterations_of_coloured_ic0 = 1.32, iterations_of_coloured_ilu0 = 1.7;

/// The line of a name, or null.
template <class Costs>
auto const* line_of(Costs const& costs, std::string_view name) {
  auto const found =
      std::find_if(costs.begin(), costs.end(), [&](auto const& cost) { return cost.name == name; });
  return found == costs.end() ? nullptr : &*found;
}
template <class Costs>
auto const& cost_of(Costs const& costs, std::string_view name) {
  if (auto const* const line = line_of(costs, name)) return *line;
  throw std::logic_error("Solder: nothing says what " + std::string(name) + " costs");
}
inline PreconditionerCost const& cost_on(Machine const& machine, std::string_view name) {
  auto const* const line = machine.is_host ? nullptr : line_of(costs_on_gpus, name);
  return line == nullptr ? cost_of(preconditioner_costs, name) : *line;
}

/// Entries of complete factors for each of A's, in an order that reduces fill: a guess between a
/// mesh in the plane, n log n, and one in space, n^(4/3).
inline double complete_fill(double n) { return std::clamp(std::sqrt(n) / 10, 2.0, 50.0); }

/// Elements (see PreconditionerCost) that a complete factor takes for each entry and product: by
/// set-ups of 60 matrices, within a factor of two for nine of ten.
constexpr double elements_of_entry = 140, elements_of_product = 0.37;
/// To count these, for each row of A and for each entry: by 275 matrices, within a factor of four
/// for nine of ten.
constexpr double elements_of_counted_row = 400, elements_of_counted = 48;

/// An ilut of the same matrix computes both factors, row by row.
constexpr double costs_of_ilut = 6;

}  // namespace Solder::Compiled
