// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_solver: the same bits as the class of that name, and errors that name what is wrong.
#include "by_name.hpp"

#include <cmath>
#include <utility>

#include <solder/preconditioners/amg.hpp>
#include <solder/preconditioners/apply.hpp>
#include <solder/preconditioners/chebyshev.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/incomplete.hpp>
#include <solder/preconditioners/jacobi.hpp>
#include <solder/preconditioners/scaled.hpp>
#include <solder/problems/convection_diffusion.hpp>
#include <solder/problems/elasticity.hpp>
#include <solder/solver.hpp>
#include <solder/solvers/bicgstab.hpp>
#include <solder/solvers/block_cg.hpp>
#include <solder/solvers/cg.hpp>
#include <solder/solvers/gmres.hpp>
#include <solder/solvers/idr.hpp>

namespace {

using namespace SolderTest;

/// z = D r, for a D that nobody would take for Jacobi's.
struct Scale {
  Solder::Apply<double, Exec>::Input r;
  Solder::Apply<double, Exec>::Output z;

  KOKKOS_FUNCTION void operator()(int i) const { z(i) = (i % 3 + 1) * r(i); }
};

TEST_F(ByName, TakesAPreconditionerOfOnesOwn) {
  using Own = Solder::Apply<double, Exec>;
  Own const M(host.rows, [](Exec const& on, Own::Input const& r, Own::Output const& z) {
    Kokkos::parallel_for("SolderTest::scale", Kokkos::RangePolicy<Exec>(on, 0, z.extent(0)),
                         Scale{r, z});
  });
  Parameters const cg{{"name", "cg"}, {"matrix_format", "csr"}};
  auto const error = [&](Parameters const& parameters) {
    try {
      make_solver(exec, A, M, parameters);
    } catch (std::invalid_argument const& wrong) {
      return std::string(wrong.what());
    }
    return std::string("no error");
  };
  if (!Solder::Impl::is_host_space<Exec>) {
    EXPECT_EQ(error(cg), "Solder::make_solver: a preconditioner of your own works on hosts only");
    return;
  }
  auto const by_name = make_solver(exec, A, M, cg);
  Solder::Cg typed(exec, A, M);
  auto const [one, x] = solved([&](auto const& r, auto const& y) { return by_name.solve(r, y); });
  auto const [other, z] = solved([&](auto const& r, auto const& y) { return typed.solve(r, y); });
  EXPECT_EQ(one.reason, Reason::converged) << one.detail;
  EXPECT_EQ(x, z);
  EXPECT_EQ(one.history, other.history);
  EXPECT_NE(by_name.describe().find("preconditioner: given"), std::string::npos);
  by_name.set_matrix(A);  // M is not ours: nothing is stale
  EXPECT_EQ(solved([&](auto const& r, auto const& y) { return by_name.solve(r, y); }).second, x);
  EXPECT_NE(error({{"name", "auto"}}).find("auto does not take a preconditioner"),
            std::string::npos);
  EXPECT_NE(error({{"name", "cg"}, {"preconditioner", "amg"}})
                .find("but a preconditioner object is given, too"),
            std::string::npos);
  EXPECT_NE(error({{"name", "gc"}}).find("name must be"), std::string::npos);
}

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
  expect_same(
      in_csr({{"name", "cg"},
              {"preconditioner",
               {{"name", "chebyshev"}, {"degree", 3}, {"inner", {{"name", "fsai"}, {"k", 2}}}}}}),
      with_polynomial);

  Solder::Amg<double, Exec, float> const amg(exec, A, {.pre = 2, .post = 2});
  Solder::Cg with_amg(exec, A, amg);
  expect_same(in_csr({{"name", "cg"},
                      {"preconditioner",
                       Parameters{{"name", "amg"}, {"pre", 2}, {"precision", "single"}}}}),
              with_amg);
}

// ---- A scaled or matched matrix ----

Parameters scaled(Parameters parameters, bool is_matched = false) {
  parameters.set("scale", "equilibrate");
  if (is_matched) parameters.set("match", "product");
  return parameters;
}

TEST_F(ByName, PreconditionersOfScaledMatricesAreTheClass) {
  Solder::Scaling const scaling(exec, A, {Solder::Scale::equilibrate, Solder::Match::product});
  Solder::IncompleteOptions options;
  options.drop_tolerance = 0.01;
  options.ordering = Solder::Ordering::amd;
  Solder::Incomplete const ilut(exec, scaling.matrix(), Solder::Factorisation::ilut, options);
  Solder::GmresOptions gmres;
  gmres.runner = Solder::Runner::launch;  // by name there is no kernel of a whole solve with it
  Solder::Gmres with_ilut(exec, A, Solder::Scaled(exec, scaling, ilut), gmres);
  expect_same(
      in_csr({{"name", "gmres"},
              {"runner", "launch"},
              {"preconditioner",
               scaled({{"name", "ilut"}, {"drop_tolerance", 0.01}, {"ordering", "amd"}}, true)}}),
      with_ilut);
}

TEST_F(ByName, AnyPreconditionerTakesAScaledMatrix) {
  std::vector<double> d(host.rows);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = std::pow(10., double(i % 3) - 1);
  scale_both_sides(host, d);
  auto anew = host;
  for (double& value : anew.values) value *= 2;
  for (std::string const name :
       {"none", "jacobi", "fsai", "ic0", "ilu0", "ick", "iluk", "ict", "ilut", "chebyshev", "amg"})
    for (std::string const solver : {"cg", "gmres"})
      for (std::string const format : {"csr", "sell"}) {
        if (format == "sell" && name != "ilut") continue;
        SCOPED_TRACE(solver + ", " + name + ", " + format);
        Matrix const bad(exec, host), other(exec, anew);
        auto const made = make_solver(exec, bad,
                                      {{"name", solver},
                                       {"matrix_format", format},
                                       {"preconditioner", scaled({{"name", name}})}});
        auto const expect_converged = [&](Solder::HostCsr<double> const& of) {
          auto const [report, x] =
              solved([&](auto const& r, auto const& y) { return made.solve(r, y); });
          EXPECT_EQ(report.reason, Reason::converged) << report.detail;
          EXPECT_LE(true_residual(of, b, x).relative, 1.1e-8);
        };
        expect_converged(host);
        made.set_matrix(other);
        EXPECT_THROW(solved([&](auto const& r, auto const& y) { return made.solve(r, y); }),
                     std::logic_error);
        made.refresh();
        expect_converged(anew);
        EXPECT_NE(made.describe().find("scale: equilibrate"), std::string::npos);
      }
}

// Whether several columns are solved at once depends on the inner preconditioner.
TEST_F(ByName, ColumnsOfAScaledMatrixAreThoseAlone) {
  auto const several = to_device(exec, random_vector<double>(3 * host.rows, 5));
  using Columns = Kokkos::View<double**, Kokkos::LayoutLeft, Exec::memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  for (std::string const name : {"jacobi", "ic0", "ilut", "amg"}) {
    SCOPED_TRACE(name);
    auto const solver =
        make_solver(exec, A, {{"name", "gmres"}, {"preconditioner", scaled({{"name", name}})}});
    auto const xs = to_device(exec, std::vector<double>(3 * host.rows));
    auto const reports =
        solver.solve(Columns(several.data(), host.rows, 3), Columns(xs.data(), host.rows, 3));
    ASSERT_EQ(reports.size(), 3u);
    auto const x = to_host(exec, xs);
    auto const rhs = to_host(exec, several);
    for (std::size_t c = 0; c < 3; ++c) {
      auto const column = [&](std::vector<double> const& of) {
        return std::vector<double>(of.begin() + c * host.rows, of.begin() + (c + 1) * host.rows);
      };
      EXPECT_EQ(reports[c].reason, Reason::converged) << reports[c].detail;
      EXPECT_LE(true_residual(host, column(rhs), column(x)).relative, 1.1e-8);
    }
  }
}

TEST_F(ByName, MatchingIsNotForHermitianMatrices) {
  std::string const rest =
      "match: product permutes rows but not columns, so the matrix is no longer Hermitian, as ";
  for (std::string const solver : {"cg", "block_cg"})
    expect_error(
        {{"name", solver}, {"preconditioner", scaled({{"name", "jacobi"}}, true)}},
        " preconditioner." + rest + "this solver needs it: take match: none, or gmres with ilut");
  expect_error({{"name", "gmres"}, {"preconditioner", scaled({{"name", "ict"}}, true)}},
               " preconditioner." + rest + "ict needs it: take match: none, or gmres with ilut");
  expect_error(
      {{"name", "gmres"}, {"preconditioner", Parameters{{"name", "ilut"}, {"scale", "on"}}}},
      " preconditioner.scale must be none or equilibrate, not 'on'");
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
       {"gmres\n", "  tolerance: 1e-8\n", "  form: cgs2\n", "  runner: auto (", " 400 rows, ",
        "  preconditioner: chebyshev\n", "    degree: ", "    inner: none\n"})
    EXPECT_NE(solver.describe().find(line), std::string::npos) << line << solver.describe();
  EXPECT_EQ(solver.describe().find("fsai"), std::string::npos);
}

TEST_F(ByName, SaysWhatIsWrong) {
  expect_error(
      {{"name", "gmrs"}},
      " name must be auto, cg, bicgstab, gmres, idr or block_cg, not 'gmrs'; did you mean gmres?");
  expect_error({{"name", "cg"}, {"tolerence", 1e-8}},
               " tolerence is not a parameter of cg; did you mean tolerance?");
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
               " reorthogonalisation applies only with form: cgs2 or flexible, not cgs");
  expect_error({{"name", "gmres"}, {"form", "pipelined"}, {"basis", "single"}},
               " basis applies only with form: cgs2, cgs, mgs or flexible, not pipelined");
  expect_error({{"name", "gmres"}, {"basis", "float"}},
               " basis must be same or single, not 'float'");
  expect_error({{"name", "cg"}, {"preconditioner", 3}},
               " preconditioner must be a name, or parameters with a name, not 3");
  expect_error({{"name", "cg"}, {"preconditioner", Parameters{{"name", "ilu0"}, {"shift", 0.1}}}},
               " preconditioner.shift applies only with name: ic0, ick or ict, not ilu0");
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

// ---- Preconditioners alone ----

struct PreconditionerByName : ByName {
  std::vector<double> applied(Parameters const& parameters, std::vector<double> const& r) {
    auto const M = Solder::make_preconditioner(exec, A, parameters);
    EXPECT_EQ(M.rows(), A.rows());
    EXPECT_EQ(M.failure(), "");
    auto const z = to_device(exec, std::vector<double>(r.size(), std::nan("")));
    M.apply(exec, to_device(exec, r), z);
    return to_host(exec, z);
  }
  static double dot(std::vector<double> const& u, std::vector<double> const& v) {
    double sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * v[i];
    return sum;
  }
};

TEST_F(PreconditionerByName, JacobiDividesByTheDiagonalAndNoneCopies) {
  EXPECT_EQ(applied({{"name", "none"}}, b), b);
  auto const z = applied({{"name", "jacobi"}}, b);
  for (std::int32_t i = 0; i < host.rows; ++i)
    for (auto k = host.row_offsets[i]; k < host.row_offsets[i + 1]; ++k)
      if (host.columns[k] == i) {
        EXPECT_NEAR(z[i], b[i] / host.values[k], 1e-15 * std::abs(z[i]));
      }
}

/// Each is linear, symmetric and positive, but for ilu0 of a symmetric matrix, which is so too.
TEST_F(PreconditionerByName, EachIsLinearSymmetricAndPositive) {
  auto const c = random_vector<double>(b.size(), 9);
  std::vector<double> sum(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) sum[i] = 2 * b[i] - 3 * c[i];
  for (std::string const name : every_preconditioner) {
    SCOPED_TRACE(name);
    Parameters const parameters{{"name", name}};
    auto const Mb = applied(parameters, b), Mc = applied(parameters, c),
               both = applied(parameters, sum);
    double const size = std::sqrt(dot(both, both));
    for (std::size_t i = 0; i < b.size(); ++i)
      EXPECT_NEAR(both[i], 2 * Mb[i] - 3 * Mc[i], 1e-12 * size);
    EXPECT_NEAR(dot(c, Mb), dot(Mc, b), 1e-12 * std::sqrt(dot(Mb, Mb) * dot(c, c)));
    EXPECT_GT(dot(b, Mb), 0);
  }
}

/// In a CG of somebody else: the iterations of ours.
TEST_F(PreconditionerByName, EachServesAnotherSolver) {
  for (std::string const name : every_preconditioner) {
    SCOPED_TRACE(name);
    int const ours =
        solved([&](auto const& r, auto const& y) {
          return make_solver(exec, A, {{"name", "cg"}, {"preconditioner", name}}).solve(r, y);
        }).first.iterations;
    auto const M = Solder::make_preconditioner(exec, A, {{"name", name}});
    std::vector<double> r = b, p(b.size()), x(b.size());
    auto const z_of = [&](std::vector<double> const& v) {
      auto const z = to_device(exec, v);
      M.apply(exec, to_device(exec, v), z);
      return to_host(exec, z);
    };
    double rz = 1;
    int iterations = 0;
    for (; std::sqrt(dot(r, r) / dot(b, b)) > 1e-8 && iterations < 1000; ++iterations) {
      auto const z = z_of(r);
      double const before = std::exchange(rz, dot(r, z)), beta = iterations == 0 ? 0 : rz / before;
      for (std::size_t i = 0; i < p.size(); ++i) p[i] = z[i] + beta * p[i];
      auto const q = multiply(host, p);
      double const alpha = rz / dot(p, q);
      for (std::size_t i = 0; i < p.size(); ++i) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
      }
    }
    EXPECT_NEAR(iterations, ours, 2);
  }
}

TEST_F(PreconditionerByName, TakesColumnsAndRefusesWhatDoesNotFit) {
  auto const M = Solder::make_preconditioner(exec, A, {{"name", "fsai"}, {"k", 2}});
  Kokkos::View<double**, Kokkos::LayoutLeft, Exec::memory_space> const r("r", host.rows, 2),
      z("z", host.rows, 2), narrow("z", host.rows, 1);
  for (int c : {0, 1})
    Kokkos::deep_copy(Kokkos::subview(r, Kokkos::ALL, c),
                      to_device(exec, random_vector<double>(b.size(), c)));
  M.apply(exec, r, z);
  for (int c : {0, 1}) {
    auto const column = to_device(exec, b);
    Kokkos::deep_copy(column, Kokkos::subview(z, Kokkos::ALL, c));
    EXPECT_EQ(to_host(exec, column),
              applied({{"name", "fsai"}, {"k", 2}}, random_vector<double>(b.size(), c)));
  }
  EXPECT_THROW(M.apply(exec, r, narrow), std::invalid_argument);
  EXPECT_THROW(M.apply(exec, r, r), std::invalid_argument);
  auto const short_one = to_device(exec, std::vector<double>(3));
  EXPECT_THROW(M.apply(exec, short_one, to_device(exec, std::vector<double>(3))),
               std::invalid_argument);
  Matrix const without(exec, Solder::HostCsr<double>{2, 2, {0, 1, 1}, {0}, {1.0}});
  auto const broken = Solder::make_preconditioner(exec, without, {{"name", "jacobi"}});
  EXPECT_NE(broken.failure(), "");
  auto const two = to_device(exec, std::vector<double>(2));
  EXPECT_THROW(broken.apply(exec, to_device(exec, std::vector<double>(2)), two),
               std::runtime_error);
  EXPECT_THROW(Solder::make_preconditioner(exec, A, {{"name", "ilu"}}), std::invalid_argument);
  EXPECT_NE(M.describe().find("fsai\n  "), std::string::npos);
}

TEST_F(PreconditionerByName, IsRefreshedForAnotherSize) {
  for (Parameters const& parameters :
       {Parameters{{"name", "none"}, {"scale", "equilibrate"}}, Parameters{{"name", "none"}},
        Parameters{{"name", "fsai"}, {"scale", "equilibrate"}},
        Parameters{{"name", "ilut"}, {"scale", "equilibrate"}, {"match", "product"}}}) {
    auto const M = Solder::make_preconditioner(exec, A, parameters);
    for (int const side : {5, 40, 7}) {
      Matrix const other(exec, Solder::fem_poisson_2d<double>(side));
      M.refresh(exec, other);
      auto const fresh = Solder::make_preconditioner(exec, other, parameters);
      auto const r = to_device(exec, random_vector<double>(other.rows(), 5)),
                 z = to_device(exec, std::vector<double>(other.rows())),
                 z_fresh = to_device(exec, std::vector<double>(other.rows()));
      M.apply(exec, r, z);
      fresh.apply(exec, r, z_fresh);
      EXPECT_EQ(to_host(exec, z), to_host(exec, z_fresh)) << M.describe();
    }
  }
}

TEST_F(PreconditionerByName, KnowsWhenItIsStale) {
  for (std::string const name : every_preconditioner) {
    Matrix const mine(exec, host);
    auto const M = Solder::make_preconditioner(exec, mine, {{"name", name}});
    EXPECT_FALSE(M.is_stale());
    mine.values_changed();
    EXPECT_TRUE(M.is_stale()) << name;
    M.refresh(exec, mine);
    EXPECT_FALSE(M.is_stale()) << name;
  }
}

}  // namespace
