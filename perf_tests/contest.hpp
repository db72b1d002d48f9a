// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "driver/config.hpp"
#include "peers/product.hpp"

namespace Solder::Perf {

/// \brief One way to do what is measured, on one problem.
struct Contestant {
  std::string who, how;
  std::vector<double> samples;  ///< seconds
  double error;                 ///< the largest, relative to the sum of the absolute terms
  std::vector<double> analysis{}, update{};  ///< seconds before the first, of what needs them

  double seconds() const { return median(samples); }
  bool is_solder() const { return who == "solder"; }
};

/// \brief All ways on one problem, Solder's first.
struct Contest {
  std::string problem;
  std::int64_t rows;
  std::int64_t size;      ///< nonzeros of the matrix, or columns of the basis
  double bytes;           ///< that any of them must move
  double copy_bandwidth;  ///< of the space
  std::vector<Contestant> contestants{};
  std::vector<std::string> absent{};  ///< why a peer gave nothing

  /// \brief Adds samples to a contestant, who may be new.
  Contestant& add(std::string const& who, std::string const& how,
                  std::vector<double> const& samples, double error);
  void add_absent(std::string const& why);
  /// \brief The time of the first peer's first variant, or 0 where none ran.
  double reference_seconds() const;
};

/// \brief The run's problem, with what is not as usual.
std::string title_of(Driver::RunConfig const& run);

/// \brief The geometric means of contests, and their runs.
nlohmann::ordered_json contests_json(std::vector<Contest> const& contests,
                                     nlohmann::ordered_json runs);

/// \brief The table of one measurement and what sums it up.
class ContestTable {
 public:
  /// \param size_name what Contest::size counts
  explicit ContestTable(std::string size_name) : size_name_(std::move(size_name)) {}

  std::string heading(double copy_bandwidth) const;
  /// \brief A line for each contestant; the speed is relative to the first peer's first variant.
  std::string lines(Contest const& contest) const;
  /// \brief The geometric mean over all problems, and the least, of a peer's time over Solder's:
  /// each of Solder's ways with each of a peer's and with its best.
  static std::string means(std::vector<Contest> const& contests);
  /// \brief All that, as JSON: see contests_json.
  nlohmann::ordered_json json(std::vector<Contest> const& contests) const;

 private:
  std::string size_name_;
};

}  // namespace Solder::Perf
