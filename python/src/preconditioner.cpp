// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <nanobind/stl/vector.h>

#include <cstring>
#include <stdexcept>

#include "module.hpp"

namespace Solder::Python {
namespace {

class PyPreconditioner final : public Alive {
 public:
  PyPreconditioner(nb::object const& A, nb::object const& name, nb::kwargs const& parameters)
      : matrix_(matrix_of(A)), of_preconditioner_(matrix_.values) {
    nb::dict given;
    if (nb::isinstance<nb::dict>(name))
      given.update(nb::cast<nb::dict>(name));
    else
      given["name"] = name;
    given.update(parameters);
    Wish wish{.place = matrix_.values.place};
    add(wish.parameters, given);
    nb::gil_scoped_release const released;
    made_ = make_preconditioner(matrix_.scalar, matrix_.arrays, wish);
  }

  nb::object apply(nb::object const& r_given, nb::object const& out) {
    Copies copies;
    Array r = take(r_given, "r", matrix_.scalar, matrix_.values.place, copies);
    if (r.dimensions == 2 && !r.place.is_on_device)  // columns are taken one after another
      r = take(nb::module_::import_("numpy").attr("asfortranarray")(r.object), "r", matrix_.scalar,
               r.place, copies);
    Array const z = out.is_none() ? make_output(r, matrix_.scalar, {})
                                  : take_output(out, "out", matrix_.scalar, r.place);
    nb::gil_scoped_release const released;
    Turns::Turn const turn(turns_, "this preconditioner");
    made().apply(r.vector<void const*>(), z.vector<void*>(), r.place.stream);
    nb::gil_scoped_acquire const held;
    return z.object;
  }
  /// \brief Of a solver of this module, without Python's lock.
  void apply_to(void const* r, void* z, std::int64_t rows) {
    Turns::Turn const turn(turns_, "this preconditioner");
    made().apply({r, rows}, {z, rows}, nullptr);
  }
  Scalar scalar() const { return matrix_.scalar; }
  nb::object as_operator(nb::object const& self) const {
    nb::object const apply = self.attr("apply");
    return nb::module_::import_("scipy.sparse.linalg")
        .attr("LinearOperator")(shape(), nb::arg("matvec") = apply, nb::arg("matmat") = apply,
                                nb::arg("dtype") = text_of(matrix_.scalar));
  }
  void set_values(nb::object const& data) {
    Copies copies;
    Array const values = take(data, "data", matrix_.scalar, matrix_.values.place, copies);
    if (values.dimensions != 1) throw nb::value_error("data needs one dimension");
    nb::gil_scoped_release const released;
    Turns::Turn const turn(turns_, "this preconditioner");
    made().set_values(values.data, values.size());
    nb::gil_scoped_acquire const held;
    matrix_.values = values;
  }
  void refresh() {
    nb::gil_scoped_release const released;
    Turns::Turn const turn(turns_, "this preconditioner");
    made().refresh();
    nb::gil_scoped_acquire const held;
    of_preconditioner_ = matrix_.values;
  }
  std::string describe() const { return made().describe(); }
  SetupReport setup() const { return made().setup(); }
  nb::tuple shape() const { return nb::make_tuple(matrix_.arrays.rows, matrix_.arrays.columns); }
  char const* dtype() const { return text_of(matrix_.scalar); }
  Copies const& copies() const { return matrix_.copies; }

  bool free() override {
    if (turns_.is_taken()) return false;
    made_.reset();
    return true;
  }

 private:
  AnyPreconditioner& made() const {
    if (made_ == nullptr) throw std::logic_error("solder: Kokkos has ended");
    return *made_;
  }

  Matrix matrix_;
  Array of_preconditioner_;  ///< the values that it was set up from
  Turns turns_;
  std::unique_ptr<AnyPreconditioner> made_;
};

/// \brief z = apply(r), which Python computes.
void call(nb::handle apply, Scalar scalar, void const* r, void* z, std::int64_t rows) {
  Copies copies;
  nb::module_ const numpy = nb::module_::import_("numpy");
  nb::object const of = numpy.attr("empty")(rows, text_of(scalar));  // which may be kept
  std::memcpy(take_output(of, "r", scalar, {}).data, r, rows * size_of(scalar));
  Array const answer = take(apply(of), "M r", scalar, {}, copies);
  if (answer.size() != rows)
    throw nb::value_error(("M r has " + std::to_string(answer.size()) + " entries, not " +
                           std::to_string(rows))
                              .c_str());
  std::memcpy(z, answer.data, rows * size_of(scalar));
}

}  // namespace

Function function_of(nb::handle M, Scalar scalar, std::shared_ptr<Conversation> conversation) {
  if (nb::isinstance<PyPreconditioner>(M)) {
    auto* const made = nb::cast<PyPreconditioner*>(M);
    if (made->scalar() != scalar)
      throw nb::type_error((std::string("the preconditioner is ") + text_of(made->scalar()) +
                            ", and the matrix " + text_of(scalar))
                               .c_str());
    return [made](void const* r, void* z, std::int64_t rows) { made->apply_to(r, z, rows); };
  }
  bool const is_operator = nb::hasattr(M, "matvec");
  if (!is_operator && !PyCallable_Check(M.ptr()))
    throw nb::type_error(
        "preconditioner must be a name, a dict of its name and options, a solder.Preconditioner, a "
        "LinearOperator of SciPy or a callable");
  return [M, is_operator, scalar, conversation](void const* r, void* z, std::int64_t rows) {
    nb::gil_scoped_acquire const held;
    try {
      call(is_operator ? nb::object(M.attr("matvec")) : nb::borrow(M), scalar, r, z, rows);
    } catch (nb::python_error& error) {
      conversation->keep(std::move(error));
      throw std::runtime_error("solder: the preconditioner has raised an exception");
    }
  };
}

void add_preconditioner(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<PyPreconditioner>(m, "Preconditioner", R"(z = M r, for a solver of somebody else.

A is not copied where it is CSR with indices of 32 bits.

Parameters
----------
A : sparse matrix
    As of `solder.solve`.
name : str or dict
    jacobi, fsai, ic0, ilu0, chebyshev, amg or none; or a dict of its ``name`` and options.
**parameters
    Its options, by the library's names.)")
      .def(nb::init<nb::object const&, nb::object const&, nb::kwargs const&>(), "A"_a.none(), "name"_a,
           "parameters"_a)
      .def("apply", &PyPreconditioner::apply, "r"_a.none(), "out"_a = nb::none(),
           R"(z = M r.

Parameters
----------
r : array_like [n] or [n, columns]
out : ndarray, optional
    Where z goes.

Returns
-------
z : ndarray)")
      .def("aspreconditioner",
           [](nb::object const& self) {
             return nb::cast<PyPreconditioner const&>(self).as_operator(self);
           },
           R"(As scipy.sparse.linalg's solvers take it for M.

Returns
-------
scipy.sparse.linalg.LinearOperator)")
      .def("set_values", &PyPreconditioner::set_values, "data"_a.none(),
           "Takes other values of the same pattern, which are not copied, for the next `refresh`.")
      .def("refresh", &PyPreconditioner::refresh, "Sets it up again, from the matrix as it is.")
      .def("describe", &PyPreconditioner::describe, "Its name and options, a line each.")
      .def_prop_ro("setup", &PyPreconditioner::setup,
                   "SetupReport : what its set-up cost and gave")
      .def_prop_ro("shape", &PyPreconditioner::shape, "(int, int) : of A")
      .def_prop_ro("dtype", &PyPreconditioner::dtype, "str : of r and z")
      .def_prop_ro("copies", &PyPreconditioner::copies,
                   "list of str : what of A had to be copied or converted");
  m.attr("preconditioner") = m.attr("Preconditioner");
}

}  // namespace Solder::Python
