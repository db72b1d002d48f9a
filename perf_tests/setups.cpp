// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "setups.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "compiled/preconditioners.hpp"
#include "measure.hpp"
#include "text.hpp"

namespace Solder::Perf {
namespace {

using Json = nlohmann::ordered_json;

/// Bytes that Kokkos holds in a memory space beyond those at construction, and their peak. One at a
/// time.
class PeakMemory {
 public:
  explicit PeakMemory(std::string const& space)
      : before_(Kokkos::Tools::Experimental::get_callbacks()) {
    now_ = peak_ = 0;
    space_ = space;
    using Handle = Kokkos::Tools::SpaceHandle;
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Handle where, char const*, void const*, std::uint64_t bytes) {
          if (where.name == space_)
            peak_ = std::max(peak_, now_ += static_cast<std::int64_t>(bytes));
        });
    Kokkos::Tools::Experimental::set_deallocate_data_callback(
        [](Handle where, char const*, void const*, std::uint64_t bytes) {
          if (where.name == space_) now_ -= static_cast<std::int64_t>(bytes);
        });
  }
  ~PeakMemory() { Kokkos::Tools::Experimental::set_callbacks(before_); }
  PeakMemory(PeakMemory const&) = delete;
  PeakMemory& operator=(PeakMemory const&) = delete;

  std::int64_t bytes() const { return peak_; }

 private:
  inline static std::int64_t now_, peak_;
  inline static std::string space_;
  Kokkos::Tools::Experimental::EventSet before_;
};

/// What one run's set-up took.
struct Setup {
  SetupReport report;           ///< phases: medians
  std::int64_t peak_bytes = 0;  ///< A included
  std::int64_t bytes_of_A = 0, bytes_of_G = 0;
  double refresh = 0;  ///< seconds, with the same values: the median from the second one on

  double seconds() const {
    double sum = 0;
    for (auto const& phase : report.phases) sum += phase.seconds;
    return sum;
  }
  double memory_ratio() const { return double(peak_bytes) / double(bytes_of_A + bytes_of_G); }
};

template <class Matrix>
std::int64_t bytes_of(Matrix const& A) {
  return static_cast<std::int64_t>(A.words() * sizeof(typename Matrix::scalar_type));
}

template <class Exec, class Matrix, class M>
double measure_refresh(Exec const& exec, Matrix const& A, M& made) {
  std::vector<double> seconds;
  for (int repeat = 0; repeat < 6; ++repeat) {
    A.values_changed();
    exec.fence("Solder::perf: before a refresh");
    Kokkos::Timer const timer;
    made.refresh(exec, A);
    exec.fence("Solder::perf: refreshed");
    if (repeat > 0) seconds.push_back(timer.seconds());
  }
  return median(seconds);
}

template <class Exec, class T, class Make>
Setup measure(Exec const& exec, Driver::System<T> const& system, Make const& make) {
  constexpr int repeats = 5;
  Setup setup;
  std::map<std::string, std::vector<double>> seconds;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    PeakMemory const memory(Exec::memory_space::name());
    CsrMatrix<T, Exec> const A(exec, system.matrix);
    auto M = make(exec, A);
    exec.fence("Solder::perf: set up");
    setup.report = M.setup();
    setup.peak_bytes = memory.bytes();
    setup.bytes_of_A = bytes_of(A);
    setup.bytes_of_G = bytes_of(M.G());
    for (auto const& [name, time] : M.setup().phases) seconds[name].push_back(time);
    if (repeat + 1 == repeats) setup.refresh = measure_refresh(exec, A, M);
  }
  for (auto& [name, time] : setup.report.phases) time = median(seconds[name]);
  return setup;
}

template <class T>
Setup measure(Driver::RunConfig const& config, Driver::System<T> const& system) {
  Setup setup;
  Driver::with_space(config.execution.space, [&]<class Exec>(Exec const& exec) {
    using Make = Compiled::Make<T, Exec>;
    auto const same = [&](Exec const& e, CsrMatrix<T, Exec> const& A) {
      return Make::fsai(e, A, config.preconditioner.fsai);
    };
    auto const single = [&](Exec const& e, CsrMatrix<T, Exec> const& A) {
      return Make::single_fsai(e, A, config.preconditioner.fsai);
    };
    setup = config.preconditioner.precision == "single" ? measure(exec, system, single)
                                                        : measure(exec, system, same);
  });
  return setup;
}

Json json_of(Driver::RunConfig const& config, std::int64_t rows, Setup const& setup,
             double iteration) {
  Json phases = Json::object();
  for (auto const& [name, seconds] : setup.report.phases) phases[name] = seconds;
  return {{"problem", config.problem.name},
          {"rows", rows},
          {"preconditioner", config.preconditioner.label},
          {"phase_seconds", phases},
          {"seconds", setup.seconds()},
          {"refresh_seconds", setup.refresh},
          {"seconds_per_iteration", iteration},
          {"density", setup.report.density},
          {"repaired_rows", setup.report.repaired_rows},
          {"peak_bytes", setup.peak_bytes},
          {"bytes_of_A", setup.bytes_of_A},
          {"bytes_of_G", setup.bytes_of_G}};
}

std::string lines(Driver::RunConfig const& config, std::int64_t rows, Setup const& setup,
                  double iteration) {
  std::string text = format(
      "%s, %lld rows, %s: set-up %.2f ms = %.1f iterations of %.1f us, density %.3f, %lld rows "
      "repaired\n ",
      config.problem.name.c_str(), static_cast<long long>(rows),
      config.preconditioner.label.c_str(), setup.seconds() * 1e3, setup.seconds() / iteration,
      iteration * 1e6, setup.report.density, static_cast<long long>(setup.report.repaired_rows));
  for (auto const& [name, seconds] : setup.report.phases)
    text += format(" %s %.2f ms (%.0f%%)", name.c_str(), seconds * 1e3,
                   100 * seconds / setup.seconds());
  text += format("\n  refresh with the same values: %.2f ms = %.2f of the set-up",
                 setup.refresh * 1e3, setup.refresh / setup.seconds());
  text += format("\n  memory: A %.1f MB, G %.1f MB, peak with A %.1f MB = %.2f (A + G)\n",
                 double(setup.bytes_of_A) * 1e-6, double(setup.bytes_of_G) * 1e-6,
                 double(setup.peak_bytes) * 1e-6, setup.memory_ratio());
  return Driver::narrowed(text, Driver::most_columns);
}

}  // namespace

Json time_setups(Driver::FileConfig const& file, Driver::SystemStore& store, Machine& machine) {
  Json runs = Json::array();
  for (Driver::RunConfig const& config : file.runs) {
    if (config.preconditioner.name != "fsai") {
      std::cout << config.problem.name << ", " << config.preconditioner.label
                << ": measure: setup is for fsai\n";
      continue;
    }
    visit_built(
        [&]<class T>(std::shared_ptr<Driver::System<T> const> const& system) {
          Setup const setup = measure(config, *system);
          TimedSolves<T> solves(config, *system);
          Measurement solve = solves.calibrate();
          solves.time_solves(solve, solve.repeats);
          double const iteration = solve.seconds_per_iteration();
          std::int64_t const rows = system->matrix.rows;
          std::cout << lines(config, rows, setup, iteration) << std::flush;
          runs.push_back(json_of(config, rows, setup, iteration));
        },
        store.get(config));
  }
  return {{"copy_bandwidth_gb_s", machine.at(file.runs[0].execution.space).bandwidth.copy * 1e-9},
          {"runs", std::move(runs)}};
}

}  // namespace Solder::Perf
