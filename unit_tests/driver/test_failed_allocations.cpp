// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every allocation fails, one after the other, in reading and writing files, and in whole runs of
// the driver: a sentence says so, nothing leaks, no file is left half written.
#include <zlib.h>
#include <driver/check.hpp>
#include <driver/run.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <memory>
#include <streambuf>

#include <solder/io/matrix_market.hpp>
#include <solder/problems/poisson.hpp>

#include "../failing_allocations.hpp"
#include "scratch.hpp"

using namespace Solder::Driver;
using namespace SolderTest;

namespace {

/// Of runs: memory of the host, or on a GPU, whose driver needs its own, of the device.
constexpr Of of_runs =
    Solder::Impl::is_host_space<Kokkos::DefaultExecutionSpace> ? Of::host : Of::device;

Failed of_all_calls;

/// Of what allocates much.
std::int64_t const some = is_long() ? 1 : 401;

/// Each allocation of the call in turn, or each of so many, and with all later ones.
void each(std::string const& what, Of of, std::function<Call()> const& make,
          std::int64_t step = 1) {
  SCOPED_TRACE(what);
  {  // what the standard library allocates once and for all
    Call const call = make();
    call.before();
    call.run();
    call.after(false);
  }
  for (bool const and_later : {false, true}) {
    SCOPED_TRACE(and_later ? "and all later ones" : "one alone");
    auto const left_by_a_round = [&] {
      std::int64_t const blocks = live_blocks();
      of_all_calls += fail_in_turn(of, make(), and_later, step);
      return live_blocks() - blocks;
    };
    std::int64_t left = left_by_a_round();
    if (left != 0 && !testing::Test::HasFailure()) left = left_by_a_round();  // not kept for good
    if (testing::Test::HasFailure()) return;  // of which a record lives
    ASSERT_EQ(left, 0) << "blocks have leaked";
  }
}

class FailedAllocationsOfFiles : public testing::Test {
 protected:
  static void TearDownTestSuite() {
    std::cout << "[   COUNT  ] " << of_all_calls.points << " allocations failed, one a call; of "
              << "these calls " << of_all_calls.survivals << " did without; " << of_all_calls.spared
              << " for Kokkos's records of views were spared\n";
  }

  Solder::HostCsr<double> const A = Solder::fem_poisson_2d<double>(9);
  Scratch const scratch;
};

bool same(Solder::HostCsr<double> const& a, Solder::HostCsr<double> const& b) {
  return a.row_offsets == b.row_offsets && a.columns == b.columns && a.values == b.values;
}

TEST_F(FailedAllocationsOfFiles, Read) {
  for (char const* const name : {"A.mtx", "A.mtx.gz"}) {
    std::string const path = scratch.path(name);
    Solder::write_matrix_market(path, A);
    each(std::string("matrix ") + name, Of::files, [&] {
      auto const read = std::make_shared<Solder::HostCsr<double>>();
      return Call{.before = [=] { *read = {}; },
                  .run = [=] { *read = Solder::read_matrix_market<double>(path); },
                  .after = [=, this](bool threw) { EXPECT_EQ(same(*read, A), !threw); }};
    });
    each(std::string("header ") + name, Of::files,
         [&] { return Call{.run = [=] { Solder::read_matrix_market_header(path); }}; });
  }
  std::string const path = scratch.path("b.mtx");
  std::vector<double> const b{1, 2.5, -3};
  Solder::write_matrix_market_vector(path, b);
  each("vector", Of::files, [&] {
    return Call{
        .run = [&, path] { EXPECT_TRUE(Solder::read_matrix_market_vector<double>(path) == b); }};
  });
}

TEST_F(FailedAllocationsOfFiles, Write) {
  for (char const* const name : {"A.mtx", "A.mtx.gz"})
    each(name, Of::files, [&] {
      std::string const path = scratch.path(name);
      return Call{.before = [=] { std::filesystem::remove(path); },
                  .run = [=, this] { Solder::write_matrix_market(path, A); },
                  .after =
                      [=, this](bool threw) {
                        std::vector<std::string> left;
                        if (!threw) left.push_back(name);
                        EXPECT_EQ(scratch.files(), left);
                        if (!threw) {
                          EXPECT_TRUE(same(Solder::read_matrix_market<double>(path), A));
                        }
                        std::filesystem::remove(path);
                      }};
    });
}

// ---- The driver ----

/// Standard output and error of a scope, the beginning of them, without an allocation.
class Heard : std::streambuf {
 public:
  Heard() : out_(std::cout.rdbuf(this)), error_(std::cerr.rdbuf(this)) {
    setp(text_.data(), text_.data() + text_.size());
  }
  ~Heard() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(error_);
  }
  char const* text() {
    *(pptr() == epptr() ? pptr() - 1 : pptr()) = '\0';
    return text_.data();
  }

 private:
  int overflow(int character) override { return character; }  // the rest is not kept

  std::array<char, 4096> text_{};
  std::streambuf *out_, *error_;
};

/// Throws what main() says where f throws.
template <class F>
void as_in_main(F const& f) {
  try {
    f();
  } catch (std::exception const& error) {
    throw std::runtime_error(what_of(error));
  }
}

/// What main() does with the files that it has read, once Kokkos is there.
void drive(std::vector<FileConfig> const& files) {
  Errors errors;
  SystemStore store;
  if (errors.empty()) check_runs(files, store, errors);
  if (!errors.empty()) throw std::runtime_error(errors.messages().front());
  Heard heard;
  Runs runs;
  if (runs.run_all(files, store, Style{}, {}) == invalid_input) throw std::runtime_error(heard.text());
}

TEST_F(FailedAllocationsOfFiles, Input) {
  auto const file = scratch.write(
      "run.yaml", "problem: {generate: fem_poisson_2d, size: [3, 4]}\nsolver: {name: [cg, idr]}\n");
  auto const read = [=] {
    Errors errors;
    read_config({file}, {}, errors);
    if (!errors.empty()) throw std::runtime_error(errors.messages().front());
  };
  each(
      "YAML", Of::files,
      [&] { return Call{.run = [=] { as_in_main(read); }, .says_how_much = false}; }, some);
}

TEST_F(FailedAllocationsOfFiles, Runs) {
  std::string const matrix = scratch.path("A.mtx.gz"), results = scratch.path("out.json");
  Solder::write_matrix_market(matrix, A);
  std::string const output = "output: {json: " + results +
                             ", solution: " + scratch.path("x.mtx").string() + "}\n",
                    problem = "problem: {matrix: " + matrix + "}\n";
  std::vector<std::string> texts{problem + "solver: {name: cg}\npreconditioner: {name: fsai}\n"};
  if (is_long()) {
    for (char const* const solver : {"cg", "bicgstab", "gmres", "idr"})
      for (char const* const M : {"none", "jacobi", "fsai", "chebyshev", "ic0", "amg"})
        texts.push_back(problem + "solver: {name: " + solver +
                        ", max_iterations: 20}\npreconditioner: {name: " + M + "}\n");
    for (char const* const solver : {"cg", "block_cg", "gmres"})
      texts.push_back("solver: {name: " + std::string(solver) +
                      ", max_iterations: 40}\nproblem: {generate: poisson_3d_7pt, size: 3, "
                      "rhs_count: 4, rhs: random}\n");
  }
  for (std::string const& text : texts) {
    auto const file = scratch.write("run.yaml", output + text);
    Errors errors;
    auto const files = read_config({file}, {}, errors);
    ASSERT_TRUE(errors.empty()) << errors.messages().front();
    each(
        text, of_runs,
        [&] {
          return Call{.before = [=] { std::filesystem::remove(results); },
                      .run = [&] { as_in_main([&] { drive(files); }); },
                      .after =
                          [=, this](bool threw) {
                            EXPECT_TRUE(threw || std::filesystem::exists(results));
                            auto const left = scratch.files();
                            EXPECT_TRUE(std::ranges::none_of(left, [](std::string const& name) {
                              return contains(name, ".partial");
                            }));
                          },
                      .says_how_much = false};
        },
        some);
  }
}

}  // namespace
