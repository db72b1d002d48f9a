// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <solder/core/open.hpp>
#include <solder/preconditioners/detail/preconditioner_base.hpp>
#include <solder/preconditioners/scaling.hpp>

namespace Solder {

namespace Impl {

/// \brief s = P Dr r. Words: 2 a row, and the factors and places.
template <class Scalar>
struct ScaleRows {
  typename ScalarTraits<Scalar>::Real const* factors;
  std::int32_t const* places;  ///< null: rows stay where they are
  std::int32_t columns;        ///< vector entries per row: the number of right-hand sides
  Scalar* s;

  bool operator==(ScaleRows const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t i, Scalar const& r) const {
    std::int32_t const of = row_of_entry(i, columns);
    std::int32_t const to = places == nullptr ? i : places[of] * columns + (i - of * columns);
    s[to] = factors[of] * r;
  }
};

/// \brief z = Dc z', where the source hands out z'.
template <class Scalar>
struct ScaleColumns {
  typename ScalarTraits<Scalar>::Real const* factors;
  std::int32_t columns;

  bool operator==(ScaleColumns const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION Scalar operator()(At const&, std::int32_t i, Scalar const& z) const {
    return factors[row_of_entry(i, columns)] * z;
  }
};

/// \brief An opened preconditioner of any shape, as one that is neither pointwise nor split.
template <class Opened>
struct AsRows {
  static constexpr bool is_identity = false, is_pointwise = false, is_split = false;
  static constexpr bool on_device = is_on_device<Opened>, waits = Solder::waits<Opened>,
                        takes_columns = Solder::takes_columns<Opened>;

  Opened m;
  Rows dealt;  ///< vectors, for stages of what is pointwise
  std::int32_t league;

  Rows rows(Rows const& of_matrix) const {
    if constexpr (Opened::is_pointwise)
      return of_matrix;
    else
      return m.rows(of_matrix);
  }
  /// \param r_given a pointer, or a Place
  template <class Vector>
  auto apply(Phase phase, Vector const& r_given) const {
    auto const r = as_read(r_given);
    if constexpr (Opened::is_pointwise)
      return application(program(),
                         mapped(PlacedRange<std::remove_const_t<decltype(r)>>{dealt, league, r},
                                PointwiseOf<Opened>{m}));
    else
      return m.apply(phase, r);
  }
};

template <class Exec, class Opened>
AsRows<Opened> as_rows(Arena<Exec>& arena, Opened const& m, std::int32_t rows) {
  Rows const dealt = arena.equal_rows(rows);
  return {m, dealt, arena.teams(dealt.teams)};
}

/// \brief Dc M' P Dr in a program.
template <class Scalar, class Inner, bool Columns>
struct ScaledOpened {
  static constexpr bool is_identity = false, is_pointwise = false, is_split = false;
  static constexpr bool on_device = is_on_device<Inner>, waits = Solder::waits<Inner>;
  static constexpr bool takes_columns = Columns;

  AsRows<Inner> inner;
  ScaleRows<Scalar> before;
  ScaleColumns<Scalar> after;

  Rows rows(Rows const& of_matrix) const { return inner.rows(of_matrix); }

  /// \param r_given a pointer, or a Place
  template <class Vector>
  auto apply(Phase phase, Vector const& r_given) const {
    auto const r = as_read(r_given);
    using R = std::remove_const_t<decltype(r)>;
    Scalar const* const s = before.s;
    auto const Ms = inner.apply(phase, s);
    return application(program(stage("Solder::scaled::begin", phase,
                                     PlacedRange<R>{inner.dealt, inner.league, r}, before),
                               Ms.before),
                       mapped(Ms.rows, after));
  }
};

}  // namespace Impl

/// \brief z = Dc M' P Dr r, where M' is any preconditioner made of A' = P Dr A Dc, the matrix of a
/// Scaling. It is a preconditioner for A: what solvers know of x, b and residuals is not scaled.
///
///     Solder::Scaling scaling(exec, A, {Solder::Scale::equilibrate, Solder::Match::product});
///     Solder::Incomplete of_scaled(exec, scaling.matrix(), Solder::Factorisation::ilut);
///     Solder::Scaled M(exec, scaling, of_scaled);
///
/// After the values of A have changed: scaling.refresh(exec, A), then the inner one's refresh(exec,
/// scaling.matrix()); this one shares both. It is Hermitian positive definite, for CG, if M' is and
/// the scaling is symmetric (ScalingOptions::is_symmetric).
///
/// Cost of an application beside M': a kernel, and a factor in the kernel that takes z.
template <class Scalar, class Exec, class Inner, class Offset = std::int32_t>
class Scaled : public Impl::PreconditionerBase<Scaled<Scalar, Exec, Inner, Offset>, Exec, Scalar> {
 public:
  /// \brief Type of the vectors.
  using scalar_type = Scalar;

  /// \brief Takes what is there: no work. \throws std::invalid_argument if M' has another size
  Scaled(Exec const&, Scaling<Scalar, Exec, Offset> const& scaling, Inner const& M)
      : scaling_(scaling), inner_(M) {
    check_rows("take a preconditioner of scaling.matrix()");
  }

  /// \brief Whether the values of A have changed since the scaling, or since M' was made.
  bool is_stale() const { return scaling_.is_stale() || Impl::is_stale(inner_); }
  /// \brief Rows of A.
  std::int32_t rows() const { return scaling_.rows(); }
  /// \brief M'.
  Inner const& inner() const { return inner_; }
  /// \brief The scaling, and the set-up of M'.
  SetupReport setup() const {
    SetupReport setup;
    if constexpr (requires { inner_.setup(); }) setup = inner_.setup();
    setup.phases.insert(setup.phases.begin(), {"scaling", scaling_.seconds()});
    return setup;
  }
  /// \brief A sentence that says why it cannot be applied; empty if it can.
  std::string failure() const {
    if (std::string const why = scaling_.failure(); !why.empty()) return why;
    if constexpr (requires { inner_.failure(); })
      return inner_.failure();
    else
      return {};
  }
  /// \brief Words of sizeof(Of) that one application moves, not counting its operand and result.
  template <class Of>
  double words(std::int32_t rows) const {
    return inner_.template words<Of>(rows) + 4.0 * rows;
  }

  /// \brief Whether M' takes vectors of several right-hand sides.
  bool takes_columns() const { return Impl::is_for_columns<Exec>(inner_); }

  /// \brief What solvers embed in their programs; see Application.
  /// \throws std::invalid_argument if only one of the two was refreshed for another size
  auto open(Arena<Exec>& arena) const {
    check_rows("refresh the scaling, and then its preconditioner with scaling.matrix()");
    std::int32_t const columns = arena.columns();
    return Impl::ScaledOpened<Scalar, OpenedOf<Inner, Exec, Scalar>,
                              Solder::takes_columns<Impl::OpenedAsGiven<Inner, Exec>>>{
        Impl::as_rows(arena, open_preconditioner<Scalar>(arena, inner_), rows()),
        {scaling_.row_factors().data(),
         scaling_.row_places().extent(0) > 0 ? scaling_.row_places().data() : nullptr, columns,
         arena.template vector<Scalar>("Solder::scaled::s", rows())},
        {scaling_.column_factors().data(), columns}};
  }

 private:
  void check_rows(char const* what) const {
    if (inner_.rows() >= 0 && inner_.rows() != rows())
      throw std::invalid_argument("Solder::Scaled: the scaling has " + std::to_string(rows()) +
                                  " rows, and its preconditioner " + std::to_string(inner_.rows()) +
                                  ": " + what);
  }

  Scaling<Scalar, Exec, Offset> scaling_;
  Inner inner_;
};

template <class Exec, class Scalar, class Offset, class Inner>
Scaled(Exec const&, Scaling<Scalar, Exec, Offset> const&, Inner const&)
    -> Scaled<Scalar, Exec, Inner, Offset>;

}  // namespace Solder
