// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Solvers and preconditioners whatever their scalar and space: what the module's Python
/// side sees of the library. Knows nothing of Python.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <solder/core/report.hpp>
#include <solder/parameters.hpp>
#include <string>
#include <vector>

namespace Solder::Python {

enum class Scalar { float32, float64, complex64, complex128 };

/// \brief Where arrays are, and the stream that their work goes to: null on hosts, and for the
/// default one.
struct Place {
  bool is_on_device = false;
  void* stream = nullptr;
};

/// \brief The arrays of a CSR matrix, which are not copied.
struct Arrays {
  std::int64_t rows, columns, offsets_size, nonzeros;
  void const *offsets, *indices, *values;
  bool has_long_offsets, has_long_indices;  ///< int64, else int32
};

/// \brief A vector, or columns; strides in scalars.
template <class Pointer>
struct VectorOf {
  Pointer data;
  std::int64_t rows, columns = -1, row_stride = 1, column_stride = 1;

  bool is_vector() const { return columns < 0; }
};
using Input = VectorOf<void const*>;
using Output = VectorOf<void*>;

/// \brief Points, [nodes][dimensions].
struct Points {
  double const* data = nullptr;
  std::size_t nodes = 0, dimensions = 0;
};

/// \brief z = M r of a user: (r, z, rows).
using Function = std::function<void(void const* r, void* z, std::int64_t rows)>;

/// \brief Solver<Scalar, Exec> of some types. Not for two threads at once.
class AnySolver {
 public:
  virtual ~AnySolver() = default;
  /// \brief Solves; a report for each column. x is complete on `stream`.
  virtual std::vector<Report> solve(Input const& b, Output const& x, void* stream) = 0;
  /// \brief Takes values of the same pattern, which are not copied.
  virtual void set_values(void const* values, std::int64_t count) = 0;
  virtual void refresh() = 0;
  virtual std::string describe() const = 0;
  virtual std::string explain() const = 0;
  virtual std::string name() const = 0;
  virtual std::string format() const = 0;
  virtual std::size_t workspace_bytes(std::int32_t columns) const = 0;
};

/// \brief Preconditioner<Scalar, Exec> of some types. Not for two threads at once.
class AnyPreconditioner {
 public:
  virtual ~AnyPreconditioner() = default;
  virtual void apply(Input const& r, Output const& z, void* stream) = 0;
  virtual void set_values(void const* values, std::int64_t count) = 0;
  virtual void refresh() = 0;
  virtual std::string describe() const = 0;
  virtual SetupReport setup() const = 0;
};

/// \brief What is made, beside the matrix.
struct Wish {
  Place place{};
  Parameters parameters{};
  Points points{};
  Monitor monitor{};
  Function function{};  ///< a user's preconditioner; may be empty
};

template <class T>
std::unique_ptr<AnySolver> make_typed_solver(Arrays const& A, Wish const& wish);
template <class T>
std::unique_ptr<AnyPreconditioner> make_typed_preconditioner(Arrays const& A, Wish const& wish);

/// \throws std::invalid_argument where this build does not have the scalar, or no device
std::unique_ptr<AnySolver> make_solver(Scalar scalar, Arrays const& A, Wish const& wish);
std::unique_ptr<AnyPreconditioner> make_preconditioner(Scalar scalar, Arrays const& A,
                                                       Wish const& wish);

/// \brief Starts Kokkos, unless somebody has; and ends it, if start() has started it.
void start();
void end();
/// \brief Of this Kokkos, for people: OpenMP, ...
std::string spaces();
int threads();

}  // namespace Solder::Python
