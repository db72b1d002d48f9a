// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <driver/methods.hpp>

#include "config_of.hpp"

using namespace Solder::Driver;

namespace {

TEST(Config, ReorthogonalisationIsOfSomeFormsOfGmres) {
  auto const rounds = [](std::string const& solver) {
    std::vector<std::string> found;
    for (auto const& run : runs_of(std::string(problem) + "solver: {" + solver + "}\n"))
      found.push_back(concat(form_of(run.solver), " ",
                             run.origins.contains("solver.reorthogonalisation")
                                 ? to_string(run.solver.gmres.reorthogonalisation)
                                 : ""));
    return found;
  };
  using Rounds = std::vector<std::string>;
  EXPECT_EQ(rounds("name: gmres"), Rounds{"cgs2 lost"});
  EXPECT_EQ(rounds("name: gmres, reorthogonalisation: halved"), Rounds{"cgs2 halved"});
  EXPECT_EQ(rounds("name: gmres, form: flexible"), Rounds{"flexible lost"});
  EXPECT_EQ(rounds("name: gmres, form: mgs"), Rounds{"mgs "});
  EXPECT_EQ(rounds("name: cg"), Rounds{"auto "});
  EXPECT_EQ(rounds("name: gmres, form: [cgs, cgs2], reorthogonalisation: [lost, halved]"),
            (Rounds{"cgs ", "cgs2 lost", "cgs2 halved"}));
  for (char const* const solver : {"name: cg", "name: bicgstab", "name: idr"})
    expect_error(
        std::string(problem) + "solver: {" + solver + ", reorthogonalisation: lost}\n",
        {"'solver.reorthogonalisation' does not apply here; it is for solver.name: gmres"});
  expect_error(
      std::string(problem) + "solver: {name: gmres, form: cgs, reorthogonalisation: lost}\n",
      {"'solver.reorthogonalisation' does not apply here; it is for solver.form: cgs2 or "
       "flexible"});
}

TEST(Config, FsaiAndItsParameters) {
  std::string const with_fsai = std::string(problem) + "preconditioner: {name: fsai";
  PreconditionerConfig const plain = runs_of(with_fsai + "}\n")[0].preconditioner;
  EXPECT_FALSE(plain.fsai.adaptive);
  EXPECT_EQ(plain.precision, "same");
  EXPECT_EQ(plain.label, "fsai");
  EXPECT_EQ(plain.fsai, Solder::FsaiOptions());
  PreconditionerConfig const given =
      runs_of(with_fsai + ", tau: 0.25, k: 4, delta: 0.125, precision: single}\n")[0]
          .preconditioner;
  EXPECT_EQ(given.fsai.tau, 0.25);
  EXPECT_EQ(given.fsai.k, 4);
  EXPECT_EQ(given.fsai.delta, 0.125);
  EXPECT_EQ(given.precision, "single");
  EXPECT_EQ(given.label, "fsai(delta=0.125,k=4,precision=single,tau=0.25)");
  PreconditionerConfig const adaptive =
      runs_of(with_fsai +
              ", pattern: adaptive, steps: 3, entries_per_step: 2, improvement: 0.5}\n")[0]
          .preconditioner;
  EXPECT_TRUE(adaptive.fsai.adaptive);
  EXPECT_EQ(adaptive.fsai.steps, 3);
  EXPECT_EQ(adaptive.fsai.entries_per_step, 2);
  EXPECT_EQ(adaptive.fsai.improvement, 0.5);
  expect_error(with_fsai + ", steps: 3}\n",
               {"a.yaml:2: ", "'preconditioner.steps' does not apply", "adaptive"});
  expect_error(with_fsai + ", pattern: adaptive, tau: 0.1}\n",
               {"'preconditioner.tau' does not apply", "static"});
  // What jacobi has to become, not what the pattern that it has not is.
  for (char const* const key : {"tau", "k", "steps", "delta"})
    expect_error(std::string(problem) + "preconditioner: {name: jacobi, " + key + ": 1}\n",
                 {std::string("'preconditioner.") + key +
                  "' does not apply here; it is for preconditioner.name: fsai\n"});
  expect_error(std::string(problem) + "preconditioner: {name: [none, jacobi], tau: 1}\n",
               {"it is for preconditioner.name: fsai\n"});
  expect_error(std::string(problem) + "preconditioner: {name: [none, fsai], steps: 3}\n",
               {"it is for preconditioner.pattern: adaptive\n"});
  expect_error(
      with_fsai + ", degree: 3}\n",
      {"'preconditioner.degree' does not apply here; it is for preconditioner.name: chebyshev"});
  std::string const polynomial = std::string(problem) + "preconditioner: {name: chebyshev";
  PreconditionerConfig const by_default = runs_of(polynomial + "}\n")[0].preconditioner;
  EXPECT_EQ(by_default.inner, "jacobi");
  EXPECT_EQ(by_default.chebyshev.degree, 4);
  EXPECT_EQ(by_default.chebyshev.eigenvalue_fraction, 0.02);
  EXPECT_EQ(by_default.chebyshev.lanczos_steps, 12);
  PreconditionerConfig const over_fsai =
      runs_of(polynomial + ", inner: fsai, degree: 2, eigenvalue_fraction: 0.1, k: 3}\n")[0]
          .preconditioner;
  EXPECT_FALSE(over_fsai.fsai.adaptive);
  EXPECT_EQ(over_fsai.fsai.k, 3);
  EXPECT_EQ(over_fsai.fsai.max_row_entries, 0);
  EXPECT_EQ(over_fsai.fsai.tau, plain.fsai.tau);
  EXPECT_EQ(over_fsai.label, "chebyshev(degree=2,eigenvalue_fraction=0.1,inner=fsai,k=3)");
  for (char const* const key : {"tau", "delta"})
    expect_error(polynomial + ", " + key + ": 0.1}\n",
                 {std::string("'preconditioner.") + key +
                  "' does not apply here; it is for preconditioner.inner: fsai"});
  expect_error(polynomial + ", inner: fsai, precision: single}\n",
               {"'preconditioner.precision' does not apply"});
  for (std::string const fraction : {"0", "1"})
    expect_error(
        polynomial + ", eigenvalue_fraction: " + fraction + "}\n",
        {"preconditioner.eigenvalue_fraction must be a number between 0 and 1, not '" + fraction});
  expect_error(polynomial + ", degree: 0}\n", {"preconditioner.degree"});
  for (std::string const& text :
       {with_fsai, with_fsai + ", pattern: adaptive", polynomial + ", inner: fsai"})
    EXPECT_EQ(runs_of(text + ", max_row_entries: 12}\n")[0].preconditioner.fsai.max_row_entries,
              12);
  expect_error(with_fsai + ", max_row_entries: -1}\n", {"preconditioner.max_row_entries must be"});
  expect_error(with_fsai + ", tau: 1.5}\n", {"preconditioner.tau", "from 0 to 1"});
  expect_error(with_fsai + ", k: -1}\n", {"preconditioner.k"});
}

TEST(Config, IncompleteFactorsAndTheirParameters) {
  auto const text = [](std::string const& keys) {
    return std::string(problem) + "preconditioner: {" + keys + "}\n";
  };
  PreconditionerConfig const ic0 = runs_of(text("name: ic0"))[0].preconditioner;
  EXPECT_EQ(ic0.incomplete.ordering, Solder::Ordering::automatic);
  EXPECT_EQ(ic0.incomplete.schedule, Solder::TriangularSchedule::automatic);
  EXPECT_EQ(ic0.incomplete.shift, 1e-3);
  EXPECT_EQ(ic0.label, "ic0");
  PreconditionerConfig const given =
      runs_of(text("name: ic0, ordering: rcm, schedule: levels, shift: 0.25"))[0].preconditioner;
  EXPECT_EQ(given.incomplete.ordering, Solder::Ordering::rcm);
  EXPECT_EQ(given.incomplete.schedule, Solder::TriangularSchedule::levels);
  EXPECT_EQ(given.incomplete.shift, 0.25);
  EXPECT_EQ(given.label, "ic0(ordering=rcm,schedule=levels,shift=0.25)");
  PreconditionerConfig const ilu0 =
      runs_of(text("name: ilu0, ordering: multicolour, schedule: partition"))[0].preconditioner;
  EXPECT_EQ(ilu0.incomplete.ordering, Solder::Ordering::multicolour);
  EXPECT_EQ(ilu0.incomplete.schedule, Solder::TriangularSchedule::partition);
  EXPECT_EQ(ilu0.label, "ilu0(ordering=multicolour,schedule=partition)");
  EXPECT_EQ(runs_of(text("name: [ic0, ilu0], shift: [0, 1]")).size(), 3u);
  EXPECT_EQ(ic0.incomplete.sweeps, 0);
  EXPECT_EQ(ic0.incomplete.trisolve, Solder::Trisolve::exact);
  PreconditionerConfig const swept =
      runs_of(text("name: ilu0, sweeps: 4, trisolve: jacobi, trisolve_sweeps: 2"))[0]
          .preconditioner;
  EXPECT_EQ(swept.incomplete.sweeps, 4);
  EXPECT_EQ(swept.incomplete.trisolve, Solder::Trisolve::jacobi);
  EXPECT_EQ(swept.incomplete.trisolve_sweeps, 2);
  EXPECT_EQ(swept.label, "ilu0(sweeps=4,trisolve=jacobi,trisolve_sweeps=2)");
  expect_error(text("name: ic0, trisolve_sweeps: 2"),
               {"a.yaml:2: 'preconditioner.trisolve_sweeps' does not apply here; it is for "
                "preconditioner.trisolve: jacobi\n"});
  EXPECT_EQ(runs_of(text("name: ic0, trisolve: [exact, jacobi], schedule: levels")).size(), 2u);
  expect_error(text("name: ic0, trisolve: sweeps"), {"preconditioner.trisolve", "'sweeps'"});
  expect_error(text("name: ic0, sweeps: 101"), {"preconditioner.sweeps", "from 0 to 100"});
  expect_error(text("name: ic0, trisolve: jacobi, trisolve_sweeps: 0"),
               {"preconditioner.trisolve_sweeps", "from 1 to 100"});
  for (char const* const name : {"none", "jacobi", "fsai", "chebyshev"})
    for (char const* const key :
         {"ordering: rcm", "schedule: levels", "sweeps: 3", "trisolve: jacobi"})
      expect_error(text(concat("name: ", name, ", ", key)),
                   {"a.yaml:2: 'preconditioner.",
                    "it is for preconditioner.name: ic0, ilu0, ick, iluk, ict or ilut\n"});
  expect_error(text("name: ilu0, shift: 0.1"),
               {"a.yaml:2: 'preconditioner.shift' does not apply here; it is for "
                "preconditioner.name: ic0, ick or ict\n"});
  expect_error(text("name: ic0, k: 2"), {"'preconditioner.k' does not apply here", "fsai"});
  expect_error(text("name: chebyshev, inner: ic0"), {"a.yaml:2: preconditioner.inner", "'ic0'"});
  expect_error(text("name: ilu"), {"a.yaml:2: ", "did you mean 'ilu0'?"});
  expect_error(text("name: ic0, ordering: multicolor"), {"did you mean 'multicolour'?"});
  expect_error(text("name: ic0, schedule: level"), {"did you mean 'levels'?"});
  expect_error(text("name: ic0, shift: 1.5"), {"preconditioner.shift", "from 0 to 1", "'1.5'"});
  expect_error(text("name: ic0, shift: -0.1"), {"preconditioner.shift", "from 0 to 1"});

  PreconditionerConfig const ilut =
      runs_of(text("name: ilut, drop_tolerance: 0.01, fill_factor: 5, ordering: amd"))[0]
          .preconditioner;
  EXPECT_EQ(ilut.incomplete.drop_tolerance, 0.01);
  EXPECT_EQ(ilut.incomplete.fill_factor, 5);
  EXPECT_EQ(ilut.incomplete.ordering, Solder::Ordering::amd);
  EXPECT_EQ(ilut.label, "ilut(drop_tolerance=0.01,fill_factor=5,ordering=amd)");
  EXPECT_EQ(runs_of(text("name: [ick, iluk], level: [1, 3]")).size(), 4u);
  expect_error(text("name: ilut, level: 1"), {"preconditioner.name: ick or iluk\n"});
  expect_error(text("name: iluk, drop_tolerance: 0.1"), {"preconditioner.name: ict or ilut\n"});
  expect_error(text("name: ilu0, fill_factor: 2"),
               {"preconditioner.name: ick, iluk, ict or ilut\n"});
  expect_error(text("name: ilut, fill_factor: 0.5"), {"preconditioner.fill_factor", "from 1 to"});
}

TEST(Config, AnyPreconditionerTakesAScaledMatrix) {
  auto const text = [](std::string const& keys) {
    return std::string(problem) + "preconditioner: {" + keys + "}\n";
  };
  for (std::string const name : {"none", "jacobi", "fsai", "chebyshev", "ic0", "ilut", "amg"}) {
    PreconditionerConfig const given =
        runs_of(text("name: " + name + ", scale: equilibrate, match: product"))[0].preconditioner;
    EXPECT_EQ(given.scaling.scale, Solder::Scale::equilibrate);
    EXPECT_EQ(given.scaling.match, Solder::Match::product);
    EXPECT_EQ(given.label, name + "(match=product,scale=equilibrate)");
    PreconditionerConfig const plain = runs_of(text("name: " + name))[0].preconditioner;
    EXPECT_FALSE(plain.scaling.is_wanted());
  }
  expect_error(text("name: ilut, match: products"), {"did you mean 'product'?"});
  expect_error(text("name: ilut, scale: ruiz"), {"preconditioner.scale", "'ruiz'"});
}

TEST(Config, MultigridAndItsParameters) {
  auto const text = [](std::string const& keys) {
    return std::string(problem) + "preconditioner: {" + keys + "}\n";
  };
  PreconditionerConfig const plain = runs_of(text("name: amg"))[0].preconditioner;
  EXPECT_EQ(plain.amg.strength, 0.25);
  EXPECT_EQ(plain.amg.smoother, Solder::AmgSmoother::chebyshev);
  EXPECT_EQ(plain.amg.cycle, Solder::AmgCycle::v);
  EXPECT_EQ(plain.amg.pre, 1);
  EXPECT_EQ(plain.amg.post, 1);
  EXPECT_EQ(plain.amg.interpolation, Solder::AmgInterpolation::automatic);
  EXPECT_EQ(plain.amg.max_levels, 16);
  EXPECT_EQ(plain.amg.max_coarse_size, 128);
  EXPECT_EQ(plain.near_nullspace, "constant");
  EXPECT_EQ(plain.amg.block_size, 1);
  EXPECT_EQ(plain.label, "amg");
  PreconditionerConfig const given =
      runs_of(text("name: amg, strength: 0.5, smoother: jacobi, cycle: w, pre: 2, max_levels: 3, "
                   "max_coarse_size: 9, block_size: 4"))[0]
          .preconditioner;
  EXPECT_EQ(given.amg.strength, 0.5);
  EXPECT_EQ(given.amg.smoother, Solder::AmgSmoother::jacobi);
  EXPECT_EQ(given.amg.cycle, Solder::AmgCycle::w);
  EXPECT_EQ(given.amg.pre, 2);
  EXPECT_EQ(given.amg.post, 2);
  EXPECT_EQ(given.amg.max_levels, 3);
  EXPECT_EQ(given.amg.max_coarse_size, 9);
  EXPECT_EQ(given.amg.block_size, 4);
  EXPECT_EQ(given.label,
            "amg(block_size=4,cycle=w,max_coarse_size=9,max_levels=3,pre=2,smoother=jacobi,"
            "strength=0.5)");
  PreconditionerConfig const other =
      runs_of(text("name: amg, smoother: fsai, pre: 3, post: 0"))[0].preconditioner;
  EXPECT_EQ(other.amg.smoother, Solder::AmgSmoother::fsai);
  EXPECT_EQ(runs_of(text("name: amg, interpolation: air"))[0].preconditioner.label,
            "amg(interpolation=air)");
  EXPECT_EQ(runs_of(text("name: amg, interpolation: extended"))[0].preconditioner.label,
            "amg(interpolation=extended)");
  EXPECT_EQ(other.amg.pre, 3);
  EXPECT_EQ(other.amg.post, 0);
  PreconditionerConfig const rigid =
      runs_of(text("name: amg, near_nullspace: rigid_body"))[0].preconditioner;
  EXPECT_EQ(rigid.near_nullspace, "rigid_body");
  EXPECT_EQ(rigid.amg.block_size, 1);
  EXPECT_EQ(rigid.label, "amg(near_nullspace=rigid_body)");
  for (char const* const key :
       {"strength: 0.1", "smoother: jacobi", "cycle: w", "pre: 2", "post: 2", "max_levels: 3",
        "max_coarse_size: 9", "near_nullspace: constant"})
    expect_error(text(concat("name: fsai, ", key)),
                 {"a.yaml:2: 'preconditioner.", "it is for preconditioner.name: amg\n"});
  expect_error(text("name: amg, strength: 1.5"), {"preconditioner.strength", "from 0 to 1"});
  expect_error(text("name: amg, smoother: jacob"), {"did you mean 'jacobi'?"});
  expect_error(text("name: amg, pre: 9"), {"preconditioner.pre", "from 0 to 8"});
  expect_error(text("name: amg, post: -1"), {"preconditioner.post", "from 0 to 8"});
  expect_error(text("name: amg, cycle: f"), {"preconditioner.cycle", "v or w", "'f'"});
  expect_error(text("name: amg, max_levels: 1"), {"preconditioner.max_levels", "from 2 to 16"});
  expect_error(text("name: amg, max_coarse_size: 1001"),
               {"preconditioner.max_coarse_size", "from 1 to 1000"});
}

}  // namespace
