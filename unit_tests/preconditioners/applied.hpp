// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../support.hpp"

#include <vector>

#include <solder/core/application.hpp>
#include <solder/core/arena.hpp>
#include <solder/core/runners/engine.hpp>

namespace SolderTest {

/// z = M r in a program of its own.
template <class M, class Scalar>
std::vector<Scalar> applied(M const& m, std::vector<Scalar> const& r, bool one_team = false) {
  using Exec = Kokkos::DefaultExecutionSpace;
  Exec const exec;
  Solder::Arena<Exec> arena(exec, one_team);
  auto const opened = m.open(arena);
  auto const from = to_device(exec, r),
             z = to_device(exec, std::vector<Scalar>(r.size(), Scalar(7)));
  auto const application = opened.apply(Solder::Phase::check, from.data());
  Solder::Impl::Engine<Exec> engine(exec, "SolderTest::apply", {}, {}, true);
  engine.run_once(Solder::program(
      application.before, Solder::stage("SolderTest::keep", Solder::Phase::check, application.rows,
                                        Solder::store(z.data()))));
  EXPECT_TRUE(same_bits(to_host(exec, from), r)) << "r was written to";
  return to_host(exec, z);
}

}  // namespace SolderTest
