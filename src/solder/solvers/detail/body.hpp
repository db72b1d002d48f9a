// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <solder/core/application.hpp>
#include <solder/core/identity.hpp>
#include <solder/core/program.hpp>
#include <solder/core/source.hpp>
#include <solder/core/stage.hpp>
#include <solder/core/sums.hpp>

namespace Solder::Impl {

/// \brief A pointwise M in row i: M(r) is z_i, and M.undo(z) is r_i.
template <class M>
struct InRow {
  M const& m;
  std::int32_t i;

  KOKKOS_FORCEINLINE_FUNCTION auto operator()(auto const& r) const { return m(i, r); }
  KOKKOS_FORCEINLINE_FUNCTION auto undo(auto const& z) const { return m.undo(i, z); }
};

/// \brief An M as a base, which takes no room where it has no members.
template <class M>
struct HeldM {
  M m;

  bool operator==(HeldM const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION M const& held() const { return m; }
};
template <>
struct HeldM<NoOperation> : NoOperation {
  bool operator==(HeldM const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION NoOperation const& held() const { return *this; }
};

/// \brief A stage's body, made of a formula, for each row, and a decision, once a team.
///
/// \tparam Formula `row(M in this row, entries of the vectors ..., what the source hands out ...,
///         scalars, mine)`, static. It changes entries in place; those of vectors that are not
///         const are stored. What it sets without having read it is not loaded. nvcc 13 takes nine
///         parameters that are auto, not ten.
/// \tparam Decision all that a body has but for its rows: `Scalars`, `scalars`, `with_earlier`,
///         `known`, `ahead`, `sums`, `left`, `end`; see Stage
/// \tparam M pointwise
/// \tparam Vectors pointers or Owned, which the formula needs besides the source's
template <class Formula, class Decision, class M, class... Vectors>
struct Body : Decision, HeldM<M> {
  Together<Vectors...> vectors;

  bool operator==(Body const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION auto at_home(auto const& home) const {
    return Body<Formula, Decision, M, decltype(home(std::declval<Vectors const&>()))...>{
        *this, *this, vectors.at_home(home)};
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_for(std::int32_t i) const {
    ask_for_row(this->held(), i);
    vectors.ask_for(i);
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(auto const& i, auto&&... others) const {
    if constexpr (sizeof...(Vectors) == 0) {
      Formula::row(InRow<M>{this->held(), i}, others...);
    } else {
      auto entries = vectors.loaded(i);
      vectors.give(i, entries.data(), [&](auto const&, auto&... entry) {
        Formula::row(InRow<M>{this->held(), i}, entry..., others...);
      });
    }
  }
};

template <class Formula, class Decision, class M, class... Vectors>
Body<Formula, Decision, M, Vectors...> body(Decision const& decision, M const& m,
                                            Vectors const&... vectors) {
  return {decision, {m}, {vectors...}};
}

/// \brief A stage of such a body, after those that its source needs.
///
/// \param source an Application, or a Range
/// \param m NoOperation where the formula has no M
template <class Formula, Phase When = Phase::iterate, class Source, class Decision, class M,
          class... Vectors>
auto step(char const* label, Source const& source, Decision const& decision, M const& m,
          Vectors const&... vectors) {
  auto const of = body<Formula>(decision, m, vectors...);
  if constexpr (requires { source.before; })
    return program(source.before, stage(label, When, source.rows, of));
  else
    return program(stage(label, When, source, of));
}

/// \brief The stage that keeps what an Application hands out, after those that it needs.
template <Phase When = Phase::iterate>
auto keep(char const* label, auto const& of, auto const& vector) {
  return program(of.before, stage(label, When, of.rows, store(vector)));
}

/// \brief A formula of rows that are left as they are.
struct Nothing {
  KOKKOS_FORCEINLINE_FUNCTION static void row(auto const&...) {}
};

struct NoSums {
  static constexpr std::size_t size = 0;

  bool operator==(NoSums const&) const = default;
  KOKKOS_FUNCTION NoSums of(std::int32_t) const { return {}; }
  KOKKOS_FUNCTION void leave(auto const&, Sums<0> const&) const {}
};

template <class First, class Second>
struct Both;
template <class First, class Second>
KOKKOS_FUNCTION Both<First, Second> both(First const& first, Second const& second);

/// \brief Sums in two places.
template <class First, class Second>
struct Both {
  static constexpr std::size_t size = First::size + Second::size;

  First first;
  Second second;

  bool operator==(Both const&) const = default;
  KOKKOS_FUNCTION auto of(std::int32_t iteration) const {
    return both(first.of(iteration), second.of(iteration));
  }
  KOKKOS_FORCEINLINE_FUNCTION void leave(auto const& team, Sums<size> const& mine) const {
    Sums<First::size> of_first;
    Sums<Second::size> of_second;
    for (std::size_t k = 0; k < First::size; ++k) of_first[k] = mine[k];
    for (std::size_t k = First::size; k < size; ++k) of_second[k - First::size] = mine[k];
    first.leave(team, of_first);
    second.leave(team, of_second);
  }
};
template <class First, class Second>
KOKKOS_FUNCTION Both<First, Second> both(First const& first, Second const& second) {
  return {first, second};
}

/// \brief Decides nothing; the rows leave sums: a Sum or a DoubleBufferedSum.
template <class Left>
struct Leaves {
  static constexpr std::size_t sums = Left::size;

  Left left;

  bool operator==(Leaves const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void end(auto const& team, Sums<sums> const& mine, Control const& now,
                                       Control&) const {
    left.of(now.iteration).leave(team, mine);
  }
};
template <class Left>
Leaves<Left> leaves(Left const& left) {
  return {left};
}

/// \brief The same for a beginning, which the phase `Then` follows; also for the residual check's.
template <class Left, Phase Then>
struct Begins {
  static constexpr std::size_t sums = Left::size;
  struct Scalars {};

  Left left;

  bool operator==(Begins const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void scalars(auto const&, Control&, Scalars&) const {}
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(auto const&, auto const&, auto const&, At const&,
                                           Control const&, Control&, auto&) const {
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION void end(auto const& team, Sums<sums> const& mine, Control const& now,
                                       Control& next) const {
    left.of(now.iteration).leave(team, mine);
    next.phase = Then;
  }
};
template <Phase Then, class Left = NoSums>
Begins<Left, Then> begins(Left const& left = {}) {
  return {left};
}

}  // namespace Solder::Impl
