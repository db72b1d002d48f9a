// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <solder/solvers/detail/solve.hpp>
#include <solder/solvers/detail/whole_solves.hpp>

namespace Solder::Impl {

/// \brief A form of a method: its two programs, and what is said of it.
///
/// \tparam Whole the kernels of a whole solve: see whole_solves.hpp
/// \tparam Owns whether the iteration has Owned vectors
/// \tparam Merged whether it has fewer stages, for one right-hand side whose rows threads hold
template <WholeKernels Whole, bool Owns, bool Merged, class ResidualCheck, class Iteration>
struct Form {
  static constexpr WholeKernels whole = Whole;
  static constexpr bool owns = Owns, merged = Merged;

  std::string_view name;
  Cost cost;
  Programs<ResidualCheck, Iteration> programs;
};

template <WholeKernels Whole, bool Owns = false, bool Merged = false, class ResidualCheck,
          class Iteration>
Form<Whole, Owns, Merged, ResidualCheck, Iteration> form(std::string_view name, Cost const& cost,
                                                         ResidualCheck const& residual_check,
                                                         Iteration const& iteration) {
  return {name, cost, {residual_check, iteration}};
}
template <class ResidualCheck, class Iteration>
auto merged_form(std::string_view name, Cost const& cost, ResidualCheck const& residual_check,
                 Iteration const& iteration) {
  return form<WholeKernels{}, false, true>(name, cost, residual_check, iteration);
}

/// \brief What a method adds its forms to: the part of a solve that needs the types of A and M.
///
/// A method derives from this and has
///   - `name`, "Solder::Cg"; `label`, that of a whole solve in one kernel; and `check_label`, that
///     of the residual check,
///   - `with_form(b, x, use)`: calls use(the Form that the options name). It is made anew for each
///     solve and is given the same memory, so it asks the arena for the same things in the same
///     order.
///
/// and hides, where its own differ, the constants and static functions that stand first.
template <class Method, class Exec, class OpenedA_, class OpenedM_, class Options_>
class MethodBase : public Solve<Exec, typename OpenedA_::scalar_type> {
  using Base = Solve<Exec, typename OpenedA_::scalar_type>;

 public:
  using Space = Exec;
  using OpenedA = OpenedA_;
  using OpenedM = OpenedM_;
  using Options = Options_;
  using Scalar = typename OpenedA::scalar_type;
  using System = Impl::System<Exec, OpenedA, OpenedM>;

  /// Whether it takes several right-hand sides at once; is for blocks of them alone.
  static constexpr bool takes_many = false, is_block = false;
  /// Whether it has cycles; and vectors that may stay on chip.
  static constexpr bool has_cycles = false, owns = false;
  /// \brief Whether the form has a program of fewer stages for rows that threads hold.
  static bool merges(Options const&) { return false; }
  /// What it can do where the true residual contradicts its claim.
  static constexpr Recovery recovery{};
  /// \brief The kernels of the whole solve that GPUs have for the form: see whole_solves.hpp.
  static WholeKernels whole_kernels_for(Options const&) { return whole_kernels<OpenedA, OpenedM>; }
  static Cycle cycle(Options const&, std::int64_t /*rows*/) { return {}; }

  /// Whether the method, A and M can solve several right-hand sides together, or the systems of a
  /// batch.
  static constexpr bool can_be_together = Method::takes_many && takes_columns<OpenedA, OpenedM>,
                        can_be_batch = Method::takes_many && !Method::is_block &&
                                       takes_batches<OpenedA, OpenedM>;

  static MethodTraits traits_of(System const& system, Options const& options) {
    constexpr bool split = [] {
      if constexpr (OpenedM::is_pointwise)
        return false;
      else
        return bool(OpenedM::is_split);
    }();
    Ranks const* const ranks = system.ranks();
    bool const on_device = system.is_on_device();
    return {.name = Method::name,
            .label = Method::label,
            .plan = {.on_device = on_device && ranks == nullptr,
                     .kernels =
                         is_host_space<Exec> ? WholeKernels{} : Method::whole_kernels_for(options),
                     .has_cycles = Method::has_cycles,
                     .pointwise = OpenedM::is_pointwise,
                     .split = split,
                     .owns = Method::owns && system.is_aligned(),
                     .merges = Method::merges(options),
                     .together = can_be_together && system.takes_columns(),
                     .concurrent = !is_host_space<Exec> && !Method::is_block && on_device,
                     .is_block = Method::is_block},
            .cycle = Method::cycle(options, ranks == nullptr ? system.rows() : ranks->rows()),
            .on_device = on_device,
            .takes_many = Method::takes_many,
            .can_be_batch = can_be_batch};
  }

  /// \throws std::invalid_argument where A is not square, M has another size, or an option is out
  /// of range
  MethodBase(Exec const& exec, std::shared_ptr<System> const& system,
             std::shared_ptr<Options const> const& options, Many const& many)
      : Base(exec, system, options,
             (check_system(Method::name, *system, *options), traits_of(*system, *options)), many) {}

 protected:
  Options const& options() const { return static_cast<Options const&>(Base::options()); }
  OpenedA open_matrix(std::int32_t most_teams = std::numeric_limits<std::int32_t>::max()) {
    return system().open_matrix(this->arena(), most_teams);
  }
  OpenedM open_preconditioner() { return system().open_preconditioner(this->arena()); }
  /// \brief The stages of Phase::check, named Method::check_label.
  /// \param s free while a claim is checked; see Impl::residual_check for the others
  template <class Begin>
  auto residual_check(OpenedA const& A, Rows const& rows, Scalar const* b, Scalar* x, Scalar* s,
                      Begin const& begin, Scalar const* before = nullptr) {
    return Impl::residual_check(this->arena(), Method::check_label, A, rows, this->checked(b, x),
                                Method::recovery, s, begin, before);
  }

 private:
  System const& system() const { return static_cast<System const&>(Base::system()); }
};

/// \brief A method for one right-hand side, for several, or for the systems of a batch. Hosts have
/// the same stages for all of these.
template <class Method, Serving For>
class Serves final : public Method {
 public:
  using Method::Method;

 private:
  using Scalar = typename Method::Scalar;

  void with_programs(Scalar const* b, Scalar* x, typename Method::Use const& use) override {
    this->with_form(b, x, [&](auto const& form) {
      using Form = std::remove_cvref_t<decltype(form)>;
      if constexpr (For == Serving::one || !Form::merged) {
        this->note(form.name, form.cost);
        use(any_programs<typename Method::Space, Compiled{For, Form::whole, Form::owns}>(
            form.programs));
      }
    });
  }
};

}  // namespace Solder::Impl
