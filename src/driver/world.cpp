// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "world.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "errors.hpp"

namespace Solder::Driver {

std::vector<double> World::each(double mine) const {
  if (all() == nullptr) return {mine};
  std::vector<double> values;
  for (std::vector<double> const& of_rank : Solder::Impl::of_each(*all(), {mine}))
    values.push_back(of_rank[0]);
  return values;
}

std::vector<std::int64_t> World::each_count(std::int64_t mine) const {
  std::vector<double> const values = each(static_cast<double>(mine));
  return {values.begin(), values.end()};
}

bool World::any(bool holds) const {
  double count = holds;
  if (all() != nullptr) all()->sum(&count, 1);
  return count > 0;
}

std::string World::text_of_first(std::string const& text) const {
  std::string all = text;
  std::uint64_t size = text.size();
  broadcast(&size, sizeof size, 0);
  together([&] { all.resize(size); });
  broadcast(all.data(), size, 0);
  return all;
}

std::vector<std::string> World::messages_of_all(std::vector<std::string> const& mine) const {
  return messages_of_first(mine, first_with(!mine.empty(), false));
}

std::vector<std::string> World::messages_of_first(std::vector<std::string> const& mine,
                                                  int first) const {
  std::vector<std::string> messages = mine;
  if (is_alone() || first == ranks_) return messages;
  std::uint64_t count = messages.size();
  broadcast(&count, sizeof count, first);
  messages.resize(count);
  for (std::string& message : messages) {
    std::uint64_t size = message.size();
    broadcast(&size, sizeof size, first);
    message.resize(size);
    broadcast(message.data(), size, first);
    if (first > 0) message = concat("rank ", std::to_string(first), ": ", message);
  }
  return messages;
}

std::string World::what_of_all(std::exception const& error) const {
  std::vector<std::string> mine;
  if (dynamic_cast<Solder::Impl::AnotherRankFailed const*>(&error) == nullptr)
    mine.emplace_back(what_of(error));
  int const first = first_with(!mine.empty(), true);
  if (first < 0) abort(what_of(error));
  auto const messages = messages_of_first(mine, first);
  return messages.empty() ? what_of(error) : messages[0];
}

void World::abort(std::string_view why) const {
  std::string const text = concat("error: ", why, "\n");
  [[maybe_unused]] auto const written = write(STDERR_FILENO, text.data(), text.size());
  std::_Exit(2);
}

bool is_launched() {
  for (char const* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

}  // namespace Solder::Driver
