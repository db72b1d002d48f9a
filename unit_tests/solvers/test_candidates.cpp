// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What name: auto goes by: the table of candidates.
#include "../support.hpp"
#include "reals.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <compiled/attempts.hpp>
#include <compiled/candidates.hpp>
#include <compiled/watch.hpp>
#include <solder/core/report.hpp>
#include <solder/matrix/analysis.hpp>

namespace {

using Solder::Analysis;
using Solder::Machine;
using Solder::Compiled::Candidate;
using Solder::Compiled::candidates_for;
using Solder::Compiled::Haste;
using SolderTest::contains;

// ---- The table ----

/// What analyse() would see of a mesh with so many rows.
Analysis mesh(std::int32_t n) {
  Analysis seen;
  seen.symmetry.is_square = seen.symmetry.is_finite = seen.symmetry.pattern = true;
  seen.symmetry.hermitian.difference = seen.symmetry.symmetric.difference = 0;
  seen.rows = {.rows = n, .nonzeros = 7 * std::int64_t(n), .shortest = 3, .longest = 7, .mean = 7};
  seen.diagonal = seen.row_sizes = seen.column_sizes = {.smallest = 6, .largest = 6, .zeros = 0};
  seen.dominant_rows = n;
  seen.dominance = 1;
  seen.off_diagonals = seen.opposite = 6 * std::int64_t(n);
  seen.lower = 3 * std::int64_t(n);
  return seen;
}
Analysis general(std::int32_t n) {
  Analysis seen = mesh(n);
  seen.symmetry.hermitian.difference = seen.symmetry.symmetric.difference = 1;
  return seen;
}
std::vector<std::string> names(std::vector<Candidate> const& candidates) {
  std::vector<std::string> all;
  for (Candidate const& candidate : candidates) all.push_back(candidate.name());
  return all;
}
/// Without the one that is on trial.
std::vector<Candidate> by_guess(Analysis const& seen, Machine const& machine = {}) {
  auto candidates = candidates_for(seen, machine);
  if (candidates[0].is_trial) candidates.erase(candidates.begin());
  return candidates;
}
bool is_among(std::string const& name, std::vector<std::string> const& all) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

/// Without fill, factors of an indefinite matrix take several times the iterations.
TEST(Candidates, AnIndefiniteMatrixGetsFillSooner) {
  Analysis seen = general(5000);
  seen.opposite = seen.off_diagonals / 2;  // no flow
  auto const first = [&] {
    auto const candidates = by_guess(seen, {.is_host = true});
    return candidates[0].preconditioner;
  };
  EXPECT_EQ(first(), "ilu0");
  seen.symmetry.hermitian.difference = 0;
  seen.outsized = 1;
  ASSERT_TRUE(seen.is_indefinite());
  EXPECT_EQ(first(), "ilut");
}
TEST(Candidates, ADefiniteMatrixIsNotIndefiniteForOtherSolvers) {
  Analysis definite = mesh(5000), unsymmetric = general(5000);
  definite.opposite = unsymmetric.opposite = definite.off_diagonals / 2;  // no flow
  for (char const* const solver : {"bicgstab", "idr"}) {
    auto const of = [&](Analysis const& seen) {
      return candidates_for(seen, {.is_host = true}, {.solver = solver})[0];
    };
    EXPECT_EQ(of(definite).name(), std::string(solver) + "+ilu0");
    EXPECT_EQ(of(definite).likely, of(unsymmetric).likely) << solver;
  }
}

/// Rows are factorised one after another, whoever waits.
TEST(Candidates, SetUpsOfFactorsAreNotSharedByThreads) {
  auto const setup = [](std::string const& preconditioner, std::int32_t threads) {
    Machine const machine{.is_host = true, .multiprocessors = threads};
    return candidates_for(mesh(100000), machine, {.preconditioner = preconditioner})[0].setup;
  };
  for (char const* const alone : {"ic0", "ict", "amg"})
    EXPECT_GE(setup(alone, 4), setup(alone, 1)) << alone;
  EXPECT_LT(setup("fsai", 4), 0.5 * setup("fsai", 1));
}

/// By colours, which ic0 has on a GPU, it sets up on the device, takes a third more iterations, and
/// waits for the longest row.
TEST(Candidates, Ic0OnAGpuIsByColours) {
  auto const ic0 = [](Analysis const& seen, bool is_host) {
    return candidates_for(seen, {.is_host = is_host}, {.preconditioner = "ic0"})[0];
  };
  Analysis const even = mesh(1000000);
  EXPECT_LT(ic0(even, false).setup, 0.02 * ic0(even, true).setup);
  EXPECT_NEAR(ic0(even, false).likely, 1.32 * ic0(even, true).likely, 1);
  Analysis hub = even;
  hub.rows.longest = 10000;
  EXPECT_GT(ic0(hub, false).iteration, 10 * ic0(even, false).iteration);
  EXPECT_EQ(ic0(hub, true).iteration, ic0(even, true).iteration);
}

TEST(Candidates, FsaiOnAGpuGrowsTheRowsOfSmallMatrices) {
  auto const is_grown = [](std::int32_t n, bool is_host) {
    for (Candidate const& each : candidates_for(mesh(n), {.is_host = is_host}))
      if (each.preconditioner == "fsai")
        return each.preconditioner_options.find("pattern") != nullptr;
    ADD_FAILURE() << "no fsai for " << n;
    return false;
  };
  EXPECT_TRUE(is_grown(5000, false));
  EXPECT_FALSE(is_grown(200000, false));
  EXPECT_FALSE(is_grown(5000, true));
}

TEST(Candidates, Ilu0OnAGpuIsByColoursWhereRowsAreManyAndPivotsSafe) {
  auto const is_by_colours = [](Analysis const& seen, bool is_host, std::string const& solver) {
    for (Candidate const& each : candidates_for(seen, {.is_host = is_host}))
      if (each.name() == solver + "+ilu0")
        return each.preconditioner_options.find("ordering") != nullptr;
    ADD_FAILURE() << "no " << solver << " with ilu0";
    return false;
  };
  auto const mixed = [](std::int32_t n) {
    Analysis seen = general(n);
    seen.symmetry.hermitian.difference = 0.2;
    return seen;
  };
  EXPECT_TRUE(is_by_colours(mixed(5000), false, "idr"));
  EXPECT_TRUE(is_by_colours(mixed(5000), false, "bicgstab"));
  EXPECT_FALSE(is_by_colours(mixed(5000), false, "gmres"));
  EXPECT_FALSE(is_by_colours(mixed(1000), false, "idr"));
  EXPECT_FALSE(is_by_colours(mixed(5000), true, "idr"));
  EXPECT_FALSE(is_by_colours(general(5000), false, "idr")) << "convection prevails";
  Analysis with_zero = mixed(5000);
  with_zero.diagonal.zeros = 1;
  EXPECT_FALSE(is_by_colours(with_zero, false, "idr"));
  // What the user names has the user's options, and costs what these do.
  Machine const gpu{.is_host = false};
  Candidate const named =
      candidates_for(mixed(5000), gpu, {.solver = "idr", .preconditioner = "ilu0"})[0];
  Candidate const listed = candidates_for(mixed(5000), gpu, {.candidates = "idr+ilu0"})[0];
  EXPECT_EQ(named.preconditioner_options.find("ordering"), nullptr);
  EXPECT_NE(listed.preconditioner_options.find("ordering"), nullptr);
  EXPECT_GT(named.iteration, listed.iteration);
}

TEST(Candidates, OfADefiniteMatrixBeginWithCg) {
  for (bool const is_host : {true, false})
    for (std::int32_t const n : {1, 10, 1000, 100000, 10000000}) {
      auto const candidates = candidates_for(mesh(n), Machine{.is_host = is_host});
      EXPECT_EQ(candidates[0].solver, "cg") << n;
      EXPECT_TRUE(candidates[0].needs_definite);
      // Should it turn out to be indefinite, there are others.
      EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(),
                              [](Candidate const& each) { return !each.needs_definite; }));
      for (Candidate const& each : candidates) {
        EXPECT_FALSE(each.because.empty());
        EXPECT_GT(each.iteration, 0);
        EXPECT_GE(each.likely, 1);
        EXPECT_TRUE(std::isfinite(each.promise()));
      }
    }
}

/// A solver that does not need a definite matrix is not left without a preconditioner for one.
TEST(Candidates, OfADefiniteMatrixForANamedSolverAreThoseOfAnyMatrix) {
  for (std::string const solver : {"bicgstab", "idr"})
    for (std::int32_t const n : {100, 5000, 200000}) {
      auto const candidates = candidates_for(mesh(n), Machine{}, {.solver = solver});
      EXPECT_NE(candidates[0].preconditioner, "none") << n;
      for (Candidate const& each : candidates) {
        EXPECT_EQ(each.solver, solver);
        EXPECT_FALSE(each.needs_definite);
        EXPECT_FALSE(contains(each.because, "gmres")) << each.because;
      }
      for (char const* const preconditioner : {"ilu0", "ilut", "jacobi", "none"})
        EXPECT_TRUE(is_among(solver + "+" + preconditioner, names(candidates)))
            << n << ", " << preconditioner;
    }
}

TEST(Candidates, OfALargeMeshBeginWithMultigridAndOfASmallOneWithout) {
  EXPECT_EQ(by_guess(mesh(1000000))[0].preconditioner, "amg");
  EXPECT_NE(candidates_for(mesh(100), Machine{})[0].preconditioner, "amg");
}

TEST(Candidates, OfADiagonallyDominantMatrixBeginWithJacobi) {
  Analysis seen = mesh(1000000);
  seen.dominance = 3;  // the condition number is 2 at most
  Candidate const first = candidates_for(seen, Machine{})[0];
  EXPECT_EQ(first.name(), "cg+jacobi");
  EXPECT_LE(first.likely, 14);
}

/// No other solver promises to be done before CG with the same preconditioner, and rows like hubs
/// are not for what would fill up.
TEST(Candidates, WithANamedPreconditionerAreJudgedWithThisOne) {
  for (std::int32_t const n : {200, 5000, 200000}) {
    auto const all = candidates_for(mesh(n), Machine{}, {.preconditioner = "jacobi"});
    EXPECT_EQ(all[0].name(), "cg+jacobi");
    for (Candidate const& each : all) EXPECT_GE(each.promise(), all[0].promise()) << each.name();
  }
  EXPECT_NE(candidates_for(mesh(200), Machine{}, {.preconditioner = "ilut"})[0].solver, "cg")
      << "ilut is not Hermitian";
}
TEST(Candidates, OfAnArrowHaveNoApproximateInverseAndNoMultigrid) {
  Analysis arrow = mesh(3000);
  arrow.rows.longest = 3000;
  for (std::string const& name : names(candidates_for(arrow, Machine{})))
    EXPECT_TRUE(name != "cg+fsai" && name != "cg+amg") << name;
}

TEST(Candidates, OfAnyOtherMatrixHaveNoCg) {
  Analysis indefinite = mesh(1000);
  indefinite.outsized = 1;
  for (Analysis const& seen : {general(1000), indefinite}) {
    auto const candidates = candidates_for(seen, Machine{});
    for (Candidate const& each : candidates) EXPECT_NE(each.solver, "cg");
    EXPECT_TRUE(is_among("bicgstab+ilu0", names(candidates)));
    EXPECT_TRUE(is_among("gmres+ilu0", names(candidates)));
  }
}

/// Diffusion in the plane is for multigrid, where it is large; the less, the stronger convection
/// is.
TEST(Candidates, OfAFlowAreJudgedByItsMeshAndItsConvection) {
  auto const first = [](std::int32_t n, std::int32_t bandwidth, double difference) {
    Analysis flow = general(n);
    flow.bandwidth = bandwidth;
    flow.symmetry.hermitian.difference = difference;
    Candidate const candidate = by_guess(flow)[0];
    EXPECT_GE(candidate.judged_from, candidate.likely) << "its residual falls late";
    return candidate.name();
  };
  EXPECT_EQ(first(511 * 511, 511, 0.01), "bicgstab+amg");
  EXPECT_EQ(first(511 * 511, 511, 0.2), "bicgstab+ilu0");
  EXPECT_EQ(first(511 * 511, 511, 0.7), "bicgstab+ilu0");
  EXPECT_EQ(first(63 * 63, 63, 0.01), "bicgstab+ilu0");
  EXPECT_EQ(first(64 * 64 * 64, 64 * 64, 0.01), "bicgstab+ilu0") << "of a cube";
  EXPECT_EQ(first(511 * 511, 511 * 511 - 1, 0.01), "bicgstab+amg") << "in any order";
  EXPECT_EQ(by_guess(general(500))[0].judged_from, Haste::least_iterations);
}

/// Where the most promising one does not do, its likes seldom do.
TEST(Candidates, GoFromTheMostPromisingToTheStrongOnes) {
  Analysis plain = mesh(5000);  // positive definite, as far as one can see, but no mesh
  plain.opposite = 0;
  auto const of_plain = names(by_guess(plain));
  ASSERT_GT(of_plain.size(), 4u);
  EXPECT_EQ(of_plain[0].substr(0, 3), "cg+");
  EXPECT_EQ(of_plain[1], "cg+ict") << "nearly complete: half the work of gmres+ilut";
  EXPECT_EQ(of_plain[2], "gmres+ilut");
  EXPECT_TRUE(is_among("cg+amg", {of_plain.begin() + 3, of_plain.end()}));
  plain.rows.rows = plain.dominant_rows = 50000;
  EXPECT_EQ(names(by_guess(plain))[1], "cg+ict");
  auto const of_general = names(by_guess(general(5000)));
  EXPECT_EQ(of_general[1], "gmres+ilut");
  // What is large is not factorised completely before all else has failed; what is huge, never.
  auto const is_complete = [](Candidate const& each) {
    return each.preconditioner_options.find("fill_factor") != nullptr &&
           each.because.find("the factors are nearly complete") != std::string::npos;
  };
  for (std::int32_t const n : {5000, 50000, 500000}) {
    auto const all = candidates_for(general(n), Machine{});
    auto const found = std::find_if(all.begin(), all.end(), is_complete);
    EXPECT_EQ(found != all.end(), n < 100000) << n;
    EXPECT_EQ(found != all.end() && found + 1 == all.end(), n == 50000) << n;
    if (found == all.end()) continue;
    double const fill = *found->preconditioner_options.find("fill_factor")->as_real();
    EXPECT_LE(fill * double(general(n).rows.nonzeros), 1e8);
  }
}

/// A matching permutes the rows, and with them a symmetric pattern, which makes fill.
TEST(Candidates, MatchRowsToColumnsFirstOnlyWhereThePatternIsFarFromSymmetric) {
  auto const matches = [](Analysis const& seen) {  // of ilut's candidates
    std::vector<bool> each;
    for (Candidate const& candidate : candidates_for(seen, Machine{}))
      if (candidate.preconditioner == "ilut")
        each.push_back(candidate.preconditioner_options.find("match") != nullptr);
    return each;
  };
  Analysis of = general(50000);
  for (auto const& [share, first] :
       {std::pair(0.0, false), {0.7, false}, {0.8, true}, {1.0, true}}) {
    of.unpaired = std::int64_t(share * double(of.rows.nonzeros));
    auto const each = matches(of);
    ASSERT_GE(each.size(), 2u);
    EXPECT_EQ(each[0], first) << share;
    EXPECT_EQ(each[1], !first) << share << ": the other way comes next";
  }
  of.unpaired = 0;
  of.diagonal.zeros = of.rows.rows;  // without a diagonal, there is no other way
  EXPECT_TRUE(matches(of)[0]);
  of.unmatched_rows = 1;  // without a matching, too
  EXPECT_EQ(matches(of), std::vector{false});
}

/// How many iterations it takes is a guess, so the cheapest ones are tried before a set-up.
TEST(Candidates, BeginWithATrialBeforeASetUp) {
  Analysis plain = mesh(50000);  // long rows, no mesh
  plain.opposite = 0;
  plain.rows.nonzeros = 30 * std::int64_t(plain.rows.rows);
  plain.rows.mean = plain.rows.longest = 30;
  auto const all = candidates_for(plain, Machine{});
  ASSERT_TRUE(all[0].is_trial);
  EXPECT_EQ(all[0].name(), "cg+jacobi");
  EXPECT_TRUE(all[0].needs_definite);
  EXPECT_TRUE(is_among("cg+jacobi", names({all.begin() + 1, all.end()}))) << "in haste no longer";
  for (std::size_t k = 1; k < all.size(); ++k) EXPECT_FALSE(all[k].is_trial) << k;
  // What other methods do first tells little, so a few of their iterations are to do.
  Candidate const other = candidates_for(general(50000), Machine{})[0];
  EXPECT_TRUE(other.is_trial);
  EXPECT_EQ(other.name(), "bicgstab+jacobi");
  EXPECT_LT(other.judged_from, all[0].judged_from);
  // Where the first one has no set-up either, or where the user says what is to be taken, there is
  // none.
  Analysis dominant = plain;
  dominant.dominance = 3;
  EXPECT_FALSE(candidates_for(dominant, Machine{})[0].is_trial);
  for (Solder::Compiled::Restriction const& restriction :
       {Solder::Compiled::Restriction{.solver = "cg"},
        {.preconditioner = "ic0"},
        {.candidates = "cg+ic0 cg+jacobi"},
        {.may_try = false}})
    EXPECT_FALSE(candidates_for(plain, Machine{}, restriction)[0].is_trial);
}

/// There a set-up on the host, and a triangular solve with its levels, take as long as hundreds of
/// iterations without.
TEST(Candidates, OfAGpuBeginWithManyIterationsOfWhatHasNoSetUp) {
  Machine const gpu{.is_host = false};
  Analysis without = general(50000);
  without.diagonal.zeros = 1;
  EXPECT_EQ(candidates_for(general(50000), gpu)[0].name(), "bicgstab+jacobi");
  EXPECT_EQ(candidates_for(without, gpu)[0].name(), "bicgstab+none");
  Analysis unsymmetric = without;
  unsymmetric.unpaired = unsymmetric.rows.nonzeros;
  unsymmetric.symmetry.diagonal.missing = 0;
  EXPECT_EQ(candidates_for(unsymmetric, gpu)[0].name(), "gmres+ilut") << "without factors, no end";
  EXPECT_EQ(candidates_for(mesh(5000), gpu)[0].name(), "cg+jacobi");
  EXPECT_EQ(by_guess(mesh(1000000), gpu)[0].name(), "cg+amg");
  for (auto const& [seen, share] : {std::pair(general(5000), 1.0), std::pair(without, 0.25)}) {
    auto const all = candidates_for(seen, gpu);
    ASSERT_TRUE(all[0].is_trial);
    EXPECT_GT(all[0].judged_from, 100);
    EXPECT_NEAR(all[0].judged_from * all[0].iteration, share * all[1].promise(), all[0].iteration);
    EXPECT_GE(all[0].share_of_next, 1) << "all of it may take what the next one promises";
  }
  EXPECT_EQ(candidates_for(without, Machine{})[0].name(), "bicgstab+none") << "nearly dominant";
  without.dominant_rows = 0;
  EXPECT_FALSE(candidates_for(without, Machine{})[0].is_trial);
  Candidate const of_gpu = candidates_for(mesh(5000), gpu)[0],
                  of_host = candidates_for(mesh(5000), Machine{})[0];
  ASSERT_TRUE(of_gpu.is_trial && of_host.is_trial);
  EXPECT_GE(of_gpu.judged_from, 10 * of_host.judged_from) << "cg, too, goes on for longer there";
  auto const factor = [](Machine const& machine) {
    return candidates_for(general(100000), machine, {.preconditioner = "ilu0"})[0].setup;
  };
  EXPECT_GE(factor(gpu), factor(Machine{}));
}

/// A trial that was slow is not what comes next, and the slower it was, the more the set-up that
/// follows may cost.
TEST(Candidates, AfterATrialGoByWhatItHasShown) {
  Analysis plain = mesh(5000);
  plain.opposite = 0;
  double before = 0;
  for (double const iterations : {1.0, 500.0, 2000.0, 20000.0}) {
    auto const all = candidates_for(plain, Machine{}, {.plain_iterations = iterations});
    EXPECT_FALSE(all[0].is_trial);
    EXPECT_TRUE(all[0].needs_definite);
    EXPECT_NE(all[0].preconditioner, "jacobi") << iterations;
    EXPECT_GE(all[0].setup, before) << iterations;
    EXPECT_TRUE(is_among("cg+jacobi", names(all)));
    EXPECT_EQ(Solder::Compiled::best_of(all, iterations)->needs_definite, true);
    before = all[0].setup;
  }
  EXPECT_EQ(Solder::Compiled::best_of(candidates_for(general(50), Machine{}), 100), nullptr);
}

/// A complete factor is tried first where what was counted makes it cheaper than the others, and
/// where it stood otherwise.
TEST(Candidates, ACompleteFactorThatIsCountedComesFirstWhereItIsCheap) {
  for (std::int32_t const n : {5000, 50000}) {
    Analysis plain = mesh(n);
    plain.opposite = 0;  // no mesh
    auto const of = [&](Solder::Compiled::CompleteFactor const& complete) {
      return candidates_for(plain, {.is_host = true},
                            {.plain_iterations = 1000, .complete = complete});
    };
    auto const is_complete = [](Candidate const& each) {
      return contains(std::string(each.because), "the factor is complete");
    };
    auto const guessed = of({}), cheap = of({10. * n, 200. * n}), dear = of({1000. * n, 1e6 * n});
    EXPECT_FALSE(is_complete(guessed[0]));
    EXPECT_TRUE(is_complete(cheap[0]));
    EXPECT_FALSE(is_complete(dear[0]));
    // Its cost is that of 10 entries a row, some 0.1 us each.
    EXPECT_GT(cheap[0].setup, 10 * n * 30e-9);
    EXPECT_LT(cheap[0].setup, 10 * n * 300e-9);
    // If it is dear, it is where it was, and the others keep their order.
    auto const place = [&](std::vector<Candidate> const& all) {
      return std::find_if(all.begin(), all.end(), is_complete) - all.begin();
    };
    EXPECT_EQ(place(dear), place(guessed));
    EXPECT_LT(place(dear), std::ptrdiff_t(dear.size()));
    EXPECT_EQ(place(dear) + 2 == std::ptrdiff_t(dear.size()), n > 10000) << "nearly last";
    auto const without = [&](std::vector<Candidate> all) {
      std::erase_if(all, is_complete);
      return names(all);
    };
    EXPECT_EQ(without(dear), without(guessed));
    EXPECT_EQ(without(cheap).size(), without(guessed).size());
    // Complete factors that cannot be had are not tried at all.
    for (Candidate const& each : of({6e7, 1.}))
      EXPECT_FALSE(contains(std::string(each.because), "complete")) << each.because;
    for (Candidate const& each : dear)
      if (contains(std::string(each.because), "nearly complete")) {
        EXPECT_GT(each.setup, 1e-3 * n);
      }
  }
  EXPECT_TRUE(Solder::Compiled::counts_complete(mesh(5000), {.is_host = true}, 1));
  EXPECT_FALSE(Solder::Compiled::counts_complete(mesh(5000), {.is_host = true}, 1e-4));
  EXPECT_FALSE(Solder::Compiled::counts_complete(general(5000), {.is_host = true}, 1));
  EXPECT_FALSE(Solder::Compiled::counts_complete(mesh(1000000), {.is_host = true}, 100));
}

/// What it takes follows from its entries and products, not from a guess of its fill.
TEST(Candidates, SetUpCompleteFactorsInSecondsThatAreCounted) {
  using Solder::Compiled::seconds_of_complete;
  Solder::Machine const machine{.is_host = true};
  Analysis const of = mesh(50000);
  std::vector<Candidate> complete;
  for (Candidate const& each : candidates_for(of, machine))
    if (each.is_complete) complete.push_back(each);
  ASSERT_EQ(names(complete), (std::vector<std::string>{"cg+ict", "gmres+ilut"}));
  // Measured at some 80 ns an entry and 0.2 ns a product.
  double const small = seconds_of_complete(complete[0], {1e6, 1e8}, of, machine),
               large = seconds_of_complete(complete[0], {1e7, 1e11}, of, machine);
  EXPECT_GT(small, 0.05);
  EXPECT_LT(small, 0.3);
  EXPECT_GT(large, 10);
  EXPECT_LT(large, 60);
  EXPECT_GT(seconds_of_complete(complete[1], {1e7, 1e11}, of, machine), 3 * large);
  EXPECT_TRUE(std::isinf(seconds_of_complete(complete[0], {6e7, 1}, of, machine))) << "1.4 GB";
  // A full matrix of 4 rows has 10 entries at and below the diagonal, and 16 + 9 + 4 + 1 squares.
  auto const full = Solder::Compiled::full_factor(4);
  EXPECT_NEAR(full.entries, 10, 2);
  EXPECT_NEAR(full.products, 30, 10);
}

TEST(Candidates, NeedTheDiagonalThatTheyDivideBy) {
  Analysis seen = general(1000);
  seen.diagonal.zeros = 1;
  for (Candidate const& each : candidates_for(seen, Machine{}))
    EXPECT_NE(each.preconditioner, "jacobi");
}

TEST(Candidates, AreRestrictedByWhatIsNamed) {
  for (Candidate const& each : candidates_for(general(1000), Machine{}, {.solver = "gmres"}))
    EXPECT_EQ(each.solver, "gmres");
  for (Candidate const& each : candidates_for(general(1000), Machine{}, {.preconditioner = "ilu0"}))
    EXPECT_EQ(each.preconditioner, "ilu0");
  EXPECT_EQ(names(candidates_for(mesh(1000), Machine{}, {.candidates = "gmres+ilu0, cg+amg"})),
            (std::vector<std::string>{"gmres+ilu0", "cg+amg"}));
  // Who asks for cg where it does not suit gets it.
  EXPECT_EQ(candidates_for(general(1000), Machine{}, {.solver = "cg"})[0].solver, "cg");
  for (Candidate const& each : candidates_for(mesh(1000), Machine{}, {.solver = "block_cg"}))
    EXPECT_EQ(each.solver, "block_cg");
  for (char const* const wrong : {"cg", "cg+ilu7", "sor+jacobi", " , "})
    EXPECT_THROW(candidates_for(mesh(1000), Machine{}, {.candidates = wrong}),
                 std::invalid_argument)
        << wrong;
}

TEST(Candidates, AreTheSameEveryTimeAndAreExplained) {
  auto const candidates = candidates_for(mesh(5000), Machine{});
  EXPECT_EQ(names(candidates), names(candidates_for(mesh(5000), Machine{})));
  std::string const text = explained(mesh(5000), candidates);
  for (Candidate const& each : candidates) {
    EXPECT_TRUE(contains(text, each.name())) << text;
    EXPECT_TRUE(contains(text, each.because)) << text;
  }
  EXPECT_TRUE(contains(text, "5000 rows"));
}

// ---- The end of a search that has solved nothing ----

TEST(Unsolved, NamesRowsThatDifferWhereRoundingEndsItToo) {
  Analysis seen = mesh(100);
  std::string const none;
  auto const text = [&](double rounding) {
    return Solder::Compiled::why_unsolved({}, {.analysis = seen,
                                               .attempts = 2,
                                               .end_of_all = {},
                                               .passed_over = none,
                                               .rounding = rounding,
                                               .is_single = true});
  };
  EXPECT_FALSE(contains(text(3), "rows of A differ"));
  EXPECT_FALSE(contains(text(3), "has more digits"));
  EXPECT_TRUE(contains(text(0), "double precision has more digits"));
  seen.row_sizes = {.smallest = 1e-8, .largest = 1e8, .zeros = 0};
  for (double const rounding : {0.0, 3.0})
    EXPECT_TRUE(contains(text(rounding), "rows of A differ by a factor of 1e+16")) << rounding;
}

TEST(Unsolved, AsksForNoToleranceThatSaysNothing) {
  Solder::Report report;
  report.reason = Solder::Reason::stagnated;
  report.detail = std::string(Solder::Impl::rounding_of_entries) + "2e-3";
  report.true_relative_residual = 1e-3;
  EXPECT_EQ(advice(report), "ask for a tolerance above 2.1e-03");
  report.true_relative_residual = 0.8;
  std::string const singular = "check whether A is singular: only some b have a solution then";
  EXPECT_EQ(advice(report), singular);
  report.detail += std::string(" in ") + std::string(Solder::Impl::single_precision);
  EXPECT_EQ(advice(report), singular + ", or solve in double precision");
}

}  // namespace
