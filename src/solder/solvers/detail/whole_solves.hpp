// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief The list of the kernels of a whole solve (runners team and resident, and columns in one
/// kernel) that are compiled for GPUs. Each holds all stages of a form for one type of A and one of
/// M, and takes nvcc as long as ten to twenty kernels of stages. A form of which
/// no_whole_kernels is said runs as a graph of stages, which are compiled once each, and the report
/// says so. A method says the same in two places: in form<...>, what is compiled, and in
/// whole_kernels_for, what the plan may choose. Hosts have them all,
/// at no cost: see HostProgram.

#include <solder/core/application.hpp>
#include <solder/core/plan.hpp>
#include <solder/solvers/bicgstab_options.hpp>
#include <solder/solvers/cg_options.hpp>
#include <solder/solvers/gmres_options.hpp>

namespace Solder::Impl {

/// \brief With an opened A and M. Where stages of M wait for one another's teams, a graph beats a
/// league: "Preconditioners of many stages" in docs/performance/runners.md.
template <class A, class M>
inline constexpr WholeKernels whole_kernels =
    A::has_whole_kernels ? WholeKernels{.of_league = !waits<M>} : no_whole_kernels;

/// \brief The forms that `auto` takes: with any other M than a pointwise one, `pipelined` moves
/// more words and saves no stage.
template <class A, class M>
constexpr WholeKernels whole_kernels_of(CgForm form) {
  bool const listed = form == (M::is_pointwise ? CgForm::pipelined : CgForm::classical);
  return listed ? whole_kernels<A, M> : no_whole_kernels;
}

template <class A, class M>
constexpr WholeKernels whole_kernels_of(BiCgStabForm form) {
  return form == BiCgStabForm::pipelined ? whole_kernels<A, M> : no_whole_kernels;
}

/// \brief All but `mgs`, which has as many stages as the cycle is long, and `flexible`, which is
/// for preconditioners that change. (There is none with a basis in single precision, either: its
/// kernel would need more registers than there are.)
template <class A, class M>
constexpr WholeKernels whole_kernels_of(GmresForm form) {
  bool const listed =
      form == GmresForm::pipelined || form == GmresForm::cgs || form == GmresForm::cgs2;
  return listed ? whole_kernels<A, M> : no_whole_kernels;
}

}  // namespace Solder::Impl
