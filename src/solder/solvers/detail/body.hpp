// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include <solder/core/owned.hpp>

namespace Solder::Impl {

/// \brief A stage's body, put together of a decision, once a team, and a formula, for each row.
///
/// \tparam Decision what a body has but for its rows: `Scalars`, `scalars`, `with_earlier`,
/// `known`,
///         `ahead`, `end`; see Stage
/// \tparam Formula `row`, and `sums` where the rows leave some
template <class Decision, class Formula>
struct Body : Decision, Formula {
  bool operator==(Body const&) const = default;

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    auto const there = Solder::at_home(static_cast<Formula const&>(*this), home);
    return Body<Decision, std::remove_const_t<decltype(there)>>{*this, there};
  }
};

template <class Decision, class Formula>
Body<Decision, Formula> body(Decision const& decision, Formula const& formula) {
  return {decision, formula};
}

}  // namespace Solder::Impl
