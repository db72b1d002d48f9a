// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace Solder {

/// \brief Options by name, as a plain tree: what make_solver() is given. The tree mirrors that of
/// the objects:
///
///     Solder::Parameters const parameters{
///         {"name", "cg"},
///         {"tolerance", 1e-10},
///         {"preconditioner", {{"name", "chebyshev"}, {"degree", 3}, {"inner", "jacobi"}}}};
///
/// A value is a bool, a whole number, a number, a word, or another tree. A word in place of a tree
/// is the tree of that name. Of two values of one name the last counts. Needs no Kokkos.
class Parameters {
 public:
  class Value;
  struct Entry;

  /// \brief An empty tree.
  // Defined where an Entry is complete.
  Parameters();
  /// \brief A tree of these entries; of two with one name the last counts.
  Parameters(std::initializer_list<Entry> entries);
  /// \brief A copy of the whole tree.
  Parameters(Parameters const&);
  /// \brief Takes the whole tree.
  Parameters(Parameters&&) noexcept;
  /// \brief Copies the whole tree.
  Parameters& operator=(Parameters const&);
  /// \brief Takes the whole tree.
  Parameters& operator=(Parameters&&) noexcept;
  /// \brief Frees the tree.
  ~Parameters();

  /// \brief Sets a value, in place of an earlier one of this name.
  Parameters& set(std::string_view name, Value value);
  /// \brief The value of this name, or null.
  Value const* find(std::string_view name) const;
  /// \brief All entries, in the order in which their names were first set.
  std::vector<Entry> const& entries() const { return entries_; }
  /// \brief Whether there is no entry.
  bool empty() const;

 private:
  std::vector<Entry> entries_;
};

/// \brief A value of a tree: a bool, a whole number, a number, a word or another tree.
class Parameters::Value {
 public:
  /// \brief A bool.
  template <std::same_as<bool> Bool>
  Value(Bool value) : value_(value) {}
  /// \brief A whole number.
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool> && !std::same_as<Integer, char>) Value(Integer value)
      : value_(static_cast<std::int64_t>(value)) {}
  /// \brief A number.
  template <std::floating_point Real>
  Value(Real value) : value_(static_cast<double>(value)) {}
  /// \brief A null pointer is no word.
  Value(std::nullptr_t) = delete;
  /// \brief A word.
  Value(char const* value) : value_(std::string(value)) {}
  /// \brief A word.
  Value(std::string_view value) : value_(std::string(value)) {}
  /// \brief A word.
  Value(std::string value) : value_(std::move(value)) {}
  /// \brief Another tree.
  Value(Parameters value) : value_(std::move(value)) {}
  /// \brief Another tree, of these entries.
  Value(std::initializer_list<Entry> entries);

  /// \brief The bool; null where it is something else.
  bool const* as_bool() const { return std::get_if<bool>(&value_); }
  /// \brief The whole number; null where it is something else.
  std::int64_t const* as_integer() const { return std::get_if<std::int64_t>(&value_); }
  /// \brief The number; null where it is something else, a whole number too.
  double const* as_real() const { return std::get_if<double>(&value_); }
  /// \brief The word; null where it is something else.
  std::string const* as_word() const { return std::get_if<std::string>(&value_); }
  /// \brief The tree; null where it is something else.
  Parameters const* as_tree() const { return std::get_if<Parameters>(&value_); }

 private:
  std::variant<bool, std::int64_t, double, std::string, Parameters> value_;
};

/// \brief A name and its value.
struct Parameters::Entry {
  std::string name;  ///< unique in its tree
  Value value;       ///< what it is set to
};

inline Parameters::Parameters() = default;
inline Parameters::Parameters(Parameters const&) = default;
inline Parameters::Parameters(Parameters&&) noexcept = default;
inline Parameters& Parameters::operator=(Parameters const&) = default;
inline Parameters& Parameters::operator=(Parameters&&) noexcept = default;
inline Parameters::~Parameters() = default;

inline Parameters::Parameters(std::initializer_list<Entry> entries) {
  for (Entry const& entry : entries) set(entry.name, entry.value);
}

inline Parameters::Value::Value(std::initializer_list<Entry> entries)
    : value_(Parameters(entries)) {}

inline bool Parameters::empty() const { return entries_.empty(); }

inline Parameters& Parameters::set(std::string_view name, Value value) {
  for (Entry& entry : entries_)
    if (entry.name == name) {
      entry.value = std::move(value);
      return *this;
    }
  entries_.push_back({std::string(name), std::move(value)});
  return *this;
}

inline Parameters::Value const* Parameters::find(std::string_view name) const {
  for (Entry const& entry : entries_)
    if (entry.name == name) return &entry.value;
  return nullptr;
}

}  // namespace Solder
