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

#include <solder/core/report.hpp>
#include <solder/matrix/duplicates.hpp>
#include <solder/matrix/product.hpp>
#include <solder/matrix/transpose.hpp>
#include <solder/preconditioners/detail/amg/aggregates.hpp>
#include <solder/preconditioners/detail/amg/dense_inverse.hpp>
#include <solder/preconditioners/detail/amg/modes.hpp>
#include <solder/preconditioners/detail/amg/nodes.hpp>
#include <solder/preconditioners/detail/amg/prolongator.hpp>
#include <solder/preconditioners/detail/largest_eigenvalue.hpp>
#include <solder/preconditioners/jacobi.hpp>

namespace Solder::Impl::amg {

/// \brief A with its entries in another scalar; A itself where that is its own.
template <class Stored, class Scalar, class Exec>
CsrMatrix<Stored, Exec> stored_as(Exec const& exec, CsrMatrix<Scalar, Exec> const& A) {
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

/// \brief The grids of a cycle, made from the finest to the coarsest.
template <class Scalar, class Exec>
class Hierarchy {
 public:
  using Matrix = CsrMatrix<Scalar, Exec>;

  struct Level {
    Matrix A;
    Jacobi<Scalar, Exec> D;
    double largest;                ///< bound of the eigenvalues of D^-1 A, as far as one knows
    std::optional<Matrix> P;       ///< from the next coarser level
    std::optional<Matrix> QH, SQ;  ///< what a cycle multiplies with; see Cycle
  };

  std::vector<Level> levels;
  bool is_direct = false;  ///< the coarsest level's SQ is the inverse of A
  std::vector<SetupReport::Phase> phases;
  std::string defect;  ///< why there can be no cycle; empty: there can

  /// \brief Makes levels until one has `coarsest` rows or fewer, there are `most`, or aggregates
  /// take no tenth of the rows away. `weight`, divided by the largest eigenvalue, is that of a
  /// level's sweeps beside the coarse grid. Where modes are given, aggregates are of nodes of
  /// `block_size` rows. The matrix given may be more precise: duplicates are summed before its
  /// entries are rounded.
  template <class Given>
  Hierarchy(Exec const& exec, CsrMatrix<Given, Exec> const& given, double strength, int most,
            std::int32_t coarsest, double weight, Modes<Scalar, Exec> const& modes = {},
            std::int32_t block_size = 1)
      : exec_(exec),
        weight_(weight),
        modes_(modes),
        lanczos_(std::make_unique<LanczosMemory<Exec>>(exec, true)) {
    Matrix const A = stored_as<Scalar>(exec, sum_duplicates(exec, given));
    end_phase("duplicates");
    add_level(A);
    if (modes.count > 0) nodes_ = equal_nodes(exec, A.rows(), block_size);
    while (defect.empty() && static_cast<int>(levels.size()) < most &&
           (levels.back().A.rows() > coarsest || levels.size() == 1))
      if (!coarsen(strength, coarsest)) break;
    lanczos_ = {};
    memory_ = {};
    nodes_ = {};
    modes_ = {};
    if (!defect.empty() || A.rows() == 0) return;
    if (levels.back().A.rows() <= coarsest && levels.size() > 1)
      invert_coarsest();
    else
      finish(levels.back(),
             Matrix(exec, HostCsr<Scalar>{levels.back().A.rows(), 0, zeros(), {}, {}}));
  }

 private:
  /// \brief Steps of Lanczos's method, fewer on coarser levels, and what its estimate, which is
  /// from below, is multiplied with.
  static constexpr int lanczos_steps = 8, fewer_steps = 5;
  static constexpr double margin = 1.1;
  static constexpr double epsilon =
      std::numeric_limits<typename ScalarTraits<Scalar>::Real>::epsilon();

  void end_phase(std::string const& name) {
    exec_.fence("Solder::amg: a phase of the set-up has ended");
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
      if (std::string const zero = D.defect(); !zero.empty()) {
        defect =
            "on level " + std::to_string(levels.size() + 1) + " of the multigrid hierarchy " + zero;
      } else {
        largest = largest_eigenvalue(*lanczos_, A, D, levels.empty() ? lanczos_steps : fewer_steps);
        if (!(largest > 0) || !std::isfinite(largest))
          defect = "on level " + std::to_string(levels.size() + 1) +
                   " of the multigrid hierarchy the matrix is not positive definite, or not finite";
        largest *= margin;
      }
    }
    levels.push_back({A, D, largest, {}, {}, {}});
    end_phase("eigenvalues");
  }

  /// \brief Adds a level; false where that would not be much smaller. A grid that is small enough
  /// to be inverted is its own coarse grid.
  bool coarsen(double strength, std::int32_t coarsest) {
    Matrix const A = levels.back().A;
    std::optional<Matrix> prolongator;
    if (A.rows() <= coarsest)
      prolongator = tentative<Scalar>(exec_, Aggregates<Exec>{numbers(exec_, A.rows()), A.rows()});
    else
      prolongator = smoothed_prolongator(A, strength);
    if (!prolongator) return false;
    end_phase("prolongator");
    Matrix const& P = *prolongator;
    Matrix const AP = Impl::product(exec_, A, P, memory_);
    Matrix const R = conjugate_transpose(exec_, P);
    Matrix const coarse = Impl::product(exec_, R, AP, memory_);
    pin(exec_, inverse_of(levels.back()), R, coarse, std::pow(epsilon, 2.0 / 3));
    end_phase("coarse matrix");
    Level& fine = levels.back();
    fine.P = P;
    smooth(exec_, inverse_of(fine), weight_ / fine.largest, P, AP);
    fine.QH = conjugate_transpose(exec_, AP);
    finish(fine, AP);
    end_phase("cycle");
    add_level(coarse);
    return defect.empty();
  }

  /// \brief None where the coarse unknowns would not be much fewer than the rows.
  std::optional<Matrix> smoothed_prolongator(Matrix const& A, double strength) {
    double const omega = 4.0 / 3 / levels.back().largest;
    std::int32_t const lane_bits = row_lane_bits<Exec>(A.rows(), A.nonzeros());
    auto const coarse_enough = [&](std::int32_t count) {
      return count > 0 && count <= 0.9 * A.rows();
    };
    if (modes_.count == 0) {
      auto const largest = largest_couplings(exec_, A);
      Coupling<Scalar> const coupling{A.device_operator(), largest.data(), strength};
      auto const [graph, aggregates] = aggregated(coupling, lane_bits);
      if (!coarse_enough(aggregates.count)) return {};
      return Impl::product(
          exec_, smoothing<Scalar>(exec_, coupling, graph, omega, lane_bits, A.longest_row()),
          tentative<Scalar>(exec_, aggregates), memory_);
    }
    Nodes<Exec> const nodes = nodes_;
    auto const norms = block_norms(exec_, A, nodes, memory_);
    auto const largest = largest_couplings(exec_, norms);
    Coupling<double> const of_nodes{norms.device_operator(), largest.data(), strength, tie<Scalar>};
    auto const aggregates =
        aggregated(of_nodes, row_lane_bits<Exec>(norms.rows(), norms.nonzeros())).second;
    if (aggregates.count == 0) return {};
    auto made = tentative(exec_, nodes, aggregates, modes_);
    if (!coarse_enough(made.T.columns())) return {};
    nodes_ = made.nodes;
    modes_ = made.modes;
    NodeCoupling<Scalar> const coupling{A.device_operator(), of_nodes, nodes.of_row.data(),
                                        nodes.first.data()};
    return Impl::product(
        exec_,
        smoothing<Scalar>(exec_, coupling, strong_graph(exec_, coupling, lane_bits), omega,
                          lane_bits, A.longest_row()),
        made.T, memory_);
  }
  template <class Number>
  std::pair<Graph<Exec>, Aggregates<Exec>> aggregated(Coupling<Number> const& coupling,
                                                      std::int32_t lane_bits) {
    auto const graph = strong_graph(exec_, coupling, lane_bits);
    end_phase("strength");
    auto const aggregates = aggregate(exec_, coupling, graph);
    end_phase("aggregation");
    return {graph, aggregates};
  }

  /// \brief Makes what a cycle's way up multiplies with.
  void finish(Level& level, Matrix const& Q) {
    level.SQ = sweeps_and_correction(exec_, inverse_of(level), weight_ / level.largest, level.A, Q);
  }
  Scalar const* inverse_of(Level const& level) {
    Arena<Exec> arena(exec_, 0);
    return level.D.open(arena).inverse;
  }
  std::vector<std::int64_t> zeros() const {
    return std::vector<std::int64_t>(std::size_t(levels.back().A.rows()) + 1);
  }

  /// \brief The inverse of the coarsest level, made on the host, as a matrix with all entries.
  void invert_coarsest() {
    using Number = Wide<Scalar>;
    Matrix const& A = levels.back().A;
    std::int32_t const n = A.rows();
    auto const offsets = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.row_offsets());
    auto const columns =
        Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.column_indices());
    auto const values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A.values());
    std::vector<Number> dense(std::size_t(n) * n);
    for (std::int32_t i = 0; i < n; ++i)
      for (auto k = offsets(i); k < offsets(i + 1); ++k)
        dense[std::size_t(i) * n + columns(k)] += Number(values(k));
    if (invert_hermitian(n, dense, epsilon) >= 0) {
      defect =
          "on the coarsest level of the multigrid hierarchy the matrix is not positive definite";
      return;
    }
    HostCsr<Scalar> host;
    host.rows = host.columns_count = n;
    for (std::int32_t i = 0; i <= n; ++i) host.row_offsets.push_back(std::int64_t(i) * n);
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j) {
        host.columns.push_back(j);
        host.values.push_back(narrow<Scalar>(dense[std::size_t(i) * n + j]));
      }
    levels.back().SQ.emplace(exec_, host);
    is_direct = true;
    end_phase("coarsest level");
  }

  Exec exec_;
  double weight_;
  Nodes<Exec> nodes_;  ///< of the coarsest level so far, where there are modes
  Modes<Scalar, Exec> modes_;
  std::unique_ptr<LanczosMemory<Exec>> lanczos_;
  ProductMemory<Exec> memory_;
  std::chrono::steady_clock::time_point phase_began_ = std::chrono::steady_clock::now();
};

/// \brief The weights of the sweeps x = x + w D^-1 (b - A x), times the largest eigenvalue of D^-1
/// A, for eigenvalues from `share` of it on: the inverse roots of the Chebyshev polynomial there.
inline std::vector<double> chebyshev_weights(int sweeps, double share) {
  std::vector<double> weights;
  for (int k = 0; k < sweeps; ++k)
    weights.push_back(
        2 / (1 + share + (1 - share) * std::cos(std::numbers::pi * (2 * k + 1) / (2.0 * sweeps))));
  return weights;
}

}  // namespace Solder::Impl::amg
