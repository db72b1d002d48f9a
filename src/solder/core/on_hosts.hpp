// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A and M on hosts, whatever their types. Their rows go to the solver through a block of the stack
// and a pointer to a function, which costs a nanosecond a row; in return a solver is compiled once
// for all matrices (matrix/open_matrix.hpp) and all preconditioners of a kind. On GPUs, where a
// row must stay in a register, each pair has its own kernels.

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <solder/core/application.hpp>
#include <solder/core/arena.hpp>
#include <solder/core/runners/programs.hpp>

namespace Solder {

namespace Impl {

/// \brief The values of the rows of a window; or, where the source deals rows in its own order, of
/// as many other rows.
template <class Value>
class RowBlock {
 public:
  /// Rows of a window; a slice of a SellMatrix that begins in one may reach beyond it.
  static constexpr std::int32_t window = HostTeam::window_rows, room = window + warp;

  /// \param team of the window, or of its column
  KOKKOS_FUNCTION explicit RowBlock(HostTeam const& team)
      : first_(team.first_), columns_(team.columns()), column_(team.column()) {}

  /// \brief Takes a row of the window.
  KOKKOS_FORCEINLINE_FUNCTION void take(std::int32_t row, Value const& value) {
    auto const at = static_cast<std::uint32_t>(row_of_entry(row, columns_)) -
                    static_cast<std::uint32_t>(first_);
    if (at >= static_cast<std::uint32_t>(window)) refuse();
    values_[at] = value;
  }
  /// \brief Takes any row.
  KOKKOS_FORCEINLINE_FUNCTION void take_any(std::int32_t row, Value const& value) {
    if (size_ == room) refuse();
    rows_[size_] = row;
    values_[size_] = value;
    ++size_;
  }
  /// \brief Changes the value of each row of the window, which ends at `end`, to f(row, value).
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void map(std::int32_t end, F const& f) {
    for (std::int32_t i = first_; i < end; ++i) {
      Value& value = values_[i - first_];
      value = f(i * columns_ + column_, value);
    }
  }
  /// \brief The rows of the window, which ends at `end`.
  template <class Consume>
  KOKKOS_FORCEINLINE_FUNCTION void hand_out_window(std::int32_t end, Consume const& consume) const {
    for (std::int32_t i = first_; i < end; ++i)
      consume(i * columns_ + column_, values_[i - first_]);
  }
  /// \brief The rows that take_any() took, in their order.
  template <class Consume>
  KOKKOS_FORCEINLINE_FUNCTION void hand_out(Consume const& consume) const {
    for (std::int32_t k = 0; k < size_; ++k) consume(rows_[k], values_[k]);
  }

 private:
  KOKKOS_FUNCTION static void refuse() {
    Kokkos::abort(
        "Solder: an operator or a source hands out rows that are not its team's; on hosts it "
        "must go through them by team.for_each_row, or between team.first and team.last");
  }

  std::int32_t first_, columns_, column_, size_ = 0;
  std::int32_t rows_[room];
  Value values_[room];
};

/// \brief A prepare() that always goes on. A type, not a constant: compilers for GPUs also compile
/// code for hosts and devices, and refuse a reference to a host's constant in it.
struct Always {
  KOKKOS_FUNCTION constexpr bool operator()() const { return true; }
};

/// \brief Fills the block of a window with the rows of a source that has them in order.
template <class Source, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void fill_window(Source const& source, HostTeam const& team,
                                             At const& at, RowBlock<Scalar>& block) {
  source.for_each_row(team, at, Always{},
                      [&](std::int32_t i, Scalar const& value) { block.take(i, value); });
}
/// \brief The same of a Mapped source: its function is applied in a loop of its own, because the
/// loop that sums a row's terms has no registers to spare.
template <class Source, class Function, class Scalar>
requires std::is_invocable_r_v<Scalar, Function const&, At const&, std::int32_t, Scalar const&>
    KOKKOS_FORCEINLINE_FUNCTION void fill_window(Mapped<Source, Function> const& mapped,
                                                 HostTeam const& team, At const& at,
                                                 RowBlock<Scalar>& block) {
  fill_window(mapped.source, team, at, block);
  auto const f = mapped.f;
  block.map(team.last_,
            [&](std::int32_t i, Scalar const& value) -> Scalar { return f(at, i, value); });
}

/// \brief A source that hands out the rows of any other source; see Range.
template <class Scalar>
struct HostRows {
  static constexpr std::int32_t window = HostTeam::window_rows;

  Rows rows;
  std::int32_t league;
  bool is_in_order;
  void const* source;
  void (*fill)(void const* source, HostTeam const&, At const&, RowBlock<Scalar>&);
  bool (*waits)(void const* source, HostTeam const&);  ///< in a window; null: in none

  bool operator==(HostRows const&) const = default;

  KOKKOS_FUNCTION std::int32_t teams() const { return league; }
  Rows dealt_rows() const { return rows; }
  bool in_order() const { return is_in_order; }

  template <class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(HostTeam const& team, At const& at,
                                                Prepare const& prepare,
                                                Consume const& consume) const {
    if (!prepare()) return false;
    // Windows that wait for other ranks come last. With team.for_each_window GCC does not inline
    // the lambda, and keeps the sums of the rows in memory: 1.3 times the time.
    std::int32_t const last = team.last(rows), passes = waits == nullptr ? 1 : 2;
    for (std::int32_t pass = 0; pass < passes; ++pass)
      for (std::int32_t begin = team.first(rows); begin < last; begin += window) {
        std::int32_t const end = last - begin > window ? begin + window : last;
        HostTeam const part = team.window(begin, end);
        if (passes > 1 && waits(source, part) != (pass > 0)) continue;
        RowBlock<Scalar> block(part);
        fill(source, part, at, block);
        if (is_in_order)
          block.hand_out_window(end, consume);
        else
          block.hand_out(consume);
      }
    return true;
  }
};

/// \brief An opened preconditioner that is not pointwise; see Application.
template <class Scalar>
struct HostPreconditioner {
  static constexpr bool is_identity = false, is_pointwise = false, is_split = false,
                        takes_columns = true, takes_batches = true;  ///< as far as M does
  using compiled_for = Scalar;                                       ///< see src/compiled
  using Operand = Place<Scalar const>;
  using Applied = Application<HostProgram, HostRows<Scalar>>;

  Keeper* keeper;
  void const* opened;
  std::int32_t inner;
  Rows (*rows_of)(void const* opened, Rows const& of_matrix);
  Applied (*applied)(void const* opened, Keeper&, Phase, Operand const&);
  Applied (*applied_and_inner)(void const* opened, Keeper&, Phase, Operand const&,
                               DoubleBufferedSum<1> const&);

  Rows rows(Rows const& of_matrix) const { return rows_of(opened, of_matrix); }
  /// \brief Whether M is split, which its type does not tell.
  bool splits() const { return applied_and_inner != nullptr; }
  std::int32_t inner_teams() const { return inner; }
  template <class Vector>
  Applied apply(Phase phase, Vector const& r) const {
    return applied(opened, *keeper, phase, place(r));
  }
  template <class Vector>
  Applied apply(Phase phase, Vector const& r, DoubleBufferedSum<1> const& rz) const {
    return applied_and_inner(opened, *keeper, phase, place(r), rz);
  }

 private:
  static Operand place(Scalar const* r) { return {r, 0, 0}; }
  static Operand place(Operand const& r) { return r; }
  static Operand place(Place<Scalar> const& r) { return as_read(r); }
};

/// \brief The same, with host stages. A solve sees it without this type, and asks the system
/// instead.
template <class Opened>
struct WithHostStages : Opened {
  static constexpr bool on_device = false;
};

/// \brief An application whose types only its keeper knows.
template <class Scalar, class Applied>
Application<HostProgram, HostRows<Scalar>> host_application(Keeper& keeper,
                                                            Applied const& application) {
  using Before = decltype(application.before);
  using Source = decltype(application.rows);
  static_assert(!Before::on_device ||
                    (std::equality_comparable<Before> && std::is_trivially_copyable_v<Before>),
                "Solder: a stage that devices run must be a plain, comparable struct");
  Applied const* const kept = keeper.keep(application);
  using Fill = void (*)(void const*, HostTeam const&, At const&, RowBlock<Scalar>&);
  Fill const in_order = [](void const* source, HostTeam const& team, At const& at,
                           RowBlock<Scalar>& block) {
    fill_window(*static_cast<Source const*>(source), team, at, block);
  };
  Fill const permuted = [](void const* source, HostTeam const& team, At const& at,
                           RowBlock<Scalar>& block) {
    static_cast<Source const*>(source)->for_each_row(
        team, at, Always{}, [&](std::int32_t i, Scalar const& value) { block.take_any(i, value); });
  };
  bool (*waits)(void const*, HostTeam const&) = nullptr;
  if constexpr (requires { kept->rows.may_wait(); })
    if (kept->rows.may_wait())
      waits = [](void const* source, HostTeam const& part) {
        return static_cast<Source const*>(source)->waits(part);
      };
  bool const is_in_order = kept->rows.in_order();
  return {HostProgram(kept->before),
          {kept->rows.dealt_rows(), kept->rows.teams(), is_in_order, &kept->rows,
           is_in_order ? in_order : permuted, waits}};
}

/// \brief Any opened preconditioner that is not pointwise.
template <class Scalar, class Opened>
auto host_preconditioner(Keeper& keeper, Opened const& opened) {
  using Host = HostPreconditioner<Scalar>;
  using Operand = typename Host::Operand;
  Host host{&keeper,
            keeper.keep(opened),
            0,
            [](void const* of, Rows const& of_matrix) {
              return static_cast<Opened const*>(of)->rows(of_matrix);
            },
            [](void const* of, Keeper& keeps, Phase phase, Operand const& r) {
              return host_application<Scalar>(keeps,
                                              static_cast<Opened const*>(of)->apply(phase, r));
            },
            nullptr};
  if constexpr (Opened::is_split) {
    host.inner = opened.inner_teams();
    host.applied_and_inner = [](void const* of, Keeper& keeps, Phase phase, Operand const& r,
                                DoubleBufferedSum<1> const& rz) {
      return host_application<Scalar>(keeps, static_cast<Opened const*>(of)->apply(phase, r, rz));
    };
  }
  if constexpr (is_on_device<Opened>)
    return host;
  else
    return WithHostStages<Host>{host};
}

}  // namespace Impl
}  // namespace Solder
