// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "module.hpp"

namespace Solder::Python {
namespace {

/// \brief What was raised goes on, with x and the report of the solve that it ended.
[[noreturn]] void raise(nb::python_error error, nb::handle x, nb::handle report) {
  try {
    nb::setattr(error.value(), "x", x);
    nb::setattr(error.value(), "report", report);
  } catch (nb::python_error const&) {  // it takes no attributes
  }
  throw std::move(error);
}

/// \brief The library's defaults, as the arguments have them: what is one of these was not given, and
/// a dict may have it.
nb::object const& default_rtol() {
  static nb::object& value = *new nb::object(nb::float_(SolverOptions().tolerance));
  return value;
}
nb::object const& default_atol() {
  static nb::object& value = *new nb::object(nb::float_(SolverOptions().absolute_tolerance));
  return value;
}

class PySolver final : public Alive {
 public:
  PySolver(nb::object const& A, nb::object const& solver, nb::object const& preconditioner,
           nb::object const& rtol, nb::object const& atol, nb::object const& coordinates,
           nb::kwargs const& parameters)
      : conversation_(std::make_shared<Conversation>()),
        matrix_(matrix_of(A)),
        of_preconditioner_(matrix_.values) {
    nb::dict given;
    auto const put = [&](char const* name, nb::handle value) {
      if (!value.is_none()) given[name] = value;
    };
    if (nb::isinstance<nb::dict>(solver))
      given.update(nb::cast<nb::dict>(solver));
    else
      put("name", solver);
    bool const is_named = preconditioner.is_none() || nb::isinstance<nb::str>(preconditioner) ||
                          nb::isinstance<nb::dict>(preconditioner);
    if (is_named) put("preconditioner", preconditioner);
    if (!rtol.is(default_rtol())) put("tolerance", rtol);
    if (!atol.is(default_atol())) put("absolute_tolerance", atol);
    given.update(parameters);
    Wish wish{.place = matrix_.values.place};
    add(wish.parameters, given);
    if (!coordinates.is_none()) {
      Copies copies;
      points_ = take(coordinates, "coordinates", Scalar::float64, {}, copies);
      if (points_->dimensions != 2 || points_->strides[1] != 1 ||
          points_->strides[0] != points_->shape[1])
        throw nb::value_error("coordinates must be a C-contiguous array [nodes, 2 or 3]");
      wish.points = {static_cast<double const*>(points_->data), std::size_t(points_->shape[0]),
                     std::size_t(points_->shape[1])};
    }
    if (!is_named) {
      own_ = preconditioner;
      wish.function = function_of(own_, matrix_.scalar, conversation_);
    }
    wish.monitor = [conversation = conversation_](Progress const& progress) {
      conversation->hear(progress);
    };
    nb::gil_scoped_release const released;
    solver_ = make_solver(matrix_.scalar, matrix_.arrays, wish);
  }

  nb::tuple solve(nb::object const& b_given, nb::object const& x0, nb::object const& out,
                  nb::object const& callback, std::optional<bool> check) {
    if (!callback.is_none() && !PyCallable_Check(callback.ptr()))
      throw nb::type_error("callback must be callable");
    Copies copies = matrix_.copies;
    copies.insert(copies.end(), of_values_.begin(), of_values_.end());
    Scalar const scalar = matrix_.scalar;
    Place const& place = matrix_.values.place;
    Array const b = take(b_given, "b", scalar, place, copies);
    Array const x = output(b, x0, out, copies);
    std::vector<Report> reports;
    std::string name;
    std::optional<nb::python_error> error;
    addresses_ = {b.data, x.data};
    {
      nb::gil_scoped_release const released;
      Turns::Turn const turn(turns_, "this solver");
      name = made().name();
      conversation_->begin(callback.is_none() ? nullptr : &callback);
      try {
        reports = made().solve(b.vector<void const*>(), x.vector<void*>(), b.place.stream);
      } catch (...) {
        conversation_->end(error);
        if (!error) throw;
      }
      if (!error) conversation_->end(error);
    }
    nb::list all;
    for (Report& report : reports) all.append(nb::cast(PyReport{std::move(report), name, copies}));
    nb::object const result = b.dimensions > 1 ? nb::object(all)
                              : reports.empty() ? nb::none()
                                                : nb::object(all[0]);
    if (error) raise(std::move(*error), x.object, result);
    judge(all, result, x.object, check);
    return nb::make_tuple(x.object, result);
  }

  void set_values(nb::object const& data) {
    Copies copies;
    Array const values = take(data, "data", matrix_.scalar, matrix_.values.place, copies);
    if (values.dimensions != 1) throw nb::value_error("data needs one dimension");
    nb::gil_scoped_release const released;
    Turns::Turn const turn(turns_, "this solver");
    made().set_values(values.data, values.size());
    nb::gil_scoped_acquire const held;
    matrix_.values = values;
    matrix_.arrays.values = values.data;
    of_values_ = std::move(copies);
  }
  void refresh() {
    nb::gil_scoped_release const released;
    Turns::Turn const turn(turns_, "this solver");
    made().refresh();
    nb::gil_scoped_acquire const held;
    of_preconditioner_ = matrix_.values;
  }
  std::string describe() {
    nb::gil_scoped_release const released;
    Turns::Turn const turn(turns_, "this solver");
    return made().describe();
  }
  std::string explain() {
    nb::gil_scoped_release const released;
    Turns::Turn const turn(turns_, "this solver");
    return made().explain();
  }
  std::string name() const { return made().name(); }
  std::string format() const { return made().format(); }
  std::size_t workspace_bytes(std::int32_t columns) {
    if (columns < 0) throw nb::value_error("columns must not be negative");
    nb::gil_scoped_release const released;
    Turns::Turn const turn(turns_, "this solver");
    return made().workspace_bytes(columns);
  }
  nb::tuple shape() const { return nb::make_tuple(matrix_.arrays.rows, matrix_.arrays.columns); }
  char const* dtype() const { return text_of(matrix_.scalar); }
  Copies const& copies() const { return matrix_.copies; }
  /// \brief For tests: which memory the library reads and writes.
  nb::dict addresses() const {
    nb::dict all;
    auto const put = [&](char const* name, void const* data) {
      all[name] = reinterpret_cast<std::uintptr_t>(data);
    };
    put("indptr", matrix_.arrays.offsets);
    put("indices", matrix_.arrays.indices);
    put("data", matrix_.arrays.values);
    put("b", addresses_.first);
    put("x", addresses_.second);
    return all;
  }

  bool free() override {
    if (turns_.is_taken()) return false;
    solver_.reset();
    return true;
  }

 private:
  AnySolver& made() const {
    if (solver_ == nullptr) throw std::logic_error("solder: Kokkos has ended");
    return *solver_;
  }
  /// \brief Where x goes, with the guess in it.
  Array output(Array const& b, nb::object const& x0, nb::object const& out, Copies& copies) const {
    Scalar const scalar = matrix_.scalar;
    std::optional<Array> guess;
    if (!x0.is_none()) guess = take(x0, "x0", scalar, b.place, copies);
    if (out.is_none()) return make_output(b, scalar, guess);
    Array const x = take_output(out, "out", scalar, b.place);
    if (x.dimensions != b.dimensions || x.shape[0] != b.shape[0] || x.shape[1] != b.shape[1])
      throw nb::value_error("out must have the shape of b");
    if (!out.is(x0)) out.attr("__setitem__")(nb::ellipsis(), guess ? guess->object : nb::int_(0));
    return x;
  }

  std::shared_ptr<Conversation> conversation_;
  Matrix matrix_;
  Copies of_values_;  ///< of those that set_values() has given
  Array of_preconditioner_;  ///< the values that it was set up from, which a polynomial goes on reading
  std::optional<Array> points_;
  nb::object own_;  ///< a preconditioner of the user
  Turns turns_;
  std::pair<void const*, void const*> addresses_{};
  std::unique_ptr<AnySolver> solver_;
};

/// \brief For type checkers: what nanobind cannot know of plain objects. The defaults are the
/// library's.
std::string signature(std::string const& name, std::string const& first, std::string const& more,
                      std::string const& answer) {
  SolverOptions const defaults;
  return "def " + name + "(" + first +
         "solver: str | dict[str, typing.Any] | None = None, preconditioner: typing.Any = None, rtol: float | None = " +
         Impl::number_text(defaults.tolerance) +
         ", atol: float | None = " + Impl::number_text(defaults.absolute_tolerance) + ", " + more +
         "coordinates: typing.Any = None, **parameters: typing.Any) -> " + answer;
}
constexpr char const* result = "tuple[typing.Any, Report | list[Report]]";

constexpr char const* parameters_doc = R"(
solver : str or dict, optional
    The method's name: auto, cg, bicgstab, gmres, idr, block_cg; or a dict of its ``name`` and options.
    Without a name the library chooses, by what it sees of A.
preconditioner : str, dict, Preconditioner, LinearOperator or callable, optional
    auto, none, jacobi, fsai, ic0, ilu0, chebyshev or amg, or a dict of its ``name`` and options; or
    one's own z = M r, on CPUs, beside a solver that is named.
rtol, atol : float, optional
    Stop where ||b - A x|| is at most the larger of ``rtol * ||b||`` and ``atol``.
coordinates : array_like [nodes, 2 or 3], optional
    Where the unknowns are, for amg with ``near_nullspace="rigid_body"``.
**parameters
    All other options by the library's names: ``max_iterations``, ``restart``, ``runner``,
    ``check_symmetry``, ... What is wrong is one error that names all of it.)";

}  // namespace

void add_solver(nb::module_& m) {
  using namespace nb::literals;
  static std::string const solver_doc =
      std::string(R"(A solver for A x = b, with its preconditioner, for many right-hand sides.

A is not copied where it is CSR of float32, float64, complex64 or complex128 with indices of 32
bits: change its values by `set_values` alone, and its pattern not at all. One thread solves at a
time; others wait for it. The defaults are the library's.

Parameters
----------
A : sparse matrix
    Of scipy.sparse, cupyx.scipy.sparse or PyTorch; other formats, and dense arrays, are converted,
    which the report says.)") +
      parameters_doc + R"(

Raises
------
ValueError, TypeError
    Where A or a parameter is wrong.)";
  static std::string const solve_doc =
      std::string(R"(Solves A x = b once.

Parameters
----------
A : sparse matrix
    Of scipy.sparse, cupyx.scipy.sparse or PyTorch; other formats, and dense arrays, are converted,
    which the report says.
b : array_like [n] or [n, columns]
    Where the matrix is, and of its dtype, or one that is converted without loss.)") +
      parameters_doc + R"(
x0 : array_like, optional
    The guess, of b's shape; else zeros. It is not written to.
out : ndarray, optional
    Where x goes. With ``x0=out`` the guess is what it holds.
callback : callable, optional
    ``callback(progress)``, on CPUs after each iteration. ``progress.stop()`` ends the solve, and
    so does an exception, which comes through.
check : bool, optional
    Whether a solve that has not converged raises `NotConverged`; else it warns. With None it does
    neither.

Returns
-------
x : ndarray
    Of b's shape.
report : Report
    A list of them, one for each column, where b has columns.)";

  nb::class_<Progress>(m, "Progress", "What a callback is told.")
      .def_ro("iteration", &Progress::iteration, "int : iterations so far")
      .def_ro("relative_residual", &Progress::relative_residual, "float : of the recursion")
      .def_ro("seconds", &Progress::seconds, "float : since the solve began")
      .def("stop", &Progress::stop, "Ends the solve after the iteration under way.")
      .def("__array__",
           [](Progress const&, nb::args const&, nb::kwargs const&) -> nb::object {
             throw nb::type_error(
                 "a callback of Solder is told the progress, not x: progress.iteration, "
                 "progress.relative_residual, progress.seconds");
           })
      .def("__repr__", [](Progress const& progress) {
        return "<solder.Progress: iteration " + std::to_string(progress.iteration) +
               ", relative residual " + std::to_string(progress.relative_residual) + ">";
      });

  static std::string const of_class =
      signature("__init__", "self, A: typing.Any, ", "", "None");
  std::string const answers = std::string(result);
  static std::string const
      of_vectors = "x0: typing.Any = None, ",
      of_solver = "def solve(self, b: typing.Any, x0: typing.Any = None, out: typing.Any = None, "
                  "callback: typing.Callable[[Progress], typing.Any] | None = None, check: bool | None "
                  "= False) -> " +
                  answers,
      of_solve = signature("solve", "A: typing.Any, b: typing.Any, ",
                           of_vectors +
                               "callback: typing.Callable[[Progress], typing.Any] | None = None, "
                               "check: bool | None = False, out: typing.Any = None, ",
                           answers);

  nb::class_<PySolver>(m, "Solver", solver_doc.c_str())
      .def(nb::init<nb::object const&, nb::object const&, nb::object const&, nb::object const&,
                    nb::object const&, nb::object const&, nb::kwargs const&>(),
           "A"_a.none(), "solver"_a = nb::none(), "preconditioner"_a = nb::none(),
           "rtol"_a.none() = default_rtol(), "atol"_a.none() = default_atol(),
           "coordinates"_a = nb::none(), "parameters"_a, nb::sig(of_class.c_str()))
      .def("solve", &PySolver::solve, "b"_a.none(), "x0"_a = nb::none(), "out"_a = nb::none(),
           "callback"_a = nb::none(), "check"_a.none() = false, nb::sig(of_solver.c_str()),
           R"(Solves A x = b, or A X = B for columns.

Parameters
----------
b, x0, out, callback, check
    As of `solder.solve`.

Returns
-------
x : ndarray
report : Report or list of Report)")
      .def("set_values", &PySolver::set_values, "data"_a.none(),
           R"(Takes other values of the same pattern, which are not copied.

The preconditioner is then stale: `refresh` it, or make the solver with
``allow_stale_preconditioner=True``; else a solve raises.

Parameters
----------
data : ndarray [nonzeros]
    In the order of ``A.tocsr().data``; that very array where it was changed in place.)")
      .def("refresh", &PySolver::refresh,
           "Sets up the preconditioner again, from the matrix as it is.")
      .def("describe", &PySolver::describe,
           "What it is made of, a line each, with the plan and its reason.")
      .def("explain", &PySolver::explain,
           "Where the library has chosen: what it saw of A, what it took, and why.")
      .def("workspace_bytes", &PySolver::workspace_bytes, "columns"_a = 0,
           R"(The bytes that a solve needs beside A and the preconditioner, known before.

Parameters
----------
columns : int, optional
    Right-hand sides; 0 for a vector.)")
      .def_prop_ro("name", &PySolver::name, "str : the class that solves, Solder::Cg, ...")
      .def_prop_ro("matrix_format", &PySolver::format, "str : csr, sell, ell or block")
      .def_prop_ro("shape", &PySolver::shape, "(int, int) : of A")
      .def_prop_ro("dtype", &PySolver::dtype, "str : of A, b and x")
      .def_prop_ro("copies", &PySolver::copies,
                   "list of str : what of A had to be copied or converted")
      .def_prop_ro("_addresses", &PySolver::addresses)
      .def("__repr__", [](PySolver const& solver) { return "<solder.Solver " + solver.name() + ">"; });

  m.def(
      "solve",
      [](nb::object const& A, nb::object const& b, nb::object const& solver,
         nb::object const& preconditioner, nb::object const& rtol, nb::object const& atol,
         nb::object const& x0, nb::object const& callback, std::optional<bool> check,
         nb::object const& out,
         nb::object const& coordinates, nb::kwargs const& parameters) {
        PySolver made(A, solver, preconditioner, rtol, atol, coordinates, parameters);
        return made.solve(b, x0, out, callback, check);
      },
      "A"_a.none(), "b"_a.none(), "solver"_a = nb::none(), "preconditioner"_a = nb::none(),
      "rtol"_a.none() = default_rtol(), "atol"_a.none() = default_atol(), "x0"_a = nb::none(),
      "callback"_a = nb::none(), "check"_a.none() = false, "out"_a = nb::none(),
      "coordinates"_a = nb::none(), "parameters"_a, nb::sig(of_solve.c_str()), solve_doc.c_str());
}

}  // namespace Solder::Python
