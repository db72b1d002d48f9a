// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Teuchos::ParameterList to Parameters and back, and solvers by name of Tpetra's matrices:
/// link Solder::trilinos and Solder::compiled.
///
///     Teuchos::ParameterList list;
///     list.set("name", "cg").set("tolerance", 1e-10);
///     list.sublist("preconditioner").set("name", "fsai").set("k", 1);
///     auto const solver = Solder::make_solver(exec, matrix, list);  // a Tpetra::CrsMatrix
///     Solder::Report const report = Solder::solve(solver, b, x);    // Tpetra::Vector

#include <Teuchos_ParameterList.hpp>

#include <stdexcept>
#include <string>

#include <solder/parameters.hpp>
#include <solder/solver.hpp>
#include <solder/trilinos/tpetra.hpp>

namespace Solder {

/// \brief The same tree. Its names are not checked here: make_solver() does so, and suggests the
/// nearest one. \throws std::invalid_argument where a value is not a bool, an int, a long long, a
/// float, a double, a std::string or a sublist
/// \ingroup ranks
inline Parameters parameters_from(Teuchos::ParameterList const& list) {
  Parameters parameters;
  for (auto at = list.begin(); at != list.end(); ++at) {
    std::string const& name = list.name(at);
    Teuchos::any const& value = list.entry(at).getAny(false);
    auto const take = [&]<class T>(T const* /*type*/) {
      if (value.type() != typeid(T)) return false;
      parameters.set(name, Teuchos::any_cast<T>(value));
      return true;
    };
    if (list.isSublist(name))
      parameters.set(name, parameters_from(list.sublist(name)));
    else if (!(take((bool*)nullptr) || take((int*)nullptr) || take((long long*)nullptr) ||
               take((float*)nullptr) || take((double*)nullptr) || take((std::string*)nullptr)))
      throw std::invalid_argument("Solder::parameters_from: " + list.name() + ": " + name +
                                  " must be a bool, an integer, a number, a word or a sublist, "
                                  "not a " +
                                  value.typeName());
  }
  return parameters;
}

/// \brief The same tree as a list of this name. Whole numbers are int where they fit, else long
/// long.
/// \ingroup ranks
inline Teuchos::ParameterList parameter_list_from(Parameters const& parameters,
                                                  std::string const& name = "Solder") {
  Teuchos::ParameterList list(name);
  for (Parameters::Entry const& entry : parameters.entries()) {
    if (bool const* const of = entry.value.as_bool()) {
      list.set(entry.name, *of);
    } else if (std::int64_t const* const whole = entry.value.as_integer()) {
      if (*whole == static_cast<int>(*whole))
        list.set(entry.name, static_cast<int>(*whole));
      else
        list.set(entry.name, static_cast<long long>(*whole));
    } else if (double const* const real = entry.value.as_real()) {
      list.set(entry.name, *real);
    } else if (std::string const* const word = entry.value.as_word()) {
      list.set(entry.name, *word);
    } else {
      list.sublist(entry.name)
          .setParameters(parameter_list_from(*entry.value.as_tree(), entry.name));
    }
  }
  return list;
}

/// \brief A solver by name of a Tpetra matrix, over all ranks of its communicator, which make it,
/// refresh it and call it together; see make_solver() for a DistributedMatrix. Where values have
/// changed, make another one. \throws as from_tpetra() and make_solver() do
/// \ingroup ranks
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
auto make_solver(
    typename Node::execution_space const& exec,
    Teuchos::RCP<Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node> const> const& A,
    Parameters const& parameters, SolverInputs const& inputs = {}) {
  return make_solver(exec, from_tpetra(exec, A), parameters, inputs);
}
/// \brief The same with a list.
/// \ingroup ranks
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
auto make_solver(
    typename Node::execution_space const& exec,
    Teuchos::RCP<Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node> const> const& A,
    Teuchos::ParameterList const& list, SolverInputs const& inputs = {}) {
  return make_solver(exec, A, parameters_from(list), inputs);
}
/// \brief The same of a matrix that is not const, with parameters or a list.
/// \ingroup ranks
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node, class List>
auto make_solver(
    typename Node::execution_space const& exec,
    Teuchos::RCP<Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>> const& A,
    List const& list, SolverInputs const& inputs = {}) {
  using Matrix = Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  return make_solver(exec, Teuchos::RCP<Matrix const>(A), list, inputs);
}

}  // namespace Solder
