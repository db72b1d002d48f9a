// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include "typed.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <limits>
#include <solder/preconditioners/apply.hpp>
#include <solder/solver.hpp>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace Solder::Python {

/// \brief An index that 32 bits cannot hold becomes one that no matrix has.
struct Narrow {
  std::int64_t const* from;
  std::int32_t* to;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    to[k] = static_cast<std::int32_t>(from[k] < 0 || from[k] > most ? most : from[k]);
  }
};

namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using Device = Kokkos::DefaultExecutionSpace;
constexpr bool has_device = !Impl::is_host_space<Device>;

template <class Exec>
Exec exec_on([[maybe_unused]] void* stream) {
#if defined(__CUDACC__)
  if constexpr (!Impl::is_host_space<Exec>) return Exec(static_cast<cudaStream_t>(stream));
#elif defined(__HIPCC__)
  if constexpr (!Impl::is_host_space<Exec>) return Exec(static_cast<hipStream_t>(stream));
#endif
  return Exec();
}

/// \brief f(an instance of the space of this place).
template <class F>
auto with_exec(Place const& place, F const& f) {
  if constexpr (has_device)
    if (place.is_on_device) return f(exec_on<Device>(place.stream));
  if (place.is_on_device)
    throw std::invalid_argument("solder: these arrays are on a GPU, and this build has none (" +
                                spaces() + ")");
  return f(Host());
}

template <class Entry, class Exec>
using Entries =
    Kokkos::View<Entry*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

std::int32_t as_count(std::int64_t count) {
  if (count > Impl::most_rows)
    throw std::length_error("solder: at most " + std::to_string(Impl::most_rows) +
                            " rows and columns, not " + std::to_string(count));
  return static_cast<std::int32_t>(count);
}

/// \brief Column indices of 64 bits in 32.
template <class Exec>
Kokkos::View<std::int32_t*, typename Exec::memory_space> narrowed(Exec const& exec,
                                                                  std::int64_t const* from,
                                                                  std::int64_t count) {
  auto const narrow =
      Impl::allocate_view<Kokkos::View<std::int32_t*, typename Exec::memory_space>>(
          exec, "Solder::python::columns", std::size_t(count));
  Kokkos::parallel_for("Solder::python::narrow",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, count),
                       Narrow{from, narrow.data()});
  exec.fence("Solder::python: the column indices are narrow");
  return narrow;
}

/// \brief The matrix of these arrays, validated; f(matrix) has 32 or 64 bits for offsets.
template <class Offset, class T, class Exec>
CsrMatrix<T, Exec, Offset> wrapped(Exec const& exec, Arrays const& A) {
  using Matrix = CsrMatrix<T, Exec, Offset>;
  typename Matrix::Columns columns;
  if (A.has_long_indices)
    columns = narrowed(exec, static_cast<std::int64_t const*>(A.indices), A.nonzeros);
  else
    columns =
        typename Matrix::Columns(static_cast<std::int32_t const*>(A.indices), A.nonzeros);
  Matrix const matrix(
      exec, as_count(A.rows), as_count(A.columns),
      typename Matrix::Offsets(static_cast<Offset const*>(A.offsets), A.offsets_size), columns,
      typename Matrix::Values(static_cast<T const*>(A.values), A.nonzeros));
  matrix.validate(exec);
  return matrix;
}

template <class T, class Exec>
CsrMatrix<T, Exec> matrix_of(Exec const& exec, Arrays const& A) {
  if (A.has_long_offsets)
    return CsrMatrix<T, Exec>(exec, wrapped<std::int64_t, T>(exec, A));
  else
    return wrapped<std::int32_t, T>(exec, A);
}

/// \brief A matrix and, where its values are taken anew, others of its pattern.
template <class T, class Exec>
CsrMatrix<T, Exec> with_values(Exec const& exec, CsrMatrix<T, Exec> const& A, void const* values,
                               std::int64_t count) {
  return CsrMatrix<T, Exec>(
      exec, A.rows(), A.columns(), A.row_offsets(), A.column_indices(),
      typename CsrMatrix<T, Exec>::Values(static_cast<T const*>(values), count),
      {A.longest_row()});
}

/// \brief Of the arrays of a caller, who has changed them on this stream.
template <class Exec>
struct Order {
  Order(Exec const& exec, void* stream) : exec_(exec) {
    if constexpr (!Impl::is_host_space<Exec>) {
      other_ = exec_on<Exec>(stream);
      is_other_ = !(other_ == exec);
      if (is_other_) other_.fence("Solder::python: what another stream has left");
    }
  }
  void complete() const {
    if (is_other_) exec_.fence("Solder::python: for another stream");
  }

 private:
  Exec exec_, other_ = exec_;
  bool is_other_ = false;
};

template <class Entry, class Exec, class Of>
Entries<Entry, Exec> vector_of(Of const& of) {
  return Entries<Entry, Exec>(static_cast<Entry*>(of.data), of.rows);
}
template <class Entry, class Exec, class Of>
auto columns_of(Of const& of) {
  return Kokkos::View<Entry**, Kokkos::LayoutStride, typename Exec::memory_space,
                      Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
      static_cast<Entry*>(of.data),
      Kokkos::LayoutStride(of.rows, of.row_stride, std::max<std::int64_t>(of.columns, 0),
                           of.column_stride));
}

Coordinates coordinates_of(Points const& points) {
  return points.data == nullptr ? Coordinates()
                                : Coordinates(points.data, points.nodes, points.dimensions);
}

template <class T, class Exec>
class Typed final : public AnySolver {
 public:
  Typed(Exec const& exec, Arrays const& A, Wish const& wish)
      : exec_(exec),
        A_(matrix_of<T>(exec, A)),
        solver_(made(exec, A_, wish)) {}

  std::vector<Report> solve(Input const& b, Output const& x, void* stream) override {
    Order<Exec> const order(exec_, stream);
    std::vector<Report> reports;
    if (b.is_vector() && x.is_vector())
      reports.push_back(solver_.solve(vector_of<T const, Exec>(b), vector_of<T, Exec>(x)));
    else
      reports = solver_.solve(columns_of<T const, Exec>(b), columns_of<T, Exec>(x));
    order.complete();
    return reports;
  }
  void set_values(void const* values, std::int64_t count) override {
    if (values == A_.values().data() && count == A_.nonzeros()) return A_.values_changed();
    A_ = with_values(exec_, A_, values, count);
    solver_.set_matrix(A_);
  }
  void refresh() override { solver_.refresh(); }
  std::string describe() const override { return solver_.describe(); }
  std::string explain() const override { return solver_.explain(); }
  std::string name() const override { return std::string(solver_.name()); }
  std::string format() const override { return std::string(solver_.matrix_format()); }
  std::size_t workspace_bytes(std::int32_t columns) const override {
    return solver_.workspace_bytes(columns);
  }

 private:
  static Solver<T, Exec> made(Exec const& exec, CsrMatrix<T, Exec> const& A, Wish const& wish) {
    SolverInputs const inputs{.monitor = wish.monitor, .coordinates = coordinates_of(wish.points)};
    if (!wish.function) return Solder::make_solver(exec, A, wish.parameters, inputs);
    using Own = Apply<T, Exec>;
    auto const own = [f = wish.function](Exec const&, typename Own::Input const& r,
                                         typename Own::Output const& z) {
      f(r.data(), z.data(), std::int64_t(r.extent(0)));
    };
    return Solder::make_solver(exec, A, Own(A.rows(), own), wish.parameters, inputs);
  }

  Exec exec_;
  CsrMatrix<T, Exec> A_;
  Solver<T, Exec> solver_;
};

template <class T, class Exec>
class TypedPreconditioner final : public AnyPreconditioner {
 public:
  TypedPreconditioner(Exec const& exec, Arrays const& A, Wish const& wish)
      : exec_(exec),
        A_(matrix_of<T>(exec, A)),
        made_(Solder::make_preconditioner(exec, A_, wish.parameters,
                                          coordinates_of(wish.points))) {}

  void apply(Input const& r, Output const& z, void* stream) override {
    Order<Exec> const order(exec_, stream);
    if (r.is_vector() && z.is_vector())
      made_.apply(exec_, vector_of<T const, Exec>(r), vector_of<T, Exec>(z));
    else
      made_.apply(exec_, columns_of<T const, Exec>(r), columns_of<T, Exec>(z));
    if constexpr (Impl::is_host_space<Exec>) exec_.fence("Solder::python: z is complete");
    order.complete();
  }
  void set_values(void const* values, std::int64_t count) override {
    A_ = with_values(exec_, A_, values, count);
  }
  void refresh() override { made_.refresh(exec_, A_); }
  std::string describe() const override { return made_.describe(); }
  SetupReport setup() const override { return made_.setup(); }

 private:
  Exec exec_;
  CsrMatrix<T, Exec> A_;
  Preconditioner<T, Exec> made_;
};

}  // namespace

template <class T>
std::unique_ptr<AnySolver> make_typed_solver(Arrays const& A, Wish const& wish) {
  return with_exec(wish.place, [&]<class Exec>(Exec const& exec) {
    return std::unique_ptr<AnySolver>(std::make_unique<Typed<T, Exec>>(exec, A, wish));
  });
}
template <class T>
std::unique_ptr<AnyPreconditioner> make_typed_preconditioner(Arrays const& A, Wish const& wish) {
  return with_exec(wish.place, [&]<class Exec>(Exec const& exec) {
    return std::unique_ptr<AnyPreconditioner>(
        std::make_unique<TypedPreconditioner<T, Exec>>(exec, A, wish));
  });
}

template std::unique_ptr<AnySolver> make_typed_solver<SOLDER_SCALAR>(Arrays const&, Wish const&);
template std::unique_ptr<AnyPreconditioner> make_typed_preconditioner<SOLDER_SCALAR>(
    Arrays const&, Wish const&);

}  // namespace Solder::Python
