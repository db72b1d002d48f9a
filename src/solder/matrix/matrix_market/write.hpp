// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <zlib.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <solder/core/errors.hpp>
#include <solder/core/scalar.hpp>
#include <solder/matrix/host_csr.hpp>

namespace Solder {

namespace Impl {

/// \brief Writes text to a file that appears whole, by renaming, when commit() is called, or not at
/// all; gzipped where the name ends in .gz. A link is followed; a device or pipe is written
/// directly.
class WholeFile {
 public:
  explicit WholeFile(std::string const& path) : path_(path), target_(path) {
    std::error_code error;
    if (auto const real_path = std::filesystem::canonical(path, error); !error) target_ = real_path;
    auto const status = std::filesystem::status(target_, error);
    if (std::filesystem::is_directory(status)) fail("it is a directory");
    bool const direct =
        std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
    std::string const mode = target_.extension() == ".gz" ? "wb" : "wbT";
    std::random_device random;
    for (int attempt = 0; attempt < 4 && file_ == nullptr; ++attempt) {
      written_ = target_;
      if (!direct) written_ += ".partial-" + std::to_string(random());
      errno = 0;
      file_ = gzopen(written_.c_str(), direct ? mode.c_str() : (mode + "x").c_str());
      if (file_ == nullptr && errno != EEXIST) break;
    }
    if (file_ == nullptr) fail(std::strerror(errno ? errno : ENOMEM));
    temporary_ = !direct;
    gzbuffer(file_, 1 << 18);
  }
  WholeFile(WholeFile const&) = delete;
  WholeFile& operator=(WholeFile const&) = delete;
  ~WholeFile() {
    if (file_ != nullptr) gzclose(file_);
    std::error_code ignored;
    if (temporary_) std::filesystem::remove(written_, ignored);
  }

  void text(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= (1 << 18)) flush();
  }
  void number(std::int64_t value) {
    char digits[24];
    text({digits, std::to_chars(digits, digits + sizeof digits, value).ptr});
  }
  /// \brief With the digits that make reading give the same bits again: 17 for double, 9 for float.
  template <class Real>
  requires std::is_floating_point_v<Real>
  void number(Real value) {
    char digits[40];
    auto const end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general,
                                   std::numeric_limits<Real>::max_digits10);
    text(std::string_view(digits, end.ptr - digits));  // no braces: nvcc 13.0 mistakes them in a template
  }
  template <class RealType>
  void number(Kokkos::complex<RealType> value) {
    number(value.real());
    text(" ");
    number(value.imag());
  }

  void commit() {
    flush();
    int const code = gzclose(file_);
    file_ = nullptr;
    if (code != Z_OK) fail(code == Z_ERRNO ? std::strerror(errno) : "the write failed");
    if (!temporary_) return;
    std::error_code error;
    std::filesystem::rename(written_, target_, error);
    if (error) fail(error.message());
    temporary_ = false;
  }

 private:
  [[noreturn]] void fail(std::string const& why) const {
    throw InputError(path_, 0, "cannot write: " + why);
  }

  void flush() {
    if (buffer_.empty()) return;
    if (gzwrite(file_, buffer_.data(), static_cast<unsigned>(buffer_.size())) == 0) {
      int code = Z_OK;
      std::string const message = gzerror(file_, &code);
      fail(code == Z_ERRNO ? std::strerror(errno) : message);
    }
    buffer_.clear();
  }

  std::string path_;
  std::filesystem::path target_, written_;
  bool temporary_ = false;
  gzFile file_ = nullptr;
  std::string buffer_;
};

template <class Scalar>
constexpr std::string_view market_field() {
  return ScalarTraits<Scalar>::is_complex ? "complex" : "real";
}

}  // namespace Impl

/// \brief Writes a matrix as Matrix Market coordinate general, real or complex after Scalar, so
/// that reading it gives the same bits; gzipped where path ends in .gz. The file appears whole or
/// not at all. A value that is not finite is written as nan or inf, which no reader of ours
/// accepts. InputError where path cannot be written.
template <class Scalar>
void write_matrix_market(std::string const& path, HostCsr<Scalar> const& matrix) {
  Impl::WholeFile file(path);
  file.text("%%MatrixMarket matrix coordinate ");
  file.text(Impl::market_field<Scalar>());
  file.text(" general\n");
  for (std::int64_t const size :
       {std::int64_t{matrix.rows}, std::int64_t{matrix.columns_count}, matrix.nonzeros()}) {
    file.number(size);
    file.text(" ");
  }
  file.text("\n");
  for (std::int32_t row = 0; row < matrix.rows; ++row) {
    for (auto k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
      file.number(std::int64_t{row} + 1);
      file.text(" ");
      file.number(std::int64_t{matrix.columns[k]} + 1);
      file.text(" ");
      file.number(matrix.values[k]);
      file.text("\n");
    }
  }
  file.commit();
}

/// \brief Writes a vector as Matrix Market array, n x 1; otherwise as write_matrix_market.
template <class Scalar>
void write_matrix_market_vector(std::string const& path, std::vector<Scalar> const& vector) {
  Impl::WholeFile file(path);
  file.text("%%MatrixMarket matrix array ");
  file.text(Impl::market_field<Scalar>());
  file.text(" general\n");
  file.number(static_cast<std::int64_t>(vector.size()));
  file.text(" 1\n");
  for (Scalar const& value : vector) {
    file.number(value);
    file.text("\n");
  }
  file.commit();
}

}  // namespace Solder
