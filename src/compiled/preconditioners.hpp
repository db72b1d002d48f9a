// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "systems.hpp"

namespace Solder::Compiled {

/// \brief Sets up a preconditioner, and sets it up again. Compiled only in preconditioners.cpp.
template <class T, class Exec>
struct Make {
  using Matrix = CsrMatrix<T, Exec>;

  static Fsai<T, Exec> fsai(Exec const& exec, Matrix const& A, FsaiOptions const& options);
  static Fsai<T, Exec, Single<T>> single_fsai(Exec const& exec, Matrix const& A,
                                              FsaiOptions const& options);
  static Incomplete<T, Exec> incomplete(Exec const& exec, Matrix const& A, Factorisation kind,
                                        IncompleteOptions const& options);
  /// \brief The same over the ranks of a matrix.
  template <class Of>
  static DistributedFsai<T, Exec> distributed_fsai(Exec const& exec, Of const& A,
                                                   FsaiOptions const& options);
  template <class Of>
  static Schwarz<T, Exec> schwarz(Exec const& exec, Of const& A, Factorisation kind,
                                  IncompleteOptions const& options);
  /// \param coordinates of the nodes, for rigid bodies; empty: the near-nullspace is constant
  template <class Stored>
  static Amg<T, Exec, Stored> amg(Exec const& exec, Matrix const& A, AmgOptions const& options,
                                  Coordinates const& coordinates);
  template <class Of, class Inner>
  static Chebyshev<Exec, Of, Inner> chebyshev(Exec const& exec, Of const& A, Inner const& inner,
                                              ChebyshevOptions const& options);

  template <class Preconditioner, class Of>
  static void refresh(Exec const& exec, Preconditioner& M, Of const& A);
};

}  // namespace Solder::Compiled
