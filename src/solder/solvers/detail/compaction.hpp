// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <solder/core/allocate.hpp>
#include <solder/core/arena.hpp>
#include <solder/core/column_pieces.hpp>
#include <solder/core/runners/engine.hpp>

namespace Solder::Impl {

/// \brief Exchanges two values for as long as it lives.
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

/// \brief Solves of several columns, which are compacted: when half of them have ended, the others
/// go on in a solve of fewer columns.
///
/// That solve is handed all that is known of them (their vectors, sums, kept scalars, control
/// blocks and histories) and goes on with the next iteration, so that each column has the
/// iterations it would have alone. It costs two passes over these. The first solve that reaches a
/// width also allocates a workspace for it, with b and x: for all widths together at most five
/// thirds of the wide one.
template <class Exec, class Scalar>
class Compaction {
  using Listener = typename Engine<Exec>::Listener;

 public:
  explicit Compaction(Exec const& exec) : exec_(exec) {}

  /// \brief Runs a solve that has begun to its end.
  ///
  /// \param programs programs(b, x, use) puts the programs together in `arena` and calls
  /// use(the programs)
  /// \param independent whether each column is solved as if it were alone; else none is compacted
  template <class Programs>
  void run(Arena<Exec>& arena, Engine<Exec>& engine, Scalar const* b, Scalar* x,
           Programs const& programs, Listener const& listener, bool independent) {
    run_from(arena, engine, b, x, programs, listener, independent, [] {});
  }

 private:
  struct Narrower {
    Narrower(Exec const& exec, std::int64_t rows, std::int32_t columns, Runner runner, int league)
        : arena(exec, 0, columns, league),
          engine(exec, "Solder::columns", {.runner = runner}, {}, true,
                 {columns, rows, arena.teams(1)}),
          b(allocate<Scalar>(exec, "Solder::columns", rows * columns)),
          x(allocate<Scalar>(exec, "Solder::columns", rows * columns)) {}

    Arena<Exec> arena;
    Engine<Exec> engine;
    DeviceArray<Scalar, Exec> b, x;
  };

  /// \param prepare() is called when the programs have been put together for the first time
  template <class Programs>
  void run_from(Arena<Exec>& arena, Engine<Exec>& engine, Scalar const* b, Scalar* x,
                Programs const& programs, Listener const& listener, bool independent,
                std::function<void()> const& prepare) {
    bool prepared = false;
    for (bool ended = false; !ended;) {
      arena.rewind();
      programs(b, x, [&](AnyPrograms<Exec> const& all) {
        if (!std::exchange(prepared, true)) prepare();
        engine.run(all, listener, independent);
      });
      ended = engine.all_finished();
      if (independent && !ended && !engine.is_stopping())
        ended = run_narrower(arena, engine, b, x, programs, listener);
    }
  }

  /// \brief Answers whether there was memory for it; there may be for a smaller one later.
  template <class Programs>
  bool run_narrower(Arena<Exec>& arena, Engine<Exec>& wide, Scalar const* b, Scalar* x,
                    Programs const& programs, Listener const& listener) {
    Kokkos::Timer timer;
    ChosenColumns const chosen = wide.rest();
    std::int32_t const width = chosen.narrow, going_on = wide.active();
    std::int64_t const rows = wide.rows();
    auto& made = narrower_[width];
    bool begun = false;
    auto const give_x_back = [&] {
      copy_columns<true>(exec_, piece(made->x.data(), rows), x, chosen, going_on);
    };
    auto const abandon = [&] {  // x is as far as it has come, as in a wider solve
      if (!begun) return;
      give_x_back();
      exec_.fence("Solder::columns: the solve was abandoned");
    };
    try {
      if (made == nullptr)
        made = std::make_unique<Narrower>(exec_, rows, width, wide.ran(), arena.teams(1));
      auto const begin = [&] {
        check(made->arena, arena);
        copy_columns(exec_, piece(x, rows), made->x.data(), chosen, width);
        begun = true;
        wide.count_as_setup(timer.seconds());
        for (std::size_t k = 0; k < arena.pieces().size(); ++k)
          copy_columns(exec_, made->arena.pieces()[k], arena.pieces()[k].data, chosen, width);
        copy_columns(exec_, piece(b, rows), made->b.data(), chosen, width);
        made->engine.take(wide, chosen);
      };
      auto const told = [&](Engine<Exec> const& engine) {
        engine.tell(wide, chosen);
        return listener(wide);
      };
      Exchanged const arenas(arena, made->arena);  // programs are put together in this one
      run_from(arena, made->engine, made->b.data(), made->x.data(), programs,
               listener ? Listener(told) : Listener(), true, begin);
    } catch (std::exception const& error) {
      abandon();
      if (begun || !says_no_memory(error)) throw;
      narrower_.erase(width);
      wide.leave_only_below(width);
      return false;
    } catch (...) {
      abandon();
      throw;
    }
    made->engine.give_back(wide, chosen);
    give_x_back();
    return true;
  }

  /// \brief Whether memory was missing: Kokkos throws a runtime_error for that, too.
  static bool says_no_memory(std::exception const& error) {
    return dynamic_cast<std::bad_alloc const*>(&error) != nullptr ||
           dynamic_cast<std::runtime_error const*>(&error) != nullptr;
  }
  /// \brief Refuses programs that cannot be handed on: a user's M may have asked for memory by its
  /// columns.
  static void check(Arena<Exec> const& wide, Arena<Exec> const& narrow) {
    auto const &from = wide.pieces(), &to = narrow.pieces();
    if (!std::equal(from.begin(), from.end(), to.begin(), to.end(),
                    [](ColumnPiece const& one, ColumnPiece const& other) {
                      return one.count == other.count && one.bytes == other.bytes;
                    }))
      throw std::runtime_error("Solder: programs of fewer columns have other pieces of memory");
  }
  static ColumnPiece piece(Scalar const* vector, std::int64_t rows) {
    return {const_cast<Scalar*>(vector), rows, sizeof(Scalar)};
  }

  Exec exec_;
  std::map<std::int32_t, std::unique_ptr<Narrower>> narrower_;  ///< by columns
};

}  // namespace Solder::Impl
