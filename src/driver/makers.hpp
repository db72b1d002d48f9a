// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../compiled/systems.hpp"
#include "columns_file.hpp"
#include "config.hpp"

namespace Solder::Driver {

using Compiled::Single;

/// \brief Sets FSAI up as the configuration says, whatever solver it is for: compiled in makers.cpp
/// only.
template <class T, class Exec>
struct FsaiMaker {
  static Fsai<T, Exec> same(Exec const& exec, CsrMatrix<T, Exec> const& A,
                            PreconditionerConfig const& config);
  static Fsai<T, Exec, Single<T>> single(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                         PreconditionerConfig const& config);
};

/// \brief Factorises, ic0 or ilu0, likewise: one type for both.
template <class T, class Exec>
struct IncompleteMaker {
  static Incomplete<T, Exec> make(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                  PreconditionerConfig const& config);
};

/// \brief Makes a multigrid hierarchy, stored in Stored, likewise; of points only for
/// near_nullspace: rigid_body.
template <class T, class Exec, class Stored>
struct AmgMaker {
  static Amg<T, Exec, Stored> make(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                   PreconditionerConfig const& config, Points const& points);
};

/// \brief Sets a Chebyshev polynomial up, likewise.
template <class Exec, class Matrix, class Inner>
struct ChebyshevMaker {
  static Chebyshev<Exec, Matrix, Inner> make(Exec const& exec, Matrix const& A, Inner const& inner,
                                             PreconditionerConfig const& config);
};

}  // namespace Solder::Driver
