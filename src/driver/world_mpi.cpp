// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The world of a build with MPI.
#include "world_mpi.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <solder/trilinos/mpi.hpp>
#include <streambuf>
#include <thread>

#include "errors.hpp"
#include "world.hpp"

namespace Solder::Driver {
namespace {

class MpiWorld final : public World {
 public:
  MpiWorld() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_dup(MPI_COMM_WORLD, &ends_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
    MPI_Comm here;
    MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &ranks_here_);
    MPI_Comm_free(&here);
    if (ranks_ > 1) all_.emplace(comm_);
  }
  Ranks const* all() const override { return all_ ? &*all_ : nullptr; }
  void broadcast(void* data, std::size_t size, int from) const override {
    in_parts(static_cast<char*>(data), size,
             [&](char* part, int count) { MPI_Bcast(part, count, MPI_BYTE, from, comm_); });
  }
  void send(void const* data, std::size_t size, int to) const override {
    in_parts(static_cast<char const*>(data), size,
             [&](char const* part, int count) { MPI_Send(part, count, MPI_BYTE, to, 0, comm_); });
  }
  void receive(void* data, std::size_t size, int from) const override {
    in_parts(static_cast<char*>(data), size, [&](char* part, int count) {
      MPI_Recv(part, count, MPI_BYTE, from, 0, comm_, MPI_STATUS_IGNORE);
    });
  }
  [[noreturn]] void abort(std::string_view why) const override {
    std::string const text =
        concat("error: ", rank_ > 0 ? concat("rank ", std::to_string(rank_), ": ") : "", why, "\n");
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, text.data(), text.size());
    MPI_Abort(MPI_COMM_WORLD, 2);
    std::_Exit(2);
  }
  MPI_Comm comm() const { return comm_; }

 private:
  template <class Byte, class F>
  static void in_parts(Byte* data, std::size_t size, F const& f) {
    constexpr std::size_t most = 1 << 30;
    for (std::size_t done = 0; done < size; done += most)
      f(data + done, static_cast<int>(std::min(most, size - done)));
  }
  /// Over a communicator of its own: the others may be in any other call.
  int first_with(bool holds, bool may_miss) const override {
    constexpr auto longest = std::chrono::seconds(10);
    int const mine = holds ? rank_ : ranks_;
    int first = ranks_, all_are_here = 0;
    MPI_Request request;
    MPI_Iallreduce(&mine, &first, 1, MPI_INT, MPI_MIN, ends_, &request);
    auto const began = std::chrono::steady_clock::now();
    while (true) {
      MPI_Test(&request, &all_are_here, MPI_STATUS_IGNORE);
      if (all_are_here != 0) return first;
      if (may_miss && std::chrono::steady_clock::now() - began > longest) return -1;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  MPI_Comm comm_ = MPI_COMM_NULL, ends_ = MPI_COMM_NULL;
  std::optional<MpiRanks> all_;
};

World const alone;
std::unique_ptr<MpiWorld> joined;

/// Takes what is written to it, and does nothing with it.
class Nothing : public std::streambuf {
  int overflow(int c) override { return c == traits_type::eof() ? 0 : c; }
  std::streamsize xsputn(char const*, std::streamsize count) override { return count; }
};

}  // namespace

World const& world() {
  if (joined != nullptr) return *joined;
  return alone;
}

MPI_Comm world_comm() { return joined->comm(); }

WorldGuard::WorldGuard(int* argc, char*** argv) {
  if (!is_launched()) return;
  int has = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &has);
  joined = std::make_unique<MpiWorld>();
  if (joined->is_first()) return;
  static Nothing nothing;
  std::cout.rdbuf(&nothing);
  std::cerr.rdbuf(&nothing);
}

WorldGuard::~WorldGuard() {
  if (joined != nullptr) MPI_Finalize();
}

}  // namespace Solder::Driver
