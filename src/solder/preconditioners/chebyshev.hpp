// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <solder/core/identity.hpp>
#include <solder/core/open.hpp>
#include <solder/matrix/open_matrix.hpp>
#include <solder/preconditioners/chebyshev_options.hpp>
#include <solder/preconditioners/detail/largest_eigenvalue.hpp>
#include <solder/preconditioners/detail/preconditioner_base.hpp>

namespace Solder {

namespace Impl {

/// \brief The weights of one step:
/// z_k+1 = of_z z_k + of_change (z_k - z_k-1) + of_residual M (r - A z_k).
struct ChebyshevWeights {
  double of_z, of_change, of_residual;
  bool operator==(ChebyshevWeights const&) const = default;
};

/// \brief The same in the real type of the vectors.
template <class Scalar>
struct ChebyshevStep {
  typename ScalarTraits<Scalar>::Real of_z, of_change, of_residual;
  Scalar const *z, *before;  ///< z_k and z_k-1; in the first step twice z_0

  KOKKOS_FUNCTION void set(ChebyshevWeights const& of, Scalar const* newest, Scalar const* older) {
    of_z = to_real<Scalar>(of.of_z);
    of_change = to_real<Scalar>(of.of_change);
    of_residual = to_real<Scalar>(of.of_residual);
    z = newest;
    before = older;
  }
  /// \brief Row i of z_k+1, given that of M (r - A z_k).
  KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(std::int32_t i, Scalar const& Ms) const {
    Scalar const newest = z[i];
    return of_z * newest + (of_change * (newest - before[i]) + of_residual * Ms);
  }
};

/// \brief z_0 = M r / theta, where the source hands out M r. Words: 1 a row.
template <class Scalar>
struct ChebyshevStart {
  double inverse_theta;
  Scalar* z;

  bool operator==(ChebyshevStart const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& Mr) const {
    z[i] = to_real<Scalar>(inverse_theta) * Mr;
  }
};

/// \brief A step in a program. z is double buffered: z_k+1 takes the place of z_k-1, whose row i
/// is read for row i only, while neighbours still read z_k.
template <class Scalar>
struct ChebyshevTurn {
  ChebyshevWeights const* weights;  ///< of each step
  Place<Scalar> z;

  bool operator==(ChebyshevTurn const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION ChebyshevWeights ahead(auto const&, At const& at) const {
    return weights[at.turn];
  }
  KOKKOS_FORCEINLINE_FUNCTION void set(ChebyshevWeights const& of, At const& at,
                                       ChebyshevStep<Scalar>& step, Scalar*& to) const {
    Scalar const* const newest = z.at(at);
    to = z.at({at.step, at.turn + 1});
    step.set(of, newest, at.turn == 0 ? newest : to);
  }
};

/// \brief A turn with a pointwise M; the source hands out A z. Words: 4 a row, the first one 3.
template <class Scalar, class M, class Vector>
struct ChebyshevPointwiseTurn : ChebyshevTurn<Scalar> {
  struct Scalars {
    ChebyshevStep<Scalar> step;
    Scalar const* r;
    Scalar* to;
  };
  M m;
  Vector r;

  bool operator==(ChebyshevPointwiseTurn const&) const = default;

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const&, auto const&, ChebyshevWeights const& of,
                                           At const& at, Control const&, Control&,
                                           Scalars& s) const {
    this->set(of, at, s.step, s.to);
    s.r = vector_at(r, at);
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& Az, Scalars const& s) const {
    s.to[i] = s.step(i, m(i, s.r[i] - Az));
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_for(std::int32_t i, Scalars const& s) const {
    ask_for_row(m, i);
    Impl::ask_for(s.r + i);
    Impl::ask_for(s.step.before + i);
  }
};

/// \brief The last step with a pointwise M: hands out the rows of z. Words: 3 a row.
template <class Scalar, class M, class Vector>
struct ChebyshevPointwiseEnd {
  M m;
  ChebyshevWeights of;
  Vector r;
  Scalar const *z, *before;

  bool operator==(ChebyshevPointwiseEnd const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(At const& at, std::int32_t i,
                                                Scalar const& Az) const {
    ChebyshevStep<Scalar> step;
    step.set(of, z, before);
    return step(i, m(i, vector_at(r, at)[i] - Az));
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_for(At const& at, std::int32_t i) const {
    ask_for_row(m, i);
    Impl::ask_for(vector_at(r, at) + i);
    Impl::ask_for(before + i);
  }
};

/// \brief s = r - A z, for an M that is not pointwise. Words: 2 a row.
template <class Scalar, class Vector>
struct ChebyshevResidual {
  struct Scalars {
    Scalar const* r;
  };
  Vector r;
  Scalar* s;

  bool operator==(ChebyshevResidual const&) const = default;

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const&, auto const&, auto const&, At const& at,
                                           Control const&, Control&, Scalars& scalars) const {
    scalars.r = vector_at(r, at);
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& Az,
                                       Scalars const& scalars) const {
    s[i] = scalars.r[i] - Az;
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_for(std::int32_t i, Scalars const& scalars) const {
    Impl::ask_for(scalars.r + i);
  }
};

/// \brief The rest of a turn; the source hands out M s. Words: 3 a row, the first one 2.
template <class Scalar>
struct ChebyshevRest : ChebyshevTurn<Scalar> {
  struct Scalars {
    ChebyshevStep<Scalar> step;
    Scalar* to;
  };
  bool operator==(ChebyshevRest const&) const = default;

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool scalars(Team const&, auto const&, ChebyshevWeights const& of,
                                           At const& at, Control const&, Control&,
                                           Scalars& s) const {
    this->set(of, at, s.step, s.to);
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& Ms, Scalars const& s) const {
    s.to[i] = s.step(i, Ms);
  }
};

/// \brief The rest of the last step: hands out the rows of z. Words: 2 a row.
template <class Scalar>
struct ChebyshevEnd {
  ChebyshevWeights of;
  Scalar const *z, *before;

  bool operator==(ChebyshevEnd const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(At const&, std::int32_t i, Scalar const& Ms) const {
    ChebyshevStep<Scalar> step;
    step.set(of, z, before);
    return step(i, Ms);
  }
};

/// \brief A Chebyshev polynomial in a program.
///
/// \tparam Columns, Batches whether A and the inner preconditioner both take several right-hand
///         sides, and the systems of a batch
template <class Scalar, class OpenedA, class Inner, bool Columns, bool Batches>
struct ChebyshevOpened {
  static constexpr bool is_identity = false, is_pointwise = false, is_split = false;
  static constexpr bool on_device = is_on_device<Inner>, waits = Solder::waits<Inner>;
  static constexpr bool takes_columns = Columns, takes_batches = Batches;

  OpenedA A;
  Inner inner;
  double inverse_theta;
  ChebyshevWeights last;
  ChebyshevWeights const* weights;
  std::int32_t degree;
  Scalar *z, *s;        ///< z is two vectors; s is used if M is not pointwise
  std::int32_t league;  ///< of stages over vectors
  std::int64_t length;  ///< of a vector

  Rows rows(Rows const&) const {
    if constexpr (Inner::is_pointwise)
      return A.rows;
    else
      return inner.rows(A.rows);
  }

  /// \param r a pointer, or a Place
  template <class Vector>
  auto apply(Phase phase, Vector const& r_given) const {
    auto const r = as_read(r_given);
    using R = std::remove_const_t<decltype(r)>;
    Place<Scalar> const double_buffered(z, 0, length);
    ChebyshevTurn<Scalar> const turn{weights, double_buffered};
    ChebyshevStart<Scalar> const start{inverse_theta, z};
    Scalar const* const newest = double_buffered.at({0, degree - 1});
    Scalar const* const before = degree == 1 ? newest : double_buffered.at({0, degree});
    auto const Az = A.apply(phase, double_buffered);
    auto const last_Az = A.apply(phase, newest);
    if constexpr (Inner::is_pointwise) {
      auto const first =
          stage("Solder::chebyshev::start", phase,
                mapped(PlacedRange<R>{A.rows, league, r}, PointwiseOf<Inner>{inner}), start);
      auto const turns =
          program(Az.before, stage("Solder::chebyshev::turn", phase, Az.rows,
                                   ChebyshevPointwiseTurn<Scalar, Inner, R>{{turn}, inner, r}));
      return application(program(first, repeat(turns, degree - 1), last_Az.before),
                         mapped(last_Az.rows, ChebyshevPointwiseEnd<Scalar, Inner, R>{
                                                  inner, last, r, newest, before}));
    } else {
      auto const Mr = inner.apply(phase, r);
      auto const Ms = inner.apply(phase, s);
      auto const to_s = [&](auto const& product) {
        return program(product.before,
                       stage("Solder::chebyshev::residual", phase, product.rows,
                             ChebyshevResidual<Scalar, R>{r, s}),
                       Ms.before);
      };
      auto const turns = program(to_s(Az), stage("Solder::chebyshev::turn", phase, Ms.rows,
                                                 ChebyshevRest<Scalar>{{turn}}));
      return application(
          program(Mr.before, stage("Solder::chebyshev::start", phase, Mr.rows, start),
                  repeat(turns, degree - 1), to_s(last_Az)),
          mapped(Ms.rows, ChebyshevEnd<Scalar>{last, newest, before}));
    }
  }
};

}  // namespace Impl

/// \brief A polynomial in M A, times M: `degree` + 1 steps of the Chebyshev iteration for A z = r,
/// started from z = 0 and preconditioned by M (Saad, Iterative Methods for Sparse Linear Systems,
/// 12.3.2):
///
///     z_0 = M r / theta,  z_-1 = 0
///     for k = 0, ..., degree - 1:
///       z_k+1 = z_k + rho_k+1 rho_k (z_k - z_k-1) + (2 rho_k+1 / delta) M (r - A z_k)
///
/// theta and delta are the middle and the half length of the interval [eigenvalue_fraction, 1]
/// times the largest eigenvalue of M A; rho_0 = delta / theta, and rho_k = 1 / (2 theta / delta -
/// rho_k-1). There are no inner products. The polynomial is Hermitian positive definite if A and M
/// are, so it can be used with CG. A few steps of the Lanczos method on the device estimate the
/// largest eigenvalue; 10% is added to the estimate.
///
/// Cost of an application: if M is pointwise, degree + 1 kernels, of which degree are products;
/// else 2 degree + 1 kernels, plus degree + 1 times M's own. The last kernel hands out the rows of
/// z in both cases.
///
/// \tparam Matrix CsrMatrix, SellMatrix, BlockMatrix or another LinearOperator
/// \tparam Inner M: any preconditioner; with Fsai this is "polynomial over FSAI"
template <class Exec, class Matrix, class Inner = Identity>
class Chebyshev : public Impl::PreconditionerBase<Chebyshev<Exec, Matrix, Inner>, Exec,
                                                  typename Matrix::scalar_type> {
 public:
  /// \brief Type of the vectors.
  using Scalar = typename Matrix::scalar_type;
  /// \brief What applications read, beside M.
  using matrix_type = Matrix;

  /// \brief Estimates the largest eigenvalue with `lanczos_steps` products and applications of M.
  /// \throws std::invalid_argument if A is not square, M has a different size or an option is out
  /// of range
  Chebyshev(Exec const& exec, Matrix const& A, Inner const& M, ChebyshevOptions const& options = {})
      : options_(options), inner_(M) {
    check(options, "Solder::Chebyshev");
    refresh(exec, A);
  }
  /// \brief The same over the identity: a polynomial in A alone.
  Chebyshev(Exec const& exec, Matrix const& A,
            ChebyshevOptions const& options = {}) requires std::is_same_v<Inner, Identity>
      : Chebyshev(exec, A, Inner{}, options) {}

  /// \brief Sets up again for a matrix with new values. Refresh M first. If it throws, nothing
  /// changes.
  void refresh(Exec const& exec, Matrix const& A) {
    Impl::together(Impl::ranks_of(A), [&] { set_up(exec, A); });
  }

  /// \brief Whether the values of A, or of M's matrix, have changed since the set-up.
  bool is_stale() const {
    return Chebyshev::PreconditionerBase::is_stale() || Impl::is_stale(state_->A) ||
           Impl::is_stale(inner_);
  }

  /// \brief Rows of A.
  std::int32_t rows() const { return state_->A.rows(); }
  /// \brief The upper end of the interval: the estimated largest eigenvalue of M A, plus 10%.
  double largest_eigenvalue() const { return state_->largest; }
  /// \brief The options it was made with.
  ChebyshevOptions const& options() const { return options_; }
  /// \brief M's set-up, and what the polynomial adds to it.
  SetupReport setup() const {
    SetupReport setup;
    if constexpr (requires { inner_.setup(); }) setup = inner_.setup();
    setup.phases.push_back({"largest eigenvalue", state_->seconds});
    setup.largest_eigenvalue = state_->largest;
    return setup;
  }
  /// \brief A sentence that says why it cannot be applied; empty if it can.
  std::string failure() const {
    if constexpr (requires { inner_.failure(); })
      if (std::string const inner = inner_.failure(); !inner.empty()) return inner;
    return state_->failure;
  }
  /// \brief Words of sizeof(Of) that one application moves, not counting its operand and result.
  template <class Of>
  double words(std::int32_t rows) const {
    double const n = rows, d = options_.degree, A = state_->A.words(),
                 M = (d + 1) * inner_.template words<Of>(rows);
    return M + d * (A + (OpenedInner::is_pointwise ? 4 : 6) * n) - n;
  }

  /// \brief What solvers embed in their programs; see Application.
  /// \throws std::invalid_argument if M was refreshed for a different size and this was not
  auto open(Arena<Exec>& arena) const {
    std::int64_t const n = rows();
    if (inner_.rows() >= 0 && inner_.rows() != n)
      throw std::invalid_argument("Solder::Chebyshev: set up for " + std::to_string(n) +
                                  " rows, but its inner preconditioner was refreshed for " +
                                  std::to_string(inner_.rows()) + ": call refresh");
    auto const A = open_matrix(arena, state_->A);
    constexpr bool pointwise = OpenedInner::is_pointwise;
    // On hosts the opened types no longer tell what they are.
    using Operator = std::remove_cvref_t<decltype(state_->A.device_operator())>;
    using InnerAsGiven = std::remove_cvref_t<decltype(inner_.open(arena))>;
    constexpr bool columns = takes_columns<Operator, InnerAsGiven>,
                   batches = takes_batches<Operator, InnerAsGiven>;
    auto const vector = [&](char const* label, std::int64_t size) {
      return arena.template vector<Scalar>(label, size);
    };
    double const largest = usable_largest();
    return Impl::ChebyshevOpened<Scalar, std::remove_const_t<decltype(A)>, OpenedInner, columns,
                                 batches>{A,
                                          open_preconditioner<Scalar>(arena, inner_),
                                          1 / theta(largest),
                                          weights_for(largest).back(),
                                          state_->weights.data(),
                                          options_.degree,
                                          vector("Solder::chebyshev::z", 2 * n),
                                          pointwise ? nullptr : vector("Solder::chebyshev::s", n),
                                          arena.teams(A.rows.teams),
                                          n * arena.columns()};
  }

 private:
  using OpenedInner = OpenedOf<Inner, Exec, Scalar>;
  using Weights = Kokkos::View<Impl::ChebyshevWeights*, typename Exec::memory_space>;
  struct State {
    Matrix A;
    Weights weights;
    double largest, seconds;
    std::string failure;
  };

  void set_up(Exec const& exec, Matrix const& A) {
    std::int32_t const rows = inner_.rows();
    if (A.rows() != A.columns() || (rows >= 0 && rows != A.rows()))
      throw std::invalid_argument(
          "Solder::Chebyshev: a square matrix of the same size as M is needed, "
          "not " +
          std::to_string(A.rows()) + " x " + std::to_string(A.columns()) +
          (rows >= 0 ? " with an M of size " + std::to_string(rows) : ""));
    Impl::with_memory_for("Solder::Chebyshev", A.rows(), A.nonzeros(), [&] {
      State made = made_for(exec, A);
      if (state_ == nullptr)
        state_ = std::make_shared<State>(std::move(made));
      else
        *state_ = std::move(made);
    });
    this->set_made_of(A);
  }

  State made_for(Exec const& exec, Matrix const& A) const {
    Kokkos::Timer timer;
    Impl::KeptArrays::Use const use(this->kept_arrays(), exec);
    double largest = 1;
    if (A.rows() > 0 || Impl::ranks_of(A) != nullptr) {
      Ranks const* const ranks = Impl::ranks_of(A);
      std::optional<Impl::LanczosMemory<Exec>> memory;
      Impl::together(
          ranks, [&] { memory.emplace(exec, is_on_device<OpenedOf<Inner, Exec, Scalar>>, ranks); });
      largest = 1.1 * Impl::largest_eigenvalue(*memory, A, inner_, options_.lanczos_steps);
    }
    bool const usable = largest > 0 && std::isfinite(largest);
    auto const weights = weights_for(usable ? largest : 1);
    auto const table =
        Impl::allocate_view<Weights>(exec, "Solder::chebyshev::weights", weights.size());
    auto const staging =
        Impl::allocate_view<Kokkos::View<Impl::ChebyshevWeights*, Kokkos::HostSpace>>(
            Kokkos::DefaultHostExecutionSpace(), "Solder::chebyshev::staging", weights.size());
    exec.fence("Solder::chebyshev: staging is free");
    for (std::size_t k = 0; k < weights.size(); ++k) staging(k) = weights[k];
    Impl::copy(exec, table, staging);
    exec.fence("Solder::chebyshev: set up");
    return {A, table, largest, timer.seconds(), usable ? std::string() : failure_of(largest)};
  }

  double theta(double largest) const { return largest * (1 + options_.eigenvalue_fraction) / 2; }

  std::vector<Impl::ChebyshevWeights> weights_for(double largest) const {
    double const delta = largest * (1 - options_.eigenvalue_fraction) / 2,
                 sigma = theta(largest) / delta;
    std::vector<Impl::ChebyshevWeights> weights;
    double rho = 1 / sigma;
    for (int k = 0; k < options_.degree; ++k) {
      double const next = 1 / (2 * sigma - rho), of_change = next * rho;
      // z_0 - z_-1 is z_0.
      weights.push_back({k == 0 ? 1 + of_change : 1, k == 0 ? 0 : of_change, 2 * next / delta});
      rho = next;
    }
    return weights;
  }
  double usable_largest() const { return state_->failure.empty() ? state_->largest : 1; }
  static std::string failure_of(double largest) {
    return "the largest eigenvalue of M A, M the inner preconditioner of chebyshev, is estimated "
           "as " +
           Impl::rounded_text(largest / 1.1) + ": it must be positive and finite";
  }

  ChebyshevOptions options_;
  Inner inner_;
  std::shared_ptr<State> state_;  // shared by copies: refresh affects all
};

template <class Exec, class Matrix>
Chebyshev(Exec const&, Matrix const&) -> Chebyshev<Exec, Matrix>;
template <class Exec, class Matrix>
Chebyshev(Exec const&, Matrix const&, ChebyshevOptions const&) -> Chebyshev<Exec, Matrix>;
template <class Exec, class Matrix, class Inner>
Chebyshev(Exec const&, Matrix const&, Inner const&) -> Chebyshev<Exec, Matrix, Inner>;
template <class Exec, class Matrix, class Inner>
Chebyshev(Exec const&, Matrix const&, Inner const&, ChebyshevOptions const&)
    -> Chebyshev<Exec, Matrix, Inner>;

}  // namespace Solder
