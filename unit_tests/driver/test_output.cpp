// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <driver/output.hpp>
#include <driver/progress.hpp>
#include <driver/repeat.hpp>
#include <driver/solve.hpp>

#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <solder/core/errors.hpp>
#include <sstream>

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
  example.config.solver = {"cg", "pipelined", 1e-8, 100};
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
  example.result = {&example.config, 10, 28, "serial", report, "sell", "4% padding"};
}

TEST(Json, HasTheKeysOfTheReferenceInTheirOrder) {
  Example example;
  fill(example);
  auto const json =
      nlohmann::ordered_json::parse(json_text({example.result, example.result}, "a device"));
  std::string keys;
  for (auto const& [key, value] : json.items()) keys += key + " ";
  EXPECT_EQ(keys, "solder kokkos device runs ");
  EXPECT_EQ(json["device"], "a device");
  EXPECT_EQ(json["kokkos"], kokkos_version());
  ASSERT_EQ(json["runs"].size(), 2u);
  auto const& run = json["runs"][1];
  keys.clear();
  for (auto const& [key, value] : run.items()) keys += key + " ";
  EXPECT_EQ(keys,
            "problem solver form restart second_round shadow_space seed preconditioner "
            "preconditioner_setup space runner "
            "matrix_format matrix_format_reason "
            "reason iterations "
            "relative_residual "
            "true_relative_residual setup_seconds solve_seconds seconds_per_iteration "
            "kernels_per_iteration "
            "words_per_iteration history ");
  EXPECT_EQ(run["problem"].dump(),
            R"({"name":"bus","rows":10,"nonzeros":28,"scalar":"complex_float"})");
  EXPECT_EQ(run["runner"], "launch");
  EXPECT_EQ(run["matrix_format"], "sell");
  EXPECT_EQ(run["matrix_format_reason"], "4% padding");
  EXPECT_EQ(run["reason"], "converged");
  EXPECT_EQ(run["seconds_per_iteration"], 1.5);
  EXPECT_TRUE(run["true_relative_residual"].is_null());
  EXPECT_EQ(run["history"].dump(), "[1.0,null,0.1]");
}

TEST(Json, WithoutIterationsThereIsNoTimePerIteration) {
  Example example;
  fill(example);
  example.result.report.iterations = 0;
  auto const json = nlohmann::json::parse(json_text({example.result}, ""));
  EXPECT_TRUE(json["runs"][0]["seconds_per_iteration"].is_null());
}

TEST(Json, NamesThatAreNotUtf8AreStillWritten) {
  Example example;
  fill(example);
  example.config.problem.name = "b\xffs";
  EXPECT_NO_THROW(nlohmann::json::parse(json_text({example.result}, "")));
}

TEST(Json, IsWrittenWholeOrNotAtAll) {
  Scratch const scratch;
  Example example;
  fill(example);
  write_json(scratch.path("r.json"), {example.result}, "d");
  EXPECT_EQ(scratch.read("r.json"), json_text({example.result}, "d"));
  EXPECT_EQ(scratch.files(), (std::vector<std::string>{"r.json"}));
  EXPECT_THROW(write_json(scratch.path("no/r.json"), {example.result}, "d"), Solder::InputError);
  EXPECT_EQ(scratch.files(), (std::vector<std::string>{"r.json"}));
}

TEST(History, IsALineForEachIteration) {
  Scratch const scratch;
  Example example;
  fill(example);
  write_history(scratch.path("h.csv"), example.result.report);
  EXPECT_EQ(scratch.read("h.csv"),
            "iteration,relative_residual\n0,1\n1,inf\n2,0.10000000000000001\n");
}

TEST(TableOfRuns, LinesStandUnderTheHeading) {
  Example example;
  fill(example);
  example.config.problem.name = "a_name_that_is_longer_than_the_heading(size=1000)";
  Table const table({{"a.yaml", {example.config}}});
  std::string const line = table.line(example.result);
  EXPECT_EQ(line.find("sell: 4% padding\n"), table.heading().find("matrix format\n"));
  for (char const* part : {"longer_than", "complex_float", "cg pipelined", "jacobi", "serial",
                           "launch", "converged", "1500000.00"})
    EXPECT_TRUE(contains(line, part)) << part << " in " << line;
}

/// What a progress line writes when it is told at these milliseconds; its own end included.
std::string written_at(std::vector<int> const& milliseconds) {
  std::ostringstream stream;
  std::chrono::steady_clock::time_point now{};
  auto const begin = now;
  {
    ProgressLine line(stream, "bus", [&] { return now; });
    for (int const time : milliseconds) {
      now = begin + std::chrono::milliseconds(time);
      line.show({time, 0.5, time * 1e-3});
    }
  }
  return stream.str();
}

TEST(ProgressOnATerminal, AppearsAfterASecondAndIsErased) {
  EXPECT_EQ(written_at({0, 500, 999}), "");
  EXPECT_EQ(written_at({1000}), "\r\x1b[Kbus  1000 iterations  residual 5.00e-01  1000/s\r\x1b[K");
}

TEST(ProgressOnATerminal, ChangesAtMostFiveTimesASecond) {
  std::vector<int> often;
  for (int time = 0; time < 3000; ++time) often.push_back(time);
  std::string const text = written_at(often);
  std::size_t updates = 0;
  for (auto at = text.find("iterations"); at != std::string::npos;
       at = text.find("iterations", at + 1))
    ++updates;
  EXPECT_EQ(updates, 10u);  // at 1000, 1200, ..., 2800 milliseconds
}

/// A solve that takes these seconds, one after another, and ends with this residual.
auto fake_solve(std::vector<double> const& seconds, std::vector<double> const& last) {
  return [=, i = std::size_t(0)]() mutable {
    Solder::Report report;
    report.iterations = 1;
    report.history = {1, last[i]};
    report.solve_seconds = seconds[i++];
    return report;
  };
}

TEST(Repeat, ReportsTheMedianTime) {
  EXPECT_EQ(solve_repeatedly(1, fake_solve({5}, {0})).solve_seconds, 5);
  EXPECT_EQ(solve_repeatedly(3, fake_solve({9, 1, 2}, {0, 0, 0})).solve_seconds, 2);
  EXPECT_EQ(solve_repeatedly(4, fake_solve({9, 1, 2, 4}, {0, 0, 0, 0})).solve_seconds, 3);
}

TEST(Repeat, RefusesWhatIsNotBitEqual) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(solve_repeatedly(2, fake_solve({1, 1}, {0.5, 0.5000000001})), std::runtime_error);
  EXPECT_THROW(solve_repeatedly(2, fake_solve({1, 1}, {0., -0.})), std::runtime_error);
  EXPECT_NO_THROW(solve_repeatedly(2, fake_solve({1, 1}, {nan, nan})));
}

TEST(Spaces, DefaultComesFirst) {
  auto const names = space_names();
  ASSERT_GE(names.size(), 2u);
  EXPECT_EQ(names[0], "default");
}

}  // namespace
