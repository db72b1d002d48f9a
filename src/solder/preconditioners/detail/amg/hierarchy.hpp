// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <solder/core/compiled.hpp>
#include <solder/core/deadline.hpp>
#include <solder/core/kokkos_ext.hpp>
#include <solder/core/report.hpp>
#include <solder/matrix/block.hpp>
#include <solder/matrix/duplicates.hpp>
#include <solder/matrix/product.hpp>
#include <solder/matrix/transpose.hpp>
#include <solder/preconditioners/amg_options.hpp>
#include <solder/preconditioners/detail/amg/aggregates.hpp>
#include <solder/preconditioners/detail/amg/air.hpp>
#include <solder/preconditioners/detail/amg/dense_inverse.hpp>
#include <solder/preconditioners/detail/amg/extended.hpp>
#include <solder/preconditioners/detail/amg/modes.hpp>
#include <solder/preconditioners/detail/amg/nodes.hpp>
#include <solder/preconditioners/detail/amg/prolongator.hpp>
#include <solder/preconditioners/detail/amg/smoothed_aggregates.hpp>
#include <solder/preconditioners/detail/largest_eigenvalue.hpp>
#include <solder/preconditioners/fsai.hpp>
#include <solder/preconditioners/jacobi.hpp>

namespace Solder::Impl::amg {

/// \brief A with its entries converted to the scalar Stored; A itself if that is its scalar.
template <class Stored, class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS CsrMatrix<Stored, Exec> stored_as(Exec const& exec,
                                                       CsrMatrix<Scalar, Exec> const& A) {
  if constexpr (std::is_same_v<Stored, Scalar>) {
    return A;
  } else {
    auto const values = allocate<Stored>(exec, "Solder::csr::values", A.nonzeros());
    Scalar const* const from = A.values().data();
    Stored* const to = values.data();
    Kokkos::parallel_for(
        "Solder::amg::stored",
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, A.nonzeros()),
        KOKKOS_LAMBDA(std::int64_t k) { to[k] = Stored(from[k]); });
    exec.fence("Solder::amg: the entries are stored");
    return {exec,   A.rows(),         A.columns(), A.row_offsets(), A.column_indices(),
            values, {A.longest_row()}};
  }
}

/// \brief A copy of the row offsets and columns.
template <class Exec>
struct Pattern {
  DeviceArray<std::int32_t, Exec> offsets, columns;

  template <class Scalar>
  Pattern(Exec const& exec, CsrMatrix<Scalar, Exec> const& A)
      : offsets(
            allocate<std::int32_t>(exec, "Solder::csr::row_offsets", A.rows() + std::int64_t(1))),
        columns(allocate<std::int32_t>(exec, "Solder::csr::columns", A.nonzeros())) {
    Impl::copy(exec, offsets, A.row_offsets());
    Impl::copy(exec, columns, A.column_indices());
  }
};

/// \brief Whether the rows of a matrix have these columns. If `more` is not null, `columns` has
/// additional entries after those of each row, and `more` holds the offsets of the additional ones.
template <class Scalar, class Exec>
SOLDER_MAKES_LAMBDAS bool is_in(Exec const& exec, CsrMatrix<Scalar, Exec> const& A,
                                std::int32_t const* offsets, std::int32_t const* columns,
                                std::int32_t const* more) {
  auto const a = A.device_operator();
  std::int32_t const bits = row_lane_bits<Exec>(A.rows(), A.nonzeros()), lanes = 1 << bits;
  std::int32_t different = 0;
  Kokkos::parallel_reduce(
      "Solder::amg::compare",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0,
                                                                 std::int64_t(A.rows()) << bits),
      KOKKOS_LAMBDA(std::int64_t id, std::int32_t & any) {
        auto const i = static_cast<std::int32_t>(id >> bits);
        std::int32_t const end = a.row_offsets[i + 1], before = more == nullptr ? 0 : more[i],
                           of_next = more == nullptr ? 0 : more[i + 1];
        if (a.row_offsets[i] + before != offsets[i] || end + of_next != offsets[i + 1]) {
          any = 1;
          return;
        }
        for (std::int32_t k = a.row_offsets[i] + static_cast<std::int32_t>(id & (lanes - 1));
             k < end; k += lanes)
          if (a.columns[k] != columns[k + before]) any = 1;
      },
      Kokkos::Max<std::int32_t>(different));
  return different <= 0;
}

/// \brief Bytes that a set-up takes at once for several of its arrays: a quarter of the matrix,
/// about the size of a level.
template <class Stored>
constexpr std::size_t bytes_at_once(std::int64_t nonzeros) {
  return nonzeros * (sizeof(Stored) + 4) / 4;
}

/// \brief What a hierarchy needs to know of its cycle: the weights of the last sweep before and the
/// first sweep after the coarse grid, times the largest eigenvalue, 0 if there is none; and how the
/// grid is made.
struct Sweeps {
  double before = 1, after = 1;
  bool split = false;  ///< whether sweeps use an FSAI's G^H G instead of the inverse diagonal
  AmgInterpolation interpolation = AmgInterpolation::aggregation;  ///< never automatic
  bool plain = false;  ///< whether a level takes two products and nothing else: see Way
};

/// \brief The levels of a cycle, built from the finest to the coarsest.
template <class Scalar, class Exec>
class Hierarchy {
 public:
  using Matrix = CsrMatrix<Scalar, Exec>;
  using Time = std::chrono::steady_clock::time_point;

  struct Level {
    Matrix A;
    Jacobi<Scalar, Exec> D;
    double largest;                    ///< estimated upper bound of the eigenvalues of D^-1 A
    Graph<Exec> graph{};               ///< the strong couplings, without their columns
    Aggregates<Exec> aggregates{};     ///< of the rows or nodes
    std::optional<Matrix> P{};         ///< from the next coarser level
    std::optional<Matrix> QH{}, SQ{};  ///< the matrices of a cycle's products; see Cycle
    std::optional<BlockMatrix<Scalar, Exec>> QH_blocks{}, SQ_blocks{};  ///< both or none
    std::optional<ProductPattern<Exec>> of_AP{};
    std::optional<AdjointPattern<Exec>> of_PH{}, of_QH{};  ///< see adjoint_of()
    std::optional<Pattern<Exec>> of_A{};       ///< finest level only, if SQ does not contain it
    std::optional<Fsai<Scalar, Exec>> fsai{};  ///< the smoother, and the bound of its eigenvalues
    double largest_of_fsai = 1;
  };

  std::vector<Level> levels;
  bool is_direct = false;  ///< whether the coarsest level's SQ is the inverse of A
  std::vector<SetupReport::Phase> phases;
  std::string failure;  ///< why there can be no cycle; empty if there can

  /// \brief Adds levels until one has `coarsest` rows or fewer, until there are `most` levels, or
  /// until coarsening would remove less than a tenth of the rows. If modes are given, nodes of
  /// `block_size` rows are aggregated.
  ///
  /// If `before` is not null and its matrix has A's pattern, its strong couplings, aggregates and
  /// patterns are reused (by aggregation alone). It must have been made with the same arguments.
  /// \param A without duplicates
  /// \param began when the set-up began
  Hierarchy(Exec const& exec, Matrix const& A, double strength, int most, std::int32_t coarsest,
            Sweeps const& sweeps, Modes<Scalar, Exec> const& modes = {},
            std::int32_t block_size = 1, Hierarchy const* before = nullptr,
            Time began = std::chrono::steady_clock::now())
      : exec_(exec),
        sweeps_(sweeps),
        modes_(modes),
        lanczos_(std::make_unique<LanczosMemory<Exec>>(exec, true)),
        temporaries_(std::make_unique<Temporaries<Exec>>(bytes_at_once<Scalar>(A.nonzeros()))),
        phase_began_(began) {
    end_phase("duplicates");
    if (is_aggregation() && before != nullptr && before->failure.empty() &&
        before->levels.front().P && has_pattern_of(A, before->levels.front()))
      before_ = before;
    add_level(A);
    if (is_aggregation() && !has_S()) levels.front().of_A.emplace(exec, A);
    if (modes.count > 0) nodes_ = equal_nodes(exec, A.rows(), block_size);
    if (before_ != nullptr) most = static_cast<int>(before_->levels.size());
    while (failure.empty() && static_cast<int>(levels.size()) < most &&
           (levels.back().A.rows() > coarsest || levels.size() == 1))
      if (!framed([&] {
            return is_air() ? coarsen_by_air(strength, coarsest) : coarsen(strength, coarsest);
          }))
        break;
    memory_ = {};
    temporaries_ = {};
    nodes_ = {};
    modes_ = {};
    if (is_host_space<Exec> && sweeps_.plain && modes.count > 0 && failure.empty())
      for (std::size_t l = 0; l + 1 < levels.size(); ++l) store_in_blocks(l);
    before_ = nullptr;
    if (failure.empty() && A.rows() > 0) {
      Level& last = levels.back();
      if (last.A.rows() <= (is_air() ? std::max(coarsest, most_inverted) : coarsest) &&
          levels.size() > 1)
        invert_coarsest();
      else if (sweeps_.split)
        add_fsai(last);
      else
        finish(last, Matrix(exec, HostCsr<Scalar>{last.A.rows(), 0, zeros(), {}, {}}));
    }
    lanczos_ = {};
  }

  AmgInterpolation interpolation() const { return sweeps_.interpolation; }

 private:
  /// \brief Steps of the Lanczos method, fewer on coarser levels, and the factor that its estimate,
  /// a lower bound, is multiplied by.
  static constexpr int lanczos_steps = 8, fewer_steps = 5;
  static constexpr double margin = 1.1;
  /// \brief The nonzeros of a level whose products are taken in blocks, at least.
  static constexpr std::int64_t least_in_blocks = 100'000;
  static constexpr double epsilon =
      std::numeric_limits<typename ScalarTraits<Scalar>::Real>::epsilon();

  /// \brief f(), after which its temporaries are given back.
  template <class F>
  auto framed(F const& f) {
    typename Temporaries<Exec>::Frame const frame(*temporaries_);
    return f();
  }
  /// \brief f(), whose arrays are temporaries unless they last.
  template <class F>
  static auto temporarily(F const& f, bool lasts = false) {
    return lasts ? f() : Temporaries<Exec>::temporarily(f);
  }
  void end_phase(std::string const& name) {
    exec_.fence("Solder::amg: a phase of the set-up has ended");
    Deadline::check();
    auto const now = std::chrono::steady_clock::now();
    double const seconds = std::chrono::duration<double>(now - phase_began_).count();
    phase_began_ = now;
    for (auto& phase : phases)
      if (phase.name == name) {
        phase.seconds += seconds;
        return;
      }
    phases.push_back({name, seconds});
  }

  void add_level(Matrix const& A) {
    Jacobi<Scalar, Exec> const D(exec_, A);
    double largest = 1;
    if (A.rows() > 0) {
      if (std::string const zero = D.failure(); !zero.empty()) {
        failure =
            "on level " + std::to_string(levels.size() + 1) + " of the multigrid hierarchy " + zero;
      } else {
        largest = is_air() ? std::max(air_bound, largest_row_sum(exec_, A, inverse_of(D)))
                           : largest_eigenvalue(*lanczos_, A, D,
                                                levels.empty() ? lanczos_steps : fewer_steps);
        note_eigenvalue(largest, levels.size() + 1);
        if (!is_air()) largest *= margin;
      }
    }
    levels.push_back({.A = A, .D = D, .largest = largest});
    end_phase(is_air() ? "row sums" : "eigenvalues");
  }

  bool is_air() const { return interpolation() == AmgInterpolation::air; }
  bool is_aggregation() const { return interpolation() == AmgInterpolation::aggregation; }

  /// \brief Adds a level by approximate ideal restriction; false if it would not be much smaller.
  /// From then on the sweeps of the finer level are for fine rows alone.
  bool coarsen_by_air(double strength, std::int32_t coarsest) {
    constexpr AirShares share;
    Level& fine = levels.back();
    Matrix const A = fine.A;
    Scalar* const inverse = const_cast<Scalar*>(inverse_of(fine));
    Splitting<Exec> splitting;
    if (A.rows() <= coarsest) {
      splitting = {numbers(exec_, A.rows()), A.rows()};
    } else {
      auto const graph = temporarily([&] { return strong_in_rows<Magnitude>(A, strength); });
      splitting = temporarily([&] {
        return split(exec_, A, graph, levels.size() == 1 ? share.split_first : share.split_next);
      });
      end_phase("splitting");
      if (!is_coarse_enough(splitting.count, A.rows())) {
        if (levels.size() > 1 || A.rows() > most_inverted) return false;
        splitting = {numbers(exec_, A.rows()), A.rows()};  // A itself is inverted
      }
    }
    bool const is_last = splitting.count <= coarsest || splitting.count == A.rows();
    auto const sizes = diagonal_sizes(exec_, inverse, A.rows());
    Matrix const R = temporarily(
                     [&] {
                       return air_restriction(exec_, A, inverse, sizes.data(), splitting,
                                              share.restriction, memory_);
                     },
                     sweeps_.before == 0),
                 P = temporarily(
                     [&] { return direct_interpolation(exec_, A, inverse, splitting); });
    end_phase("restriction and interpolation");
    Matrix const RA = temporarily([&] { return Impl::product(exec_, R, A, memory_); }),
                 AP = temporarily([&] { return Impl::product(exec_, A, P, memory_); }),
                 RAP = temporarily([&] { return Impl::product(exec_, RA, P, memory_); }, is_last);
    Matrix const coarse =  // the last one is inverted
        is_last ? RAP : dropped(exec_, RAP, share.coarse, numbers(exec_, RAP.rows()).data(), true);
    pin(exec_, inverse, R, coarse, rounding_share(epsilon));
    end_phase("coarse matrix");
    if (has_filled(coarse)) return false;
    leave_coarse_rows(exec_, inverse, splitting);
    fine.largest = air_bound;
    double const before = sweeps_.before / fine.largest, after = sweeps_.after / fine.largest;
    fine.QH = before == 0 ? R
                          : dropped(exec_, smooth<true>(exec_, inverse, before, R, RA, true),
                                    share.cycle, splitting.number.data(), false, sizes.data());
    Matrix const SQ = temporarily([&] {
      Matrix const Q =
          after == 0 ? P : dropped(exec_, smooth(exec_, inverse, after, P, AP, true), share.cycle);
      return sweeps_and_correction(exec_, inverse, before, after, A, Q);
    });
    fine.SQ = dropped(exec_, SQ, 0);  // the zeros that sweeps for fine rows alone leave in S
    end_phase("cycle");
    add_level(coarse);
    return failure.empty();
  }
  /// \brief The couplings that are strong compared with the largest of their row.
  template <class Size>
  Graph<Exec> strong_in_rows(Matrix const& A, double strength) {
    auto const largest = largest_couplings<Size>(exec_, A);
    auto graph = strong_graph(
        exec_, Coupling<Scalar, true, Size>{A.device_operator(), largest.data(), strength},
        A.nonzeros(), reading_lane_bits(A));
    end_phase("strength");
    return graph;
  }
  static bool is_coarse_enough(std::int32_t count, std::int32_t rows) {
    return count > 0 && count <= 0.9 * rows;
  }
  /// \brief Whether all levels would have too many entries with this one; says so then.
  bool has_filled(Matrix const& coarse) {
    std::int64_t entries = coarse.nonzeros();
    for (Level const& level : levels) entries += level.A.nonzeros();
    if (entries <= most_filled * levels.front().A.nonzeros()) return false;
    failure = "on level " + std::to_string(levels.size() + 1) +
              " of the multigrid hierarchy the levels have more than " +
              std::to_string(most_filled) +
              " times the entries of A: interpolation air does not suit it; take ilu0 or ilut";
    return true;
  }

  /// \brief Adds a level; false if it would not be much smaller. A level that is small enough to be
  /// inverted is its own coarse grid.
  bool coarsen(double strength, std::int32_t coarsest) {
    Matrix const A = levels.back().A;
    auto const prolongator = framed([&]() -> std::optional<Matrix> {
      if (A.rows() <= coarsest)
        return tentative<Scalar>(exec_, Aggregates<Exec>{numbers(exec_, A.rows()), A.rows()});
      return is_aggregation() ? smoothed_prolongator(A, strength)
                              : extended_prolongator(A, strength);
    });
    if (!prolongator) return false;
    end_phase("prolongator");
    Matrix const& P = *prolongator;
    std::optional<ProductPattern<Exec>> of_AP, of_coarse;
    if (before_ != nullptr) {
      of_AP = before_->levels[levels.size() - 1].of_AP;
      of_coarse = pattern_of(before_->levels[levels.size()].A);
    }
    Matrix const AP = temporarily([&] { return product_of(A, P, of_AP); });
    Level& fine = levels.back();
    bool const keeps_R = sweeps_.split || sweeps_.before == 0;
    Matrix const coarse = framed([&] {
      Matrix const R = temporarily([&] { return adjoint_of(P, &Level::of_PH); }, keeps_R),
                   RAP = product_of(R, AP, of_coarse);
      pin(exec_, inverse_of(fine), R, RAP, rounding_share(epsilon));
      if (keeps_R) fine.QH = R;
      return RAP;
    });
    if (is_aggregation()) fine.of_AP = of_AP ? *of_AP : kept_pattern_of(AP);
    end_phase("coarse matrix");
    fine.P = P;
    if (sweeps_.split) {
      add_fsai(fine);
    } else {
      bool const alike = sweeps_.before == sweeps_.after;
      auto const Q_of = [&](double weight, bool in_place) {
        return temporarily([&] { return swept(fine, AP, weight, in_place); });
      };
      Matrix const Q = Q_of(sweeps_.before, alike || sweeps_.after == 0);
      if (!keeps_R) fine.QH = adjoint_of(Q, &Level::of_QH);
      finish(fine, alike ? Q : Q_of(sweeps_.after, true));
    }
    end_phase("cycle");
    if (failure.empty()) add_level(coarse);
    return failure.empty();
  }

  /// \brief Whether the matrix SQ, which a cycle uses on its way up, contains A's pattern.
  bool has_S() const { return !sweeps_.split && sweeps_.before != 0 && sweeps_.after != 0; }
  bool has_pattern_of(Matrix const& A, Level const& finest) const {
    if (A.rows() != finest.A.rows()) return false;
    if (finest.of_A)
      return A.nonzeros() == std::int64_t(finest.of_A->columns.extent(0)) &&
             is_in(exec_, A, finest.of_A->offsets.data(), finest.of_A->columns.data(), nullptr);
    auto const SQ = finest.SQ->device_operator();
    return A.nonzeros() + finest.of_AP->nonzeros == finest.SQ->nonzeros() &&
           is_in(exec_, A, SQ.row_offsets, SQ.columns, finest.of_AP->offsets.data());
  }
  /// \brief Sets the failure if the largest eigenvalue of a level shows one.
  void note_eigenvalue(double largest, std::size_t level) {
    if (largest > 0 && std::isfinite(largest)) return;
    failure = "on level " + std::to_string(level) +
              " of the multigrid hierarchy the matrix is not " +
              (std::isfinite(largest) ? "positive definite" : "finite, or overflows");
  }
  /// \brief (I - w D^-1 A) P; if extended, small entries are dropped and the others of their row
  /// absorb them, unless P is the identity before an inverse.
  /// \param in_place whether to overwrite A P
  Matrix swept(Level const& level, Matrix const& AP, double weight, bool in_place) const {
    if (weight == 0) return *level.P;
    Matrix const Q =
        smooth(exec_, inverse_of(level), weight / level.largest, *level.P, AP, in_place);
    if (is_aggregation() || extended_share<Scalar> == 0 || Q.columns() == Q.rows()) return Q;
    return dropped(exec_, Q, extended_share<Scalar>, nullptr, true);
  }
  void add_fsai(Level& level) {
    level.fsai.emplace(exec_, level.A, FsaiOptions{.tau = 0.01, .k = 1});
    double const largest = largest_eigenvalue(*lanczos_, level.A, *level.fsai,
                                              levels.size() == 1 ? lanczos_steps : fewer_steps);
    note_eigenvalue(largest, levels.size());
    level.largest_of_fsai = margin * largest;
  }

  /// \brief Empty if there would not be much fewer coarse unknowns than rows.
  std::optional<Matrix> smoothed_prolongator(Matrix const& A, double strength) {
    std::int32_t const lane_bits = reading_lane_bits(A);
    Level& level = levels.back();
    bool const keeps = before_ != nullptr;
    if (keeps) {
      level.graph = before_->levels[levels.size() - 1].graph;
      level.aggregates = before_->levels[levels.size() - 1].aggregates;
    }
    if (modes_.count == 0) {
      if (keeps) return smoothed_tentative();
      auto const largest = largest_couplings(exec_, A);
      mark_hubs(exec_, A, largest.data());
      Coupling<Scalar> const coupling{A.device_operator(), largest.data(), strength};
      level.graph = strong_graph(exec_, coupling, A.nonzeros(), lane_bits, {.columns = false});
      end_phase("strength");
      level.aggregates = aggregate(exec_, coupling, level.graph);
      end_phase("aggregation");
      if (!is_coarse_enough(level.aggregates.count, A.rows())) {
        level.graph = {};
        return {};
      }
      return smoothed_tentative();
    }
    Nodes<Exec> const nodes = nodes_;
    auto const with_modes = [&] {
      auto made = tentative(exec_, nodes, level.aggregates, modes_);
      nodes_ = made.nodes;
      modes_ = made.modes;
      return made.T;
    };
    if (keeps) return smoothed(nodes, with_modes());
    auto const norms = temporarily([&] { return block_norms(exec_, A, nodes, memory_); });
    auto const largest = largest_couplings(exec_, norms);
    Coupling<double> const of_nodes{norms.device_operator(), largest.data(), strength, tie<Scalar>};
    auto const graph = temporarily(
        [&] { return strong_graph(exec_, of_nodes, norms.nonzeros(), reading_lane_bits(norms)); });
    end_phase("strength");
    level.aggregates = aggregate(exec_, of_nodes, graph);
    end_phase("aggregation");
    if (level.aggregates.count == 0) return {};
    Matrix const T = with_modes();
    if (!is_coarse_enough(T.columns(), A.rows())) return {};
    NodeCoupling<Scalar> const coupling{A.device_operator(), of_nodes, nodes.of_row.data()};
    level.graph = strong_graph(exec_, coupling, A.nonzeros(), lane_bits, {.columns = false});
    return smoothed(nodes, T);
  }

  /// \brief X Y, whose pattern may be known. The rows of a node may have the same columns.
  Matrix product_of(Matrix const& X, Matrix const& Y,
                    std::optional<ProductPattern<Exec>> const& known) {
    return Impl::product(exec_, X, Y, memory_, known ? &*known : nullptr, nodes_.count > 0);
  }
  /// \brief X^H. From the first refresh on, GPUs keep its pattern in a member of the level.
  Matrix adjoint_of(Matrix const& X, std::optional<AdjointPattern<Exec>> Level::*pattern) {
    bool const in_nodes = nodes_.count > 0;
    if constexpr (!is_host_space<Exec>)
      if (before_ != nullptr) {
        auto& kept = levels.back().*pattern;
        kept = before_->levels[levels.size() - 1].*pattern;
        if (kept) return adjoint(exec_, X, *kept);
        auto const made = adjoint_and_pattern(exec_, X, in_nodes);
        kept = made.second;
        return made.first;
      }
    return Impl::conjugate_transpose(exec_, X, in_nodes);
  }
  /// \brief A copy of the pattern of a matrix that is given back earlier.
  ProductPattern<Exec> kept_pattern_of(Matrix const& A) const {
    auto const offsets =
        allocate<std::int32_t>(exec_, "Solder::csr::row_offsets", A.rows() + std::int64_t(1));
    Impl::copy(exec_, offsets, A.row_offsets());
    return {offsets, A.nonzeros(), A.longest_row()};
  }
  /// \brief The pattern of P, if it is known.
  std::optional<ProductPattern<Exec>> known_pattern_of_P() const {
    if (before_ == nullptr) return {};
    return pattern_of(*before_->levels[levels.size() - 1].P);
  }
  /// \brief 4 / (3 largest eigenvalue): what the prolongator is smoothed with.
  double omega() const { return 4.0 / 3 / levels.back().largest; }
  /// \brief (I - omega D^-1 F) T for the T of ones in each aggregate.
  Matrix smoothed_tentative() {
    Level& level = levels.back();
    if constexpr (!is_host_space<Exec>)
      if (can_be_smoothed_at_once(level.A)) {
        auto const known = known_pattern_of_P();
        level.graph.columns = no_view<DeviceArray<std::int32_t, Exec>>();
        return smoothed_aggregates(exec_, level.A, level.graph.strong.data(), level.aggregates,
                                   omega(), known ? &*known : nullptr);
      }
    return smoothed({}, temporarily([&] { return tentative<Scalar>(exec_, level.aggregates); }));
  }
  /// \brief (I - omega D^-1 F) T.
  Matrix smoothed(Nodes<Exec> const& nodes, Matrix const& T) {
    Level& level = levels.back();
    auto const known = known_pattern_of_P();
    Matrix const S =
        temporarily([&] { return smoothing(exec_, level.A, nodes, level.graph, omega()); });
    Matrix const P = product_of(S, T, known);
    level.graph.columns = no_view<DeviceArray<std::int32_t, Exec>>();
    return P;
  }
  /// \brief Empty if there would not be much fewer coarse rows than rows.
  std::optional<Matrix> extended_prolongator(Matrix const& A, double strength) {
    auto const graph = temporarily([&] { return strong_in_rows<Attraction>(A, strength); });
    auto const splitting = temporarily([&] { return split(exec_, graph, A.rows()); });
    end_phase("splitting");
    if (!is_coarse_enough(splitting.count, A.rows())) return {};
    return extended_interpolation(exec_, A, graph, splitting, memory_);
  }
  /// \brief Makes the matrix SQ, which a cycle uses on its way up.
  void finish(Level& level, Matrix const& Q) {
    level.SQ = sweeps_and_correction(exec_, inverse_of(level), sweeps_.before / level.largest,
                                     sweeps_.after / level.largest, level.A, Q);
  }
  /// \brief Stores the matrices of a level's products in blocks, too, if both have them, and there
  /// is memory for it. For hosts: on a GPU it takes too long, and coarse levels have too few rows
  /// for a lane each.
  void store_in_blocks(std::size_t number) {
    Level& level = levels[number];
    if (level.A.nonzeros() < least_in_blocks) return;
    try {
      if (before_ != nullptr && before_->levels[number].QH_blocks) {
        auto const& before = before_->levels[number];
        level.QH_blocks = before.QH_blocks->with_values_of(exec_, *level.QH);
        level.SQ_blocks = before.SQ_blocks->with_values_of(exec_, *level.SQ);
        return;
      }
      auto const of_QH = find_blocks(exec_, *level.QH), of_SQ = find_blocks(exec_, *level.SQ);
      if (of_QH.size == 1 || of_SQ.size == 1) return;
      level.QH_blocks.emplace(exec_, *level.QH, of_QH);
      level.SQ_blocks.emplace(exec_, *level.SQ, of_SQ);
    } catch (OutOfMemory const&) {
      level.QH_blocks.reset();
      level.SQ_blocks.reset();
    }
  }
  Scalar const* inverse_of(Level const& level) const { return inverse_of(level.D); }
  Scalar const* inverse_of(Jacobi<Scalar, Exec> const& D) const {
    Arena<Exec> arena(exec_, 0);
    return D.open(arena).inverse;
  }
  std::vector<std::int64_t> zeros() const {
    return std::vector<std::int64_t>(std::size_t(levels.back().A.rows()) + 1);
  }

  void invert_coarsest() {
    levels.back().SQ = dense_inverse(exec_, levels.back().A, epsilon, !is_air());
    is_direct = levels.back().SQ.has_value();
    if (!is_direct)
      failure =
          "on the coarsest level of the multigrid hierarchy the matrix is not positive definite";
    end_phase("coarsest level");
  }

  Exec exec_;
  Sweeps sweeps_;
  Nodes<Exec> nodes_;  ///< of the coarsest level so far, if there are modes
  Modes<Scalar, Exec> modes_;
  Hierarchy const* before_ = nullptr;  ///< its aggregates and patterns are reused
  std::unique_ptr<LanczosMemory<Exec>> lanczos_;
  std::unique_ptr<Temporaries<Exec>> temporaries_;
  ProductMemory<Exec> memory_;
  Time phase_began_;
};

/// \brief make_hierarchy(), compiled separately in src/compiled.
template <class Scalar, class Exec>
std::shared_ptr<Hierarchy<Scalar, Exec>> compiled_hierarchy(
    Exec const& exec, CsrMatrix<Scalar, Exec> const& A, double strength, int most,
    std::int32_t coarsest, Sweeps const& sweeps, Modes<Scalar, Exec> const& modes,
    std::int32_t block_size, Hierarchy<Scalar, Exec> const* before,
    typename Hierarchy<Scalar, Exec>::Time began);

/// \brief A hierarchy in Scalar for a matrix that may be more precise. Its duplicates are summed
/// before its entries are rounded.
template <class Scalar, class Exec, class Given>
std::shared_ptr<Hierarchy<Scalar, Exec>> make_hierarchy(
    Exec const& exec, CsrMatrix<Given, Exec> const& given, double strength, int most,
    std::int32_t coarsest, Sweeps const& sweeps, Modes<Scalar, Exec> const& modes = {},
    std::int32_t block_size = 1, Hierarchy<Scalar, Exec> const* before = nullptr) {
  auto const began = std::chrono::steady_clock::now();
  auto const A = stored_as<Scalar>(exec, sum_duplicates(exec, given));
  if constexpr (is_compiled<Exec, Scalar>)
    return compiled_hierarchy<Scalar>(exec, A, strength, most, coarsest, sweeps, modes, block_size,
                                      before, began);
  else
    return std::make_shared<Hierarchy<Scalar, Exec>>(exec, A, strength, most, coarsest, sweeps,
                                                     modes, block_size, before, began);
}

/// \brief The weights of the sweeps x = x + w D^-1 (b - A x), times the largest eigenvalue of
/// D^-1 A. They are the inverse roots of the Chebyshev polynomial for the interval from `share`
/// times that eigenvalue to the eigenvalue itself.
inline std::vector<double> chebyshev_weights(int sweeps, double share) {
  std::vector<double> weights;
  for (int k = 0; k < sweeps; ++k)
    weights.push_back(
        2 / (1 + share + (1 - share) * std::cos(std::numbers::pi * (2 * k + 1) / (2.0 * sweeps))));
  return weights;
}

}  // namespace Solder::Impl::amg
