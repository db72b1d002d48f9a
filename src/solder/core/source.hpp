// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <solder/core/owned.hpp>
#include <solder/core/scalar.hpp>
#include <solder/core/team.hpp>

namespace Solder {

/// \brief Which run of a stage this is; known before the control block has arrived.
struct At {
  std::int32_t step = 0;  ///< of a restarted method's cycle
  std::int32_t turn = 0;  ///< of the innermost Repeat
};

/// \brief Where a vector lies that is column `step` of a basis, or alternately one of two arrays. A
/// vector that stays where it is needs no Place but a pointer: a kernel then has its address in the
/// argument space.
template <class Scalar>
struct Place {
  Scalar* values = nullptr;
  std::int64_t per_step = 0;      ///< scalars from one step's vector to the next one's
  std::int64_t per_odd_turn = 0;  ///< scalars from the vector of even turns to that of odd ones

  KOKKOS_FUNCTION Place() {}
  KOKKOS_FUNCTION Place(Scalar* first, std::int64_t step, std::int64_t odd_turn)
      : values(first), per_step(step), per_odd_turn(odd_turn) {}
  KOKKOS_FORCEINLINE_FUNCTION Scalar* at(At const& at) const {
    return values + at.step * per_step + (at.turn & 1) * per_odd_turn;
  }
  bool operator==(Place const&) const = default;
};

/// \brief The vector, in this run of a stage.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar* vector_at(Scalar* array, At const&) {
  return array;
}
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar* vector_at(Place<Scalar> const& place, At const& at) {
  return place.at(at);
}

/// \brief The same vector, to be read only.
template <class Scalar>
Scalar const* as_read(Scalar* array) {
  return array;
}
template <class Scalar>
Place<Scalar const> as_read(Place<Scalar> const& place) {
  return {place.values, place.per_step, place.per_odd_turn};
}

/// \brief A source, body or stage as it is in one run of the stage: what At decides, such as where
/// a vector lies, becomes an argument of the kernel, which saves registers.
template <class T>
auto bound(T const& t, At const& at) {
  if constexpr (requires { t.bound(at); })
    return t.bound(at);
  else
    return t;
}

namespace Impl {

/// \brief Asks for an entry of a vector in memory that is only read.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void ask_for_entry(Scalar const* vector, std::int32_t i) {
  ask_for(vector + i);
}
template <class Vector>
KOKKOS_FORCEINLINE_FUNCTION void ask_for_entry(Vector const&, std::int32_t) {}

/// \brief Several vectors.
template <class... Vectors>
struct Together {
  bool operator==(Together const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void load(auto const&, auto*) const {}
  KOKKOS_FORCEINLINE_FUNCTION void ask_for(std::int32_t) const {}
  KOKKOS_FORCEINLINE_FUNCTION void give(auto const& i, auto*, auto const& f, auto&... row) const {
    f(i, row...);
  }
  KOKKOS_FORCEINLINE_FUNCTION Together at_home(auto const&) const { return {}; }
};

/// \brief The last vector: an empty Together behind it would take 8 bytes of a stage.
template <class Last>
struct Together<Last> {
  Last first;

  bool operator==(Together const&) const = default;

  KOKKOS_FORCEINLINE_FUNCTION void load(auto const& i, auto* row) const { *row = first[i]; }
  KOKKOS_FORCEINLINE_FUNCTION void ask_for(std::int32_t i) const { ask_for_entry(first, i); }
  KOKKOS_FORCEINLINE_FUNCTION auto loaded(auto const& i) const {
    return Kokkos::Array<std::remove_cvref_t<decltype(first[i])>, 1>{first[i]};
  }
  KOKKOS_FORCEINLINE_FUNCTION void give(auto const& i, auto* row, auto const& f,
                                        auto&... before) const {
    f(i, before..., *row);
    if constexpr (!std::is_const_v<std::remove_reference_t<decltype(first[i])>>) first[i] = *row;
  }
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(auto const& home) const {
    return Together<std::remove_cvref_t<decltype(home(first))>>{home(first)};
  }
};

template <class First, class... Rest>
struct Together<First, Rest...> {
  First first;
  Together<Rest...> rest;

  bool operator==(Together const&) const = default;

  /// \brief Entry i of each.
  KOKKOS_FORCEINLINE_FUNCTION void load(auto const& i, auto* row) const {
    *row = first[i];
    rest.load(i, row + 1);
  }
  KOKKOS_FORCEINLINE_FUNCTION auto loaded(auto const& i) const {
    Kokkos::Array<std::remove_cvref_t<decltype(first[i])>, 1 + sizeof...(Rest)> row;
    load(i, row.data());
    return row;
  }
  /// \brief Asks for entry i of those that are const.
  KOKKOS_FORCEINLINE_FUNCTION void ask_for(std::int32_t i) const {
    ask_for_entry(first, i);
    rest.ask_for(i);
  }
  /// \brief f(i, entries that load() has loaded ...), which may change them; stores those of
  /// vectors that are not const.
  KOKKOS_FORCEINLINE_FUNCTION void give(auto const& i, auto* row, auto const& f,
                                        auto&... before) const {
    rest.give(i, row + 1, f, before..., *row);
    if constexpr (!std::is_const_v<std::remove_reference_t<decltype(first[i])>>) first[i] = *row;
  }
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(auto const& home) const {
    return Together<std::remove_cvref_t<decltype(home(first))>,
                    std::remove_cvref_t<decltype(home(std::declval<Rest const&>()))>...>{
        home(first), rest.at_home(home)};
  }
};

}  // namespace Impl

/// \brief A source hands (i, value), or (i, values ...), to a consumer, for every row i of the
/// calling team, once, while the value is in a register:
///
///     bool for_each_row(team, at, prepare, consume) const
///
/// loads what it can, calls prepare() and returns its answer; if that is true, calls
/// consume(i, value). All threads of the team call it together, and prepare answers the same in
/// all. `teams()` is its league, `dealt_rows()` the rows as hosts deal them; operator== compares.
/// On hosts the rows of a team are those between team.first(dealt_rows()) and team.last(...), or,
/// if in_order() says no, as many others.
///
/// This one: rows of several vectors, pointers or Owned, all loaded together. The consumer may
/// change the entries of those that are not const, which are then stored. Words: one a row and
/// vector, and one more for those stored.
template <class Scalar, class... Vectors>
struct Range {
  Rows rows;
  std::int32_t league;
  Impl::Together<Vectors...> from;

  bool operator==(Range const&) const = default;

  KOKKOS_FUNCTION std::int32_t teams() const { return league; }
  Rows dealt_rows() const { return rows; }
  static constexpr bool in_order() { return true; }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const&, Prepare const& prepare,
                                                Consume const& consume) const {
    return team.for_each_row(
        rows,
        [&](auto const& i) {
          Impl::ask_for_row(consume, i);
          return from.loaded(i);
        },
        prepare, [&](auto const& i, auto row) { from.give(i, row.data(), consume); });
  }

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    return Range<Scalar, std::remove_cvref_t<decltype(home(std::declval<Vectors const&>()))>...>{
        rows, league, from.at_home(home)};
  }
};

/// \brief Rows of one vector, wherever it lies: a pointer or a Place.
template <class Vector>
struct PlacedRange {
  Rows rows;
  std::int32_t league;
  Vector from;

  bool operator==(PlacedRange const&) const = default;

  KOKKOS_FUNCTION std::int32_t teams() const { return league; }
  Rows dealt_rows() const { return rows; }
  static constexpr bool in_order() { return true; }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const& at,
                                                Prepare const& prepare,
                                                Consume const& consume) const {
    auto const* const values = vector_at(from, at);
    return team.for_each_row(
        rows, [&](std::int32_t i) { return values[i]; }, prepare, consume);
  }
};

/// \brief The products of a matrix's rows with a vector, a pointer or a Place. Words: the matrix,
/// and 1 a row.
template <class Operator, class Vector>
struct Product {
  Operator A;
  std::int32_t league;
  Vector x;

  bool operator==(Product const&) const = default;

  KOKKOS_FUNCTION std::int32_t teams() const { return league; }
  Rows dealt_rows() const { return A.rows; }
  bool in_order() const {
    if constexpr (requires { A.in_order(); })
      return A.in_order();
    else
      return true;
  }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const& at,
                                                Prepare const& prepare,
                                                Consume const& consume) const {
    return A.for_each_row_product(team, vector_at(x, at), prepare, consume);
  }

  /// \brief Whether rows wait for what other ranks send: at all, and in a window of a host.
  bool may_wait() const requires requires(Operator const& op) { op.may_wait(); }
  { return A.may_wait(); }
  bool waits(Impl::HostTeam const& part) const { return A.waits(part); }

  /// \brief Whether a host can have all columns of a row at once.
  bool has_columns() const requires requires(Operator const& op) { op.has_columns(); }
  { return A.has_columns(); }
  /// \brief consume(column, i, value) for all columns of the team's rows.
  template <class Consume>
  void for_each_row_of_columns(Impl::HostTeam const& team, At const& at,
                               Consume const& consume) const {
    A.for_each_row_of_columns(team, vector_at(x, at), consume);
  }
  auto bound(At const& at) const {
    auto const vector = vector_at(x, at);
    return Product<Operator, std::remove_const_t<decltype(vector)>>{A, league, vector};
  }
};

/// \brief A row product, and what is known of the row besides.
template <class Scalar, class Own>
struct ProductAndOwn {
  Scalar value;
  Own own;

  KOKKOS_FORCEINLINE_FUNCTION ProductAndOwn(Scalar const& v, Own const& o) : value(v), own(o) {}
};

/// \brief Several sums of a row, in doubles: what is combined of them may be far smaller, or closer
/// to 1, than they are.
template <class Scalar, int N>
struct Terms {
  Wide<Scalar> of[N] = {};

  KOKKOS_FORCEINLINE_FUNCTION Terms& operator+=(Terms const& other) {
    for (int k = 0; k < N; ++k) of[k] += other.of[k];
    return *this;
  }
};

/// \brief An entry a of a matrix, in column j, and a d_j, for M = diag(d): what does not change in
/// a solve. `M` is pointwise and linear.
template <class Scalar, class M>
struct Weight {
  Scalar of[M::is_identity ? 1 : 2] = {};

  KOKKOS_FORCEINLINE_FUNCTION Weight() {}
  KOKKOS_FORCEINLINE_FUNCTION Weight(M const& m, Scalar const& a, std::int32_t j) {
    of[0] = a;
    if constexpr (!M::is_identity) of[1] = a * m(j, Scalar(1));
  }
  /// \brief a x and a d x.
  KOKKOS_FORCEINLINE_FUNCTION Wide<Scalar> a(Scalar const& x) const {
    return Wide<Scalar>(of[0]) * Wide<Scalar>(x);
  }
  KOKKOS_FORCEINLINE_FUNCTION Wide<Scalar> ad(Scalar const& x) const {
    return Wide<Scalar>(of[M::is_identity ? 0 : 1]) * Wide<Scalar>(x);
  }
};

/// \brief The base of made vectors: it has M, or Identity's operator for none.
template <class Scalar, class M>
struct Weighted {
  M m;

  bool operator==(Weighted const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION Weight<Scalar, M> weight(Scalar const& a, std::int32_t j) const {
    return {m, a, j};
  }
};

/// \brief A made vector M s, of a vector s in memory.
template <class Scalar, class M>
struct ScaledVector : Weighted<Scalar, M> {
  Scalar const* s;

  bool operator==(ScaledVector const&) const = default;
  KOKKOS_FORCEINLINE_FUNCTION Terms<Scalar, 1> terms(auto const&, Weight<Scalar, M> const& w,
                                                     std::int32_t j) const {
    return {{w.ad(s[j])}};
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar combined(auto const&, Terms<Scalar, 1> const& t) const {
    return Impl::narrow<Scalar>(t.of[0]);
  }
};

/// \brief The products of a matrix's rows with a made vector, which is not stored: it is a
/// combination of others, whose coefficients the stage's body has yet to compute. Words: the
/// matrix, and what is read of those others.
///
/// This saves a stage, where the combination is quick to repeat for each entry of a row. The rows
/// are handed out as ProductAndOwn. All MadeProducts of a program have the same matrix and M.
///
/// \tparam Operator asks for no entry before prepare() and has keep(); see matrix/kept.hpp
/// \tparam Vector is asked, s being the body's scalars,
///         - `weight(a, j)`: the part of the term a x_j that is fixed in a solve; see Weighted,
///         - `terms(s, weight, j)`: the term, for each of those others; of s only what known() set,
///         - `combined(s, terms)`, once s is known: x_j, or sums of them,
///         - `own(s, i)`: what the body is given with row i; of s only what known() set.
template <class Operator, class Vector>
struct MadeProduct {
  Operator A;
  std::int32_t league;
  Vector x;

  bool operator==(MadeProduct const&) const = default;

  KOKKOS_FUNCTION std::int32_t teams() const { return league; }
  Rows dealt_rows() const { return A.rows; }

  /// \brief The source in a run of the stage. The scalars may still be unknown.
  template <class Scalars>
  KOKKOS_FORCEINLINE_FUNCTION auto with(Scalars const& scalars) const {
    return WithScalars<Scalars>{A, {x, scalars}};
  }

  /// \brief What a thread of a whole solve may load once for all runs of the stage.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION auto keep(Team const& team) const requires requires {
    A.keep(team, x);
  }
  { return A.keep(team, x); }
  /// \brief The source that need not load it.
  template <class Kept>
  KOKKOS_FORCEINLINE_FUNCTION auto with_kept(Kept const& kept) const requires requires {
    requires std::is_same_v<typename Kept::Of, Operator>;
  }
  { return WithKept<Kept>{*this, kept}; }

 private:
  /// \brief x with the body's scalars.
  template <class Scalars>
  struct Made {
    Vector const& of;
    Scalars const& s;

    template <class A>
    KOKKOS_FORCEINLINE_FUNCTION auto weight(A const& a, std::int32_t j) const {
      return of.weight(a, j);
    }
    template <class W>
    KOKKOS_FORCEINLINE_FUNCTION auto terms(W const& weight, std::int32_t j) const {
      return of.terms(s, weight, j);
    }
    template <class T>
    KOKKOS_FORCEINLINE_FUNCTION auto combined(T const& terms) const {
      return of.combined(s, terms);
    }
    KOKKOS_FORCEINLINE_FUNCTION auto own(std::int32_t i) const { return of.own(s, i); }
  };

  template <class Scalars>
  struct WithScalars {
    Operator const& A;
    Made<Scalars> x;

    KOKKOS_FORCEINLINE_FUNCTION auto operator[](std::int32_t j) const {
      return x.combined(x.terms(x.weight(1, j), j));
    }

    template <class Team, class Prepare, class Consume>
    KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const&,
                                                  Prepare const& prepare,
                                                  Consume const& consume) const {
      return A.for_each_row_product(team, *this, prepare, with_own(consume));
    }
    template <class Consume>
    KOKKOS_FORCEINLINE_FUNCTION auto with_own(Consume const& consume) const {
      return [&](auto const& i, auto const& value) { consume(i, ProductAndOwn{value, x.own(i)}); };
    }
  };

  template <class Kept>
  struct WithKept {
    MadeProduct const& of;
    Kept const& kept;

    KOKKOS_FUNCTION std::int32_t teams() const { return of.league; }

    template <class Scalars>
    KOKKOS_FORCEINLINE_FUNCTION auto with(Scalars const& scalars) const {
      return KeptRows<Scalars, Kept>{of.A, {of.x, scalars}, kept};
    }
  };
  template <class Scalars, class Kept>
  struct KeptRows {
    Operator const& A;
    Made<Scalars> x;
    Kept const& kept;

    template <class Team, class Prepare, class Consume>
    KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const&,
                                                  Prepare const& prepare,
                                                  Consume const& consume) const {
      return A.for_each_row_product(team, kept, x, prepare, consume);
    }
  };
};

/// \brief f(at, i, values ...) of another source's rows.
template <class Source, class Function>
struct Mapped {
  Source source;
  Function f;

  bool operator==(Mapped const&) const = default;

  KOKKOS_FUNCTION std::int32_t teams() const { return source.teams(); }
  Rows dealt_rows() const { return source.dealt_rows(); }
  bool in_order() const { return source.in_order(); }
  bool may_wait() const requires requires(Source const& of) { of.may_wait(); }
  { return source.may_wait(); }
  bool waits(Impl::HostTeam const& part) const { return source.waits(part); }

  template <class Team, class Prepare, class Consume>
  KOKKOS_FORCEINLINE_FUNCTION bool for_each_row(Team const& team, At const& at,
                                                Prepare const& prepare,
                                                Consume const& consume) const {
    if constexpr (Team::asks_ahead)
      return source.for_each_row(team, at, prepare, Mapping<Consume>{f, at, consume});
    else
      return source.for_each_row(team, at, prepare, [&](auto const& i, auto const&... values) {
        consume(i, f(at, i, values...));
      });
  }

  template <class Home>
  KOKKOS_FORCEINLINE_FUNCTION auto at_home(Home const& home) const {
    auto const there = Solder::at_home(source, home);
    return Mapped<std::remove_const_t<decltype(there)>, Function>{there, f};
  }

 private:
  template <class Consume>
  struct Mapping {
    Function const& f;
    At const& at;
    Consume const& consume;

    KOKKOS_FORCEINLINE_FUNCTION void operator()(auto const& i, auto const&... values) const {
      consume(i, f(at, i, values...));
    }
    KOKKOS_FORCEINLINE_FUNCTION void ask_for(std::int32_t i) const {
      if constexpr (requires { f.ask_for(at, i); }) f.ask_for(at, i);
      Impl::ask_for_row(consume, i);
    }
  };
};

/// \brief Whether a source loads entries of vectors alone, and takes no products.
template <class Source>
inline constexpr bool is_range = false;
template <class Scalar, class... Vectors>
inline constexpr bool is_range<Range<Scalar, Vectors...>> = true;
template <class Vector>
inline constexpr bool is_range<PlacedRange<Vector>> = true;
template <class Source, class Function>
inline constexpr bool is_range<Mapped<Source, Function>> = is_range<Source>;

template <class Source, class Function>
Mapped<Source, Function> mapped(Source const& source, Function const& f) {
  return {source, f};
}

}  // namespace Solder
