// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "problem.hpp"

namespace Solder::Driver {

/// \brief A number of 64 bits by which people tell whether arrays are the same: FNV-1a over words
/// of 8 bytes, the last filled with zeros. No protection against somebody who wants two to be
/// alike.
class Fingerprint {
 public:
  template <class T>
  void add(std::vector<T> const& values) {
    auto const* bytes = reinterpret_cast<char const*>(values.data());
    for (std::size_t left = values.size() * sizeof(T); left > 0;) {
      std::size_t const size = left < sizeof(std::uint64_t) ? left : sizeof(std::uint64_t);
      std::uint64_t word = 0;
      std::memcpy(&word, bytes, size);
      value_ = (value_ ^ word) * prime;
      bytes += size;
      left -= size;
    }
  }
  /// \brief 16 hexadecimal digits.
  std::string text() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value_));
    return text;
  }

 private:
  static constexpr std::uint64_t prime = 0x100000001b3;
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// \brief Of a matrix: row offsets, columns and values, as they are solved. A pass over it.
template <class T>
std::string fingerprint(HostCsr<T> const& matrix) {
  Fingerprint print;
  print.add(matrix.row_offsets);
  print.add(matrix.columns);
  print.add(matrix.values);
  return print.text();
}
/// \brief Of right-hand sides.
template <class T>
std::string fingerprint(std::vector<T> const& values) {
  Fingerprint print;
  print.add(values);
  return print.text();
}

}  // namespace Solder::Driver
