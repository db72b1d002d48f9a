// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "document.hpp"
#include "errors.hpp"
#include "schema.hpp"

namespace Solder::Driver {

/// \brief A checked value; `row->kind` says which of the members counts.
struct Setting {
  Key const* row = nullptr;
  std::string text{};  ///< as written; a number in the shortest way
  std::string word{};
  double number = 0;
  std::int64_t integer = 0;
  std::filesystem::path path{};
  std::string where{};
};

/// \brief The value of a key, if it may have it; else the error says what would be right.
std::optional<Setting> check_value(Key const& row, Text const& value, Errors& errors);

}  // namespace Solder::Driver
