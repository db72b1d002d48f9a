// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <driver/check.hpp>
#include <driver/config.hpp>
#include <driver/counts.hpp>
#include <driver/document.hpp>
#include <driver/footprint.hpp>
#include <driver/methods.hpp>
#include <driver/problem.hpp>
#include <driver/schema.hpp>

#include <cmath>
#include <random>
#include <set>

#include "target.hpp"

/// \brief A mutation: as often as not a section, key, value or mark of YAML is put somewhere.
inline std::size_t mutate_with_schema(std::uint8_t* data, std::size_t size, std::size_t most,
                                      unsigned seed) {
  static auto const words = [] {
    std::set<std::string_view> all = {": ",    "\n", ", ", "[",     "]",     "{",         "}",
                                      "---\n", "=",  ".",  "A.mtx", "b.mtx", "points.mtx"};
    for (Solder::Driver::Key const& key : Solder::Driver::schema()) {
      all.insert({key.section, key.name, key.default_value});
      all.insert(key.words.begin(), key.words.end());
    }
    return std::vector<std::string_view>(all.begin(), all.end());
  }();
  std::minstd_rand random(seed);
  std::string_view const word = words[random() % words.size()];
  if (random() % 2 == 0 || size + word.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::uint8_t* const place = data + random() % (size + 1);
  std::copy_backward(place, data + size, data + size + word.size());
  std::copy(word.begin(), word.end(), place);
  return size + word.size();
}

/// \brief Writes the files that inputs may name: a matrix, a right-hand side, and points in the
/// plane.
inline bool write_named_files() {
  folder().write("A.mtx",
                 "%%MatrixMarket matrix coordinate real symmetric\n4 4 7\n"
                 "1 1 2\n2 2 2\n3 3 2\n4 4 2\n2 1 -1\n3 2 -1\n4 3 -1\n");
  folder().write("b.mtx", "%%MatrixMarket matrix array real general\n4 1\n1\n2\n3\n4\n");
  folder().write("points.mtx", "%%MatrixMarket matrix array real general\n2 2\n0\n1\n0\n1\n");
  return true;
}

/// \brief So many combinations of values are read; more take their time.
constexpr double most_combinations = 100;

inline double combinations(std::vector<Solder::Driver::Entry> const& entries) {
  double count = 1;
  for (auto const& entry : entries) count *= double(std::max<std::size_t>(entry.values.size(), 1));
  return count;
}

/// \brief Whether a problem can be checked at little cost, and reads no other file.
inline bool is_small(Solder::Driver::RunConfig const& run) {
  auto const& problem = run.problem;
  for (auto const& path : {problem.matrix, problem.rhs_file, problem.coordinates})
    if (!path.empty() && path != folder().path("A.mtx") && path != folder().path("b.mtx") &&
        path != folder().path("points.mtx"))
      return false;
  if (!run.is_clear_section("problem.")) return true;  // its files are looked at, and no more
  auto const counts = Solder::Driver::promised_counts(problem);
  return counts.rows <= 1000 && counts.nonzeros <= 10000 && counts.right_hand_sides <= 10;
}

/// \brief Checks some of the runs that are small; where nothing is wrong, their systems are right.
inline void check_small(std::vector<Solder::Driver::FileConfig> const& files,
                        Solder::Driver::Errors& errors) {
  using namespace Solder::Driver;
  std::vector<FileConfig> small;
  std::size_t count = 0;
  for (FileConfig const& file : files) {
    small.push_back({file.file, {}});
    for (RunConfig const& run : file.runs)
      if (count < 4 && is_small(run) && ++count > 0) small.back().runs.push_back(run);
  }
  SystemStore store;
  check_runs(small, store, errors);
  if (!errors.empty()) return;
  for (FileConfig const& file : small)
    for (RunConfig const& run : file.runs)
      std::visit(
          [&](auto const& system) {
            system->matrix.validate();
            claim(system->matrix.rows > 0 && system->right_hand_sides() > 0, "a system has rows");
            claim(system->rhs.size() % system->matrix.rows == 0, "a right-hand side fits");
          },
          store.get(run));
}

/// \brief Claims what holds of runs that were accepted.
inline void claim_runs(std::vector<Solder::Driver::FileConfig> const& files) {
  using namespace Solder::Driver;
  for (FileConfig const& file : files) {
    claim(!file.runs.empty(), "a file that is accepted has runs");
    for (RunConfig const& run : file.runs) {
      claim(run.unclear.empty(), "a run that is accepted is clear");
      Solder::SolverOptions const& options = shared_options(run.solver);
      claim(options.tolerance >= 0 && options.tolerance <= 1, "a tolerance is from 0 to 1");
      claim(options.max_iterations > 0 && run.execution.repeat > 0, "counts are positive");
      for (Share const& share : footprint(run, {1000, 5000, 1}, false))
        claim(std::isfinite(share.bytes) && share.bytes >= 0, "memory is a size", share.what);
    }
  }
}
