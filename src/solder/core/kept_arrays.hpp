// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <typeindex>
#include <unordered_map>
#include <vector>

namespace Solder::Impl {

/// \brief make(). If it throws an Error, because memory does not suffice, it is called once more if
/// give_up() says that something has been given up.
template <class Error, class Make, class GiveUp>
auto made_or_again(Make const& make, GiveUp const& give_up) {
  try {
    return make();
  } catch (Error const&) {
    if (!give_up()) throw;
  }
  return make();
}

/// \brief The arrays of a set-up that is repeated: a set-up takes over the arrays that an earlier
/// one has given up, where it asks for as many entries. So set-ups of the same sizes allocate twice
/// and then no more.
///
/// The first set-up holds as much memory as it would without this. A second one, and all that
/// follow, hold the arrays of both and what was needed on the way, unless memory runs out.
class KeptArrays {
 public:
  /// \brief While a Use lives, the arrays that its thread allocates come from `arrays`; where they
  /// are nested, the outermost counts. Kernels that use an array which has been given up may be in
  /// flight on `exec` alone: if an exception ends a Use, it waits for exec.
  template <class Exec>
  class Use {
   public:
    Use(KeptArrays& arrays, Exec const& exec)
        : arrays_(current_ == nullptr ? &arrays : nullptr), exec_(exec) {
      if (arrays_ == nullptr) return;
      current_ = arrays_;
      ++arrays_->round_;
    }
    ~Use() {
      if (arrays_ == nullptr) return;
      if (std::uncaught_exceptions() > exceptions_) {
        try {
          exec_.fence("Solder: a set-up has failed");
        } catch (...) {  // the exception that ended it says more
        }
      }
      current_ = nullptr;
      arrays_->drop(arrays_->round_);
    }
    Use(Use const&) = delete;
    Use& operator=(Use const&) = delete;

   private:
    KeptArrays* arrays_;  ///< null: there is an outer one
    Exec exec_;
    int exceptions_ = std::uncaught_exceptions();
  };

  /// \brief The one that counts for the calling thread, or null.
  static KeptArrays* current() { return current_; }

  /// \brief An array of `size` entries that nobody has any more; else make(). `is_used` says which.
  template <class View, class Make>
  View take(std::size_t size, bool& is_used, Make const& make) {
    auto list = lists_.find(typeid(View));
    if (list == lists_.end())
      list = lists_.emplace(typeid(View), std::make_unique<ListOf<View>>()).first;
    auto& items = static_cast<ListOf<View>&>(*list->second).items;
    for (auto& item : items)
      if (item.view.size() == size && item.view.use_count() <= 1) {
        item.round = round_;
        is_used = true;
        return item.view;
      }
    is_used = false;
    if (round_ == 1) drop(round_);  // as if nothing were kept
    View const view = made_or_again<std::bad_alloc>(make, [this] { return drop(1); });
    items.push_back({view, round_});
    return view;
  }

 private:
  struct List {
    virtual ~List() = default;
    /// \brief Gives up arrays that nobody holds: in round 1 all of them, later those that have not
    /// been taken for two rounds. \return whether there were any
    virtual bool drop(std::uint64_t round) = 0;
  };
  template <class View>
  struct ListOf final : List {
    struct Item {
      View view;
      std::uint64_t round;  ///< that took it last
    };
    std::vector<Item> items;

    bool drop(std::uint64_t round) override {
      return std::erase_if(items, [round](Item const& item) {
               return item.view.use_count() <= 1 && (round == 1 || item.round + 1 < round);
             }) > 0;
    }
  };

  bool drop(std::uint64_t round) {
    bool any = false;
    for (auto& [type, list] : lists_) any = list->drop(round) || any;
    return any;
  }

  static inline thread_local KeptArrays* current_ = nullptr;
  std::unordered_map<std::type_index, std::unique_ptr<List>> lists_;
  std::uint64_t round_ = 0;
};

}  // namespace Solder::Impl
