// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <solder/preconditioners/amg_options.hpp>
#include <solder/preconditioners/chebyshev_options.hpp>
#include <solder/preconditioners/fsai_options.hpp>
#include <solder/preconditioners/incomplete_options.hpp>
#include <solder/preconditioners/scaling_options.hpp>
#include <solder/solvers/auto_options.hpp>
#include <solder/solvers/bicgstab_options.hpp>
#include <solder/solvers/block_cg_options.hpp>
#include <solder/solvers/cg_options.hpp>
#include <solder/solvers/gmres_options.hpp>
#include <solder/solvers/idr_options.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "errors.hpp"

namespace Solder::Driver {

enum class Scalar { float_, double_, complex_float, complex_double };
/// \brief The names of the scalars in YAML.
inline constexpr std::array<std::string_view, 4> scalar_names = {"float", "double", "complex_float",
                                                                 "complex_double"};
constexpr std::string_view to_string(Scalar scalar) {
  return scalar_names[static_cast<std::size_t>(scalar)];
}
/// \brief The bytes of a number.
double bytes_of(Scalar scalar);

/// \brief The most right-hand sides of a problem.
inline constexpr std::int32_t most_right_hand_sides = 1000;
/// \brief The most systems of a batch.
inline constexpr std::int32_t most_systems = 1'000'000;

/// \brief A linear system: a file or a generator, and right-hand sides.
struct ProblemConfig {
  std::filesystem::path matrix;  ///< empty: generated
  std::string generate;          ///< empty: from a file
  std::map<std::string, std::variant<double, std::string>>
      parameters;   ///< of the generator, except the seed
  std::string rhs;  ///< ones, unit_solution, random, or empty: rhs_file
  std::filesystem::path rhs_file;
  std::int32_t rhs_count = 0;  ///< right-hand sides; 0: one, or as many as rhs_file has columns
  std::filesystem::path coordinates;  ///< a file of points; empty: the generator's, or none
  std::int32_t batch = 0;             ///< independent systems of the matrix's size; 0: no batch
  std::int64_t seed = 1;
  Scalar scalar = Scalar::double_;
  /// To display: the file name without folder and extensions, or the generator with the given
  /// parameters, as in "fem_poisson_2d(size=255)".
  std::string name;

  bool operator==(ProblemConfig const&) const = default;
};

/// \brief The options of all solvers: those that are not of the one named say nothing.
struct SolverConfig {
  std::string name;
  AutoOptions automatic;
  CgOptions cg;
  BlockCgOptions block_cg;
  BiCgStabOptions bicgstab;
  GmresOptions gmres;
  IdrOptions idr;
  bool check_symmetry = true;  ///< where a Hermitian matrix is needed
};

/// \brief The options of all preconditioners, likewise.
struct PreconditionerConfig {
  std::string name;
  std::string inner;           ///< of chebyshev
  std::string precision;       ///< of fsai, not under chebyshev, and of amg
  std::string near_nullspace;  ///< of amg
  FsaiOptions fsai;            ///< also under chebyshev
  ChebyshevOptions chebyshev;
  IncompleteOptions incomplete;  ///< of ic0, ilu0 and those with fill
  AmgOptions amg;                ///< with rigid_body the points tell the block size
  ScalingOptions scaling;        ///< of the matrix that it is made of
  /// For people: the name with the parameters that were given, as in "fsai(k=3)".
  std::string label;
};

struct ExecutionConfig {
  std::string space, runner, matrix_format;
  int repeat = 1;
};

struct OutputConfig {
  std::filesystem::path json, table, solution, history, report, plot;  ///< empty: not wanted
  std::string plot_kind{};
  bool verbose = false, roofline = false, host = false;
  bool introduces = false;  ///< says first what A is and what was chosen: of a matrix without YAML

  /// \brief Whether the results go to any file.
  bool keeps_results() const { return !json.empty() || !report.empty() || !plot.empty(); }
};

/// \brief A key of a run and its value, which may be the default.
struct KeyValue {
  std::string_view section, name;
  std::variant<std::string, double, std::int64_t, bool> value;
};

/// \brief "section.key" -> value, as written, a number in the shortest way.
using Given = std::map<std::string, std::string, std::less<>>;

/// \brief "name(key=value,...)" with those of the given keys that `chosen` takes.
std::string with_given(std::string const& name, Given const& given,
                       std::function<bool(std::string_view key)> const& chosen);

/// \brief Whether it is the key of a generator's parameter: "problem.size".
bool is_of_generator(std::string_view key);

/// \brief One run. Except for its unclear keys, it is complete and valid as far as the text of the
/// input can tell.
struct RunConfig {
  ProblemConfig problem;
  SolverConfig solver;
  PreconditionerConfig preconditioner;
  ExecutionConfig execution;
  OutputConfig output;
  std::vector<KeyValue> keys{};  ///< all that apply, in the schema's order
  std::map<std::string, std::string, std::less<>> origins;  ///< "section.key" -> "file:line"
  Given given{};  ///< the keys that were given and apply
  std::vector<std::string> swept{};  ///< those of them that were given as lists
  /// The keys whose values are unknown because they or others were refused. Their values may be
  /// empty.
  std::set<std::string, std::less<>> unclear{};

  bool is_clear(std::string_view key) const { return !unclear.contains(key); }
  bool is_clear_section(std::string_view section) const {
    auto const first = unclear.lower_bound(section);
    return first == unclear.end() || !first->starts_with(section);
  }
  /// \brief Whether the solver or the preconditioner is left to auto.
  bool chooses() const { return solver.name == "auto" || preconditioner.name == "auto"; }
  /// \brief Where a key was given; the file, if it was not given.
  std::string const& where(std::string_view key) const;
  /// \brief The key that specifies the matrix.
  std::string_view matrix_key() const {
    return problem.matrix.empty() ? "problem.generate" : "problem.matrix";
  }
};

/// \brief All runs of one YAML file, in sweep order: the file's last list varies fastest.
struct FileConfig {
  std::filesystem::path file;
  std::vector<RunConfig> runs;
  std::string text{};  ///< as it was read
};

/// \brief Whether a file is a matrix by itself, ".mtx" or ".mtx.gz", not YAML.
bool is_matrix(std::filesystem::path const& file);

/// \brief Reads YAML files, and matrices by themselves (a run each, all else by default), applies
/// overrides ("section.key=value"), and checks and expands the
/// result. Everything wrong is added to `errors`; the result is then only useful for finding more
/// errors. Does not look at matrix files, output folders or execution spaces (see check.hpp). Keys
/// at the top level of a file that are in `foreign` are left to the caller.
std::vector<FileConfig> read_config(std::vector<std::filesystem::path> const& files,
                                    std::vector<std::string> const& assignments, Errors& errors,
                                    std::vector<std::string_view> const& foreign = {});

}  // namespace Solder::Driver
