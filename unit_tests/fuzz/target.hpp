// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What fuzz targets share. A target takes any bytes and ends the program where a claim about them
// does not hold, or by what it throws.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "../driver/scratch.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

/// \brief Changes an input in place: the new size, at most `most`. Of libFuzzer.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

/// \brief Where inputs that have to be files lie; TMPDIR may name a folder in memory.
inline Scratch const& folder() {
  static Scratch const scratch;
  return scratch;
}

inline std::string_view text_of(std::uint8_t const* data, std::size_t size) {
  return {reinterpret_cast<char const*>(data), size};
}

inline void claim(bool holds, std::string_view what, std::string_view of = {}) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s%s%.*s\n", int(what.size()), what.data(),
               of.empty() ? "" : ": ", int(of.size()), of.data());
  std::abort();
}

inline bool is_utf8(std::string_view text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (nlohmann::json::type_error const&) {
    return false;
  }
}

/// \brief What holds of every message: it names the file or the option, then says something, in
/// characters that a terminal shows.
inline void claim_message(std::string_view message, std::string_view where) {
  auto const is_control = [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == 127; };
  claim(message.starts_with(where), "a message begins with where", message);
  claim(message.size() > where.size() + 2, "a message says what", message);
  claim(std::none_of(message.begin(), message.end(), is_control), "a message is text", message);
}
