// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Nonsymmetric systems for the tests of BiCGStab and GMRES, in every scalar.

#include "solve.hpp"

#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/random.hpp>
#include <solder/problems/waves.hpp>

namespace SolderTest {

/// \brief An entry of a matrix, whatever the scalar; real scalars take the real part.
template <class Scalar>
Scalar entry(double real, double imaginary) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    return Scalar(Real(real), Real(imaginary));
  else
    return Real(real);
}

/// \brief Neither symmetric nor Hermitian, with rows of different scales; its Hermitian part is
/// definite up to those.
template <class Scalar>
HostCsr<Scalar> random_nonsymmetric(int rows, int nonzeros_per_row, unsigned seed) {
  auto A = Solder::random_spd<Scalar>(rows, nonzeros_per_row, seed);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
      if (A.columns[k] > i) A.values[k] *= entry<Scalar>(-0.5, 0.4);
      A.values[k] *= entry<Scalar>(1 + i % 4, 0.2 * (i % 3));
    }
  return A;
}

template <class Scalar>
struct Problem {
  std::string name;
  HostCsr<Scalar> A;
};

/// \brief Well-conditioned systems of a few hundred unknowns.
template <class Scalar>
std::vector<Problem<Scalar>> problems() {
  std::vector<Problem<Scalar>> list{
      {"convection_diffusion_2d", Solder::convection_diffusion_2d<Scalar>(15)},
      {"convection_diffusion_3d",
       Solder::convection_diffusion_3d<Scalar>(7, {9, 3, -4}, Solder::Convection::central)},
      {"random_nonsymmetric", random_nonsymmetric<Scalar>(300, 9, 1)}};
  if constexpr (Solder::ScalarTraits<Scalar>::is_complex)
    list.push_back({"helmholtz_2d", Solder::helmholtz_2d<Scalar>(17, 3, 0.5)});
  return list;
}

/// \brief A tolerance that plain loops reach in the scalar's own precision.
template <class Scalar>
constexpr double reachable = epsilon<Scalar> < 1e-10 ? 1e-9 : 1e-4;

template <class Scalar>
Complex inner(std::vector<Scalar> const& a, std::vector<Scalar> const& b) {
  Complex sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::conj(plain(a[i])) * plain(b[i]);
  return sum;
}

template <class Scalar>
std::vector<Scalar> inverse_if(bool jacobi, HostCsr<Scalar> const& A) {
  return jacobi ? inverse_diagonal(A) : std::vector<Scalar>{};
}

/// \brief Every scalar on the default space.
using CasesOfDefault = Cross<List<>, List<Kokkos::DefaultExecutionSpace>, float, double,
                             Kokkos::complex<float>, Kokkos::complex<double>>::type::Types;

}  // namespace SolderTest
