// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <solder/core/runners.hpp>
#include <solder/core/scalar.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/solvers/common.hpp>
#include <solder/solvers/gmres/arnoldi.hpp>
#include <solder/solvers/gmres/simpler.hpp>

namespace Solder {

/// \brief How GMRES makes its basis orthogonal.
///
/// `cgs2`, the default: classical Gram-Schmidt, a second time where once was not enough.
/// `cgs`: classical Gram-Schmidt once: the fastest iteration; where it loses orthogonality a cycle
/// does less than its residual says, and the judge restarts it.
/// `mgs`: modified Gram-Schmidt, a kernel for each vector of the basis: for comparison.
/// `pipelined`: paper 1's Algorithm 6, simpler GMRES with classical Gram-Schmidt once.
enum class GmresForm { pipelined, cgs, cgs2, mgs };

constexpr std::string_view to_string(GmresForm form) {
  switch (form) {
    case GmresForm::pipelined:
      return "pipelined";
    case GmresForm::cgs:
      return "cgs";
    case GmresForm::cgs2:
      return "cgs2";
    case GmresForm::mgs:
      return "mgs";
  }
  return "unknown";
}

struct GmresOptions : SolverOptions {
  GmresForm form = GmresForm::cgs2;
  int restart = 30;  ///< steps of a cycle, from 1 to 1000
};

/// \brief The restarted generalised minimal residual method, GMRES(m), for any nonsingular system,
/// preconditioned from the right: the residual it minimises is the true one.
///
/// Arnoldi's process (forms cgs, cgs2 and mgs), for each cycle, with r = b - A x and v_0 = r /
/// ||r||:
///
///     for j = 0, ..., m - 1:
///       w       = A M v_j
///       h_k,j   = (v_k, w),  w = w - sum_k h_k,j v_k          k = 0, ..., j
///       h_j+1,j = ||w||,  v_j+1 = w / h_j+1,j
///     y = argmin || ||r|| e_1 - H y ||,  x = x + M V y
///
/// cgs: all h_k,j from one pass over the basis: 3 kernels a step. cgs2: a second round where the
/// first took more than half of ||w||^2 away (Daniel, Gragg, Kaufman & Stewart's criterion, decided
/// on the device): 5 kernels. mgs: one kernel for each k: 2 + j kernels.
/// Simpler GMRES (pipelined): see gmres/simpler.hpp; 2 kernels in the first step of a cycle,
/// then 4. Every cycle ends with 4 kernels more: the small least squares problem, x, the true
/// residual, the judge. No fence; nothing is left to the host.
///
/// Words of step j: the matrix + (2 j + 7) n for cgs and cgs2 (4 j + 12 with the second round),
/// the matrix + (2 j + 8) n for pipelined; Jacobi adds 2 n; a factorised preconditioner M = G^H G
/// (Fsai) 2 kernels, G, G^H and 4 n, in a step and at a cycle's end. Memory: m + 1 vectors, one
/// more with Jacobi and two with a factorised preconditioner.
///
/// \tparam Matrix, Preconditioner as for Cg
template <class Exec, class Matrix, class Preconditioner = Identity>
class Gmres {
 public:
  using scalar_type = typename Matrix::scalar_type;
  static constexpr int most_restart = 1000;

  /// \brief Allocates the basis. All work of all solves goes to exec. A restart longer than A has
  /// rows is cut.
  /// \throws std::invalid_argument where A is not square or an option is out of range
  Gmres(Exec const& exec, Matrix const& A, Preconditioner const& M = {},
        GmresOptions const& options = {})
      : exec_(exec), matrix_(A), preconditioner_(M), options_(options) {
    Kokkos::Timer timer;
    Impl::check_system("Solder::Gmres", A, options);
    if (options.restart < 1 || options.restart > most_restart)
      throw std::invalid_argument("Solder::Gmres: restart must be from 1 to " +
                                  std::to_string(most_restart) + ", not " +
                                  std::to_string(options.restart));
    options_.runner = Impl::choose_runner<Exec>(options.runner, A.rows(), A.nonzeros());
    options_.restart = restart_ = std::max(1, std::min(options.restart, A.rows()));
    stride_ = (std::int64_t(A.rows()) + 31) / 32 * 32;  // columns begin at full cache lines
    basis_ = Vector(Kokkos::view_alloc("Solder::gmres::basis", exec, Kokkos::WithoutInitializing),
                    stride_ * (restart_ + 1));
    if constexpr (!Operation::is_identity)
      z_ = Vector(Kokkos::view_alloc("Solder::gmres::z", exec, Kokkos::WithoutInitializing),
                  A.rows());
    if constexpr (!Operation::is_row_wise)
      g_ = Vector(Kokkos::view_alloc("Solder::gmres::g", exec, Kokkos::WithoutInitializing),
                  A.rows());
    bool const one = options_.runner == Runner::team;
    vector_teams_ = one ? 1 : Impl::vector_teams(exec, A.rows());
    product_teams_ = one ? 1 : A.device_operator().teams;
    clerks_ = one || Impl::is_host_space<Exec> ? 0 : 1;
    if (clerks_ == 1)
      product_teams_ = std::max(1, std::min(product_teams_, Impl::resident_league(exec) - 1));
    dot_teams_ = one ? 1 : Impl::multi_dot_teams(exec, A.rows(), product_teams_);
    if (Impl::is_host_space<Exec>) vector_teams_ = product_teams_;
    small_ = Doubles(Kokkos::view_alloc("Solder::gmres::small", exec),
                     Impl::GmresSmall<scalar_type>::size(restart_));
    sums_ = Doubles(Kokkos::view_alloc("Solder::gmres::sums", exec),
                    Data::sums_size(restart_, vector_teams_, product_teams_, dot_teams_));
    if constexpr (Impl::is_host_space<Exec>)
      workspace_ = Doubles(
          Kokkos::view_alloc("Solder::gmres::workspace", exec),
          std::size_t(product_teams_) * Impl::multi_dot_workspace<scalar_type>(restart_ + 1));
    if (options.form == GmresForm::pipelined)
      pipelined_ = std::make_unique<Pipelined>(exec, options_.runner, restart_);
    else if (options.form == GmresForm::cgs)
      cgs_ = std::make_unique<Cgs>(exec, options_.runner, restart_);
    else if (options.form == GmresForm::cgs2)
      cgs2_ = std::make_unique<Cgs2>(exec, options_.runner, restart_);
    else
      mgs_ = std::make_unique<Mgs>(exec, options_.runner, restart_);
    setup_seconds_ = timer.seconds();
  }

  /// \brief Solves A x = b from the initial guess in x.
  ///
  /// b and x are rank-1 contiguous views of rows() scalars, accessible from Exec. Returns when x is
  /// complete on exec (fence exec before another instance reads it). \throws std::invalid_argument
  /// where b or x has another length or is strided
  template <class B, class X>
  Report solve(B const& b, X const& x) {
    Impl::check_vectors("Solder::Gmres", matrix_.rows(), b, x);
    Report report = Impl::solve_unless_trivial(
        matrix_.rows(), preconditioner_, options_, [&](SolverOptions const& options) {
          auto const A = matrix_.device_operator();
          auto const M = preconditioner_.device_operator();
          Impl::check_preconditioner("Solder::Gmres", matrix_.rows(), M);
          Data const data{A,
                          M,
                          A.rows,
                          {options.tolerance, options.max_iterations},
                          b.data(),
                          x.data(),
                          {basis_.data(), stride_},
                          z_.data(),
                          g_.data(),
                          sums_.data(),
                          {small_.data(), restart_},
                          workspace_.data(),
                          restart_,
                          vector_teams_,
                          product_teams_,
                          dot_teams_,
                          clerks_};
          return pipelined_ ? pipelined_->solve(data, options)
                 : cgs_     ? cgs_->solve(data, options)
                 : cgs2_    ? cgs2_->solve(data, options)
                            : mgs_->solve(data, options);
        });
    report.setup_seconds += setup_seconds_;
    report.words_per_iteration = words_per_iteration();
    return report;
  }

 private:
  using Operator = decltype(std::declval<Matrix const&>().device_operator());
  using Operation = decltype(std::declval<Preconditioner const&>().device_operator());
  using Data = Impl::GmresData<scalar_type, Operator, Operation>;
  template <class Variant, class Steps>
  using Programs =
      Impl::GmresPrograms<Operation::is_row_wise, Steps,
                          Program<Impl::GmresLeastSquares<Variant>, Impl::GmresUpdate<Variant>,
                                  Impl::Residual, Impl::GmresJudge<Variant>>>;
  template <class Variant, class Steps>
  using Engine = Impl::Engine<Exec, Data, typename Programs<Variant, Steps>::Ending,
                              typename Programs<Variant, Steps>::Iteration>;
  using Pipelined = Engine<Impl::SimplerGmres, Impl::SimplerGmres::Steps>;
  using Cgs = Engine<Impl::ArnoldiGmres, Impl::ArnoldiGmres::CgsSteps>;
  using Cgs2 = Engine<Impl::ArnoldiGmres, Impl::ArnoldiGmres::Cgs2Steps>;
  using Mgs = Engine<Impl::ArnoldiGmres, Impl::ArnoldiGmres::MgsSteps>;
  using Vector = Kokkos::View<scalar_type*, typename Exec::memory_space>;
  using Doubles = Kokkos::View<double*, typename Exec::memory_space>;

  /// \brief On average over a full cycle, its end included; of cgs2 without the second round.
  double words_per_iteration() const {
    double const m = restart_, of_steps = mgs_ ? 2 * m + 4 : pipelined_ ? m + 7 - 3 / m : m + 6;
    double const of_end = (m + 2 + 3 + 2) / m, n = matrix_.rows();
    double const preconditioner = Impl::words_of<scalar_type>(preconditioner_, matrix_.rows());
    double const of_preconditioner =
        Operation::is_row_wise ? 2 * preconditioner : (1 + 1 / m) * (preconditioner + 4 * n);
    return matrix_.words() * (1 + 1 / m) + (of_steps + of_end) * n + of_preconditioner;
  }

  Exec exec_;
  Matrix matrix_;
  Preconditioner preconditioner_;
  GmresOptions options_;
  std::int32_t restart_;
  std::int64_t stride_;
  Vector basis_, z_, g_;
  Doubles small_, sums_, workspace_;
  int vector_teams_, product_teams_, dot_teams_, clerks_;
  std::unique_ptr<Pipelined> pipelined_;
  std::unique_ptr<Cgs> cgs_;
  std::unique_ptr<Cgs2> cgs2_;
  std::unique_ptr<Mgs> mgs_;
  double setup_seconds_;
};

}  // namespace Solder
