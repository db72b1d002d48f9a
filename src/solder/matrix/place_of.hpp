// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace Solder::Impl {

/// \brief The first place in [from, to) whose number is not less than `number`, or `to` if there is
/// none. The numbers must ascend there.
template <class Number, class Place>
KOKKOS_FORCEINLINE_FUNCTION Place place_of(Number const* numbers, Place from,
                                           std::type_identity_t<Place> to,
                                           std::type_identity_t<Number> number) {
  while (from < to) {
    Place const middle = from + (to - from) / 2;
    if (numbers[middle] < number)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

}  // namespace Solder::Impl
