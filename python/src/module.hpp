// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What the parts of the module share.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "arrays.hpp"

namespace Solder::Python {

/// \brief A report, and what its user should know beside.
struct PyReport {
  Report report;
  std::string solver;  ///< "Solder::Cg"
  Copies copies;
};

/// \brief Whoever has memory of Kokkos, which is freed before Kokkos ends.
class Alive {
 public:
  Alive();
  virtual ~Alive();
  Alive(Alive const&) = delete;
  /// \brief Frees it all. Answers false where it is in use.
  virtual bool free() = 0;
  static bool free_all();
};

/// \brief One thread at a time, which has given up Python's lock; the others wait, and a thread
/// that comes back from within is told so.
class Turns {
 public:
  class Turn {
   public:
    Turn(Turns& turns, char const* who);
    ~Turn();
    Turn(Turn const&) = delete;

   private:
    Turns& turns_;
  };
  bool is_taken() const { return owner_ != std::thread::id(); }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
};

/// \brief What a solve under way has to do with Python: the user's callback, Ctrl-C, and what they
/// have raised. Called without Python's lock.
class Conversation {
 public:
  /// \param callback lives until end(); null: there is none
  void begin(nb::object const* callback);
  void hear(Progress const& progress);
  /// \brief Keeps what a function of the user has raised, with Python's lock.
  void keep(nb::python_error&& error) { error_.emplace(std::move(error)); }
  /// \brief Hands over what was raised.
  void end(std::optional<nb::python_error>& error);

 private:
  using Clock = std::chrono::steady_clock;
  nb::object const* callback_ = nullptr;
  Clock::time_point looked_;
  std::optional<nb::python_error> error_;
};

/// \brief z = M r by a Preconditioner of this module, an object that has `matvec`, or a callable.
/// What a call raises is kept in `conversation`, and ends the solve.
/// \param M lives as long as the function
Function function_of(nb::handle M, Scalar scalar, std::shared_ptr<Conversation> conversation);

/// \brief Where a solve has not converged: raises if `check`, else warns; neither where it is none.
/// \param result, x what the solve answers
void judge(nb::list const& reports, nb::handle result, nb::handle x,
           std::optional<bool> check);

void add_report(nb::module_& m);
void add_solver(nb::module_& m);
void add_preconditioner(nb::module_& m);
void add_timing(nb::module_& m);

}  // namespace Solder::Python
