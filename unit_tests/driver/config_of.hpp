// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>
#include <driver/config.hpp>

#include <string>
#include <vector>

#include "scratch.hpp"

/// What read_config makes of a text.
namespace Solder::Driver {

inline constexpr char const* problem = "problem: {generate: fem_poisson_2d, size: 9}\n";

/// All messages, one a line.
inline std::string messages_of(Errors const& errors) {
  std::string all;
  for (std::string const& message : errors.messages()) all += message + "\n";
  return all;
}

/// The messages for one file of this text, one a line; empty if it is valid.
inline std::string errors_of(std::string const& text,
                             std::vector<std::string> const& assignments = {}) {
  Scratch const scratch;
  Errors errors;
  read_config({scratch.write("a.yaml", text)}, assignments, errors);
  return messages_of(errors);
}

inline std::vector<RunConfig> runs_of(std::string const& text,
                                      std::vector<std::string> const& assignments = {}) {
  Scratch const scratch;
  Errors errors;
  auto const files = read_config({scratch.write("a.yaml", text)}, assignments, errors);
  for (std::string const& message : errors.messages()) ADD_FAILURE() << message;
  return files.empty() ? std::vector<RunConfig>() : files[0].runs;
}

inline void expect_error(std::string const& text, std::vector<std::string> const& parts,
                         std::vector<std::string> const& assignments = {}) {
  std::string const errors = errors_of(text, assignments);
  EXPECT_FALSE(errors.empty()) << text;
  for (std::string const& part : parts)
    EXPECT_TRUE(contains(errors, part)) << "no '" << part << "' in: " << errors;
}

}  // namespace Solder::Driver
