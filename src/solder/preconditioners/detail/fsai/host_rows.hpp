// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <solder/core/first_failure.hpp>
#include <solder/preconditioners/detail/fsai/local_rows.hpp>

namespace Solder::Impl::fsai {

/// \brief A row of an FSAI, computed by one CPU thread. The lower triangle of the local matrix is
/// stored row by row, each row from its first entry on: L is zero to the left of it. L overwrites
/// it. Memory grows to the needs of the largest row.
template <class Scalar>
class HostRow {
 public:
  template <class Factor, class Offset>
  void compute(Chunk<Scalar, Factor, Offset> const& chunk, std::int32_t k) {
    Offset const begin = chunk.offsets[k];
    std::int32_t const m = chunk.length(k), last = m - 1;
    Factor* const values = chunk.values + begin;
    columns_.resize(m);
    for (std::int32_t c = 0; c < m; ++c) columns_[c] = chunk.column(begin + c);
    first_.resize(m);
    start_.resize(m + 1);
    if (chunk.known.places != nullptr && m <= most_with_places)
      gather(chunk.known, k);
    else
      gather(chunk.lower);
    Real const diagonal = real_of(row(last)[last]);
    if (!factorize(m) || !filter(chunk, m)) {
      for (std::int32_t c = 0; c < m; ++c) chunk.mark(begin + c, c < last);
      values[last] = repaired_entry<Factor>(diagonal);
      chunk.kept[k] = 1;
      chunk.count_repaired(k);
      return;
    }
    std::int32_t kept = 0;
    for (std::int32_t c = 0; c < m; ++c) {
      values[c] = stored<Factor>(g_[c]);
      chunk.mark(begin + c, dropped_[c]);
      kept += !dropped_[c];
    }
    chunk.kept[k] = kept;
  }

 private:
  using Real = RealOf<Scalar>;
  struct Entry {
    std::int32_t row, column;
    Scalar value;
  };

  /// \brief Row r; entry [c] is column c.
  Scalar* row(std::int32_t r) { return values_.data() + start_[r] - first_[r]; }

  std::int32_t length() const { return static_cast<std::int32_t>(columns_.size()); }

  template <class Offset>
  void gather(LocalPlaces<Scalar, Offset> const& known, std::int32_t k) {
    std::int32_t const m = length();
    values_.resize(number_of_places(m));
    start_[0] = 0;
    for (std::int32_t r = 0; r < m; ++r) {
      auto const from = known.row(k, m, r, columns_[r]);
      std::int32_t c = 0;
      while (c < r && !from.has(c)) ++c;
      first_[r] = c;
      start_[r + 1] = start_[r] + (r + 1 - c);
      for (Scalar* const to = row(r); c <= r; ++c) to[c] = from[c];
    }
  }
  template <class Offset>
  void gather(Lower<Scalar, Offset> const& lower) {
    std::int32_t const m = length();
    entries_.clear();
    for (std::int32_t r = 0; r < m; ++r) first_[r] = r;
    for_each_local_entry(lower, columns_.data(), m, 0, 1, 0,
                         [&](std::int32_t r, std::int32_t c, Offset k) {
                           first_[r] = std::min(first_[r], c);
                           entries_.push_back({r, c, lower.values[k]});
                         });
    start_[0] = 0;
    for (std::int32_t r = 0; r < m; ++r) start_[r + 1] = start_[r] + (r + 1 - first_[r]);
    values_.assign(start_[m], Scalar{});
    for (auto const& entry : entries_) row(entry.row)[entry.column] = entry.value;
  }

  /// \brief sum_k a_k conj(b_k), begin <= k < end, in four sums so that the loop can be vectorised.
  static Scalar dot(Scalar const* a, Scalar const* b, std::int32_t begin, std::int32_t end) {
    Scalar sums[4]{};
    std::int32_t k = begin;
    for (; k + 4 <= end; k += 4)
      for (int u = 0; u < 4; ++u) sums[u] += a[k + u] * conjugated(b[k + u]);
    for (; k < end; ++k) sums[0] += a[k] * conjugated(b[k]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  /// \brief A = L L^H in place, and 1 / l_jj in inverse_; false if a pivot is not positive or not
  /// finite.
  bool factorize(std::int32_t m) {
    inverse_.resize(m);
    for (std::int32_t r = 0; r < m; ++r) {
      Scalar* const l = row(r);
      for (std::int32_t c = first_[r]; c < r; ++c)
        l[c] = (l[c] - dot(l, row(c), std::max(first_[r], first_[c]), c)) * inverse_[c];
      Real const pivot = real_of(l[r]) - real_of(dot(l, l, first_[r], r));
      if (!(pivot > 0) || !std::isfinite(pivot)) return false;
      l[r] = std::sqrt(pivot);
      inverse_[r] = 1 / std::sqrt(pivot);
    }
    return true;
  }

  /// \brief Solves g L = e for the last unit row vector e, from the last row of L to the first.
  void solve_last_row(std::int32_t m) {
    g_.assign(m, Scalar{});
    g_[m - 1] = -1;
    for (std::int32_t r = m - 1; r >= 0; --r) {
      g_[r] *= -inverse_[r];
      Scalar const* const l = row(r);
      for (std::int32_t c = first_[r]; c < r; ++c) g_[c] += g_[r] * l[c];
    }
  }

  /// \brief Computes g, filters and scales it; false if it is not finite.
  template <class Factor, class Offset>
  bool filter(Chunk<Scalar, Factor, Offset> const& chunk, std::int32_t m) {
    solve_last_row(m);
    double norm_squared = 0;
    for (auto const& g : g_) norm_squared += abs_squared(g);
    RowFilter filter(chunk.filtration);
    double energy = 0;
    do {
      dropped_.assign(m, false);
      eps_l_.assign(m, Scalar{});
      for (std::int32_t r = 0; r < m - 1; ++r) {
        dropped_[r] = filter.drops(abs_squared(g_[r]), norm_squared);
        if (!dropped_[r]) continue;
        Scalar const* const l = row(r);
        for (std::int32_t c = first_[r]; c <= r; ++c) eps_l_[c] += g_[r] * l[c];
      }
      energy = 0;
      for (auto const& e : eps_l_) energy += abs_squared(e);
    } while (filter.eases(energy));
    Real const scale = static_cast<Real>(1 / std::sqrt(1 + energy));
    for (auto& g : g_) {
      g *= scale;
      if (!finite(stored<Factor>(g))) return false;
    }
    return true;
  }

  std::vector<std::int32_t> columns_, first_;
  std::vector<std::size_t> start_;
  std::vector<Entry> entries_;
  std::vector<Scalar> values_, g_, eps_l_;
  std::vector<Real> inverse_;
  std::vector<bool> dropped_;
};

/// \brief Rows [0, count) of a chunk; a thread takes several neighbouring rows at a time.
template <class Scalar, class Factor, class Offset>
struct HostRows {
  static constexpr std::int32_t neighbours = 64;
  Chunk<Scalar, Factor, Offset> chunk;
  std::int32_t count;
  FirstFailure* failure = nullptr;

  void operator()(int block) const {
    failure->guard([&] {
      HostRow<Scalar> row;
      std::int32_t const end = std::min(count - block * neighbours, neighbours);
      for (std::int32_t k = 0; k < end; ++k) row.compute(chunk, block * neighbours + k);
    });
  }

  /// \brief Waits for the rows.
  template <class Exec>
  void launch(Exec const& exec) {
    FirstFailure first;
    failure = &first;
    using Policy =
        Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Dynamic>, Kokkos::IndexType<int>>;
    Kokkos::parallel_for("Solder::fsai::rows",
                         Policy(exec, 0, (count + neighbours - 1) / neighbours).set_chunk_size(1),
                         *this);
    exec.fence("Solder::fsai: the rows are computed");
    first.rethrow();
  }
};

}  // namespace Solder::Impl::fsai
