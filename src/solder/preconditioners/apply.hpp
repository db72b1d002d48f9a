// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <solder/core/allocate.hpp>
#include <solder/core/application.hpp>
#include <solder/preconditioners/detail/preconditioner_base.hpp>

namespace Solder {

/// \brief A user-defined preconditioner z = M r: either a function that enqueues work on the
/// execution space instance it is given, or a function on the host.
///
/// The host calls it between two kernels, once for each application. So only the launch runner can
/// run it, and a GPU waits for the host in each iteration. CG needs an M that is Hermitian positive
/// definite. An M that varies between calls (an inner iteration) needs GMRES's form `flexible`. On
/// GPUs it may be called once or twice more often than needed. An exception that it throws ends
/// the solve and is rethrown by solve().
template <class Scalar, class Exec>
class Apply : public Impl::PreconditionerBase<Apply<Scalar, Exec>, Exec, Scalar> {
 public:
  /// \brief Type of the vectors.
  using scalar_type = Scalar;
  /// \brief r, in the memory of Exec.
  using Input = Kokkos::View<Scalar const*, typename Exec::memory_space>;
  /// \brief z, in the memory of Exec.
  using Output = Kokkos::View<Scalar*, typename Exec::memory_space>;
  /// \brief (exec, r, z): enqueues work on exec that computes all n entries of z = M r. It must not
  /// change r.
  using Function = std::function<void(Exec const&, Input const&, Output const&)>;
  /// \brief (r, z) in host memory.
  using HostFunction = std::function<void(std::span<Scalar const>, std::span<Scalar>)>;

  /// \brief Wraps a function that enqueues work on the device, for matrices of this many rows.
  /// \throws std::invalid_argument if rows is negative or the function is empty
  Apply(std::int32_t rows, Function function) : rows_(rows), function_(std::move(function)) {
    if (rows < 0 || !function_)
      throw std::invalid_argument("Solder::Apply: needs a function, and rows = " +
                                  std::to_string(rows) + " must not be negative");
  }

  /// \brief Wraps a function on the host: copies r to the host and z back, each with a fence.
  static Apply on_host(std::int32_t rows, HostFunction function) {
    if (!function) return Apply(rows, Function{});
    return Apply(
        rows, [f = std::move(function)](Exec const& exec, Input const& r, Output const& z) {
          using OnHost = Kokkos::View<Scalar*, Kokkos::HostSpace>;
          Kokkos::DefaultHostExecutionSpace const host;
          auto const r_host = Impl::allocate_view<OnHost>(host, "Solder::apply::r", r.extent(0));
          auto const z_host = Impl::allocate_view<OnHost>(host, "Solder::apply::z", z.extent(0));
          Impl::copy(exec, r_host, r);
          exec.fence("Solder::apply: r is on the host");
          f({r_host.data(), r_host.extent(0)}, {z_host.data(), z_host.extent(0)});
          Impl::copy(exec, z, z_host);
          exec.fence("Solder::apply: z is on the device");
        });
  }

  /// \cond kernels

  /// \brief What solvers embed in their programs; see Application.
  struct Opened {
    static constexpr bool is_identity = false, is_pointwise = false, is_split = false,
                          on_device = false;

    Function function;
    Exec exec;
    Output z;
    std::int32_t league;
    Rows dealt;

    Rows rows(Rows const& of_matrix) const { return of_matrix; }

    template <class Vector>
    auto apply(Phase phase, Vector const& r) const {
      HostStage const work{phase, [*this, r](At const& at) {
                             function(exec, Input(vector_at(r, at), z.extent(0)), z);
                           }};
      using Source = PlacedRange<Scalar const*>;
      return Application<Program<HostStage>, Source>{program(work),
                                                     Source{dealt, league, z.data()}};
    }
  };

  /// \endcond

  /// \brief For solvers; see Application.
  Opened open(Arena<Exec>& arena) const {
    Rows const rows = arena.equal_rows(rows_);
    return {function_, arena.exec(),
            Output(arena.template array<Scalar>("Solder::apply::z", rows_), rows_),
            arena.teams(rows.teams), rows};
  }
  /// \brief Rows of the matrices that it is for.
  std::int32_t rows() const { return rows_; }
  /// \brief What the function moves is unknown. This counts z, which is written and read.
  template <class Of>
  static double words(std::int32_t rows) {
    return 2.0 * rows;
  }

 private:
  std::int32_t rows_;
  Function function_;
};

}  // namespace Solder
