// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <solder/matrix/host_csr.hpp>
#include <variant>
#include <vector>

#include "columns_file.hpp"
#include "config.hpp"

namespace Solder::Driver {

/// \brief A square matrix and right-hand sides of its size, in host memory. Where ranks have them
/// together: the rows of this rank, their columns being those of the whole matrix.
template <class T>
struct System {
  HostCsr<T> matrix;
  std::vector<T> rhs;                  ///< entry i of column c is number i * right_hand_sides() + c
  std::vector<std::int32_t> starts{};  ///< of a batch, see HostBatch; empty: not a batch
  Points points{};                     ///< the unknowns are their displacements; if known
  std::int32_t columns = 1;            ///< of the right-hand side
  std::int64_t nonzeros = 0;           ///< of all ranks
  std::int64_t first_row = 0;          ///< of this rank

  std::int32_t right_hand_sides() const { return columns; }
  /// \brief Of all ranks.
  std::int32_t rows() const { return matrix.columns_count; }
  std::uint64_t bytes() const {
    return matrix.row_offsets.size() * 8 + matrix.columns.size() * (4 + sizeof(T)) +
           rhs.size() * sizeof(T) + points.values.size() * 8;
  }
};

/// \brief Reads or generates the system of a run. Throws InputError for files that are missing,
/// malformed or do not fit the scalar, for a matrix that is empty or not square, and for a wrong
/// number of right-hand sides or points. Its message begins with where the matrix or the right-hand
/// side was given. Throws std::bad_alloc (see AllocationLimit) if the memory does not suffice.
///
/// All ranks call this together. The matrix of a grid is made by each for its own rows. What is
/// read, or random, is made by the first rank and dealt out, in slices of about equal work.
template <class T>
System<T> make_system(RunConfig const& run);

/// \brief Of how many rows all ranks but the last have a multiple: the unknowns of a node.
std::int32_t rows_together(RunConfig const& run);

using AnySystem =
    std::variant<std::shared_ptr<System<float> const>, std::shared_ptr<System<double> const>,
                 std::shared_ptr<System<Kokkos::complex<float>> const>,
                 std::shared_ptr<System<Kokkos::complex<double>> const>>;

/// \brief Makes systems and keeps the latest of them, so that files which were read for checking
/// need not be read again for solving.
class SystemStore {
 public:
  /// \brief Throws as make_system does.
  AnySystem get(RunConfig const& run);

 private:
  struct Item {
    ProblemConfig problem;
    std::int32_t rows_together;
    AnySystem system;
    std::uint64_t bytes;
  };
  std::deque<Item> items_;  ///< oldest first; the oldest are dropped beyond a limit
};

}  // namespace Solder::Driver
