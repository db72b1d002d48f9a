// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <solder/core/stage.hpp>

namespace Solder {

template <class... Stages>
struct Program;

/// \brief A function that for_each_stage() gives the stages of a program on a host. Programs may
/// have other stages there.
template <class F>
struct ForHost : F {
  static constexpr bool for_host = true;
};
template <class F>
ForHost(F const&) -> ForHost<F>;

/// \brief Whether it is one.
template <class F>
inline constexpr bool is_for_host = requires {
  F::for_host;
};

/// \brief Nothing to do.
template <>
struct Program<> {
  static constexpr bool on_device = true, goes_through_rows = true;
  bool operator==(Program const&) const = default;

  SOLDER_FOR_HOST_OR_DEVICE
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_stage(At const&, F const&) const {}
};

/// \brief An ordered list of stages, of Repeats and of host stages.
template <class First, class... Rest>
struct Program<First, Rest...> {
  /// Whether all of it can run on the device: no HostStage is among the stages.
  static constexpr bool on_device = [] {
    if constexpr (std::is_same_v<First, HostStage>)
      return false;
    else if constexpr (requires { First::on_device; })
      return First::on_device && Program<Rest...>::on_device;
    else
      return Program<Rest...>::on_device;
  }();

  /// Whether all stages go through rows.
  static constexpr bool goes_through_rows = [] {
    if constexpr (requires { First::goes_through_rows; })
      return First::goes_through_rows && Program<Rest...>::goes_through_rows;
    else
      return Impl::goes_through_rows<First> && Program<Rest...>::goes_through_rows;
  }();

  First first;
  Program<Rest...> rest;

  bool operator==(Program const&) const = default;

  /// \brief f(stage, at) for each stage in turn, in step at.step of a cycle.
  SOLDER_FOR_HOST_OR_DEVICE
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_stage(At const& at, F const& f) const {
    if constexpr (requires { first.for_each_stage(at, f); })
      first.for_each_stage(at, f);
    else
      f(first, at);
    rest.for_each_stage(at, f);
  }
};

namespace Impl {

struct NothingKept {};

/// \brief What a thread can keep of the first source that offers this in a program: see
/// MadeProduct.
template <class Team>
KOKKOS_FORCEINLINE_FUNCTION NothingKept kept_of(Program<> const&, Team const&) {
  return {};
}
template <class First, class... Rest, class Team>
KOKKOS_FORCEINLINE_FUNCTION auto kept_of(Program<First, Rest...> const& program, Team const& team) {
  if constexpr (requires { program.first.source.keep(team); })
    return program.first.source.keep(team.in_league(program.first.teams()));
  else
    return kept_of(program.rest, team);
}

}  // namespace Impl

/// \brief Stages that run `always` times, and `per_step` times more for each earlier step of the
/// cycle; At::turn tells which time it is.
template <class Stages>
struct Repeat {
  static constexpr bool on_device = Stages::on_device,
                        goes_through_rows = Stages::goes_through_rows;

  Stages stages;
  std::int32_t always;
  std::int32_t per_step = 0;

  bool operator==(Repeat const&) const = default;

  SOLDER_FOR_HOST_OR_DEVICE
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_stage(At const& at, F const& f) const {
    std::int32_t const times = always + per_step * at.step;
    for (std::int32_t turn = 0; turn < times; ++turn) stages.for_each_stage({at.step, turn}, f);
  }
};

/// \brief Stages that are left out in step 0 of a cycle.
template <class Stages>
struct AfterFirst {
  static constexpr bool on_device = Stages::on_device,
                        goes_through_rows = Stages::goes_through_rows;

  Stages stages;

  bool operator==(AfterFirst const&) const = default;

  SOLDER_FOR_HOST_OR_DEVICE
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_stage(At const& at, F const& f) const {
    if (at.step > 0) stages.for_each_stage(at, f);
  }
};

namespace Impl {

template <class... A, class... B>
constexpr auto joined(Program<A...> const& a, Program<B...> const& b) {
  if constexpr (sizeof...(A) == 0)
    return b;
  else {
    auto const rest = joined(a.rest, b);
    return [&]<class... R>(Program<R...> const& r) {
      return Program<std::remove_cvref_t<decltype(a.first)>, R...>{a.first, r};
    }(rest);
  }
}

template <class... Stages>
constexpr auto as_program(Program<Stages...> const& program) {
  return program;
}
template <class Stage>
constexpr auto as_program(Stage const& stage) {
  return Program<Stage>{stage, {}};
}

}  // namespace Impl

/// \brief A program of stages, and of programs in place of some of them.
constexpr Program<> program() { return {}; }
template <class First, class... Rest>
constexpr auto program(First const& first, Rest const&... rest) {
  return Impl::joined(Impl::as_program(first), program(rest...));
}

/// \brief These stages several times: see Repeat.
template <class Stages>
constexpr Repeat<Stages> repeat(Stages const& stages, std::int32_t always,
                                std::int32_t per_step = 0) {
  return {stages, always, per_step};
}

}  // namespace Solder
