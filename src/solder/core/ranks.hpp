// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

namespace Solder {

/// \brief Processes (ranks) that solve a system together, each with its own rows.
///
/// A matrix has them, by its ranks(). All ranks make the same solver with the same options and call
/// it together: the same sums make the same decisions. No stage and no solver knows of them.
/// \ingroup ranks
class Ranks {
 public:
  virtual ~Ranks() = default;
  /// \brief The sums over all ranks, in place: the same bits on all of them.
  virtual void sum(double* values, std::int32_t count) const = 0;
  /// \brief Rows of all ranks.
  virtual std::int64_t rows() const = 0;
  /// \brief The rows of the ranks before this one.
  virtual std::int64_t first_row() const = 0;
  /// \brief How many ranks there are.
  virtual std::int32_t count() const = 0;
  /// \brief The number of this one among them, counted from 0.
  virtual std::int32_t number() const = 0;
};

namespace Impl {

/// \brief The ranks that share a matrix; null: this process alone.
template <class Matrix>
Ranks const* ranks_of(Matrix const& A) {
  if constexpr (requires { A.ranks(); })
    return A.ranks();
  else
    return nullptr;
}

/// \brief `mine` of each rank, by its number, on all ranks: as many numbers of each. One sum.
inline std::vector<std::vector<double>> of_each(Ranks const& ranks,
                                                std::vector<double> const& mine) {
  std::size_t const size = mine.size(), count = std::size_t(ranks.count());
  std::vector<double> all(size * count);
  std::copy(mine.begin(), mine.end(), all.begin() + std::ptrdiff_t(size) * ranks.number());
  ranks.sum(all.data(), static_cast<std::int32_t>(all.size()));
  std::vector<std::vector<double>> each;
  for (std::size_t k = 0; k < count; ++k)
    each.emplace_back(all.begin() + std::ptrdiff_t(k * size),
                      all.begin() + std::ptrdiff_t((k + 1) * size));
  return each;
}

/// \brief What ends a solve, or a set-up, of all ranks where one of them has thrown.
struct AnotherRankFailed : std::runtime_error {
  AnotherRankFailed()
      : std::runtime_error(
            "Solder: another rank has thrown an exception, which says what is wrong") {}
};

/// \brief Work that each rank does for itself before all go on together. One sum.
///
/// While this object lives a rank may throw; the others, which wait in reach(), then throw too.
/// Such objects may be nested on a thread: the outer ones need not report again what an inner one
/// has.
class AllOrNone {
 public:
  /// \param ranks null: this process alone
  explicit AllOrNone(Ranks const* ranks)
      : ranks_(ranks), around_(std::exchange(innermost_, this)) {}
  AllOrNone(AllOrNone const&) = delete;
  AllOrNone& operator=(AllOrNone const&) = delete;
  ~AllOrNone() {
    innermost_ = around_;
    if (ranks_ == nullptr) return;
    try {
      sum(1);
    } catch (...) {  // the exception that has led here is the one to be known
    }
  }
  /// \brief This rank can go on. \throws AnotherRankFailed where another one cannot
  void reach() {
    if (ranks_ != nullptr && sum(0) > 0) throw AnotherRankFailed();
  }

 private:
  double sum(double failed) {
    Ranks const* const ranks = std::exchange(ranks_, nullptr);
    ranks->sum(&failed, 1);
    if (failed > 0)
      for (AllOrNone* of = around_; of != nullptr; of = of->around_) of->ranks_ = nullptr;
    return failed;
  }

  static inline thread_local AllOrNone* innermost_ = nullptr;
  Ranks const* ranks_;  ///< null once there is nothing more to tell
  AllOrNone* around_;
};

/// \brief f(). If f throws on some ranks, these throw the same, and all others AnotherRankFailed.
/// One sum.
/// \param ranks null: f() alone
template <class F>
void together(Ranks const* ranks, F const& f) {
  AllOrNone agreement(ranks);
  f();
  agreement.reach();
}

/// \brief The sums that stages have left and no other rank knows yet.
///
/// Before the next stage that reads sums, all are added over the ranks in one call. The first part
/// of each then has the total and the others are 0, so that the stage gathers them as ever. An
/// error of a rank goes with the sums, so that all ranks end at the same place.
class LeftSums {
 public:
  /// \brief Notes `count` sums of so many parts; the first thread of a league calls this.
  void add(double* values, std::int32_t count, std::int32_t parts) {
    left_.push_back({values, count, parts});
  }
  /// \brief Keeps this rank's exception. The rank goes on until the next sum, where the others
  /// wait.
  void fail() {
    if (error_ == nullptr) error_ = std::current_exception();
  }
  /// \brief Asks all ranks to stop the solve: they know after the next sum.
  void ask_to_stop() { asks_to_stop_ = true; }
  bool is_to_stop() const { return is_to_stop_; }
  void clear() {
    left_.clear();
    error_ = nullptr;
    asks_to_stop_ = is_to_stop_ = false;
  }

  /// \brief One sum over all ranks, if there is something to sum. \throws what failed
  void sum_over(Ranks const& ranks) {
    if (left_.empty()) return;
    together_.assign({double(error_ != nullptr), double(asks_to_stop_)});
    for (Left const& of : left_)
      for (std::int32_t v = 0; v < of.count; ++v) {
        double sum = 0;
        for (std::int32_t p = 0; p < of.parts; ++p) sum += of.values[v * of.parts + p];
        together_.push_back(sum);
      }
    ranks.sum(together_.data(), static_cast<std::int32_t>(together_.size()));
    double const* next = together_.data();
    double const failed = *next++;
    is_to_stop_ = is_to_stop_ || *next > 0;
    ++next;
    for (Left const& of : left_)
      for (std::int32_t v = 0; v < of.count; ++v) {
        of.values[v * of.parts] = *next++;
        for (std::int32_t p = 1; p < of.parts; ++p) of.values[v * of.parts + p] = 0;
      }
    left_.clear();
    if (failed > 0) end();
  }
  /// \brief At the end of a solve: what has failed since the last sum. One sum.
  void agree(Ranks const& ranks) {
    double failed = error_ != nullptr;
    ranks.sum(&failed, 1);
    if (failed > 0) end();
  }

 private:
  struct Left {
    double* values;
    std::int32_t count, parts;
  };
  [[noreturn]] void end() {
    if (std::exception_ptr const error = std::exchange(error_, nullptr))
      std::rethrow_exception(error);
    throw AnotherRankFailed();
  }

  std::vector<Left> left_;
  std::vector<double> together_;
  std::exception_ptr error_;
  bool asks_to_stop_ = false, is_to_stop_ = false;
};

}  // namespace Impl
}  // namespace Solder
