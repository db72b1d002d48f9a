// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: what the same solves take in C++, without a monitor.

#include <chrono>
#include <cstring>

#include "module.hpp"

namespace Solder::Python {
namespace {

class CppSolver final : public Alive {
 public:
  CppSolver(nb::object const& A, nb::dict const& parameters) : matrix_(matrix_of(A)) {
    wish_.place = matrix_.values.place;
    add(wish_.parameters, parameters);
    solver_ = make();
  }
  /// \brief Of a solve from 0; with its set-up where `anew`.
  double seconds(nb::object const& b_given, int calls, bool anew) {
    Copies copies;
    Array const b = take(b_given, "b", matrix_.scalar, wish_.place, copies);
    Array const x = make_output(b, matrix_.scalar, {});
    auto const start = std::chrono::steady_clock::now();
    for (int k = 0; k < calls; ++k) {
      std::memset(x.data, 0, x.size() * size_of(matrix_.scalar));
      if (anew) solver_ = make();
      solver_->solve(b.vector<void const*>(), x.vector<void*>(), b.place.stream);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
  }
  bool free() override {
    solver_.reset();
    return true;
  }

 private:
  std::unique_ptr<AnySolver> make() const {
    return make_solver(matrix_.scalar, matrix_.arrays, wish_);
  }

  Matrix matrix_;
  Wish wish_;
  std::unique_ptr<AnySolver> solver_;
};

}  // namespace

void add_timing(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<CppSolver>(m, "_CppSolver", "For tests: the same solves in C++, without a monitor.")
      .def(nb::init<nb::object const&, nb::dict const&>(), "A"_a, "parameters"_a)
      .def("seconds", &CppSolver::seconds, "b"_a, "calls"_a, "anew"_a = false,
           "float : of a solve from 0, on average; with its set-up where ``anew``");
}

}  // namespace Solder::Python
