// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../support.hpp"

#include <algorithm>
#include <stdexcept>

#include <solder/matrix/compressed_rows.hpp>
#include <solder/matrix/partition.hpp>

namespace {

using namespace SolderTest;
using Solder::EqualSlices;

template <class Exec>
struct EqualSlicesOn : testing::Test {};
TYPED_TEST_SUITE(EqualSlicesOn, Spaces::Types, TypeName);

TYPED_TEST(EqualSlicesOn, CoverEveryRowOnce) {
  using Exec = TypeParam;
  Exec const exec;
  for (std::int32_t n : {0, 1, 2, 3, 7, 1000, 1001}) {
    EqualSlices<Exec> const slices(exec, n);
    EqualSlices<Exec> const copy = slices;
    Solder::Rows const rows = copy.rows();
    EXPECT_EQ(rows, slices.rows()) << n;
    EXPECT_EQ(rows.count, n);
    ASSERT_GE(rows.teams, 1);
    if constexpr (!Solder::Impl::is_host_space<Exec>) {
      EXPECT_EQ(rows.bounds, nullptr);
    } else {
      EXPECT_EQ(rows.teams, std::clamp(n, 1, exec.concurrency()));
      ASSERT_EQ(rows.bounds[0], 0);
      ASSERT_EQ(rows.bounds[rows.teams], n);
      for (int t = 0; t < rows.teams; ++t) {
        std::int32_t const length = rows.bounds[t + 1] - rows.bounds[t];
        EXPECT_GE(length, n / rows.teams) << n << " rows, slice " << t;
        EXPECT_LE(length, n / rows.teams + 1) << n << " rows, slice " << t;
      }
    }
  }
}

TYPED_TEST(EqualSlicesOn, RefuseRowsThatKernelsDoNotTake) {
  using Exec = TypeParam;
  Exec const exec;
  EXPECT_THROW(EqualSlices<Exec>(exec, -1), std::length_error);
  EXPECT_THROW(EqualSlices<Exec>(exec, 2147483647), std::length_error);
}

/// Notes the rows in the order in which they are met.
struct NoteBody {
  int* met;
  int* count;
  KOKKOS_FUNCTION void operator()(std::int32_t i) const { met[(*count)++] = i; }
};

TEST(CompressedRows, AreMetDownwards) {
  std::int32_t const bounds[] = {0, 3, 3, 8}, offsets[] = {0, 1, 1, 2, 3, 4, 5, 6, 6},
                     columns[] = {0, 1, 2, 3, 4, 5};
  double const values[] = {1, 1, 1, 1, 1, 1};
  std::vector<int> met(8, -1);
  int count = 0;
  for (int team = 0; team < 3; ++team)
    Solder::Impl::for_each_compressed_row(Solder::Impl::HostTeam{team, 3},
                                          Solder::Rows{8, 3, bounds}, offsets, columns, values,
                                          NoteBody{met.data(), &count});
  EXPECT_EQ(met, (std::vector<int>{2, 1, 0, 7, 6, 5, 4, 3}));
}

}  // namespace
