// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include <solder/core/allocate.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/offsets.hpp>
#include <solder/preconditioners/detail/fsai/local_rows.hpp>
#include <solder/preconditioners/detail/fsai/pattern.hpp>
#include <solder/preconditioners/detail/fsai/values.hpp>

namespace Solder::Impl::fsai {

/// \brief The number of places of each row of a pattern.
struct PlacesOfRows {
  std::int32_t const* lengths;

  KOKKOS_FUNCTION std::int32_t operator()(std::int32_t i) const {
    return number_of_places(lengths[i]);
  }
};

/// \brief The static pattern of a matrix, and what else a set-up for new values need not find again
/// if the pattern would be the same: if the matrix has the same entries, and the same ones of them
/// are strong.
template <class Exec>
struct KnownPattern {
  template <class T>
  using Array = DeviceArray<T, Exec>;

  Array<std::int32_t> offsets_of_A, marks_of_A;  ///< see FsaiFilterKernel
  Array<std::int32_t> offsets, columns;          ///< of the pattern; see Chunk
  RowsBySize<Exec> by_size;                      ///< for GPUs
  Array<std::int32_t> starts;                    ///< see LocalPlaces
  Array<std::uint8_t> places;                    ///< there may be none
  Array<std::int32_t> entries_of_GH;             ///< which entry of G each is
  Array<std::int32_t> differs;                   ///< room for what is_of() finds
  bool looks_up = true;                          ///< some entries have no places

  bool has_places() const { return places.extent(0) > 0; }
  template <class Scalar>
  LocalPlaces<Scalar, std::int32_t> places_in(CsrMatrix<Scalar, Exec> const& A) const {
    if (!has_places()) return {};
    return {A.row_offsets().data(), A.values().data(), starts.data(), places.data()};
  }

  /// \brief Whether A has the pattern that this is of, for the same tau. Waits.
  template <class Scalar>
  bool is_of(Exec const& exec, CsrMatrix<Scalar, Exec> const& A, double tau) const {
    if (A.rows() + std::size_t(1) != offsets_of_A.extent(0) ||
        A.nonzeros() != std::int64_t(marks_of_A.extent(0)))
      return false;
    clear(exec, differs);
    FsaiFilterOf const filter(exec, A, tau);
    filter.template run<FsaiFilter::compare>("Solder::fsai::compare", offsets_of_A.data(),
                                             marks_of_A.data(), differs.data());
    std::int32_t found = 0;
    copy(exec, Kokkos::View<std::int32_t*, Kokkos::HostSpace>(&found, 1), differs);
    exec.fence("Solder::fsai: the patterns are compared");
    return found == 0;
  }
};

/// \brief Finds the places of the entries of local matrices, of a pattern with no dropped entries.
/// A thread a row.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS void find_places(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                      KnownPattern<Exec> const& known) {
  Lower<Scalar, std::int32_t> const all{A.row_offsets().data(), A.column_indices().data(), nullptr};
  std::int32_t const *const offsets = known.offsets.data(), *const columns = known.columns.data(),
                            *const starts = known.starts.data();
  std::uint8_t* const places = known.places.data();
  Kokkos::parallel_for(
      "Solder::fsai::places", Kokkos::RangePolicy<Exec>(exec, 0, A.rows()), KOKKOS_LAMBDA(int i) {
        std::int32_t const* const column = columns + offsets[i];
        std::int32_t const m = offsets[i + 1] - offsets[i], number = number_of_places(m);
        if (number == 0) return;
        std::uint8_t* const place = places + starts[i];
        for (std::int32_t e = 0; e < number; ++e) place[e] = no_place;
        for_each_local_entry(
            all, column, m, 0, 1, 0, [&](std::int32_t r, std::int32_t c, std::int32_t k) {
              place[in_triangle(m, r, c)] = static_cast<std::uint8_t>(k - all.offsets[column[r]]);
            });
      });
}

/// \brief What is to be known of the pattern of A. Null if it has too many entries: these, their
/// values and their places may take three times A's memory. There are no places where they do not
/// fit, or where a byte is too short for the rows of A.
template <class Scalar, class Exec>
std::optional<KnownPattern<Exec>> known_pattern(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                                double tau,
                                                FsaiPattern<Scalar, Exec> const& pattern) {
  constexpr std::int64_t most_entries = std::numeric_limits<std::int32_t>::max(),
                         bytes_of_entry = sizeof(Scalar) + sizeof(std::int32_t);
  std::int32_t const n = A.rows();
  std::int64_t const room = bytes_of_entry * (3 * A.nonzeros() - pattern.total());
  if (n == 0 || room < 0 || pattern.total() > most_entries) return std::nullopt;
  auto const array = [&](char const* label, std::int64_t size) {
    return allocate_view<DeviceArray<std::int32_t, Exec>>(exec, label, size);
  };
  KnownPattern<Exec> known;
  known.differs = array("Solder::fsai::differs", 1);
  known.offsets_of_A = array("Solder::fsai::offsets_of_A", n + std::int64_t(1));
  known.marks_of_A = array("Solder::fsai::marks", A.nonzeros());
  copy(exec, known.offsets_of_A, A.row_offsets());
  FsaiFilterOf const filter(exec, A, tau);
  filter.template run<FsaiFilter::mark>("Solder::fsai::mark", nullptr, known.marks_of_A.data());
  known.offsets = array("Solder::fsai::known_offsets", n + std::int64_t(1));
  known.columns = array("Solder::fsai::known_columns", pattern.total());
  std::int32_t const* const lengths = pattern.lengths().data();
  offsets_of_lengths(exec, known.offsets.data(), n, LengthsInArray<std::int32_t>{lengths});
  pattern.fill(exec, 0, n, known.offsets.data(), known.columns.data());
  if constexpr (!is_host_space<Exec>)
    known.by_size = RowsBySize<Exec>::of(exec, known.offsets.data(), n);
  if (A.longest_row() > no_place) return known;
  auto const starts = array("Solder::fsai::starts_of_places", n + std::int64_t(1));
  std::int64_t const places =
      offsets_of_lengths(exec, starts.data(), n, PlacesOfRows{lengths}).nonzeros;
  if (places == 0 || places > room || places > most_entries) return known;
  known.starts = starts;
  known.places =
      allocate_view<DeviceArray<std::uint8_t, Exec>>(exec, "Solder::fsai::places", places);
  known.looks_up = pattern.longest_row() > most_with_places;
  find_places(exec, A, known);
  return known;
}

}  // namespace Solder::Impl::fsai
