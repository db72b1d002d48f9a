// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <zlib.h>

#include <Kokkos_Core.hpp>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <solder/core/errors.hpp>

namespace Solder::Impl {

/// \brief Whether a path names something that is already open, such as /dev/stdout, rather than a
/// file that can be replaced.
inline bool names_open_file(std::filesystem::path const& path) {
  std::string const name = std::filesystem::absolute(path).lexically_normal().native();
  return name == "/dev/stdout" || name == "/dev/stderr" || name.starts_with("/dev/fd/") ||
         name.starts_with("/proc/");
}

/// \brief The file that writing to `path` creates or replaces: `path` itself or the target of its
/// links, whether or not that exists yet. If the links form a cycle, the result is still a link.
inline std::filesystem::path written_file(std::filesystem::path const& path) {
  if (names_open_file(path)) return path;
  constexpr int most_links = 40;
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    auto const file = std::filesystem::canonical(path, error);
    return error ? path : file;  // the target of a pipe's link is not a path
  }
  auto file = path;
  for (int k = 0; k < most_links && std::filesystem::is_symlink(file, error); ++k) {
    auto const to = std::filesystem::read_symlink(file, error);
    if (error) break;
    file = file.parent_path() / to;
  }
  return file;
}

/// \brief The files of this process that are not complete yet and still have a temporary name.
class UnfinishedFiles {
 public:
  /// \brief Registers a file with this name, if open() creates it.
  template <class Open>
  static void add(std::string const& name, Open const& open) {
    std::lock_guard const lock(mutex());
    auto const [place, is_new] = names().insert(name);
    if (!open()) names().erase(place);
  }
  static void remove(std::string const& name) {
    std::lock_guard const lock(mutex());
    names().erase(name);
  }
  /// \brief For ending the process without running destructors: removes the files, and blocks
  /// threads that are about to create or finish another one.
  static void abandon() {
    mutex().lock();
    std::error_code ignored;
    for (std::string const& name : names()) std::filesystem::remove(name, ignored);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  static std::set<std::string>& names() {
    static std::set<std::string> names;
    return names;
  }
};

/// \brief Writes text to a file that appears as a whole, by renaming, when commit() is called, or
/// not at all. The file is gzipped if its name ends in .gz. Links are followed, even to a file that
/// does not exist yet. Devices and pipes are written directly. Text for a file that is already
/// open, such as /dev/stdout, is appended to it.
class WholeFile {
 public:
  static constexpr char no_memory[] = "not enough memory: 1 MB is needed";

  explicit WholeFile(std::string const& path) : path_(path), target_(written_file(path)) {
    std::error_code error;
    bool const is_open = names_open_file(path);
    bool const in_circle =
        !std::filesystem::exists(target_, error) && std::filesystem::is_symlink(target_, error);
    if (in_circle) fail("its links form a cycle");
    auto const status = std::filesystem::status(target_, error);
    if (std::filesystem::is_directory(status)) fail("it is a directory");
    bool const direct =
        is_open || (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status));
    std::string const mode =
        std::string(is_open ? "ab" : "wb") + (target_.extension() == ".gz" ? "" : "T");
    std::random_device random;
    int why = 0;
    for (int attempt = 0; attempt < 4 && file_ == nullptr; ++attempt) {
      written_ = target_;
      if (!direct) written_ += ".partial-" + std::to_string(random());
      auto const open = [&] {
        errno = 0;
        file_ = gzopen(written_.c_str(), direct ? mode.c_str() : (mode + "x").c_str());
        why = errno;
        return file_ != nullptr;
      };
      if (direct)
        open();
      else
        UnfinishedFiles::add(written_.native(), open);
      if (file_ == nullptr && why != EEXIST) break;
    }
    if (file_ == nullptr) fail(why == 0 || why == ENOMEM ? no_memory : std::strerror(why));
    temporary_ = !direct;
    gzbuffer(file_, 1 << 16);
  }
  WholeFile(WholeFile const&) = delete;
  WholeFile& operator=(WholeFile const&) = delete;
  ~WholeFile() {
    if (file_ != nullptr) gzclose(file_);
    if (!temporary_) return;
    std::error_code ignored;
    std::filesystem::remove(written_, ignored);
    UnfinishedFiles::remove(written_.native());
  }

  void text(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= (1 << 16)) flush();
  }
  void number(std::int64_t value) {
    char digits[24];
    text({digits, std::to_chars(digits, digits + sizeof digits, value).ptr});
  }
  /// \brief Writes enough digits that reading gives the same bits again: 17 for double, 9 for
  /// float.
  template <class Real>
  requires std::is_floating_point_v<Real>
  void number(Real value) {
    char digits[40];
    auto const end =
        std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general,
                      std::numeric_limits<Real>::max_digits10);
    text(std::string_view(digits,
                          end.ptr - digits));  // no braces: nvcc 13.0 mistakes them in a template
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
    if (code != Z_OK)
      fail(code == Z_ERRNO       ? std::strerror(errno)
           : code == Z_MEM_ERROR ? no_memory
                                 : "the write failed");
    if (!temporary_) return;
    std::error_code error;
    std::filesystem::rename(written_, target_, error);
    if (error) fail(error.message());
    temporary_ = false;
    UnfinishedFiles::remove(written_.native());
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
      fail(code == Z_ERRNO ? std::strerror(errno) : code == Z_MEM_ERROR ? no_memory : message);
    }
    buffer_.clear();
  }

  std::string path_;
  std::filesystem::path target_, written_;
  bool temporary_ = false;
  gzFile file_ = nullptr;
  std::string buffer_;
};

/// \brief Calls write(file), a WholeFile, and commits it.
template <class Write>
void write_whole_file(std::string const& path, Write const& write) {
  try {
    WholeFile file(path);
    write(file);
    file.commit();
  } catch (std::bad_alloc const&) {
    throw InputError(path, 0, std::string("cannot write: ") + WholeFile::no_memory);
  }
}

}  // namespace Solder::Impl
