// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>

#include "preconditioners.hpp"
#include "wanted.hpp"

namespace Solder::Compiled {

/// \brief A preconditioner of a scaled or matched matrix, and how it is set up again: the scaling
/// first.
template <class T, class Exec>
struct MadeScaled {
  ScaledByName<T, Exec> preconditioner;
  std::function<void(Exec const&, CsrMatrix<T, Exec> const&)> refresh;
};

/// \brief Compiled only in scaled.cpp.
template <class T, class Exec>
MadeScaled<T, Exec> make_scaled(Exec const& exec, WantedPreconditioner const& wanted,
                                Coordinates const& coordinates, CsrMatrix<T, Exec> const& A);

}  // namespace Solder::Compiled
