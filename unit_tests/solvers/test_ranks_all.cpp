// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What ranks have together beside the solvers: preconditioners over all ranks, and agreements where
// one of them fails alone. Ranks are threads here; see ranks.hpp.
#include "cg.hpp"
#include "gmres.hpp"
#include "idr.hpp"
#include "ranks.hpp"

#include <cstdlib>
#include <map>
#include <new>
#include <string>

#include <solder/matrix/distributed_analysis.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/distributed_fsai.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/preconditioners/schwarz.hpp>
#include <solder/problems/convection_diffusion.hpp>

// Of the views of this thread, which is a rank, the one that fails, counted from 0; -1: none.
namespace {
thread_local long failing_view = -1;
// A function of its own: nvcc compiles operator new for devices, too, which have no such variable.
void* view_memory(std::size_t bytes, std::size_t alignment) {
  bool const fails = failing_view >= 0 && failing_view-- == 0;
  void* const block =
      fails ? nullptr
            : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
}  // namespace
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return view_memory(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace SolderTest {
namespace {

/// The rows of ghosts are those of the whole matrix, as far as this rank has their columns.
TEST(GhostRows, AreThoseOfTheirRanks) {
  auto const all = definite_matrix<double>(9);
  for (int const ranks : {1, 2, 3, 5}) {
    Meeting meeting(ranks);
    auto const bounds = slices(all.rows, ranks);
    on_ranks(ranks, [&](int me) {
      Exec const exec = own_instance<Exec>();
      auto const A = part_of<double>(exec, all, meeting, bounds, me);
      auto const block = Solder::Impl::enlarged_block(exec, A);
      std::map<std::int64_t, std::int32_t> place;
      for (std::int32_t i = 0; i < block.rows.rows; ++i) place[block.numbers[i]] = i;
      EXPECT_EQ(place.size(), block.numbers.size());
      for (auto const& [number, i] : place) {
        std::map<std::int32_t, double> expected, found;
        for (auto k = all.row_offsets[number]; k < all.row_offsets[number + 1]; ++k)
          if (place.contains(all.columns[k])) expected[place[all.columns[k]]] = all.values[k];
        for (auto k = block.rows.row_offsets[i]; k < block.rows.row_offsets[i + 1]; ++k)
          found[block.rows.columns[k]] += block.rows.values[k];
        EXPECT_EQ(found, expected) << "row " << number;
      }
    });
  }
}

/// What speaks for and against all that auto chooses by.
std::vector<Solder::HostCsr<double>> matrices_to_look_at() {
  auto flow = Solder::convection_diffusion_2d<double>(9);
  auto bad = definite_matrix<double>(9);
  bad.values[std::size_t(bad.row_offsets[40]) + 1] *= 3;  // no longer symmetric
  for (std::int32_t const i : {5, 33, 70})
    for (auto k = bad.row_offsets[i]; k < bad.row_offsets[i + 1]; ++k)
      if (bad.columns[k] == i) bad.values[k] = i == 5 ? 0 : -bad.values[k];
  return {definite_matrix<double>(9), flow, bad, Solder::HostCsr<double>{1, 1, {0, 1}, {0}, {2}}};
}

TEST(DistributedAnalysis, IsThatOfOneProcess) {
  for (auto const& all : matrices_to_look_at()) {
    Exec const exec = own_instance<Exec>();
    auto const one = Solder::analyse(exec, Solder::CsrMatrix<double, Exec>(exec, all));
    for (int const ranks : {1, 2, 3, 5}) {
      Meeting meeting(ranks);
      auto const bounds = slices(all.rows, ranks);
      on_ranks(ranks, [&](int me) {
        Exec const on = own_instance<Exec>();
        auto const of = Solder::analyse(on, part_of<double>(on, all, meeting, bounds, me));
        auto const expect_same = [](Solder::Spread const& a, Solder::Spread const& b) {
          EXPECT_EQ(a.smallest, b.smallest);
          EXPECT_EQ(a.largest, b.largest);
          EXPECT_EQ(a.zeros, b.zeros);
        };
        auto const expect_agreement = [](Solder::Agreement const& a, Solder::Agreement const& b) {
          EXPECT_EQ(a.difference, b.difference);
          EXPECT_EQ(a.rounding, b.rounding);
          EXPECT_EQ(a.row, b.row);
          EXPECT_EQ(a.column, b.column);
          EXPECT_EQ(a.entry, b.entry);
          EXPECT_EQ(a.mirrored, b.mirrored);
        };
        EXPECT_EQ(describe(of), describe(one));
        expect_agreement(of.symmetry.hermitian, one.symmetry.hermitian);
        expect_agreement(of.symmetry.symmetric, one.symmetry.symmetric);
        EXPECT_EQ(of.symmetry.is_square, one.symmetry.is_square);
        EXPECT_EQ(of.symmetry.is_finite, one.symmetry.is_finite);
        EXPECT_EQ(of.symmetry.pattern, one.symmetry.pattern);
        EXPECT_EQ(of.symmetry.diagonal.missing, one.symmetry.diagonal.missing);
        EXPECT_EQ(of.symmetry.diagonal.zero, one.symmetry.diagonal.zero);
        EXPECT_EQ(of.symmetry.diagonal.negative, one.symmetry.diagonal.negative);
        expect_same(of.diagonal, one.diagonal);
        expect_same(of.row_sizes, one.row_sizes);
        EXPECT_EQ(of.column_sizes.zeros, one.column_sizes.zeros);
        if (of.symmetry.symmetric.is_exact()) expect_same(of.column_sizes, one.column_sizes);
        EXPECT_EQ(of.rows.rows, one.rows.rows);
        EXPECT_EQ(of.rows.nonzeros, one.rows.nonzeros);
        EXPECT_EQ(of.rows.shortest, one.rows.shortest);
        EXPECT_EQ(of.rows.longest, one.rows.longest);
        EXPECT_EQ(of.rows.mean, one.rows.mean);
        EXPECT_EQ(of.rows.deviation, one.rows.deviation);
        EXPECT_EQ(of.negative_diagonals, one.negative_diagonals);
        EXPECT_EQ(of.dominant_rows, one.dominant_rows);
        EXPECT_EQ(of.dominance, one.dominance);
        EXPECT_EQ(of.off_diagonals, one.off_diagonals);
        EXPECT_EQ(of.lower, one.lower);
        EXPECT_EQ(of.opposite, one.opposite);
        EXPECT_EQ(of.outsized, one.outsized);
        EXPECT_EQ(of.unpaired, one.unpaired);
        EXPECT_EQ(of.bandwidth, one.bandwidth);
      });
    }
  }
}

/// With k = 1 the preconditioner is that of one process, whatever the ranks.
TEST(DistributedFsai, IsThatOfOneProcess) {
  auto const all = definite_matrix<double>(20);
  auto const b = random_vector<double>(all.rows, 1);
  std::vector<double> const x0(b.size());
  Exec const exec;
  for (bool const is_whole : {true, false}) {
    Solder::FsaiOptions options;
    options.k = is_whole ? 1 : 2;
    options.delta = is_whole ? 0 : options.delta;
    Solder::CsrMatrix<double, Exec> const A(exec, all);
    Solder::Cg one(exec, A, Solder::Fsai<double, Exec>(exec, A, options));
    auto const x = to_device(exec, x0);
    int const of_one = one.solve(to_device(exec, b), x).iterations;
    for (int const ranks : {1, 2, 3, 4}) {
      auto const some =
          solve_together(all, b, x0, ranks, CgOptions{}, [&](Exec const& e, auto const& of) {
            return Solder::DistributedFsai<double, Exec>(e, of, options);
          });
      EXPECT_EQ(some.reports[0].reason, Reason::converged) << some.reports[0].detail;
      EXPECT_NEAR(some.reports[0].iterations, of_one, is_whole ? 1 : 2 + of_one / 10);
      EXPECT_LE(true_residual(all, b, some.x).relative, 1.001e-8);
    }
  }
}

/// A layer more costs no iterations, and one rank is the factorisation itself.
template <class Scalar, class Options>
void expect_overlap_to_help(Solder::Factorisation kind) {
  auto const all = definite_matrix<Scalar>(24);
  auto const b = random_vector<Scalar>(all.rows, 1);
  std::vector<Scalar> const x0(b.size());
  auto const iterations = [&](int ranks, bool overlaps) {
    auto const some =
        overlaps ? solve_together(all, b, x0, ranks, Options{},
                                  [&](Exec const& e, auto const& of) {
                                    return Solder::Schwarz<Scalar, Exec>(e, of, kind);
                                  })
                 : solve_together(all, b, x0, ranks, Options{}, [&](Exec const& e, auto const& of) {
                     return Solder::Incomplete<Scalar, Exec>(e, of.own_block(e), kind);
                   });
    EXPECT_EQ(some.reports[0].reason, Reason::converged) << some.reports[0].detail;
    EXPECT_LE(true_residual(all, b, some.x).relative, 1.001e-8);
    return some.reports[0].iterations;
  };
  EXPECT_EQ(iterations(1, true), iterations(1, false));
  for (int const ranks : {2, 4}) {
    int const with = iterations(ranks, true), without = iterations(ranks, false);
    std::printf("[  counted ] %d ranks: %d iterations, %d without overlap\n", ranks, with, without);
    EXPECT_LE(with, without + 1);
  }
}
TEST(Schwarz, Ilu0ForGmres) {
  expect_overlap_to_help<double, GmresOptions>(Solder::Factorisation::ilu0);
}
TEST(Schwarz, Ilu0ForIdrOfComplexNumbers) {
  expect_overlap_to_help<Kokkos::complex<double>, IdrOptions>(Solder::Factorisation::ilu0);
}
TEST(Schwarz, Ic0ForCg) { expect_overlap_to_help<double, CgOptions>(Solder::Factorisation::ic0); }

/// What fails on one rank: where programs are made again, and an allocation anywhere.
TEST(RanksThatFailAlone, EndAllTogether) {
  auto const all = definite_matrix<double>(12);
  auto const b = random_vector<double>(all.rows, 1);
  int const ranks = 3;
  auto const bounds = slices(all.rows, ranks);
  Meeting meeting(ranks);
  std::vector<std::string> ends(ranks), afterwards(ranks);
  on_ranks(ranks, [&](int me) {
    Exec const exec = own_instance<Exec>();
    auto const A = part_of<double>(exec, all, meeting, bounds, me);
    Solder::Fsai<double, Exec> inner(exec, A.own_block(exec));
    Solder::Chebyshev const M(exec, A, inner);
    Solder::Cg cg(exec, A, M);
    auto const x = to_device(exec, std::vector<double>(std::size_t(A.rows())));
    auto const of_b =
        to_device(exec, std::vector<double>(b.begin() + bounds[me], b.begin() + bounds[me + 1]));
    if (me == 2)
      inner.refresh(exec, Solder::CsrMatrix<double, Exec>(exec, definite_matrix<double>(3)));
    auto const end = [&] {
      try {
        return std::string(to_string(cg.solve(of_b, x).reason));
      } catch (std::exception const& error) {
        return std::string(error.what());
      }
    };
    ends[me] = end();
    if (me == 2) inner.refresh(exec, A.own_block(exec));
    afterwards[me] = end();
  });
  EXPECT_NE(ends[2].find("its inner preconditioner was refreshed for 9"), std::string::npos)
      << ends[2];
  for (int const me : {0, 1})
    EXPECT_NE(ends[me].find("another rank"), std::string::npos) << ends[me];
  for (std::string const& end : afterwards) EXPECT_EQ(end, "converged");
}

/// Each view of rank 1, one after another: in a preconditioner over all ranks and in a solver.
TEST(RanksThatFailAlone, AgreeThatMemoryDoesNotSuffice) {
  auto const all = definite_matrix<double>(8);
  auto const b = random_vector<double>(all.rows, 1);
  int const ranks = 2;
  auto const bounds = slices(all.rows, ranks);
  int failures = 0;
  auto const each = [&](std::string const& what, auto const& make_M) {
    SCOPED_TRACE(what);
    for (long view = 0; view < 1000; ++view) {
      SCOPED_TRACE("view " + std::to_string(view));
      Meeting meeting(ranks);
      std::vector<std::string> ends(ranks);
      on_ranks(ranks, [&](int me) {
        Exec const exec = own_instance<Exec>();
        auto const A = part_of<double>(exec, all, meeting, bounds, me);
        Jacobi<double, Exec> const inner(exec, A.own_block(exec));
        auto const x = to_device(exec, std::vector<double>(std::size_t(A.rows())));
        auto const of_b = to_device(
            exec, std::vector<double>(b.begin() + bounds[me], b.begin() + bounds[me + 1]));
        auto const end = [&] {
          try {
            Solder::Cg cg(exec, A, make_M(exec, A, inner));
            return std::string(to_string(cg.solve(of_b, x).reason));
          } catch (std::exception const& error) {
            return std::string(error.what());
          }
        };
        end();  // after which Kokkos has all that the instance needs
        if (me == 1) failing_view = view;
        ends[me] = end();
        if (me == 1 && failing_view < 0 && ends[me] == "converged") ends[me] = "survived";
        failing_view = -1;
      });
      if (ends[1] == "converged") break;  // there is no such view
      ++failures;
      EXPECT_NE(ends[1].find("out of memory"), std::string::npos) << ends[1];
      EXPECT_NE(ends[0].find("another rank"), std::string::npos) << ends[0];
      if (::testing::Test::HasFailure()) return;
    }
  };
  each("chebyshev", [](Exec const& e, auto const& A, auto const& inner) {
    return Solder::Chebyshev(e, A, inner);
  });
  each("fsai", [](Exec const& e, auto const& A, auto const&) {
    return Solder::DistributedFsai<double, Exec>(e, A);
  });
  each("schwarz", [](Exec const& e, auto const& A, auto const&) {
    return Solder::Schwarz<double, Exec>(e, A, Solder::Factorisation::ic0);
  });
  std::printf("[  counted ] %d views failed\n", failures);
  EXPECT_GT(failures, 30);
}

/// A rank that fails on the way to a set-up that the others have begun.
TEST(RanksThatFailAlone, EndSetUpsOfOthers) {
  auto const all = definite_matrix<double>(8);
  int const ranks = 3;
  auto const bounds = slices(all.rows, ranks);
  for (int const what : {0, 1, 2}) {
    SCOPED_TRACE(what);
    Meeting meeting(ranks);
    std::vector<std::string> ends(ranks);
    on_ranks(ranks, [&](int me) {
      Exec const exec = own_instance<Exec>();
      auto const A = part_of<double>(exec, all, meeting, bounds, me);
      Jacobi<double, Exec> const inner(exec, A.own_block(exec));
      try {
        Solder::Impl::together(A.ranks(), [&] {
          if (me == 2) throw std::runtime_error("rank 2");
          if (what == 0) Solder::Chebyshev(exec, A, inner);
          if (what == 1) Solder::DistributedFsai<double, Exec>(exec, A);
          if (what == 2) Solder::Schwarz<double, Exec>(exec, A, Solder::Factorisation::ilu0);
        });
      } catch (std::exception const& error) {
        ends[me] = error.what();
      }
      double one = 1;
      A.ranks()->sum(&one, 1);
      EXPECT_EQ(one, ranks);
    });
    EXPECT_EQ(ends[2], "rank 2");
    for (int const me : {0, 1})
      EXPECT_NE(ends[me].find("another rank"), std::string::npos) << ends[me];
  }
}

/// Agreements within others: the sums of all ranks stay the same in number.
TEST(RanksThatFailAlone, AgreeOnceWhateverIsAround) {
  int const ranks = 3;
  for (int const where : {0, 1, 2, 3}) {
    SCOPED_TRACE(where);
    Meeting meeting(ranks);
    std::vector<std::string> ends(ranks);
    on_ranks(ranks, [&](int me) {
      ThreadRank<double> const rank(meeting, slices(9, ranks), me, {});
      auto const fail = [&](int here) {
        if (me == 1 && here == where) throw std::runtime_error("rank 1");
      };
      try {
        Solder::Impl::together(&rank, [&] {
          fail(0);
          Solder::Impl::together(&rank, [&] { fail(1); });
          fail(2);
        });
        ends[me] = "fine";
      } catch (std::exception const& error) {
        ends[me] = error.what();
      }
      double one = 1;
      rank.sum(&one, 1);
      EXPECT_EQ(one, ranks);
    });
    if (where == 3) {
      EXPECT_EQ(ends, std::vector<std::string>(ranks, "fine"));
      continue;
    }
    EXPECT_EQ(ends[1], "rank 1");
    EXPECT_NE(ends[0].find("another rank"), std::string::npos) << ends[0];
    EXPECT_NE(ends[2].find("another rank"), std::string::npos) << ends[2];
  }
}

}  // namespace
}  // namespace SolderTest
