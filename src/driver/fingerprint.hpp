// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"
#include "world.hpp"

namespace Solder::Driver {

/// \brief A number of 64 bits by which people tell whether arrays are the same: FNV-1a over words
/// of 8 bytes, the last filled with zeros. No protection against somebody who wants two to be
/// alike.
class Fingerprint {
 public:
  /// \brief Adds a part of an array.
  void add(void const* values, std::size_t size) {
    auto const* bytes = static_cast<char const*>(values);
    while (size > 0) {
      std::size_t const more = size < sizeof word_ - used_ ? size : sizeof word_ - used_;
      std::memcpy(reinterpret_cast<char*>(&word_) + used_, bytes, more);
      used_ += more;
      bytes += more;
      size -= more;
      if (used_ == sizeof word_) end_word();
    }
  }
  /// \brief Ends an array.
  void end() {
    if (used_ > 0) end_word();
  }
  /// \brief 16 hexadecimal digits.
  std::string text() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value_));
    return text;
  }

 private:
  static constexpr std::uint64_t prime = 0x100000001b3;
  void end_word() {
    value_ = (value_ ^ word_) * prime;
    word_ = 0;
    used_ = 0;
  }

  std::uint64_t value_ = 0xcbf29ce484222325, word_ = 0;
  std::size_t used_ = 0;  ///< bytes of word_
};

/// \brief Adds an array that all ranks have together: add_part() adds a rank's, one after another.
template <class F>
void add_in_turn(Fingerprint& print, F const& add_part) {
  static_assert(std::is_trivially_copyable_v<Fingerprint>);
  World const& all = world();
  if (!all.is_first()) all.receive(&print, sizeof print, all.rank() - 1);
  add_part();
  bool const is_last = all.rank() + 1 == all.ranks();
  if (!is_last) all.send(&print, sizeof print, all.rank() + 1);
  if (is_last) print.end();
  all.broadcast(&print, sizeof print, all.ranks() - 1);
}
template <class T>
void add_in_turn(Fingerprint& print, std::vector<T> const& values) {
  add_in_turn(print, [&] { print.add(values.data(), values.size() * sizeof(T)); });
}

/// \brief Of a matrix: row offsets, columns and values, as they are solved. A pass over it. The
/// same whatever the ranks, which call it together.
template <class T>
std::string fingerprint(HostCsr<T> const& matrix) {
  Fingerprint print;
  std::int64_t before = 0;  // nonzeros of the ranks before this one
  auto const counts = world().each_count(matrix.nonzeros());
  for (int rank = 0; rank < world().rank(); ++rank) before += counts[rank];
  add_in_turn(print, [&] {
    bool is_begin = !world().is_first();
    for (std::int64_t const offset : matrix.row_offsets) {
      std::int64_t const of_all = before + offset;
      if (!std::exchange(is_begin, false)) print.add(&of_all, sizeof of_all);
    }
  });
  add_in_turn(print, matrix.columns);
  add_in_turn(print, matrix.values);
  return print.text();
}
/// \brief Of right-hand sides.
template <class T>
std::string fingerprint(std::vector<T> const& values) {
  Fingerprint print;
  add_in_turn(print, values);
  return print.text();
}

}  // namespace Solder::Driver
