// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <solder/core/compiled.hpp>
#include <solder/core/deadline.hpp>
#include <solder/core/errors.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/report.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/duplicates.hpp>
#include <solder/matrix/transpose.hpp>
#include <solder/preconditioners/detail/fsai/adaptive.hpp>
#include <solder/preconditioners/detail/fsai/known_pattern.hpp>
#include <solder/preconditioners/detail/fsai/operator.hpp>
#include <solder/preconditioners/detail/fsai/pattern.hpp>
#include <solder/preconditioners/detail/fsai/row_limit.hpp>
#include <solder/preconditioners/detail/fsai/values.hpp>
#include <solder/preconditioners/detail/preconditioner_base.hpp>
#include <solder/preconditioners/fsai_options.hpp>

namespace Solder {

namespace Impl::fsai {

/// \brief The seconds of each phase of a set-up, summed over all its parts.
template <class Exec>
class Phases {
 public:
  explicit Phases(Exec const& exec) : exec_(exec) {
    exec_.fence("Solder::fsai: set-up begins");
    timer_.reset();
  }

  /// \brief Adds the time since the last call to phase `name`; fences, and checks the Deadline.
  void end(std::string const& name) {
    exec_.fence("Solder::fsai: end of a phase");
    auto const at = std::find_if(phases_.begin(), phases_.end(),
                                 [&](auto const& phase) { return phase.name == name; });
    (at == phases_.end() ? phases_.emplace_back(SetupReport::Phase{name, 0}) : *at).seconds +=
        timer_.seconds();
    Deadline::check();
    timer_.reset();
  }

  std::vector<SetupReport::Phase> const& all() const { return phases_; }

 private:
  Exec exec_;
  Kokkos::Timer timer_;
  std::vector<SetupReport::Phase> phases_;
};

/// \brief The layout of a chunk's rows: packed, or each with room for `pad` entries.
template <class Offset>
struct Packed {
  Offset const* offsets;

  KOKKOS_FUNCTION std::int64_t begin(std::int32_t k) const { return offsets[k]; }
  KOKKOS_FUNCTION std::int32_t length(std::int32_t k) const {
    return static_cast<std::int32_t>(offsets[k + 1] - offsets[k]);
  }
};
struct Padded {
  std::int32_t pad;
  std::int32_t const* lengths;

  KOKKOS_FUNCTION std::int64_t begin(std::int32_t k) const { return std::int64_t(k) * pad; }
  KOKKOS_FUNCTION std::int32_t length(std::int32_t k) const { return lengths[k]; }
};

/// \brief Copies the entries of `count` rows whose column is not negative, `entries` in all: row k
/// to offsets[k] - before on.
/// \param to_columns null: only the values are copied
template <class Exec, class Where, class Factor, class Offset>
SOLDER_MAKES_LAMBDAS void compress(Exec const& exec, std::int32_t count, std::int64_t entries,
                                   Where const& where, std::int32_t const* columns,
                                   Factor const* values, Offset const* offsets, std::int64_t before,
                                   std::int32_t* to_columns, Factor* to_values) {
  int const lanes = 1 << row_lane_bits<Exec>(count, entries),
            per_team = is_host_space<Exec> ? 64 : 256 / lanes;
  using Policy = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      "Solder::fsai::compress",
      Policy(exec, (count + per_team - 1) / per_team, is_host_space<Exec> ? 1 : per_team, lanes),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, per_team), [&](int in_team) {
          std::int32_t const k = team.league_rank() * per_team + in_team;
          if (k >= count) return;
          std::int64_t const to = static_cast<std::int64_t>(offsets[k]) - before;
          std::int64_t const from = where.begin(k);
          Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, where.length(k)),
                                [&](std::int32_t e, std::int32_t& at, bool last) {
                                  std::int32_t const column = columns[from + e];
                                  if (column < 0) return;
                                  if (last) {
                                    if (to_columns != nullptr) to_columns[to + at] = column;
                                    to_values[to + at] = values[from + e];
                                  }
                                  ++at;
                                });
        });
      });
}

/// \brief Collects the rows of a factor chunk by chunk, in memory for the kept entries only.
template <class Factor, class Exec, class Offset>
class Rows {
 public:
  using memory_space = typename Exec::memory_space;
  using Columns = Kokkos::View<std::int32_t*, memory_space>;
  using Values = Kokkos::View<Factor*, memory_space>;
  using Offsets = Kokkos::View<Offset*, memory_space>;

  Rows(Exec const& exec, std::int32_t rows)
      : offsets_(allocate_zero_view<Offsets>(exec, "Solder::fsai::row_offsets",
                                             std::size_t(rows) + 1)) {}

  /// \brief Appends the next `count` rows: the entries whose column is not negative. Row k has
  /// kept[k].
  /// \throws std::length_error if there are then more entries than Offset can count
  template <class Where>
  SOLDER_MAKES_LAMBDAS void append(Exec const& exec, std::int32_t count, Where const& where,
                                   std::int32_t const* columns, Factor const* values,
                                   std::int32_t const* kept) {
    std::int64_t const before = nonzeros_;
    Offset* const offsets = offsets_.data() + rows_;
    std::int64_t added = 0;
    Kokkos::parallel_scan(
        "Solder::fsai::scan_kept", Kokkos::RangePolicy<Exec>(exec, 0, count),
        KOKKOS_LAMBDA(int k, std::int64_t& at, bool last) {
          at += kept[k];
          if (last) offsets[k + 1] = static_cast<Offset>(before + at);
        },
        added);
    nonzeros_ += added;
    rows_ += count;
    if (nonzeros_ > most_nonzeros)
      throw std::length_error(
          "Solder::Fsai: the factor has more than " + std::to_string(most_nonzeros) +
          " nonzeros, too many for 32-bit row offsets; use Offset = std::int64_t, a larger "
          "tau or delta, or a smaller k");
    Block const block = block_of(exec, added);
    compress(exec, count, added, where, columns, values, offsets, before, block.columns.data(),
             block.values.data());
    blocks_.push_back(block);
  }

  /// \brief The square matrix of all rows. Leaves this object empty.
  CsrMatrix<Factor, Exec, Offset> matrix(Exec const& exec) {
    Block all = blocks_.size() == 1 ? blocks_.front() : joined(exec);
    blocks_.clear();
    return {exec, rows_, rows_, offsets_, all.columns, all.values};
  }

 private:
  struct Block {
    Columns columns;
    Values values;
  };
  /// The limit of CsrMatrix.
  static constexpr std::int64_t most_nonzeros =
      sizeof(Offset) == 4 ? std::numeric_limits<std::int32_t>::max() - (1 << 16)
                          : std::numeric_limits<std::int64_t>::max() / 2;

  static Block block_of(Exec const& exec, std::int64_t nonzeros) {
    return {allocate_view<Columns>(exec, "Solder::fsai::columns", nonzeros),
            allocate_view<Values>(exec, "Solder::fsai::values", nonzeros)};
  }

  Block joined(Exec const& exec) const {
    Block const all = block_of(exec, nonzeros_);
    std::size_t at = 0;
    for (auto const& block : blocks_) {
      std::pair const part(at, at + block.columns.extent(0));
      Impl::copy(exec, Kokkos::subview(all.columns, part), block.columns);
      Impl::copy(exec, Kokkos::subview(all.values, part), block.values);
      at = part.second;
    }
    exec.fence("Solder::fsai: the rows are joined");
    return all;
  }

  Offsets offsets_;
  std::vector<Block> blocks_;
  std::int64_t nonzeros_ = 0;
  std::int32_t rows_ = 0;
};

/// \brief The row offsets of a matrix whose rows have these lengths.
template <class Exec>
SOLDER_MAKES_LAMBDAS Kokkos::View<std::int64_t*, typename Exec::memory_space> scan_lengths(
    Exec const& exec, std::int32_t rows, std::int32_t const* lengths) {
  auto const offsets = allocate_zero_view<DeviceArray<std::int64_t, Exec>>(
      exec, "Solder::fsai::pattern_offsets", std::size_t(rows) + 1);
  std::int64_t* const to = offsets.data();
  Kokkos::parallel_scan(
      "Solder::fsai::scan_lengths", Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(int i, std::int64_t& at, bool last) {
        at += lengths[i];
        if (last) to[i + 1] = at;
      });
  return offsets;
}

/// \brief The end of the chunk that begins with row `first`: its patterns have at most `most`
/// entries, or it is a single row.
template <class Exec>
SOLDER_MAKES_LAMBDAS std::int32_t end_of_chunk(Exec const& exec, std::int64_t const* offsets,
                                               std::int32_t first, std::int32_t rows,
                                               std::int64_t most) {
  std::int32_t fitting = 0;
  Kokkos::parallel_reduce(
      "Solder::fsai::end_of_chunk", Kokkos::RangePolicy<Exec>(exec, first, rows),
      KOKKOS_LAMBDA(int i, std::int32_t& count) {
        count += i == first || offsets[i + 1] - offsets[first] <= most;
      },
      fitting);
  return first + fitting;
}

/// \brief The pattern offsets of rows first, ..., last, relative to row first.
template <class Offset, class Exec>
SOLDER_MAKES_LAMBDAS void chunk_offsets(Exec const& exec, std::int64_t const* offsets,
                                        std::int32_t first, std::int32_t last, Offset* chunk) {
  Kokkos::parallel_for(
      "Solder::fsai::chunk_offsets", Kokkos::RangePolicy<Exec>(exec, first, last + 1),
      KOKKOS_LAMBDA(int i) {
        chunk[i - first] = static_cast<Offset>(offsets[i] - offsets[first]);
      });
}

/// \brief Refuses a pattern that has filled up, as it does around rows that nearly all others
/// share: rows of more than 1000 entries, whose local systems would take more than 3e10 operations
/// together, some ten seconds of a core.
/// \throws std::invalid_argument
template <class Scalar, class Exec, class Offset>
SOLDER_MAKES_LAMBDAS void check_long_rows(Exec const& exec,
                                          FsaiPattern<Scalar, Exec, Offset> const& pattern,
                                          FsaiOptions const& options) {
  constexpr std::int32_t many = 1000;
  constexpr double most_operations = 3e10;
  std::int32_t const longest = pattern.longest_row();
  if (longest <= many) return;
  std::int32_t const* const lengths = pattern.lengths().data();
  double operations = 0;
  std::int32_t first = 0;
  Kokkos::parallel_reduce(
      "Solder::fsai::long_rows", Kokkos::RangePolicy<Exec>(exec, 0, pattern.rows()),
      KOKKOS_LAMBDA(int i, double& sum, std::int32_t& least) {
        double const m = lengths[i];
        if (m > many) sum += m * m * m / 3;  // Cholesky's
        if (lengths[i] == longest && i < least) least = i;
      },
      Kokkos::Sum<double>(operations), Kokkos::Min<std::int32_t>(first));
  if (operations <= most_operations) return;
  char takes[64];
  std::snprintf(takes, sizeof takes, "%.1e operations, and the limit is %.0e", operations,
                most_operations);
  throw std::invalid_argument(
      "Solder::Fsai: row " + counted(first) + " of the pattern has " + std::to_string(longest) +
      " entries; the dense systems of all rows with more than " + std::to_string(many) +
      " would take " + takes +
      ": take pattern: adaptive, whose rows are bounded, a larger tau than " +
      number_text(options.tau) + " or a smaller k than " + std::to_string(options.k) +
      ", or another preconditioner");
}

/// \brief G and G^H, and the report of their set-up.
template <class Factor, class Exec, class Offset>
struct Factors {
  std::optional<CsrMatrix<Factor, Exec, Offset>> G, GH;
  SetupReport setup;
  std::int64_t nonzeros_of_A = 0;
  std::optional<KnownPattern<Exec>> known;  ///< after a refresh, for the next one
};

/// \brief Computes the factors of a matrix chunk by chunk.
template <class Scalar, class Exec, class Factor, class Offset>
struct MakeFactors {
  using Matrix = CsrMatrix<Scalar, Exec, Offset>;
  using FactorMatrix = CsrMatrix<Factor, Exec, Offset>;

  FsaiOptions const& options;

  using Made = Factors<Factor, Exec, Offset>;
  using Known = std::optional<KnownPattern<Exec>>;

  /// \param before the factors that a refresh replaces, or null. What they know is taken over
  Made operator()(Exec const& exec, Matrix const& matrix, Made* before) const {
    SetupReport setup;
    Phases<Exec> phases(exec);
    if constexpr (may_know)
      if (before != nullptr && before->known) {
        Known known = std::exchange(before->known, std::nullopt);
        if (known->is_of(exec, matrix, options.tau))
          if (auto made = made_of_known(exec, matrix, before, std::move(known), phases))
            return *made;
      }
    Matrix const A = sum_duplicates(exec, matrix);
    Rows<Factor, Exec, Offset> rows(exec, A.rows());
    if (options.adaptive) {
      add_adaptive_rows(exec, A, rows, setup, phases);
    } else {
      FsaiPattern<Scalar, Exec, Offset> const pattern(exec, A, options.tau, options.k);
      check_long_rows(exec, pattern, options);
      if constexpr (may_know)
        if (may_come_again(matrix, A, before))
          if (auto made = made_of_known(exec, A, nullptr, known_or_none(exec, A, pattern), phases))
            return *made;
      add_static_rows(exec, A, pattern, rows, setup, phases);
    }
    FactorMatrix const G = rows.matrix(exec);
    phases.end("compress");
    return transposed(exec, A, G, setup, phases, std::nullopt);
  }

 private:
  static constexpr bool may_know = std::is_same_v<Offset, std::int32_t>;

  /// \brief Whether the pattern of A is worth being known for the next set-up.
  /// \param A the matrix without duplicates. What is known of a copy would not be found again
  bool may_come_again(Matrix const& matrix, Matrix const& A, Made const* before) const {
    return before != nullptr && options.max_row_entries == 0 &&
           A.column_indices().data() == matrix.column_indices().data() &&
           before->nonzeros_of_A == A.nonzeros() && before->G->rows() == A.rows();
  }
  /// \brief What is to be known of a pattern; none if there is no memory for it, either.
  Known known_or_none(Exec const& exec, Matrix const& A,
                      FsaiPattern<Scalar, Exec, Offset> const& pattern) const {
    try {
      return known_pattern(exec, A, options.tau, pattern);
    } catch (OutOfMemory const&) {
      return std::nullopt;
    }
  }

  /// \brief The factors by a known pattern: the same as by chunks, bit by bit. If other entries are
  /// dropped than the last time, they are collected and transposed anew. Nothing if the pattern is
  /// not known, or if there is no memory for all rows at once.
  /// \param before those of the last time; null: the pattern is new
  std::optional<Made> made_of_known(Exec const& exec, Matrix const& A, Made const* before,
                                    Known&& known, Phases<Exec>& phases) const {
    if (!known) return std::nullopt;
    try {
      return of_known(exec, A, before, std::move(known), phases);
    } catch (OutOfMemory const&) {
      return std::nullopt;
    }
  }
  Made of_known(Exec const& exec, Matrix const& A, Made const* before, Known&& known,
                Phases<Exec>& phases) const {
    phases.end("pattern");
    SetupReport setup;
    std::int32_t const n = A.rows();
    FsaiValues<Scalar, Exec, Factor, Offset> compute_values(exec, A, known->looks_up);
    auto const values =
        allocate<Factor>(exec, "Solder::fsai::chunk_values", known->columns.extent(0));
    auto const kept = allocate<std::int32_t>(exec, "Solder::fsai::kept", n);
    compute_values.compute(exec, n, {options.delta, options.energy_limit}, known->places_in(A),
                           known->by_size, known->offsets.data(), known->columns.data(),
                           values.data(), kept.data());
    auto const counts = compute_values.counts(exec);
    add_repairs(setup, counts.repaired, counts.first_repaired);
    phases.end("values");
    Packed<Offset> const where{known->offsets.data()};
    if (before == nullptr || counts.changed != 0) {
      Rows<Factor, Exec, Offset> rows(exec, n);
      rows.append(exec, n, where, known->columns.data(), values.data(), kept.data());
      FactorMatrix const G = rows.matrix(exec);
      phases.end("compress");
      return transposed(exec, A, G, setup, phases, std::move(known));
    }
    FactorMatrix const &old = *before->G, &old_GH = *before->GH;
    auto const of_G = allocate<Factor>(exec, "Solder::fsai::values", old.nonzeros());
    compress(exec, n, old.nonzeros(), where, known->columns.data(), values.data(),
             old.row_offsets().data(), 0, static_cast<std::int32_t*>(nullptr), of_G.data());
    FactorMatrix const G(exec, n, n, old.row_offsets(), old.column_indices(),
                         typename FactorMatrix::Values(of_G), {old.longest_row()});
    phases.end("compress");
    FactorMatrix const GH =
        adjoint(exec, G,
                AdjointPattern<Exec>{old_GH.row_offsets(), old_GH.column_indices(),
                                     known->entries_of_GH, old_GH.longest_row()});
    phases.end("transpose");
    return finished(A, G, GH, setup, phases, std::move(known));
  }

  Made transposed(Exec const& exec, Matrix const& A, FactorMatrix const& G, SetupReport& setup,
                  Phases<Exec>& phases, Known&& known) const {
    Offset* entries = nullptr;
    if constexpr (may_know)
      if (known) {
        known->entries_of_GH =
            allocate<std::int32_t>(exec, "Solder::fsai::entries_of_GH", G.nonzeros());
        entries = known->entries_of_GH.data();
      }
    FactorMatrix const GH = conjugate_transpose(exec, G, false, entries);
    phases.end("transpose");
    return finished(A, G, GH, setup, phases, std::move(known));
  }

  static Made finished(Matrix const& A, FactorMatrix const& G, FactorMatrix const& GH,
                       SetupReport& setup, Phases<Exec> const& phases, Known&& known) {
    setup.phases = phases.all();
    setup.nonzeros = G.nonzeros();
    setup.density = A.nonzeros() == 0 ? 0 : double(G.nonzeros()) / double(A.nonzeros());
    return {G, GH, setup, A.nonzeros(), std::move(known)};
  }

  /// Pattern entries of a chunk: as many as A has, or for a small A enough to keep a GPU busy.
  static std::int64_t most_of_chunk(Matrix const& A) {
    return std::clamp<std::int64_t>(A.nonzeros(), 1 << 16,
                                    std::numeric_limits<std::int32_t>::max() / 2);
  }

  template <class T>
  static DeviceArray<T, Exec> allocate(Exec const& exec, char const* label, std::int64_t size) {
    return allocate_view<DeviceArray<T, Exec>>(exec, label, size);
  }

  static void add_repairs(SetupReport& setup, std::int64_t count, std::int32_t first) {
    if (count == 0) return;
    setup.repaired_rows += count;
    setup.first_repaired_row =
        setup.first_repaired_row < 0 ? first : std::min(setup.first_repaired_row, first);
  }

  template <class Where>
  void limit_rows(Exec const& exec, Matrix const& A, std::int32_t rows, Where const& where,
                  std::int32_t* columns, Factor* values, std::int32_t* kept,
                  SetupReport& setup) const {
    Repairs const repairs =
        fsai::limit_rows(exec, A, options.max_row_entries, rows, where, columns, values, kept);
    add_repairs(setup, repairs.count, repairs.first);
  }

  void add_static_rows(Exec const& exec, Matrix const& A,
                       FsaiPattern<Scalar, Exec, Offset> const& pattern,
                       Rows<Factor, Exec, Offset>& rows, SetupReport& setup,
                       Phases<Exec>& phases) const {
    std::int32_t const n = A.rows();
    auto const offsets = scan_lengths(exec, n, pattern.lengths().data());
    phases.end("pattern");
    FsaiValues<Scalar, Exec, Factor, Offset> compute_values(exec, A);
    phases.end("values");
    std::int64_t const most =
        std::min(std::max<std::int64_t>(most_of_chunk(A), pattern.longest_row()), pattern.total());
    auto const columns = allocate<std::int32_t>(exec, "Solder::fsai::chunk_columns", most);
    auto const values = allocate<Factor>(exec, "Solder::fsai::chunk_values", most);
    for (std::int32_t first = 0, last = 0; first < n; first = last) {
      last = end_of_chunk(exec, offsets.data(), first, n, most);
      auto const of_chunk = allocate<Offset>(exec, "Solder::fsai::chunk_offsets", last - first + 1);
      auto const kept = allocate<std::int32_t>(exec, "Solder::fsai::kept", last - first);
      chunk_offsets(exec, offsets.data(), first, last, of_chunk.data());
      pattern.fill(exec, first, last, of_chunk.data(), columns.data());
      phases.end("pattern");
      compute_values.compute(exec, first, last, {options.delta, options.energy_limit},
                             of_chunk.data(), columns.data(), values.data(), kept.data());
      limit_rows(exec, A, last - first, Packed<Offset>{of_chunk.data()}, columns.data(),
                 values.data(), kept.data(), setup);
      phases.end("values");
      rows.append(exec, last - first, Packed<Offset>{of_chunk.data()}, columns.data(),
                  values.data(), kept.data());
      phases.end("compress");
    }
    auto const counts = compute_values.counts(exec);
    add_repairs(setup, counts.repaired, counts.first_repaired);
  }

  void add_adaptive_rows(Exec const& exec, Matrix const& A, Rows<Factor, Exec, Offset>& rows,
                         SetupReport& setup, Phases<Exec>& phases) const {
    std::int32_t const n = A.rows();
    FsaiAdaptive<Scalar, Exec, Factor, Offset> adaptive(
        exec, A,
        {options.steps, options.entries_per_step, options.improvement, options.delta,
         options.energy_limit});
    std::int32_t const most = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(most_of_chunk(A) / adaptive.pad(), 1, std::max(n, 1)));
    std::int64_t const room = std::int64_t(most) * adaptive.pad();
    auto const columns = allocate<std::int32_t>(exec, "Solder::fsai::chunk_columns", room);
    auto const values = allocate<Factor>(exec, "Solder::fsai::chunk_values", room);
    auto const kept = allocate<std::int32_t>(exec, "Solder::fsai::kept", most);
    for (std::int32_t first = 0; first < n; first += std::min(most, n - first)) {
      std::int32_t const count = std::min(most, n - first);
      auto const repairs =
          adaptive.compute(exec, first, first + count, columns.data(), values.data(), kept.data());
      add_repairs(setup, repairs.count, repairs.first);
      limit_rows(exec, A, count, Padded{adaptive.pad(), kept.data()}, columns.data(), values.data(),
                 kept.data(), setup);
      phases.end("pattern and values");
      rows.append(exec, count, Padded{adaptive.pad(), kept.data()}, columns.data(), values.data(),
                  kept.data());
      phases.end("compress");
    }
  }
};

/// \brief make_factors(), compiled separately in src/compiled.
template <class Factor, class Scalar, class Exec, class Offset>
Factors<Factor, Exec, Offset> compiled_factors(Exec const& exec,
                                               CsrMatrix<Scalar, Exec, Offset> const& A,
                                               FsaiOptions const& options,
                                               Factors<Factor, Exec, Offset>* before);

template <class Factor, class Scalar, class Exec, class Offset>
Factors<Factor, Exec, Offset> make_factors(Exec const& exec,
                                           CsrMatrix<Scalar, Exec, Offset> const& A,
                                           FsaiOptions const& options,
                                           Factors<Factor, Exec, Offset>* before) {
  if constexpr (is_compiled<Exec, Scalar> && std::is_same_v<Offset, std::int32_t>)
    return compiled_factors<Factor>(exec, A, options, before);
  else
    return MakeFactors<Scalar, Exec, Factor, Offset>{options}(exec, A, before);
}

}  // namespace Impl::fsai

/// \brief Factorised sparse approximate inverse of a Hermitian positive definite matrix (paper 2):
/// G, lower triangular, with G^H G close to A^-1 and 1 on the diagonal of G A G^H.
///
/// G is computed on the device. The pattern of row i of G is that of the lower triangle of
/// (Atilde)^k, where Atilde is A without its entries |a_ij| <= tau sqrt(|a_ii a_jj|); see
/// FsaiOptions. The values minimise the Kaporin number over that pattern and read only the lower
/// triangle of A. Small values are dropped afterwards, and of a row with more than max_row_entries
/// the smallest. A row whose local matrix is not positive
/// definite is replaced by a diagonal one and reported in setup().repaired_rows. The columns of a
/// row of A may be in any order. Duplicates, entries of the same row and column, count as their
/// sum, as they do in products; if A has any, a copy without them is used (see sum_duplicates).
///
/// Rows are computed in chunks, so the memory in use never exceeds 3 times the bytes of A and G. In
/// addition, a refresh holds the old G and G^H, and a copy without duplicates is as large as A (3
/// times as large while it is made from unsorted rows).
///
/// Call refresh after A has changed. It gives the same G as a new set-up, bit by bit. The first
/// refresh is a set-up that remembers a static pattern, and where the entries of the local matrices
/// are in A. The next ones compute values alone if A has the same entries, and the same ones are
/// strong: on an H200 in 0.1 to 0.35 of the set-up for patterns of up to 32 entries a row, and in
/// 0.7 for longer ones. If other small values are dropped than the last time, G is collected and
/// transposed anew. After the second refresh nothing is allocated, as long as the same entries are
/// strong and the same ones are dropped.
///
/// What is remembered takes up to four times the memory of A, and half of that of G. Nothing is
/// remembered with pattern: adaptive, max_row_entries, 64-bit offsets, duplicates, unsorted rows of
/// more than 512 entries, a pattern of more than three times the entries of A, or where there is no
/// memory for it. Then every refresh is a whole set-up.
///
/// \tparam Factor the scalar that G is stored in: Scalar or its single-precision counterpart. G is
/// computed in Scalar
template <class Scalar, class Exec, class Factor = Scalar, class Offset = std::int32_t>
class Fsai : public Impl::PreconditionerBase<Fsai<Scalar, Exec, Factor, Offset>, Exec, Scalar> {
 public:
  /// \brief Type of A.
  using Matrix = CsrMatrix<Scalar, Exec, Offset>;
  /// \brief Type of G and G^H.
  using FactorMatrix = CsrMatrix<Factor, Exec, Offset>;

  /// \brief Computes G for A.
  /// \throws std::invalid_argument if an option is out of range, A is not square, or the pattern
  /// has filled up: long rows whose local systems would take 3e10 operations and more
  /// \throws std::length_error if Offset cannot count the nonzeros of G
  Fsai(Exec const& exec, Matrix const& A, FsaiOptions const& options = {}) : options_(options) {
    check(options, "Solder::Fsai");
    refresh(exec, A);
  }

  /// \brief Sets up again, for new values or for an entirely different matrix. If it throws, this
  /// object, its copies and the solvers that hold one keep the old factor and its report.
  /// \throws as the constructor does, and OutOfMemory
  void refresh(Exec const& exec, Matrix const& matrix) {
    if (matrix.rows() != matrix.columns())
      throw std::invalid_argument("Solder::Fsai: a square matrix is needed, not " +
                                  std::to_string(matrix.rows()) + " x " +
                                  std::to_string(matrix.columns()));
    Impl::with_memory_for("Solder::Fsai", matrix.rows(), matrix.nonzeros(), [&] {
      bool const is_first = state_ == nullptr;
      if (is_first) state_ = std::make_shared<State>();
      Impl::KeptArrays::Use const use(this->kept_arrays(), exec);
      *state_ = Impl::fsai::make_factors<Factor>(exec, matrix, options_,
                                                 is_first ? nullptr : state_.get());
    });
    this->set_made_of(matrix);
  }

  /// \brief Rows of A.
  std::int32_t rows() const { return G().rows(); }
  /// \brief G, lower triangular.
  FactorMatrix const& G() const { return *state_->G; }
  /// \brief G^H. The columns of each row ascend in both G and G^H.
  FactorMatrix const& GH() const { return *state_->GH; }
  /// \brief What the set-up cost and gave.
  SetupReport const& setup() const { return state_->setup; }
  /// \brief Words of sizeof(Of) that one application moves, not counting its operand and result:
  /// both factors, and 3 a row.
  template <class Of>
  double words(std::int32_t rows) const {
    return (G().words() + GH().words()) * sizeof(Factor) / sizeof(Of) + 3.0 * rows;
  }
  /// \brief The options it was made with.
  FsaiOptions const& options() const { return options_; }

  /// \brief What solvers embed in their programs, by value. Valid until the next refresh, while
  /// this object lives.
  FsaiOperator<Scalar, Factor, Offset> open(Arena<Exec>& arena) const {
    return {arena, G().device_operator(), GH().device_operator()};
  }
  /// \brief The number of GPU threads at which each thread holds one row of G; see CsrOperator.
  std::int64_t threads_to_hold() const { return G().device_operator().threads_to_hold(); }

 private:
  using State = Impl::fsai::Factors<Factor, Exec, Offset>;

  FsaiOptions options_;
  std::shared_ptr<State> state_;  // shared by copies: refresh affects all
};

template <class Scalar, class Exec, class Offset>
Fsai(Exec const&, CsrMatrix<Scalar, Exec, Offset> const&, FsaiOptions const& = {})
    -> Fsai<Scalar, Exec, Scalar, Offset>;

}  // namespace Solder
