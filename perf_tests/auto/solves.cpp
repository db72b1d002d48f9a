// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves of one matrix, in the default execution space: what sweep.py asks for.
//
//     auto_solves MATRIX.mtx
//
// Reads lines "LIMIT REPEAT NAME=VALUE ...", the parameters of make_solver() with a dot before what
// is the preconditioner's, and answers each with a line of JSON. b is A x for an x of numbers
// between -1 and 1 that are always the same, and the guess is 0. What takes more than LIMIT seconds
// is ended. A solve is repeated until REPEAT seconds more have gone by, and the least time counts:
// from the matrix to x, with the look at A, set-ups and all attempts.
//
// On hosts the seconds are of the CPU, and each solve has a process of its own. On devices they are
// of the clock; the first solve is not counted, because a device loads each kernel when it first
// runs; and a set-up of more than LIMIT goes on until sweep.py ends the process.
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include <solder/io/matrix_market.hpp>
#include <solder/matrix/analysis.hpp>
#include <solder/solver.hpp>

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
constexpr bool on_host = std::is_same_v<Exec::memory_space, Kokkos::HostSpace>;
using Json = nlohmann::ordered_json;
using Solder::Parameters;

/// Of the CPU, on hosts: of this thread, the only one, because a process's clock moves in ticks
/// while a timer runs.
double seconds() {
  timespec time;
  clock_gettime(on_host ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

Parameters::Value value_of(std::string const& text) {
  char const* const end = text.data() + text.size();
  std::int64_t whole = 0;
  if (auto const read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc() && read.ptr == end)
    return whole;
  double number = 0;
  if (auto const read = std::from_chars(text.data(), end, number);
      read.ec == std::errc() && read.ptr == end)
    return number;
  if (text == "true" || text == "false") return text == "true";
  return text;
}

Parameters parameters_of(std::istream& words) {
  Parameters of_solver, of_preconditioner;
  for (std::string word; words >> word;) {
    auto const equals = word.find('=');
    bool const is_inner = word[0] == '.';
    (is_inner ? of_preconditioner : of_solver)
        .set(word.substr(is_inner, equals - is_inner), value_of(word.substr(equals + 1)));
  }
  if (!of_preconditioner.empty()) of_solver.set("preconditioner", of_preconditioner);
  return of_solver;
}

/// Number k of a fixed sequence (splitmix64) between -1 and 1; peers.py has the same.
double number(std::uint64_t k) {
  std::uint64_t z = (k + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return double((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

template <class T>
class Solves {
 public:
  explicit Solves(std::string const& path)
      : host_(Solder::read_matrix_market<T>(path)),
        A_(exec_, host_),
        rhs_("b", host_.rows),
        b_("b", host_.rows),
        x_("x", host_.rows) {
    std::vector<T> u(host_.rows);
    for (std::size_t i = 0; i < u.size(); ++i) {
      if constexpr (std::is_same_v<T, double>)
        u[i] = number(i);
      else
        u[i] = T(number(2 * i), number(2 * i + 1));
    }
    for (int i = 0; i < host_.rows; ++i)
      for (auto k = host_.row_offsets[i]; k < host_.row_offsets[i + 1]; ++k)
        rhs_(i) += host_.values[k] * u[host_.columns[k]];
    Kokkos::deep_copy(b_, rhs_);
  }

  /// What is seen of A, and the seconds that it takes.
  Json look() const {
    double least = std::numeric_limits<double>::infinity();
    Solder::Analysis seen;
    for (int k = 0; k < 3; ++k) {
      double const begin = seconds();
      seen = analyse(exec_, A_);
      exec_.fence();
      least = std::min(least, seconds() - begin);
    }
    return {{"rows", host_.rows},
            {"entries", host_.nonzeros()},
            {"seconds", least},
            {"may_be_definite", seen.may_be_definite()}};
  }

  Json solve(Parameters const& parameters, double limit, double repeat) {
    Json result;
    double begin = seconds();
    double least = std::numeric_limits<double>::infinity();
    int runs = 0;
    Solder::Report report;
    auto const run = [&](Solder::SolverInputs const& inputs) {
      Kokkos::deep_copy(exec_, x_, T(0));
      exec_.fence();
      double const before = seconds();
      auto const solver = make_solver(exec_, A_, parameters, inputs);
      report = solver.solve(b_, x_);
      return seconds() - before;
    };
    try {
      if (!on_host) {
        run({.monitor = [&](Solder::Progress const& progress) {
          double const left = begin + limit - seconds();
          left > 0 ? progress.pause_for(left) : progress.stop();
        }});
        if (report.reason == Solder::Reason::stopped)
          return {{"reason", "time"}, {"seconds", seconds() - begin}};
        begin = seconds();
      }
      do least = std::min(least, run({}));
      while (++runs < 200 && seconds() - begin < repeat);
    } catch (std::exception const& error) {
      return {{"reason", "error"}, {"text", error.what()}, {"seconds", seconds() - begin}};
    }
    result = {{"reason", to_string(report.reason)},
              {"iterations", report.iterations},
              {"seconds", least},
              {"runs", runs},
              {"residual", residual()},
              {"detail", report.detail}};
    for (Solder::Attempt const& attempt : report.attempts)
      result["attempts"].push_back({{"solver", attempt.solver},
                                    {"preconditioner", attempt.preconditioner},
                                    {"why", attempt.why},
                                    {"reason", to_string(attempt.reason)},
                                    {"ended", attempt.ended},
                                    {"iterations", attempt.iterations},
                                    {"setup", attempt.setup_seconds},
                                    {"solve", attempt.solve_seconds}});
    return result;
  }

 private:
  /// ||b - A x|| / ||b||, by a loop that the library has no part in.
  double residual() const {
    auto const x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x_);
    auto const square = [](long double re, long double im) { return re * re + im * im; };
    auto const real = [](T value) { return (long double)Kokkos::real(value); };
    auto const imag = [](T value) { return (long double)Kokkos::imag(value); };
    long double squares = 0, of_b = 0;
    for (int i = 0; i < host_.rows; ++i) {
      long double re = real(rhs_(i)), im = imag(rhs_(i));
      of_b += square(re, im);
      for (auto k = host_.row_offsets[i]; k < host_.row_offsets[i + 1]; ++k) {
        T const a = host_.values[k], y = x(host_.columns[k]);
        re -= real(a) * real(y) - imag(a) * imag(y);
        im -= real(a) * imag(y) + imag(a) * real(y);
      }
      squares += square(re, im);
    }
    return double(std::sqrt(squares / of_b));
  }

  Exec exec_;
  Solder::HostCsr<T> host_;
  Solder::CsrMatrix<T, Exec> A_;
  Kokkos::View<T*, Kokkos::HostSpace> rhs_;
  Kokkos::View<T*, Exec> b_, x_;
};

/// Does the work in a process of its own, which answers by itself, and answers for one that was
/// ended.
template <class Work>
void in_child(double limit, Work const& work) {
  std::cout.flush();
  pid_t const child = fork();
  if (child == 0) {
    rlimit const memory{std::size_t(6) << 30, std::size_t(6) << 30};
    setrlimit(RLIMIT_AS, &memory);
    itimerval timer{};
    timer.it_value.tv_sec = time_t(limit);
    timer.it_value.tv_usec = suseconds_t(1e6 * (limit - std::floor(limit))) + 1;
    setitimer(ITIMER_PROF, &timer, nullptr);
    std::cout << work().dump() << std::endl;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    std::cout << Json{{"reason", WTERMSIG(status) == SIGPROF ? "time" : "crash"},
                      {"seconds", limit}}
                     .dump()
              << std::endl;
}

template <class T>
void serve(std::string const& path) {
  Solves<T> solves(path);
  std::cout << solves.look().dump() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    double limit = 0, repeat = 0;
    words >> limit >> repeat;
    Parameters const parameters = parameters_of(words);
    auto const solve = [&] { return solves.solve(parameters, limit, repeat); };
    if (on_host)
      in_child(limit + repeat, solve);
    else
      std::cout << solve().dump() << std::endl;
  }
}

template <bool is_compiled>
void serve_complex(std::string const& path) {
  if constexpr (is_compiled)
    serve<Kokkos::complex<double>>(path);
  else
    throw std::runtime_error(path + " is complex; configure with complex_double in Solder_SCALARS");
}

}  // namespace

int main(int argc, char* argv[]) {
  if (argc != 2) {
    std::cerr << "usage: auto_solves MATRIX.mtx, with OMP_NUM_THREADS=1\n";
    return 2;
  }
  Kokkos::ScopeGuard const kokkos(argc, argv);
  try {
    bool const is_complex =
        Solder::read_matrix_market_header(argv[1]).field == Solder::MarketField::complex;
    is_complex ? serve_complex<SOLDER_HAS_COMPLEX>(argv[1]) : serve<double>(argv[1]);
  } catch (std::exception const& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
