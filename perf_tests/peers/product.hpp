// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "peer.hpp"

/// \brief Other libraries' single kernels: matrix times vector, and merged inner products
namespace Solder::Perf {

/// \brief How to time a kernel: as many launches as are in a batch without a fence between them
struct Batches {
  int launches, batches;
  bool on_device;
  int threads;  ///< of the host
};

/// \brief Seconds of a launch, in each batch; after one batch to warm up.
template <class Launch, class Fence>
std::vector<double> time_batches(Batches const& request, Launch const& launch, Fence const& fence) {
  std::vector<double> seconds;
  for (int i = 0; i <= request.batches; ++i) {
    fence();
    auto const begin = Clock::now();
    for (int k = 0; k < request.launches; ++k) launch();
    fence();
    if (i > 0) seconds.push_back(seconds_between(begin, Clock::now()) / request.launches);
  }
  return seconds;
}

/// \brief Launches that take a few milliseconds together, so that the fence does not count.
inline int launches_for(double seconds) {
  return static_cast<int>(std::clamp(5e-3 / seconds, 1.0, 2000.0));
}

/// \brief One way in which a library formed a product
template <class Scalar>
struct Product {
  std::string variant;
  std::vector<double> seconds;  ///< of a launch, in each batch
  std::vector<Scalar> result;
  int columns = 0;  ///< of the basis; of a matrix not said
};

// A b, the product of the matrix with what PeerProblem calls the right side. Each returns its
// variants, or nothing when it does not run there; may throw std::exception. For float and double.
template <class Scalar>
std::vector<Product<Scalar>> multiply_with_eigen(PeerProblem<Scalar> const&, Batches const&);
template <class Scalar>
std::vector<Product<Scalar>> multiply_with_kokkos_kernels(PeerProblem<Scalar> const&,
                                                          Batches const&);
template <class Scalar>
std::vector<Product<Scalar>> multiply_with_vendor(PeerProblem<Scalar> const&, Batches const&);

/// \brief A tall basis V, column by column, and a vector y
template <class Scalar>
struct Basis {
  std::int32_t rows;
  int columns;
  std::vector<Scalar> const& values;
  std::vector<Scalar> const& y;
};

/// \brief Launches in a batch for `columns` columns, where the request says how many for one.
inline Batches for_columns(Batches request, int columns) {
  request.launches = std::max(3, request.launches * 2 / (columns + 1));
  return request;
}

// (v_k, y) for the first columns of the basis, as many as each of `counts` says. As above.
template <class Scalar>
std::vector<Product<Scalar>> multi_dot_with_kokkos_kernels(Basis<Scalar> const&,
                                                           std::vector<int> const& counts,
                                                           Batches const&);
template <class Scalar>
std::vector<Product<Scalar>> multi_dot_with_vendor(Basis<Scalar> const&,
                                                   std::vector<int> const& counts, Batches const&);

/// \brief Symmetric positive definite matrices of one order, one after the other, both triangles
/// stored: `count` of them, of which the first ones stand in `values` and the others repeat these
template <class Scalar>
struct MatrixBatch {
  int count, order;
  std::vector<Scalar> const& values;

  std::size_t entries_of_one() const { return std::size_t(order) * order; }
  int different() const { return static_cast<int>(values.size() / entries_of_one()); }
};

/// \brief Seconds of a launch of a factorization in place, in each batch of launches, each of which
/// has matrices of its own that restore() puts there; after one batch to warm up.
template <class Restore, class Launch, class Fence>
std::vector<double> time_in_place(Batches const& request, Restore const& restore,
                                  Launch const& launch, Fence const& fence) {
  std::vector<double> seconds;
  for (int i = 0; i <= request.batches; ++i) {
    restore();
    fence();
    auto const begin = Clock::now();
    for (int k = 0; k < request.launches; ++k) launch(k);
    fence();
    if (i > 0) seconds.push_back(seconds_between(begin, Clock::now()) / request.launches);
  }
  return seconds;
}

// The factors of the first different() matrices, order^2 entries each; the other triangle is any.
// As above.
template <class Scalar>
std::vector<Product<Scalar>> factor_with_vendor(MatrixBatch<Scalar> const&, Batches const&);

}  // namespace Solder::Perf
