// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/made_of.hpp>
#include <solder/core/report.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/matching.hpp>
#include <solder/preconditioners/detail/scaling/equilibrate.hpp>
#include <solder/preconditioners/detail/triangular/device.hpp>
#include <solder/preconditioners/scaling_options.hpp>

namespace Solder {

/// \brief A' = P Dr A Dc, for a preconditioner to be made of: Dr and Dc scale rows and columns by
/// powers of two, which rounds nothing, and P permutes rows. Scaled applies what is made of A' to
/// vectors of A; so x, b and residuals are not scaled.
///
/// With `match: product`, P brings to the diagonal the entries whose product is the largest
/// (matrix/matching.hpp), and `scale: equilibrate` takes the factors that come with them: each
/// diagonal entry is then between 1/2 and 2, and no other is above 2. Without a matching it
/// equilibrates: the largest entry of each row and column is near 1.
///
/// P and the factors are found on the host, once for a pattern. refresh() keeps them, and takes new
/// values on the device. If no row can be matched with each column, A is singular whatever its
/// values are, and failure() says so.
///
/// Memory: the values of A', two factors a row; with a matching also A's pattern, and a number a
/// row.
template <class Scalar, class Exec, class Offset = std::int32_t>
class Scaling {
 public:
  /// \brief Type of the entries.
  using scalar_type = Scalar;
  /// \brief Type of A and of A'.
  using Matrix = CsrMatrix<Scalar, Exec, Offset>;
  /// \brief Type of the factors.
  using Real = typename ScalarTraits<Scalar>::Real;

  /// \brief Finds P, Dr and Dc, and makes A'.
  /// \throws std::invalid_argument if A is not square, or if a matching is asked for and the
  /// factors are to be symmetric
  Scaling(Exec const& exec, Matrix const& A, ScalingOptions const& options) : options_(options) {
    check(options, name);
    if (options.is_symmetric && options.match != Match::none)
      throw std::invalid_argument(std::string(name) +
                                  ": match: product permutes rows but not columns, so the matrix "
                                  "is no longer Hermitian: take match: none");
    state_ = std::make_shared<State>();
    make(exec, A);
  }

  /// \brief Takes new values, with the old P, Dr and Dc if A has the same pattern as before: two
  /// kernels. What is made of matrix() is to be refreshed afterwards.
  void refresh(Exec const& exec, Matrix const& A) {
    if (!has_pattern_of(exec, A)) return make(exec, A);
    Impl::with_memory_for(name, A.rows(), A.nonzeros(), [&] { take_values(exec, A); });
    state_->matrix->values_changed();
    state_->of = Impl::made_of(A);
  }

  /// \brief A'.
  Matrix const& matrix() const { return *state_->matrix; }
  /// \brief Rows of A.
  std::int32_t rows() const { return state_->matrix->rows(); }
  /// \brief What it was made with.
  ScalingOptions const& options() const { return options_; }
  /// \brief Whether the values of A have changed since.
  bool is_stale() const { return state_->of.is_stale(); }
  /// \brief A sentence that says why A' is singular; empty if that is not known.
  std::string failure() const { return state_->failure; }
  /// \brief Seconds that the set-up took.
  double seconds() const { return state_->seconds; }
  /// \brief Dr: the factor of each row of A; on the device.
  auto const& row_factors() const { return state_->of_rows; }
  /// \brief Dc: the factor of each column of A; on the device.
  auto const& column_factors() const { return state_->of_columns; }
  /// \brief P: the row of A' that each row of A becomes; on the device, and empty without a
  /// matching.
  auto const& row_places() const { return state_->places; }

  /// \cond kernels
  /// \brief The values of A' from those of A, and its rows' places. Words: 2 an entry.
  struct Fill {
    Offset const *from, *to;
    std::int32_t const* columns;
    std::int32_t const* places;  ///< null: rows stay where they are
    Real const *of_rows, *of_columns;
    Scalar const* values;
    Scalar* scaled;

    KOKKOS_FUNCTION void operator()(std::int32_t i) const {
      Offset const begin = from[i], at = to[places == nullptr ? i : places[i]];
      for (Offset k = begin; k < from[i + 1]; ++k)
        scaled[at + (k - begin)] = of_rows[i] * values[k] * of_columns[columns[k]];
    }
  };
  /// \brief Whether a row of A differs from the one that it became.
  struct Compare {
    Offset const *from, *to;
    std::int32_t const *columns, *scaled, *places;

    KOKKOS_FUNCTION void operator()(std::int32_t i, std::int32_t& different) const {
      Offset const begin = from[i], length = from[i + 1] - begin;
      std::int32_t const place = places == nullptr ? i : places[i];
      if (to[place + 1] - to[place] != length) {
        different = 1;
        return;
      }
      for (Offset k = 0; k < length; ++k)
        if (columns[begin + k] != scaled[to[place] + k]) different = 1;
    }
  };
  /// \endcond

 private:
  static constexpr char const* name = "Solder::Scaling";
  using Indices = Kokkos::View<std::int32_t*, typename Exec::memory_space>;
  using Factors = Kokkos::View<Real*, typename Exec::memory_space>;
  using Values = Kokkos::View<Scalar*, typename Exec::memory_space>;
  struct State {
    std::shared_ptr<Matrix> matrix;
    Values values = Impl::no_view<Values>();
    Indices places = Impl::no_view<Indices>();
    Factors of_rows = Impl::no_view<Factors>(), of_columns = of_rows;
    Impl::MadeOf of;
    std::string failure;
    double seconds = 0;
  };

  bool has_pattern_of(Exec const& exec, Matrix const& A) const {
    if (A.rows() != rows() || A.columns() != rows() || A.nonzeros() != matrix().nonzeros())
      return false;
    std::int32_t different = 0;
    Kokkos::parallel_reduce(
        "Solder::scaling::compare", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
        Compare{A.row_offsets().data(), matrix().row_offsets().data(), A.column_indices().data(),
                matrix().column_indices().data(), state_->places.data()},
        Kokkos::Max<std::int32_t>(different));
    return different <= 0;
  }

  void make(Exec const& exec, Matrix const& A) {
    if (A.rows() != A.columns())
      throw std::invalid_argument(std::string(name) + ": a square matrix is needed, not " +
                                  std::to_string(A.rows()) + " x " + std::to_string(A.columns()));
    Kokkos::Timer timer;
    State made;
    Impl::with_memory_for(name, A.rows(), A.nonzeros(), [&] {
      made = analysed(exec, A);
      take_values(exec, A, made);
    });
    made.of = Impl::made_of(A);
    made.seconds = timer.seconds();
    *state_ = std::move(made);
  }

  State analysed(Exec const& exec, Matrix const& A) const {
    std::int32_t const n = A.rows();
    auto const begin = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.row_offsets());
    auto const columns =
        Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.column_indices());
    auto const values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.values());
    Impl::scaling::Logarithms<Offset> logarithms{n, begin.data(), columns.data(), {}};
    logarithms.of.resize(columns.extent(0));
    for (std::size_t k = 0; k < logarithms.of.size(); ++k) {
      double const size = std::log2(Impl::size_of(values(k)));
      logarithms.of[k] = size < std::numeric_limits<double>::infinity() ? size : 0;
    }
    State made;
    std::vector<double> of_rows(n, 0), of_columns(n, 0);
    made.values = Impl::allocate<Scalar>(exec, "Solder::scaling::values", A.nonzeros());
    if (options_.match == Match::none) {
      if (options_.scale == Scale::equilibrate)
        Impl::scaling::equilibrate(logarithms, options_.is_symmetric, of_rows, of_columns);
      made.matrix = std::make_shared<Matrix>(exec, n, n, A.row_offsets(), A.column_indices(),
                                             typename Matrix::Values(made.values));
    } else {
      auto const found = Impl::scaling::ProductMatching<Offset>(logarithms).made();
      if (found.unmatched > 0)
        made.failure = "A is structurally singular: " + std::to_string(found.unmatched) +
                       " of its " + std::to_string(n) +
                       " rows cannot be matched with a column of their own; take match: none if b "
                       "is in the range of A";
      if (options_.scale == Scale::equilibrate) {
        of_rows = found.of_rows;
        of_columns = found.of_columns;
      }
      std::vector<std::int32_t> row_at(n), all;
      for (std::int32_t i = 0; i < n; ++i) row_at[found.column[i]] = i;
      std::vector<Offset> to{0};
      to.reserve(std::size_t(n) + 1);
      all.reserve(columns.extent(0));
      for (std::int32_t const i : row_at) {
        all.insert(all.end(), columns.data() + begin(i), columns.data() + begin(i + 1));
        to.push_back(static_cast<Offset>(all.size()));
      }
      made.places = Impl::triangular::on_device(exec, found.column);
      made.matrix = std::make_shared<Matrix>(
          exec, n, n, typename Matrix::Offsets(Impl::triangular::on_device(exec, to)),
          typename Matrix::Columns(Impl::triangular::on_device(exec, all)),
          typename Matrix::Values(made.values));
    }
    made.of_rows = Impl::triangular::on_device(exec, powers_of_two(of_rows));
    made.of_columns = Impl::triangular::on_device(exec, powers_of_two(of_columns));
    return made;
  }

  /// \brief The nearest powers of two, within the square root of the range: then the product of two
  /// factors and an entry overflows on the way only if it overflows itself.
  static std::vector<Real> powers_of_two(std::vector<double> const& exponents) {
    constexpr double most = sizeof(Real) == 4 ? 60 : 500;
    std::vector<Real> powers(exponents.size());
    for (std::size_t i = 0; i < powers.size(); ++i)
      powers[i] = static_cast<Real>(
          std::ldexp(1.0, static_cast<int>(std::lround(std::clamp(exponents[i], -most, most)))));
    return powers;
  }

  void take_values(Exec const& exec, Matrix const& A) const { take_values(exec, A, *state_); }
  static void take_values(Exec const& exec, Matrix const& A, State const& state) {
    Kokkos::parallel_for("Solder::scaling::values", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()),
                         Fill{A.row_offsets().data(), state.matrix->row_offsets().data(),
                              A.column_indices().data(), state.places.data(), state.of_rows.data(),
                              state.of_columns.data(), A.values().data(), state.values.data()});
    exec.fence("Solder::scaling: the values are scaled");
  }

  ScalingOptions options_;
  std::shared_ptr<State> state_;  // shared by copies: refresh affects all
};

template <class Exec, class Scalar, class Offset>
Scaling(Exec const&, CsrMatrix<Scalar, Exec, Offset> const&, ScalingOptions const&)
    -> Scaling<Scalar, Exec, Offset>;

}  // namespace Solder
