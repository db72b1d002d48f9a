// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <solder/core/allocate.hpp>
#include <solder/core/arena.hpp>
#include <solder/core/runners/column_engine.hpp>
#include <solder/solvers/detail/use_programs.hpp>

namespace Solder::Impl {

/// \brief Two values in each other's place, as long as it lives.
template <class T>
class Exchanged {
 public:
  Exchanged(T& one, T& other) : one_(one), other_(other) { std::swap(one_, other_); }
  ~Exchanged() { std::swap(one_, other_); }
  Exchanged(Exchanged const&) = delete;
  Exchanged& operator=(Exchanged const&) = delete;

 private:
  T &one_, &other_;
};

/// \brief Solves of several columns, of which those that go on when most have ended are solved by
/// themselves: ended ones cost nothing then.
///
/// When half of them have ended a narrower solve is handed all that is known of the others (their
/// vectors, sums, kept scalars, control blocks and histories) and goes on with the next iteration,
/// so that each column has the iterations it would have alone. It costs two passes over these, and
/// the first time a workspace of its own, at most as large as the wide one.
template <class Exec, class Scalar>
class Narrowing {
  using Columns = ColumnEngine<Exec>;
  using Listener = typename Columns::Listener;

 public:
  explicit Narrowing(Exec const& exec) : exec_(exec) {}

  /// \brief Runs a solve that has begun to its end.
  /// \tparam Narrows whether the columns are independent
  /// \param programs put together in the arena; see use_programs
  template <bool Narrows, class Programs>
  void run(Arena<Exec>& arena, Columns& engine, Scalar const* b, Scalar* x,
           Programs const& programs, Listener const& listener) {
    run_from<Narrows>(arena, engine, b, x, programs, listener, [] {});
  }

 private:
  struct Narrower {
    Narrower(Exec const& exec, std::int64_t rows, std::int32_t columns, Runner runner, int league)
        : arena(exec, 0, columns, league),
          engine(exec, "Solder::columns", rows, columns, runner, arena.teams(1)),
          b(allocate<Scalar>(exec, "Solder::columns", rows * columns)),
          x(allocate<Scalar>(exec, "Solder::columns", rows * columns)) {}

    Arena<Exec> arena;
    Columns engine;
    DeviceArray<Scalar, Exec> b, x;
  };

  /// \param prepare() is called when the programs have been put together for the first time
  template <bool Narrows, class Programs>
  void run_from(Arena<Exec>& arena, Columns& engine, Scalar const* b, Scalar* x,
                Programs const& programs, Listener const& listener,
                std::function<void()> const& prepare) {
    bool prepared = false;
    auto const run = [&](bool may_leave) {
      arena.rewind();
      use_programs<Exec>(programs, b, x, [&](auto const& judgement, auto const& iteration) {
        if (!std::exchange(prepared, true)) prepare();
        engine.run(judgement, iteration, listener, may_leave);
      });
    };
    run(Narrows);
    if constexpr (Narrows)
      if (!engine.all_finished() && !run_narrower(arena, engine, b, x, programs, listener))
        run(false);
  }

  /// \brief Answers whether there was memory for it.
  template <class Programs>
  bool run_narrower(Arena<Exec>& arena, Columns& wide, Scalar const* b, Scalar* x,
                    Programs const& programs, Listener const& listener) {
    ChosenColumns const chosen = wide.rest();
    std::int32_t const going_on = wide.active();
    std::int64_t const rows = wide.rows();
    auto& made = narrower_[chosen.narrow];
    bool begun = false;
    try {
      if (made == nullptr)
        made = std::make_unique<Narrower>(exec_, rows, chosen.narrow, wide.ran(), arena.teams(1));
      auto const begin = [&] {
        begun = true;
        hand_on(made->arena, arena, chosen);
        copy_columns(exec_, piece(b, rows), made->b.data(), chosen, chosen.narrow);
        copy_columns(exec_, piece(x, rows), made->x.data(), chosen, chosen.narrow);
        made->engine.take(wide, chosen);
      };
      auto const told = [&](Columns const& engine) {
        engine.tell(wide, chosen);
        listener(wide);
      };
      Exchanged const arenas(arena, made->arena);  // programs are put together in this one
      run_from<true>(arena, made->engine, made->b.data(), made->x.data(), programs,
                     listener ? Listener(told) : Listener(), begin);
    } catch (std::exception const&) {
      if (begun) throw;
      narrower_.erase(chosen.narrow);
      return false;
    }
    made->engine.give_back(wide, chosen);
    copy_columns<true>(exec_, piece(made->x.data(), rows), x, chosen, going_on);
    return true;
  }

  void hand_on(Arena<Exec> const& wide, Arena<Exec> const& narrow, ChosenColumns const& chosen) {
    auto const &from = wide.pieces(), &to = narrow.pieces();
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (k == to.size() || from[k].count != to[k].count)
        throw std::logic_error("Solder: programs of fewer columns have other pieces of memory");
      copy_columns(exec_, from[k], to[k].data, chosen, chosen.narrow);
    }
  }
  static ColumnPiece piece(Scalar const* vector, std::int64_t rows) {
    return {const_cast<Scalar*>(vector), rows, sizeof(Scalar)};
  }

  Exec exec_;
  std::map<std::int32_t, std::unique_ptr<Narrower>> narrower_;  ///< by columns
};

}  // namespace Solder::Impl
