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

/// \brief A square matrix and right-hand sides of its size, in host memory.
template <class T>
struct System {
  HostCsr<T> matrix;
  std::vector<T> rhs;                  ///< entry i of column c is number i * right_hand_sides() + c
  std::vector<std::int32_t> starts{};  ///< of a batch, see HostBatch; empty: not a batch
  Points points{};                     ///< the unknowns are their displacements; if known

  std::int32_t right_hand_sides() const {
    return static_cast<std::int32_t>(rhs.size() / static_cast<std::size_t>(matrix.rows));
  }
  std::uint64_t bytes() const {
    return matrix.row_offsets.size() * 8 + matrix.columns.size() * (4 + sizeof(T)) +
           rhs.size() * sizeof(T) + points.values.size() * 8;
  }
};

/// \brief Reads or generates the system of a run. Throws InputError for files that are missing,
/// malformed or do not fit the scalar, for a matrix that is empty or not square, and for a wrong
/// number of right-hand sides or points. Its message begins with where the matrix or the right-hand
/// side was given. Throws std::bad_alloc (see AllocationLimit) if the memory does not suffice.
template <class T>
System<T> make_system(RunConfig const& run);

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
    AnySystem system;
    std::uint64_t bytes;
  };
  std::deque<Item> items_;  ///< oldest first; the oldest are dropped beyond a limit
};

}  // namespace Solder::Driver
