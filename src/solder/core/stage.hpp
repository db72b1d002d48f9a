// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <type_traits>

#include <solder/core/control.hpp>
#include <solder/core/source.hpp>
#include <solder/core/team.hpp>

namespace Solder {

namespace Impl {

/// \brief Whether only team 0 of a stage knows what it has decided.
template <class Stage>
KOKKOS_FORCEINLINE_FUNCTION constexpr bool is_decided_by_first(Stage const& stage) {
  if constexpr (requires { stage.first_decides; })
    return stage.first_decides;
  else
    return false;
}

template <class Stage>
KOKKOS_FORCEINLINE_FUNCTION bool is_idle(Stage const& stage, Control const& now,
                                         Control const& next) {
  if constexpr (requires { stage.idle(now, next); })
    return stage.idle(now, next);
  else
    return false;
}

/// \brief Kokkos before 5.0 keeps the arguments of a launch out of the ordinary argument space
/// where they have 512 bytes or more; the team policy takes 152 of them, and a stage's kernel 56.
inline constexpr std::size_t largest_functor = 352, largest_stage = largest_functor - 56;

/// \brief How many sums the rows of a body leave.
template <class Body>
KOKKOS_FUNCTION constexpr std::size_t sums_of() {
  if constexpr (requires { Body::sums; })
    return Body::sums;
  else
    return 0;
}

struct CountSums {
  template <class... S>
  KOKKOS_FUNCTION constexpr auto operator()(S const&...) const {
    return std::integral_constant<std::size_t, (S::size + ...)>{};
  }
};

/// \brief How many sums of earlier stages a body needs.
template <class Body>
KOKKOS_FUNCTION constexpr std::size_t sums_needed_by() {
  if constexpr (requires(Body const& body) { body.with_earlier(CountSums{}); })
    return decltype(std::declval<Body const&>().with_earlier(CountSums{}))::value;
  else
    return 0;
}

}  // namespace Impl

/// \brief A stage is one kernel of a program, as a value that carries its own pointers:
///   - `char const* label` (starts with "Solder::"),
///   - `Phase phase`: when it has work,
///   - `static constexpr int threads`: GPU threads of its teams; `int teams() const`: its league,
///   - `static constexpr int most_sums`, the most values that it sums at once, and
///     `int workspace() const`, the doubles of team scratch that it needs besides,
///   - `run(team, at, now, next) const`: called by every thread of every team. Returns at once
///     unless now.phase is its phase; each thread of each team changes `next` in the same way, and
///     team 0's copy goes to the next stage. What a stage reads, no team writes in that stage.
///   - `static constexpr bool first_decides = true` where `next` is changed by team 0 only,
///   - `bound(at) const`, where needed: see bound(),
///   - `bool idle(now, next) const`, where needed: whether it has written nothing but `next`, so
///     that the next stage need not wait for it.
///
/// This one goes through the rows of a source and gives each to a body, a plain struct with
///   - `row(i, value, scalars, mine) const`, with all values that the source hands out; without
///     `scalars` or `mine` where the body has none,
///   - `static constexpr std::size_t sums`: how many sums the rows leave, `Sums<sums>& mine` being
///     the thread's share, and `Sum<sums> left`: where,
///   - `struct Scalars`: what is computed once a team, the same in all of them, by
///     `bool scalars(team, total, ahead, at, now, next, Scalars&) const`, which answers whether to
///     go through the rows,
///   - `known(now, Scalars&) const`: what of them the control block alone tells, before rows are
///     loaded,
///   - `with_earlier(f) const`: calls f(the sums that earlier stages left ...), each a Sum or
///     DoubleBufferedSum; scalars() is given their totals,
///   - `ahead(team, at) const`: what else is to be loaded before the control block has arrived,
///   - `end(team, mine, now, next) const`: called after the rows, instead of leaving the sums,
///   - `ask_for(i) const`, or `ask_for(i, scalars) const` where the source takes products: asks a
///     GPU's memory for what row(i) loads besides, if the source tells in advance which row comes,
/// all but row() where needed.
///
/// Loading ahead, the test of the phase and the gathering of earlier sums, in a fixed order, are
/// written here, once. Where earlier sums are few they are gathered before it is known whether they
/// are needed: their latency then hides the control block's. In a kernel of a whole solve the
/// control block is known, and only what is needed is gathered, first of all.
template <class Source, class Body>
struct Stage {
  char const* label;
  Phase phase;
  Source source;
  Body body;

  bool operator==(Stage const&) const = default;

  static constexpr int threads = Impl::league_threads;
  static constexpr bool takes_products = !is_range<Source>;
  /// A row that a whole team works on takes a sum of two values.
  static constexpr int most_sums = static_cast<int>(
      std::max({std::size_t(2), Impl::sums_of<Body>(), Impl::sums_needed_by<Body>()}));
  static constexpr int workspace() { return 0; }
  KOKKOS_FUNCTION int teams() const { return source.teams(); }
  auto bound(At const& at) const {
    auto const bound_source = Solder::bound(source, at);
    auto const bound_body = Solder::bound(body, at);
    return Stage<std::remove_const_t<decltype(bound_source)>,
                 std::remove_const_t<decltype(bound_body)>>{label, phase, bound_source, bound_body};
  }

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    auto const there = Solder::at_home(source, home);
    auto const with = Solder::at_home(body, home);
    return Stage<std::remove_const_t<decltype(there)>, std::remove_const_t<decltype(with)>>{
        label, phase, there, with};
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void run(Team const& team, At const& at, Control const& now,
                                       Control& next) const {
    if constexpr (Impl::sums_needed_by<Body>() > 0)
      body.with_earlier([&](auto const&... sums) { run_with(team, at, now, next, sums...); });
    else
      run_with(team, at, now, next);
  }

 private:
  static constexpr bool has_scalars = requires { typename Body::Scalars; };
  static constexpr bool has_sums = requires { Body::sums; };
  struct Nothing {};
  template <class B>
  struct ScalarsOf {
    using type = Nothing;
  };
  template <class B>
  requires requires { typename B::Scalars; }
  struct ScalarsOf<B> {
    using type = typename B::Scalars;
  };

  /// \brief The source in a run of the stage; see MadeProduct.
  KOKKOS_FORCEINLINE_FUNCTION decltype(auto) source_with(
      typename ScalarsOf<Body>::type const& scalars) const {
    if constexpr (requires { source.with(scalars); })
      return source.with(scalars);
    else
      return (source);
  }

  /// \brief What of the scalars is known without sums.
  KOKKOS_FORCEINLINE_FUNCTION void set_known(Control const& now,
                                             typename ScalarsOf<Body>::type& scalars) const {
    if constexpr (requires { body.known(now, scalars); }) body.known(now, scalars);
  }

  /// \brief Gives a row to the body.
  KOKKOS_FORCEINLINE_FUNCTION void give(typename ScalarsOf<Body>::type const& scalars,
                                        Sums<Impl::sums_of<Body>()>& mine, auto const& i,
                                        auto&... values) const {
    if constexpr (has_scalars && has_sums)
      body.row(i, values..., scalars, mine);
    else if constexpr (has_scalars)
      body.row(i, values..., scalars);
    else if constexpr (has_sums)
      body.row(i, values..., mine);
    else
      body.row(i, values...);
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void end(Team const& team, Sums<Impl::sums_of<Body>()> const& mine,
                                       Control const& now, Control& next) const {
    if constexpr (requires { body.end(team, mine, now, next); })
      body.end(team, mine, now, next);
    else if constexpr (has_sums)
      body.left.leave(team, mine);
  }

  template <class Team, class... S>
  KOKKOS_FORCEINLINE_FUNCTION void run_with(Team const& team, At const& at, Control const& now,
                                            Control& next, S const&... earlier) const {
    if constexpr (std::is_same_v<Team, Impl::HostTeam>)
      run_on_host(team, at, &now, &next, earlier...);
    else if constexpr (Team::has_columns)
      run_for_column(team, at, now, next, earlier...);
    else
      run_on_device(team, at, now, next, earlier...);
  }

  /// \brief Gives rows to the body, and tells it in advance which row comes.
  struct Giver {
    Stage const& stage;
    typename ScalarsOf<Body>::type const& scalars;
    Sums<Impl::sums_of<Body>()>& mine;

    KOKKOS_FORCEINLINE_FUNCTION void operator()(auto const& i, auto&&... values) const {
      stage.give(scalars, mine, i, values...);
    }
    KOKKOS_FORCEINLINE_FUNCTION void ask_for(std::int32_t i) const {
      if constexpr (has_scalars && requires { stage.body.ask_for(i, scalars); }) {
        static_assert(takes_products, "a range asks before there are scalars");
        stage.body.ask_for(i, scalars);
      } else {
        Impl::ask_for_row(stage.body, i);
      }
    }
  };

  template <class Team, class... S>
  KOKKOS_FORCEINLINE_FUNCTION void run_on_device(Team const& team, At const& at, Control const& now,
                                                 Control& next, S const&... earlier) const {
    typename ScalarsOf<Body>::type scalars;
    Sums<Impl::sums_of<Body>()> mine{};
    auto const loaded = ahead(team, at);
    set_known(now, scalars);
    auto const& rows = source_with(scalars);
    auto const consume = [&] {
      if constexpr (Team::asks_ahead)
        return Giver{*this, scalars, mine};
      else
        return [&](auto const& i, auto&&... values) { give(scalars, mine, i, values...); };
    }();
    bool went_on;
    if constexpr (sizeof...(S) == 0) {
      went_on = rows.for_each_row(
          team, at,
          [&] {
            if (now.phase != phase) return false;
            if constexpr (has_scalars)
              return body.scalars(team, Sums<0>{}, loaded, at, now, next, scalars);
            else
              return true;
          },
          consume);
    } else {
      std::int32_t most = 0;
      ((most = earlier.parts > most ? earlier.parts : most), ...);
      [[maybe_unused]] Sums<(S::gathered + ...)> shares{};
      Sums<(S::size + ...)> share{};
      if constexpr (Team::knows_control) {
        if (now.phase == phase) share = team.gather(most, earlier.of(now.iteration)...);
      } else if (team.gathers_ahead(most)) {
        shares = team.gather(most, earlier.all()...);
      }
      went_on = rows.for_each_row(
          team, at,
          [&] {
            if (now.phase != phase) return false;
            if constexpr (!Team::knows_control)
              share = team.gathers_ahead(most) ? Impl::of_iteration<S...>(shares, now.iteration)
                                               : team.gather(most, earlier.of(now.iteration)...);
            return body.scalars(team, team.total(share, most), loaded, at, now, next, scalars);
          },
          consume);
    }
    if (went_on) end(team, mine, now, next);
  }

  /// \brief Each thread has a column, and columns may be in different phases. What threads do
  /// together, gathering and leaving sums, they do in any phase; it has no effect for columns of
  /// another phase. Only a column's first thread computes what a body computes once a team, knows
  /// the control block, and says where sums are left; `next` is valid in it alone.
  template <class Team, class... S>
  KOKKOS_FORCEINLINE_FUNCTION void run_for_column(Team const& team, At const& at,
                                                  Control const& now, Control& next,
                                                  S const&... earlier) const {
    using Scalars = typename ScalarsOf<Body>::type;
    bool const has_work = now.phase == phase, first = team.slot() == 0;
    if (first) next = now;
    if (!team.any_column(has_work)) return;
    Sums<Impl::sums_of<Body>()> mine{};
    Scalars scalars;
    bool const went_on = source.for_each_row(
        team, at,
        [&] {
          Sums<(S::size + ... + 0)> total{};
          if constexpr (sizeof...(S) > 0)
            total = team.total_of_column(team.gather_for_column(earlier.of(now.iteration)...));
          if (first) {
            bool goes_on = has_work;
            if constexpr (has_scalars) {
              if (has_work)
                goes_on = body.scalars(team, total, ahead(team, at), at, now, next, scalars);
              team.template tell<Scalars>(scalars);
            }
            team.tell_to_go_on(goes_on);
          }
          team.barrier();
          if constexpr (has_scalars) scalars = team.template told<Scalars>();
          return team.told_to_go_on();
        },
        [&](std::int32_t i, auto&&... values) { give(scalars, mine, i, values...); });
    if (first) {
      team.leave_nothing();
      if (went_on) end(team, mine, now, next);
    }
    if constexpr (has_sums) team.leave_together(mine);
  }

  /// \brief now and next are the first of as many control blocks as there are columns.
  template <class... S>
  KOKKOS_FORCEINLINE_FUNCTION void run_on_host(Impl::HostTeam const& team, At const& at,
                                               Control const* now, Control* next,
                                               S const&... earlier) const {
    struct Column {
      typename ScalarsOf<Body>::type scalars;
      Sums<Impl::sums_of<Body>()> mine{};
      bool went_on = false;
    };
    alignas(Column) std::byte memory[Impl::most_columns * sizeof(Column)];
    auto* const columns = reinterpret_cast<Column*>(memory);
    std::int32_t const count = team.columns();
    bool any = false;
    for (std::int32_t c = 0; c < count; ++c) {
      Column& column = *new (columns + c) Column;
      if (now[c].phase != phase) continue;
      auto const of_column = team.for_column(c);
      column.went_on = true;
      if constexpr (has_scalars) {
        Sums<(S::size + ... + 0)> total{};
        if constexpr (sizeof...(S) > 0)
          total = of_column.gather(0, earlier.of(now[c].iteration)...);
        set_known(now[c], column.scalars);
        column.went_on = body.scalars(of_column, total, ahead(of_column, at), at, now[c], next[c],
                                      column.scalars);
      }
      any = any || column.went_on;
    }
    if (!any) return;
    auto const go_through = [&](Impl::HostTeam const& part) {
      if constexpr (requires { source.has_columns(); }) {
        if (count > 1 && source.has_columns())
          return source.for_each_row_of_columns(
              part, at, [&](std::int32_t c, std::int32_t i, auto const& value) {
                if (columns[c].went_on) give(columns[c].scalars, columns[c].mine, i, value);
              });
      }
      for (std::int32_t c = 0; c < count; ++c) {
        if (!columns[c].went_on) continue;
        auto const scalars = columns[c].scalars;
        auto mine = columns[c].mine;
        source_with(scalars).for_each_row(
            part.for_column(c), at, [] { return true; },
            [&](std::int32_t i, auto&&... values) { give(scalars, mine, i, values...); });
        columns[c].mine = mine;
      }
    };
    // In windows a column's rows come in the same order as when it is solved alone.
    if (count == 1)
      go_through(team);
    else
      team.for_each_window(source.dealt_rows(), go_through);
    for (std::int32_t c = 0; c < count; ++c)
      if (columns[c].went_on) end(team.for_column(c), columns[c].mine, now[c], next[c]);
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION auto ahead(Team const& team, At const& at) const {
    if constexpr (requires { body.ahead(team, at); })
      return body.ahead(team, at);
    else
      return Nothing{};
  }
};

namespace Impl {

/// \brief A stage whose source need not load what has been kept of it.
template <class Stage, class Kept>
KOKKOS_FORCEINLINE_FUNCTION decltype(auto) with_kept(Stage const& stage, Kept const& kept) {
  if constexpr (requires { stage.source.with_kept(kept); }) {
    auto const source = stage.source.with_kept(kept);
    return Solder::Stage<std::remove_const_t<decltype(source)>,
                         std::remove_cvref_t<decltype(stage.body)>>{stage.label, stage.phase,
                                                                    source, stage.body};
  } else {
    return (stage);
  }
}

/// \brief Whether a stage goes through rows, in whatever teams it is given; others have their own.
template <class S>
inline constexpr bool goes_through_rows = false;
template <class Source, class Body>
inline constexpr bool goes_through_rows<Stage<Source, Body>> = true;

}  // namespace Impl

template <class Source, class Body>
Stage<Source, Body> stage(char const* label, Phase phase, Source const& source, Body const& body) {
  static_assert(sizeof(Stage<Source, Body>) <= Impl::largest_stage,
                "Solder: a stage takes too much along");
  return {label, phase, source, body};
}

/// \brief Work that the host does, or enqueues on the instance of the solve, between two kernels:
/// a user's own preconditioner. Only the launch runner takes it.
///
/// On GPUs it may be called once or twice more than needed, when the solve has ended meanwhile.
struct HostStage {
  Phase phase;
  std::function<void(At const&)> work;
};

}  // namespace Solder
