// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <driver/report/plot.hpp>
#include <sstream>

#include "module.hpp"

namespace Solder::Python {
namespace {

nb::object warning, not_converged;

std::string lines_of(PyReport const& report) {
  std::ostringstream out;
  out << report.solver << ": " << report.report;
  for (std::string const& copy : report.copies) out << "\n  " << copy;
  return out.str();
}

std::string text_of(Attempt const& attempt) {
  std::ostringstream out;
  out << attempt;
  return out.str();
}

/// \brief The history, and the true residual as a ring, as the driver's report draws them.
std::string picture_of(PyReport const& of) {
  Report const& report = of.report;
  Charts::Series series{of.solver, {}};
  for (std::size_t i = 0; i < report.history.size(); ++i)
    series.points.push_back({double(i), report.history[i]});
  series.points = Charts::thinned(series.points, 2000);
  series.rings.push_back({double(report.iterations), report.true_relative_residual});
  series.end = report.reason == Reason::converged ? Charts::End::good : Charts::End::bad;
  Charts::Plot plot{.title = "",
                    .x = {.label = "iteration"},
                    .y = {.label = "relative residual", .is_log = true},
                    .series = {series}};
  std::string const file = Charts::svg_file({Charts::svg(plot)});
  nb::object const encoded = nb::module_::import_("base64")
                                 .attr("b64encode")(nb::bytes(file.data(), file.size()))
                                 .attr("decode")();
  return "<img alt=\"history\" src=\"data:image/svg+xml;base64," +
         nb::cast<std::string>(encoded) + "\">";  // so its style stays its own
}

/// \brief A picture and a table for notebooks.
std::string html_of(PyReport const& of) {
  Report const& report = of.report;
  std::ostringstream out;
  auto const escaped = [](std::string const& text) {
    std::string result;
    for (char const c : text)
      c == '<' ? result += "&lt;" : c == '&' ? result += "&amp;" : result += c;
    return result;
  };
  auto const row = [&](char const* name, auto const& value) {
    std::ostringstream text;
    text << value;
    if (!text.str().empty())
      out << "<tr><th style=\"text-align:left\">" << name << "</th><td>" << escaped(text.str())
          << "</td></tr>";
  };
  out << "<table>";
  row("solver", of.solver);
  row("reason", to_string(report.reason));
  row("detail", report.detail);
  row("what next", advice(report));
  row("iterations", report.iterations);
  row("||b - A x|| / ||b||", report.true_relative_residual);
  row("of the guess", report.guess_relative_residual);
  row("seconds", report.solve_seconds);
  row("runner", std::string(to_string(report.runner)) + ": " + report.runner_because);
  for (Attempt const& attempt : report.attempts) row("tried", text_of(attempt));
  for (std::string const& copy : of.copies) row("copied", copy);
  out << "</table>";
  return picture_of(of) + out.str();
}

/// \brief The history as an array of NumPy that keeps its report.
nb::object history_of(nb::handle self) {
  auto& history = nb::cast<PyReport&>(self).report.history;
  return nb::cast(nb::ndarray<nb::numpy, double const, nb::ndim<1>>(history.data(),
                                                                    {history.size()}, self));
}

nb::list phases_of(SetupReport const& setup) {
  nb::list phases;
  for (auto const& phase : setup.phases) phases.append(nb::make_tuple(phase.name, phase.seconds));
  return phases;
}

}  // namespace

void judge(nb::list const& reports, nb::handle result, nb::handle x,
           std::optional<bool> check) {
  if (!check) return;
  std::size_t failed = 0;
  PyReport const* first = nullptr;
  for (nb::handle const each : reports) {
    auto const& report = nb::cast<PyReport const&>(each);
    if (report.report.reason != Reason::converged && failed++ == 0) first = &report;
  }
  if (failed == 0) return;
  std::string text = first->solver + ": ";
  if (reports.size() > 1)
    text += std::to_string(failed) + " of " + std::to_string(reports.size()) +
            " columns have not converged; the first of them: ";
  std::ostringstream out;
  out << to_string(first->report.reason) << " after " << first->report.iterations
      << " iterations, ||b - A x|| / ||b|| = " << first->report.true_relative_residual;
  text += out.str();
  if (!first->report.detail.empty()) text += " (" + first->report.detail + ")";
  if (std::string const next = advice(first->report); !next.empty()) text += "; " + next;
  if (!*check) {
    if (PyErr_WarnEx(warning.ptr(), text.c_str(), 1) != 0) throw nb::python_error();
    return;
  }
  nb::object const error = not_converged(text);
  error.attr("x") = x;
  error.attr("report") = result;
  PyErr_SetObject(not_converged.ptr(), error.ptr());
  throw nb::python_error();
}

void add_report(nb::module_& m) {
  auto const exception = [&](char const* name, char const* doc, PyObject* base) {
    nb::object const made = nb::steal(PyErr_NewExceptionWithDoc(
        (std::string("solder.") + name).c_str(), doc, base, nullptr));
    m.attr(name) = made;
    return made;
  };
  warning = exception("ConvergenceWarning", "A solve has not converged.", PyExc_UserWarning);
  not_converged = exception("NotConverged",
                            "A solve with ``check=True`` has not converged: it has the "
                            "attributes ``x`` and ``report``.",
                            PyExc_RuntimeError);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    warning.reset();
    not_converged.reset();
  }));

  nb::class_<SetupReport>(m, "SetupReport",
                          "What the set-up of a preconditioner cost and gave.\n\nEmpty without "
                          "one, and for jacobi.")
      .def_prop_ro("phases", &phases_of, "list of (str, float) : the parts of the set-up, seconds")
      .def_ro("nonzeros", &SetupReport::nonzeros, "int : of the factor")
      .def_ro("density", &SetupReport::density, "float : nonzeros of the factor / of A")
      .def_ro("repaired_rows", &SetupReport::repaired_rows,
              "int : rows whose local matrix was not positive definite")
      .def_ro("largest_eigenvalue", &SetupReport::largest_eigenvalue,
              "float : that a polynomial is made for; 0: there is none")
      .def_ro("shift", &SetupReport::shift,
              "float : of the diagonal, relative, that an incomplete factorisation needed")
      .def_ro("level_rows", &SetupReport::level_rows,
              "list of int : rows of a multigrid hierarchy's levels, the finest first")
      .def_ro("level_nonzeros", &SetupReport::level_nonzeros, "list of int : of the same levels")
      .def_ro("interpolation", &SetupReport::interpolation,
              "str : how a multigrid hierarchy's levels are coarsened, or empty")
      .def_ro("ordering", &SetupReport::ordering,
              "str : in which incomplete factors were eliminated, or empty")
      .def_ro("schedule", &SetupReport::schedule, "str : of triangular solves, or empty");

  nb::class_<Attempt>(m, "Attempt", "A candidate that was tried, where the library chooses.")
      .def_ro("solver", &Attempt::solver, "str : its name")
      .def_ro("preconditioner", &Attempt::preconditioner, "str : its name")
      .def_ro("why", &Attempt::why, "str : it was tried, in a sentence")
      .def_prop_ro("reason", [](Attempt const& a) { return to_string(a.reason); },
                   "str : why it ended")
      .def_ro("ended", &Attempt::ended, "str : the same in a sentence, or empty")
      .def_ro("iterations", &Attempt::iterations, "int : that it took")
      .def_ro("true_relative_residual", &Attempt::true_relative_residual,
              "float : recomputed, where it ended")
      .def_ro("setup_seconds", &Attempt::setup_seconds, "float : of its set-up")
      .def_ro("solve_seconds", &Attempt::solve_seconds, "float : of its iterations")
      .def("__str__", [](Attempt const& a) { return text_of(a); })
      .def("__repr__", [](Attempt const& a) { return "<solder.Attempt " + text_of(a) + ">"; });

  nb::class_<PyReport> report(m, "Report", R"(How a solve went.

``print(report)`` says it in a few lines; a solve has converged only where the true residual, which
is computed anew from the x that is returned, says so.)");
  auto const of = [&]<class Value>(char const* name, Value Report::*member, char const* doc) {
    report.def_prop_ro(name, [member](PyReport const& r) { return r.report.*member; }, doc);
  };
  report
      .def_prop_ro("converged",
                   [](PyReport const& r) { return r.report.reason == Reason::converged; },
                   "bool : whether the true residual meets the tolerance")
      .def_prop_ro("reason", [](PyReport const& r) { return to_string(r.report.reason); },
                   "str : why the solve ended: converged, max_iterations, breakdown, ...")
      .def_prop_ro("runner", [](PyReport const& r) { return to_string(r.report.runner); },
                   "str : who executed the solve: launch, graph, team or resident")
      .def_prop_ro("history", &history_of,
                   "ndarray : the recursion's relative residual of iterations 0, 1, ...; "
                   "read-only, not copied")
      .def_prop_ro("preconditioner",
                   [](PyReport const& r) { return r.report.preconditioner; },
                   "SetupReport : what the set-up of the preconditioner cost and gave")
      .def_prop_ro("attempts", [](PyReport const& r) { return r.report.attempts; },
                   "list of Attempt : what was tried, where the library chooses; else empty")
      .def_prop_ro("advice", [](PyReport const& r) { return advice(r.report); },
                   "str : what to try next after a solve that has not converged, or empty")
      .def_ro("solver", &PyReport::solver, "str : the class that solved, Solder::Cg, ...")
      .def_ro("copies", &PyReport::copies,
              "list of str : what had to be copied or converted, a sentence each; empty where "
              "nothing was")
      .def("__str__", &lines_of)
      .def("__repr__", [](PyReport const& r) { return "<solder.Report " + lines_of(r) + ">"; })
      .def("_repr_html_", &html_of)
      .def("plot",
           [](nb::object const& self, nb::object const& axes) {
             return nb::module_::import_("solder._plot").attr("plot")(self, axes);
           },
           nb::arg("axes") = nb::none(), R"(Plots the history with matplotlib.

Parameters
----------
axes : matplotlib.axes.Axes, optional
    Where to; else new ones.

Returns
-------
matplotlib.axes.Axes)");
  of("detail", &Report::detail, "str : a sentence for people, or empty");
  of("form", &Report::form, "str : of the method: the one that ran");
  of("iterations", &Report::iterations, "int : that the solve took");
  of("relative_residual", &Report::relative_residual, "float : of the recursion");
  of("true_relative_residual", &Report::true_relative_residual,
     "float : ||b - A x|| / ||b||, recomputed from the x that is returned");
  of("guess_relative_residual", &Report::guess_relative_residual, "float : the same of the guess");
  of("kept_guess", &Report::kept_guess,
     "bool : x is the guess, for the solve ended further from the solution");
  of("setup_seconds", &Report::setup_seconds, "float : of the solver: workspace and the like");
  of("solve_seconds", &Report::solve_seconds, "float : of the solve");
  of("busy_cores", &Report::busy_cores,
     "float : share of solve_seconds in which the thread waited for a core that others had");
  of("kernels_per_iteration", &Report::kernels_per_iteration,
     "float : 0 where the whole solve is one kernel");
  of("words_per_iteration", &Report::words_per_iteration,
     "float : words of a scalar's size to and from memory, caches not counted");
  of("runner_because", &Report::runner_because, "str : why that runner, in a sentence");
}

}  // namespace Solder::Python
