// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include "systems.hpp"

#include <exception>
#include <optional>
#include <solder/core/errors.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/format.hpp>
#include <solder/matrix/sell.hpp>
#include <solder/preconditioners/jacobi.hpp>

#include "columns.hpp"
#include "memory.hpp"
#include "symmetry.hpp"

namespace Solder::Driver {
namespace {

/// \brief Makes the preconditioner named `name` and calls f(preconditioner).
template <class T, class Exec, class Function>
void with_plain_preconditioner(std::string const& name, Exec const& exec,
                               PreconditionerConfig const& config, CsrMatrix<T, Exec> const& A,
                               Function const& f) {
  if (name == "none") f(Identity{});
  if (name == "jacobi") f(Jacobi<T, Exec>(exec, A));
  if (name == "fsai") f(FsaiMaker<T, Exec>::same(exec, A, config));
}

/// \brief Makes the run's preconditioner and calls f(preconditioner). It is made from A; a
/// polynomial is made from `matrix`, which is A in the format of the run.
template <class T, class Exec, class Matrix, class Function>
void with_preconditioner(Exec const& exec, RunConfig const& run, CsrMatrix<T, Exec> const& A,
                         Points const& points, Matrix const& matrix, Function const& f) {
  PreconditionerConfig const& config = run.preconditioner;
  bool const is_single = config.precision == "single" && !std::is_same_v<T, Single<T>>;
  if (config.name == "chebyshev") {
    using Of = Compiled::PolynomialMatrix<Matrix, T, Exec>;
    with_plain_preconditioner(config.inner, exec, config, A, [&](auto const& inner) {
      using Maker = ChebyshevMaker<Exec, Of, std::decay_t<decltype(inner)>>;
      if constexpr (std::is_same_v<Of, Matrix>)
        f(Maker::make(exec, matrix, inner, config));
      else
        f(Maker::make(exec, A, inner, config));
    });
  } else if (config.name == "fsai" && is_single) {
    f(FsaiMaker<T, Exec>::single(exec, A, config));
  } else if (config.name == "ic0" || config.name == "ilu0") {
    f(IncompleteMaker<T, Exec>::make(exec, A, config));
  } else if (config.name == "amg" && is_single) {
    f(AmgMaker<T, Exec, Single<T>>::make(exec, A, config, points));
  } else if (config.name == "amg") {
    f(AmgMaker<T, Exec, T>::make(exec, A, config, points));
  } else {
    with_plain_preconditioner(config.name, exec, config, A, f);
  }
}

/// \brief The matrix in the chosen padded format. InputError if it would not fit in the memory of a
/// host.
template <class T, class Exec>
SellMatrix<T, Exec> make_padded(Exec const& exec, CsrMatrix<T, Exec> const& A,
                                RowStatistics const& rows, MatrixFormat format) {
  bool const ell = format == MatrixFormat::ell;
  double const bytes = double(ell ? rows.ell_entries : rows.sell_entries) * (sizeof(T) + 4);
  if (Solder::Impl::is_host_space<Exec> && bytes > double(available_memory()))
    throw InputError(concat(to_string(format), " needs ", memory_text(bytes), " more memory; ",
                            memory_text(double(available_memory())), " is available"));
  return ell ? SellMatrix<T, Exec>::ell(exec, A) : SellMatrix<T, Exec>::sell(exec, A);
}

/// \brief Converts the matrix to the format of the run and calls f(matrix, the format and the
/// reason). If the format is automatic, CSR is used if memory does not suffice for another format,
/// or if CSR allows several right-hand sides to be solved at once.
template <class T, class Exec, class Function>
void with_matrix(Exec const& exec, RunConfig const& run, CsrMatrix<T, Exec> const& A, bool several,
                 Function const& f) {
  MatrixFormat wanted = MatrixFormat::automatic;
  for (MatrixFormat const format : {MatrixFormat::csr, MatrixFormat::sell, MatrixFormat::ell})
    if (to_string(format) == run.execution.matrix_format) wanted = format;
  if (run.problem.batch > 0) return f(A, {MatrixFormat::csr, "for a batch"});
  if ((several || is_block(run)) && wanted == MatrixFormat::automatic && takes_columns(run))
    return f(A, {MatrixFormat::csr, is_block(run) ? "for a block of right-hand sides"
                                                  : "for several right-hand sides at once"});
  RowStatistics const rows = row_statistics(exec, A);
  FormatChoice choice;
  std::optional<SellMatrix<T, Exec>> padded;
  try {
    choice = choose_format(wanted, rows, sizeof(T), Solder::Impl::is_host_space<Exec>);
    if (choice.format != MatrixFormat::csr) padded = make_padded(exec, A, rows, choice.format);
  } catch (std::exception const& error) {
    if (wanted != MatrixFormat::automatic)
      throw InputError(concat(run.where("execution.matrix_format"), ": execution.matrix_format: ",
                              run.problem.name, ": ", what_of(error)));
    choice = {MatrixFormat::csr, concat("no memory for ", to_string(choice.format))};
  }
  if (padded)
    f(*padded, choice);
  else
    f(A, choice);
}

}  // namespace

template <class T, class Exec>
SystemOn<T, Exec>::SystemOn(Exec const& exec, RunConfig const& run, System<T> const& of) {
  using ConstHostVector =
      Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  CsrMatrix<T, Exec> const A(exec, of.matrix);
  std::size_t const n = of.rhs.size();
  auto const vector = [&](char const* label) {
    return Impl::allocate_view<Kokkos::View<T*, Exec>>(exec, label, n);
  };
  b = vector("Solder::b");
  x = vector("Solder::x");
  Kokkos::deep_copy(exec, b, ConstHostVector(of.rhs.data(), n));
  exec.fence("Solder::driver: system copied");
  if (asks_for_symmetry(run)) {
    symmetry = check_symmetry(exec, A);
    refusal = Driver::refusal(run, *symmetry, of.starts);
    if (!refusal.empty()) return;
  }
  Kokkos::Timer timer;
  with_matrix(
      exec, run, A, of.right_hand_sides() > 1, [&](auto const& matrix, FormatChoice const& choice) {
        matrix_format = to_string(choice.format);
        format_reason = choice.reason;
        with_preconditioner(exec, run, A, of.points, matrix, [&](auto const& M) {
          using Made = Solder::Impl::SystemOf<Exec, std::decay_t<decltype(matrix)>,
                                              std::decay_t<decltype(M)>>;
          system = std::shared_ptr<typename Made::AsSeen>(std::make_shared<Made>(matrix, M));
        });
      });
  exec.fence("Solder::driver: matrix and preconditioner made");
  setup_seconds = timer.seconds();
}

template <class T, class Exec>
void SystemOn<T, Exec>::clear_x(Exec const& exec) const {
  Kokkos::deep_copy(exec, x, T(0));
}

template <class T, class Exec>
std::vector<T> SystemOn<T, Exec>::solution(Exec const& exec) const {
  using HostVector = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  std::vector<T> solution(x.extent(0));
  Kokkos::deep_copy(exec, HostVector(solution.data(), solution.size()), x);
  exec.fence("Solder::driver: solution copied");
  return solution;
}

#ifdef KOKKOS_ENABLE_SERIAL
template struct SystemOn<SOLDER_SCALAR, Kokkos::Serial>;
#endif
#ifdef KOKKOS_ENABLE_OPENMP
template struct SystemOn<SOLDER_SCALAR, Kokkos::OpenMP>;
#endif
#ifdef KOKKOS_ENABLE_CUDA
template struct SystemOn<SOLDER_SCALAR, Kokkos::Cuda>;
#endif
#ifdef KOKKOS_ENABLE_HIP
template struct SystemOn<SOLDER_SCALAR, Kokkos::HIP>;
#endif

}  // namespace Solder::Driver
