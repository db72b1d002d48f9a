// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <solder/core/runners.hpp>
#include <solder/core/scalar.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/solvers/bicgstab/factorised.hpp>
#include <solder/solvers/bicgstab/stages.hpp>

namespace Solder {

/// \brief `classical`: van der Vorst's, 5 kernels an iteration. `pipelined`: the default, 4
/// kernels.
enum class BiCgStabForm { classical, pipelined };

constexpr std::string_view to_string(BiCgStabForm form) {
  return form == BiCgStabForm::classical ? "classical" : "pipelined";
}

struct BiCgStabOptions : SolverOptions {
  BiCgStabForm form = BiCgStabForm::pipelined;
};

/// \brief The right-preconditioned stabilised biconjugate gradient method, for any square system.
///
/// Pipelined (paper 1, Algorithm 4), with rs = r of the beginning, for i = 0, 1, ... to
/// convergence:
///
///     q     = A p                                                  kernel 1: first_product
///     alpha = (rs, r) / (rs, q),  M s = M r - alpha M q            kernel 2: half_step
///     t     = A M s                                                kernel 3: second_product
///     omega = (t, s) / (t, t),  beta = ((rs, s) / omega - (rs, t)) / (rs, q)
///     x     = x + alpha p + omega M s,  r = s - omega t,
///     p     = M r + beta (p - omega M q)                           kernel 4: update
///
/// where p is M times the textbook's. Classical (paper 1, Algorithm 3): the direction in a kernel
/// of its own, with beta = (rs, r') / (rs, r) alpha / omega.
///
/// With a factorised preconditioner M = G^H G (Fsai) both forms are the pipelined one with M q and
/// M t for their row-wise products, in 6 kernels: G q before the half step and G t before the
/// update are kernels, the products with G^H are part of those two.
///
/// Cost of an iteration: 4 kernels (classical 5), no fence; words: twice the matrix + 17 n
/// (classical 20 n), Jacobi adds 3 n (4 n); with a factorised preconditioner 6 kernels, twice A, G
/// and G^H + 29 n. Before the first iteration, and when the recursion
/// believes it has converged, 2 kernels recompute the true residual: a recursion that was wrong,
/// or broke down, begins anew from the truth if it has won something, and says so if not.
///
/// \tparam Matrix as of Cg
/// \tparam Preconditioner is applied, and undone, row by row inside the kernels, Identity or
/// Jacobi,
///         or applied by two products, Fsai
template <class Exec, class Matrix, class Preconditioner = Identity>
class BiCgStab {
 public:
  using scalar_type = typename Matrix::scalar_type;

  /// \brief Allocates the workspace, 5 vectors (8 with a factorised preconditioner). All work of
  /// all solves goes to exec. \throws std::invalid_argument where A is not square or an option is
  /// out of range
  BiCgStab(Exec const& exec, Matrix const& A, Preconditioner const& M = {},
           BiCgStabOptions const& options = {})
      : exec_(exec), matrix_(A), preconditioner_(M), options_(options) {
    Kokkos::Timer timer;
    Impl::check_system("Solder::BiCgStab", A, options);
    options_.runner = Impl::choose_runner<Exec>(options.runner, A.rows(), A.nonzeros());
    auto const vector = [&](std::string const& label) {
      return Vector(Kokkos::view_alloc(label, exec), A.rows());
    };
    u_ = vector("Solder::bicgstab::u");
    p_ = vector("Solder::bicgstab::p");
    q_ = vector("Solder::bicgstab::q");
    t_ = vector("Solder::bicgstab::t");
    rs_ = vector("Solder::bicgstab::rs");
    bool const one = options_.runner == Runner::team;
    vector_teams_ = one ? 1 : Impl::vector_teams(exec, A.rows());
    product_teams_ = one ? 1 : A.device_operator().teams;
    if constexpr (!Operation::is_row_wise) {
      r_ = vector("Solder::bicgstab::r");
      w_ = vector("Solder::bicgstab::w");
      g_ = vector("Solder::bicgstab::g");
      if (!one) vector_teams_ = M.device_operator().GH.teams;
    }
    sums_ = decltype(sums_)(Kokkos::view_alloc("Solder::bicgstab::sums", exec),
                            Data::sums_size(vector_teams_, product_teams_));
    if constexpr (!Operation::is_row_wise)
      factorised_ = std::make_unique<Factorised>(exec, options_.runner);
    else if (options.form == BiCgStabForm::pipelined)
      pipelined_ = std::make_unique<Pipelined>(exec, options_.runner);
    else
      classical_ = std::make_unique<Classical>(exec, options_.runner);
    setup_seconds_ = timer.seconds();
  }

  /// \brief Solves A x = b from the initial guess in x.
  ///
  /// b and x are rank-1 contiguous views of rows() scalars, accessible from Exec. Returns when x is
  /// complete on exec (fence exec before another instance reads it). \throws std::invalid_argument
  /// where b or x has another length or is strided
  template <class B, class X>
  Report solve(B const& b, X const& x) {
    Impl::check_vectors("Solder::BiCgStab", u_.extent(0), b, x);
    Report report = Impl::solve_unless_trivial(
        matrix_.rows(), preconditioner_, options_, [&](SolverOptions const& options) {
          auto const A = matrix_.device_operator();
          auto M = preconditioner_.device_operator();
          Impl::check_preconditioner("Solder::BiCgStab", matrix_.rows(), M);
          if constexpr (!Operation::is_row_wise) M.GH.teams = vector_teams_;  // they leave sums
          Data const data{A,
                          M,
                          Impl::vector_rows(A, M),
                          {options.tolerance, options.max_iterations},
                          b.data(),
                          x.data(),
                          u_.data(),
                          p_.data(),
                          q_.data(),
                          t_.data(),
                          rs_.data(),
                          r_.data(),
                          w_.data(),
                          g_.data(),
                          sums_.data(),
                          vector_teams_,
                          product_teams_};
          if constexpr (Operation::is_row_wise)
            return pipelined_ ? pipelined_->solve(data, options) : classical_->solve(data, options);
          else
            return factorised_->solve(data, options);
        });
    report.setup_seconds += setup_seconds_;
    double const vectors = factorised_  ? 29
                           : pipelined_ ? 17
                                        : 20,
                 applications = factorised_  ? 2
                                : pipelined_ ? 3
                                             : 4;
    report.words_per_iteration =
        2 * matrix_.words() + vectors * matrix_.rows() +
        applications * Impl::words_of<scalar_type>(preconditioner_, matrix_.rows());
    return report;
  }

 private:
  using Operator = decltype(std::declval<Matrix const&>().device_operator());
  using Operation = decltype(std::declval<Preconditioner const&>().device_operator());
  using Data = Impl::BiCgStabData<scalar_type, Operator, Operation>;
  using Judgement = Program<Impl::Residual, Impl::BiCgStabJudge>;
  using Pipelined = Impl::Engine<Exec, Data, Judgement,
                                 Program<Impl::BiCgStabFirstProduct, Impl::BiCgStabHalfStep,
                                         Impl::BiCgStabSecondProduct, Impl::BiCgStabUpdate<true>>>;
  using Classical = Impl::Engine<
      Exec, Data, Judgement,
      Program<Impl::BiCgStabFirstProduct, Impl::BiCgStabHalfStep, Impl::BiCgStabSecondProduct,
              Impl::BiCgStabUpdate<false>, Impl::BiCgStabClassicalDirection>>;
  using Factorised = Impl::Engine<
      Exec, Data,
      Program<Impl::Residual, Impl::BiCgStabFactorJudge,
              Impl::BiCgStabFactor<Impl::BiCgStabFactored::r>, Impl::BiCgStabFactorBegin>,
      Program<Impl::BiCgStabFirstProduct, Impl::BiCgStabFactor<Impl::BiCgStabFactored::q>,
              Impl::BiCgStabFactorHalfStep, Impl::BiCgStabSecondProduct,
              Impl::BiCgStabFactor<Impl::BiCgStabFactored::t>, Impl::BiCgStabFactorUpdate>>;
  using Vector = Kokkos::View<scalar_type*, typename Exec::memory_space>;

  Exec exec_;
  Matrix matrix_;
  Preconditioner preconditioner_;
  BiCgStabOptions options_;
  Vector u_, p_, q_, t_, rs_;
  Vector r_, w_, g_;  // of a factorised preconditioner
  Kokkos::View<double*, typename Exec::memory_space> sums_;
  int vector_teams_, product_teams_;
  std::unique_ptr<Pipelined> pipelined_;
  std::unique_ptr<Classical> classical_;
  std::unique_ptr<Factorised> factorised_;
  double setup_seconds_;
};

}  // namespace Solder
