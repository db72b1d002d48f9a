// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the driver's executable ends where something other than its input ends it: standard output
// that cannot be written, a disk that is full, a signal.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <sstream>
#include <string>
#include <thread>

#include "drive.hpp"

namespace {

using namespace std::chrono_literals;

/// Waits, a minute at most.
bool comes(std::function<bool()> const& condition) {
  auto const begin = std::chrono::steady_clock::now();
  while (!condition()) {
    if (std::chrono::steady_clock::now() - begin > 60s) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// What a shell is told to do in a folder; $driver is the driver.
std::string in_shell(Scratch const& folder, std::string const& command) {
  return "cd '" + folder.path("").string() + "' && driver='" SOLDER_DRIVER_PATH "' && " + command;
}

/// Its exit code.
int run_in_shell(Scratch const& folder, std::string const& command) {
  int const status = std::system(in_shell(folder, command).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The driver at work in a folder; its streams are the files out and err there.
class Started {
 public:
  Started(Scratch const& folder, std::string const& arguments, int ignored = 0) {
    std::string const command = in_shell(folder, "exec \"$driver\" " + arguments + " >out 2>err");
    process_ = fork();
    if (process_ != 0) return;
    for (int const signal : {SIGINT, SIGTERM, SIGHUP})
      std::signal(signal, signal == ignored ? SIG_IGN : SIG_DFL);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  ~Started() {
    if (status_ < 0) {
      send(SIGKILL);
      waitpid(process_, &status_, 0);
    }
  }
  Started(Started const&) = delete;
  Started& operator=(Started const&) = delete;

  void send(int signal) const { kill(process_, signal); }
  bool has_ended() {
    return status_ >= 0 || (waitpid(process_, &status_, WNOHANG) == process_ && status_ >= 0);
  }
  /// -1: it did not exit by itself.
  int code() {
    if (!comes([&] { return has_ended(); })) return -1;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }

 private:
  pid_t process_;
  int status_ = -1;
};

/// Two runs that end, and one that does not within the life of a test.
constexpr char const* endless =
    "problem: {generate: fem_poisson_2d, size: 30}\n"
    "solver: {name: cg, tolerance: 0, max_iterations: [3, 4, 2000000000]}\n"
    "output: {json: r.json, history: h.csv}\n";

std::ptrdiff_t lines(std::string const& text) { return std::count(text.begin(), text.end(), '\n'); }

/// The lines of the runs above that have ended.
int ended(std::string const& text) {
  int count = 0;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) count += line.ends_with("  max_iterations");
  return count;
}

bool any_partial(Scratch const& folder) {
  auto const names = folder.files();
  return std::any_of(names.begin(), names.end(),
                     [](std::string const& name) { return contains(name, ".partial-"); });
}

// ---- standard output ----

TEST(Endings, StandardOutputThatCannotBeWrittenIsAnError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  Scratch const scratch;
  scratch.write("a.yaml", "problem: {generate: fem_poisson_2d, size: 5}\n");
  for (std::string const arguments : {"a.yaml", "--help", "--version"}) {
    std::string const start = "\"$driver\" " + arguments,
                      cannot = "error: standard output cannot be written: ";
    EXPECT_EQ(run_in_shell(scratch, start + " >/dev/full 2>err"), 2) << arguments;
    EXPECT_EQ(scratch.read("err"), cannot + "No space left on device\n");
    EXPECT_EQ(run_in_shell(scratch, start + " >&- 2>err"), 2) << arguments;
    EXPECT_EQ(scratch.read("err"), cannot + "Bad file descriptor\n");
  }
}

TEST(Endings, APipeThatNobodyReadsIsAnError) {
  Scratch const scratch;
  scratch.write("a.yaml", "problem: {generate: fem_poisson_2d, size: 5}\n");
  run_in_shell(scratch, "{ sleep 0.2; \"$driver\" a.yaml 2>err; echo $? >code; } | true");
  EXPECT_EQ(scratch.read("code"), "2\n");
  EXPECT_EQ(scratch.read("err"), "error: standard output cannot be written: Broken pipe\n");
}

// ---- a run that cannot be carried out ----

TEST(Endings, ALateErrorLeavesTheRunsThatHadEnded) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: [3, 5, 200, 7]}\n"
                "solver: {name: cg, max_iterations: 3, tolerance: 0}\n"
                "output: {json: r.json, solution: x.mtx}\n");
  EXPECT_EQ(run_in_shell(scratch, "ulimit -f 64 && exec \"$driver\" a.yaml >out 2>err"), 2);
  EXPECT_TRUE(contains(scratch.read("err"),
                       "x-3.mtx: cannot write: File too large; stopped in run 3 of 4 of a.yaml, "
                       "fem_poisson_2d(size=200), cg; r.json has the 2 finished runs\n"))
      << scratch.read("err");
  Json const json = Json::parse(scratch.read("r.json"));
  EXPECT_EQ(json["runs"].size(), 2u);
  EXPECT_TRUE(contains(std::string(json["stopped"]), "stopped in run 3 of 4 of a.yaml"));
  EXPECT_EQ(scratch.files(), (Strings{"a.yaml", "err", "out", "r.json", "x-1.mtx", "x-2.mtx"}));
}

// ---- signals ----

TEST(Endings, ASignalLeavesTheRunsThatHadEnded) {
  struct {
    int signal;
    std::string name;
  } const cases[] = {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}};
  for (auto const& [signal, name] : cases) {
    Scratch const scratch;
    scratch.write("a.yaml", endless);
    scratch.write("r.json", "old");
    Started driver(scratch, "a.yaml");
    ASSERT_TRUE(comes([&] { return ended(scratch.read("out")) == 2; })) << scratch.read("err");
    driver.send(signal);
    EXPECT_EQ(driver.code(), 128 + signal);
    std::string const where =
        "stopped by " + name +
        " in run 3 of 3 of a.yaml, fem_poisson_2d(size=30), cg, max_iterations=2000000000";
    EXPECT_TRUE(
        contains(scratch.read("err"), "error: " + where + "; r.json has the 2 finished runs\n"))
        << scratch.read("err");
    Json const json = Json::parse(scratch.read("r.json"));
    EXPECT_EQ(json["stopped"], where);
    ASSERT_EQ(json["runs"].size(), 2u);
    EXPECT_EQ(json["runs"][1]["iterations"], 4);
    EXPECT_EQ(scratch.files(), (Strings{"a.yaml", "err", "h-1.csv", "h-2.csv", "out", "r.json"}));
  }
}

TEST(Endings, ASignalBeforeTheFirstRunEndsLeavesWhatWasThere) {
  Scratch const scratch;
  scratch.write("a.yaml", endless);
  scratch.write("r.json", "old");
  Started driver(scratch, "a.yaml --set solver.max_iterations=2000000000");
  ASSERT_TRUE(comes([&] { return lines(scratch.read("out")) >= 1; })) << scratch.read("err");
  driver.send(SIGTERM);
  EXPECT_EQ(driver.code(), 128 + SIGTERM);
  std::string const err = scratch.read("err");  // the heading comes before the first run begins
  EXPECT_TRUE(contains(err, "in run 1 of 1 of a.yaml") || contains(err, "before the first run"))
      << err;
  EXPECT_EQ(scratch.read("r.json"), "old");
}

/// A run whose files are being written has ended.
TEST(Endings, ASignalRemovesWhatIsNotWholeAndKeepsItsRun) {
  Scratch const scratch;
  scratch.write("a.yaml",
                "problem: {generate: fem_poisson_2d, size: 400}\n"
                "solver: {name: cg, max_iterations: [1, 2, 3, 4, 5, 6, 7, 8]}\noutput: {solution: "
                "x.mtx.gz, json: r.json}\n");
  Started driver(scratch, "a.yaml");
  ASSERT_TRUE(comes([&] { return any_partial(scratch); })) << scratch.read("err");
  driver.send(SIGINT);
  EXPECT_EQ(driver.code(), 128 + SIGINT);
  EXPECT_FALSE(any_partial(scratch));
  Strings const files = scratch.files();
  auto const solutions = std::count_if(files.begin(), files.end(),
                                       [](std::string const& name) { return name[0] == 'x'; });
  std::size_t const runs = Json::parse(scratch.read("r.json"))["runs"].size();
  EXPECT_GE(runs, 1u);
  EXPECT_GE(runs, std::size_t(solutions));
}

/// As under nohup, or in the background of a script.
TEST(Endings, SignalsThatAreIgnoredStaySo) {
  Scratch const scratch;
  scratch.write("a.yaml", endless);
  Started driver(scratch, "a.yaml", SIGHUP);
  ASSERT_TRUE(comes([&] { return ended(scratch.read("out")) == 2; })) << scratch.read("err");
  driver.send(SIGHUP);
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(driver.has_ended());
  driver.send(SIGTERM);
  EXPECT_EQ(driver.code(), 128 + SIGTERM);
}

/// The JSON goes into a pipe that nobody reads, so that the first signal has no end; one that
/// follows at once is the same again.
TEST(Endings, ASecondSignalEndsAtOnce) {
  Scratch const scratch;
  scratch.write("a.yaml", endless);
  ASSERT_EQ(mkfifo(scratch.path("r.json").c_str(), 0600), 0);
  Started driver(scratch, "a.yaml");
  ASSERT_TRUE(comes([&] { return ended(scratch.read("out")) == 2; })) << scratch.read("err");
  driver.send(SIGINT);
  driver.send(SIGINT);
  std::this_thread::sleep_for(400ms);
  EXPECT_FALSE(driver.has_ended());
  driver.send(SIGINT);
  EXPECT_EQ(driver.code(), 128 + SIGINT);
}

}  // namespace
