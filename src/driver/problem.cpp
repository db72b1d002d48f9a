// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "problem.hpp"

#include <algorithm>
#include <utility>

#include "memory.hpp"
#include "scalars.hpp"
#include "world.hpp"

namespace Solder::Driver {
namespace {

constexpr std::size_t most_items = 256;

AnySystem make_any(RunConfig const& run) {
  auto const make = [&]<class T>(T) -> AnySystem {
    if constexpr (is_built(yaml_name<T>))
      return std::make_shared<System<T> const>(make_system<T>(run));
    else
      throw InputError(concat(run.where("problem.scalar"), ": ", not_built(yaml_name<T>)));
  };
  switch (run.problem.scalar) {
    case Scalar::float_:
      return make(float());
    case Scalar::double_:
      return make(double());
    case Scalar::complex_float:
      return make(Kokkos::complex<float>());
    case Scalar::complex_double:
      break;
  }
  return make(Kokkos::complex<double>());
}

}  // namespace

std::int32_t rows_together(RunConfig const& run) {
  PreconditionerConfig const& config = run.preconditioner;
  if (config.name != "amg") return 1;
  if (config.near_nullspace != "rigid_body") return config.amg.block_size;
  return run.problem.coordinates.empty() ? 3 : 6;  // of a file it is 2 or 3
}

AnySystem SystemStore::get(RunConfig const& run) {
  bool const has_own_slices = !world().is_alone();
  for (Item const& item : items_)
    if (item.problem == run.problem &&
        (!has_own_slices || item.rows_together == rows_together(run)))
      return item.system;
  AnySystem const system = make_any(run);
  items_.push_back({run.problem, rows_together(run), system,
                    std::visit([](auto const& s) { return s->bytes(); }, system)});
  std::uint64_t total = 0;
  for (Item const& item : items_) total += item.bytes;
  std::uint64_t const most = std::min<std::uint64_t>(
      std::uint64_t(2) << 30, available_memory() / 4 / std::uint64_t(world().ranks_here()));
  // All ranks drop the same, for they make it again together.
  while (items_.size() > 1 && world().any(total > most || items_.size() > most_items)) {
    total -= items_.front().bytes;
    items_.pop_front();
  }
  return system;
}

}  // namespace Solder::Driver
