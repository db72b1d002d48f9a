// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/offsets.hpp>
#include <solder/matrix/product.hpp>
#include <solder/preconditioners/detail/amg/aggregates.hpp>
#include <solder/preconditioners/detail/amg/largest_entries.hpp>
#include <solder/preconditioners/detail/amg/prolongator.hpp>
#include <solder/preconditioners/detail/amg/splitting.hpp>

/// \file
/// \brief Classical interpolation of distance two, "extended+i" (De Sterck, Falgout, Nolting and
/// Yang 2008), as products and scalings of sparse matrices (Li, Sjoegreen and Yang 2021).
///
/// With t_ij the attraction of an entry (for an M-matrix -a_ij), F_i and C_i the fine and coarse
/// rows to which row i is coupled strongly, and W_i the others, the weights of a fine row i are
///
///     p_ij = (-a_ij + sum_{k in F_i} a_ik a_kj / s_ik) / d_i,  s_ik = t_ik + sum_{l in C_k} t_kl
///     d_i = a_ii - sum_{k in W_i} t_ik - sum_{k in F_i} t_ik^2 / s_ik
///
/// for the coarse j at distance one or two: the error of a fine k is taken to be the mean of those
/// of C_k and of i, and that of a weakly coupled k to be that of i (both up to the phases of
/// complex entries). If row i sums to 0, its weights sum to 1.

namespace Solder::Impl::amg {

/// \brief Entries of a row of the interpolation.
inline constexpr int most_extended = 4;

/// \brief What share of the largest entry of its row an entry of the swept interpolation must have
/// to stay. The cycle stays Hermitian, for the restriction is still the adjoint. Complex entries
/// all stay: what a row needs in place of the lost ones depends on their phases.
template <class Scalar>
inline constexpr double extended_share = ScalarTraits<Scalar>::is_complex ? 0 : 0.02;

/// \brief The most that the weights of a row may sum to; else they are scaled to sum to 1. (Rows of
/// M-matrices whose entries sum to 0 or more have weights that sum to at most 1.)
inline constexpr double most_weight = 2;

/// \brief The two factors of the fine rows' interpolation, with rows numbered as in A and coarse
/// ones empty: row i of `first` has 1 / d_i in column i and -a_ik / (s_ik d_i) for k in F_i, row k
/// of `second` -a_kj for j in C_k.
template <class Scalar, class Exec>
struct ExtendedFactors {
  CsrMatrix<Scalar, Exec> first, second;
};

/// \param graph of A's strong couplings
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS ExtendedFactors<Scalar, Exec> extended_factors(
    Exec const& exec, CsrMatrix<Scalar, Exec> const& matrix, Graph<Exec> const& graph,
    Splitting<Exec> const& splitting) {
  using Policy = Kokkos::RangePolicy<Exec>;
  auto const A = matrix.device_operator();
  std::int32_t const n = matrix.rows();
  std::int32_t const* const number = splitting.number.data();
  char const* const strong = graph.strong.data();
  auto const sums_view = allocate<double>(exec, "Solder::amg::coarse_sums", n);
  auto const first_offsets =
                 allocate<std::int32_t>(exec, "Solder::csr::row_offsets", n + std::int64_t(1)),
             second_offsets =
                 allocate<std::int32_t>(exec, "Solder::csr::row_offsets", n + std::int64_t(1));
  double* const sums = sums_view.data();  // of t_kl over C_k
  std::int32_t *const first = first_offsets.data(), *const second = second_offsets.data();
  Kokkos::parallel_for(
      "Solder::amg::coarse_sums", Policy(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
        double sum = 0;
        std::int32_t fine = 1, coarse = 0;
        for (std::int32_t k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
          if (strong[k] == 0) continue;
          if (number[A.columns[k]] < 0) {
            ++fine;
          } else {
            ++coarse;
            sum += Attraction()(A.values[k]);
          }
        }
        sums[i] = sum;
        first[i] = number[i] < 0 ? fine : 0;
        second[i] = number[i] < 0 ? coarse : 0;
      });
  auto const of_first = offsets_of_lengths(exec, first, n, LengthsInArray<std::int32_t>{first}),
             of_second = offsets_of_lengths(exec, second, n, LengthsInArray<std::int32_t>{second});
  check_entries<CsrMatrix<Scalar, Exec>>(of_first.nonzeros);
  auto const first_columns =
                 allocate<std::int32_t>(exec, "Solder::csr::columns", of_first.nonzeros),
             second_columns =
                 allocate<std::int32_t>(exec, "Solder::csr::columns", of_second.nonzeros);
  auto const first_values = allocate<Scalar>(exec, "Solder::csr::values", of_first.nonzeros),
             second_values = allocate<Scalar>(exec, "Solder::csr::values", of_second.nonzeros);
  std::int32_t *const to_first_columns = first_columns.data(), *const to_second_columns =
                                                                   second_columns.data();
  Scalar *const to_first = first_values.data(), *const to_second = second_values.data();
  Kokkos::parallel_for(
      "Solder::amg::extended", Policy(exec, 0, n), KOKKOS_LAMBDA(std::int32_t i) {
        if (number[i] >= 0) return;
        // The weights times d_i sum to `sum`.
        double d = 0, sum = sums[i];
        for (std::int32_t k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
          std::int32_t const j = A.columns[k];
          if (j == i) {
            d += real_part(A.values[k]);
          } else {
            double const t = Attraction()(A.values[k]);
            if (strong[k] == 0) {
              d -= t;
            } else if (number[j] < 0) {
              double const share = t / (t + sums[j]);
              d -= t * share;
              sum += sums[j] * share;
            }
          }
        }
        if (!(sum <= most_weight * d)) d = sum;
        double const factor = sum > 0 ? 1 / d : 0;
        std::int32_t at = first[i], beside = second[i];
        to_first_columns[at] = i;
        to_first[at++] = Scalar(to_real<Scalar>(factor));
        for (std::int32_t k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
          if (strong[k] == 0) continue;
          std::int32_t const j = A.columns[k];
          if (number[j] < 0) {
            double const s = Attraction()(A.values[k]) + sums[j];
            to_first_columns[at] = j;
            to_first[at++] = narrow<Scalar>(-factor * (Wide<Scalar>(A.values[k]) * (1 / s)));
          } else {
            to_second_columns[beside] = number[j];
            to_second[beside++] = -A.values[k];
          }
        }
      });
  exec.fence("Solder::amg: the factors of the interpolation are ready");
  return {{exec, n, n, first_offsets, first_columns, first_values, {of_first.longest}},
          {exec,
           n,
           splitting.count,
           second_offsets,
           second_columns,
           second_values,
           {of_second.longest}}};
}

/// \brief All entries of a matrix, as largest_entries takes them.
template <class Scalar>
struct EveryEntry {
  CsrOperator<Scalar, std::int32_t> A;

  KOKKOS_FUNCTION double size(std::int32_t, std::int32_t k) const { return magnitude(A.values[k]); }
  KOKKOS_FUNCTION static bool may_stay(std::int32_t) { return true; }
  KOKKOS_FUNCTION std::int32_t column(std::int32_t k) const { return A.columns[k]; }
  KOKKOS_FUNCTION Scalar value(std::int32_t, std::int32_t k) const { return A.values[k]; }
};

/// \brief The interpolation of distance two, truncated to its largest entries. Fine rows without
/// strong couplings are empty: they are left to the sweeps.
/// \param graph of A's strong couplings
template <class Scalar, class Exec>
CsrMatrix<Scalar, Exec> extended_interpolation(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                               Graph<Exec> const& graph,
                                               Splitting<Exec> const& splitting,
                                               ProductMemory<Exec>& memory) {
  auto const all = Temporaries<Exec>::temporarily([&] {
    auto const factors = extended_factors(exec, A, graph, splitting);
    return Impl::product(exec, factors.first, factors.second, memory);
  });
  return largest_entries<most_extended, Scalar>(exec, EveryEntry<Scalar>{all.device_operator()},
                                                splitting.number.data(), splitting.count);
}

}  // namespace Solder::Impl::amg
