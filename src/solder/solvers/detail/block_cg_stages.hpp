// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The stages of the block method of conjugate gradients. All columns are always in the same phase:
// a column's thread decides from the data of all of them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <solder/core/application.hpp>
#include <solder/core/column_team.hpp>
#include <solder/core/stage.hpp>
#include <solder/solvers/detail/block_small.hpp>

namespace Solder::Impl {

/// \brief GPU threads of a team: in a stage of one team, which works on b x b matrices, and in
/// others.
inline constexpr int small_threads = 1024, block_threads = 256;

/// \brief Teams that share the rows of n x b vectors: up to four a GPU's multiprocessor.
template <class Exec>
int block_league(Exec const& exec, std::int32_t rows, std::int32_t b, int host_slices) {
  if (is_host_space<Exec>) return host_slices;
  return static_cast<int>(std::clamp<std::int64_t>(std::int64_t(rows) * b / block_threads, 1,
                                                   4 * multiprocessors(exec)));
}

/// \brief Teams of a GPU that share inner products over the rows; one team adds what they leave.
template <class Exec>
int gram_league(Exec const& exec, std::int32_t rows, std::int32_t b, int host_slices) {
  if (is_host_space<Exec>) return host_slices;
  return static_cast<int>(
      std::clamp<std::int64_t>(std::int64_t(rows) * b / 1024, 1, 2 * multiprocessors(exec)));
}

/// \brief What a stage of one team has, which works on b x b matrices.
template <class Scalar>
struct BlockStage {
  using Small = BlockSmall<Scalar>;
  static constexpr int threads = small_threads, most_sums = 1;

  Small small;
  Limits limits;

  bool operator==(BlockStage const&) const = default;
  static constexpr int workspace() { return 0; }
  KOKKOS_FUNCTION static constexpr int teams() { return 1; }
};

/// \brief x = x + D y before columns are checked, D being the scales that y was computed for; x = 0
/// where b = 0. Words: 3 a row.
template <class Scalar>
struct BlockAddUp {
  struct Scalars {
    double scale;
    bool is_zero;
  };

  BlockSmall<Scalar> small;

  bool operator==(BlockAddUp const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION bool scalars(auto const& team, auto const&, auto const&, At const&,
                                           Control const& now, Control&, Scalars& of) const {
    using Small = BlockSmall<Scalar>;
    std::int32_t const c = team.column();
    of = {small.of_column(Small::scale, c), now.zeroed};
    if (now.recorded == 0 || of.is_zero) return of.is_zero;  // else the memory is of another solve
    return small.sum_in_y() != BlockSum::none && !small.is(Small::done, c);
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t, Scalar& x, Scalar const& y,
                                       Scalars const& of) const {
    x = of.is_zero ? Scalar{} : x + narrow<Scalar>(Wide<Scalar>(y) * of.scale);
  }
};

/// \brief Judges the columns, and says what all do then: end, iterate further, begin anew from the
/// true residuals of those that have not ended, or be checked again. One team.
template <class Scalar>
struct BlockCheck : BlockStage<Scalar> {
  using typename BlockStage<Scalar>::Small;
  using BlockStage<Scalar>::small, BlockStage<Scalar>::limits;
  static constexpr char const* label = "Solder::block_cg::check";
  static constexpr Phase phase = Phase::check;

  Enough enough;
  Sum<4> of_residual;

  bool operator==(BlockCheck const&) const = default;

  KOKKOS_FUNCTION void run(auto const& team, At const&, Control const& now, Control& next) const {
    pass_on(team, now, next);
    if (now.phase != phase) return;
    for_each_control(team, now, next, [&](std::int32_t c, Control const& was, Control& is) {
      if (was.recorded == 0 && !was.zeroed) small.of_column(Small::done, c) = 0;
      small.of_column(Small::outcome, c) = small.is(Small::done, c) ? ended : checked(c, is);
    });
    team.barrier();
    auto const outcome_of = [&](std::int32_t c) {
      return static_cast<int>(small.of_column(Small::outcome, c));
    };
    int outcome = ended;
    for (std::int32_t c = 0; c < small.b; ++c)
      outcome = outcome_of(c) > outcome ? outcome_of(c) : outcome;
    for_each_control(team, now, next, [&](std::int32_t c, Control const& was, Control& is) {
      if (outcome == again) {
        if (outcome_of(c) != again) is = was;
        return;
      }
      small.of_column(Small::done, c) = outcome_of(c) == ended;
      is.phase = outcome == ended     ? Phase::finished
                 : outcome == further ? Phase::iterate
                                      : Phase::begin;
      small.of_column(Small::stop, c) = is.stop_squared;
      small.of_column(Small::useless, c) = is.useless_squared();
      if (outcome == anew) small.of_column(Small::scale, c) = Kokkos::sqrt(is.true_squared);
      if (!small.is(Small::done, c)) small.value(Small::iteration) = is.iteration;
    });
    team.barrier();
    if (team.rank() == 0) small.value(Small::y) = static_cast<int>(BlockSum::none);
    if (outcome == again) return;
    in_team(team, small.b * small.b, [&](std::int32_t e) {
      std::int32_t const i = e / small.b, j = e % small.b;
      if (!small.takes_part(j))
        small.at(Small::C, i, j) = 0.0;  // what has ended is not changed any more
      else if (outcome == anew)
        small.at(Small::C, i, j) = i == j ? 1.0 : 0.0;
    });
  }

 private:
  /// In order of precedence: all columns do the last of these that any has.
  enum Outcome : int { ended, further, anew, again };

  KOKKOS_FUNCTION Outcome checked(std::int32_t c, Control& control) const {
    Sums<4> const sums = gather_alone(c, small.b, of_residual);
    switch (check_residual(control, limits, sums[0], sums[1], sums[2], {.restarts = true}, sums[3],
                           enough)) {
      case Verdict::finish:
      case Verdict::revert:
        return ended;
      case Verdict::go_on:
        return further;
      case Verdict::restart:
        return anew;
      case Verdict::zero:
        break;
    }
    return again;
  }
};

/// \brief Q = S D^-1, S being the true residuals; columns that have ended are zero. With z = M q
/// where M is pointwise. Words: 2 a row, and z.
template <class Scalar, class M>
struct BlockBegin {
  struct Scalars {
    double inverse;
  };

  BlockSmall<Scalar> small;
  M m;
  Scalar *q, *z;  ///< z: null where it is q, or other stages make it

  bool operator==(BlockBegin const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION bool scalars(auto const& team, auto const&, auto const&, At const&,
                                           Control const&, Control&, Scalars& of) const {
    using Small = BlockSmall<Scalar>;
    std::int32_t const c = team.column();
    of.inverse = small.takes_part(c) ? 1 / small.of_column(Small::scale, c) : 0;
    return true;
  }
  KOKKOS_FORCEINLINE_FUNCTION void row(std::int32_t e, Scalar const& s, Scalars const& of) const {
    Scalar const value = of.inverse == 0 ? Scalar{} : narrow<Scalar>(Wide<Scalar>(s) * of.inverse);
    q[e] = value;
    if (z != nullptr) z[e] = m(e, value);
  }
};

/// \brief Partial sums of the b x b inner products left^H right: those of a team are one after
/// another. Words: 2 a row.
///
/// On GPUs a thread has 4 x 4 of them for some of the rows.
template <class Scalar>
struct BlockGram {
  using Number = Wide<Scalar>;
  static constexpr char const* label = "Solder::block_cg::inner_products";
  static constexpr int threads = block_threads, tile = 4,
                       most_sums = tile * static_cast<int>(parts<Scalar>);

  Phase phase;
  Rows rows;
  std::int32_t league, b;
  Scalar const *left, *right;
  Number* partials;  ///< [league][b][b]

  bool operator==(BlockGram const&) const = default;
  static constexpr int workspace() { return 0; }
  KOKKOS_FUNCTION int teams() const { return league; }

  template <class Team>
  KOKKOS_FUNCTION void run(Team const& team, At const&, Control const& now, Control& next) const {
    pass_on(team, now, next);
    if (now.phase != phase) return;
    Number* const mine = partials + std::int64_t(team.league_rank()) * b * b;
    if constexpr (std::is_same_v<Team, HostTeam>)
      run_on_host(team, mine);
    else
      run_on_device(team, mine);
  }

 private:
  /// Four rows at a time: the sums, which are in the nearest cache, are read and written a fourth
  /// as often.
  void run_on_host(HostTeam const& team, Number* mine) const {
    for (std::int32_t e = 0; e < b * b; ++e) mine[e] = {};
    std::int32_t const last = team.last(rows);
    std::int32_t i = team.first(rows);
    for (; i + 4 <= last; i += 4) {
      Scalar const *const l = left + i * b, *const r = right + i * b;
      for (std::int32_t j = 0; j < b; ++j) {
        Number* const sum = mine + j * b;
        for (std::int32_t c = 0; c < b; ++c)
          sum[c] += (dot_term(l[j], r[c]) + dot_term(l[b + j], r[b + c])) +
                    (dot_term(l[2 * b + j], r[2 * b + c]) + dot_term(l[3 * b + j], r[3 * b + c]));
      }
    }
    for (; i < last; ++i)
      for (std::int32_t j = 0; j < b; ++j)
        for (std::int32_t c = 0; c < b; ++c)
          mine[j * b + c] += dot_term(left[i * b + j], right[i * b + c]);
  }

  struct Parts {
    Scalar of[tile];
  };
  KOKKOS_FORCEINLINE_FUNCTION static void put(Pair<Scalar> const& pair, Parts& parts, int u) {
    parts.of[u] = pair.first;
    parts.of[u + 1] = pair.second;
  }
  KOKKOS_FORCEINLINE_FUNCTION void load(std::int32_t i, std::int32_t first, std::int32_t second,
                                        Parts& l, Parts& r) const {
    for (int u = 0; u < tile; u += 2) {  // b is even
      l.of[u] = l.of[u + 1] = r.of[u] = r.of[u + 1] = Scalar{};
      if (first + u < b) put(load_pair(left + i * b + first + u), l, u);
      if (second + u < b) put(load_pair(right + i * b + second + u), r, u);
    }
  }

  KOKKOS_FUNCTION void run_on_device(auto const& team, Number* mine) const {
    std::int32_t const side = (b + tile - 1) / tile, tiles = side * side,
                       groups = team.size() / tiles, group = team.rank() / tiles,
                       of_tile = team.rank() - group * tiles, first = of_tile / side * tile,
                       second = of_tile % side * tile;
    Number sums[tile][tile]{};
    std::int32_t const stride = team.league_size() * groups;
    std::int32_t i = team.league_rank() * groups + group;
    if (group >= groups) i = rows.count;
    Parts l, r;
    if (i < rows.count) load(i, first, second, l, r);
    while (i < rows.count) {
      Parts const l_now = l, r_now = r;
      i += stride;
      if (i < rows.count) load(i, first, second, l, r);
      for (int u = 0; u < tile; ++u)
        for (int w = 0; w < tile; ++w) sums[u][w] += dot_term(l_now.of[u], r_now.of[w]);
    }
    auto* const shares = reinterpret_cast<Number*>(team.scratch());
    for (int u = 0; u < tile; ++u) {
      for (int w = 0; w < tile; ++w) shares[w * team.size() + team.rank()] = sums[u][w];
      team.barrier();
      for (std::int32_t k = team.rank(); k < tiles * tile; k += team.size()) {
        std::int32_t const w = k / tiles, at = k % tiles, row = at / side * tile + u,
                           column = at % side * tile + w;
        Number sum{};
        for (std::int32_t g = 0; g < groups; ++g) sum += shares[w * team.size() + g * tiles + at];
        if (row < b && column < b) mine[row * b + column] = sum;
      }
      team.barrier();
    }
  }
};

/// \brief Delta = P^H A P and alpha = Delta^-1, without what is rounding: makes G = alpha C, and
/// -alpha. One team.
template <class Scalar>
struct BlockStep : BlockStage<Scalar> {
  using typename BlockStage<Scalar>::Small;
  using BlockStage<Scalar>::small, BlockStage<Scalar>::limits;
  static constexpr char const* label = "Solder::block_cg::step";
  static constexpr Phase phase = Phase::iterate;

  Wide<Scalar> const* partials;
  std::int32_t parts_of;

  bool operator==(BlockStep const&) const = default;

  KOKKOS_FUNCTION void run(auto const& team, At const&, Control const& now, Control& next) const {
    pass_on(team, now, next);
    if (now.phase != phase) return;
    small.gather(team, Small::gram, partials, parts_of);
    double const wrong = small.wrong_in_diagonal(Small::gram);
    small.factor(team, Small::gram, Small::rotation, 0, small.drop_of_A());
    double const least = small.value(Small::least), rank = small.value(Small::rank);
    double const slack = Kokkos::fmax(1e-8, 100 * small.b * Small::eps);
    bool const definite = wrong >= 0 && least >= -slack;
    bool const fine =
        limits.unconditional() ? Kokkos::isfinite(wrong) : wrong == 0 && definite && rank > 0;
    in_team(team, small.b * small.b, [&](std::int32_t e) {
      std::int32_t const i = e / small.b, j = e % small.b;
      Wide<Scalar> sum{};
      for (std::int32_t k = 0; k < small.b; ++k)
        sum += small.at(Small::rotation, i, k) * conjugate(small.at(Small::rotation, j, k));
      small.matrix(Small::step)[e] = -sum;
      if (i == 0) small.of_column(Small::kept, j) = small.of_column(Small::place, j) >= 0;
    });
    small.multiply(team, Small::G, Small::step, Small::C, -1);
    if (fine) {
      if (team.rank() == 0)
        small.value(Small::y) = static_cast<int>(
            small.sum_in_y() == BlockSum::none ? BlockSum::first : BlockSum::several);
      return;
    }
    for_each_control(team, now, next, [&](std::int32_t c, Control const&, Control& is) {
      if (!Kokkos::isfinite(wrong))
        small.claim(c, is, Reason::not_finite, Cause::p_Ap, wrong);
      else if (!definite)
        small.claim(c, is, Reason::indefinite_matrix, Cause::p_Ap, wrong < 0 ? wrong : least);
      else
        small.claim(c, is, Reason::breakdown, Cause::p_Ap, 0);
    });
  }
};

/// \brief H = Q^H M Q = S^H S, T = S^-1, C = S C. Done twice at the beginning, to orthonormalise;
/// in an iteration with K = S^H for the directions that the step has kept, the residuals, and
/// whether to end. One team.
template <class Scalar>
struct BlockFactor : BlockStage<Scalar> {
  using typename BlockStage<Scalar>::Small;
  using BlockStage<Scalar>::small, BlockStage<Scalar>::limits;
  static constexpr char const* label = "Solder::block_cg::factor";

  Phase phase;                      ///< begin: rotation is the inverse of S, and T is made 1
  Wide<Scalar> const *of_H, *of_W;  ///< partial sums of Q^H M Q and, where M is not 1, of Q^H Q
  std::int32_t parts_of;

  bool operator==(BlockFactor const&) const = default;

  KOKKOS_FUNCTION void run(auto const& team, At const&, Control const& now, Control& next) const {
    pass_on(team, now, next);
    if (now.phase != phase) return;
    bool const begins = phase == Phase::begin;
    small.gather(team, Small::gram, of_H, parts_of);
    double const wrong = small.wrong_in_diagonal(Small::gram);
    if (!begins) residuals(team);
    constexpr double eps = Small::eps_of_sums;
    small.factor(team, Small::gram, begins ? Small::rotation : Small::T,
                 begins ? 0 : 100 * eps * eps, small.drop_of_products());
    small.multiply(team, Small::products, Small::S, Small::C);
    in_team(team, small.b * small.b, [&](std::int32_t e) {
      std::int32_t const i = e / small.b, j = e % small.b;
      small.matrix(Small::C)[e] = small.matrix(Small::products)[e];
      if (begins)
        small.matrix(Small::T)[e] = i == j ? 1.0 : 0.0;
      else
        small.matrix(Small::K)[e] =
            small.is(Small::kept, i) ? conjugate(small.at(Small::S, j, i)) : Wide<Scalar>{};
    });
    bool const has_rank = small.value(Small::rank) > 0;
    Claim const claim = begins ? of_beginning(wrong, has_rank) : of_iteration(wrong, has_rank);
    for_each_control(team, now, next, [&](std::int32_t c, Control const&, Control& is) {
      if (!begins && !small.is(Small::done, c)) {
        ++is.iteration;
        is.measure(small.of_column(Small::residual, c));
      }
      if (claim.why == Reason::running) return;
      // Where some have diverged, the others are merely checked with them.
      bool const is_other = claim.why == Reason::diverged && !has_diverged(c);
      small.claim(c, is, is_other ? Reason::converged : claim.why, claim.cause, claim.value);
      if (!begins) is.phase = phase;  // the direction comes first: the iteration may go on from it
    });
    team.barrier();
    if (team.rank() != 0) return;
    small.value(Small::ends) = claim.why != Reason::running;
    if (!begins) small.value(Small::iteration) += 1;
  }

 private:
  struct Claim {
    Reason why = Reason::running;
    Cause cause = Cause::none;
    double value = 0;
  };

  /// \brief (r_j, r_j) = d_j^2 c_j^H W c_j of the columns' residuals R = Q C D.
  KOKKOS_FUNCTION void residuals(auto const& team) const {
    auto W = Small::gram;
    if (of_W != nullptr) {
      W = Small::norms;
      small.gather(team, W, of_W, parts_of);
    }
    small.multiply(team, Small::scaled, W, Small::C);
    in_team(team, small.b, [&](std::int32_t j) {
      Wide<Scalar> sum{};
      for (std::int32_t k = 0; k < small.b; ++k)
        sum += conjugate(small.at(Small::C, k, j)) * small.at(Small::scaled, k, j);
      double const scale = small.of_column(Small::scale, j), square = real_part(sum);
      small.of_column(Small::residual, j) = square < 0 ? 0 : scale * scale * square;  // NaN stays
    });
  }

  KOKKOS_FUNCTION bool has_diverged(std::int32_t j) const {
    return small.of_column(Small::residual, j) > small.of_column(Small::useless, j);
  }
  KOKKOS_FUNCTION Claim of_beginning(double wrong, bool has_rank) const {
    if (!Kokkos::isfinite(wrong)) return {Reason::not_finite, Cause::r_z, wrong};
    if (limits.unconditional()) return {};
    if (wrong < 0) return {Reason::indefinite_preconditioner, Cause::r_z, wrong};
    if (!has_rank) return {Reason::breakdown, Cause::r_z, 0};
    return {};
  }
  KOKKOS_FUNCTION Claim of_iteration(double wrong, bool has_rank) const {
    bool all_small = true, finite = true, diverged = false;
    for (std::int32_t j = 0; j < small.b; ++j) {
      if (small.is(Small::done, j)) continue;
      double const square = small.of_column(Small::residual, j);
      finite = finite && Kokkos::isfinite(square);
      all_small = all_small && square <= small.of_column(Small::stop, j);
      diverged = diverged || has_diverged(j);
    }
    if (!Kokkos::isfinite(wrong)) return {Reason::not_finite, Cause::r_z, wrong};
    if (!finite) return {Reason::not_finite};
    if (!limits.unconditional() && (all_small || !has_rank)) return {Reason::converged};
    if (small.value(Small::iteration) + 1 >= limits.max_iterations) return {Reason::max_iterations};
    if (limits.unconditional()) return {};
    if (diverged) return {Reason::diverged};
    if (wrong < 0) return {Reason::indefinite_preconditioner, Cause::r_z, wrong};
    return {};
  }
};

/// \brief out = from[0] matrix[0] + from[1] matrix[1], of rows times b x b matrices.
template <class Scalar>
struct BlockProduct {
  Scalar* out;
  Scalar const* from[2];  ///< the second may be null
  Wide<Scalar> const* matrix[2];
  bool sums_up = false;  ///< added to what is there, where there is a BlockSum

  bool operator==(BlockProduct const& other) const {
    return out == other.out && from[0] == other.from[0] && from[1] == other.from[1] &&
           matrix[0] == other.matrix[0] && matrix[1] == other.matrix[1] && sums_up == other.sums_up;
  }
};

/// \brief One or two products of the same rows, with z = M out where M is pointwise. An out may be
/// one of its own inputs. Words: each array once a row.
template <class Scalar, class M>
struct BlockUpdate {
  using Small = BlockSmall<Scalar>;
  static constexpr int threads = block_threads, most_sums = 1;

  char const* label;
  Phase phase, then;  ///< then: the phase that follows
  bool is_last;       ///< of an iteration, which may have ended
  Small small;
  Rows rows;
  std::int32_t league;
  BlockProduct<Scalar> first, second;  ///< second: out may be null
  M m;
  Scalar* z;  ///< M first.out; may be null

  bool operator==(BlockUpdate const&) const = default;
  static constexpr int workspace() { return 0; }
  KOKKOS_FUNCTION int teams() const { return league; }

  template <class Team>
  KOKKOS_FUNCTION void run(Team const& team, At const&, Control const& now, Control& next) const {
    pass_on(team, now, next);
    if (now.phase != phase) return;
    if constexpr (std::is_same_v<Team, HostTeam>)
      run_on_host(team);
    else
      run_on_device(team);
    for_each_control(team, now, next, [&](std::int32_t, Control const&, Control& is) {
      is.phase = is_last && small.value(Small::ends) != 0 ? Phase::check : then;
    });
  }

 private:
  using Number = Wide<Scalar>;

  KOKKOS_FUNCTION bool adds(BlockProduct<Scalar> const& of) const {
    return of.sums_up && small.sum_in_y() == BlockSum::several;
  }

  void run_on_host(HostTeam const& team) const {
    std::int32_t const b = small.b, last = team.last(rows);
    Number sums[2][most_columns];
    auto const make = [&](BlockProduct<Scalar> const& of, std::int32_t at, Number* sum) {
      for (std::int32_t c = 0; c < b; ++c) sum[c] = adds(of) ? Number(of.out[at + c]) : Number{};
      for (int t = 0; t < 2 && of.from[t] != nullptr; ++t) {
        Scalar const* const row = of.from[t] + at;
        Number const* matrix = of.matrix[t];
        std::int32_t k = 0;
        for (; k + 4 <= b; k += 4, matrix += 4 * b) {
          Number const factors[] = {Number(row[k]), Number(row[k + 1]), Number(row[k + 2]),
                                    Number(row[k + 3])};
          for (std::int32_t c = 0; c < b; ++c)
            sum[c] += (factors[0] * matrix[c] + factors[1] * matrix[b + c]) +
                      (factors[2] * matrix[2 * b + c] + factors[3] * matrix[3 * b + c]);
        }
        for (; k < b; ++k, matrix += b)
          for (std::int32_t c = 0; c < b; ++c) sum[c] += Number(row[k]) * matrix[c];
      }
    };
    for (std::int32_t i = team.first(rows); i < last; ++i) {
      std::int32_t const at = i * b;
      make(first, at, sums[0]);
      if (second.out != nullptr) make(second, at, sums[1]);
      for (std::int32_t c = 0; c < b; ++c) write(at + c, sums[0][c], sums[1][c]);
    }
  }

  /// Rows that a slot of threads works on at once: an entry of a matrix is loaded once for them.
  static constexpr int at_once = 4;

  /// All lanes of a slot have read their rows before one writes to them.
  KOKKOS_FUNCTION void run_on_device(auto const& team) const {
    std::int32_t const stride = at_once * team.slots();
    for (std::int32_t base = team.league_rank() * stride; base < rows.count;
         base += team.league_size() * stride) {
      std::int32_t row[at_once];  // -1: none
      for (int u = 0; u < at_once; ++u) {
        std::int32_t const i = base + u * team.slots() + team.slot();
        row[u] = team.slot() < team.slots() && i < rows.count ? i : -1;
      }
      Number sums[2][at_once]{};
      make(first, row, team.column(), sums[0]);
      if (second.out != nullptr) make(second, row, team.column(), sums[1]);
      lane_barrier();
      for (int u = 0; u < at_once; ++u)
        if (row[u] >= 0) write(row[u] * small.b + team.column(), sums[0][u], sums[1][u]);
      lane_barrier();
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void make(BlockProduct<Scalar> const& of,
                                        std::int32_t const (&row)[at_once], std::int32_t c,
                                        Number (&sums)[at_once]) const {
    std::int32_t const b = small.b;
    if (adds(of))
      for (int u = 0; u < at_once; ++u)
        if (row[u] >= 0) sums[u] = Number(of.out[row[u] * b + c]);
    for (int t = 0; t < 2 && of.from[t] != nullptr; ++t)
      for (std::int32_t k = 0; k < b; k += 2) {  // b is even
        Number const one = of.matrix[t][k * b + c], other = of.matrix[t][(k + 1) * b + c];
        for (int u = 0; u < at_once; ++u) {
          if (row[u] < 0) continue;
          Pair<Scalar> const pair = load_pair(of.from[t] + row[u] * b + k);
          sums[u] += Number(pair.first) * one + Number(pair.second) * other;
        }
      }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(std::int32_t e, Number const& one,
                                         Number const& other) const {
    Scalar const value = narrow<Scalar>(one);
    first.out[e] = value;
    if (z != nullptr) z[e] = m(e, value);
    if (second.out != nullptr) second.out[e] = narrow<Scalar>(other);
  }
};

}  // namespace Solder::Impl
