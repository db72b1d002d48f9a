// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../solvers/real_matrices.hpp"
#include "../support.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <solder/io/matrix_market.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/preconditioners/triangular_solve.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>

namespace {

using namespace SolderTest;
using Solder::CsrMatrix;
using Solder::HostCsr;
using Solder::TriangularSchedule;
using Solder::TriangularShape;
using Solder::TriangularSolve;
using Triangle = TriangularShape::Triangle;
using Transpose = TriangularShape::Transpose;

constexpr TriangularSchedule schedules[] = {TriangularSchedule::automatic,
                                            TriangularSchedule::natural, TriangularSchedule::levels,
                                            TriangularSchedule::partition};

/// Row i needs the rows needs(i), all smaller than i; entries off the diagonal sum to less than it.
template <class Scalar, class Needs>
HostCsr<Scalar> lower_triangle(std::int32_t rows, unsigned seed, Needs const& needs) {
  HostCsr<Scalar> T;
  T.rows = T.columns_count = rows;
  T.row_offsets = {0};
  for (std::int32_t i = 0; i < rows; ++i) {
    std::set<std::int32_t> columns;
    needs(i, columns);
    T.columns.insert(T.columns.end(), columns.begin(), columns.end());
    T.columns.push_back(i);
    T.row_offsets.push_back(static_cast<std::int64_t>(T.columns.size()));
  }
  T.values = random_vector<Scalar>(T.columns.size(), seed);
  for (std::int32_t i = 0; i < rows; ++i) {
    auto& diagonal = T.values[T.row_offsets[i + 1] - 1];
    diagonal = diagonal + Scalar(2 + float(T.row_offsets[i + 1] - T.row_offsets[i]));
  }
  return T;
}

template <class Scalar>
HostCsr<Scalar> transposed(HostCsr<Scalar> const& A) {
  std::vector<std::map<std::int32_t, Scalar>> rows(A.columns_count);
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      rows[A.columns[k]][i] = A.values[k];
  HostCsr<Scalar> B;
  B.rows = A.columns_count;
  B.columns_count = A.rows;
  B.row_offsets = {0};
  for (auto const& row : rows) {
    for (auto const& [column, value] : row) {
      B.columns.push_back(column);
      B.values.push_back(value);
    }
    B.row_offsets.push_back(static_cast<std::int64_t>(B.columns.size()));
  }
  return B;
}

template <class Scalar>
std::map<std::string, HostCsr<Scalar>> triangles() {
  std::map<std::string, HostCsr<Scalar>> all;
  auto const add = [&](char const* name, std::int32_t rows, auto const& needs) {
    all[name] = lower_triangle<Scalar>(rows, 7 + unsigned(all.size()), needs);
  };
  add("none", 0, [](auto, auto&) {});
  add("one", 1, [](auto, auto&) {});
  add("diagonal", 300, [](auto, auto&) {});
  add("chain", 700, [](int i, auto& to) {
    if (i > 0) to.insert(i - 1);
  });
  add("long chain of strides", 1500, [](int i, auto& to) {
    if (i >= 7) to.insert(i - 7);
    if (i >= 1 && i % 5 == 0) to.insert(i - 1);
  });
  add("dense", 150, [](int i, auto& to) {
    for (int j = 0; j < i; ++j) to.insert(j);
  });
  add("arrow", 900, [](int i, auto& to) {  // all need the first row, the last one needs all
    if (i > 0) to.insert(0);
    if (i == 899)
      for (int j = 0; j < i; ++j) to.insert(j);
  });
  add("grid", 45 * 45, [](int i, auto& to) {
    if (i % 45 > 0) to.insert(i - 1);
    if (i >= 45) to.insert(i - 45);
    if (i >= 45 && i % 45 > 0) to.insert(i - 46);
  });
  std::mt19937 generator(3);
  for (int const a_row : {2, 12, 60})
    add(("random " + std::to_string(a_row)).c_str(), 1200, [&](int i, auto& to) {
      for (int k = 0; k < a_row && i > 0; ++k) to.insert(static_cast<int>(generator() % i));
    });
  return all;
}

/// The largest |op(T) x - b| / (|op(T)| |x| + |b|) of a row, in plain loops.
template <class Scalar>
double backward_error(HostCsr<Scalar> const& T, TriangularShape const& shape,
                      std::vector<Scalar> const& x, std::vector<Scalar> const& b) {
  std::vector<Complex> residual(b.size());
  std::vector<double> size(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    residual[i] = -plain(b[i]);
    size[i] = std::abs(plain(b[i]));
  }
  auto const add = [&](std::int32_t i, std::int32_t j, Complex value) {
    if (shape.transpose != Transpose::none) std::swap(i, j);
    if (shape.transpose == Transpose::conjugate_transpose) value = std::conj(value);
    residual[i] += value * plain(x[j]);
    size[i] += std::abs(value) * std::abs(plain(x[j]));
  };
  for (std::int32_t i = 0; i < T.rows; ++i) {
    if (shape.unit_diagonal) add(i, i, 1);
    for (auto k = T.row_offsets[i]; k < T.row_offsets[i + 1]; ++k)
      if (!shape.unit_diagonal || T.columns[k] != i) add(i, T.columns[k], plain(T.values[k]));
  }
  double worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i)
    worst = std::max(worst, size[i] == 0 ? 0 : std::abs(residual[i]) / size[i]);
  return worst;
}

template <class Exec, class Scalar>
std::vector<Scalar> solved(Exec const& exec, TriangularSolve<Scalar, Exec> const& solve,
                           std::vector<Scalar> const& b) {
  auto const device_b = to_device(exec, b), x = to_device(exec, std::vector<Scalar>(b.size()));
  solve.solve(exec, device_b, x);
  return to_host(exec, x);
}

template <class C>
struct Triangular : testing::Test {};
TYPED_TEST_SUITE(Triangular, AllCases, TypeName);

TYPED_TEST(Triangular, SolvesAreBackwardStableAndTheSameAgain) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec = another_instance<Exec>();
  for (auto const& [name, lower] : triangles<Scalar>()) {
    auto const upper = transposed(lower);
    auto const b = random_vector<Scalar>(lower.rows, 5);
    for (auto const triangle : {Triangle::lower, Triangle::upper})
      for (auto const transpose :
           {Transpose::none, Transpose::transpose, Transpose::conjugate_transpose})
        for (bool const unit : {false, true}) {
          auto const& host = triangle == Triangle::lower ? lower : upper;
          TriangularShape const shape{triangle, unit, transpose};
          if (unit && name != "grid" && name != "random 2" && name != "chain") continue;
          auto scaled = host;  // without a large diagonal the solution must not grow
          if (unit)
            for (auto& value : scaled.values) value *= Scalar(0.1f);
          CsrMatrix<Scalar, Exec> const T(exec, scaled);
          for (auto const schedule : schedules) {
            SCOPED_TRACE(name + (triangle == Triangle::lower ? ", lower, " : ", upper, ") +
                         std::string(to_string(schedule)) + (unit ? ", unit" : "") +
                         ", transpose " + std::to_string(int(transpose)));
            TriangularSolve solve(exec, T, shape, schedule);
            auto const x = solved(exec, solve, b);
            ASSERT_LE(backward_error(scaled, shape, x, b), 10 * epsilon<Scalar>);
            for (int again = 0; again < 3; ++again)
              ASSERT_TRUE(same_bits(solved(exec, solve, b), x));
            if (schedule != TriangularSchedule::automatic) {
              EXPECT_EQ(solve.report().schedule, schedule);
            } else {
              EXPECT_NE(solve.report().schedule, schedule);
            }
          }
        }
  }
}

TYPED_TEST(Triangular, TakesColumnsAndAliasesAndNewValues) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  Exec const exec;
  auto host = triangles<Scalar>()["grid"];
  TriangularShape const shape;
  CsrMatrix<Scalar, Exec> const T(exec, host);
  TriangularSolve solve(exec, T, shape);
  auto const b = random_vector<Scalar>(host.rows, 4);
  auto const x = solved(exec, solve, b);

  auto const in_place = to_device(exec, b);
  solve.solve(exec, in_place, in_place);
  EXPECT_TRUE(same_bits(to_host(exec, in_place), x));

  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, typename Exec::memory_space>;
  Columns const many("SolderTest::many", host.rows, 3),
      answers("SolderTest::answers", host.rows, 3);
  for (int c = 0; c < 3; ++c)
    Kokkos::deep_copy(Kokkos::subview(many, Kokkos::ALL, c), to_device(exec, b));
  solve.solve(exec, many, answers);
  for (int c = 0; c < 3; ++c)
    EXPECT_TRUE(same_bits(to_host(exec, Kokkos::subview(answers, Kokkos::ALL, c)), x)) << c;

  for (auto& value : host.values) value *= Scalar(4);
  CsrMatrix<Scalar, Exec> const other(exec, host);
  solve.update_values(exec, other);
  auto const quarter = solved(exec, solve, b);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(quarter[i] * Scalar(4), x[i]) << i;

  solve.analyse(exec, other);  // the values are another matter
  auto const device_b = to_device(exec, b);
  EXPECT_THROW(solve.solve(exec, device_b, device_b), std::logic_error);
  solve.update_values(exec, T);
  EXPECT_TRUE(same_bits(solved(exec, solve, b), x));
}

/// A NaN is not "not yet": the solve ends, and what depends on it is not finite.
TYPED_TEST(Triangular, EndsWithWhateverIsInTheRightHandSide) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  Exec const exec;
  auto const host = triangles<Scalar>()["chain"];
  CsrMatrix<Scalar, Exec> const T(exec, host);
  for (auto const schedule : schedules) {
    TriangularSolve solve(exec, T, {}, schedule);
    auto const clean = solved(exec, solve, random_vector<Scalar>(host.rows, 8));
    for (Scalar const odd : {Scalar(std::numeric_limits<Real>::quiet_NaN()),
                             Scalar(std::numeric_limits<Real>::infinity()),
                             Solder::Impl::triangular::not_yet<Scalar>()}) {
      auto b = random_vector<Scalar>(host.rows, 8);
      b[400] = odd;
      auto const x = solved(exec, solve, b);
      for (int i = 0; i < 400; ++i) ASSERT_EQ(x[i], clean[i]) << i;
      EXPECT_FALSE(std::isfinite(std::abs(plain(x[400]))));
    }
    EXPECT_TRUE(same_bits(solved(exec, solve, random_vector<Scalar>(host.rows, 8)), clean));
  }
}

using Exec = Kokkos::DefaultExecutionSpace;

/// Two threads solve on two instances at once: a team waits for no team that has not started.
TEST(TriangularSolves, RunBesideOthers) {
  if (Solder::Impl::is_host_space<Exec>) GTEST_SKIP() << "a host has one instance";
  auto const host = triangles<double>()["grid"];
  auto const work = [&] {
    Exec const exec = another_instance<Exec>();
    CsrMatrix<double, Exec> const T(exec, host);
    TriangularSolve solve(exec, T);
    auto const b = random_vector<double>(host.rows, 4);
    auto const device_b = to_device(exec, b), x = to_device(exec, b);
    for (int k = 0; k < 1000; ++k) solve.solve(exec, device_b, x);
    EXPECT_LE(backward_error(host, {}, to_host(exec, x), b), 10 * epsilon<double>);
  };
  std::thread one(work), another(work);
  one.join();
  another.join();
}

// ---- Factors of real matrices ----

/// L, with its ones, or U of an incomplete factorisation.
HostCsr<double> factor(Exec const& exec, Solder::Incomplete<double, Exec> const& M, bool lower) {
  auto const offsets = to_host(exec, M.factor_offsets()),
             columns = to_host(exec, M.factor_columns());
  auto const values = to_host(exec, M.factor_values());
  HostCsr<double> T;
  T.rows = T.columns_count = M.rows();
  T.row_offsets = {0};
  for (std::int32_t i = 0; i < T.rows; ++i) {
    for (auto k = offsets[i]; k < offsets[i + 1]; ++k)
      if (columns[k] == i || (columns[k] < i) == lower) {
        T.columns.push_back(columns[k]);
        T.values.push_back(columns[k] == i && lower ? 1 : values[k]);
      }
    T.row_offsets.push_back(static_cast<std::int64_t>(T.columns.size()));
  }
  return T;
}

TEST(TriangularOfRealMatrices, FactorsAreSolvedBackwardStably) {
  auto const list = real_matrices(1500);
  if (list.empty())
    GTEST_SKIP() << "no matrices at " << matrices_folder() << "; set SOLDER_MATRICES to the folder";
  Exec const exec;
  int solves = 0;
  for (auto const& matrix : list) {
    if (matrix.is_complex) continue;
    auto const host = Solder::read_matrix_market<double>(matrix_file(matrix));
    Solder::Incomplete const M(exec, CsrMatrix<double, Exec>(exec, host),
                               Solder::Factorisation::ilu0);
    if (!M.failure().empty()) continue;
    for (bool const lower : {true, false}) {
      auto const T = factor(exec, M, lower);
      CsrMatrix<double, Exec> const device_T(exec, T);
      auto const b = random_vector<double>(T.rows, 12);
      for (auto const transpose : {Transpose::none, Transpose::transpose})
        for (auto const schedule : schedules) {
          TriangularShape const shape{lower ? Triangle::lower : Triangle::upper, false, transpose};
          TriangularSolve solve(exec, device_T, shape, schedule);
          auto const x = solved(exec, solve, b);
          if (!std::isfinite(norm(x))) continue;  // factors of a wild matrix
          ASSERT_LE(backward_error(T, shape, x, b), 10 * epsilon<double>)
              << matrix.name << (lower ? ", L, " : ", U, ") << to_string(schedule);
          EXPECT_TRUE(same_bits(solved(exec, solve, b), x)) << matrix.name;
          ++solves;
        }
    }
  }
  EXPECT_GT(solves, 300);
}

// ---- What is refused ----

/// What the constructor says of this matrix.
std::string complaint(HostCsr<double> const& host, TriangularShape const& shape = {}) {
  Exec const exec;
  try {
    CsrMatrix<double, Exec> const T(exec, host);
    TriangularSolve solve(exec, T, shape);
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "nothing";
}

/// Whoever does the tasks of a strand in their order, each when what it waits for is done, has all
/// that its rows need: found out by looking through all of it, whatever the number of threads.
TEST(TriangularStrands, WaitForAllThatTheirRowsNeed) {
  namespace tri = Solder::Impl::triangular;
  using Host = Kokkos::DefaultHostExecutionSpace;
  for (auto const& [name, T] : triangles<double>()) {
    tri::Dependencies needs;
    for (std::int32_t i = 0; i < T.rows; ++i) {
      for (auto k = T.row_offsets[i]; k < T.row_offsets[i + 1]; ++k)
        if (T.columns[k] != i) needs.columns.push_back(T.columns[k]);
      needs.offsets.push_back(static_cast<std::int32_t>(needs.columns.size()));
    }
    std::vector<std::int32_t> level;
    std::int32_t const levels = tri::find_levels(needs, level);
    for (auto const schedule :
         {TriangularSchedule::natural, TriangularSchedule::levels, TriangularSchedule::partition})
      for (std::int32_t const count : {1, 2, 3, 7}) {
        SCOPED_TRACE(name + ", " + std::string(to_string(schedule)) + ", " + std::to_string(count));
        auto const tiles = tri::tiles_by<Host>(schedule, needs, level, levels, 16, count == 1);
        auto const strands = tri::strands_of(needs, tiles, count);
        auto const tasks = static_cast<std::int32_t>(strands.begin.size()) - 1;
        ASSERT_EQ(std::int32_t(strands.first.size()), count + 1);
        ASSERT_EQ(strands.first.back(), tasks);
        ASSERT_EQ(strands.begin.back(), T.rows);
        std::vector<std::int32_t> place(T.rows, -1), task(T.rows), strand(tasks);
        for (std::int32_t s = 0; s < count; ++s)
          for (std::int32_t k = strands.first[s]; k < strands.first[s + 1]; ++k) {
            strand[k] = s;
            for (std::int32_t p = strands.begin[k]; p < strands.begin[k + 1]; ++p) {
              ASSERT_EQ(place[strands.order[p]], -1);
              place[strands.order[p]] = p;
              task[strands.order[p]] = k;
            }
          }
        for (std::int32_t s = 0; s < count; ++s) {
          std::vector<std::int32_t> waited(count, 0);
          for (std::int32_t k = strands.first[s]; k < strands.first[s + 1]; ++k) {
            for (std::int32_t n = strands.needs_begin[k]; n < strands.needs_begin[k + 1]; ++n) {
              auto const [of, many] = strands.needs[n];
              EXPECT_NE(of, s);
              EXPECT_GT(many, waited[of]);  // or it waits in vain
              waited[of] = many;
            }
            for (std::int32_t p = strands.begin[k]; p < strands.begin[k + 1]; ++p)
              needs.for_each_needed(strands.order[p], [&](std::int32_t j) {
                std::int32_t const of = strand[task[j]];
                if (of == s)
                  ASSERT_LT(place[j], p);
                else
                  ASSERT_LT(task[j] - strands.first[of], waited[of]);
              });
          }
        }
        // None waits for itself by way of others: there is always a task that can be done.
        std::vector<std::int32_t> done(count, 0);
        for (bool any = true; any;) {
          any = false;
          for (std::int32_t s = 0; s < count; ++s) {
            std::int32_t const k = strands.first[s] + done[s];
            if (k == strands.first[s + 1]) continue;
            bool ready = true;
            for (std::int32_t n = strands.needs_begin[k]; n < strands.needs_begin[k + 1]; ++n)
              ready = ready && done[strands.needs[n].strand] >= strands.needs[n].tasks;
            if (!ready) continue;
            ++done[s];
            any = true;
          }
        }
        for (std::int32_t s = 0; s < count; ++s)
          EXPECT_EQ(strands.first[s] + done[s], strands.first[s + 1]);
      }
  }
}

/// Analysed for the threads of one instance, solved by those of a smaller one: to the last bit.
TEST(TriangularStrands, FewerThreadsComeToTheSameEnd) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  Host const all;
  if (all.concurrency() < 2) GTEST_SKIP() << "this host space has one thread";
  auto const parts = Kokkos::Experimental::partition_space(all, 1, all.concurrency() - 1);
  for (auto const& [name, host] : triangles<double>())
    for (auto const schedule : schedules) {
      SCOPED_TRACE(name + ", " + std::string(to_string(schedule)));
      CsrMatrix<double, Host> const T(all, host);
      TriangularSolve const solve(all, T, {}, schedule);
      auto const b = random_vector<double>(host.rows, 5);
      auto const x = solved(all, solve, b);
      for (auto const& part : parts) EXPECT_TRUE(same_bits(solved(part, solve, b), x));
    }
}

// ---- Levels, found where the pattern lies ----

TEST(TriangularLevels, AreThoseOfPlainLoops) {
  namespace tri = Solder::Impl::triangular;
  Exec const exec;
  std::mt19937 engine(5);
  for (std::int32_t const rows : {1, 2, 31, 700, 5000})
    for (bool const lower : {true, false}) {
      SCOPED_TRACE(std::to_string(rows) + (lower ? " rows, lower" : " rows, upper"));
      std::vector<std::int32_t> offsets{0}, columns;  // of a matrix: both triangles
      for (std::int32_t i = 0; i < rows; ++i) {
        std::set<std::int32_t> row{i};
        for (int k = 0; k < 6; ++k) {
          auto const far = static_cast<std::int32_t>(engine() % 40) - 20;
          row.insert(std::clamp(i + (k == 0 ? far * 50 : far), 0, rows - 1));
        }
        columns.insert(columns.end(), row.begin(), row.end());
        offsets.push_back(static_cast<std::int32_t>(columns.size()));
      }
      std::vector<std::int32_t> level(rows, 0);
      std::int32_t levels = 0;
      for (std::int32_t turn = 0; turn < rows; ++turn) {
        std::int32_t const i = lower ? turn : rows - 1 - turn;
        for (std::int32_t k = offsets[i]; k < offsets[i + 1]; ++k)
          if (lower ? columns[k] < i : columns[k] > i)
            level[i] = std::max(level[i], level[columns[k]] + 1);
        levels = std::max(levels, level[i] + 1);
      }

      auto const on_device = to_device(exec, columns);
      auto const P = tri::DevicePattern<Exec>::of_sorted(
          exec, rows, to_device(exec, offsets).data(), on_device);
      tri::DeviceTriangle const T = tri::device_triangle(P, lower);
      auto const found = tri::rows_by_level(exec, T, levels);
      ASSERT_EQ(found.levels, levels);
      EXPECT_EQ(to_host(exec, found.level), level);
      std::vector<std::int32_t> order(rows);
      for (std::int32_t turn = 0; turn < rows; ++turn) order[turn] = lower ? turn : rows - 1 - turn;
      std::stable_sort(order.begin(), order.end(),
                       [&](std::int32_t a, std::int32_t b) { return level[a] < level[b]; });
      EXPECT_EQ(to_host(exec, found.order), order);
      std::vector<std::int32_t> begin;
      for (std::int32_t p = 0, of_level = 0; p < rows; ++p) {
        if (p > 0 && level[order[p]] != level[order[p - 1]]) of_level = p;
        if ((p - of_level) % 8 == 0) begin.push_back(p);
      }
      begin.push_back(rows);
      EXPECT_EQ(to_host(exec, tri::tiles_of_levels(exec, found, 8)), begin);
      EXPECT_EQ(tri::rows_by_level(exec, T, levels - 1).levels, 0) << "deeper than was looked for";
    }
}

/// On hosts this tests a loop that nothing else calls; the warps of a GPU only in its build.
/// Symmetric patterns, some with a clique of more than 64 rows, some without all diagonal entries.
TEST(TriangularColours, FoundOnTheDevice) {
  namespace tri = Solder::Impl::triangular;
  Exec const exec;
  std::mt19937 engine(6);
  for (std::int32_t const rows : {1, 2, 40, 700, 5000})
    for (std::int32_t const clique : {0, 150}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, a clique of " + std::to_string(clique));
      std::vector<std::set<std::int32_t>> neighbours(rows);
      auto const join = [&](std::int32_t i, std::int32_t j) {
        neighbours[i].insert(j);
        neighbours[j].insert(i);
      };
      for (std::int32_t i = 0; i < rows; ++i) {
        if (i % 7 != 3) join(i, i);
        for (int k = 0; k < 4; ++k)
          join(i, std::clamp(i + static_cast<std::int32_t>(engine() % 60) - 30, 0, rows - 1));
        if (i < clique)
          for (std::int32_t j = 0; j < i; ++j) join(3 * i % rows, 3 * j % rows);
      }
      std::vector<std::int32_t> offsets{0}, columns, colour(rows, -1);
      for (auto const& row : neighbours) {
        columns.insert(columns.end(), row.begin(), row.end());
        offsets.push_back(static_cast<std::int32_t>(columns.size()));
      }
      for (std::int32_t i = 0; i < rows; ++i) {
        std::set<std::int32_t> taken;
        for (std::int32_t const j : neighbours[i])
          if (j < i) taken.insert(colour[j]);
        for (colour[i] = 0; taken.contains(colour[i]);) ++colour[i];
      }
      std::vector<std::int32_t> order(rows), turn(rows);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::int32_t a, std::int32_t b) { return colour[a] < colour[b]; });
      for (std::int32_t t = 0; t < rows; ++t) turn[order[t]] = t;
      if (clique > 64 && rows > 3 * clique)
        EXPECT_GT(*std::max_element(colour.begin(), colour.end()), 100);

      auto const of = tri::coloured(
          exec, tri::DevicePattern<Exec>::of_sorted(exec, rows, to_device(exec, offsets).data(),
                                                    to_device(exec, columns)));
      EXPECT_EQ(to_host(exec, of.label), order);
      auto const begin = to_host(exec, of.offsets), source = to_host(exec, of.source),
                 diagonal = to_host(exec, of.diagonal), column = to_host(exec, of.columns);
      ASSERT_EQ(begin.size(), std::size_t(rows) + 1);
      ASSERT_EQ(column.size(), columns.size());
      EXPECT_EQ(begin[rows], offsets[rows]);
      for (std::int32_t t = 0; t < rows; ++t) {
        std::int32_t const i = order[t];
        ASSERT_EQ(begin[t + 1] - begin[t], offsets[i + 1] - offsets[i]);
        bool const has_diagonal = neighbours[i].contains(i);
        ASSERT_EQ(diagonal[t] >= 0, has_diagonal);
        if (has_diagonal) EXPECT_EQ(column[diagonal[t]], t);
        for (std::int32_t k = begin[t]; k < begin[t + 1]; ++k) {
          ASSERT_GE(source[k], offsets[i]);
          ASSERT_LT(source[k], offsets[i + 1]);
          EXPECT_EQ(column[k], turn[columns[source[k]]]);
          if (k > begin[t]) EXPECT_LT(column[k - 1], column[k]);
        }
      }
      auto const by_host = tri::ordered_pattern(
          tri::ordered(Solder::Ordering::multicolour, rows, offsets.data(), columns.data()),
          offsets.data(), columns.data());
      EXPECT_EQ(by_host.label, order);
      EXPECT_EQ(by_host.columns, column);
      EXPECT_EQ(by_host.source, source);
      EXPECT_EQ(by_host.diagonal, diagonal);
    }
}

/// Where rows are sorted the schedule `levels` of a GPU is made there, else by the host; then rows
/// are also summed in another order.
TEST(TriangularLevels, AreTheSameWhoeverFindsThem) {
  Exec const exec;
  auto const with_diagonal = lower_triangle<double>(3000, 8, [](std::int32_t i, auto& columns) {
    for (std::int32_t const back : {7, 40, 41, 300, 1000})
      if (i >= back) columns.insert(i - back);
  });
  auto without = with_diagonal;  // but for every third row
  without.columns.clear();
  without.values.clear();
  for (std::int32_t i = 0; i < without.rows; ++i) {
    auto const last = with_diagonal.row_offsets[i + 1] - (i % 3 == 0 ? 0 : 1);
    without.row_offsets[i] = static_cast<std::int64_t>(without.columns.size());
    for (auto k = with_diagonal.row_offsets[i]; k < last; ++k) {
      without.columns.push_back(with_diagonal.columns[k]);
      without.values.push_back(with_diagonal.values[k] / 16);
    }
  }
  without.row_offsets.back() = static_cast<std::int64_t>(without.columns.size());
  auto const b = to_device(exec, random_vector<double>(with_diagonal.rows, 9));
  for (bool const unit : {false, true})
    for (auto const triangle : {Triangle::lower, Triangle::upper}) {
      SCOPED_TRACE(std::string(unit ? "ones, " : "") +
                   (triangle == Triangle::lower ? "lower" : "upper"));
      auto const& lower = unit ? without : with_diagonal;
      auto const sorted = triangle == Triangle::lower ? lower : transposed(lower);
      auto unsorted = sorted;
      for (std::int32_t i = 0; i < sorted.rows; ++i) {  // the last entry first
        auto const begin = sorted.row_offsets[i], end = sorted.row_offsets[i + 1];
        if (begin == end) continue;
        std::rotate(unsorted.columns.begin() + begin, unsorted.columns.begin() + end - 1,
                    unsorted.columns.begin() + end);
        std::rotate(unsorted.values.begin() + begin, unsorted.values.begin() + end - 1,
                    unsorted.values.begin() + end);
      }
      std::vector<std::vector<double>> solutions;
      for (auto const& T : {sorted, unsorted}) {
        TriangularSolve const solve(exec, CsrMatrix<double, Exec>(exec, T), {triangle, unit},
                                    TriangularSchedule::levels);
        EXPECT_EQ(solve.report().levels, (3000 + 6) / 7);
        EXPECT_EQ(solve.report().schedule, TriangularSchedule::levels);
        auto const x = to_device(exec, std::vector<double>(sorted.rows));
        solve.solve(exec, b, x);
        solutions.push_back(to_host(exec, x));
      }
      for (std::int32_t i = 0; i < sorted.rows; ++i)
        ASSERT_NEAR(solutions[0][i], solutions[1][i], 1e-13 * (1 + std::abs(solutions[1][i])));
    }
}

TEST(TriangularErrors, NameTheRow) {
  using Rows = std::vector<std::vector<double>>;
  EXPECT_EQ(complaint(sparse<double>(Rows{{1, 0}, {2, 3}})), "nothing");
  EXPECT_NE(complaint(sparse<double>(Rows{{1, 5}, {2, 3}}))
                .find("column 2 (counted from 1), which is not in the lower"),
            std::string::npos);
  EXPECT_NE(complaint(sparse<double>(Rows{{1, 5}, {2, 3}}), {Triangle::upper})
                .find("column 1 (counted from 1), which is not in the upper"),
            std::string::npos);
  EXPECT_NE(complaint(sparse<double>(Rows{{1, 0}, {2, 0}})).find("row 2 (counted from 1) has no"),
            std::string::npos);
  EXPECT_EQ(complaint(sparse<double>(Rows{{1, 0}, {2, 0}}), {Triangle::lower, true}), "nothing");
  auto zero = sparse<double>(Rows{{1, 0}, {2, 3}});
  zero.values[0] = 0;
  EXPECT_NE(complaint(zero).find("the diagonal entry of row 1 (counted from 1) is zero"),
            std::string::npos);
  auto wide = sparse<double>(Rows{{1, 0}, {2, 3}});
  wide.columns_count = 3;
  EXPECT_NE(complaint(wide).find("a square matrix is needed, not 2 x 3"), std::string::npos);
}

TEST(TriangularErrors, UnsortedColumnsAndDuplicatesOffTheDiagonalAreFine) {
  Exec const exec;
  std::vector<int> const offsets{0, 1, 4, 7}, columns{0, 1, 0, 0, 2, 1, 0};
  std::vector<double> const values{2, 4, 1, 2, 5, -1, 3}, b{2, 7, 6};
  CsrMatrix<double, Exec> const T(exec, 3, 3, to_device(exec, offsets), to_device(exec, columns),
                                  to_device(exec, values));
  for (auto const schedule : schedules) {
    TriangularSolve solve(exec, T, {}, schedule);
    auto const x = solved(exec, solve, b);
    EXPECT_DOUBLE_EQ(x[0], 1);
    EXPECT_DOUBLE_EQ(x[1], 1);    // 4 x1 + (1 + 2) x0 = 7
    EXPECT_DOUBLE_EQ(x[2], 0.8);  // 5 x2 - x1 + 3 x0 = 6
  }
  std::vector<int> const twice{0, 1, 1, 0, 2, 1, 0};
  CsrMatrix<double, Exec> const wrong(exec, 3, 3, to_device(exec, offsets), to_device(exec, twice),
                                      to_device(exec, values));
  EXPECT_THROW(TriangularSolve(exec, wrong), std::invalid_argument);
}

TEST(TriangularErrors, WhatIsRefusedChangesNothing) {
  static_assert(!std::is_copy_constructible_v<TriangularSolve<double, Exec>>);
  Exec const exec;
  auto const host = triangles<double>()["grid"];
  CsrMatrix<double, Exec> const T(exec, host), full(exec, Solder::fem_poisson_2d<double>(50));
  TriangularSolve solve(exec, T);
  auto const b = random_vector<double>(host.rows, 4);
  auto const x = solved(exec, solve, b);
  EXPECT_THROW(solve.analyse(exec, full), std::invalid_argument);
  EXPECT_THROW(solve.update_values(exec, full), std::invalid_argument);
  EXPECT_TRUE(same_bits(solved(exec, solve, b), x));
  auto moved = std::move(solve);
  EXPECT_TRUE(same_bits(solved(exec, moved, b), x));
}

TEST(TriangularErrors, SizesAreChecked) {
  Exec const exec;
  CsrMatrix<double, Exec> const T(exec, Solder::fem_poisson_2d<double>(1)),
      larger(exec, diagonal<double>({1, 2}));
  TriangularSolve solve(exec, T);
  auto const one = to_device(exec, std::vector<double>(1)),
             two = to_device(exec, std::vector<double>(2));
  EXPECT_THROW(solve.solve(exec, two, two), std::invalid_argument);
  EXPECT_THROW(solve.solve(exec, one, two), std::invalid_argument);
  EXPECT_THROW(solve.update_values(exec, larger), std::invalid_argument);
}

}  // namespace
