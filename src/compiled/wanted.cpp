// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "wanted.hpp"

#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "parameter_reader.hpp"

namespace Solder::Compiled {
namespace {

/// Reads a preconditioner.
///
/// \param otherwise its name where none is given: none or auto \param may_choose whether auto may
/// be asked for
WantedPreconditioner read(Parameters const& parameters, std::string const& path,
                          std::vector<std::string>& errors, bool is_for_cg,
                          std::string const& otherwise, bool may_choose) {
  WantedPreconditioner wanted;
  ParameterReader reader(parameters, path, errors);
  std::vector<std::string_view> names = preconditioner_names();
  if (may_choose) names.emplace_back("auto");
  std::string const& name = wanted.name = reader.object(otherwise, names);
  if (name.empty()) return wanted;
  reader.read(wanted.scaling);
  if (name == "fsai" || name == "amg")
    wanted.is_single = reader.word("precision", "same", {"same", "single"}) == "single";
  if (name == "fsai") reader.read(wanted.fsai);
  if (wanted.is_incomplete()) {
    reader.read(wanted.incomplete, {{"name", name}});
    wanted.overlap = reader.word("overlap", "0", {"0", "1"}) == "1";
  }
  if (name == "chebyshev") {
    reader.read(wanted.chebyshev);
    Parameters const inner = reader.tree("inner");
    ParameterReader inner_reader(inner, path + "inner.", errors);
    wanted.inner = inner_reader.object("jacobi", {"none", "jacobi", "fsai"});
    if (wanted.inner == "fsai") inner_reader.read(wanted.fsai);
    if (!wanted.inner.empty()) inner_reader.finish(wanted.inner);
  }
  if (name == "amg") {
    std::string const near = reader.word("near_nullspace", "constant", {"constant", "rigid_body"});
    wanted.has_rigid_bodies = near == "rigid_body";
    reader.read(wanted.amg, {{"near_nullspace", near}});
    if (is_for_cg && wanted.amg.interpolation == AmgInterpolation::automatic)
      wanted.amg.interpolation = AmgInterpolation::aggregation;
  }
  reader.finish(name);
  bool const is_ic = wanted.is_incomplete() && wanted.needs_symmetry(),
             is_matched = wanted.scaling.match != Match::none;
  if (is_matched && name == "auto") errors.push_back(path + Impl::auto_matches);
  wanted.scaling.is_symmetric = is_for_cg || (wanted.needs_symmetry() && !is_matched);
  if (is_matched && (is_for_cg || is_ic))
    errors.push_back(path + Impl::unfit_for_matching(is_ic ? name : "this solver"));
  return wanted;
}

void throw_if_any(std::string const& who, std::vector<std::string> const& errors) {
  if (errors.empty()) return;
  std::string text = who + ":";
  for (std::string const& error : errors) text += (errors.size() > 1 ? "\n  " : " ") + error;
  throw std::invalid_argument(text);
}

template <class Options>
std::string lines(std::string const& indent, Options const& options, Choices const& choices = {}) {
  std::string text;
  for_each_option_that_counts(options, choices, [&](auto const& option) {
    text += indent + std::string(option.name) + ": ";
    if constexpr (std::remove_cvref_t<decltype(option)>::has_words)
      text += option.word(options.*option.member);
    else
      text += Impl::number_text(double(options.*option.member));
    text += "\n";
  });
  return text;
}

}  // namespace

std::vector<std::string_view> const& preconditioner_names() {
  static std::vector<std::string_view> const names = {
      "none", "jacobi", "fsai", "ic0", "ilu0", "ick", "iluk", "ict", "ilut", "chebyshev", "amg"};
  return names;
}

WantedPreconditioner read_preconditioner(Parameters const& parameters, bool is_for_cg) {
  std::vector<std::string> errors;
  WantedPreconditioner const wanted = read(parameters, "", errors, is_for_cg, "none", false);
  throw_if_any("Solder::make_preconditioner", errors);
  return wanted;
}

Wanted read_solver(Parameters const& parameters) {
  Wanted wanted;
  std::vector<std::string> errors;
  ParameterReader reader(parameters, "", errors);
  if (parameters.find("name") == nullptr)
    wanted.name = "auto";
  else
    wanted.name = reader.word("name", "", {"auto", "cg", "bicgstab", "gmres", "idr", "block_cg"});
  if (wanted.name == "bicgstab") wanted.options = BiCgStabOptions();
  if (wanted.name == "gmres") wanted.options = GmresOptions();
  if (wanted.name == "idr") wanted.options = IdrOptions();
  if (wanted.name == "block_cg") wanted.options = BlockCgOptions();
  auto const read_all = [&](auto& options) {
    reader.read(static_cast<SolverOptions&>(options));
    reader.read(static_cast<GuessOptions&>(options));
    reader.read(options);
  };
  if (wanted.name == "auto") {
    read_all(wanted.automatic);
    wanted.automatic.candidates = reader.text("candidates");
    Impl::read_candidates(
        wanted.automatic.candidates, preconditioner_names(),
        [&](std::string const& what) { errors.push_back("candidates: " + what); });
  } else if (!wanted.name.empty()) {
    std::visit(
        [&](auto& options) {
          read_all(options);
          static_cast<SolverOptions&>(wanted.automatic) = options;
        },
        wanted.options);
  }
  wanted.runner = reader.word("runner", Runner::automatic);
  wanted.format = reader.word("matrix_format", MatrixFormat::automatic);
  wanted.check_symmetry = reader.flag("check_symmetry", true);
  wanted.allow_stale_preconditioner = reader.flag("allow_stale_preconditioner", false);
  wanted.preconditioner =
      read(reader.tree("preconditioner"), "preconditioner.", errors, wanted.needs_symmetry(),
           wanted.name == "auto" ? "auto" : "none", true);
  if (!wanted.name.empty()) reader.finish(wanted.name);
  if (wanted.is_block() && (wanted.runner == Runner::team || wanted.runner == Runner::resident))
    errors.push_back("runner must be auto, launch or graph with block_cg, not " +
                     std::string(to_string(wanted.runner)));
  if (wanted.preconditioner.name == "amg")
    for (auto const& why : Impl::amg::cycle_failures(
             wanted.preconditioner.amg, "preconditioner.",
             wanted.needs_symmetry() && wanted.check_symmetry ? wanted.name : "",
             wanted.preconditioner.has_rigid_bodies))
      errors.push_back(why.text);
  throw_if_any("Solder::make_solver", errors);
  return wanted;
}

void check_hermitian(Wanted const& wanted, Symmetry const& symmetry) {
  if (!wanted.needs_symmetry() || !wanted.check_symmetry || !symmetry.is_square ||
      !symmetry.is_finite || symmetry.hermitian.holds())
    return;
  throw std::invalid_argument("Solder::make_solver: " + describe(symmetry) + "; " + wanted.name +
                              " needs a Hermitian positive definite matrix: use bicgstab, gmres "
                              "or idr, or turn the check off by check_symmetry: false");
}

std::string described(Wanted const& wanted) {
  auto const all = [](auto const& options) {
    return lines("  ", static_cast<SolverOptions const&>(options)) +
           lines("  ", static_cast<GuessOptions const&>(options)) + lines("  ", options);
  };
  return wanted.name + "\n" +
         (wanted.name == "auto" ? all(wanted.automatic) : std::visit(all, wanted.options));
}

std::string described(WantedPreconditioner const& M, std::string const& indent) {
  std::string text = M.name + "\n";
  if (M.name == "fsai") text += lines(indent, M.fsai);
  if (M.is_incomplete()) text += lines(indent, M.incomplete, {{"name", M.name}});
  if (M.name == "amg")
    text +=
        lines(indent, M.amg, {{"near_nullspace", M.has_rigid_bodies ? "rigid_body" : "constant"}});
  if (M.name == "chebyshev") {
    text += lines(indent, M.chebyshev) + indent + "inner: " + M.inner + "\n";
    if (M.inner == "fsai") text += lines(indent + "  ", M.fsai);
  }
  if (M.overlap > 0) text += indent + "overlap: 1\n";
  if (M.is_single) text += indent + "precision: single\n";
  if (M.scaling.is_wanted()) text += lines(indent, M.scaling);
  return text;
}

}  // namespace Solder::Compiled
