// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <solder/core/errors.hpp>
#include <solder/problems/detail/split_mix.hpp>
#include <solder/problems/detail/stencil.hpp>
#include <solder/problems/stand_in_figures.hpp>

namespace Solder::Impl {

/// \brief Throws InputError for figures that no matrix can have.
inline void check_stand_in(StandInFigures const& figures) {
  auto const require = [](bool holds, std::string const& otherwise) {
    if (!holds) throw InputError("stand_in: " + otherwise);
  };
  require_at_least("stand_in", "size", figures.rows, 1);
  checked_rows("stand_in", {figures.rows});
  require_at_least("stand_in", "longest", figures.longest, 1);
  require(figures.longest <= figures.rows, "a row of " + std::to_string(figures.longest) +
                                               " entries does not fit a matrix of " +
                                               std::to_string(figures.rows) + " columns");
  require(figures.nonzeros >= figures.rows,
          "a mean row length below 1 would leave out diagonal entries");
  double const mean = static_cast<double>(figures.nonzeros) / static_cast<double>(figures.rows);
  auto const longest = static_cast<double>(figures.longest);
  require(mean <= longest, "the mean row length " + std::to_string(mean) +
                               " is larger than the longest row, " +
                               std::to_string(figures.longest));
  require(figures.deviation >= 0.0, "the deviation must not be negative");
  double const largest = std::sqrt((mean - 1.0) * (longest - mean));
  require(figures.deviation <= largest,
          "row lengths from 1 to " + std::to_string(figures.longest) + " with mean " +
              std::to_string(mean) + " have a deviation of at most " + std::to_string(largest) +
              ", not " + std::to_string(figures.deviation));
  require_at_least("stand_in", "half bandwidth", figures.half_bandwidth, 0);
  require(figures.near >= 0.0 && figures.near <= 1.0, "near must lie between 0 and 1");
  require_at_least("stand_in", "cluster", figures.cluster, 1);
  require_at_least("stand_in", "alike", figures.alike, 1);
}

/// \brief The shares of the row lengths 1 to longest, with the requested mean and deviation: the
/// distribution of largest entropy in the length or, if the longest row is far above the others, in
/// its logarithm. That is a normal or log-normal distribution cut off at both ends.
class LengthDistribution {
 public:
  LengthDistribution(double mean, double deviation, std::int64_t longest)
      : mean_(mean), variance_(deviation * deviation) {
    bool const long_tail = static_cast<double>(longest) - mean > 8.0 * deviation;
    double const unit = std::max(deviation, 0.5);
    for (std::int64_t length = 1;; length += 1 + length / 256) {  // long lengths are thinned out
      length = std::min(length, longest);
      lengths_.push_back(length);
      auto const x = static_cast<double>(length);
      places_.push_back(long_tail ? std::log(x) : (x - mean) / unit);
      if (length == longest) break;
    }
    // The weights are exp(a t + b t^2): b determines the variance, a the mean.
    double const b = snapped(bisect(-5000.0, 5000.0, [&](double trial) {
      weigh(slope(trial), trial);
      return variance_of_weights() < variance_;
    }));
    weigh(snapped(slope(b)), b);
  }

  /// \brief n lengths in ascending order, by rounding the cumulative distribution.
  std::vector<std::int32_t> sample(std::int64_t n) const {
    double total = 0.0, sum = 0.0;
    for (double const weight : weights_) total += weight;
    std::vector<std::int32_t> sample;
    sample.reserve(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < lengths_.size(); ++k) {
      sum += weights_[k];
      auto const end = std::min(static_cast<double>(n), sum / total * static_cast<double>(n) + 0.5);
      sample.resize(std::max(sample.size(), static_cast<std::size_t>(end)),
                    static_cast<std::int32_t>(lengths_[k]));
    }
    sample.resize(static_cast<std::size_t>(n), static_cast<std::int32_t>(lengths_.back()));
    return sample;
  }

 private:
  /// The x at which below(x) changes from true to false.
  template <class Below>
  static double bisect(double low, double high, Below const& below) {
    for (int step = 0; step < 60; ++step) {
      double const middle = 0.5 * (low + high);
      (below(middle) ? low : high) = middle;
    }
    return 0.5 * (low + high);
  }
  /// Rounds to fewer digits, because the last ones depend on the platform's exponential function.
  static double snapped(double x) { return std::round(x * 0x1p20) * 0x1p-20; }

  /// The a that gives the mean at this b.
  double slope(double b) {
    double const bound = 200.0 + 2.0 * std::abs(b) * (places_.back() - places_.front() + 1.0);
    return bisect(-bound, bound, [&](double trial) {
      weigh(trial, b);
      return mean_of_weights() < mean_;
    });
  }
  void weigh(double a, double b) {
    weights_.resize(places_.size());
    auto const exponent = [&](std::size_t k) { return (a + b * places_[k]) * places_[k]; };
    double largest = exponent(0);
    for (std::size_t k = 1; k < places_.size(); ++k) largest = std::max(largest, exponent(k));
    for (std::size_t k = 0; k < places_.size(); ++k) {
      auto const lengths_meant = static_cast<double>(k == 0 ? 1 : lengths_[k] - lengths_[k - 1]);
      weights_[k] = lengths_meant * std::exp(exponent(k) - largest);
    }
  }
  double mean_of_weights() const { return moment(0.0, 1); }
  double variance_of_weights() const { return moment(mean_, 2); }
  double moment(double centre, int power) const {
    double sum = 0.0, total = 0.0;
    for (std::size_t k = 0; k < lengths_.size(); ++k) {
      double const x = static_cast<double>(lengths_[k]) - centre;
      sum += weights_[k] * (power == 1 ? x : x * x);
      total += weights_[k];
    }
    return sum / total;
  }

  double mean_, variance_;
  std::vector<std::int64_t> lengths_;
  std::vector<double> places_, weights_;
};

/// \brief The length of each row. The total is `nonzeros`, and one row has the length `longest`.
/// Groups of `alike` rows have about the same length; the groups are in random order.
inline std::vector<std::int32_t> stand_in_lengths(StandInFigures const& figures, SplitMix& random) {
  std::int64_t const n = figures.rows;
  double const mean = static_cast<double>(figures.nonzeros) / static_cast<double>(n);
  auto sorted = LengthDistribution(mean, figures.deviation, figures.longest).sample(n);
  if (sorted.back() < figures.longest) {  // stretching the longest row adds to mean and variance
    auto const longest = static_cast<double>(figures.longest), drawn = double(sorted.back());
    double const more = (longest - drawn) / double(n);
    double const variance =
        figures.deviation * figures.deviation - more * (longest + drawn - 2.0 * mean);
    sorted = LengthDistribution(mean - more, std::sqrt(std::max(0.0, variance)), figures.longest)
                 .sample(n);
    sorted.back() = static_cast<std::int32_t>(figures.longest);
  }
  std::int64_t missing = figures.nonzeros;
  for (auto const length : sorted) missing -= length;
  // Adds or removes one entry in evenly spread rows, then in all rows.
  for (std::int64_t stride = std::max<std::int64_t>(1, n / (std::abs(missing) + 1)); missing != 0;
       stride = 1) {
    std::int64_t const before = missing;
    for (std::int64_t i = stride - 1; i < n - 1 && missing != 0; i += stride) {
      if (missing > 0 && sorted[i] < figures.longest) {
        ++sorted[i];
        --missing;
      } else if (missing < 0 && sorted[i] > 1) {
        --sorted[i];
        ++missing;
      }
    }
    if (missing == before && stride == 1) {
      throw InputError("stand_in: rows of 1 to " + std::to_string(figures.longest) +
                       " entries, one of them the longest, cannot have " +
                       std::to_string(figures.nonzeros) + " nonzeros together");
    }
  }
  std::int64_t const groups = (n + figures.alike - 1) / figures.alike;
  std::vector<std::int32_t> order(static_cast<std::size_t>(groups));
  for (std::int64_t g = 0; g < groups; ++g) order[g] = static_cast<std::int32_t>(g);
  for (std::int64_t g = groups - 1; g > 0; --g) std::swap(order[g], order[random.below(g + 1)]);
  std::vector<std::int32_t> lengths;
  lengths.reserve(sorted.size());
  for (std::int64_t const group : order) {
    auto const begin = sorted.begin() + group * figures.alike;
    lengths.insert(lengths.end(), begin, sorted.begin() + std::min(n, (group + 1) * figures.alike));
  }
  return lengths;
}

}  // namespace Solder::Impl
