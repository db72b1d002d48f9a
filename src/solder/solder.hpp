// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// All that is public, except <solder/io/matrix_market.hpp>, which needs zlib (link Solder::io), and
// <solder/parameters_json.hpp>, which needs nlohmann::json. Including only what is needed compiles
// faster.
#include <solder/core/errors.hpp>
#include <solder/core/identity.hpp>
#include <solder/core/report.hpp>
#include <solder/core/scalar.hpp>
#include <solder/kernels/batched_cholesky.hpp>
#include <solder/kernels/multi_dot.hpp>
#include <solder/log.hpp>
#include <solder/matrix/analysis.hpp>
#include <solder/matrix/batch.hpp>
#include <solder/matrix/block.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/format.hpp>
#include <solder/matrix/host_csr.hpp>
#include <solder/matrix/matrix_format.hpp>
#include <solder/matrix/product.hpp>
#include <solder/matrix/sell.hpp>
#include <solder/matrix/symmetry.hpp>
#include <solder/matrix/transpose.hpp>
#include <solder/parameters.hpp>
#include <solder/preconditioners/amg.hpp>
#include <solder/preconditioners/apply.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/preconditioners/scaled.hpp>
#include <solder/preconditioners/scaling.hpp>
#include <solder/preconditioners/triangular_solve.hpp>
#include <solder/problems/generators.hpp>
#include <solder/solver.hpp>
#include <solder/solvers/bicgstab.hpp>
#include <solder/solvers/block_cg.hpp>
#include <solder/solvers/cg.hpp>
#include <solder/solvers/gmres.hpp>
#include <solder/solvers/idr.hpp>
#include <solder/version.hpp>
