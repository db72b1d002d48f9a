// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <solder/core/ranks.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace Solder::Driver {

/// \brief The processes (ranks) that carry out the runs together, of which this is one. Started by
/// mpirun they are MPI's; otherwise this one is alone.
///
/// The first one reads files and writes results. What is one rank's own goes through together(), so
/// that its failure is that of all.
class World {
 public:
  virtual ~World() = default;

  int ranks() const { return ranks_; }
  int rank() const { return rank_; }
  /// \brief Ranks on this machine, which share its memory.
  int ranks_here() const { return ranks_here_; }
  bool is_first() const { return rank_ == 0; }
  bool is_alone() const { return ranks_ == 1; }
  /// \brief For what they agree on; null: this one is alone.
  virtual Ranks const* all() const { return nullptr; }

  /// \brief f(); where it throws on one rank, all throw.
  template <class F>
  void together(F const& f) const {
    Solder::Impl::together(all(), f);
  }
  /// \brief f() on the first rank; where it throws, all throw.
  template <class F>
  void first_alone(F const& f) const {
    together([&] {
      if (is_first()) f();
    });
  }
  /// \brief A number of each rank, on all of them.
  std::vector<double> each(double mine) const;
  /// \brief The same of a whole number.
  std::vector<std::int64_t> each_count(std::int64_t mine) const;
  /// \brief Whether it holds on any rank.
  bool any(bool holds) const;
  /// \brief The first rank's text, on all of them.
  std::string text_of_first(std::string const& text) const;

  /// \brief Bytes of a rank, to all.
  virtual void broadcast(void*, std::size_t, int) const {}
  /// \brief Bytes to another rank, which calls receive().
  virtual void send(void const*, std::size_t, int) const {}
  virtual void receive(void*, std::size_t, int) const {}

  /// \brief The message of an exception that ends all ranks: of the first rank that has a reason of
  /// its own, and not AnotherRankFailed. Ends the program where not all ranks come here.
  std::string what_of_all(std::exception const& error) const;
  /// \brief Of errors in the input: those of the first rank that has any. All come here.
  std::vector<std::string> messages_of_all(std::vector<std::string> const& mine) const;
  /// \brief Where a rank cannot go on and the others may not know: says why, and ends all.
  [[noreturn]] virtual void abort(std::string_view why) const;

 protected:
  int ranks_ = 1, rank_ = 0, ranks_here_ = 1;

 private:
  /// The first rank for which it holds, as soon as all have come here; ranks() if for none.
  /// \param may_miss some: minus one then, after some seconds
  virtual int first_with(bool holds, bool /*may_miss*/) const { return holds ? 0 : 1; }
  std::vector<std::string> messages_of_first(std::vector<std::string> const& mine, int first) const;
};

/// \brief The world of this process.
World const& world();

/// \brief Whether a launcher such as mpirun has started this process, as its environment says.
bool is_launched();

/// \brief Joins the others, if this process was launched; destroyed at the end of main. Other ranks
/// than the first are silent from then on.
class WorldGuard {
 public:
  WorldGuard(int* argc, char*** argv);
  ~WorldGuard();
  WorldGuard(WorldGuard const&) = delete;
  WorldGuard& operator=(WorldGuard const&) = delete;
};

}  // namespace Solder::Driver
