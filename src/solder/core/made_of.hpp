// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>

#include <solder/core/errors.hpp>

namespace Solder::Impl {

class MadeOf;

/// \brief How often the values of a matrix have changed. Copies of the matrix share it.
class Version {
 public:
  void change() const { ++*changes_; }

 private:
  friend class MadeOf;

  std::shared_ptr<std::uint64_t> changes_ =
      make_shared_on_host<std::uint64_t>("Solder: changes of values");
};

/// \brief The values that something was made of. By default, of no matrix.
class MadeOf {
 public:
  MadeOf() = default;
  explicit MadeOf(Version const& version) : changes_(version.changes_), seen_(*changes_) {}

  /// \brief Whether the values have changed since.
  bool is_stale() const { return changes_ != nullptr && *changes_ != seen_; }
  /// \brief Whether it was made of what has this version now.
  bool is_of(Version const& version) const { return changes_ == version.changes_ && !is_stale(); }

 private:
  std::shared_ptr<std::uint64_t const> changes_;
  std::uint64_t seen_ = 0;
};

/// \brief Of a matrix with a version(), or of any other.
template <class Matrix>
MadeOf made_of(Matrix const& A) {
  if constexpr (requires { MadeOf(A.version()); })
    return MadeOf(A.version());
  else
    return {};
}

/// \brief Whether a matrix or a preconditioner is older than what it was made of; false for those
/// that do not know.
template <class T>
bool is_stale(T const& made) {
  if constexpr (requires { made.is_stale(); })
    return made.is_stale();
  else
    return false;
}

}  // namespace Solder::Impl
