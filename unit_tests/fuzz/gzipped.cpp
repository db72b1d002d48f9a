// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A gzipped Matrix Market file. Mostly its text is mutated and compressed anew: few mutations of
// the compressed bytes pass zlib's checks.
#include <zlib.h>

#include "matrix.hpp"

namespace {

constexpr int gzip_format = 15 + 16;  // as zlib.h has it: largest window, and gzip

/// The text of one gzip member that is all of the input; nothing where it is broken, or long.
std::optional<std::string> inflated(std::string_view bytes) {
  std::string text(1 << 16, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  if (inflateInit2(&stream, gzip_format) != Z_OK) return {};
  int const code = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (code != Z_STREAM_END || stream.avail_in > 0) return {};
  text.resize(stream.total_out);
  return text;
}

std::string deflated(std::string_view text) {
  std::string bytes(text.size() + 1024, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  deflateInit2(&stream, 1, Z_DEFLATED, gzip_format, 1, Z_DEFAULT_STRATEGY);
  deflate(&stream, Z_FINISH);
  deflateEnd(&stream);
  bytes.resize(stream.total_out);
  return bytes;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  auto text = inflated(text_of(data, size));
  if (!text || seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  std::size_t const length = text->size();
  text->resize(length + 64);
  text->resize(
      LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text->data()), length, text->size()));
  std::string const bytes = deflated(*text);
  if (bytes.size() > most) return size;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const bytes = text_of(data, size);
  auto const matrix = claim_matrix<double>(folder().write("A.mtx.gz", bytes).string());
  auto const text = inflated(bytes);
  if (!text || text->starts_with("\x1f\x8b")) return 0;  // gzipped twice: read as gzipped once
  auto const plain = claim_matrix<double>(folder().write("A.mtx", *text).string());
  claim(matrix.has_value() == plain.has_value(), "a file is accepted plain where it is gzipped");
  claim(!matrix || same_bits(*matrix, *plain), "a gzipped file is the matrix of the plain one");
  return 0;
}
