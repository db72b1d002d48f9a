// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <driver/columns.hpp>
#include <driver/output.hpp>
#include <driver/progress.hpp>
#include <driver/repeat.hpp>
#include <driver/solve.hpp>

#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <solder/core/errors.hpp>
#include <sstream>
#include <string>

#include "scratch.hpp"

using namespace Solder::Driver;

namespace {

struct Example {
  RunConfig config;
  RunResult result;
};

void fill(Example& example) {
  example.config.problem.name = "bus";
  example.config.problem.scalar = Scalar::complex_float;
  example.config.solver.name = "cg";
  example.config.solver.cg.form = Solder::CgForm::pipelined;
  example.config.solver.cg.max_iterations = 100;
  example.config.preconditioner.name = example.config.preconditioner.label = "jacobi";
  Solder::Report report;
  report.reason = Solder::Reason::converged;
  report.iterations = 2;
  report.relative_residual = 0.25;
  report.true_relative_residual = std::numeric_limits<double>::quiet_NaN();
  report.history = {1, std::numeric_limits<double>::infinity(), 0.1};
  report.setup_seconds = 0.5;
  report.solve_seconds = 3;
  report.kernels_per_iteration = 2;
  report.words_per_iteration = 11.5;
  report.form = "pipelined";
  report.runner = Solder::Runner::launch;
  example.result = {&example.config, 10, 28, "serial", report, "sell", "4% padding", {report}};
}

/// Three right-hand sides: the first converges, the second breaks down, the third takes longest.
std::vector<Solder::Report> three_columns() {
  Solder::Report report;
  report.setup_seconds = 0.25;
  report.solve_seconds = 2;
  std::vector<Solder::Report> columns(3, report);
  columns[0].reason = Solder::Reason::converged;
  columns[0].iterations = 1;
  columns[0].relative_residual = 0.125;
  columns[0].true_relative_residual = 0.25;
  columns[0].history = {1, 0.125};
  columns[1].reason = Solder::Reason::breakdown;
  columns[1].detail = "a divisor is zero";
  columns[1].iterations = 0;
  columns[1].relative_residual = 1;
  columns[1].true_relative_residual = std::numeric_limits<double>::quiet_NaN();
  columns[1].history = {1};
  columns[2].reason = Solder::Reason::max_iterations;
  columns[2].iterations = 2;
  columns[2].relative_residual = 0.5;
  columns[2].true_relative_residual = 0.5;
  columns[2].history = {1, 2, 0.5};
  return columns;
}

TEST(Json, HasTheKeysOfTheReferenceInTheirOrder) {
  Example example;
  fill(example);
  auto const json = nlohmann::ordered_json::parse(
      json_text({example.result, example.result}, {.device = "a device"}));
  std::string keys;
  for (auto const& [key, value] : json.items()) keys += key + " ";
  EXPECT_EQ(keys,
            "solder commit compiler kokkos spaces device machine date command file yaml runs ");
  EXPECT_EQ(json["device"], "a device");
  EXPECT_EQ(json["kokkos"], kokkos_version());
  ASSERT_EQ(json["runs"].size(), 2u);
  auto const& run = json["runs"][1];
  keys.clear();
  for (auto const& [key, value] : run.items()) keys += key + " ";
  EXPECT_EQ(
      keys,
      "problem input solver form tolerance absolute_tolerance max_iterations time_limit restart "
      "reorthogonalisation basis shadow_dimension "
      "smoothing seed candidates preconditioner preconditioner_label scale match "
      "preconditioner_setup space ranks runner "
      "runner_reason matrix_format matrix_format_reason "
      "reason detail attempts iterations "
      "relative_residual "
      "true_relative_residual setup_seconds solve_seconds solve_seconds_each busy_cores "
      "seconds_per_iteration "
      "kernels_per_iteration "
      "words_per_iteration roofline checks history ");
  EXPECT_TRUE(run["roofline"].is_null());
  EXPECT_EQ(run["problem"].dump(),
            R"({"name":"bus","rows":10,"nonzeros":28,"scalar":"complex_float","path":null,)"
            R"("matrix_hash":null,"rhs":null,"rhs_hash":null,"symmetry":null})");
  EXPECT_TRUE(run["ranks"].is_null());
  EXPECT_EQ(run["runner"], "launch");
  EXPECT_EQ(run["matrix_format"], "sell");
  EXPECT_EQ(run["matrix_format_reason"], "4% padding");
  EXPECT_EQ(run["reason"], "converged");
  EXPECT_EQ(run["seconds_per_iteration"], 1.5);
  EXPECT_TRUE(run["true_relative_residual"].is_null());
  EXPECT_EQ(run["history"].dump(), "[1.0,null,0.1]");
}

TEST(Json, HasTheOptionsOfTheSolverAndNullForThoseOfOthers) {
  Example example;
  fill(example);
  SolverConfig& solver = example.config.solver;
  auto const options = [&](std::string const& name) {
    solver.name = name;
    auto const run = nlohmann::ordered_json::parse(json_text({example.result}, {}))["runs"][0];
    nlohmann::ordered_json found;
    for (char const* const key : {"tolerance", "absolute_tolerance", "max_iterations", "restart",
                                  "reorthogonalisation", "shadow_dimension", "smoothing", "seed"})
      found.push_back(run.at(key));
    return found.dump();
  };
  EXPECT_EQ(options("cg"), "[1e-08,0.0,100,null,null,null,null,null]");
  EXPECT_EQ(options("block_cg"), "[1e-08,0.0,10000,null,null,null,null,null]");
  EXPECT_EQ(options("gmres"), R"([1e-08,0.0,10000,30,"lost",null,null,null])");
  solver.gmres.form = Solder::GmresForm::mgs;
  solver.gmres.restart = 7;
  EXPECT_EQ(options("gmres"), "[1e-08,0.0,10000,7,null,null,null,null]");
  solver.idr.shadow_dimension = 12;
  solver.idr.smoothing = true;
  solver.idr.seed = 9007199254740991;
  EXPECT_EQ(options("idr"), "[1e-08,0.0,10000,null,null,10,true,9007199254740991]")
      << "the matrix has 10 rows";
}

/// 2 iterations of 11.5 words of 8 bytes in 3 s, where a copy moves 1000 bytes per second.
TEST(Json, HasTheShareOfACopyWhereItIsAskedFor) {
  Example example;
  fill(example);
  auto const of_run = [&] {
    return nlohmann::ordered_json::parse(json_text({example.result}, {}))["runs"][0]["roofline"];
  };
  example.result.copy_bandwidth = 1000;
  EXPECT_DOUBLE_EQ(of_run()["copy_gb_s"], 1e-6);
  EXPECT_DOUBLE_EQ(of_run()["of_copy"], 2 * 11.5 * 8 / 3000);
  EXPECT_TRUE(of_run()["of_model"].is_null());

  // Paper 5: s + 1 steps move 22 + 27.5 s + 4.5 s^2 vectors, and the matrix in each step.
  example.config.solver.name = "idr";
  example.config.solver.idr.shadow_dimension = 4;
  double const step = (22 + 110 + 72) / 5.0 * 8 * 10 + (8 + 4) * 28;
  EXPECT_TRUE(of_run()["of_model"].is_null()) << "it knows of no preconditioner";
  example.config.preconditioner.name = "none";
  EXPECT_DOUBLE_EQ(of_run()["of_model"], 2 * step / 3000);

  // Columns count with the iterations that each took.
  example.result.columns = three_columns();
  for (Solder::Report& column : example.result.columns) column.words_per_iteration = 11.5;
  EXPECT_DOUBLE_EQ(of_run()["of_copy"], 3 * 11.5 * 8 / 3000);

  for (Solder::Report& column : example.result.columns) column.iterations = 0;
  EXPECT_TRUE(of_run()["of_copy"].is_null());
}

TEST(Json, HasAnEntryForEachOfSeveralRightHandSides) {
  Example example;
  fill(example);
  auto const one = nlohmann::ordered_json::parse(json_text({example.result}, {}))["runs"][0];
  EXPECT_FALSE(one.contains("right_hand_sides"));
  EXPECT_FALSE(one.contains("columns"));
  example.result.columns = three_columns();
  auto const run = nlohmann::ordered_json::parse(json_text({example.result}, {}))["runs"][0];
  EXPECT_EQ(run["right_hand_sides"], 3);
  ASSERT_EQ(run["columns"].size(), 3u);
  EXPECT_EQ(run["columns"][0].dump(),
            R"({"reason":"converged","detail":null,"iterations":1,"relative_residual":0.125,)"
            R"("true_relative_residual":0.25})");
  EXPECT_EQ(
      run["columns"][1].dump(),
      R"({"reason":"breakdown","detail":"a divisor is zero","iterations":0,"relative_residual":1.0,)"
      R"("true_relative_residual":null})");
  EXPECT_EQ(run["columns"][2]["reason"], "max_iterations");
  for (auto const& [key, value] : one.items()) EXPECT_EQ(run[key], value) << key;
}

TEST(Summary, IsOfTheWorstColumns) {
  auto columns = three_columns();
  auto const apart = summary(columns, false);
  EXPECT_EQ(apart.reason, Solder::Reason::breakdown);
  EXPECT_EQ(apart.detail, "a divisor is zero");
  EXPECT_EQ(apart.iterations, 2);
  EXPECT_EQ(apart.relative_residual, 1);
  EXPECT_TRUE(std::isnan(apart.true_relative_residual));
  EXPECT_EQ(apart.history, (std::vector<double>{1, 2, 1}));
  EXPECT_EQ(apart.setup_seconds, 0.25);
  EXPECT_EQ(apart.solve_seconds, 6);
  EXPECT_EQ(summary(columns, true).solve_seconds, 2) << "one group";
  columns[2].solve_seconds = 3;
  EXPECT_EQ(summary(columns, true).solve_seconds, 5) << "a group of two, and one of one";

  std::vector<Solder::Report> const converged(2, columns[0]);
  EXPECT_EQ(summary(converged, false).reason, Solder::Reason::converged);
  EXPECT_EQ(summary({columns[0]}, false).solve_seconds, 2);
  EXPECT_EQ(summary({columns[0], columns[2]}, false).reason, Solder::Reason::max_iterations);
}

TEST(Json, WithoutIterationsThereIsNoTimePerIteration) {
  Example example;
  fill(example);
  example.result.report.iterations = 0;
  auto const json = nlohmann::json::parse(json_text({example.result}, {}));
  EXPECT_TRUE(json["runs"][0]["seconds_per_iteration"].is_null());
}

TEST(Json, NamesThatAreNotUtf8AreStillWritten) {
  Example example;
  fill(example);
  example.config.problem.name = "b\xffs";
  EXPECT_NO_THROW(nlohmann::json::parse(json_text({example.result}, {})));
}

TEST(Json, IsWrittenWholeOrNotAtAll) {
  Scratch const scratch;
  Example example;
  fill(example);
  write_results({.json = scratch.path("r.json")}, {example.result}, {.device = "d"});
  EXPECT_EQ(scratch.read("r.json"), json_text({example.result}, {.device = "d"}));
  EXPECT_EQ(scratch.files(), (std::vector<std::string>{"r.json"}));
  EXPECT_THROW(write_results({.json = scratch.path("no/r.json")}, {example.result}, {}),
               Solder::InputError);
  EXPECT_EQ(scratch.files(), (std::vector<std::string>{"r.json"}));
}

TEST(History, IsALineForEachIteration) {
  Scratch const scratch;
  Example example;
  fill(example);
  write_history(scratch.path("h.csv"), "bus", example.result.columns);
  EXPECT_EQ(scratch.read("h.csv"),
            "run,iteration,relative_residual\nbus,0,1\nbus,1,inf\nbus,2,0.10000000000000001\n");
  write_history(scratch.path("h.csv"), "a \"b\", cg", three_columns());
  EXPECT_EQ(scratch.read("h.csv"),
            "run,iteration,relative_residual_1,relative_residual_2,relative_residual_3\n"
            "\"a \"\"b\"\", cg\",0,1,1,1\n\"a \"\"b\"\", cg\",1,0.125,,2\n"
            "\"a \"\"b\"\", cg\",2,,,0.5\n");
}

/// What a progress line writes when it is told at these milliseconds; its own end included. The
/// residual is a tenth after 1 s, a hundredth after 2 s, and so on.
std::string written_at(std::vector<int> const& milliseconds, Aim const& aim) {
  std::ostringstream stream;
  std::chrono::steady_clock::time_point now{};
  auto const begin = now;
  {
    ProgressLine line(stream, aim, [&] { return now; });
    for (int const time : milliseconds) {
      now = begin + std::chrono::milliseconds(time);
      line.show({time, std::pow(10, -time * 1e-3), time * 1e-3});
    }
  }
  return stream.str();
}

TEST(ProgressOnATerminal, AppearsAfterASecondAndIsErased) {
  Aim const aim{"run 2 of 3, bus, cg", 1e-8, 100000, 100};
  EXPECT_EQ(written_at({0, 500, 999}, aim), "");
  EXPECT_EQ(written_at({1000}, aim),
            "\r\x1b[Krun 2 of 3, bus, cg: 1000 iterations, residual 1.0e-01 of 1.0e-08, about 7 s "
            "left\r\x1b[K");
}

TEST(ProgressOnATerminal, ChangesAtMostFiveTimesASecond) {
  std::vector<int> often;
  for (int time = 0; time < 3000; ++time) often.push_back(time);
  std::string const text = written_at(often, {"bus", 1e-8, 100000});
  std::size_t updates = 0;
  for (auto at = text.find("iterations"); at != std::string::npos;
       at = text.find("iterations", at + 1))
    ++updates;
  EXPECT_EQ(updates, 10u);  // at 1000, 1200, ..., 2800 milliseconds
}

TEST(ProgressOnATerminal, TakesOneLineHoweverNarrow) {
  for (std::size_t const width : {40u, 60u, 80u}) {
    std::string const text =
        written_at({1000}, {std::string(200, 'b') + ", cg", 1e-8, 2000, width});
    EXPECT_LE(text.size(), width - 1 + 2 * std::string("\r\x1b[K").size()) << text;
    EXPECT_TRUE(contains(text, ", cg: 1000 iterations") || width < 80) << text;
  }
}

TEST(ProgressOnATerminal, TellsTheTimeThatIsLeft) {
  EXPECT_DOUBLE_EQ(seconds_left({100, 1e-2, 2}, {"", 1e-8, 10000}), 6) << "2 digits in 2 s";
  EXPECT_DOUBLE_EQ(seconds_left({100, 1e-2, 2}, {"", 1e-8, 150}), 1) << "then it is stopped";
  EXPECT_DOUBLE_EQ(seconds_left({100, 3.0, 2}, {"", 1e-8, 150}), 1) << "it does not fall";
  EXPECT_DOUBLE_EQ(seconds_left({100, 1e-2, 2}, {"", 0, 300}), 4) << "no tolerance";
  EXPECT_DOUBLE_EQ(seconds_left({100, 1e-9, 2}, {"", 1e-8, 300}), 0);
  EXPECT_LT(seconds_left({0, 1, 0}, {"", 1e-8, 300}), 0) << "nothing is known";
}

/// A solve that takes these seconds, one after another, and ends with this residual.
auto fake_solve(std::vector<double> const& seconds, std::vector<double> const& last) {
  return [=, i = std::size_t(0)]() mutable {
    Solder::Report report;
    report.iterations = 1;
    report.history = {1, last[i]};
    report.solve_seconds = seconds[i++];
    return std::vector{report};
  };
}

/// The same for two right-hand sides, of which the second takes twice as long.
auto fake_columns(std::vector<double> const& seconds, std::vector<double> const& last) {
  return [solve = fake_solve(seconds, std::vector<double>(seconds.size())),
          second = fake_solve(seconds, last)]() mutable {
    auto reports = solve();
    reports.push_back(second()[0]);
    reports[1].solve_seconds *= 2;
    return reports;
  };
}

TEST(Repeat, ReportsTheMedianTime) {
  EXPECT_EQ(solve_repeatedly(1, fake_solve({5}, {0}))[0].solve_seconds, 5);
  EXPECT_EQ(solve_repeatedly(3, fake_solve({9, 1, 2}, {0, 0, 0}))[0].solve_seconds, 2);
  EXPECT_EQ(solve_repeatedly(4, fake_solve({9, 1, 2, 4}, {0, 0, 0, 0}))[0].solve_seconds, 3);
  auto const columns = solve_repeatedly(3, fake_columns({9, 1, 2}, {0, 0, 0}));
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].solve_seconds, 2);
  EXPECT_EQ(columns[1].solve_seconds, 4);
}

TEST(Repeat, RefusesWhatIsNotBitEqual) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(solve_repeatedly(2, fake_solve({1, 1}, {0.5, 0.5000000001})), std::runtime_error);
  EXPECT_THROW(solve_repeatedly(2, fake_solve({1, 1}, {0., -0.})), std::runtime_error);
  EXPECT_NO_THROW(solve_repeatedly(2, fake_solve({1, 1}, {nan, nan})));
  EXPECT_NO_THROW(solve_repeatedly(2, fake_columns({1, 1}, {nan, nan})));
  try {
    solve_repeatedly(3, fake_columns({1, 1, 1}, {0.5, 0.5, 0.25}));
    FAIL() << "the second right-hand side went another way";
  } catch (std::runtime_error const& error) {
    EXPECT_TRUE(contains(error.what(), "repeat 3") && contains(error.what(), "right-hand side 2"))
        << error.what();
  }
}

TEST(Spaces, DefaultComesFirst) {
  auto const names = space_names();
  ASSERT_GE(names.size(), 2u);
  EXPECT_EQ(names[0], "default");
}

}  // namespace
