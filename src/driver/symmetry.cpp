// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "symmetry.hpp"

#include <algorithm>

#include "columns.hpp"

namespace Solder::Driver {
namespace {

bool solver_needs_it(RunConfig const& run) { return run.solver.name == "cg" || is_block(run); }

bool preconditioner_needs_it(RunConfig const& run) {
  std::string const& name = run.preconditioner.name;
  return name == "fsai" || name == "chebyshev" || name == "ic0" || name == "ick" || name == "ict" ||
         (name == "amg" &&
          Solder::Impl::amg::is_for_hermitian(run.preconditioner.amg,
                                              run.preconditioner.near_nullspace == "rigid_body"));
}

bool is_wrong(Symmetry const& symmetry) {
  return symmetry.is_finite && !symmetry.hermitian.holds();
}

std::string_view wanted(Symmetry const& symmetry) {
  return symmetry.is_complex ? "Hermitian" : "symmetric";
}

}  // namespace

bool asks_for_symmetry(RunConfig const& run) {
  return run.solver.check_symmetry && (solver_needs_it(run) || preconditioner_needs_it(run));
}

std::string refusal(RunConfig const& run, Symmetry const& symmetry,
                    std::vector<std::int32_t> const& starts) {
  if (!solver_needs_it(run) || !is_wrong(symmetry)) return {};
  Symmetry named = symmetry;
  std::string of_batch;
  if (!starts.empty()) {
    auto const next = std::upper_bound(starts.begin(), starts.end(), symmetry.hermitian.row);
    named.hermitian.row -= *(next - 1);
    named.hermitian.column -= *(next - 1);
    of_batch = concat("; A is system ", std::to_string(next - starts.begin()), " of the batch");
  }
  return concat(describe(named), of_batch, "; ", run.solver.name, " needs a ", wanted(symmetry),
                " positive definite matrix: use bicgstab, gmres or idr",
                preconditioner_needs_it(run) ? ", best with jacobi or ilu0" : "",
                ", or turn the check off by solver.check_symmetry: false");
}

std::string symmetry_word(RunConfig const& run, std::optional<Symmetry> const& symmetry) {
  if (solver_needs_it(run) || !symmetry || !is_wrong(*symmetry)) return {};
  return concat(describe(*symmetry), "; ", run.preconditioner.name, " is made for ",
                wanted(*symmetry), " positive definite matrices, and may not help here");
}

}  // namespace Solder::Driver
