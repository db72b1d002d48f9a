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
///         {"preconditioner",
///          Solder::Parameters{{"name", "chebyshev"}, {"degree", 3}, {"inner", "jacobi"}}}};
///
/// A value is a bool, a whole number, a number, a word, or another tree. A word in place of a tree
/// is the tree of that name. Of two values of one name the last counts. Needs no Kokkos.
class Parameters {
 public:
  class Value;
  struct Entry;

  // Defined where an Entry is complete.
  Parameters();
  Parameters(std::initializer_list<Entry> entries);
  Parameters(Parameters const&);
  Parameters(Parameters&&) noexcept;
  Parameters& operator=(Parameters const&);
  Parameters& operator=(Parameters&&) noexcept;
  ~Parameters();

  /// \brief Sets a value, in place of an earlier one of this name.
  Parameters& set(std::string_view name, Value value);
  /// \brief The value of this name, or null.
  Value const* find(std::string_view name) const;
  std::vector<Entry> const& entries() const { return entries_; }
  bool empty() const;

 private:
  std::vector<Entry> entries_;
};

class Parameters::Value {
 public:
  template <std::same_as<bool> Bool>
  Value(Bool value) : value_(value) {}
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool> && !std::same_as<Integer, char>) Value(Integer value)
      : value_(static_cast<std::int64_t>(value)) {}
  template <std::floating_point Real>
  Value(Real value) : value_(static_cast<double>(value)) {}
  Value(std::nullptr_t) = delete;
  Value(char const* value) : value_(std::string(value)) {}
  Value(std::string_view value) : value_(std::string(value)) {}
  Value(std::string value) : value_(std::move(value)) {}
  Value(Parameters value) : value_(std::move(value)) {}

  /// \brief Null where it is something else.
  bool const* as_bool() const { return std::get_if<bool>(&value_); }
  std::int64_t const* as_integer() const { return std::get_if<std::int64_t>(&value_); }
  double const* as_real() const { return std::get_if<double>(&value_); }
  std::string const* as_word() const { return std::get_if<std::string>(&value_); }
  Parameters const* as_tree() const { return std::get_if<Parameters>(&value_); }

 private:
  std::variant<bool, std::int64_t, double, std::string, Parameters> value_;
};

struct Parameters::Entry {
  std::string name;
  Value value;
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
