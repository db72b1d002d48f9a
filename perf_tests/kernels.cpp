// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "measure.hpp"
#include "text.hpp"

namespace Solder::Perf {
namespace {

using Json = nlohmann::ordered_json;

/// Times every parallel_for between construction and stop(), from a fence before it to a fence
/// after it. One at a time.
class KernelClock {
 public:
  struct Kernel {
    int launches = 0;
    double seconds = 0;
  };
  using Kernels = std::map<std::string, Kernel>;

  KernelClock() : before_(Kokkos::Tools::Experimental::get_callbacks()) {
    kernels_.clear();
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(
        [](char const* label, std::uint32_t, std::uint64_t*) {
          label_ = label;
          began_ = now();
        });
    Kokkos::Tools::Experimental::set_end_parallel_for_callback([](std::uint64_t) {
      double const seconds = now() - began_;
      Kernel& kernel = kernels_[label_];
      ++kernel.launches;
      kernel.seconds += seconds;
    });
  }
  ~KernelClock() { stop(); }
  KernelClock(KernelClock const&) = delete;
  KernelClock& operator=(KernelClock const&) = delete;

  Kernels stop() {
    Kokkos::Tools::Experimental::set_callbacks(before_);
    return kernels_;
  }

 private:
  static double now() {
    Kokkos::fence("Solder::Perf: a kernel is timed");
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  inline static Kernels kernels_;
  inline static std::string label_;
  inline static double began_;
  Kokkos::Tools::Experimental::EventSet before_;
};

struct Nothing {
  KOKKOS_FUNCTION void operator()(int) const {}
};

/// What a kernel that does nothing takes by this clock.
double seconds_of_nothing(std::string const& space) {
  constexpr int many = 200;
  double seconds = 0;
  Driver::with_space(space, [&]<class Exec>(Exec const& exec) {
    std::vector<double> each;
    for (int k = 0; k < many; ++k) {
      KernelClock clock;
      Kokkos::parallel_for("nothing", Kokkos::RangePolicy<Exec>(exec, 0, 1), Nothing());
      each.push_back(clock.stop().at("nothing").seconds);
    }
    seconds = median(each);
  });
  return seconds;
}

/// A kernel's share in an iteration.
struct Share {
  std::string label;
  double launches, seconds;
};

/// The kernels of a run's iteration, the longest first, and the iteration as it is without a clock.
struct Iteration {
  std::vector<Share> shares;
  double seconds;
  std::int64_t rows;
  int iterations;

  double of_kernels() const {
    double sum = 0;
    for (Share const& share : shares) sum += share.seconds;
    return sum;
  }
};

template <class T>
Iteration measure(Driver::RunConfig config, Driver::System<T> const& system) {
  constexpr int solves = 5;
  config.execution.runner = "launch";
  double const nothing = seconds_of_nothing(config.execution.space);
  TimedSolves<T> timed(config, system);
  Measurement whole = timed.calibrate();
  timed.time_solves(whole, whole.repeats);
  // What a solve of twice the iterations adds: neither the set-up nor the first and last residual.
  auto const clocked = [&](int iterations) {
    Measurement once = whole;
    once.iterations = iterations;
    KernelClock clock;
    timed.time_solves(once, 1);
    return clock.stop();
  };
  int const iterations = whole.iterations;
  std::map<std::string, std::vector<double>> seconds;
  std::map<std::string, int> launches;
  for (int k = 0; k < solves; ++k) {
    auto const once = clocked(iterations), twice = clocked(2 * iterations);
    for (auto const& [label, of_two] : twice) {
      auto const found = once.find(label);
      auto const of_one = found == once.end() ? KernelClock::Kernel{} : found->second;
      launches[label] = of_two.launches - of_one.launches;
      seconds[label].push_back(of_two.seconds - of_one.seconds - launches[label] * nothing);
    }
  }
  Iteration result{{}, whole.seconds_per_iteration(), system.matrix.rows, iterations};
  for (auto const& [label, times] : seconds)
    if (launches[label] > 0)
      result.shares.push_back(
          {label, double(launches[label]) / iterations, std::max(0.0, median(times)) / iterations});
  std::sort(result.shares.begin(), result.shares.end(),
            [](Share const& a, Share const& b) { return a.seconds > b.seconds; });
  return result;
}

std::string title(Driver::RunConfig const& config) {
  std::string const s = config.solver.name == "idr"
                            ? format(", s = %d", config.solver.idr.shadow_dimension)
                            : std::string();
  return config.problem.name + ", " + config.solver.name + s + ", " + config.preconditioner.label;
}

std::string lines(Driver::RunConfig const& config, Iteration const& iteration) {
  std::string text = format("%s, %lld rows: %.2f us of an iteration in kernels, %.2f in a solve\n",
                            title(config).c_str(), static_cast<long long>(iteration.rows),
                            iteration.of_kernels() * 1e6, iteration.seconds * 1e6);
  for (Share const& share : iteration.shares)
    text +=
        format("  %-40s %9.2f launches %10.2f us %6.1f%%\n", share.label.c_str(), share.launches,
               share.seconds * 1e6, 100 * share.seconds / iteration.of_kernels());
  return text;
}

Json json_of(Driver::RunConfig const& config, Iteration const& iteration) {
  Json kernels = Json::array();
  for (Share const& share : iteration.shares)
    kernels.push_back({{"label", share.label},
                       {"launches_per_iteration", share.launches},
                       {"seconds_per_iteration", share.seconds}});
  return {
      {"problem", config.problem.name},
      {"rows", iteration.rows},
      {"solver", config.solver.name},
      {"shadow_dimension", config.solver.name == "idr" ? config.solver.idr.shadow_dimension : 0},
      {"preconditioner", config.preconditioner.label},
      {"iterations", iteration.iterations},
      {"seconds_per_iteration", iteration.seconds},
      {"seconds_in_kernels", iteration.of_kernels()},
      {"kernels", std::move(kernels)}};
}

}  // namespace

void check_kernels(Driver::FileConfig const& file, Driver::Errors& errors) {
  for (Driver::RunConfig const& run : file.runs)
    if (run.execution.runner != "auto" && run.execution.runner != "launch")
      errors.add(run.where("execution.runner"), "measure: kernels times the runner launch, not ",
                 run.execution.runner);
}

Json time_kernels(Driver::FileConfig const& file, Driver::SystemStore& store, Machine& machine) {
  Json runs = Json::array();
  for (Driver::RunConfig const& config : file.runs)
    visit_built(
        [&](auto const& system) {
          Iteration const iteration = measure(config, *system);
          std::cout << lines(config, iteration) << std::flush;
          runs.push_back(json_of(config, iteration));
        },
        store.get(config));
  return {{"copy_bandwidth_gb_s", machine.at(file.runs[0].execution.space).bandwidth.copy * 1e-9},
          {"runs", std::move(runs)}};
}

}  // namespace Solder::Perf
