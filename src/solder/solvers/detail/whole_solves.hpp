// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief The list of the kernels of a whole solve (runners team and resident, and columns in one
/// kernel) that are compiled for GPUs. Each holds all stages of a form for one type of A and one of
/// M, and takes nvcc as long as ten to twenty kernels of stages. A form that is not listed runs as
/// a graph of stages, which are compiled once each, and the report says so. Hosts have them all,
/// at no cost: see HostProgram.

#include <solder/solvers/bicgstab_options.hpp>
#include <solder/solvers/cg_options.hpp>
#include <solder/solvers/gmres_options.hpp>

namespace Solder::Impl {

/// \brief Whether whole solves with an opened M are one kernel. An M of many stages says no by
/// `static constexpr bool in_one_kernel = false`.
template <class M>
inline constexpr bool in_one_kernel = [] {
  if constexpr (requires { M::in_one_kernel; })
    return M::in_one_kernel;
  else
    return true;
}();

/// \brief The forms that `auto` takes: with any other M than a pointwise one, `pipelined` moves
/// more words and saves no stage.
template <class M>
constexpr bool has_whole_solve(CgForm form) {
  return in_one_kernel<M> && form == (M::is_pointwise ? CgForm::pipelined : CgForm::classical);
}

template <class M>
constexpr bool has_whole_solve(BiCgStabForm form) {
  return in_one_kernel<M> && form == BiCgStabForm::pipelined;
}

/// \brief Not `mgs`, whose stages are as many as the cycle is long, and `flexible`, which is for
/// preconditioners that change.
template <class M>
constexpr bool has_whole_solve(GmresForm form) {
  return in_one_kernel<M> &&
         (form == GmresForm::pipelined || form == GmresForm::cgs || form == GmresForm::cgs2);
}

}  // namespace Solder::Impl
