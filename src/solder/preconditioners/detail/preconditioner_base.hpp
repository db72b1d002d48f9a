// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <solder/core/made_of.hpp>
#include <solder/core/open.hpp>
#include <solder/core/runners/engine.hpp>
#include <solder/core/vectors.hpp>
#include <solder/matrix/open_matrix.hpp>

namespace Solder::Impl {

/// \brief z[i] = M(i, r[i]), M being pointwise.
template <class Scalar, class M>
struct ApplyPointwise {
  M m;
  Scalar const* r;
  Scalar* z;

  KOKKOS_FUNCTION void operator()(std::int32_t i) const { z[i] = m(i, r[i]); }
};

/// \brief What every preconditioner can do outside of a solver, and what its copies share.
///
/// \tparam Preconditioner derives from this
template <class Preconditioner, class Exec, class Scalar>
class PreconditionerBase {
 public:
  /// \brief Whether CsrMatrix::values_changed() says that the values are newer than those that this
  /// was made of: refresh() is missing.
  bool is_stale() const { return shared_->of.is_stale(); }

  /// \brief z = M r, for a solver of somebody else: views of rank 1 of rows() scalars, or of rank
  /// 2, whose columns are taken one after another.
  ///
  /// z is complete on exec. The first call with an instance allocates a workspace, which copies
  /// share: no two threads may call it at once. \throws std::invalid_argument if r or z has a
  /// different length or is strided, or if they overlap \throws std::runtime_error if M cannot be
  /// applied
  template <class R, class Z>
  requires(R::rank() == 1 && Z::rank() == 1) void apply(Exec const& exec, R const& r,
                                                        Z const& z) const {
    constexpr char const* name = "Solder: z = M r";
    auto const& M = static_cast<Preconditioner const&>(*this);
    check_vectors<Exec>(name, M.rows(), r, z, {"r", "z"});
    if constexpr (requires { M.failure(); })
      if (std::string const why = M.failure(); !why.empty())
        throw std::runtime_error(std::string(name) + ": " + why);
    if (M.rows() == 0) return;
    with_memory_for(name, M.rows(), M.rows(), [&] {
      auto& memory = shared_->memory;
      if (memory == nullptr || memory->arena.exec() != exec)
        memory = std::make_unique<Memory>(exec);
      enqueue(*memory, M, r.data(), z.data());
    });
  }
  /// \brief The same for each column.
  template <class R, class Z>
  requires(R::rank() == 2 && Z::rank() == 2) void apply(Exec const& exec, R const& r,
                                                        Z const& z) const {
    for_each_column(r, z, [&](auto const& of_r, auto const& of_z) { apply(exec, of_r, of_z); });
  }

 protected:
  /// \brief Remembers A, as it is now, as the matrix that this is made of.
  template <class Matrix>
  void set_made_of(Matrix const& A) {
    shared_->of = made_of(A);
  }
  /// \brief What its set-ups give up and take again. Copies share it.
  KeptArrays& kept_arrays() const { return shared_->kept; }

 private:
  struct Memory {
    explicit Memory(Exec const& exec)
        : arena(exec, 0),
          engine(exec, "Solder::apply", {}, {},
                 is_on_device<OpenedOf<Preconditioner, Exec, Scalar>>) {}

    Arena<Exec> arena;
    Engine<Exec> engine;
  };

  static void enqueue(Memory& memory, Preconditioner const& given, Scalar const* r, Scalar* z) {
    Arena<Exec>& arena = memory.arena;
    arena.rewind();
    auto const M = open_preconditioner<Scalar>(arena, given);
    using Opened = std::remove_const_t<decltype(M)>;
    if constexpr (Opened::is_pointwise) {
      Kokkos::parallel_for("Solder::apply",
                           Kokkos::RangePolicy<Exec>(arena.exec(), 0, given.rows()),
                           ApplyPointwise<Scalar, Opened>{M, r, z});
    } else {
      auto const Mr = M.apply(Phase::check, r);
      memory.engine.enqueue(
          program(Mr.before, stage("Solder::apply", Phase::check, Mr.rows, store(z))));
    }
  }

  struct Shared {
    MadeOf of;
    KeptArrays kept;
    std::unique_ptr<Memory> memory;  ///< of apply()
  };
  std::shared_ptr<Shared> shared_ = make_shared_on_host<Shared>("Solder: a preconditioner");
};

}  // namespace Solder::Impl
