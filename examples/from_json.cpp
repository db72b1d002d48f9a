// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A solver whose parameters stand in a JSON file:
//
//     from_json [FILE]
//
// Without a file, those below. Unknown names, and values out of range, are errors that say so.

#include <exception>
#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>
#include <solder/log.hpp>
#include <solder/parameters_json.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/solver.hpp>

using Exec = Kokkos::DefaultExecutionSpace;

constexpr char const* without_a_file = R"({
  "name": "cg", "tolerance": 1e-9, "max_iterations": 500,
  "preconditioner": {"name": "chebyshev", "degree": 3, "inner": "jacobi"}
})";

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Exec const exec;
  try {
    auto const json = argc > 1 ? nlohmann::json::parse(std::ifstream(argv[1]))
                               : nlohmann::json::parse(without_a_file);
    Solder::CsrMatrix<double, Exec> const A(exec, Solder::fem_poisson_2d<double>(63));
    Solder::Log log;
    auto const solver = Solder::make_solver(exec, A, Solder::parameters_of(json), {.log = &log});
    std::cout << solver.describe();
    Kokkos::View<double*> const b("b", A.rows()), x("x", A.rows());
    Kokkos::deep_copy(b, 1.0);
    Solder::Report const report = solver.solve(b, x);
    std::cout << report << "\n\n" << log;
    return report.reason == Solder::Reason::converged ? 0 : 1;
  } catch (std::exception const& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
