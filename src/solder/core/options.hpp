// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// \file
/// \brief What an options struct says of its members: their names, values and purposes, once. Such
/// a struct has `static constexpr auto described()`, a std::tuple of its options:
///
///     return std::tuple(Option("form", &GmresOptions::form, "how the basis is orthogonalised"),
///                       Option("restart", &GmresOptions::restart, from_to(1, 1000), "steps"));
///
/// check() refuses values that the description excludes. Code that reads options from a file,
/// explains them or writes them down goes through the tuple, as the driver does.

namespace Solder {

/// \brief A value of an enumeration, and its word.
template <class Enum>
struct Word {
  Enum value;             ///< the enumerator
  std::string_view word;  ///< its word, as in YAML
};

/// \brief An enumeration with words: words_of(an enumerator) is an array with all of them.
template <class Enum>
concept HasWords = std::is_enum_v<Enum> && requires(Enum value) {
  words_of(value).size();
};

/// \brief The word of an enumerator; "unknown" for a number that is none.
/// \ingroup options
template <HasWords Enum>
constexpr std::string_view word_of(Enum value) {
  for (Word<Enum> const& each : words_of(value))
    if (each.value == value) return each.word;
  return "unknown";
}

/// \brief Sets `value` to the enumerator of this word. \return whether there is one
/// \ingroup options
template <HasWords Enum>
constexpr bool read_word(std::string_view text, Enum& value) {
  for (Word<Enum> const& each : words_of(value))
    if (each.word == text) {
      value = each.value;
      return true;
    }
  return false;
}

/// \brief The numbers that an option may be.
struct Interval {
  double least = -std::numeric_limits<double>::infinity();  ///< lower end
  double most = std::numeric_limits<double>::infinity();    ///< upper end
  bool is_open = false;                                     ///< without its ends

  /// \brief Whether x is in the interval.
  constexpr bool holds(double x) const {
    return is_open ? x > least && x < most : x >= least && x <= most;
  }
};
/// \brief From least to most, both included.
/// \ingroup options
constexpr Interval from_to(double least, double most) { return {least, most}; }
/// \brief From least on, least included.
/// \ingroup options
constexpr Interval at_least(double least) {
  return {least, std::numeric_limits<double>::infinity()};
}
/// \brief Without the ends.
/// \ingroup options
constexpr Interval between(double least, double most) { return {least, most, true}; }

/// \brief The words of a bool.
struct Flag {
  std::string_view no = "false",  ///< the word of false
      yes = "true";               ///< the word of true
};

/// \brief One option of `Owner`: an enumeration with words, a bool, or a number.
template <class Owner, class Value>
struct Option {
  /// \brief The struct whose member the option is.
  using owner_type = Owner;
  /// \brief The type of the option.
  using value_type = Value;

  std::string_view name;        ///< as in YAML
  Value Owner::*member;         ///< where the value is
  std::string_view help;        ///< a line
  Interval range{};             ///< of a number
  Flag flag{};                  ///< of a bool
  std::string_view selector{};  ///< the option that decides whether this one counts;
                                ///< empty: it does
  std::array<std::string_view, 4> for_words{};  ///< one of which the selector then has
  std::string_view fallback{};     ///< an option whose value this one takes where it is not given
  std::string_view former_name{};  ///< that it had in an earlier version

  /// \brief An enumeration with words, a bool, or any number.
  constexpr Option(std::string_view name_, Value Owner::*member_, std::string_view help_)
      : name(name_), member(member_), help(help_) {}
  /// \brief A number from a range.
  constexpr Option(std::string_view name_, Value Owner::*member_, Interval range_,
                   std::string_view help_) requires(!HasWords<Value> && !std::same_as<Value, bool>)
      : name(name_), member(member_), help(help_), range(range_) {}
  /// \brief A bool with words of its own.
  constexpr Option(std::string_view name_, Value Owner::*member_, Flag flag_,
                   std::string_view help_) requires std::same_as<Value, bool>
      : name(name_), member(member_), help(help_), flag(flag_) {}

  /// \brief The same option, which counts only where another one, or a choice outside the struct
  /// (the driver's `name`), has one of these words, at most four.
  template <class... Values>
  requires(sizeof...(Values) <= 4) constexpr Option
      only_with(std::string_view other, Values const&... values) const {
    Option option = *this;
    option.selector = other;
    option.for_words = {as_word(values)...};
    return option;
  }
  /// \brief The same option; where it is not given it takes the value of another.
  constexpr Option as(std::string_view other) const {
    Option option = *this;
    option.fallback = other;
    return option;
  }
  /// \brief The same option, with the name that it had in an earlier version.
  constexpr Option formerly(std::string_view old) const {
    Option option = *this;
    option.former_name = old;
    return option;
  }

  /// \brief Whether its values are words: those of an enumeration or a bool.
  static constexpr bool has_words = HasWords<Value> || std::is_same_v<Value, bool>;
  /// \brief Whether its values are whole numbers.
  static constexpr bool is_integer = !has_words && std::is_integral_v<Value>;

  /// \brief All words that there are; none of a number.
  std::vector<std::string_view> words() const {
    std::vector<std::string_view> all;
    if constexpr (std::is_same_v<Value, bool>)
      all = {flag.no, flag.yes};
    else if constexpr (has_words)
      for (auto const& each : words_of(Value{})) all.push_back(each.word);
    return all;
  }
  /// \brief The word of a value, "unknown" where it has none.
  constexpr std::string_view word(Value value) const requires has_words {
    if constexpr (std::is_same_v<Value, bool>)
      return value ? flag.yes : flag.no;
    else
      return word_of(value);
  }
  /// \brief Sets `value` to the value of this word. \return whether there is one
  constexpr bool read(std::string_view text, Value& value) const requires has_words {
    if constexpr (std::is_same_v<Value, bool>) {
      if (text != flag.no && text != flag.yes) return false;
      value = text == flag.yes;
      return true;
    } else {
      return read_word(text, value);
    }
  }
  /// \brief Whether the description allows this value.
  constexpr bool allows(Value value) const {
    if constexpr (std::is_same_v<Value, bool>)
      return true;
    else if constexpr (has_words)
      return word_of(value) != "unknown";
    else
      return range.holds(static_cast<double>(value));
  }
  /// \brief Whether it counts where its selector has this word.
  constexpr bool is_for(std::string_view of_selector) const {
    for (std::string_view each : for_words)
      if (!each.empty() && each == of_selector) return true;
    return false;
  }

 private:
  template <class Of>
  static constexpr std::string_view as_word(Of const& value) {
    if constexpr (HasWords<Of>)
      return word_of(value);
    else
      return value;
  }
};

namespace Impl {

/// \brief "a, b or c".
inline std::string listed(std::vector<std::string_view> const& words,
                          std::string_view last = " or ") {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? std::string_view(", ") : last;
    text += words[i];
  }
  return text;
}

/// \brief The shortest text of a number: 5, 0.25, 1e-8; NaN.
inline std::string number_text(double x) {
  if (x != x) return "NaN";
  char digits[32];
  bool const is_whole = x > -1e15 && x < 1e15 && x == static_cast<double>(std::int64_t(x));
  auto const end = is_whole ? std::to_chars(digits, digits + sizeof digits, std::int64_t(x)).ptr
                            : std::to_chars(digits, digits + sizeof digits, x).ptr;
  std::string text(digits, end);
  auto const exponent = text.find_first_of('e');
  if (exponent != std::string::npos && text[exponent + 2] == '0')  // 1e-08
    text.erase(exponent + 2, 1);
  return text;
}

/// \brief A number to three digits, or NaN.
inline std::string rounded_text(double x) {
  if (x != x) return "NaN";
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

/// \brief "an integer from 1 to 5", "a number of at least 0".
inline std::string range_text(Interval const& range, bool is_integer) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::string const kind = is_integer ? "an integer" : "a number";
  if (range.least == -infinity) return kind;
  if (range.most == infinity) return kind + " of at least " + number_text(range.least);
  return kind + (range.is_open ? " between " : " from ") + number_text(range.least) +
         (range.is_open ? " and " : " to ") + number_text(range.most);
}

/// \param words that are allowed; none of a number, which has a range
[[noreturn]] inline void refuse_option(std::string_view who, std::string_view name,
                                       std::vector<std::string_view> const& words,
                                       Interval const& range, bool is_integer, double given) {
  std::string text(who);
  text.append(": ").append(name).append(" must be ");
  text.append(words.empty() ? range_text(range, is_integer) : listed(words));
  throw std::invalid_argument(text.append(", not ").append(number_text(given)));
}

template <class Options, class Owner, class Value>
void check_option(Options const& options, Option<Owner, Value> const& option,
                  std::string_view who) {
  Value const value = options.*option.member;
  if (!option.allows(value))
    refuse_option(who, option.name, option.words(), option.range, option.is_integer,
                  static_cast<double>(value));
}

}  // namespace Impl

/// \brief Calls f(option) for each option that the struct describes.
/// \ingroup options
template <class Options, class Function>
constexpr void for_each_option(Function const& f) {
  std::apply([&](auto const&... option) { (f(option), ...); }, Options::described());
}

/// \brief The word that the option of this name has; empty where there is none such.
/// \ingroup options
template <class Options>
constexpr std::string_view word_of_option(Options const& options, std::string_view name) {
  std::string_view word;
  for_each_option<Options>([&](auto const& option) {
    if constexpr (std::remove_cvref_t<decltype(option)>::has_words)
      if (option.name == name) word = option.word(options.*option.member);
  });
  return word;
}

/// \brief Words, by their names, that decide whether an option counts and are not in its struct:
/// that of the object, `name`.
using Choices = std::vector<std::pair<std::string_view, std::string_view>>;

/// \brief The word that decides whether an option with this selector counts.
/// \ingroup options
template <class Options>
std::string_view selected(Options const& options, std::string_view selector,
                          Choices const& choices) {
  for (auto const& [name, word] : choices)
    if (name == selector) return word;
  return word_of_option(options, selector);
}

/// \brief Whether one of the options counts.
/// \ingroup options
template <class Options, class Owner, class Value>
bool counts(Option<Owner, Value> const& option, Options const& options,
            Choices const& choices = {}) {
  return option.selector.empty() || option.is_for(selected(options, option.selector, choices));
}

/// \brief Calls f(option) for each option that counts.
/// \ingroup options
template <class Options, class Function>
void for_each_option_that_counts(Options const& options, Choices const& choices,
                                 Function const& f) {
  for_each_option<Options>([&](auto const& option) {
    if (counts(option, options, choices)) f(option);
  });
}

/// \brief Refuses what the description of `Options` does not allow.
/// \param who refuses, for people: "Solder::Gmres"
/// \throws std::invalid_argument "Solder::Gmres: restart must be an integer from 1 to 1000, not 0"
/// \ingroup options
template <class Options>
void check(Options const& options, std::string_view who) {
  for_each_option<Options>([&](auto const& option) { Impl::check_option(options, option, who); });
}

}  // namespace Solder
