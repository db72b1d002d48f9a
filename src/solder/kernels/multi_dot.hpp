// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include <solder/core/allocate.hpp>
#include <solder/core/runners/team_policy.hpp>
#include <solder/kernels/tall_basis.hpp>
#include <solder/matrix/partition.hpp>

namespace Solder {

namespace Impl {

/// \brief Computes the teams' shares of all inner products, in one pass over the basis.
template <class Scalar>
struct MultiDotShares {
  TallBasis<Scalar const> V;
  Scalar const* y;
  double *partials, *host_workspace;
  Rows rows;
  std::int32_t count, teams;

  template <class Where>
  KOKKOS_FUNCTION void operator()(Where const& where) const {
    if constexpr (std::is_integral_v<Where>)
      execute(HostTeam{static_cast<int>(where), teams});
    else
      execute(DeviceTeam<Where>(where, where.league_rank(), teams, 0));
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void execute(Team const& team) const {
    multi_dot<Scalar>(team, rows, V, count, y, partials,
                      team.workspace(host_workspace, multi_dot_workspace<Scalar>(count)),
                      [] { return true; });
  }
};

/// \brief Adds up the shares.
template <class Scalar>
struct MultiDotTotals {
  double const* partials;
  Wide<Scalar>* products;
  std::int32_t count, teams;

  template <class Where>
  KOKKOS_FUNCTION void operator()(Where const& where) const {
    if constexpr (std::is_integral_v<Where>)
      execute(HostTeam{0, 1});
    else
      execute(DeviceTeam<Where>(where, 0, 1, 0));
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void execute(Team const& team) const {
    double* const values = reinterpret_cast<double*>(products);
    for_each_total(
        team, count * std::int32_t(parts<Scalar>), teams, partials,
        [](std::int32_t) { return 1.0; },
        [&](std::int32_t v, double total, double) { values[v] = total; });
  }
};

}  // namespace Impl

/// \brief A plan for the merged inner products h_k = (v_k, y) of the columns of a tall basis with
/// one vector (paper 5, section 4). It is made once and used for any number of columns up to
/// most_columns.
///
/// Two kernels, no fence; words: (columns + 1) * rows, once each. Sums are double (complex double),
/// in a fixed order.
template <class Scalar, class Exec>
class MultiDot {
 public:
  /// \brief The basis and y, in the memory of Exec.
  using Vector = Kokkos::View<Scalar const*, typename Exec::memory_space>;
  /// \brief The inner products, in the memory of Exec.
  using Products = Kokkos::View<Wide<Scalar>*, typename Exec::memory_space>;

  /// \brief For vectors of this many rows and a basis of up to most_columns columns; allocates.
  /// \throws std::invalid_argument if most_columns is not from 1 to 4096 or rows is negative
  /// \throws std::length_error if there are more rows than kernels support: 2^31 - 2^22 - 1
  MultiDot(Exec const& exec, std::int32_t rows, std::int32_t most_columns)
      : exec_(exec), rows_(rows), most_columns_(most_columns) {
    if (rows < 0 || most_columns < 1 || most_columns > 4096)
      throw std::invalid_argument("Solder::MultiDot: rows must not be negative (" +
                                  std::to_string(rows) + "), and columns must be from 1 to 4096 (" +
                                  std::to_string(most_columns) + ")");
    if (rows > Impl::most_rows)
      throw std::length_error("Solder::MultiDot: at most " + std::to_string(Impl::most_rows) +
                              " rows, not " + std::to_string(rows));
    slices_ = is_host ? static_cast<int>(std::clamp<std::int64_t>(rows, 1, exec.concurrency())) : 1;
    teams_ = Impl::multi_dot_teams(exec, rows, slices_);
    std::size_t const shares = parts<Scalar> * std::size_t(most_columns) * teams_;
    partials_ = Impl::allocate_zero_view<Doubles>(exec, "Solder::multi_dot::shares", shares);
    if constexpr (is_host) {
      workspace_ = Impl::allocate_zero_view<Doubles>(
          exec, "Solder::multi_dot::workspace",
          std::size_t(Impl::multi_dot_workspace<Scalar>(most_columns)) * teams_);
      bounds_ = Impl::allocate_zero_view<decltype(bounds_)>(exec, "Solder::multi_dot::bounds",
                                                            slices_ + 1);
      for (int t = 0; t <= slices_; ++t)
        bounds_(t) = static_cast<std::int32_t>(std::int64_t(rows) * t / slices_);
    }
  }

  /// \brief products(k) = (v_k, y) for k < columns. Column v_k of the basis begins at
  /// basis + k * stride.
  /// \throws std::invalid_argument if columns, stride, basis, y and products are inconsistent
  void operator()(Vector const& basis, std::int64_t stride, std::int32_t columns, Vector const& y,
                  Products const& products) const {
    bool const fits =
        columns >= 0 && columns <= most_columns_ && stride >= rows_ &&
        y.extent(0) == std::size_t(rows_) && products.extent(0) >= std::size_t(columns) &&
        (columns == 0 || basis.extent(0) >= std::size_t(stride) * (columns - 1) + rows_);
    if (!fits)
      throw std::invalid_argument(
          "Solder::MultiDot: made for at most " + std::to_string(most_columns_) + " columns of " +
          std::to_string(rows_) + " rows; columns, stride, basis, y or products do not fit");
    if (columns == 0) return;
    Impl::MultiDotShares<Scalar> const shares{{basis.data(), stride},
                                              y.data(),
                                              partials_.data(),
                                              workspace_.data(),
                                              {rows_, teams_, bounds_.data()},
                                              columns,
                                              teams_};
    Impl::MultiDotTotals<Scalar> const totals{partials_.data(), products.data(), columns, teams_};
    constexpr int threads = Impl::multi_dot_threads;
    // If there are fewer columns than warps, each warp of a GPU leaves a sum there.
    constexpr int scratch =
        Impl::DeviceTeam<int>::scratch_bytes(0, Impl::multi_dot_workspace<Scalar>(1));
    Kokkos::parallel_for("Solder::multi_dot::shares",
                         Impl::team_policy<Exec, threads>(exec_, teams_, threads, scratch), shares);
    Kokkos::parallel_for("Solder::multi_dot::totals",
                         Impl::team_policy<Exec, threads>(exec_, 1, threads, scratch), totals);
  }

 private:
  static constexpr bool is_host = Impl::is_host_space<Exec>;
  using Doubles = Kokkos::View<double*, typename Exec::memory_space>;

  Exec exec_;
  std::int32_t rows_, most_columns_, slices_, teams_;
  Doubles partials_, workspace_;
  Kokkos::View<std::int32_t*, typename Exec::memory_space> bounds_;
};

}  // namespace Solder
