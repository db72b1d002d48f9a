// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Parameters from JSON and to it. For programs that have nlohmann::json, which Solder
/// itself does not need.

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include <solder/parameters.hpp>

namespace Solder {

/// \brief The tree of a JSON object; numbers with a point are real ones.
/// \throws std::invalid_argument, naming the place, where a value is null or a list, or `json` is
/// no object
inline Parameters parameters_of(nlohmann::json const& json, std::string const& path = "") {
  if (!json.is_object())
    throw std::invalid_argument("Solder::parameters_of: " + (path.empty() ? "this JSON" : path) +
                                " must be an object, not " + json.dump());
  Parameters all;
  for (auto const& [name, value] : json.items()) {
    std::string const where = path.empty() ? name : path + "." + name;
    if (value.is_boolean())
      all.set(name, value.get<bool>());
    else if (value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0)
      throw std::invalid_argument("Solder::parameters_of: " + where +
                                  " is too large: " + value.dump());
    else if (value.is_number_integer())
      all.set(name, value.get<std::int64_t>());
    else if (value.is_number())
      all.set(name, value.get<double>());
    else if (value.is_string())
      all.set(name, value.get<std::string>());
    else if (value.is_object())
      all.set(name, parameters_of(value, where));
    else
      throw std::invalid_argument("Solder::parameters_of: " + where +
                                  " must be a number, a word, true, false or an object, not " +
                                  value.dump());
  }
  return all;
}

/// \brief The JSON object of a tree.
inline nlohmann::json json_of(Parameters const& parameters) {
  nlohmann::json json = nlohmann::json::object();
  for (auto const& [name, value] : parameters.entries()) {
    if (auto const* const flag = value.as_bool()) json[name] = *flag;
    if (auto const* const whole = value.as_integer()) json[name] = *whole;
    if (auto const* const real = value.as_real()) json[name] = *real;
    if (auto const* const word = value.as_word()) json[name] = *word;
    if (auto const* const tree = value.as_tree()) json[name] = json_of(*tree);
  }
  return json;
}

}  // namespace Solder
