// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <solder/core/made_of.hpp>
#include <solder/core/open.hpp>
#include <solder/core/plan.hpp>
#include <solder/core/report.hpp>
#include <solder/matrix/batch.hpp>
#include <solder/matrix/open_matrix.hpp>

namespace Solder::Impl {

/// \brief What a solver asks of A and M, whatever their types. Called where a solve begins.
template <class Exec>
class SystemBase {
 public:
  virtual ~SystemBase() = default;
  virtual std::int32_t rows() const = 0;
  virtual std::int32_t columns() const = 0;
  virtual std::int64_t nonzeros() const = 0;
  /// \brief What a plan is made for. The rows to hold in registers are those of A, or of a split
  /// M's first factor.
  virtual Shape shape() const = 0;
  /// \brief Whether the team of a GPU that has row i in vector stages also computes row i of a
  /// product; see OnChipTeam.
  virtual bool is_aligned() const = 0;
  virtual double matrix_words() const = 0;
  /// \brief The ranks that solve together; null: this process alone.
  virtual Ranks const* ranks() const = 0;

  /// \brief Rows of M; -1: it is for any.
  virtual std::int32_t preconditioner_rows() const = 0;
  /// \brief Words of sizeof(Scalar) that one application of M moves, the vector it is applied to
  /// and the result apart.
  virtual double preconditioner_words() const = 0;
  /// \brief Why M cannot be applied; empty where it can.
  virtual std::string failure() const = 0;
  /// \brief Whether M has no host stages.
  virtual bool is_on_device() const = 0;
  /// \brief Whether A is a copy of a matrix whose values are newer; whether M was made of older
  /// values than its matrix has.
  virtual bool is_matrix_stale() const = 0;
  virtual bool is_preconditioner_stale() const = 0;
  virtual SetupReport setup() const = 0;
  /// \brief Whether A and M take vectors of several right-hand sides.
  virtual bool takes_columns() const = 0;
  /// \brief Whether A and M take the systems of a batch.
  virtual bool takes_batches() const = 0;
  /// \brief The first row of A with an entry in a column of another system, or -1; takes_batches().
  virtual std::int32_t first_coupled_row(Exec const& exec, BatchRows const& systems) const = 0;
};

/// \brief The same, with their opened types known.
template <class Exec, class OpenedA_, class OpenedM_>
class System : public SystemBase<Exec> {
 public:
  using OpenedA = OpenedA_;
  using OpenedM = OpenedM_;

  virtual OpenedA open_matrix(Arena<Exec>& arena, std::int32_t most_teams) const = 0;
  virtual OpenedM open_preconditioner(Arena<Exec>& arena) const = 0;
};

template <class Exec, class Matrix, class Preconditioner>
class SystemOf final : public System<Exec, OpenedMatrixOf<Matrix, Exec>,
                                     SeenOf<Preconditioner, Exec, typename Matrix::scalar_type>> {
  using Scalar = typename Matrix::scalar_type;

 public:
  using OpenedA = OpenedMatrixOf<Matrix, Exec>;
  using AsSeen = System<Exec, OpenedA, SeenOf<Preconditioner, Exec, Scalar>>;

  SystemOf(Matrix const& A, Preconditioner const& M) : A_(A), M_(M) {}

  std::int32_t rows() const override { return A_.rows(); }
  std::int32_t columns() const override { return A_.columns(); }
  std::int64_t nonzeros() const override { return A_.nonzeros(); }
  Shape shape() const override {
    return {.rows = A_.rows(),
            .nonzeros = A_.nonzeros(),
            .items = std::max<std::int64_t>(
                A_.rows(), A_.device_operator().teams * std::int64_t(league_threads)),
            .threads_to_hold = threads_to_hold(),
            .words = matrix_words() + preconditioner_words()};
  }
  bool is_aligned() const override {
    if constexpr (OpenedA::may_be_aligned)
      return A_.device_operator().is_aligned();
    else
      return false;
  }
  double matrix_words() const override { return A_.words(); }
  Ranks const* ranks() const override { return ranks_of(A_); }
  OpenedMatrixOf<Matrix, Exec> open_matrix(Arena<Exec>& arena,
                                           std::int32_t most_teams) const override {
    return Solder::open_matrix(arena, A_, most_teams);
  }

  std::int32_t preconditioner_rows() const override { return M_.rows(); }
  double preconditioner_words() const override { return M_.template words<Scalar>(A_.rows()); }
  SeenOf<Preconditioner, Exec, Scalar> open_preconditioner(Arena<Exec>& arena) const override {
    return Solder::open_preconditioner<Scalar>(arena, M_);
  }
  std::string failure() const override {
    if constexpr (requires { M_.failure(); })
      return M_.failure();
    else
      return {};
  }
  bool is_on_device() const override { return works_on_device<Exec>(M_); }
  bool is_matrix_stale() const override { return Impl::is_stale(A_); }
  bool is_preconditioner_stale() const override { return Impl::is_stale(M_); }
  /// \brief Puts another matrix of the same shape in A's place.
  void set_matrix(Matrix const& A) { A_ = A; }
  SetupReport setup() const override {
    if constexpr (requires { M_.setup(); })
      return M_.setup();
    else
      return {};
  }
  bool takes_columns() const override {
    return Solder::takes_columns<Operator> && Impl::is_for_columns<Exec>(M_) && ranks() == nullptr;
  }
  bool takes_batches() const override {
    return batches && Impl::is_for_batches<Exec>(M_) && ranks() == nullptr;
  }
  std::int32_t first_coupled_row(Exec const& exec, BatchRows const& systems) const override {
    if constexpr (batches)
      return Impl::first_coupled_row(exec, A_, systems);
    else
      return -1;
  }

 private:
  using Operator = std::remove_cvref_t<decltype(std::declval<Matrix const&>().device_operator())>;
  static constexpr bool batches = Solder::takes_batches<Operator> && requires(Matrix const& A) {
    A.row_offsets();
    A.column_indices();
  };

  std::int64_t threads_to_hold() const {
    if constexpr (is_host_space<Exec>)
      return 0;
    else if constexpr (requires { M_.threads_to_hold(); })
      return M_.threads_to_hold();
    else if constexpr (OpenedA::can_hold_rows)
      return A_.device_operator().threads_to_hold();
    else
      return 0;
  }

  Matrix A_;
  Preconditioner M_;
};

}  // namespace Solder::Impl
