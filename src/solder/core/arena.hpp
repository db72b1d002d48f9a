// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <solder/core/allocate.hpp>
#include <solder/core/column_pieces.hpp>
#include <solder/core/source.hpp>
#include <solder/core/sums.hpp>

namespace Solder {

namespace Impl {

/// \brief Values that a program refers to: they stay where they are until rewind(), after which the
/// same requests are answered with the same memory.
class Keeper {
 public:
  template <class T>
  T const* keep(T const& value) {
    if (next_ == kept_.size()) kept_.push_back(std::make_unique<std::any>());
    std::any& slot = *kept_[next_++];
    if (T* const before = std::any_cast<T>(&slot))
      *before = value;
    else
      slot = value;
    return std::any_cast<T>(&slot);
  }
  void rewind() { next_ = 0; }

 private:
  std::vector<std::unique_ptr<std::any>> kept_;  ///< not a deque: moving one allocates
  std::size_t next_ = 0;
};

}  // namespace Impl

/// \brief The memory of a solver: its vectors, sums and kept scalars, handed out while its program
/// is put together.
///
/// The program is put together anew for each solve, after rewind(), by the same requests in the
/// same order: they are then answered with the same memory. Only a request that has grown (a
/// preconditioner was set up anew) allocates.
template <class Exec>
class Arena {
 public:
  /// \param league teams of every stage's league, where one kernel of so many teams runs the whole
  /// solve: 1 under Runner::team; 0: each stage takes as many as it wants
  /// \param columns right-hand sides of the solve
  /// \param column_league teams of every stage's league on GPUs, where there are several columns
  /// \param batch teams that solve a batch, each one system at a time: the same as `league`; else 1
  Arena(Exec const& exec, int league, std::int32_t columns = 1, int column_league = 1,
        int batch = 1)
      : exec_(exec),
        league_(league),
        columns_(columns),
        column_league_(column_league),
        batch_(batch) {}

  Exec const& exec() const { return exec_; }
  int league() const { return league_; }
  std::int32_t columns() const { return columns_; }
  /// \brief The league of a stage that would take `wanted` teams. On GPUs all stages have the same
  /// league where there are several columns.
  int teams(int wanted) const {
    if (league_ > 0) return league_;
    return Impl::is_host_space<Exec> || columns_ == 1 ? wanted : column_league_;
  }

  void rewind() {
    next_array_ = next_block_ = used_ = 0;
    owned_ = {};
    pieces_.clear();
    keeper_.rewind();
  }

  /// \brief From now on nothing is allocated: requests are answered with addresses that nobody may
  /// use, and add to bytes().
  void only_count() { only_counts_ = true; }
  /// \brief Bytes of all that has been asked for.
  std::size_t bytes() const {
    std::size_t size = 0;
    for (auto const* const all : {&arrays_, &blocks_})
      for (Block const& each : *all) size += each.size * sizeof(double);
    return size;
  }

  Impl::Keeper& keeper() { return keeper_; }

  /// \brief An array, zero at first; after rewind() what was there. On GPUs small ones share
  /// memory: the first allocation of a new size there, and the release of the last one, take 100 us
  /// each.
  template <class T>
  T* array(char const* label, std::int64_t size) {
    auto const doubles = static_cast<std::size_t>((size * sizeof(T) + 7) / 8);
    if (!Impl::is_host_space<Exec> && doubles <= block / 2)
      return reinterpret_cast<T*>(this->doubles(doubles));
    if (next_array_ == arrays_.size()) arrays_.push_back(allocate(label, doubles));
    auto& array = arrays_[next_array_++];
    if (array.size < doubles) array = allocate(label, doubles);
    return reinterpret_cast<T*>(array.data);
  }

  /// \brief A vector of `rows` entries in each column, zero at first.
  template <class Scalar>
  Scalar* vector(char const* label, std::int64_t rows) {
    return in_columns(array<Scalar>(label, rows * columns_), rows);
  }

  /// \brief A vector of which no product is taken in an iteration; see Owned. On hosts,
  /// where none is kept on chip, it is a vector like any other.
  template <class Scalar>
  auto own(Scalar* memory) {
    if constexpr (Impl::is_host_space<Exec>) {
      return memory;
    } else {
      if (owned_.count == OwnedVectors::most) return Owned<Scalar>{memory};
      owned_.entry_bytes = sizeof(Scalar);
      owned_.vectors[owned_.count] = memory;
      return Owned<Scalar>{memory, owned_.count++};
    }
  }
  OwnedVectors const& owned() const { return owned_; }

  /// \param teams that leave a part each
  template <std::size_t N>
  Sum<N> sum(int teams) {
    return {in_columns(doubles(N * teams * columns_), N * teams), teams * columns_};
  }
  template <std::size_t N>
  DoubleBufferedSum<N> double_buffered_sum(int teams) {
    return {in_columns(doubles(2 * N * teams * columns_), 2 * N * teams), teams * columns_};
  }
  /// \brief A kept scalar, with room behind it for others up to Kept::stride doubles.
  template <class Scalar>
  Kept<Scalar> kept() {
    constexpr std::int32_t bytes = Kept<Scalar>::stride * sizeof(double);
    return {in_columns(doubles(Kept<Scalar>::stride * std::max(columns_, batch_)), 1, bytes)};
  }
  /// \brief The vectors, sums and kept scalars since rewind(): the whole state of a solve of
  /// several columns, except its control blocks. With any number of columns and the same league,
  /// the same requests give as many pieces, of the same counts.
  std::vector<Impl::ColumnPiece> const& pieces() const { return pieces_; }

  /// \brief A few doubles, in memory that such requests share.
  double* doubles(std::size_t count) {
    std::size_t const room = (count + line - 1) / line * line;
    while (next_block_ < blocks_.size() && used_ + room > blocks_[next_block_].size) {
      ++next_block_;
      used_ = 0;
    }
    if (next_block_ == blocks_.size())
      blocks_.push_back(allocate("Solder::sums", std::max(room, block)));
    double* const values = blocks_[next_block_].data + used_;
    used_ += room;
    return values;
  }

  /// \brief The rows of vectors of this length, dealt in equal slices on hosts; for stages without
  /// a matrix.
  Rows equal_rows(std::int32_t count) {
    int const wanted = Impl::vector_teams(exec_, count);
    if constexpr (!Impl::is_host_space<Exec>) return {count, wanted, nullptr};
    auto* const bounds = array<std::int32_t>("Solder::bounds", wanted + 1);
    if (only_counts_) return {count, wanted, bounds};
    for (int t = 0; t <= wanted; ++t)
      bounds[t] = static_cast<std::int32_t>(std::int64_t(count) * t / wanted);
    return {count, wanted, bounds};
  }

  /// \brief The rows of a vector stage on these teams. The stage may change entries of vectors that
  /// are not const, in place.
  template <class Scalar, class... Vectors>
  Range<Scalar, Vectors...> entries(Rows const& rows, Vectors const&... vectors) const {
    return {rows, teams(rows.teams), {vectors...}};
  }
  /// \brief The same, to be read only.
  template <class Scalar, class... From>
  auto range(Rows const& rows, From const&... from) const {
    return entries<Scalar>(rows, as_read(from)...);
  }
  template <class Vector>
  PlacedRange<Vector> placed_range(Rows const& rows, Vector const& from) const {
    return {rows, teams(rows.teams), from};
  }

 private:
  using Doubles = Impl::DeviceArray<double, Exec>;

  template <class T>
  T* in_columns(T* data, std::int64_t count, std::int32_t bytes = sizeof(T)) {
    if (columns_ > 1) pieces_.push_back({data, count, bytes});
    return data;
  }
  static constexpr std::size_t line = 16, block = 8192;  // doubles: 128 bytes, 64 kB

  struct Block {
    Doubles memory = Impl::no_view<Doubles>();
    double* data = nullptr;
    std::size_t size = 0;  ///< doubles
  };
  Block allocate(char const* label, std::size_t size) const {
    Block block;
    block.size = size;
    if (only_counts_) {
      block.data = reinterpret_cast<double*>(std::uintptr_t(1) << 20);
      return block;
    }
    block.memory = Impl::allocate_zeros<double>(exec_, label, static_cast<std::int64_t>(size));
    block.data = block.memory.data();
    return block;
  }

  Exec exec_;
  int league_;
  std::int32_t columns_;
  int column_league_, batch_;
  std::vector<Block> arrays_, blocks_;
  bool only_counts_ = false;
  Impl::Keeper keeper_;
  OwnedVectors owned_;
  std::vector<Impl::ColumnPiece> pieces_;
  std::size_t next_array_ = 0, next_block_ = 0, used_ = 0;
};

}  // namespace Solder
