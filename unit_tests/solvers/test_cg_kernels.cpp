// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a solve makes Kokkos do: see bench.hpp.
#include "bench.hpp"
#include "cg.hpp"

namespace {

using namespace SolderTest;

int kernels_per_iteration(CgOptions const& options) {
  return options.form == CgForm::pipelined ? 2 : 3;
}

template <class Exec>
struct CgKernels : testing::Test {};
TYPED_TEST_SUITE(CgKernels, Spaces::Types, TypeName);

TYPED_TEST(CgKernels, TwoAnIterationPipelinedAndThreeClassical) {
  expect_kernels<CgOptions, TypeParam>(kernels_per_iteration);
}

TYPED_TEST(CgKernels, PaddedFormatsTakeTheSameKernelsAndNothingElse) {
  expect_padded_formats_take_the_same_kernels<CgOptions, TypeParam>(kernels_per_iteration);
}

TYPED_TEST(CgKernels, PaddedFormatsRepeatBitForBit) {
  expect_padded_formats_repeat<CgOptions, TypeParam>();
}

TYPED_TEST(CgKernels, NothingElseInASolveAndOneUnderTheTeamRunner) {
  expect_nothing_but_kernels<CgOptions, TypeParam>();
}

TYPED_TEST(CgKernels, AGraphIsRecordedOnceAndSubmittedWithoutAFence) {
  expect_graph_recorded_once<CgOptions, TypeParam>();
}

TYPED_TEST(CgKernels, ConstructionWorksOnTheInstanceGiven) {
  expect_construction_on_the_instance<CgOptions, TypeParam>();
}

// ---- The checks above can fail ----

struct NothingBody {
  KOKKOS_FUNCTION void operator()(int) const {}
};

TYPED_TEST(CgKernels, EventsAreSeen) {
  using Exec = TypeParam;
  Exec const exec = another_instance<Exec>();
  Kokkos::View<double*, typename Exec::memory_space> const to("SolderTest::to", 1000),
      from("SolderTest::from", 1000);
  KokkosEvents events;

  Kokkos::parallel_for("SolderTest::here", Kokkos::RangePolicy<Exec>(exec, 0, 10), NothingBody{});
  Kokkos::parallel_for("SolderTest::elsewhere", Kokkos::RangePolicy<Exec>(Exec(), 0, 10),
                       NothingBody{});
  ASSERT_EQ(events.kernels.size(), 2u);
  EXPECT_EQ(events.kernels[0].label, "SolderTest::here");
  EXPECT_EQ(events.kernels[0].device, id_of(exec));
  EXPECT_EQ(events.kernels[1].device, id_of(Exec()));
  if (!Solder::Impl::is_host_space<Exec>) {  // hosts give all their instances one number
    EXPECT_NE(events.kernels[0].device, events.kernels[1].device);
  }
  EXPECT_EQ(events.fences, std::vector<std::string>{});

  exec.fence("SolderTest::fence");
  EXPECT_EQ(events.fences, std::vector<std::string>{"SolderTest::fence"});
  Kokkos::fence("SolderTest::global fence");
  EXPECT_GE(events.fences.size(), 2u);

  EXPECT_EQ(events.copies.size(), 0u);
  Kokkos::deep_copy(exec, to, from);
  EXPECT_EQ(events.copies, std::vector<std::string>{"SolderTest::from > SolderTest::to"});

  EXPECT_EQ(events.allocations.size(), 0u);
  Kokkos::View<double*, typename Exec::memory_space> const more(
      Kokkos::view_alloc("SolderTest::more", exec, Kokkos::WithoutInitializing), 1000);
  ASSERT_EQ(events.allocations.size(), 1u);
  EXPECT_EQ(events.allocations[0].label, "SolderTest::more");
  EXPECT_GE(events.allocations[0].bytes, 1000 * sizeof(double));

  events.stop();
  exec.fence("SolderTest::unseen");
  EXPECT_NE(events.fences.back(), "SolderTest::unseen");
}

TYPED_TEST(CgKernels, AFenceInASolveWouldBeSeen) {
  Bench<TypeParam> bench;
  CgOptions options = with(CgOptions{}, Runner::launch, 50);
  options.monitor = [&](Solder::Progress const&) { bench.exec.fence("SolderTest::monitor"); };
  auto const events = bench.watch(Identity{}, options);
  EXPECT_FALSE(events->fences.empty());
}

}  // namespace
