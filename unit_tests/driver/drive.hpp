// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "scratch.hpp"

using Json = nlohmann::json;
using Strings = std::vector<std::string>;

struct Outcome {
  int code;
  std::string out, err;
};

/// Without lines that tell of a busy machine: a test may run on one.
inline std::string without_busy_cores(std::string const& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (line.find("other processes kept the cores busy") == std::string::npos) kept += line + "\n";
  return kept;
}

/// Runs the driver in a folder, with `arguments` and, before its name, `environment` as in a shell.
inline Outcome drive(Scratch const& folder, std::string const& arguments,
                     std::string const& environment = "") {
  Scratch const streams;
  std::string const command = "cd '" + folder.path("").string() + "' && " + environment +
                              "'" SOLDER_DRIVER_PATH "' " + arguments + " >'" +
                              streams.path("out").string() + "' 2>'" +
                              streams.path("err").string() + "'";
  int const status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, streams.read("out"),
          without_busy_cores(streams.read("err"))};
}

/// A run that converges, and writes three files.
inline constexpr char const* good =
    "problem: {generate: fem_poisson_2d, size: 15}\npreconditioner: {name: jacobi}\n"
    "output: {json: r.json, solution: x.mtx, history: h.csv}\n";

inline std::string of_matrix(std::string const& further = "") {
  return "problem: {matrix: A.mtx" + further +
         "}\noutput: {json: r.json, solution: x.mtx, history: h.csv}\n";
}

inline std::string market(std::string const& rest,
                          std::string const& kind = "coordinate real general") {
  return "%%MatrixMarket matrix " + kind + "\n" + rest;
}
