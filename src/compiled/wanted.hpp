// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <solder/core/report.hpp>
#include <solder/matrix/matrix_format.hpp>
#include <solder/matrix/symmetry.hpp>
#include <solder/parameters.hpp>
#include <solder/preconditioners/amg_options.hpp>
#include <solder/preconditioners/chebyshev_options.hpp>
#include <solder/preconditioners/fsai_options.hpp>
#include <solder/preconditioners/incomplete_options.hpp>
#include <solder/preconditioners/scaling_options.hpp>
#include <solder/solvers/auto_options.hpp>
#include <solder/solvers/bicgstab_options.hpp>
#include <solder/solvers/block_cg_options.hpp>
#include <solder/solvers/cg_options.hpp>
#include <solder/solvers/gmres_options.hpp>
#include <solder/solvers/idr_options.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace Solder::Compiled {

/// \brief A preconditioner that is asked for.
struct WantedPreconditioner {
  std::string name;
  bool is_single = false, has_rigid_bodies = false;
  ScalingOptions scaling;  ///< of the matrix that it is made of
  FsaiOptions fsai;
  ChebyshevOptions chebyshev;
  IncompleteOptions incomplete;
  AmgOptions amg;
  int overlap = 0;    ///< layers of an incomplete factorisation over ranks
  std::string inner;  ///< of chebyshev; its options are in fsai

  /// \brief Whether it is one of Incomplete.
  bool is_incomplete() const { return factorisation() != nullptr; }
  /// \brief Which one, or null.
  Word<Factorisation> const* factorisation() const {
    static constexpr auto words = words_of(Factorisation{});
    for (auto const& each : words)
      if (each.word == name) return &each;
    return nullptr;
  }
  /// \brief Whether cg takes it: all but an amg whose cycle is not Hermitian.
  bool is_for_cg() const {
    return name != "amg" || Impl::amg::cycle_failures(amg, "", "cg", has_rigid_bodies).empty();
  }
  /// \brief Whether it is Hermitian only of a Hermitian matrix.
  bool needs_symmetry() const {
    return name == "fsai" || name == "chebyshev" ||
           (name == "amg" && Impl::amg::is_for_hermitian(amg, has_rigid_bodies)) ||
           (is_incomplete() && is_hermitian(factorisation()->value));
  }
};

/// \brief A solver that is asked for.
struct Wanted {
  std::string name;
  std::variant<CgOptions, BiCgStabOptions, GmresOptions, IdrOptions, BlockCgOptions> options;
  AutoOptions automatic;  ///< where auto chooses; for a named solver, what it shares
  Runner runner = Runner::automatic;
  MatrixFormat format = MatrixFormat::automatic;
  bool check_symmetry = true, allow_stale_preconditioner = false;
  WantedPreconditioner preconditioner;

  /// \brief Whether the solver or the preconditioner, or both, are left to auto.
  bool is_auto() const { return name == "auto" || preconditioner.name == "auto"; }
  bool is_block() const { return name == "block_cg"; }
  bool needs_symmetry() const { return name == "cg" || is_block(); }
};

/// \throws std::invalid_argument that names all parameters that are wrong
Wanted read_solver(Parameters const& parameters);
/// \param parameters those of a preconditioner: a tree with its name
/// \param is_for_cg whether it must be Hermitian, A being so
WantedPreconditioner read_preconditioner(Parameters const& parameters, bool is_for_cg = false);

/// \brief Refuses a matrix that is not what the method is for.
/// \throws std::invalid_argument if the method needs a Hermitian one, and this is none
void check_hermitian(Wanted const& wanted, Symmetry const& symmetry);

/// \brief All names of preconditioners, but auto.
std::vector<std::string_view> const& preconditioner_names();

/// \brief The options of a solver, a line each, indented.
std::string described(Wanted const& wanted);
/// \brief The name of a preconditioner, and its options in further lines.
std::string described(WantedPreconditioner const& wanted, std::string const& indent);

}  // namespace Solder::Compiled
