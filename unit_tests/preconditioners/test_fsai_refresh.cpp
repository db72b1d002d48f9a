// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A refresh of FSAI: the same as a new set-up, and what it does without.
#include "../kokkos_events.hpp"
#include "fsai_cases.hpp"

#include <limits>
#include <string>

namespace {

using namespace SolderTest;

template <class C>
struct FsaiRefreshOf : testing::Test {};
TYPED_TEST_SUITE(FsaiRefreshOf, AllCases, TypeName);

template <class Exec>
struct FsaiRefresh : testing::Test {};
TYPED_TEST_SUITE(FsaiRefresh, Spaces::Types, TypeName);

TYPED_TEST(FsaiRefresh, RefreshFollowsTheMatrixAndGivesTheSameBits) {
  TypeParam const exec;
  auto const first = Solder::poisson_3d_27pt<double>(6), second = Solder::elasticity_3d<double>(4);
  CsrMatrix<double, TypeParam> const A(exec, first), B(exec, second);
  FsaiOptions const options{0, 3, 0.01};
  Fsai<double, TypeParam> M(exec, A, options);
  auto const G = host_csr(exec, M.G());
  EXPECT_EQ(M.rows(), 216);
  M.refresh(exec, B);
  EXPECT_EQ(M.rows(), 225);
  EXPECT_EQ(M.G().rows(), 225);
  expect_equal(host_csr(exec, M.G()), FsaiOracle<double>(second).static_fsai(0, 3, 0.01), 1e-10);
  M.refresh(exec, A);
  EXPECT_TRUE(same_bits(host_csr(exec, M.G()).values, G.values));
}

/// \brief G, G^H and the report of a refreshed factor are those of a new one, bit by bit.
template <class Refreshed, class Matrix>
void expect_as_new(typename Matrix::execution_space const& exec, Refreshed const& M,
                   Matrix const& A, FsaiOptions const& options) {
  Refreshed const made(exec, A, options);
  for (bool const adjoint : {false, true}) {
    auto const old = host_csr(exec, adjoint ? M.GH() : M.G()),
               expected = host_csr(exec, adjoint ? made.GH() : made.G());
    EXPECT_TRUE(same_bits(old.row_offsets, expected.row_offsets));
    EXPECT_TRUE(same_bits(old.columns, expected.columns));
    EXPECT_TRUE(same_bits(old.values, expected.values));
    EXPECT_EQ((adjoint ? M.GH() : M.G()).longest_row(),
              (adjoint ? made.GH() : made.G()).longest_row());
  }
  EXPECT_EQ(M.setup().nonzeros, made.setup().nonzeros);
  EXPECT_EQ(M.setup().density, made.setup().density);
  EXPECT_EQ(M.setup().repaired_rows, made.setup().repaired_rows);
  EXPECT_EQ(M.setup().first_repaired_row, made.setup().first_repaired_row);
}

/// \brief The kernels of a refresh.
std::vector<std::string> kernels_of(auto const& refresh) {
  KokkosEvents events;
  refresh();
  events.stop();
  std::vector<std::string> labels;
  for (auto const& kernel : events.kernels)
    labels.push_back(kernel.label.substr(kernel.label.rfind(':') + 1));
  return labels;
}

bool has(std::vector<std::string> const& labels, std::string const& label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// \brief D A D for a diagonal D > 0 of other sizes: the same couplings are strong, other entries
/// of G are small.
template <class Scalar>
HostCsr<Scalar> rescaled(HostCsr<Scalar> A) {
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  auto const size = [](std::int32_t i) { return Real(1 << (i * 7 % 5)); };
  for (std::int32_t i = 0; i < A.rows; ++i)
    for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k)
      A.values[k] *= size(i) * size(A.columns[k]);
  return A;
}

/// Values of all kinds for one pattern, in turn. From the second refresh on it may be known.
/// Entries of local matrices have places if they are few; then no copy of A's lower triangle is
/// needed.
TYPED_TEST(FsaiRefreshOf, RefreshesAsIfMadeAnew) {
  using Exec = typename TypeParam::Exec;
  using Scalar = typename TypeParam::Scalar;
  using Real = typename Solder::ScalarTraits<Scalar>::Real;
  using Matrix = CsrMatrix<Scalar, Exec>;
  Exec const exec;
  struct Case {
    char const* name;
    HostCsr<Scalar> A;
    FsaiOptions options;
    bool is_known, has_places;
  };
  for (auto const& [name, A, options, is_known, has_places] :
       {Case{"grid", grid<Scalar>(14), {}, true, true},
        Case{"diagonal", grid<Scalar>(5), {1, 2, 0.05}, true, true},
        Case{"of all sizes", dense_spd<Scalar>(150, 3), {0, 1, 0.01}, true, false},
        Case{"in an A with a long row", arrow<Scalar>(300), {0, 1, 0.01}, true, false},
        Case{"too long", arrow<Scalar>(120), {0, 2, 0.01}, false, false},
        Case{"limited", grid<Scalar>(14), {.tau = 0, .k = 2, .max_row_entries = 4}, false, false},
        Case{"adaptive", grid<Scalar>(8), {.adaptive = true}, false, false}}) {
    SCOPED_TRACE(name);
    HostCsr<Scalar> larger = A, indefinite = A, weak = A;
    for (auto& value : larger.values) value *= Real(3);
    for (std::int32_t i = 0; i < A.rows; ++i)
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
        if (A.columns[k] == i && i % 11 == 6) indefinite.values[k] = -indefinite.values[k];
        if (A.columns[k] != i && (A.columns[k] + i) % 5 == 0) weak.values[k] *= Real(1e-6);
      }
    HostCsr<Scalar> with_nan = A;
    with_nan.values[A.values.size() / 2] *= std::numeric_limits<Real>::quiet_NaN();
    Matrix const first(exec, A);
    Fsai<Scalar, Exec> M(exec, first, options), copy = M;
    int turn = 0;
    for (HostCsr<Scalar> const& values :
         {A, larger, rescaled(A), rescaled(A), indefinite, indefinite, A, weak, larger, larger,
          with_nan, with_nan, A}) {
      SCOPED_TRACE(++turn);
      Matrix const now(exec, values);
      auto const labels = kernels_of([&] { (turn % 2 == 0 ? M : copy).refresh(exec, now); });
      expect_as_new(exec, M, now, options);
      if (turn != 3) continue;  // as in the refresh before
      EXPECT_EQ(!has(labels, "count_pattern") && has(labels, "compare"), is_known);
      EXPECT_EQ(!has(labels, "copy_lower") && is_known, has_places);
    }
  }
}

/// What a new set-up computes by chunks.
TYPED_TEST(FsaiRefresh, RefreshesAllRowsAtOnce) {
  TypeParam const exec;
  CsrMatrix<double, TypeParam> const A(exec, Solder::poisson_3d_27pt<double>(13));
  FsaiOptions const options{0, 2, 0.05};
  Fsai<double, TypeParam> M(exec, A, options);
  auto const compressions = [&] {
    auto const labels = kernels_of([&] { M.refresh(exec, A); });
    return std::count(labels.begin(), labels.end(), "compress");
  };
  auto const of_new = kernels_of([&] { Fsai<double, TypeParam> const made(exec, A, options); });
  EXPECT_GT(std::count(of_new.begin(), of_new.end(), "compress"), 1);
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(compressions(), 1);
    expect_as_new(exec, M, A, options);
  }
}

/// Columns in any order are no hindrance. Of a matrix with duplicates nothing is remembered.
TYPED_TEST(FsaiRefresh, RefreshesWithDuplicatesAndUnsortedRows) {
  TypeParam const exec;
  auto const host = Solder::fem_poisson_2d<double>(12);
  auto reversed = host;
  for (std::int32_t i = 0; i < host.rows; ++i) {
    std::reverse(reversed.columns.begin() + host.row_offsets[i],
                 reversed.columns.begin() + host.row_offsets[i + 1]);
    std::reverse(reversed.values.begin() + host.row_offsets[i],
                 reversed.values.begin() + host.row_offsets[i + 1]);
  }
  for (bool const has_duplicates : {false, true}) {
    CsrMatrix<double, TypeParam> const A(exec, has_duplicates ? in_parts(host, true) : reversed);
    Fsai<double, TypeParam> M(exec, A);
    for (int k = 0; k < 3; ++k) {
      auto const labels = kernels_of([&] { M.refresh(exec, A); });
      expect_as_new(exec, M, A, {});
      EXPECT_EQ(has(labels, "compare"), !has_duplicates && k > 0);
      EXPECT_EQ(has(labels, "mark"), !has_duplicates && k == 0);
    }
  }
}

TYPED_TEST(FsaiRefresh, RefreshesOfFactorsInSinglePrecisionAndOfLargeOffsets) {
  TypeParam const exec;
  auto const A = Solder::fem_poisson_2d<double>(14);
  for (auto const& values : {A, A, rescaled(A)}) {
    CsrMatrix<double, TypeParam> const a(exec, A), b(exec, values);
    Fsai<double, TypeParam, float> M(exec, a);
    M.refresh(exec, a);
    M.refresh(exec, b);
    expect_as_new(exec, M, b, {});
    CsrMatrix<double, TypeParam, std::int64_t> const large_a(exec, a), large_b(exec, b);
    Fsai<double, TypeParam, double, std::int64_t> large(exec, large_a);
    large.refresh(exec, large_a);
    large.refresh(exec, large_b);
    expect_as_new(exec, large, large_b, {});
  }
}

/// Where a refresh knows the pattern, it searches, sorts and transposes nothing.
TYPED_TEST(FsaiRefresh, RefreshesByValuesAlone) {
  TypeParam const exec;
  using Matrix = CsrMatrix<double, TypeParam>;
  auto const host = Solder::fem_poisson_2d<double>(20);
  auto weak = host;
  for (std::int64_t k = 0; k < std::int64_t(weak.values.size()); k += 9) weak.values[k] *= 1e-3;
  Matrix const A(exec, host), other(exec, rescaled(host)), fewer(exec, weak);
  Fsai<double, TypeParam> M(exec, A);
  auto const refreshed = [&](Matrix const& to) {
    auto const labels = kernels_of([&] { M.refresh(exec, to); });
    EXPECT_TRUE(has(labels, "compare") || has(labels, "count_pattern"));
    return labels;
  };
  EXPECT_TRUE(has(refreshed(A), "count_pattern"));  // this one remembers
  auto const again = refreshed(A);
  EXPECT_FALSE(has(again, "count_pattern"));
  EXPECT_FALSE(has(again, "scan_kept"));
  EXPECT_TRUE(has(again, "fetch"));
  EXPECT_LE(again.size(), 9u);
  KokkosEvents events;
  M.refresh(exec, A);
  events.stop();
  EXPECT_TRUE(events.allocations.empty()) << events.allocations.front().label;
  auto const dropping = refreshed(other);  // other entries
  EXPECT_FALSE(has(dropping, "count_pattern"));
  EXPECT_TRUE(has(dropping, "scan_kept"));
  EXPECT_FALSE(has(refreshed(other), "scan_kept"));
  EXPECT_TRUE(has(refreshed(fewer), "count_pattern"));  // other couplings are strong
  EXPECT_TRUE(has(refreshed(Matrix(exec, Solder::fem_poisson_2d<double>(9))), "count_pattern"));
}

/// \brief While it lives, the kernel after `left` others throws, as one does for which there is no
/// memory.
class FailingKernel {
 public:
  struct Failure {};

  explicit FailingKernel(int after) : before_(Kokkos::Tools::Experimental::get_callbacks()) {
    namespace Tools = Kokkos::Tools::Experimental;
    left = after;
    Tools::set_begin_parallel_for_callback(kernel);
    Tools::set_begin_parallel_reduce_callback(kernel);
    Tools::set_begin_parallel_scan_callback(kernel);
  }
  ~FailingKernel() { Kokkos::Tools::Experimental::set_callbacks(before_); }
  FailingKernel(FailingKernel const&) = delete;
  FailingKernel& operator=(FailingKernel const&) = delete;

 private:
  static void kernel(char const*, std::uint32_t, std::uint64_t* id) {
    *id = 0;
    if (left-- == 0) throw Failure();
  }

  static inline int left = 0;
  Kokkos::Tools::Experimental::EventSet before_;
};

TYPED_TEST(FsaiRefresh, RefreshThatThrowsChangesNothing) {
  TypeParam const exec;
  using Matrix = CsrMatrix<double, TypeParam>;
  Matrix const A(exec, Solder::poisson_3d_27pt<double>(6)),
      B(exec, Solder::elasticity_3d<double>(4));
  auto wide = diagonal<double>({1, 2});
  wide.columns_count = 3;
  for (bool const adaptive : {false, true}) {
    Fsai<double, TypeParam> M(exec, A, {.tau = 0, .delta = 0.01, .adaptive = adaptive});
    auto const copy = M;  // as solvers hold one
    auto const G = host_csr(exec, M.G()), GH = host_csr(exec, M.GH());
    auto const* const values = M.G().values().data();
    auto const setup = M.setup();
    auto const expect_unchanged = [&] {
      for (Fsai<double, TypeParam> const* const kept : {&std::as_const(M), &copy}) {
        ASSERT_EQ(kept->setup().nonzeros, setup.nonzeros);
        EXPECT_EQ(kept->setup().density, setup.density);
        EXPECT_EQ(kept->setup().phases.size(), setup.phases.size());
        EXPECT_EQ(kept->G().values().data(), values);
        EXPECT_TRUE(same_bits(host_csr(exec, kept->G()).values, G.values));
        EXPECT_TRUE(same_bits(host_csr(exec, kept->GH()).values, GH.values));
      }
    };
    EXPECT_THROW(M.refresh(exec, Matrix(exec, wide)), std::invalid_argument);
    expect_unchanged();
    int failures = 0;
    for (bool done = false; !done && !this->HasFatalFailure(); ++failures) {
      SCOPED_TRACE("kernel " + std::to_string(failures));
      FailingKernel const failing(failures);
      try {
        M.refresh(exec, B);
        done = true;
      } catch (FailingKernel::Failure const&) {
        expect_unchanged();
      }
    }
    EXPECT_GT(failures, 8);
    EXPECT_EQ(copy.G().rows(), B.rows());
  }
}

TYPED_TEST(FsaiRefresh, RefreshOfAKnownPatternThatThrowsChangesNothing) {
  TypeParam const exec;
  using Matrix = CsrMatrix<double, TypeParam>;
  auto const host = Solder::fem_poisson_2d<double>(9);
  Matrix const A(exec, host), B(exec, rescaled(host));
  Fsai<double, TypeParam> M(exec, A);
  int failures = 0;
  for (bool done = false; !done && !this->HasFatalFailure(); ++failures) {
    SCOPED_TRACE("kernel " + std::to_string(failures));
    M.refresh(exec, A);
    M.refresh(exec, A);
    auto const* const values = M.G().values().data();
    FailingKernel const failing(failures);
    try {
      M.refresh(exec, B);
      done = true;
    } catch (FailingKernel::Failure const&) {
      EXPECT_EQ(M.G().values().data(), values);
      expect_as_new(exec, M, A, {});
    }
  }
  EXPECT_GT(failures, 4);
  expect_as_new(exec, M, B, {});
}

}  // namespace
