// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/core/errors.hpp>
#include <solder/core/runners/team_policy.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/preconditioners/detail/triangular/scheduled.hpp>

namespace Solder {

/// \brief Describes a triangular matrix and the system to solve with it.
struct TriangularShape {
  /// \brief Which triangle is stored.
  enum class Triangle : std::int32_t {
    lower,  ///< no entries above the diagonal
    upper   ///< no entries below the diagonal
  };
  /// \brief Which system is solved with it.
  enum class Transpose : std::int32_t {
    none,                ///< T x = b
    transpose,           ///< T^T x = b
    conjugate_transpose  ///< T^H x = b
  };

  Triangle triangle = Triangle::lower;  ///< of T
  bool unit_diagonal = false;  ///< the diagonal is ones; stored diagonal entries are not read
  Transpose transpose = Transpose::none;  ///< which system is solved
};

namespace Impl::triangular {

/// \brief A solve as a separate kernel. It also resets the counters of the next solve.
template <class Scalar>
struct SolveRows {
  TriangularRows<Scalar, Scalar const*> rows;
  StoreRows<Scalar> body;
  std::int32_t* next_counters;
  std::int32_t counters;

  void operator()(int rank) const { run(HostTeam{rank, rows.teams()}); }
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    run(DeviceTeam<Member>(member, member.league_rank(), member.league_size(), 1));
  }

 private:
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void run(Team const& team) const {
    if (team.league_rank() == 0 && team.rank() == 0)
      for (std::int32_t k = 0; k < counters; ++k) next_counters[k] = 0;
    rows.for_each_row(
        team, At{}, [] { return true; },
        [&](std::int32_t i, Scalar const& value) { body.row(i, value); });
  }
};

}  // namespace Impl::triangular

/// \brief Solves T x = b, T^T x = b or T^H x = b for a sparse triangular T.
///
/// `analyse` examines the pattern once: it groups the rows in tiles of at most 256 and orders the
/// tiles (see TriangularSchedule; report() says how). For GPUs this happens on the device if the
/// schedule is `levels` and T is not transposed, else on the host. `update_values` takes new
/// values. `solve` is one kernel, in which a row is solved as soon as the rows that it needs are:
/// see Impl::triangular::TriangularRows. The same input gives the same bits.
///
/// The solvers of Rupp et al. and Anzt et al. use such solves within a preconditioner: Incomplete.
/// Based on paper 3 (Picciau et al.: partitions that fit local memory, and its performance model
/// (5)) and on Liu et al., A synchronization-free algorithm for parallel sparse triangular solves
/// (2016).
template <class Scalar, class Exec>
class TriangularSolve {
 public:
  /// \brief Analyses T and takes its values.
  /// \throws std::invalid_argument if T is not square or has an entry in the other triangle, or if
  /// a row has no diagonal entry, two of them or a zero one; std::length_error if T has 2^31
  /// nonzeros or more
  template <class Offset>
  TriangularSolve(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& T,
                  TriangularShape const& shape = {},
                  TriangularSchedule schedule = TriangularSchedule::automatic)
      : shape_(shape), schedule_(schedule) {
    in_memory(T, [&] {
      Impl::triangular::require_progress<Exec>("Solder::TriangularSolve");
      analyse(exec, T);
      update_values(exec, T);
    });
  }

  /// \brief Takes another one, its memory included; there are no copies.
  TriangularSolve(TriangularSolve&&) = default;  // not copied: its memory is double buffered
  /// \brief Takes another one, its memory included.
  TriangularSolve& operator=(TriangularSolve&&) = default;

  /// \brief Analyses the pattern of T. Call update_values before the next solve. If it throws,
  /// nothing changes.
  template <class Offset>
  void analyse(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& T) {
    in_memory(T, [&] { schedule(exec, T); });
  }

  /// \brief Takes the values of a T that has the analysed pattern. Waits for the device.
  template <class Offset>
  void update_values(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& T) {
    in_memory(T, [&] {
      require(T.rows() == rows_ && T.nonzeros() == nonzeros_,
              "the analysed pattern has " + std::to_string(rows_) + " rows and " +
                  std::to_string(nonzeros_) + " nonzeros, not " + std::to_string(T.rows()) +
                  " and " + std::to_string(T.nonzeros()) + ": call analyse");
      has_values_ = false;
      scheduled_.update(exec, T.values().data(),
                        shape_.transpose == TriangularShape::Transpose::conjugate_transpose);
      std::int32_t const zero = scheduled_.first_without_inverse(exec);
      require(zero < 0,
              "the diagonal entry of row " + Impl::counted(zero) + " is zero or not finite");
      has_values_ = true;
    });
  }

  /// \brief Solves for one right-hand side, or for each column of a rank-2 view. x may be b.
  /// Enqueues one kernel per column on `exec`. All solves must use the same instance, or be
  /// separated by fences.
  /// \throws std::logic_error if the values do not belong to the analysed pattern,
  /// std::invalid_argument if b or x has the wrong length
  template <class B, class X>
  void solve(Exec const& exec, B const& b, X const& x) const {
    static_assert(Impl::can_access<Exec, B> && Impl::can_access<Exec, X>,
                  "Solder::TriangularSolve: Exec cannot access the memory of b or x");
    if (!has_values_)
      throw std::logic_error(
          "Solder::TriangularSolve: the values for the analysed pattern are missing or were "
          "refused: call update_values");
    in_memory(*this, [&] { check_and_launch(exec, b, x); });
  }

  /// \brief Rows of T.
  std::int32_t rows() const { return rows_; }
  /// \brief Nonzeros of T.
  std::int64_t nonzeros() const { return nonzeros_; }
  /// \brief How rows were grouped and ordered.
  TriangularReport const& report() const { return scheduled_.report(); }

 private:
  using Space = typename Exec::memory_space;
  using Values = Kokkos::View<Scalar*, Space>;
  using Indices = Kokkos::View<std::int32_t*, Space>;

  /// \param of an object with rows() and nonzeros()
  template <class Of, class F>
  static void in_memory(Of const& of, F const& f) {
    Impl::with_memory_for("Solder::TriangularSolve", of.rows(), of.nonzeros(), f);
  }

  [[noreturn]] static void refuse(std::string const& what) {
    throw std::invalid_argument("Solder::TriangularSolve: " + what);
  }
  static void require(bool fine, std::string const& what) {
    if (!fine) refuse(what);
  }

  using Scheduled = Impl::triangular::Scheduled<Scalar, Exec>;

  bool is_lower() const { return shape_.triangle == TriangularShape::Triangle::lower; }
  bool is_turned() const { return shape_.transpose != TriangularShape::Transpose::none; }

  /// \brief Empty unless the schedule is certain to be `levels` and T is plain: its rows are
  /// sorted, all entries are in its triangle, and each row has a diagonal entry if it needs one.
  template <class Offset>
  std::optional<Scheduled> made_on_device(Exec const& exec,
                                          CsrMatrix<Scalar, Exec, Offset> const& T) const {
    namespace tri = Impl::triangular;
    std::int32_t const rows = T.rows();
    bool const unit = shape_.unit_diagonal;
    auto const is_by_levels = [&](std::int64_t entries) {
      return Scheduled::is_by_levels(schedule_, rows, entries, T.longest_row());
    };
    if (rows == 0 || is_turned() || !is_by_levels(T.nonzeros()) ||
        !tri::rows_ascend(exec, rows, T.row_offsets().data(), T.column_indices().data()))
      return {};
    auto const P =
        tri::DevicePattern<Exec>::of_sorted(exec, rows, T.row_offsets().data(), T.column_indices());
    std::int64_t const on_diagonal = P.diagonal_entries(exec), entries = T.nonzeros() - on_diagonal;
    if ((!unit && on_diagonal < rows) || !is_by_levels(entries)) return {};
    if (unit) P.place_missing_ones(exec, is_lower());
    tri::DeviceTriangle const of = tri::device_triangle(P, is_lower());
    if (tri::entries_of(exec, of) != entries) return {};
    auto const found = tri::rows_by_level(exec, of, Scheduled::levels_looked_for(schedule_, rows));
    if (found.levels == 0) return {};
    return Scheduled::by_levels(exec, P, of, !unit, found);
  }

  template <class Offset>
  void schedule(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& T) {
    require(T.rows() == T.columns(), "a square matrix is needed, not " + std::to_string(T.rows()) +
                                         " x " + std::to_string(T.columns()));
    if (T.nonzeros() > std::numeric_limits<std::int32_t>::max())
      throw std::length_error("Solder::TriangularSolve: at most 2^31 - 1 nonzeros, not " +
                              std::to_string(T.nonzeros()));
    auto made = made_on_device(exec, T);
    auto scheduled = made ? std::move(*made) : made_on_host(exec, T);
    auto const unsolved = [&] {
      auto const flags = Impl::allocate_view<Values>(exec, "Solder::triangular::flags", T.rows());
      Kokkos::deep_copy(exec, flags, Impl::triangular::not_yet<Scalar>());
      return flags;
    };
    Values const one = unsolved(), other = unsolved();
    auto const counters = Impl::allocate_zero_view<Indices>(exec, "Solder::triangular::counters",
                                                            2 * std::size_t(scheduled.counters()));
    exec.fence("Solder::triangular: analysed");
    counters_ = counters;
    flags_[0] = one;
    flags_[1] = other;
    scheduled_ = std::move(scheduled);
    rows_ = T.rows();
    nonzeros_ = T.nonzeros();
    has_values_ = false;
    turn_ = 0;
  }

  template <class Offset>
  Scheduled made_on_host(Exec const& exec, CsrMatrix<Scalar, Exec, Offset> const& T) const {
    auto const of_rows = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), T.row_offsets());
    auto const of_entries =
        Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), T.column_indices());
    std::int32_t const rows = T.rows();
    auto const* const offsets = of_rows.data();
    auto const* const columns = of_entries.data();
    bool const lower = is_lower(), turned = is_turned();
    bool const from_first = lower != turned;  // row 0 is solved first
    auto const place = [&](std::int32_t i) { return from_first ? i : rows - 1 - i; };
    std::vector<std::int32_t> diagonal(rows, -1), label(rows);
    Impl::triangular::Dependencies needs;
    needs.offsets.assign(std::size_t(rows) + 1, 0);
    auto const for_each_entry = [&](auto const& f) {  // f(solved row, needed row, entry)
      for (std::int32_t i = 0; i < rows; ++i)
        for (Offset k = offsets[i]; k < offsets[i + 1]; ++k)
          if (columns[k] != i)
            f(place(turned ? columns[k] : i), place(turned ? i : columns[k]),
              static_cast<std::int32_t>(k));
    };
    for (std::int32_t i = 0; i < rows; ++i) {
      label[place(i)] = i;
      for (Offset k = offsets[i]; k < offsets[i + 1]; ++k) {
        if (columns[k] == i) {
          if (!shape_.unit_diagonal && diagonal[place(i)] >= 0)
            refuse("row " + Impl::counted(i) + " has two diagonal entries");
          diagonal[place(i)] = static_cast<std::int32_t>(k);
        } else if ((columns[k] < i) != lower) {
          refuse("row " + Impl::counted(i) + " has an entry in column " +
                 Impl::counted(columns[k]) + ", which is not in the " +
                 (lower ? "lower" : "upper") + " triangle");
        }
      }
      if (!shape_.unit_diagonal && diagonal[place(i)] < 0)
        refuse("row " + Impl::counted(i) + " has no diagonal entry");
    }
    for_each_entry(
        [&](std::int32_t i, std::int32_t, std::int32_t) { ++needs.offsets[std::size_t(i) + 1]; });
    std::partial_sum(needs.offsets.begin(), needs.offsets.end(), needs.offsets.begin());
    std::vector<std::int32_t> at(needs.offsets.begin(), needs.offsets.end() - 1),
        source(needs.offsets.back());
    needs.columns.resize(source.size());
    for_each_entry([&](std::int32_t i, std::int32_t j, std::int32_t k) {
      needs.columns[at[i]] = j;
      source[at[i]++] = k;
    });
    if (shape_.unit_diagonal) diagonal.clear();
    return Scheduled(exec, Scheduled::planned(exec, needs, label, source, diagonal, schedule_));
  }

  template <class B, class X>
  void check_and_launch(Exec const& exec, B const& b, X const& x) const {
    require(std::int64_t(b.extent(0)) == rows_ && std::int64_t(x.extent(0)) == rows_,
            "b and x must have " + std::to_string(rows_) + " entries, not " +
                std::to_string(b.extent(0)) + " and " + std::to_string(x.extent(0)));
    if constexpr (B::rank() == 1) {
      require((rows_ < 2 || b.stride(0) == 1) && (rows_ < 2 || x.stride(0) == 1),
              "b and x must be contiguous");
      launch(exec, b.data(), x.data());
    } else {
      require(b.extent(1) == x.extent(1), "b and x must have the same number of columns");
      for (std::size_t c = 0; c < b.extent(1); ++c)
        solve(exec, Kokkos::subview(b, Kokkos::ALL, c), Kokkos::subview(x, Kokkos::ALL, c));
    }
  }

  void launch(Exec const& exec, Scalar const* b, Scalar* x) const {
    using Rows = Impl::triangular::TriangularRows<Scalar, Scalar const*>;
    if (rows_ == 0) return;
    int const now = turn_, next = 1 - turn_;
    int const teams = scheduled_.teams(exec);
    std::int32_t const many = scheduled_.counters();
    Kokkos::parallel_for(
        "Solder::triangular::solve",
        Impl::team_policy<Exec, Impl::league_threads>(exec, teams, Impl::league_threads,
                                                      Impl::DeviceTeam<int>::scratch_bytes(1, 0)),
        Impl::triangular::SolveRows<Scalar>{
            Rows{scheduled_.device_operator(), teams, scheduled_.workers(), b, flags_[now].data(),
                 counters_.data() + now * many, flags_[next].data()},
            {x},
            counters_.data() + next * many,
            many});
    turn_ = next;  // only now: a solve that was not launched has not prepared the other buffers
  }

  TriangularShape shape_;
  TriangularSchedule schedule_;
  std::int32_t rows_ = 0;
  std::int64_t nonzeros_ = 0;
  bool has_values_ = false;
  mutable int turn_ = 0;
  Scheduled scheduled_;
  Values flags_[2] = {Impl::no_view<Values>(), Impl::no_view<Values>()};
  Indices counters_ = Impl::no_view<Indices>();
};

template <class Exec, class Scalar, class Offset, class... More>
TriangularSolve(Exec const&, CsrMatrix<Scalar, Exec, Offset> const&, More const&...)
    -> TriangularSolve<Scalar, Exec>;

}  // namespace Solder
