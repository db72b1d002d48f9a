// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <solder/core/names.hpp>
#include <solder/core/options.hpp>
#include <solder/parameters.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace Solder::Compiled {

/// \brief Reads a tree of parameters, and collects all that is wrong with it: names that nobody
/// asked for, values of another kind, numbers out of range.
class ParameterReader {
 public:
  /// \param path of the tree, for people: "preconditioner."
  /// \param errors one a line
  ParameterReader(Parameters const& of, std::string path, std::vector<std::string>& errors)
      : of_(of), path_(std::move(path)), errors_(errors) {}

  /// \brief The word of this name, one of `valid`.
  std::string word(std::string_view name, std::string_view otherwise,
                   std::vector<std::string_view> const& valid) {
    Parameters::Value const* const value = find(name);
    if (value == nullptr) return std::string(otherwise);
    std::string const* const given = value->as_word();
    if (given != nullptr && std::find(valid.begin(), valid.end(), *given) != valid.end())
      return *given;
    std::string_view const near = given == nullptr ? "" : Impl::nearest_name(*given, valid);
    complain(name, "must be " + Impl::listed(valid) + ", not " + text_of(*value) +
                       (near.empty() ? "" : "; did you mean " + std::string(near) + "?"));
    return std::string(otherwise);
  }
  /// \brief The same, as the value that has the word.
  template <HasWords Enum>
  Enum word(std::string_view name, Enum value) {
    std::vector<std::string_view> valid;
    for (auto const& each : words_of(value)) valid.push_back(each.word);
    read_word(word(name, word_of(value), valid), value);
    return value;
  }
  /// \brief The name of the object that the tree describes, one of `valid`; `otherwise` for an
  /// empty tree, and empty if it is wrong.
  std::string object(std::string_view otherwise, std::vector<std::string_view> const& valid) {
    if (of_.empty() && !otherwise.empty()) return std::string(otherwise);
    if (of_.find("name") == nullptr) complain("name", "is needed: " + Impl::listed(valid));
    return word("name", "", valid);
  }
  bool flag(std::string_view name, bool otherwise) {
    Parameters::Value const* const value = find(name);
    if (value == nullptr) return otherwise;
    if (bool const* const given = value->as_bool()) return *given;
    if (std::string const* const given = value->as_word())
      if (*given == "true" || *given == "false") return *given == "true";
    complain(name, "must be true or false, not " + text_of(*value));
    return otherwise;
  }
  /// \brief The text of this name, any; empty where there is none.
  std::string text(std::string_view name) {
    Parameters::Value const* const value = find(name);
    if (value == nullptr) return {};
    if (std::string const* const given = value->as_word()) return *given;
    complain(name, "must be a text, not " + text_of(*value));
    return {};
  }
  /// \brief The tree of this name; a word stands for a tree that has it as its name.
  Parameters tree(std::string_view name) {
    Parameters::Value const* const value = find(name);
    if (value == nullptr) return {};
    if (Parameters const* const given = value->as_tree()) return *given;
    if (std::string const* const given = value->as_word()) return {{"name", *given}};
    complain(name, "must be a name, or parameters with a name, not " + text_of(*value));
    return {};
  }
  /// \brief Reads the options that a struct describes.
  template <class Options>
  void read(Options& options, Choices const& choices = {}) {
    for_each_option<Options>([&](auto const& option) {
      read(options.*option.member, option);
      if constexpr (!std::remove_cvref_t<decltype(option)>::has_words)
        if (!option.fallback.empty() && of_.find(option.name) == nullptr)
          take_fallback<Options>(options, option);
    });
    for_each_option<Options>([&](auto const& option) {
      if (of_.find(option.name) == nullptr || counts(option, options, choices)) return;
      std::vector<std::string_view> words;
      for (std::string_view const word : option.for_words)
        if (!word.empty()) words.push_back(word);
      complain(option.name, "applies only with " + std::string(option.selector) + ": " +
                                Impl::listed(words) + ", not " +
                                std::string(selected(options, option.selector, choices)));
    });
  }
  /// \brief Complains of what was not asked for.
  /// \param whose for people: "cg"
  void finish(std::string_view whose) {
    for (Parameters::Entry const& entry : of_.entries()) {
      if (std::find(known_.begin(), known_.end(), entry.name) != known_.end()) continue;
      auto const former = std::find_if(former_.begin(), former_.end(), [&](auto const& names) {
        return names.first == entry.name;
      });
      if (former != former_.end()) {
        complain(entry.name, "is called " + former->second + " now");
        continue;
      }
      std::vector<std::string_view> const valid(known_.begin(), known_.end());
      std::string_view const near = Impl::nearest_name(entry.name, valid);
      complain(entry.name, "is not a parameter of " + std::string(whose) +
                               (near.empty() ? "; valid: " + Impl::listed(valid, " and ")
                                             : "; did you mean " + std::string(near) + "?"));
    }
  }

 private:
  Parameters::Value const* find(std::string_view name) {
    known_.emplace_back(name);
    return of_.find(name);
  }
  void complain(std::string_view name, std::string const& what) {
    errors_.push_back(path_ + std::string(name) + " " + what);
  }
  static std::string text_of(Parameters::Value const& value) {
    if (bool const* const given = value.as_bool()) return *given ? "true" : "false";
    if (std::int64_t const* const given = value.as_integer()) return std::to_string(*given);
    if (double const* const given = value.as_real()) return Impl::number_text(*given);
    if (std::string const* const given = value.as_word()) return "'" + given->substr(0, 60) + "'";
    return "a tree";
  }

  template <class Value, class Option>
  void read(Value& member, Option const& option) {
    if (!option.former_name.empty())
      former_.emplace_back(option.former_name, std::string(option.name));
    Parameters::Value const* const value = find(option.name);
    if (value == nullptr) return;
    bool taken = false;
    if constexpr (Option::has_words) {
      if (std::string const* const given = value->as_word()) taken = option.read(*given, member);
      if constexpr (std::is_same_v<Value, bool>)
        if (bool const* const given = value->as_bool();
            given != nullptr && option.flag.yes == "true") {
          member = *given;
          taken = true;
        }
      if (!taken)
        complain(option.name,
                 "must be " + Impl::listed(option.words()) + ", not " + text_of(*value));
    } else {
      std::int64_t const* const whole = value->as_integer();
      double const* const real = value->as_real();
      double const number = whole != nullptr  ? static_cast<double>(*whole)
                            : real != nullptr ? *real
                                              : std::nan("");
      if (option.range.holds(number) && is_exact<Value>(number))
        member = whole != nullptr ? static_cast<Value>(*whole) : static_cast<Value>(number);
      else
        complain(option.name, "must be " + Impl::range_text(option.range, Option::is_integer) +
                                  ", not " + text_of(*value));
    }
  }
  /// \brief Whether an integer can be this number.
  template <class Value>
  static bool is_exact(double number) {
    if constexpr (std::is_integral_v<Value>)
      return number == std::floor(number) &&
             number >= static_cast<double>(std::numeric_limits<Value>::lowest()) &&
             number < std::ldexp(1.0, std::numeric_limits<Value>::digits);
    else
      return true;
  }
  template <class Options, class Option>
  static void take_fallback(Options& options, Option const& to) {
    for_each_option<Options>([&](auto const& from) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(options.*from.member)>,
                                   std::remove_cvref_t<decltype(options.*to.member)>>)
        if (from.name == to.fallback) options.*to.member = options.*from.member;
    });
  }

  Parameters const& of_;
  std::string path_;
  std::vector<std::string>& errors_;
  std::vector<std::string> known_;
  std::vector<std::pair<std::string, std::string>> former_;  ///< names
};

}  // namespace Solder::Compiled
