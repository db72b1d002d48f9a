// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_solver: the same bits as the class of that name, and errors that name what is wrong.
#include "../support.hpp"

#include <cmath>

#include <solder/preconditioners/amg.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/elasticity.hpp>
#include <solder/problems/poisson.hpp>
#include <solder/problems/random.hpp>
#include <solder/solver.hpp>
#include <solder/solvers/bicgstab.hpp>
#include <solder/solvers/block_cg.hpp>
#include <solder/solvers/cg.hpp>
#include <solder/solvers/gmres.hpp>
#include <solder/solvers/idr.hpp>

namespace {

using namespace SolderTest;
using Solder::make_solver;
using Solder::Parameters;
using Solder::Reason;
using Solder::Report;
using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Solder::CsrMatrix<double, Exec>;

struct ByName : testing::Test {
  Exec exec;
  Solder::HostCsr<double> host = Solder::fem_poisson_2d<double>(20);
  Matrix A{exec, host};
  std::vector<double> b = random_vector<double>(host.rows, 1);

  /// f(b, x), and x after it.
  template <class Solve>
  std::pair<Report, std::vector<double>> solved(Solve const& f) {
    auto const b_there = to_device(exec, b), x = to_device(exec, std::vector<double>(b.size()));
    Report const report = f(b_there, x);
    return {report, to_host(exec, x)};
  }
  template <class Typed>
  void expect_same(Parameters const& parameters, Typed& typed) {
    auto const by_name = make_solver(exec, A, parameters);
    auto const [one, x] = solved([&](auto const& r, auto const& y) { return by_name.solve(r, y); });
    auto const [other, z] = solved([&](auto const& r, auto const& y) { return typed.solve(r, y); });
    EXPECT_EQ(one.reason, Reason::converged) << one.detail;
    EXPECT_EQ(x, z);
    EXPECT_EQ(one.history, other.history);
    EXPECT_EQ(one.runner, other.runner);
    EXPECT_EQ(one.form, other.form);
    EXPECT_EQ(by_name.matrix_format(), "csr");
  }
  std::string error_of(Parameters const& parameters) {
    try {
      make_solver(exec, A, parameters);
    } catch (std::invalid_argument const& error) {
      return error.what();
    }
    return "no error";
  }
  void expect_error(Parameters const& parameters, std::string const& text) {
    EXPECT_EQ(error_of(parameters), "Solder::make_solver:" + text);
  }
};

Parameters in_csr(Parameters parameters) { return parameters.set("matrix_format", "csr"); }

TEST_F(ByName, IsTheClassOfThatName) {
  Solder::CgOptions cg;
  cg.tolerance = 1e-10;
  cg.form = Solder::CgForm::classical;
  Solder::Fsai<double, Exec> const fsai(exec, A, {.k = 2});
  Solder::Cg with_fsai(exec, A, fsai, cg);
  expect_same(in_csr({{"name", "cg"},
                      {"tolerance", 1e-10},
                      {"form", "classical"},
                      {"preconditioner", Parameters{{"name", "fsai"}, {"k", 2}}}}),
              with_fsai);

  Solder::GmresOptions gmres;
  gmres.restart = 17;
  Solder::Incomplete<double, Exec> const ilu(exec, A, Solder::Factorisation::ilu0);
  Solder::Gmres with_ilu(exec, A, ilu, gmres);
  expect_same(in_csr({{"name", "gmres"}, {"restart", 17}, {"preconditioner", "ilu0"}}), with_ilu);

  Solder::IdrOptions idr;
  idr.shadow_dimension = 2;
  idr.smoothing = true;
  Solder::Idr plain(exec, A, Solder::Identity{}, idr);
  expect_same(in_csr({{"name", "idr"}, {"shadow_dimension", 2}, {"smoothing", true}}), plain);

  Solder::BiCgStabOptions bicgstab;
  bicgstab.runner = Solder::Runner::launch;
  Solder::Jacobi<double, Exec> const jacobi(exec, A);
  Solder::BiCgStab with_jacobi(exec, A, jacobi, bicgstab);
  expect_same(in_csr({{"name", "bicgstab"}, {"runner", "launch"}, {"preconditioner", "jacobi"}}),
              with_jacobi);
}

TEST_F(ByName, PreconditionersMirrorTheirObjects) {
  Solder::Chebyshev const polynomial(exec, A, Solder::Fsai<double, Exec>(exec, A, {.k = 2}),
                                     {.degree = 3});
  Solder::Cg with_polynomial(exec, A, polynomial);
  expect_same(
      in_csr({{"name", "cg"},
              {"preconditioner", Parameters{{"name", "chebyshev"},
                                            {"degree", 3},
                                            {"inner", Parameters{{"name", "fsai"}, {"k", 2}}}}}}),
      with_polynomial);

  Solder::Amg<double, Exec, float> const amg(exec, A, {.pre = 2, .post = 2});
  Solder::Cg with_amg(exec, A, amg);
  expect_same(in_csr({{"name", "cg"},
                      {"preconditioner",
                       Parameters{{"name", "amg"}, {"pre", 2}, {"precision", "single"}}}}),
              with_amg);
}

TEST_F(ByName, TakesColumnsAndBatches) {
  auto const several = to_device(exec, random_vector<double>(3 * host.rows, 5));
  using Columns = Kokkos::View<double**, Kokkos::LayoutRight, Exec::memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  auto const xs = to_device(exec, std::vector<double>(3 * host.rows)),
             ys = to_device(exec, std::vector<double>(3 * host.rows));
  for (char const* name : {"cg", "block_cg"}) {
    auto const solver = make_solver(exec, A, {{"name", name}, {"preconditioner", "jacobi"}});
    EXPECT_TRUE(solver.solves_columns_at_once());
    Kokkos::deep_copy(xs, 0.0);
    auto const reports =
        solver.solve(Columns(several.data(), host.rows, 3), Columns(xs.data(), host.rows, 3));
    ASSERT_EQ(reports.size(), 3u);
    for (Report const& report : reports) EXPECT_EQ(report.reason, Reason::converged);
  }
  Solder::BlockCg typed(exec, A, Solder::Jacobi<double, Exec>(exec, A));
  typed.solve(Columns(several.data(), host.rows, 3), Columns(ys.data(), host.rows, 3));
  EXPECT_EQ(to_host(exec, xs), to_host(exec, ys));

  Solder::HostBatch<double> systems;
  for (int size : {3, 8, 5}) systems.append(Solder::fem_poisson_2d<double>(size));
  Matrix const blocks(exec, systems.matrix);
  Solder::Batch<Exec> const batch(exec, systems.starts);
  auto const ones = to_device(exec, std::vector<double>(systems.matrix.rows, 1.0)),
             x = to_device(exec, std::vector<double>(systems.matrix.rows));
  auto const reports =
      make_solver(exec, blocks, in_csr({{"name", "bicgstab"}})).solve(ones, x, batch);
  ASSERT_EQ(reports.size(), 3u);
  for (Report const& report : reports) EXPECT_EQ(report.reason, Reason::converged);
}

TEST_F(ByName, RigidBodiesNeedCoordinates) {
  std::int64_t const size = 5;
  Matrix const elastic(exec, Solder::elasticity_3d<double>(size));
  Parameters const parameters{
      {"name", "cg"},
      {"preconditioner", Parameters{{"name", "amg"}, {"near_nullspace", "rigid_body"}}}};
  EXPECT_THROW(make_solver(exec, elastic, parameters), std::invalid_argument);
  std::vector<double> const points = Solder::elasticity_3d_coordinates(size);
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> const coordinates(
      "SolderTest::coordinates", points.size() / 3, 3);
  std::copy(points.begin(), points.end(), coordinates.data());
  auto const solver = make_solver(exec, elastic, parameters, {.coordinates = coordinates});
  auto const ones = to_device(exec, std::vector<double>(elastic.rows(), 1.0)),
             x = to_device(exec, std::vector<double>(elastic.rows()));
  EXPECT_EQ(solver.solve(ones, x).reason, Reason::converged);
}

TEST_F(ByName, TellsAMonitorAndDescribesItself) {
  int calls = 0;
  auto const solver = make_solver(
      exec, A,
      {{"name", "gmres"}, {"preconditioner", Parameters{{"name", "chebyshev"}, {"inner", "none"}}}},
      {.monitor = [&](Solder::Progress const&) { ++calls; }});
  solved([&](auto const& r, auto const& y) { return solver.solve(r, y); });
  EXPECT_GT(calls, 0);
  EXPECT_EQ(solver.name(), "Solder::Gmres");
  for (char const* line :
       {"gmres\n", "  tolerance: 1e-8\n", "  form: cgs2\n", "  runner: auto\n", " 400 rows, ",
        "  preconditioner: chebyshev\n", "    degree: ", "    inner: none\n"})
    EXPECT_NE(solver.describe().find(line), std::string::npos) << line << solver.describe();
  EXPECT_EQ(solver.describe().find("fsai"), std::string::npos);
}

TEST_F(ByName, SaysWhatIsWrong) {
  expect_error({}, " name is needed: cg, bicgstab, gmres, idr or block_cg");
  expect_error(
      {{"name", "gmrs"}},
      " name must be cg, bicgstab, gmres, idr or block_cg, not 'gmrs'; did you mean gmres?");
  expect_error({{"name", "cg"}, {"tolerence", 1e-8}},
               " tolerence is no parameter of cg; did you mean tolerance?");
  expect_error({{"name", "cg"}, {"tolerance", 2.0}},
               " tolerance must be a number from 0 to 1, not 2");
  expect_error({{"name", "cg"}, {"max_iterations", 1.5}},
               " max_iterations must be an integer from 1 to 2147483647, not 1.5");
  expect_error({{"name", "cg"}, {"max_iterations", "many"}},
               " max_iterations must be an integer from 1 to 2147483647, not 'many'");
  expect_error(
      {{"name", "cg"}, {"runner", "teams"}},
      " runner must be auto, launch, graph, team or resident, not 'teams'; did you mean team?");
  EXPECT_NE(error_of({{"name", "idr"}, {"seed", -1}}), "no error");
  EXPECT_NE(error_of({{"name", "cg"}, {"tolerance", std::nan("")}}), "no error");
  expect_error({{"name", "cg"}, {"check_symmetry", "yes"}},
               " check_symmetry must be true or false, not 'yes'");
  expect_error({{"name", "idr"}, {"shadow_space", 4}},
               " shadow_space is called shadow_dimension now");
  expect_error({{"name", "gmres"}, {"form", "cgs"}, {"reorthogonalisation", "lost"}},
               " reorthogonalisation counts only with form: cgs2 or flexible, not cgs");
  expect_error({{"name", "cg"}, {"preconditioner", 3}},
               " preconditioner must be a name, or a tree with a name, not 3");
  expect_error({{"name", "cg"}, {"preconditioner", Parameters{{"name", "ilu0"}, {"shift", 0.1}}}},
               " preconditioner.shift counts only with name: ic0, not ilu0");
  expect_error(
      {{"name", "cg"},
       {"form", "merged"},
       {"preconditioner",
        Parameters{{"name", "chebyshev"}, {"inner", Parameters{{"name", "fsai"}, {"k", 101}}}}}},
      "\n  form must be auto, classical or pipelined, not 'merged'\n"
      "  preconditioner.inner.k must be an integer from 0 to 100, not 101");
}

TEST_F(ByName, RefusesWhatTheClassRefuses) {
  for (Parameters const& parameters :
       {Parameters{{"name", "block_cg"}, {"preconditioner", "ic0"}},
        Parameters{{"name", "block_cg"}, {"matrix_format", "sell"}},
        Parameters{{"name", "block_cg"}, {"runner", "team"}},
        Parameters{{"name", "cg"},
                   {"preconditioner", Parameters{{"name", "amg"}, {"pre", 2}, {"post", 1}}}}})
    EXPECT_NE(error_of(parameters), "no error");
  Solder::HostCsr<double> wide = host;
  wide.columns_count += 1;
  Matrix const not_square(exec, wide);
  EXPECT_THROW(make_solver(exec, not_square, {{"name", "gmres"}}), std::invalid_argument);
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> const points("points", 3, 3);
  EXPECT_THROW(make_solver(exec, A, {{"name", "cg"}}, {.coordinates = points}),
               std::invalid_argument);
  EXPECT_THROW(make_solver(exec, A,
                           {{"name", "cg"},
                            {"preconditioner",
                             Parameters{{"name", "amg"}, {"near_nullspace", "rigid_body"}}}},
                           {.coordinates = points}),
               std::invalid_argument);
  auto const one = make_solver(exec, A, {{"name", "block_cg"}});
  EXPECT_EQ(solved([&](auto const& r, auto const& y) { return one.solve(r, y); }).first.reason,
            Reason::converged);
}

TEST_F(ByName, ConjugateGradientsRefuseWhatIsNotSymmetric) {
  Matrix const flow(
      exec, Solder::convection_diffusion_2d<double>(10, {3, 4}, Solder::Convection::upwind));
  EXPECT_THROW(make_solver(exec, flow, {{"name", "cg"}}), std::invalid_argument);
  EXPECT_NO_THROW(make_solver(exec, flow, {{"name", "cg"}, {"check_symmetry", false}}));
  EXPECT_NO_THROW(make_solver(exec, flow, {{"name", "gmres"}}));
}

}  // namespace
