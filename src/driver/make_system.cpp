// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once for each scalar; CMakeLists.txt defines SOLDER_SCALAR.
#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <solder/core/errors.hpp>
#include <solder/core/scalar.hpp>
#include <solder/io/matrix_market.hpp>
#include <solder/matrix/batch.hpp>
#include <solder/matrix/partition.hpp>
#include <solder/problems/detail/split_mix.hpp>
#include <solder/problems/generators.hpp>
#include <string>

#include "columns_file.hpp"
#include "counts.hpp"
#include "deal.hpp"
#include "memory.hpp"
#include "schema.hpp"
#include "world.hpp"

namespace Solder::Driver {
namespace {

/// The figures that the matrix of generate: stand_in imitates.
StandInFigures stand_in_figures_of(ProblemConfig const& problem) {
  auto const& parameters = problem.parameters;
  if (auto const like = parameters.find("like"); like != parameters.end())
    return stand_in_figures(std::get<std::string>(like->second));
  auto const real = [&](char const* key) { return std::get<double>(parameters.at(key)); };
  auto const integer = [&](char const* key) { return static_cast<std::int64_t>(real(key)); };
  auto const words = rows_of("problem", "symmetry")[0]->words;  // in the order of the enumeration
  auto const word =
      std::find(words.begin(), words.end(), std::get<std::string>(parameters.at("symmetry")));
  return {.rows = integer("size"),
          .nonzeros = static_cast<std::int64_t>(std::round(real("size") * real("mean"))),
          .longest = integer("longest"),
          .deviation = real("deviation"),
          .half_bandwidth = integer("half_bandwidth"),
          .near = real("near"),
          .cluster = integer("cluster"),
          .alike = integer("alike"),
          .symmetry = static_cast<StandInSymmetry>(word - words.begin())};
}

/// Calls the generator with that name. schema() lists the same names and their parameters.
/// \param rows of a grid; what is random comes as a whole
template <class T>
HostCsr<T> generate(ProblemConfig const& problem, RowRange const& rows = {}) {
  auto const real = [&](char const* key) { return std::get<double>(problem.parameters.at(key)); };
  auto const integer = [&](char const* key) { return static_cast<std::int64_t>(real(key)); };
  auto const convection = [&] {
    return std::get<std::string>(problem.parameters.at("convection")) == "central"
               ? Convection::central
               : Convection::upwind;
  };
  auto const seed = static_cast<std::uint64_t>(problem.seed);
  std::string const& name = problem.generate;
  if (name == "stand_in") return stand_in<T>(stand_in_figures_of(problem), seed);
  std::int64_t const size = integer("size");
  if (name == "fem_poisson_2d") return fem_poisson_2d<T>(size, rows);
  if (name == "elasticity_3d") return elasticity_3d<T>(size, rows);
  if (name == "poisson_3d_7pt") return poisson_3d_7pt<T>(size, rows);
  if (name == "poisson_3d_27pt") return poisson_3d_27pt<T>(size, rows);
  if (name == "convection_diffusion_2d")
    return convection_diffusion_2d<T>(size, {real("velocity_x"), real("velocity_y")}, convection(),
                                      rows);
  if (name == "convection_diffusion_3d")
    return convection_diffusion_3d<T>(
        size, {real("velocity_x"), real("velocity_y"), real("velocity_z")}, convection(), rows);
  if (name == "random_spd") return random_spd<T>(size, integer("nonzeros_per_row"), seed);
  if (name == "block_lower_triangular")
    return block_lower_triangular<T>(integer("components"), size, real("density"), seed);
  if constexpr (ScalarTraits<T>::is_complex) {
    if (name == "helmholtz_2d")
      return helmholtz_2d<T>(size, real("wavenumber"), real("damping"), rows);
    if (name == "magnetic_laplacian_2d") return magnetic_laplacian_2d<T>(size, real("flux"), rows);
  }
  throw InputError(name + " is complex; choose the scalar complex_float or complex_double");
}

/// Random columns: real and imaginary parts are uniform in [-1, 1) and the same on every platform.
/// Column c has the seed `seed` + c. \param first row, and `n` from there on
template <class T>
std::vector<T> random_columns(std::int64_t first, std::size_t n, std::int32_t columns,
                              std::int64_t seed) {
  using Real = typename ScalarTraits<T>::Real;
  std::vector<Solder::Impl::SplitMix> random;
  for (std::int32_t c = 0; c < columns; ++c)
    random.emplace_back(static_cast<std::uint64_t>(seed + c))
        .skip(static_cast<std::uint64_t>(first) * (ScalarTraits<T>::is_complex ? 2 : 1));
  std::vector<T> values(n * columns);
  for (std::size_t k = 0; k < values.size(); ++k) {
    auto const next = [&] {
      return static_cast<Real>(Solder::Impl::symmetric_unit(random[k % columns].bits()));
    };
    Real const real = next();
    if constexpr (ScalarTraits<T>::is_complex)
      values[k] = T(real, next());
    else
      values[k] = real;
  }
  return values;
}

template <class T>
std::vector<T> row_sums(HostCsr<T> const& matrix) {
  std::vector<T> sums(static_cast<std::size_t>(matrix.rows));
  for (std::size_t i = 0; i < sums.size(); ++i)
    for (auto k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
      sums[i] += matrix.values[k];
  return sums;
}

/// Refuses a matrix that is too large for the library.
void check_counts(std::string const& name, Counts const& counts) {
  if (!are_too_many(counts)) return;
  auto const text = [](Counts const& of) {
    return concat(std::to_string(static_cast<std::int64_t>(of.rows)), " rows and ",
                  std::to_string(static_cast<std::int64_t>(of.nonzeros)), " nonzeros");
  };
  throw InputError(name, 0,
                   concat("the matrix is too large, ", text(counts), "; it may have at most ",
                          text(most_counts)));
}

/// Refuses a matrix that is too large, not square or empty.
template <class T>
HostCsr<T> make_matrix(ProblemConfig const& problem) {
  std::string const name = problem.matrix.empty() ? problem.name : problem.matrix.string();
  check_counts(name, promised_counts(problem));
  auto matrix = problem.matrix.empty() ? generate<T>(problem)
                                       : read_matrix_market<T>(problem.matrix.string());
  check_counts(name, {double(matrix.rows), double(matrix.nonzeros())});
  if (matrix.rows != matrix.columns_count)
    throw InputError(
        name, 0,
        concat("the matrix is not square: ", std::to_string(matrix.rows), " x ",
               std::to_string(matrix.columns_count),
               matrix.columns_count == 1 ? "; a right-hand side is named by problem.rhs" : ""));
  if (matrix.rows == 0) throw InputError(name, 0, "the matrix is empty");
  return matrix;
}

/// The systems of a batch. If the matrix is random, each system has its own seed.
template <class T>
HostBatch<T> make_batch(ProblemConfig const& problem) {
  std::string const& name = problem.generate;
  bool const is_random =
      name == "random_spd" || name == "stand_in" || name == "block_lower_triangular";
  ProblemConfig one = problem;
  HostCsr<T> matrix = make_matrix<T>(problem);
  double const systems = problem.batch;
  check_counts(problem.name, {systems * matrix.rows, systems * double(matrix.nonzeros())});
  HostBatch<T> batch;
  batch.reserve(std::int64_t(problem.batch) * matrix.rows, problem.batch * matrix.nonzeros());
  for (std::int32_t k = 0; k < problem.batch; ++k) {
    one.seed = problem.seed + k;
    if (k > 0 && is_random) matrix = generate<T>(one);
    batch.append(matrix);
  }
  check_counts(problem.name, {double(batch.matrix.rows), double(batch.matrix.nonzeros())});
  return batch;
}

/// The right-hand sides of a matrix, or of the rows that a rank has of it; not those of a file.
template <class T>
std::vector<T> make_rhs(ProblemConfig const& problem, System<T> const& system) {
  HostCsr<T> const& matrix = system.matrix;
  auto const n = static_cast<std::size_t>(matrix.rows);
  if (problem.rhs == "ones") return std::vector<T>(n, T(1));
  if (problem.rhs == "unit_solution") return row_sums(matrix);
  return random_columns<T>(system.first_row, n, std::max(problem.rhs_count, 1), problem.seed);
}

/// The points of a file or of the generator; none where there are none.
Points make_points(ProblemConfig const& problem, std::int32_t rows) {
  if (!problem.coordinates.empty()) return read_points(problem.coordinates.string(), rows);
  if (problem.generate != "elasticity_3d" || problem.batch > 0) return {};
  auto const size = static_cast<std::int64_t>(std::get<double>(problem.parameters.at("size")));
  return {elasticity_3d_coordinates(size), 3};
}

/// Returns what `make` returns, and prefixes an InputError with the origin and the name of the key.
template <class Make>
auto with_origin(RunConfig const& run, std::string_view key, Make const& make) {
  try {
    return make();
  } catch (InputError const& error) {
    throw InputError(concat(run.where(key), ": ", key, ": ", error.what()));
  }
}

template <class T>
System<T> make_whole(RunConfig const& run) {
  ProblemConfig const& problem = run.problem;
  System<T> system;
  with_origin(run, run.matrix_key(), [&] {
    if (problem.batch == 0) {
      system.matrix = make_matrix<T>(problem);
      return;
    }
    HostBatch<T> batch = make_batch<T>(problem);
    system.matrix = std::move(batch.matrix);
    system.starts = std::move(batch.starts);
  });
  system.nonzeros = system.matrix.nonzeros();
  system.points = with_origin(run, "problem.coordinates",
                              [&] { return make_points(problem, system.matrix.rows); });
  with_origin(run, "problem.rhs", [&] {
    system.rhs = problem.rhs_file.empty() ? make_rhs(problem, system)
                                          : read_columns<T>(problem.rhs_file.string(),
                                                            system.matrix.rows, problem.rhs_count);
    system.columns = static_cast<std::int32_t>(system.rhs.size() / std::size_t(system.matrix.rows));
  });
  return system;
}

/// Rows of about equal work for each rank, in slices of whole nodes.
template <class Work>
Slices slices_for(RunConfig const& run, std::int64_t rows, Work const& work) {
  Slices slices;
  auto const n = static_cast<std::int32_t>(rows);
  for (int rank = 0; rank <= world().ranks(); ++rank)
    slices.push_back(
        Solder::Impl::balanced_bound(rank, world().ranks(), n, rows_together(run), work));
  return slices;
}

/// This rank's rows: made here where the generator can, otherwise dealt out by the first rank.
template <class T>
System<T> make_slice(RunConfig const& run) {
  World const& all = world();
  ProblemConfig const& problem = run.problem;
  System<T> system;
  Slices slices(std::size_t(all.ranks()) + 1);
  if (makes_any_rows(problem)) {
    all.together([&] {
      with_origin(run, run.matrix_key(), [&] {
        Counts promised = promised_counts(problem);
        promised.nonzeros /= all.ranks();
        check_counts(problem.name, promised);
        slices = slices_for(run, static_cast<std::int64_t>(promised.rows),
                            [](std::int32_t i) { return double(i); });
        system.matrix =
            generate<T>(problem, {slices[all.rank()], slices[std::size_t(all.rank()) + 1]});
        check_counts(problem.name, {double(system.matrix.rows), double(system.matrix.nonzeros())});
      });
    });
  } else {
    HostCsr<T> whole;
    all.first_alone([&] {
      with_origin(run, run.matrix_key(), [&] { whole = make_matrix<T>(problem); });
      slices = slices_for(run, whole.rows, [&](std::int32_t i) {
        return Solder::Impl::host_work(whole.row_offsets[i], i);
      });
    });
    all.broadcast(slices.data(), slices.size() * sizeof(std::int64_t), 0);
    system.matrix = deal(whole, slices);
  }
  system.first_row = slices[all.rank()];
  for (std::int64_t const count : all.each_count(system.matrix.nonzeros()))
    system.nonzeros += count;

  Points points;
  all.first_alone([&] {
    points = with_origin(run, "problem.coordinates",
                         [&] { return make_points(problem, system.rows()); });
  });
  all.broadcast(&points.dimensions, sizeof points.dimensions, 0);
  system.points.dimensions = points.dimensions;
  if (points.dimensions > 0) system.points.values = deal(points.values, slices);

  if (problem.rhs_file.empty()) {
    all.together([&] { system.rhs = make_rhs(problem, system); });
    system.columns = problem.rhs == "random" ? std::max(problem.rhs_count, 1) : 1;
    return system;
  }
  std::vector<T> rhs;
  all.first_alone([&] {
    with_origin(run, "problem.rhs", [&] {
      rhs = read_columns<T>(problem.rhs_file.string(), system.rows(), problem.rhs_count);
    });
    system.columns = static_cast<std::int32_t>(rhs.size() / std::size_t(system.rows()));
  });
  all.broadcast(&system.columns, sizeof system.columns, 0);
  system.rhs = deal(rhs, slices, system.columns);
  return system;
}

}  // namespace

template <class T>
System<T> make_system(RunConfig const& run) {
  return world().is_alone() ? make_whole<T>(run) : make_slice<T>(run);
}

template System<SOLDER_SCALAR> make_system(RunConfig const&);

}  // namespace Solder::Driver
