// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <new>
#include <set>
#include <solder/core/errors.hpp>
#include <stdexcept>

#include "memory.hpp"
#include "schema.hpp"
#include "solve.hpp"

namespace Solder::Driver {
namespace {

namespace fs = std::filesystem;

/// The same text for all names of a file, whether it exists or not.
std::string identity(fs::path const& path) {
  std::error_code code;
  fs::path const canonical = fs::weakly_canonical(fs::absolute(path, code), code);
  return (code ? path : canonical).string();
}

void check_space(RunConfig const& run, Errors& errors) {
  auto const names = space_names();
  if (std::find(names.begin(), names.end(), run.execution.space) == names.end())
    errors.add(run.where("execution.space"), "execution.space '", run.execution.space,
               "' is not in this build, which has ", join(names, " and "));
}

/// Why a file cannot be written there; empty if it can.
std::string why_not_writable(fs::path const& path) {
  std::error_code code;
  fs::path const folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  if (!fs::exists(folder, code)) return "its folder does not exist";
  if (!fs::is_directory(folder, code)) return concat("'", folder.string(), "' is not a folder");
  if (path.filename().empty() || fs::is_directory(path, code)) return "it is a folder";
  if (access(folder.c_str(), W_OK | X_OK) != 0) return "its folder is not writable";
  // While it is written a file has a suffix of up to 19 characters.
  if (path.filename().native().size() > 255 - 19) return "its name is longer than 236 characters";
  if (!fs::exists(path, code)) return {};
  return access(path.c_str(), W_OK) == 0 ? "" : "it is write-protected";
}

void check_outputs(std::vector<FileConfig> const& files, Errors& errors) {
  std::map<std::string, std::string> taken;  // identity -> by what
  for (FileConfig const& file : files) {
    taken.emplace(identity(file.file), concat("the input file ", file.file.string()));
    for (RunConfig const& run : file.runs) {
      if (!run.problem.matrix.empty())
        taken.emplace(identity(run.problem.matrix),
                      concat("the matrix of ", run.where("problem.matrix")));
      if (!run.problem.rhs_file.empty())
        taken.emplace(identity(run.problem.rhs_file),
                      concat("the right-hand side of ", run.where("problem.rhs")));
    }
  }
  auto const check = [&](fs::path const& path, RunConfig const& run, std::string const& key) {
    std::error_code code;
    if (path.empty()) return;
    std::string const what = concat(key, " '", path.string(), "'");
    if (std::string const why = why_not_writable(path); !why.empty())
      errors.add(run.where(key), what, " cannot be written: ", why);
    if (fs::exists(path, code) && !fs::is_regular_file(path, code)) return;  // a device or a pipe
    auto const [place, is_new] = taken.emplace(identity(path), concat(key, " of ", run.where(key)));
    if (!is_new) errors.add(run.where(key), what, " would overwrite ", place->second);
  };
  for (FileConfig const& file : files) {
    if (!file.runs.empty()) check(file.runs[0].output.json, file.runs[0], "output.json");
    for (RunConfig const& run : file.runs) {
      check(run.output.solution, run, "output.solution");
      check(run.output.history, run, "output.history");
    }
  }
}

/// What a solve on a host space needs beside the system: a second copy of it and work vectors.
template <class T>
void check_memory(RunConfig const& run, System<T> const& system, Errors& errors) {
  constexpr double work_vectors = 10;
  double const needed =
      double(system.bytes()) + work_vectors * double(system.rhs.size() * sizeof(T));
  double const available = double(available_memory());
  if (on_host(run.execution.space) && needed > available)
    errors.add(run.where(run.matrix_key()), run.problem.name, " needs ", memory_text(needed),
               " more memory to be solved; ", memory_text(available), " is available");
}

void check_problem(RunConfig const& run, SystemStore& store, Errors& errors) {
  auto const report_memory = [&] {
    errors.add(run.where(run.matrix_key()), run.problem.name,
               " does not fit in memory: ", memory_text(double(available_memory())), " available");
  };
  AllocationLimit const limit;
  try {
    std::visit([&](auto const& system) { check_memory(run, *system, errors); }, store.get(run));
  } catch (InputError const& error) {
    errors.add("", error.what());
  } catch (std::bad_alloc const&) {
    report_memory();
  } catch (std::length_error const&) {  // more than any vector can hold
    report_memory();
  }
}

}  // namespace

void check_runs(std::vector<FileConfig> const& files, SystemStore& store, Errors& errors) {
  for (FileConfig const& file : files)
    for (RunConfig const& run : file.runs) check_space(run, errors);
  check_outputs(files, errors);
  std::vector<RunConfig const*> checked;
  for (FileConfig const& file : files)
    for (RunConfig const& run : file.runs) {
      auto const same = [&](RunConfig const* other) { return other->problem == run.problem; };
      if (std::any_of(checked.begin(), checked.end(), same)) continue;
      checked.push_back(&run);
      check_problem(run, store, errors);
    }
}

}  // namespace Solder::Driver
