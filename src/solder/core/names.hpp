// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Names that people misspell.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace Solder::Impl {

/// \brief How many characters must be inserted, deleted, replaced or swapped with their neighbour
/// to turn a into b (optimal string alignment).
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// \brief What counts when names are compared: small letters, no '_' or '-'.
inline std::string core_of_name(std::string_view text) {
  std::string result;
  for (char c : text)
    if (c != '_' && c != '-')
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// \brief The valid name that was probably meant; empty if none is near.
inline std::string_view nearest_name(std::string_view name,
                                     std::vector<std::string_view> const& valid) {
  std::string const wanted = core_of_name(name);
  if (wanted.size() > 64) return {};
  std::string_view best;
  std::size_t best_distance =
      wanted.size() < 2 ? 1 : std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (std::string_view candidate : valid) {
    std::size_t const distance = edit_distance(wanted, core_of_name(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty() || wanted.size() < 3) return best;
  for (std::string_view candidate : valid) {
    std::string const core = core_of_name(candidate);
    if (core.starts_with(wanted) || (core.size() >= 5 && wanted.starts_with(core)))
      return candidate;
  }
  return {};
}

}  // namespace Solder::Impl
