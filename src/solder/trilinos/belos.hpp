// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Solder's solvers as solvers of Belos, by name from Belos::SolverFactory: "SOLDER CG",
/// "SOLDER BICGSTAB", "SOLDER GMRES" and "SOLDER IDR". Link Solder::trilinos.
///
///     Belos::SolverFactory<double, MV, OP> factory;
///     Solder::add_to(factory);
///     auto const solver = factory.create("SOLDER CG", parameters);

#include <BelosLinearProblem.hpp>
#include <BelosSolverFactory.hpp>
#include <BelosSolverManager.hpp>
#include <BelosTpetraAdapter.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <solder/solvers/bicgstab.hpp>
#include <solder/solvers/cg.hpp>
#include <solder/solvers/gmres.hpp>
#include <solder/solvers/idr.hpp>
#include <solder/trilinos/tpetra.hpp>

namespace Solder {

namespace Impl::belos {

/// \brief The parameters that describe an options struct, with Belos's names where it has some.
inline std::string name_for_belos(std::string_view name) {
  if (name == "tolerance") return "Convergence Tolerance";
  if (name == "max_iterations") return "Maximum Iterations";
  if (name == "restart") return "Num Blocks";
  return std::string(name);
}
template <class Options>
void add_parameters(Teuchos::ParameterList& list, Options const& options) {
  for_each_option<Options>([&](auto const& option) {
    auto const value = options.*option.member;
    std::string const name = name_for_belos(option.name), help(option.help);
    if constexpr (std::is_same_v<std::remove_const_t<decltype(value)>, bool>)
      list.set(name, value, help);
    else if constexpr (std::remove_cvref_t<decltype(option)>::has_words)
      list.set(name, std::string(option.word(value)), help);
    else if constexpr (std::remove_cvref_t<decltype(option)>::is_integer)
      list.set(name, static_cast<int>(value), help);
    else
      list.set(name, double(value), help);
  });
}
template <class Options>
void read_parameters(Teuchos::ParameterList const& list, Options& options) {
  for_each_option<Options>([&](auto const& option) {
    auto& value = options.*option.member;
    using Value = std::remove_reference_t<decltype(value)>;
    std::string const name = name_for_belos(option.name);
    if (!list.isParameter(name)) return;
    if constexpr (std::is_same_v<Value, bool>) {
      value = list.get<bool>(name);
    } else if constexpr (std::remove_cvref_t<decltype(option)>::has_words) {
      std::string const word = list.get<std::string>(name);
      if (!option.read(word, value))
        throw std::invalid_argument("Solder for Belos: " + name + " must be " +
                                    Impl::listed(option.words()) + ", not '" + word + "'");
    } else if constexpr (std::remove_cvref_t<decltype(option)>::is_integer) {
      value = static_cast<Value>(list.get<int>(name));
    } else {
      value = static_cast<Value>(list.get<double>(name));
    }
  });
}

/// \brief Removes what Belos's solvers have and these ignore, and makes the tolerance a double.
inline void in_our_types(Teuchos::ParameterList& list) {
  for (char const* name :
       {"Verbosity", "Output Frequency", "Output Style", "Output Stream", "Timer Label"})
    list.remove(name, false);
  if (list.isType<float>("Convergence Tolerance"))
    list.set("Convergence Tolerance", double(list.get<float>("Convergence Tolerance")));
}

/// \brief The name and the solver of an options struct.
template <class Options>
struct SolverOfOptions;
template <>
struct SolverOfOptions<CgOptions> {
  static constexpr char name[] = "SOLDER CG";
  template <class Exec, class Matrix, class M>
  using Solver = Cg<Exec, Matrix, M>;
};
template <>
struct SolverOfOptions<BiCgStabOptions> {
  static constexpr char name[] = "SOLDER BICGSTAB";
  template <class Exec, class Matrix, class M>
  using Solver = BiCgStab<Exec, Matrix, M>;
};
template <>
struct SolverOfOptions<GmresOptions> {
  static constexpr char name[] = "SOLDER GMRES";
  template <class Exec, class Matrix, class M>
  using Solver = Gmres<Exec, Matrix, M>;
};
template <>
struct SolverOfOptions<IdrOptions> {
  static constexpr char name[] = "SOLDER IDR";
  template <class Exec, class Matrix, class M>
  using Solver = Idr<Exec, Matrix, M>;
};

}  // namespace Impl::belos

/// \brief A solver of Solder as one of Belos, for a problem whose operator is a Tpetra::CrsMatrix.
/// The preconditioner, left or right, is applied as it is; the residual that is reported is the
/// true one of the unpreconditioned system.
/// \ingroup ranks
template <class Options, class Scalar, class Vectors, class Operator>
class BelosSolver final : public Belos::SolverManager<Scalar, Vectors, Operator> {
  using Base = Belos::SolverManager<Scalar, Vectors, Operator>;
  using Problem = Belos::LinearProblem<Scalar, Vectors, Operator>;
  using Node = typename Vectors::node_type;
  using Exec = typename Node::execution_space;
  using Matrix = Tpetra::CrsMatrix<Scalar, typename Vectors::local_ordinal_type,
                                   typename Vectors::global_ordinal_type, Node>;
  using Magnitude = typename Teuchos::ScalarTraits<Scalar>::magnitudeType;

 public:
  /// \brief One without a problem and with the default parameters.
  Teuchos::RCP<Base> clone() const override { return Teuchos::rcp(new BelosSolver); }
  /// \brief That of setProblem().
  Problem const& getProblem() const override { return *problem_; }
  /// \brief Those of setParameters().
  Teuchos::RCP<Teuchos::ParameterList const> getCurrentParameters() const override {
    return parameters_;
  }
  /// \brief All names, with default values and help.
  Teuchos::RCP<Teuchos::ParameterList const> getValidParameters() const override {
    return list_of(Options{});
  }
  /// \brief Of the last solve, the most of all vectors.
  int getNumIters() const override {
    int most = 0;
    for (Report const& report : reports_) most = std::max(most, int(report.iterations));
    return most;
  }
  /// \brief Whether a vector of the last solve stagnated.
  bool isLOADetected() const override {
    return std::any_of(reports_.begin(), reports_.end(),
                       [](Report const& report) { return report.reason == Reason::stagnated; });
  }
  /// \brief The true relative residual, ||b - A x|| / ||b||, the largest of all vectors.
  Magnitude achievedTol() const override {
    double largest = 0;
    for (Report const& report : reports_)
      if (!(report.true_relative_residual <= largest)) largest = report.true_relative_residual;
    return static_cast<Magnitude>(largest);
  }
  /// \brief How the last solve went, a report for each vector.
  std::vector<Report> const& reports() const { return reports_; }

  /// \brief What to solve. The solver is set up in the next solve.
  void setProblem(Teuchos::RCP<Problem> const& problem) override {
    problem_ = problem;
    solve_ = {};
  }
  /// \brief Takes the values given, and leaves the others as they are. Belos's parameters of output
  /// are ignored. \throws Teuchos exceptions for unknown names; std::invalid_argument for unknown
  /// words
  void setParameters(Teuchos::RCP<Teuchos::ParameterList> const& given) override {
    if (given.is_null()) return;
    Teuchos::ParameterList list(*given);
    Impl::belos::in_our_types(list);
    list.validateParameters(*getValidParameters());
    Options options = options_;
    for_each_part(options, [&](auto& part) { Impl::belos::read_parameters(list, part); });
    options_ = options;
    parameters_ = list_of(options_);
    solve_ = {};
  }
  /// \brief The next solve sets the solver up again.
  void reset(Belos::ResetType type) override {
    if ((type & Belos::Problem) != 0 && !problem_.is_null()) problem_->setProblem();
    solve_ = {};
  }

  /// \brief Solves from the x of the problem. All ranks call it together. \throws
  /// std::invalid_argument without a problem that is set, or without a Tpetra::CrsMatrix in it
  Belos::ReturnType solve() override {
    if (problem_.is_null() || !problem_->isProblemSet())
      throw std::invalid_argument("Solder for Belos: call setProblem() of the problem first");
    auto const A = problem_->getOperator(), left = problem_->getLeftPrec(),
               right = problem_->getRightPrec();
    if (!solve_ || A != A_ || left != left_ || right != right_) {
      make(A, left, right);
      A_ = A;
      left_ = left;
      right_ = right;
    }
    reports_ = solve_(*problem_->getRHS(), *problem_->getLHS());
    bool const converged = std::all_of(reports_.begin(), reports_.end(), [](Report const& report) {
      return report.reason == Reason::converged;
    });
    return converged ? Belos::Converged : Belos::Unconverged;
  }

 private:
  using Solve = std::function<std::vector<Report>(Vectors const&, Vectors&)>;
  using OfProblem = Teuchos::RCP<Operator const>;

  /// The structs that have options.
  template <class Of, class F>
  static void for_each_part(Of& options, F const& f) {
    using Base = std::conditional_t<std::is_const_v<Of>, SolverOptions const, SolverOptions>;
    using Guess = std::conditional_t<std::is_const_v<Of>, GuessOptions const, GuessOptions>;
    f(static_cast<Base&>(options));
    f(static_cast<Guess&>(options));
    f(options);
  }
  static Teuchos::RCP<Teuchos::ParameterList> list_of(Options const& options) {
    auto const list = Teuchos::parameterList();
    for_each_part(options, [&](auto const& part) { Impl::belos::add_parameters(*list, part); });
    return list;
  }

  template <class A, class M>
  Solve solve_with(A const& a, M const& m) const {
    using Typed = typename Impl::belos::SolverOfOptions<Options>::template Solver<Exec, A, M>;
    auto const solver = std::make_shared<Typed>(Exec(), a, m, options_);
    return
        [solver](Vectors const& b, Vectors& x) { return Impl::tpetra::solve_each(*solver, b, x); };
  }
  void make(OfProblem const& given, OfProblem const& left, OfProblem const& right) {
    auto const A = Teuchos::rcp_dynamic_cast<Matrix const>(given);
    if (A.is_null())
      throw std::invalid_argument(
          "Solder for Belos: the problem's operator must be a Tpetra::CrsMatrix");
    if (!left.is_null() && !right.is_null())
      throw std::invalid_argument("Solder for Belos: give one preconditioner, left or right");
    auto const a = from_tpetra(Exec(), A);
    auto const M = right.is_null() ? left : right;
    solve_ = M.is_null() ? solve_with(a, Identity{}) : solve_with(a, preconditioner_from_tpetra(M));
  }

  Teuchos::RCP<Problem> problem_;
  Options options_;
  Teuchos::RCP<Teuchos::ParameterList> parameters_ = list_of(options_);
  Solve solve_;
  OfProblem A_, left_, right_;  ///< of solve_
  std::vector<Report> reports_;
};

namespace Impl::belos {

template <class Scalar, class Vectors, class Operator>
class Factory final : public Belos::CustomSolverFactory<Scalar, Vectors, Operator> {
  using Manager = Belos::SolverManager<Scalar, Vectors, Operator>;

 public:
  Teuchos::RCP<Manager> getSolver(std::string const& name,
                                  Teuchos::RCP<Teuchos::ParameterList> const& list) override {
    Teuchos::RCP<Manager> solver;
    auto const of = [&]<class Options>(Options const&) {
      if (name == SolverOfOptions<Options>::name)
        solver = Teuchos::rcp(new BelosSolver<Options, Scalar, Vectors, Operator>);
    };
    of(CgOptions{});
    of(BiCgStabOptions{});
    of(GmresOptions{});
    of(IdrOptions{});
    if (!solver.is_null()) solver->setParameters(list);
    return solver;
  }
  int numSupportedSolvers() const override { return 4; }
  std::vector<std::string> supportedSolverNames() const override {
    return {SolverOfOptions<CgOptions>::name, SolverOfOptions<BiCgStabOptions>::name,
            SolverOfOptions<GmresOptions>::name, SolverOfOptions<IdrOptions>::name};
  }
  bool isSupported(std::string const& name) const override {
    auto const names = supportedSolverNames();
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

}  // namespace Impl::belos

/// \brief Adds Solder's solvers to a factory of Belos.
/// \ingroup ranks
template <class Scalar, class Vectors, class Operator>
void add_to(Belos::Impl::SolverFactoryParent<Scalar, Vectors, Operator>& factory) {
  factory.addFactory(Teuchos::rcp(new Impl::belos::Factory<Scalar, Vectors, Operator>));
}

}  // namespace Solder
