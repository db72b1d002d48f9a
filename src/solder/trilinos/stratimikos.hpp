// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Solder's solvers and preconditioners in Stratimikos, by name in a parameter list: link
/// Solder::trilinos, Solder::compiled and Stratimikos::all_libs.
///
///     Stratimikos::LinearSolverBuilder<double> builder;
///     Solder::add_to(builder);
///     // "Linear Solver Type": "Solder", and in "Linear Solver Types": "Solder" the parameters of
///     // make_solver(); "Preconditioner Type": "Solder", and in "Preconditioner Types": "Solder"
///     // those of a preconditioner
///
/// Any preconditioner of Stratimikos can be used with the solver, and the preconditioner with any
/// solver of Stratimikos.

#include <Stratimikos_LinearSolverBuilder.hpp>
#include <Teuchos_AbstractFactoryStd.hpp>
#include <Thyra_DefaultPreconditioner.hpp>
#include <Thyra_LinearOpWithSolveFactoryBase.hpp>
#include <Thyra_PreconditionerFactoryBase.hpp>
#include <Thyra_TpetraThyraWrappers.hpp>

#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <solder/trilinos/parameters.hpp>

namespace Solder {

namespace Impl::thyra {

/// \brief Tpetra's types, as Thyra hands them out.
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
struct Types {
  using Exec = typename Node::execution_space;
  using Matrix = Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using Operator = Tpetra::Operator<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using Vectors = Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using Number = typename Matrix::impl_scalar_type;
  using Extract = Thyra::TpetraOperatorVectorExtraction<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using Source = Teuchos::RCP<Thyra::LinearOpSourceBase<Scalar> const>;

  /// \brief The matrix that an operator is; null where it is none.
  static Teuchos::RCP<Matrix const> matrix_or_null(Thyra::LinearOpSourceBase<Scalar> const& from) {
    auto const op = from.getOp();
    if (op.is_null()) return Teuchos::null;
    try {
      return Teuchos::rcp_dynamic_cast<Matrix const>(Extract::getConstTpetraOperator(op));
    } catch (std::exception const&) {  // it is none of Tpetra's
      return Teuchos::null;
    }
  }
  static Teuchos::RCP<Matrix const> matrix(Thyra::LinearOpSourceBase<Scalar> const& from) {
    auto const A = matrix_or_null(from);
    if (A.is_null())
      throw std::invalid_argument(
          "Solder for Stratimikos: the operator must be a Tpetra::CrsMatrix, by "
          "Thyra::createConstLinearOp or its like");
    return A;
  }
};

/// \brief The list of a factory.
class WithList : virtual public Teuchos::ParameterListAcceptor {
 public:
  void setParameterList(Teuchos::RCP<Teuchos::ParameterList> const& list) override {
    list_ = list;
    parameters();  // throws for what is no parameter at all
  }
  Teuchos::RCP<Teuchos::ParameterList> getNonconstParameterList() override { return list_; }
  Teuchos::RCP<Teuchos::ParameterList> unsetParameterList() override {
    auto const list = list_;
    list_ = Teuchos::null;
    return list;
  }
  Teuchos::RCP<Teuchos::ParameterList const> getParameterList() const override { return list_; }
  /// \brief An empty list: the names are checked where a solver is made.
  Teuchos::RCP<Teuchos::ParameterList const> getValidParameters() const override {
    return Teuchos::rcp(new Teuchos::ParameterList);
  }

 protected:
  Parameters parameters() const {
    if (list_.is_null()) return {};
    Teuchos::ParameterList list(*list_);
    list.remove("VerboseObject", false);  // Stratimikos's own
    return parameters_from(list);
  }

 private:
  Teuchos::RCP<Teuchos::ParameterList> list_;
};

/// \brief An operator that Solder solves with.
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
class SolvedOperator final : public Thyra::LinearOpWithSolveBase<Scalar> {
  using Of = Types<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using Magnitude = typename Teuchos::ScalarTraits<Scalar>::magnitudeType;
  using Criteria = Teuchos::Ptr<Thyra::SolveCriteria<Scalar> const>;

 public:
  /// \brief What to solve. The solver is made in the next solve.
  void initialize(typename Of::Source const& source,
                  Teuchos::RCP<Thyra::PreconditionerBase<Scalar> const> const& M,
                  Parameters const& parameters) {
    source_ = source;
    M_ = M;
    parameters_ = parameters;
    solver_.reset();
    A_ = source.is_null() ? Teuchos::null : Of::matrix(*source);
  }
  typename Of::Source const& source() const { return source_; }
  Teuchos::RCP<Thyra::PreconditionerBase<Scalar> const> const& preconditioner() const { return M_; }

  Teuchos::RCP<Thyra::VectorSpaceBase<Scalar> const> range() const override {
    return source_.is_null() ? Teuchos::null : source_->getOp()->range();
  }
  Teuchos::RCP<Thyra::VectorSpaceBase<Scalar> const> domain() const override {
    return source_.is_null() ? Teuchos::null : source_->getOp()->domain();
  }

 protected:
  bool opSupportedImpl(Thyra::EOpTransp transp) const override {
    return Thyra::opSupported(*source_->getOp(), transp);
  }
  void applyImpl(Thyra::EOpTransp transp, Thyra::MultiVectorBase<Scalar> const& x,
                 Teuchos::Ptr<Thyra::MultiVectorBase<Scalar>> const& y, Scalar alpha,
                 Scalar beta) const override {
    Thyra::apply(*source_->getOp(), transp, x, y, alpha, beta);
  }
  bool solveSupportsImpl(Thyra::EOpTransp transp) const override {
    return transp == Thyra::NOTRANS ||
           (transp == Thyra::CONJ && !Teuchos::ScalarTraits<Scalar>::isComplex);
  }
  bool solveSupportsSolveMeasureTypeImpl(Thyra::EOpTransp transp,
                                         Thyra::SolveMeasureType const& of) const override {
    return solveSupportsImpl(transp) && (of.useDefault() || of(Thyra::SOLVE_MEASURE_NORM_RESIDUAL,
                                                               Thyra::SOLVE_MEASURE_NORM_RHS));
  }
  bool solveSupportsNewImpl(Thyra::EOpTransp transp, Criteria const criteria) const override {
    return criteria.is_null()
               ? solveSupportsImpl(transp)
               : solveSupportsSolveMeasureTypeImpl(transp, criteria->solveMeasureType) &&
                     criteria->numeratorReductionFunc.is_null() &&
                     criteria->denominatorReductionFunc.is_null();
  }
  /// \brief Solves from the X given. A tolerance other than the last one makes the solver again.
  Thyra::SolveStatus<Scalar> solveImpl(Thyra::EOpTransp transp,
                                       Thyra::MultiVectorBase<Scalar> const& B,
                                       Teuchos::Ptr<Thyra::MultiVectorBase<Scalar>> const& X,
                                       Criteria const criteria) const override {
    if (!solveSupportsNewImpl(transp, criteria))
      throw std::invalid_argument(
          "Solder for Stratimikos: only A x = b can be solved, not its transpose, with a tolerance "
          "for ||b - A x|| / ||b||");
    make(criteria.is_null() || criteria->solveMeasureType.useDefault()
             ? Thyra::SolveCriteria<Scalar>::unspecifiedTolerance()
             : criteria->requestedTol);
    auto const b = Of::Extract::getConstTpetraMultiVector(Teuchos::rcp(&B, false));
    auto const x = Of::Extract::getTpetraMultiVector(Teuchos::rcp(X.getRawPtr(), false));
    return status_of(Impl::tpetra::solve_each(*solver_, *b, *x));
  }

 private:
  /// \param tolerance negative: that of the parameters
  void make(Magnitude tolerance) const {
    if (solver_ && tolerance == tolerance_) return;
    Parameters parameters = parameters_;
    if (tolerance >= 0) parameters.set("tolerance", double(tolerance));
    typename Of::Exec const exec;
    auto const A = from_tpetra(exec, A_);
    if (M_.is_null()) {
      solver_ = make_solver(exec, A, parameters);
    } else {
      auto const M = !M_->getRightPrecOp().is_null()  ? M_->getRightPrecOp()
                     : !M_->getLeftPrecOp().is_null() ? M_->getLeftPrecOp()
                                                      : M_->getUnspecifiedPrecOp();
      solver_ = make_solver(
          exec, A, preconditioner_from_tpetra(Of::Extract::getConstTpetraOperator(M)), parameters);
    }
    tolerance_ = tolerance;
  }
  static Thyra::SolveStatus<Scalar> status_of(std::vector<Report> const& reports) {
    Thyra::SolveStatus<Scalar> status;
    double largest = 0;
    int iterations = 0;
    bool converged = true;
    for (Report const& report : reports) {
      iterations = std::max(iterations, int(report.iterations));
      if (!(report.true_relative_residual <= largest)) largest = report.true_relative_residual;
      if (report.reason == Reason::converged) continue;
      if (converged) status.message = std::string(to_string(report.reason)) + " " + report.detail;
      converged = false;
    }
    if (converged) status.message = "converged, " + std::to_string(iterations) + " iterations";
    status.solveStatus =
        converged ? Thyra::SOLVE_STATUS_CONVERGED : Thyra::SOLVE_STATUS_UNCONVERGED;
    status.achievedTol = static_cast<Magnitude>(largest);
    status.extraParameters = Teuchos::parameterList();
    status.extraParameters->set("Iteration Count", iterations);
    return status;
  }

  typename Of::Source source_;
  Teuchos::RCP<typename Of::Matrix const> A_;
  Teuchos::RCP<Thyra::PreconditionerBase<Scalar> const> M_;
  Parameters parameters_;
  mutable std::optional<Solver<typename Of::Number, typename Of::Exec>> solver_;
  mutable Magnitude tolerance_{};
};

}  // namespace Impl::thyra

/// \brief Thyra's factory of operators that Solder solves with. Its list is a tree of parameters of
/// make_solver(). A preconditioner factory's preconditioner takes the place of one by name.
/// \ingroup ranks
template <class Scalar, class LocalOrdinal = Tpetra::Operator<>::local_ordinal_type,
          class GlobalOrdinal = Tpetra::Operator<>::global_ordinal_type,
          class Node = Tpetra::Operator<>::node_type>
class ThyraSolverFactory final : public Thyra::LinearOpWithSolveFactoryBase<Scalar>,
                                 public Impl::thyra::WithList {
  using Of = Impl::thyra::Types<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using Solved = Impl::thyra::SolvedOperator<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using Source = typename Of::Source;
  using Op = Thyra::LinearOpWithSolveBase<Scalar>;
  using M = Thyra::PreconditionerBase<Scalar>;
  using MakeM = Thyra::PreconditionerFactoryBase<Scalar>;

 public:
  /// \brief true
  bool acceptsPreconditionerFactory() const override { return true; }
  /// \brief Makes the preconditioner of each operator from now on.
  void setPreconditionerFactory(Teuchos::RCP<MakeM> const& factory,
                                std::string const& name) override {
    make_M_ = factory;
    name_ = name;
  }
  /// \brief That of setPreconditionerFactory().
  Teuchos::RCP<MakeM> getPreconditionerFactory() const override { return make_M_; }
  /// \brief There is none afterwards.
  void unsetPreconditionerFactory(Teuchos::RCP<MakeM>* factory, std::string* name) override {
    if (factory != nullptr) *factory = make_M_;
    if (name != nullptr) *name = name_;
    make_M_ = Teuchos::null;
    name_.clear();
  }
  /// \brief Whether it is a Tpetra::CrsMatrix.
  bool isCompatible(Thyra::LinearOpSourceBase<Scalar> const& source) const override {
    return !Of::matrix_or_null(source).is_null();
  }
  /// \brief One that is to be initialised.
  Teuchos::RCP<Op> createOp() const override { return Teuchos::rcp(new Solved); }
  /// \brief Takes the operator; the first solve makes the solver.
  void initializeOp(Source const& source, Op* op,
                    Thyra::ESupportSolveUse const use) const override {
    Teuchos::RCP<M> made;
    if (!make_M_.is_null()) {
      made = make_M_->createPrec();
      make_M_->initializePrec(source, made.get(), use);
    }
    solved(op).initialize(source, made, parameters());
  }
  /// \brief The same, since values may have changed.
  void initializeAndReuseOp(Source const& source, Op* op) const override {
    initializeOp(source, op, Thyra::SUPPORT_SOLVE_UNSPECIFIED);
  }
  /// \brief Whether it is an operator: it is not made from a matrix.
  bool supportsPreconditionerInputType(Thyra::EPreconditionerInputType const type) const override {
    return type == Thyra::PRECONDITIONER_INPUT_TYPE_AS_OPERATOR;
  }
  /// \brief With this preconditioner, a Tpetra::Operator.
  void initializePreconditionedOp(Source const& source, Teuchos::RCP<M const> const& given, Op* op,
                                  Thyra::ESupportSolveUse const) const override {
    solved(op).initialize(source, given, parameters());
  }
  /// \brief Gives the parts back.
  void uninitializeOp(Op* op, Source* source, Teuchos::RCP<M const>* given, Source* approximate,
                      Thyra::ESupportSolveUse* use) const override {
    Solved& of = solved(op);
    if (source != nullptr) *source = of.source();
    if (given != nullptr) *given = of.preconditioner();
    if (approximate != nullptr) *approximate = Teuchos::null;
    if (use != nullptr) *use = Thyra::SUPPORT_SOLVE_UNSPECIFIED;
    of.initialize(Teuchos::null, Teuchos::null, {});
  }
  /// \brief Its name.
  std::string description() const override { return "Solder::ThyraSolverFactory"; }

 private:
  static Solved& solved(Op* op) {
    auto* const of = dynamic_cast<Solved*>(op);
    if (of == nullptr)
      throw std::invalid_argument("Solder for Stratimikos: the operator is not one of createOp()");
    return *of;
  }

  Teuchos::RCP<MakeM> make_M_;
  std::string name_;
};

/// \brief Thyra's factory of Solder's preconditioners. Its list is the tree of a preconditioner, as
/// make_preconditioner() takes it for a DistributedMatrix.
/// \ingroup ranks
template <class Scalar, class LocalOrdinal = Tpetra::Operator<>::local_ordinal_type,
          class GlobalOrdinal = Tpetra::Operator<>::global_ordinal_type,
          class Node = Tpetra::Operator<>::node_type>
class ThyraPreconditionerFactory final : public Thyra::PreconditionerFactoryBase<Scalar>,
                                         public Impl::thyra::WithList {
  using Of = Impl::thyra::Types<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using Source = typename Of::Source;
  using M = Thyra::PreconditionerBase<Scalar>;
  using Made = Thyra::DefaultPreconditioner<Scalar>;

 public:
  /// \brief Whether it is a Tpetra::CrsMatrix.
  bool isCompatible(Thyra::LinearOpSourceBase<Scalar> const& source) const override {
    return !Of::matrix_or_null(source).is_null();
  }
  /// \brief One that is to be initialised.
  Teuchos::RCP<M> createPrec() const override { return Teuchos::rcp(new Made); }
  /// \brief Sets the preconditioner up. \throws as make_preconditioner() does, on all ranks
  void initializePrec(Source const& source, M* to, Thyra::ESupportSolveUse const) const override {
    auto const A = Of::matrix(*source);
    typename Of::Exec const exec;
    auto const made = make_preconditioner(exec, from_tpetra(exec, A), parameters());
    using Wrapped = PreconditionerOperator<std::remove_const_t<decltype(made)>, Scalar,
                                           LocalOrdinal, GlobalOrdinal, Node>;
    Teuchos::RCP<typename Of::Operator> const op =
        Teuchos::rcp(new Wrapped(exec, A->getDomainMap(), made));
    of(to).initializeUnspecified(Thyra::createLinearOp(op));
  }
  /// \brief Frees the preconditioner.
  void uninitializePrec(M* made, Source* source, Thyra::ESupportSolveUse* use) const override {
    if (source != nullptr) *source = Teuchos::null;
    if (use != nullptr) *use = Thyra::SUPPORT_SOLVE_UNSPECIFIED;
    of(made).uninitialize();
  }
  /// \brief Its name.
  std::string description() const override { return "Solder::ThyraPreconditionerFactory"; }

 private:
  static Made& of(M* made) {
    auto* const is = dynamic_cast<Made*>(made);
    if (is == nullptr)
      throw std::invalid_argument(
          "Solder for Stratimikos: the preconditioner is not one of createPrec()");
    return *is;
  }
};

/// \brief Adds Solder's solvers and preconditioners to Stratimikos, both by this name.
/// \ingroup ranks
template <class Scalar, class LocalOrdinal = Tpetra::Operator<>::local_ordinal_type,
          class GlobalOrdinal = Tpetra::Operator<>::global_ordinal_type,
          class Node = Tpetra::Operator<>::node_type>
void add_to(Stratimikos::LinearSolverBuilder<Scalar>& builder, std::string const& name = "Solder") {
  builder.setLinearSolveStrategyFactory(
      Teuchos::abstractFactoryStd<Thyra::LinearOpWithSolveFactoryBase<Scalar>,
                                  ThyraSolverFactory<Scalar, LocalOrdinal, GlobalOrdinal, Node>>(),
      name);
  builder.setPreconditioningStrategyFactory(
      Teuchos::abstractFactoryStd<
          Thyra::PreconditionerFactoryBase<Scalar>,
          ThyraPreconditionerFactory<Scalar, LocalOrdinal, GlobalOrdinal, Node>>(),
      name);
}

}  // namespace Solder
