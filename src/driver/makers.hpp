// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../compiled/systems.hpp"
#include "columns_file.hpp"
#include "config.hpp"

namespace Solder::Driver {

using Compiled::Single;

/// \brief Sets up FSAI as configured, for any solver. Compiled only in makers.cpp.
template <class T, class Exec>
struct FsaiMaker {
  static Fsai<T, Exec> same(Exec const& exec, CsrMatrix<T, Exec> const& A,
                            PreconditionerConfig const& config);
  static Fsai<T, Exec, Single<T>> single(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                         PreconditionerConfig const& config);
};

/// \brief Factorises likewise, ic0 or ilu0; both have the same type.
template <class T, class Exec>
struct IncompleteMaker {
  static Incomplete<T, Exec> make(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                  PreconditionerConfig const& config);
};

/// \brief Makes a multigrid hierarchy likewise, stored in Stored. Points are only used for
/// near_nullspace: rigid_body.
template <class T, class Exec, class Stored>
struct AmgMaker {
  static Amg<T, Exec, Stored> make(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                   PreconditionerConfig const& config, Points const& points);
};

/// \brief Sets up a Chebyshev polynomial likewise.
template <class Exec, class Matrix, class Inner>
struct ChebyshevMaker {
  static Chebyshev<Exec, Matrix, Inner> make(Exec const& exec, Matrix const& A, Inner const& inner,
                                             PreconditionerConfig const& config);
};

}  // namespace Solder::Driver
