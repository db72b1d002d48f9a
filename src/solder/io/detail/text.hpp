// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <locale>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <solder/core/errors.hpp>
#include <solder/core/scalar.hpp>

namespace Solder::Impl {

/// \brief Text from a user's file in a form that a message can show: quoted, with control and
/// non-ASCII bytes replaced by '?', and cut at 40 characters.
inline std::string quoted(std::string_view text) {
  std::string shown(text.substr(0, 40));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  return "'" + shown + (text.size() > 40 ? "...'" : "'");
}

inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/// \brief Reads and counts the lines of a plain or gzipped file (distinguished by content), in
/// large blocks. Memory: a block of 64 KiB, or of the longest line, which may have 1 MiB.
class LineReader {
  static constexpr char no_memory[] = "not enough memory to read it: zlib needs 1 MB";

 public:
  explicit LineReader(std::string const& path) : path_(path) {
    std::error_code error;
    auto const status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found) fail_file("there is no such file");
    if (error) fail_file("cannot open: " + error.message());
    if (std::filesystem::is_directory(status)) {
      fail_file("is a directory; a Matrix Market file (.mtx or .mtx.gz) is needed");
    }
    errno = 0;
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_)
      fail_file(errno == 0 || errno == ENOMEM
                    ? std::string(no_memory)
                    : std::string("cannot open: ") + std::strerror(errno));
    gzbuffer(file_.get(), 1 << 16);
    if (std::filesystem::is_regular_file(status) && gzdirect(file_.get())) {
      auto const size = std::filesystem::file_size(path, error);
      if (!error) plain_size_ = static_cast<std::int64_t>(size);
    }
  }

  std::string const& path() const { return path_; }
  /// \brief The number of the line that next() returned last, counted from 1.
  std::int64_t line() const { return line_; }
  /// \brief The bytes of text if known beforehand (for a plain regular file), else -1.
  std::int64_t plain_size() const { return plain_size_; }

  /// \brief Gets the next line without its line end; false at the end of the file. The text is
  /// valid until the next call.
  bool next(std::string_view& text) {
    for (;;) {
      char const* const from = buffer_.data() + begin_;
      auto const* newline = static_cast<char const*>(
          std::memchr(from, '\n', static_cast<std::size_t>(end_ - begin_)));
      if (newline != nullptr) {
        text = {from, static_cast<std::size_t>(newline - from)};
        begin_ += newline - from + 1;
        break;
      }
      if (at_end_) {
        if (!broken_.empty()) fail_file(broken_ + " (after line " + std::to_string(line_) + ")");
        if (begin_ == end_) return false;
        text = {from, static_cast<std::size_t>(end_ - begin_)};
        begin_ = end_;
        break;
      }
      fill();
    }
    ++line_;
    return true;
  }

  /// \brief Gets the next line that is neither blank nor a comment.
  bool next_data(std::string_view& text) {
    while (next(text)) {
      std::size_t start = 0;
      while (start < text.size() && is_blank(text[start])) ++start;
      if (start < text.size() && text[start] != '%') return true;
    }
    return false;
  }

  /// \brief A number of this line is not 0, but too small for its scalar type, and has become 0.
  void note_underflow(std::string_view token) const {
    if (underflow_line_ == 0) {
      underflow_line_ = line_;
      underflow_ = token;
    }
  }
  /// \brief Refuses such numbers where they matter: the largest one of the file is not much larger.
  template <class Scalar>
  void check_underflow(double largest) const {
    using Limits = std::numeric_limits<typename ScalarTraits<Scalar>::Real>;
    if (underflow_line_ == 0 || largest >= double(Limits::min()) / Limits::epsilon()) return;
    throw InputError(path_, underflow_line_,
                     "the value " + quoted(std::string_view(underflow_)) +
                         " is too small for the scalar type " + std::string(scalar_name<Scalar>()) +
                         ", and no value of the file is much " + "larger: scale them" +
                         (sizeof(typename ScalarTraits<Scalar>::Real) == sizeof(float)
                              ? ", or choose " + std::string(scalar_name<Wide<Scalar>>())
                              : ""));
  }

  [[noreturn]] void fail(std::string const& message) const {
    throw InputError(path_, line_, message);
  }
  [[noreturn]] void fail_file(std::string const& message) const {
    throw InputError(path_, 0, message);
  }

 private:
  static constexpr std::ptrdiff_t longest_line = 1 << 20;

  void fill() {
    std::ptrdiff_t const kept = end_ - begin_;
    if (kept == longest_line) {
      ++line_;
      fail("the line is longer than " + std::to_string(longest_line) +
           " characters; this is not a Matrix Market file");
    }
    std::memmove(buffer_.data(), buffer_.data() + begin_, static_cast<std::size_t>(kept));
    if (kept == std::ssize(buffer_)) buffer_.resize(2 * buffer_.size());
    auto const wanted = static_cast<unsigned>(std::ssize(buffer_) - kept);
    int const got = gzread(file_.get(), buffer_.data() + kept, wanted);
    begin_ = 0;
    end_ = kept + std::max(got, 0);
    if (got == static_cast<int>(wanted)) return;
    int code = Z_OK;
    std::string const message = gzerror(file_.get(), &code);
    if (code == Z_MEM_ERROR) {
      broken_ = no_memory;
    } else if (code == Z_ERRNO || (got < 0 && gzdirect(file_.get()))) {
      broken_ = std::string("cannot read: ") + std::strerror(errno);
    } else if (code == Z_BUF_ERROR) {
      broken_ = "broken gzip data: the file is cut short";
    } else if (got < 0) {
      broken_ = "broken gzip data: " + message;
    }
    at_end_ = got <= 0 || !broken_.empty();
  }

  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };

  std::string path_;
  std::unique_ptr<std::remove_pointer_t<gzFile>, Close> file_;
  std::vector<char> buffer_ = std::vector<char>(1 << 16);
  std::ptrdiff_t begin_ = 0, end_ = 0;
  bool at_end_ = false;
  std::string broken_;  // why reading stopped, if because of an error
  std::int64_t line_ = 0;
  std::int64_t plain_size_ = -1;
  mutable std::int64_t underflow_line_ = 0;  ///< 0: none
  mutable std::string underflow_;
};

/// \brief Takes the tokens of one line from left to right. Errors name the file and line.
class TokenReader {
 public:
  TokenReader(LineReader const& lines, std::string_view text)
      : lines_(lines), at_(text.data()), end_(text.data() + text.size()) {}

  /// \brief The next word; empty at the end of the line.
  std::string_view word() {
    skip_blanks();
    char const* const start = at_;
    while (at_ != end_ && !is_blank(*at_)) ++at_;
    return {start, static_cast<std::size_t>(at_ - start)};
  }

  std::int64_t integer(char const* what) {
    skip_blanks();
    char const* const start = at_;
    std::int64_t value = 0;
    auto const [stop, code] = std::from_chars(after_plus(), end_, value);
    if (code == std::errc{} && ends_at(stop)) [[likely]] {
      at_ = stop;
      return value;
    }
    at_ = start;
    fail_integer(what, code);
  }

  /// \brief A finite real number for a Scalar, or for a part of one; also 1.5D+03, +2 and .5. A
  /// number that is too small becomes 0, which LineReader notes, or subnormal. One that is too
  /// large is an error; so are nan and inf.
  template <class Scalar>
  typename ScalarTraits<Scalar>::Real number() {
    skip_blanks();
    char const* const start = at_;
    typename ScalarTraits<Scalar>::Real value = 0;
    auto const [stop, code] = std::from_chars(after_plus(), end_, value);
    if (code == std::errc{} && ends_at(stop) && std::isfinite(value)) [[likely]] {
      at_ = stop;
      return value;
    }
    at_ = start;
    return unusual_number<Scalar>();
  }

  void expect_end() {
    skip_blanks();
    if (at_ != end_) [[unlikely]] {
      lines_.fail("unexpected text " + quoted({at_, static_cast<std::size_t>(end_ - at_)}) +
                  " after what the line should hold");
    }
  }

 private:
  void skip_blanks() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }
  bool ends_at(char const* stop) const { return stop == end_ || is_blank(*stop); }
  char const* after_plus() const {
    bool const plus = end_ - at_ > 1 && *at_ == '+' && at_[1] != '-';
    return plus ? at_ + 1 : at_;
  }

  [[noreturn]] void fail_integer(char const* what, std::errc code) {
    auto const text = word();
    if (text.empty()) lines_.fail(std::string("the ") + what + " is missing");
    lines_.fail(std::string("the ") + what + " should be an integer, but is " + quoted(text) +
                (code == std::errc::result_out_of_range ? ", which is out of range" : ""));
  }

  template <class Scalar>
  typename ScalarTraits<Scalar>::Real unusual_number() {
    using Real = typename ScalarTraits<Scalar>::Real;
    auto const token = word();
    if (token.empty()) lines_.fail("a value is missing");
    std::string text(token.front() == '+' && token.size() > 1 && token[1] != '-' ? token.substr(1)
                                                                                 : token);
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == 'd' || c == 'D'; }, 'e');
    Real value = 0;
    auto const [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc::invalid_argument || stop != text.data() + text.size()) {
      lines_.fail("a value should be a number, but is " + quoted(token));
    }
    bool const named = text.find_first_of("nN") != std::string::npos;  // nan, inf, infinity
    if (code == std::errc::result_out_of_range) {
      std::istringstream stream(text);
      stream.imbue(std::locale::classic());
      stream >> value;
      if (stream.fail() && std::abs(value) >= std::numeric_limits<Real>::max()) {
        value = std::numeric_limits<Real>::infinity();
      }
    }
    if (named) lines_.fail("a value is " + quoted(token) + "; numbers must be finite");
    if (code == std::errc::result_out_of_range && value == 0) lines_.note_underflow(token);
    if (!std::isfinite(value)) {
      lines_.fail("the value " + quoted(token) + " is too large for the scalar type " +
                  std::string(scalar_name<Scalar>()) +
                  (std::is_same_v<Real, float>
                       ? "; " + std::string(scalar_name<Wide<Scalar>>()) + " may hold it"
                       : ""));
    }
    return value;
  }

  LineReader const& lines_;
  char const* at_;
  char const* end_;
};

}  // namespace Solder::Impl
