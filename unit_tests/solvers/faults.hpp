// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief A matrix and a preconditioner that go wrong in the middle of a solve.

#include "solve.hpp"

#include <solder/core/application.hpp>

namespace SolderTest {

/// \brief What goes wrong: the first row of a result is multiplied by `factor`.
struct Fault {
  double factor;
  std::int32_t first;  ///< the application in which it goes wrong, from 0
  bool once;           ///< and in none after it
};

/// \brief A fault on the device, with a count of the applications: of them the first row's.
struct CountedFault {
  Fault fault;
  std::int32_t* count;

  KOKKOS_FUNCTION bool operator==(CountedFault const& other) const { return count == other.count; }
  template <class Value>
  KOKKOS_FUNCTION Value operator()(std::int32_t row, Value const& value) const {
    if (row != 0) return value;
    std::int32_t const now = Kokkos::atomic_fetch_add(count, 1);
    bool const is_wrong = fault.once ? now == fault.first : now >= fault.first;
    using Real = typename Solder::ScalarTraits<Value>::Real;
    return is_wrong ? value * Real(fault.factor) : value;
  }
};

template <class Exec>
class FaultCounter {
 public:
  explicit FaultCounter(Fault const& fault) : fault_(fault), count_("SolderTest::count") {}
  CountedFault on_device() const { return {fault_, count_.data()}; }

 private:
  Fault fault_;
  Kokkos::View<std::int32_t, typename Exec::memory_space> count_;
};

/// \brief A CsrMatrix with a fault. The residual check's products count as those of the iteration
/// do.
template <class Scalar, class Exec>
struct FaultyMatrix {
  using scalar_type = Scalar;
  using Good = decltype(std::declval<CsrMatrix<Scalar, Exec>>().device_operator());

  struct Operator {
    Good A;
    CountedFault fault;
    Solder::Rows rows;
    std::int32_t teams;

    bool operator==(Operator const&) const = default;

    template <class Team, class X, class Prepare, class Consume>
    KOKKOS_FUNCTION bool for_each_row_product(Team const& team, X const& x, Prepare const& prepare,
                                              Consume const& consume) const {
      return A.for_each_row_product(team, x, prepare, [&](std::int32_t i, auto const& value) {
        consume(i, fault(i, value));
      });
    }
  };

  CsrMatrix<Scalar, Exec> A;
  FaultCounter<Exec> counter;

  std::int32_t rows() const { return A.rows(); }
  std::int32_t columns() const { return A.columns(); }
  std::int64_t nonzeros() const { return A.nonzeros(); }
  double words() const { return A.words(); }
  Operator device_operator() const {
    auto const op = A.device_operator();
    return {op, counter.on_device(), op.rows, op.teams};
  }
};

/// \brief z = r with a fault: a preconditioner that is neither pointwise nor split.
template <class Scalar, class Exec>
struct FaultyPreconditioner {
  struct Values {
    CountedFault fault;
    bool operator==(Values const&) const = default;
    KOKKOS_FUNCTION Scalar operator()(Solder::At const&, std::int32_t i, Scalar const& r) const {
      return fault(i, r);
    }
  };
  struct Opened {
    static constexpr bool is_identity = false, is_pointwise = false, is_split = false;

    Solder::Rows dealt;
    std::int32_t league;
    Values values;

    Solder::Rows rows(Solder::Rows const& of_matrix) const { return of_matrix; }
    template <class Vector>
    auto apply(Solder::Phase, Vector const& r) const {
      using Source = Solder::PlacedRange<decltype(Solder::as_read(r))>;
      return Solder::application(Solder::program(),
                                 Solder::mapped(Source{dealt, league, Solder::as_read(r)}, values));
    }
  };

  std::int32_t count;
  FaultCounter<Exec> counter;

  std::int32_t rows() const { return count; }
  template <class Of>
  static double words(std::int32_t rows) {
    return rows;
  }
  Opened open(Solder::Arena<Exec>& arena) const {
    Solder::Rows const dealt = arena.equal_rows(count);
    return {dealt, arena.teams(dealt.teams), {counter.on_device()}};
  }
};

}  // namespace SolderTest
