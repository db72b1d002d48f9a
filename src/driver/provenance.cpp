// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CMakeLists.txt defines SOLDER_COMMIT, which may be empty, and SOLDER_COMPILER.
#include "provenance.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <solder/version.hpp>
#include <thread>

#include "errors.hpp"
#include "solve.hpp"
#include "spaces.hpp"

namespace Solder::Driver {
namespace {

std::string date_now() {
  std::time_t const now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  char text[32];
  gmtime_r(&now, &parts);
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

Json or_null(std::string const& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json or_null(int count) { return count > 0 ? Json(count) : Json(nullptr); }

}  // namespace

Provenance provenance_here(std::vector<std::string> const& command) {
  Provenance here;
  here.device = device_name();
  here.date = date_now();
  here.cpu = cpu_name();
  here.cores = static_cast<int>(std::thread::hardware_concurrency());
  if (on_host("default")) here.threads = Kokkos::DefaultExecutionSpace().concurrency();
  double load[3];
  if (int const known = getloadavg(load, 3); known > 0) here.load.assign(load, load + known);
  here.command = command;
  if (!command.empty()) {
    std::filesystem::path const called = command[0];
    here.command[0] = concat(called.has_parent_path() ? "./" : "", called.filename().string());
  }
  return here;
}

Provenance provenance_of(Provenance here, FileConfig const& file) {
  here.file = file.file.filename().string();
  here.yaml = file.text;
  if (!file.runs.empty() && file.runs[0].output.host) here.host = host_name();
  return here;
}

Json provenance_json(Provenance const& provenance) {
  std::vector<std::string> spaces;
  for (std::string_view const name : space_names())
    if (name != "default") spaces.emplace_back(name);
  return {{"solder", version()},
          {"commit", or_null(SOLDER_COMMIT)},
          {"compiler", SOLDER_COMPILER},
          {"kokkos", kokkos_version()},
          {"spaces", spaces},
          {"device", provenance.device},
          {"machine",
           {{"cpu", or_null(provenance.cpu)},
            {"cores", or_null(provenance.cores)},
            {"threads", or_null(provenance.threads)},
            {"load_average", provenance.load},
            {"host", or_null(provenance.host)}}},
          {"date", or_null(provenance.date)},
          {"command", provenance.command},
          {"file", or_null(provenance.file)},
          {"yaml", or_null(provenance.yaml)}};
}

}  // namespace Solder::Driver
