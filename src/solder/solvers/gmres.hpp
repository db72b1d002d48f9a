// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include <solder/core/compiled.hpp>
#include <solder/core/identity.hpp>
#include <solder/solvers/detail/body.hpp>
#include <solder/solvers/detail/gmres_arnoldi.hpp>
#include <solder/solvers/detail/gmres_simpler.hpp>
#include <solder/solvers/detail/residual_check.hpp>
#include <solder/solvers/detail/solver.hpp>
#include <solder/solvers/gmres_options.hpp>

namespace Solder {

namespace Impl {
template <class Exec, class OpenedA, class OpenedM>
class GmresMethod;
}  // namespace Impl

/// \brief The restarted generalised minimal residual method, GMRES(m), for any nonsingular system,
/// preconditioned from the right: the residual it minimises is the true one.
///
/// Arnoldi's process (forms cgs, cgs2, mgs and flexible), for each cycle, with r = b - A x and
/// v_0 = r / ||r||:
///
///     for j = 0, ..., m - 1:
///       w       = A M v_j
///       h_k,j   = (v_k, w),  w = w - sum_k h_k,j v_k          k = 0, ..., j
///       h_j+1,j = ||w||,  v_j+1 = w / h_j+1,j
///     y = argmin || ||r|| e_1 - H y ||,  x = x + M V y
///
/// cgs: all h_k,j from one pass over the basis: 3 kernels a step. cgs2: a second round where too
/// much orthogonality is lost, or where the first took more than half of ||w||^2 away
/// (GmresReorthogonalisation; on the device): 5 kernels. mgs: one kernel for each k: 2 + j kernels.
/// flexible: cgs2, and x = x + Z y with the z_j = M v_j kept. Simpler GMRES (pipelined): see
/// detail/gmres_simpler.hpp; 2 kernels in the first step of a cycle, then 4. Every cycle ends with
/// 4 kernels more: the small least squares problem, x, the true residual, the residual check. A
/// cycle that ends with a larger residual than it began with is undone. No fence; nothing is left
/// to the host.
///
/// A pointwise M (none, Jacobi) is applied inside these kernels. Any other M has its own in every
/// step and, except for flexible, at a cycle's end; the last of them stores its rows, or adds them
/// to x.
///
/// Words of step j: the matrix + (2 j + 7) n for cgs and cgs2 (4 j + 12 with the second round),
/// the matrix + (2 j + 8) n for pipelined; a pointwise M adds 2 n, any other its own words and n.
/// Memory: m + 2 vectors (flexible 2 m + 2), one more where M is not the identity, and M's.
///
/// With `basis: single` V is stored in single precision: v_j+1 is rounded where it is made, and A
/// and M multiply a copy in Scalar of the rounded numbers, so that A M V = V H holds up to that
/// rounding. In a cycle that may have to reduce the residual below it, the first 8 vectors stay in
/// Scalar (GmresColumns::full_columns). Words of step j: the matrix + (j + 6.5) n for cgs and cgs2
/// (2 j + 10 with the second round); with a pointwise M, whose M v takes the place of v, 1 n less
/// (2 less); at most 8 n more in such a cycle (16 more). Memory: (m + 1) / 2 + 7 vectors, one more
/// where M is neither the identity nor pointwise (flexible m more). sigma keeps V's lengths in
/// float's range; a vector that leaves it ends the cycle. On GPUs only the runners graph and launch
/// have it.
///
/// \tparam Matrix, Preconditioner as for Cg
template <class Exec, class Matrix, class Preconditioner = Identity>
class Gmres : public Impl::Solver<Impl::GmresMethod, Exec, Matrix, Preconditioner, GmresOptions> {
  using Base = Impl::Solver<Impl::GmresMethod, Exec, Matrix, Preconditioner, GmresOptions>;

 public:
  /// \brief The longest cycle that there may be.
  static constexpr int most_restart = Impl::most_restart;

  /// \brief Allocates the basis. All work of all solves goes to exec. A restart longer than A has
  /// rows is cut.
  /// \throws std::invalid_argument where A is not square, M has another size or an option is out of
  /// range
  Gmres(Exec const& exec, Matrix const& A, Preconditioner const& M = {},
        GmresOptions const& options = {})
      : Base(exec, A, M, options) {}
};

namespace Impl {

template <class Exec, class OpenedA, class OpenedM>
class GmresMethod
    : public MethodBase<GmresMethod<Exec, OpenedA, OpenedM>, Exec, OpenedA, OpenedM, GmresOptions> {
  using Base = MethodBase<GmresMethod, Exec, OpenedA, OpenedM, GmresOptions>;

 public:
  using Scalar = typename OpenedA::scalar_type;
  static constexpr char name[] = "Solder::Gmres", label[] = "Solder::gmres::solve",
                        check_label[] = "Solder::gmres::check";
  static constexpr Recovery recovery{.continues = false, .restarts = true, .reverts = true};
  static constexpr bool has_cycles = true;
  static Impl::Cycle cycle(GmresOptions const& options, std::int64_t rows) {
    return {checked_restart(options, rows)};
  }
  static WholeKernels whole_kernels_for(GmresOptions const& options) {
    if (options.basis == GmresBasis::single) return no_whole_kernels;
    return whole(options.form == GmresForm::flexible && identity ? GmresForm::cgs2 : options.form);
  }
  using Base::Base;

  template <class Use>
  void with_form(Scalar const* b, Scalar* x, Use const& use) {
    if (this->options().form == GmresForm::pipelined) return use(simpler(b, x));
    with_storage([&]<GmresStorage S>(std::integral_constant<GmresStorage, S>) {
      switch (this->options().form) {
        case GmresForm::mgs:
          return use(modified<S>(b, x));
        case GmresForm::cgs:
          return use(once<S>(b, x));
        case GmresForm::flexible:
          return use(twice<S, !identity>(b, x));
        default:
          return use(twice<S, false>(b, x));
      }
    });
  }

 private:
  using Cycle = GmresCycle<Scalar>;
  using Columns = GmresColumns<Scalar>;
  static constexpr bool pointwise = OpenedM::is_pointwise, identity = OpenedM::is_identity;
  /// Whether a single-precision basis has a copy of v in Scalar; otherwise z = M v takes its place.
  static constexpr bool v_is_apart = identity || !pointwise;
  /// What makes M v together with v: a pointwise M, or nothing.
  using Operation = std::conditional_t<pointwise, OpenedM, NoOperation>;
  using Operand = GmresOperand<Scalar, Operation, !identity && pointwise>;

  template <GmresStorage Storage = GmresStorage::same>
  static constexpr WholeKernels whole(GmresForm form) {
    return Storage == GmresStorage::single ? no_whole_kernels
                                           : whole_kernels_of<OpenedA, OpenedM>(form);
  }
  /// \brief f(the storage of the basis).
  template <class F>
  void with_storage(F const& f) const {
    using enum GmresStorage;
    if constexpr (!Columns::may_be_single || !has_single)
      f(std::integral_constant<GmresStorage, same>());
    else if constexpr (is_host_space<Exec>)
      f(std::integral_constant<GmresStorage, either>());
    else if (this->options().basis == GmresBasis::single)
      f(std::integral_constant<GmresStorage, single>());
    else
      f(std::integral_constant<GmresStorage, same>());
  }
  static std::int32_t checked_restart(GmresOptions const& options, std::int64_t rows) {
    check(options, name);
    if (options.basis == GmresBasis::single && !Columns::may_be_single)
      throw std::invalid_argument(
          std::string(name) + ": basis single is for double and complex_double; with " +
          std::string(scalar_name<Scalar>()) + " basis same is in single precision");
    if (options.basis == GmresBasis::single && !has_single)
      throw std::invalid_argument(std::string(name) + ": basis single" + single_is_missing);
    if (options.basis == GmresBasis::single && options.form == GmresForm::pipelined)
      throw std::invalid_argument(std::string(name) +
                                  ": form pipelined needs basis same, for its residual comes of "
                                  "the basis itself; basis single has cgs2, cgs, mgs or flexible");
    return static_cast<std::int32_t>(
        std::max<std::int64_t>(1, std::min<std::int64_t>(options.restart, rows)));
  }

  /// What forms begin with: A, M, the cycle, and the stages up to w = A M v_j.
  template <class Product>
  struct Work {
    OpenedA A;
    OpenedM M;
    Cycle cycle;
    Operand operand;
    Product product;
  };

  /// \param keeps all z_j = M v_j
  template <class Variant>
  auto open(bool keeps = false) {
    auto& arena = this->arena();
    std::int32_t const rows = this->rows(),
                       restart = checked_restart(this->options(), this->all_rows());
    // A GPU's product has a bookkeeper: a team of its own that accounts for the step before.
    std::int32_t const bookkeepers = arena.league() == 1 || is_host_space<Exec> ? 0 : 1;
    auto const A =
        bookkeepers == 0
            ? this->open_matrix()
            : this->open_matrix(std::max(1, arena.teams(resident_league(arena.exec())) - 1));
    auto const M = this->open_preconditioner();
    std::int64_t const stride = (std::int64_t(rows) + 31) / 32 * 32;  // full cache lines
    std::int64_t const of_all = stride * (restart + 1);
    auto const vectors = [&](char const* label, std::int64_t entries) {
      return arena.template array<Scalar>(label, entries);
    };
    // What A and M are to multiply is in Scalar all the same, and so is w.
    bool const single = this->options().basis == GmresBasis::single;
    Scalar* const v0 = !single      ? vectors("Solder::gmres::basis", of_all)
                       : v_is_apart ? vectors("Solder::gmres::v", rows)
                                    : nullptr;
    Scalar* const w0 = single ? vectors("Solder::gmres::w", rows) : v0 + stride;
    Columns V{v0, static_cast<std::uint32_t>(stride), single};
    if (single)
      V.values = vectors("Solder::gmres::basis", MixedBasis<Scalar>::size(restart + 1, stride));
    Scalar* const z = identity ? nullptr : vectors("Solder::gmres::z", keeps ? of_all : rows);
    std::int64_t const per_step = single ? 0 : stride;
    Cycle const cycle = open_cycle(A.rows, V, w0, A.league, restart);
    Operand const operand{pointwise_of(M), z, keeps ? stride : 0, single ? v0 : nullptr};
    Place<Scalar> const v(v0, per_step, 0), z_of_step(z, operand.per_step, 0);
    auto const AMv = A.apply(Phase::iterate, identity ? v : z_of_step);
    auto const Mv = [&] {
      if constexpr (pointwise)
        return program();
      else
        return keep("Solder::gmres::keep", M.apply(Phase::iterate, v), z_of_step);
    }();
    auto const product =
        program(Mv, AMv.before,
                GmresProduct<std::remove_const_t<decltype(AMv.rows)>, Scalar, Variant>{
                    {cycle}, AMv.rows, bookkeepers});
    return Work<std::remove_const_t<decltype(product)>>{A, M, cycle, operand, product};
  }

  template <class Variant, GmresStorage Storage, int Round, bool Last>
  using Orthogonalise = GmresOrthogonalise<Scalar, Variant, Storage, Operand, Round, Last>;

  auto simpler(Scalar const* b, Scalar* x) {
    using Variant = SimplerGmres<Scalar>;
    using Unkept = GmresOperand<Scalar, NoOperation, false>;
    constexpr auto same = GmresStorage::same;
    using Orthogonalise = GmresOrthogonalise<Scalar, Variant, same, Unkept, 1, false>;
    auto const w = open<Variant>();
    return form<whole(GmresForm::pipelined)>(
        "pipelined", cost(), residual_check<Variant, same>(w, b, x),
        program(w.product,
                AfterFirst{program(GmresDots<Scalar, Variant, same>{{w.cycle}},
                                   Orthogonalise{{w.cycle}, {}})},
                typename Variant::template Normalise<Operand>{{w.cycle}, w.operand}));
  }
  template <GmresStorage Storage>
  auto modified(Scalar const* b, Scalar* x) {
    using Variant = ModifiedGmres<Scalar, Storage>;
    using Project = typename Variant::template Project<Operand>;
    auto const w = open<Variant>();
    return form<whole<Storage>(GmresForm::mgs)>(
        "mgs", cost(), residual_check<ArnoldiGmres<Scalar>, Storage>(w, b, x),
        program(w.product, repeat(program(Project{{w.cycle}, w.operand}), 1, 1)));
  }
  template <GmresStorage Storage>
  auto once(Scalar const* b, Scalar* x) {
    using Variant = ArnoldiGmres<Scalar>;
    auto const w = open<Variant>();
    return form<whole<Storage>(GmresForm::cgs)>(
        "cgs", cost(), residual_check<Variant, Storage>(w, b, x),
        program(w.product, GmresDots<Scalar, Variant, Storage>{{w.cycle}},
                Orthogonalise<Variant, Storage, 1, true>{{w.cycle}, w.operand}));
  }
  /// \tparam Keeps all z_j: flexible, with an M
  template <GmresStorage Storage, bool Keeps>
  auto twice(Scalar const* b, Scalar* x) {
    using Variant = ArnoldiGmres<Scalar>;
    auto const w = open<Variant>(Keeps);
    using Again = GmresDots<Scalar, Variant, Storage, 2>;
    return form<whole<Storage>(Keeps ? GmresForm::flexible : GmresForm::cgs2)>(
        to_string(this->options().form), cost(), residual_check<Variant, Storage, Keeps>(w, b, x),
        program(w.product, GmresDots<Scalar, Variant, Storage>{{w.cycle}},
                Orthogonalise<Variant, Storage, 1, false>{{w.cycle}, w.operand},
                Again{{w.cycle}, this->options().reorthogonalisation},
                Orthogonalise<Variant, Storage, 2, true>{{w.cycle}, w.operand}));
  }

  /// \brief The end of a cycle: the small system, x += M V y, the true residual and the residual
  /// check. \tparam Kept x += Z y
  template <class Variant, GmresStorage Storage, bool Kept = false, class Work>
  auto residual_check(Work const& w, Scalar const* b, Scalar* x) {
    auto& arena = this->arena();
    auto const& cycle = w.cycle;
    auto const& operand = w.operand;
    int const league = arena.teams(w.A.rows.teams);
    Scalar* const before = arena.template array<Scalar>("Solder::gmres::x_before", this->rows());
    constexpr auto how = Kept || identity ? GmresCorrection::kept
                         : pointwise      ? GmresCorrection::pointwise
                                          : GmresCorrection::apart;
    constexpr auto corrects_by = Kept ? GmresStorage::same : Storage;
    using Update = GmresUpdate<Scalar, Variant, corrects_by, Operation, how>;
    using Begin = GmresBegin<Scalar, Variant, Storage, Operand>;
    Columns const basis = Kept ? Columns{operand.z, cycle.V.stride, false} : cycle.V;
    auto const end = [&] {
      if constexpr (how == GmresCorrection::apart) {
        auto const Mz = w.M.apply(Phase::correct, operand.z);
        return program(Update{{cycle}, operand.m, basis, operand.z, nullptr, league}, Mz.before,
                       stage("Solder::gmres::correct", Phase::correct, Mz.rows,
                             GmresCorrect<Scalar>{x, before}));
      } else {
        return program(Update{{cycle}, operand.m, basis, x, before, league});
      }
    }();
    return program(GmresLeastSquares<Scalar, Variant>{{cycle}}, end,
                   Base::residual_check(w.A, w.A.rows, b, x, cycle.true_residual(),
                                        Begin{cycle.V, cycle.small, operand}, before));
  }

  static Operation pointwise_of(OpenedM const& M) {
    if constexpr (pointwise)
      return M;
    else
      return {};
  }

  Cycle open_cycle(Rows const& rows, Columns const& V, Scalar* w, int product_teams,
                   std::int32_t restart) {
    auto& arena = this->arena();
    int const vector = arena.teams(rows.teams);
    int const dots = arena.teams(multi_dot_teams(arena.exec(), rows.count, product_teams));
    constexpr std::size_t p = parts<Scalar>;
    double* const small = arena.doubles(GmresSmall<Scalar>::size(restart));
    double* workspace = nullptr;
    if constexpr (is_host_space<Exec>)
      workspace = arena.doubles(std::size_t(rows.teams) * multi_dot_workspace<Scalar>(restart + 1));
    return {rows,
            this->limits(),
            V,
            w,
            {small, restart},
            workspace,
            arena.template sum<1>(product_teams),
            arena.template sum<p>(product_teams),
            arena.template double_buffered_sum<1>(vector),
            arena.template double_buffered_sum<p>(vector),
            {arena.doubles(p * restart * dots), dots}};
  }

  /// \brief The average over a full cycle, including its end; of cgs2 without second rounds, of a
  /// single-precision basis with none of its vectors in Scalar.
  Cost cost() {
    GmresForm const which = this->options().form;
    double const m = checked_restart(this->options(), this->all_rows());
    bool const single = this->options().basis == GmresBasis::single,
               keeps_z = which == GmresForm::flexible && !identity;
    double const of_v = single ? 0.5 : 1, v_apart = single && v_is_apart ? 1 : 0;
    double const of_steps = which == GmresForm::mgs         ? of_v * (m + 2) + (m + 2) + v_apart
                            : which == GmresForm::pipelined ? m + 7 - 3 / m
                                                            : of_v * (m + 2) + 4 + v_apart;
    double const of_end = ((keeps_z ? 1 : of_v) * m + 3 + 3 + 1 + of_v + v_apart) / m,
                 of_M = pointwise                      ? 2
                        : which == GmresForm::flexible ? 1
                                                       : 1 + 1 / m;
    return {.A = 1 + 1 / m, .M = of_M, .row = of_steps + of_end + (pointwise ? 0 : of_M)};
  }
};

}  // namespace Impl

}  // namespace Solder
