// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: the same solves in C++, without a monitor.

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
  /// \brief Solves from 0; sets up anew before where asked.
  void solve(nb::object const& b_given, bool anew) {
    Copies copies;
    if (!b_) {
      b_ = take(b_given, "b", matrix_.scalar, wish_.place, copies);
      x_ = make_output(*b_, matrix_.scalar, {});
    }
    std::memset(x_->data, 0, x_->size() * size_of(matrix_.scalar));
    if (anew) solver_ = make();
    solver_->solve(b_->vector<void const*>(), x_->vector<void*>(), b_->place.stream);
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
  std::optional<Array> b_, x_;
  std::unique_ptr<AnySolver> solver_;
};

}  // namespace

void add_timing(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<CppSolver>(m, "_CppSolver", "For tests: the same solves in C++, without a monitor.")
      .def(nb::init<nb::object const&, nb::dict const&>(), "A"_a, "parameters"_a)
      .def("solve", &CppSolver::solve, "b"_a, "anew"_a = false,
           "Solves from 0; sets up before where ``anew``.");
}

}  // namespace Solder::Python
