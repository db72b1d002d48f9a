// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "candidates.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <solder/core/names.hpp>
#include <solder/core/options.hpp>
#include <solder/matrix/offsets.hpp>
#include <stdexcept>
#include <utility>

#include "costs.hpp"

namespace Solder::Compiled {
namespace {

// ---- What suits which matrix ----

/// Unknowns from one side of a flow's mesh to the other, which iterations grow with: n / bandwidth
/// where they are numbered line by line or plane by plane; else as for a mesh in the plane.
double unknowns_across(Analysis const& of) {
  double const n = of.rows.rows, plane = std::sqrt(n), space = std::cbrt(n);
  double const counted = n / std::max(1, of.bandwidth);
  return counted < 0.9 * space ? plane : std::min(counted, plane);
}

/// Iterations that CG with jacobi takes to 1e-8. Where every row is dominant, the eigenvalues of
/// D^-1 A lie in [1 - 1 / dominance, 1 + 1 / dominance] (Gershgorin), and CG's bound follows.
/// Elsewhere a guess: as for a mesh where A looks elliptic (a mesh in the plane where A may be
/// definite, because a trial of CG soon tells more), else three times as many.
double plain_iterations(Analysis const& of) {
  double const n = std::max(1, of.rows.rows);
  double const across =
      of.looks_elliptic() && !of.may_be_definite() ? unknowns_across(of) : std::sqrt(n);
  double const mesh = std::min(n + 1, (of.looks_elliptic() ? 3 : 9) * across);
  if (of.off_diagonals == 0) return 1;
  if (of.dominance <= 1) return std::max(mesh, 5.0);
  double const condition = (of.dominance + 1) / (of.dominance - 1);
  return std::max(3.0, std::min(mesh, 9.6 * std::sqrt(condition)));
}

bool always(Analysis const&) { return true; }
bool has_diagonal(Analysis const& of) { return of.diagonal.zeros == 0; }
bool is_definite(Analysis const& of) { return of.may_be_definite(); }
bool is_hermitian(Analysis const& of) { return of.may_be_definite() && of.off_diagonals > 0; }
bool has_even_rows(Analysis const& of) {
  return of.rows.longest <= Impl::longest_even_row(of.rows.mean);
}
bool is_even_hermitian(Analysis const& of) { return is_hermitian(of) && has_even_rows(of); }
bool is_large_mesh(Analysis const& of) {
  return is_even_hermitian(of) && of.looks_elliptic() && of.rows.rows >= 1000;
}
bool is_no_mesh(Analysis const& of) {
  return is_even_hermitian(of) && !of.looks_elliptic() && of.rows.rows >= 1000;
}
/// Whether a_ii is stored in every row, though it may be 0.
bool stores_diagonal(Analysis const& of) { return of.symmetry.diagonal.missing < 0; }
bool is_general(Analysis const& of) { return !of.may_be_definite(); }
bool is_large_flow(Analysis const& of) {
  return is_general(of) && of.looks_elliptic() && has_diagonal(of) && has_even_rows(of) &&
         of.rows.rows >= 1000;
}
/// How much of a flow is convection, by the largest relative difference of a_ij and a_ji (0.03 and
/// 0.5: cell Peclet numbers of 0.1 and 4 in the plane).
/// Iterations of multigrid grow with it, until interpolation by air is taken; those of ilu0 fall.
bool is_diffusive_flow(Analysis const& of) {
  return is_large_flow(of) && of.symmetry.hermitian.difference <= 0.03;
}
bool is_convective_flow(Analysis const& of) {
  return is_large_flow(of) && of.symmetry.hermitian.difference > 0.5;
}
bool is_mixed_flow(Analysis const& of) {
  return is_large_flow(of) && !is_diffusive_flow(of) && !is_convective_flow(of);
}
bool is_factorable(Analysis const& of) { return is_general(of) && stores_diagonal(of); }
bool is_factorable_flow(Analysis const& of) {
  return is_factorable(of) && is_large_flow(of) && !is_convective_flow(of);
}
/// Without fill, factors of a Hermitian indefinite matrix need 3.5 times the iterations of others'
/// (geometric mean of ten real ones), and those with fill are the quickest on seven of them.
bool is_factorable_indefinite(Analysis const& of) {
  return is_factorable(of) && !is_factorable_flow(of) && of.is_indefinite();
}
bool is_factorable_other(Analysis const& of) {
  return is_factorable(of) && !is_factorable_flow(of) && !of.is_indefinite();
}
/// Whether a matching of rows to columns, which permutes the rows, would do more harm than good: it
/// destroys the symmetry of the pattern, which the ordering against fill relies on. (On 55
/// nonsymmetric matrices GMRES with fill takes 0.32 to 1.1 of the time without matching where a
/// quarter of the entries or more, the diagonal included, have a mirror image. It solves none of 19
/// with fewer than a fifth.)
/// Where the whole diagonal is zero, a factorisation needs the matching.
bool keeps_its_rows(Analysis const& of) {
  return is_general(of) && double(of.unpaired) <= 0.75 * double(of.rows.nonzeros) &&
         of.diagonal.zeros < 0.9 * of.rows.rows;
}
bool is_indefinite_with_its_rows(Analysis const& of) {
  return keeps_its_rows(of) && of.is_indefinite();
}
bool may_lose_its_rows(Analysis const& of) { return !keeps_its_rows(of); }
bool needs_matching(Analysis const& of) { return is_general(of) && !keeps_its_rows(of); }
bool is_rather_dominant(Analysis const& of) {
  return is_general(of) && has_diagonal(of) && (of.dominance > 1.05 || of.off_diagonals == 0);
}
bool is_triangular(Analysis const& of) {
  return of.is_triangular() && of.off_diagonals > 0 && has_diagonal(of);
}
bool is_small(Analysis const& of) { return of.rows.rows <= 10'000; }
bool is_small_hermitian(Analysis const& of) { return is_hermitian(of) && is_small(of); }
bool is_large_hermitian(Analysis const& of) { return is_hermitian(of) && !is_small(of); }
bool is_middling(Analysis const& of) { return !is_small(of) && of.rows.rows <= 100'000; }
bool is_middling_hermitian(Analysis const& of) { return is_hermitian(of) && is_middling(of); }

/// The groups of the table, in their order; in a group, candidates that promise to take less time
/// come first. Of the promising ones only the first is tried at once: where it fails, its likes
/// seldom succeed, and the strong and the direct ones come next, then `other`: strong ones with
/// matching where those were without, or without it.
enum class Group { promising, strong, direct, other, likes, others, last, large };

/// One line of the table.
struct Rule {
  Group group;
  std::string_view solver, preconditioner, options;  ///< options: of the preconditioner
  bool (*suits)(Analysis const&);
  Likely likely;
  std::string_view because;
  bool needs_definite = false;
  double fill = 1;  ///< entries of the factors for each of A's, at most
};

constexpr std::string_view suits_most = "an incomplete factorisation suits most matrices";
constexpr std::string_view looks_like_flow =
    "A looks like a discretised convection and diffusion operator";
constexpr std::string_view matching_helps =
    "matching brings large entries to the diagonal, and fill makes the factors more accurate";
constexpr std::string_view too_symmetric =
    "fill makes the factors more accurate, and the pattern is too symmetric for a matching";
constexpr std::string_view direct_solve = "the factor is complete: a direct solve";
constexpr std::string_view hermitian_fill = "drop_tolerance=1e-4 fill_factor=10 ordering=amd";
constexpr std::string_view complete_hermitian = "drop_tolerance=0 ordering=amd shift=0";
constexpr std::string_view sturdy_fill =
    "drop_tolerance=1e-4 fill_factor=20 scale=equilibrate match=product";
constexpr std::string_view unmatched_fill = "drop_tolerance=1e-4 fill_factor=20 scale=equilibrate";
constexpr std::string_view nearly_direct = "drop_tolerance=1e-10 scale=equilibrate match=product";
/// All the fill that there is, up to most_entries: 12 bytes each, and a few times that in the
/// set-up.
constexpr double complete = 1000, most_entries = 1e8;

// clang-format off
constexpr auto promising = Group::promising, strong = Group::strong, others = Group::others,
               direct = Group::direct, other = Group::other, last = Group::last,
               large = Group::large;
constexpr Rule rules[] = {
    // Hermitian, and nothing speaks against positive definite.
    {promising, "cg", "jacobi", "", is_definite, {1, 1, 20000},
     "A may be positive definite, and jacobi has the cheapest iterations", true},
    {promising, "cg", "ic0", "", is_hermitian, {0.2, 5, 5000},
     "A may be positive definite, and ic0 takes about a fifth of the iterations of jacobi", true},
    {promising, "cg", "fsai", "", is_even_hermitian, {0.2, 5, 5000},
     "A may be positive definite, and fsai takes about a fifth of the iterations of jacobi", true},
    {promising, "cg", "ict", hermitian_fill, is_small_hermitian, {0.02, 5, 300},
     "fill makes the factor more accurate", true, 5},
    {promising, "cg", "amg", "", is_large_mesh, {0.06, 15, 60},
     "A looks like a discretised diffusion operator: with multigrid the iterations hardly grow with the size", true},
    {strong, "cg", "ict", hermitian_fill, is_large_hermitian, {0.02, 5, 300},
     "fill makes the factor more accurate", true, 5},
    {direct, "cg", "ict", complete_hermitian, is_small_hermitian, {0, 2, 2}, direct_solve, true, complete},
    {others, "cg", "amg", "", is_no_mesh, {0.3, 15, 500}, "multigrid may help although the others failed", true},
    // Any other.
    {promising, "gmres", "ilu0", "", is_triangular, {0, 2, 2}, "A is triangular, so ilu0 is exact"},
    {promising, "bicgstab", "jacobi", "", is_rather_dominant, {0.6, 2, 5000}, "A is diagonally dominant, and jacobi has the cheapest iterations"},
    {promising, "idr", "ilu0", "", is_factorable_other, {0.15, 10, 500}, suits_most},
    {promising, "bicgstab", "ilu0", "", is_factorable_other, {0.09, 6, 500}, suits_most},
    {promising, "idr", "ilu0", "", is_factorable_indefinite, {0.5, 20, 2000}, suits_most},
    {promising, "bicgstab", "ilu0", "", is_factorable_indefinite, {0.3, 12, 2000}, suits_most},
    {promising, "gmres", "ilut", unmatched_fill, is_indefinite_with_its_rows, {0.02, 5, 50},
     too_symmetric, false, 5},
    {promising, "idr", "ilu0", "", is_factorable_flow, {0.28, 10, 500}, suits_most},
    {promising, "bicgstab", "ilu0", "", is_factorable_flow, {0.17, 6, 500}, suits_most},
    {promising, "bicgstab", "amg", "", is_diffusive_flow, {0.04, 20, 60}, looks_like_flow},
    {promising, "bicgstab", "amg", "", is_mixed_flow, {0.1, 40, 150}, looks_like_flow},
    {promising, "bicgstab", "amg", "", is_convective_flow, {0.01, 8, 20}, looks_like_flow, false, 4},
    {strong, "gmres", "ilut", unmatched_fill, keeps_its_rows, {0.02, 5, 50}, too_symmetric, false, 5},
    {strong, "gmres", "ilut", sturdy_fill, needs_matching, {0.02, 5, 50},
     matching_helps, false, 5},
    {direct, "gmres", "ilut", nearly_direct, is_small, {0, 4, 4},
     "the factors are nearly complete: nearly a direct solve", false, complete},
    {other, "gmres", "ilut", sturdy_fill, keeps_its_rows, {0.1, 5, 100},
     matching_helps, false, 5},
    {other, "gmres", "ilut", unmatched_fill, may_lose_its_rows, {0.1, 5, 100},
     "it has fill, and needs no matching: there may be none", false, 5},
    {last, "gmres", "ilu0", "", stores_diagonal, {0.3, 4, 1000}, "gmres never increases the residual"},
    {last, "idr", "jacobi", "", has_diagonal, {1, 4, 10000}, "it has no factorisation, which may be unstable"},
    {last, "idr", "none", "", always, {1, 4, 10000}, "it has no preconditioner, which may do harm"},
    {last, "bicgstab", "none", "", always, {1, 4, 10000}, "it has no preconditioner, which may do harm"},
    {last, "gmres", "none", "", always, {1, 4, 10000}, "it has no preconditioner, which may do harm"},
    {large, "cg", "ict", complete_hermitian, is_middling_hermitian, {0, 2, 2}, direct_solve, true, complete},
    {large, "gmres", "ilut", nearly_direct, is_middling, {0, 4, 4},
     "the factors are nearly complete: nearly a direct solve", false, complete},
};
// clang-format on

/// "a=1e-3 b=word" as a tree.
Parameters parameters_of(std::string_view text) {
  Parameters tree;
  while (!text.empty()) {
    std::string_view const item = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    auto const equals = item.find('=');
    std::string_view const name = item.substr(0, equals), value = item.substr(equals + 1);
    double number = 0;
    auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size())
      tree.set(name, number);
    else
      tree.set(name, std::string(value));
  }
  return tree;
}

/// Takes A, if it may be definite, as one that is not quite Hermitian. (Not as an indefinite one,
/// which is harder to factorise.)
void take_as_general(Analysis& of) {
  if (of.may_be_definite()) of.symmetry.hermitian.difference = 1e-3;
}

/// Whether a solver takes the rules of others: bicgstab and idr those of each other, and those of
/// gmres where its own merits do not matter.
bool takes_others(std::string_view solver) { return solver == "bicgstab" || solver == "idr"; }

/// Whether rows of fsai are grown one by one: on an H200 that takes less time on 18 of 19 real
/// matrices of up to 10,000 rows, 0.8 of it in the geometric mean, and more on larger meshes.
bool takes_grown_fsai(Analysis const& of, Machine const& machine, Rule const& rule) {
  return !machine.is_host && rule.preconditioner == "fsai" && is_small(of);
}

/// Whether ilu0 is ordered by colours: with it IDR and BiCGStab take 0.48 and 0.44 of the time to
/// 1e-8 on 26 and 25 real matrices of 1,300 rows or more on an H200, and longer on smaller ones.
/// They take more iterations, too many for the restarts of GMRES(30) on some matrices. A pivot
/// beside a zero on the diagonal may fail that does not in natural order.
bool takes_coloured_ilu0(Analysis const& of, Machine const& machine, Rule const& rule) {
  return !machine.is_host && rule.preconditioner == "ilu0" && takes_others(rule.solver) &&
         has_diagonal(of) && of.rows.rows >= 1300 && !is_convective_flow(of);
}

/// Whose options those of a candidate's preconditioner are.
struct Asked {
  bool are_users = false;   ///< the user's, not the table's
  bool keep_order = false;  ///< see Restriction::keeps_order
};

/// What was found out, beside the analysis.
struct Known {
  double plain;  ///< iterations of CG with jacobi
  CompleteFactor complete{};
};

/// Whether a rule is for complete factors whose entries were counted. (A matching makes others of
/// them, which are seldom smaller.)
bool has_counted(Rule const& rule, CompleteFactor const& counted) {
  return rule.fill == complete && counted.is_known();
}
/// The entries of the factors for each of A's that a complete factorisation may have.
double most_fill(double entries) {
  return std::clamp(most_entries / std::max(entries, 1.0), 2.0, complete);
}
bool is_too_large(CompleteFactor const& factor, Analysis const& of) {
  return factor.fill(of) > most_fill(double(of.rows.nonzeros));
}
/// The elements (see PreconditionerCost) of complete factors.
double elements_of(CompleteFactor const& factor, std::string_view preconditioner) {
  return (preconditioner == "ilut" ? costs_of_ilut : 1) *
         (elements_of_entry * factor.entries + elements_of_product * factor.products);
}

Candidate candidate_of(Analysis const& of, Machine const& machine, Rule const& rule,
                       Known const& known, Asked const& asked = {}) {
  Rates const rates = rates_of(machine);
  SolverCost const& solver = cost_of(solver_costs, rule.solver);
  bool const orders_ilu0 = !asked.are_users && takes_coloured_ilu0(of, machine, rule),
             has_colours = orders_ilu0 ||
                           (!machine.is_host && rule.preconditioner == "ic0" && !asked.keep_order);
  PreconditionerCost const& M = cost_on(machine, has_colours ? by_colours : rule.preconditioner);
  Likely model = rule.likely;
  if (has_colours)
    model.share *= orders_ilu0 ? iterations_of_coloured_ilu0 : iterations_of_coloured_ic0;
  double const n = of.rows.rows, entries = double(of.rows.nonzeros),
               of_row = entries / std::max(n, 1.0);
  bool const is_counted = has_counted(rule, known.complete);
  double const fill = is_counted      ? known.complete.fill(of)
                      : rule.fill > 1 ? std::min(rule.fill, complete_fill(n))
                                      : 1;
  double const elements = is_counted
                              ? elements_of(known.complete, rule.preconditioner)
                              : entries * fill * std::max(M.elements, M.elements_by_row * of_row);
  double const product = rates.entry * entries + 3 * rates.word * n;
  // Rows have about as many colours as entries, and a long one is gone through by few threads.
  double const longest = std::max(of_row, of.rows.longest / 8.0),
               levels = fill * of_row * M.levels * std::sqrt(n) + longest * M.levels_by_row;
  double const application = rates.entry * M.entries * fill * entries + rates.word * M.words * n +
                             rates.stage * M.stages + rates.level * std::min(levels, n);
  bool const is_shared = machine.is_host ? M.is_shared_on_host : M.is_shared_on_gpu;
  int const likely = int(std::ceil(model.of(known.plain)));
  Parameters options = parameters_of(rule.options);
  if (takes_grown_fsai(of, machine, rule)) options.set("pattern", "adaptive");
  if (orders_ilu0) options.set("ordering", "multicolour");
  if (rule.fill == complete) options.set("fill_factor", most_fill(entries));
  return {.solver = std::string(rule.solver),
          .preconditioner = std::string(rule.preconditioner),
          .solver_options = {},
          .preconditioner_options = options,
          .setup = (is_shared ? rates.element : rates.element_alone) * elements +
                   (M.steps + M.steps_by_row * of_row) * rates.step,
          .iteration = solver.products * (product + application) + rates.word * solver.words * n +
                       rates.stage * solver.stages,
          .model = model,
          .likely = likely,
          .because = rule.because,
          .needs_definite = rule.needs_definite,
          // A flow's residual falls late: when what flows in has come through the mesh.
          .judged_from = std::max(Haste::least_iterations, is_large_flow(of) ? likely : 0),
          .is_complete = rule.fill == complete};
}

bool is_there(std::string_view preconditioner) {
  auto const& names = preconditioner_names();
  return std::find(names.begin(), names.end(), preconditioner) != names.end();
}

/// Whether a rule can work for a structurally singular matrix, which has no matching and no exact
/// factors, and whose diagonal says little.
bool takes_singular(Rule const& rule) {
  return rule.options == unmatched_fill || rule.preconditioner == "none";
}

/// Whether a rule is for this solver; empty: for any. block_cg takes cg's with several columns.
bool is_for(Rule const& rule, std::string_view solver) {
  if (solver.empty() || rule.solver == solver) return true;
  if (solver == "block_cg")
    return rule.solver == "cg" && (rule.preconditioner == "jacobi" ||
                                   rule.preconditioner == "fsai" || rule.preconditioner == "amg");
  return takes_others(solver) && rule.solver != "cg" &&
         !(rule.solver == "gmres" && rule.group == last);
}

/// What is known of a solver and a preconditioner that the user names: the table's line that suits
/// the matrix, else its first one, if there is one.
Rule named_rule(Analysis const& of, std::string_view solver, std::string_view preconditioner,
                std::string_view because) {
  Rule rule{promising, solver, preconditioner, "", always, {1, 1, 10000}, because};
  Rule const* found = nullptr;
  for (Rule const& known : rules)
    if (known.solver == solver && known.preconditioner == preconditioner &&
        (found == nullptr || (known.suits(of) && !found->suits(of))))
      found = &known;
  if (found != nullptr) {
    rule.options = found->options;
    rule.likely = found->likely;
    rule.needs_definite = found->needs_definite;
  }
  return rule;
}

/// The candidates that the user lists.
std::vector<Candidate> listed(Analysis const& of, Machine const& machine, std::string const& list,
                              Known const& known) {
  std::vector<Candidate> candidates;
  auto const refuse = [](std::string const& what) {
    throw std::invalid_argument("Solder::make_solver: candidates: " + what);
  };
  for (auto const& [solver, preconditioner] :
       Impl::read_candidates(list, preconditioner_names(), refuse))
    candidates.push_back(candidate_of(
        of, machine, named_rule(of, solver, preconditioner, "it is the next one in candidates"),
        known));
  return candidates;
}

/// The candidates of the table, in their order.
/// \param all whether they suit the matrix or not
std::vector<Candidate> of_table(Analysis of, Machine const& machine, Restriction const& restriction,
                                bool all, Known const& known) {
  std::string const& solver = restriction.solver;
  if (takes_others(solver)) take_as_general(of);  // the others' rules are for such matrices
  struct Found {
    Group group, unless_first;  ///< the group that it is in if it does not come first
    bool only_first;            ///< it is not tried at all then
    Candidate candidate;
  };
  std::vector<Found> found;
  for (Rule rule : rules) {
    if (!is_there(rule.preconditioner) || !is_for(rule, solver)) continue;
    if (restriction.is_over_ranks && rule.fill == complete) continue;
    if (takes_others(solver)) rule.solver = solver;
    // A complete factor that was counted may come first, for larger A, too.
    bool const is_counted = has_counted(rule, known.complete),
               comes_first = is_counted && rule.needs_definite,
               suits = rule.suits(of) || comes_first;
    if (is_counted && is_too_large(known.complete, of)) continue;
    if (!all && !(suits && (of.unmatched_rows == 0 || takes_singular(rule)))) continue;
    found.push_back({comes_first ? promising : rule.group,
                     rule.group == promising ? Group::likes : rule.group, !rule.suits(of),
                     candidate_of(of, machine, rule, known)});
    if (!solver.empty()) found.back().candidate.solver = solver;
  }
  auto const sort = [&] {
    std::stable_sort(found.begin(), found.end(), [](Found const& a, Found const& b) {
      return std::pair(a.group, a.candidate.promise()) < std::pair(b.group, b.candidate.promise());
    });
  };
  sort();
  for (std::size_t k = 1; k < found.size(); ++k) found[k].group = found[k].unless_first;
  if (!all && !found.empty())
    found.erase(std::remove_if(found.begin() + 1, found.end(),
                               [](Found const& each) { return each.only_first; }),
                found.end());
  sort();
  std::vector<Candidate> candidates;
  for (Found& each : found) {
    Candidate& candidate = each.candidate;
    auto const is_same = [&](Candidate const& other) { return candidate.is_same_as(other); };
    if (std::none_of(candidates.begin(), candidates.end(), is_same))
      candidates.push_back(std::move(candidate));
  }
  return candidates;
}

/// Tries CG with jacobi first: its iterations tell how many it would take, and so what others
/// would. Where it promises most, and all of it takes no longer than a set-up, there is no trial.
/// It goes on as long as the rest promises to take at most the time of the best of the others. On a
/// GPU it is judged after 256 iterations, which take about as long as one set-up. (By the histories
/// of 42 matrices and their times on an H200, auto then takes 1.21 times as long as the best
/// combination; 1.32 if it is judged after 64.)
void put_cg_first(std::vector<Candidate>& candidates, Machine const& machine, std::int32_t rows) {
  auto const plain =
      std::find_if(candidates.begin(), candidates.end(), [](Candidate const& candidate) {
        return candidate.needs_definite && candidate.preconditioner == "jacobi";
      });
  if (plain == candidates.end() || (plain == candidates.begin() && rows < 1000)) return;
  Candidate trial = *plain;
  trial.is_trial = true;
  if (!machine.is_host) trial.judged_from = 256;
  trial.because = "its first iterations need no set-up, and show how many it would take";
  candidates.insert(candidates.begin(), std::move(trial));
}

/// Tries BiCGStab without a set-up first. Its iterations tell less than those of CG: on a host only
/// whether a few suffice. On a GPU hundreds of them take less time than the set-up of a
/// factorisation. With zeros on the diagonal they seldom suffice: there it is judged after a
/// quarter of the time that the first candidate promises, and goes on as long as its whole time, at
/// its rate, is no more than that. On a host, and where A needs a matching, it is tried only if
/// nearly all rows are dominant.
void put_bicgstab_first(std::vector<Candidate>& candidates, Analysis const& of,
                        Machine const& machine, Known const& known) {
  bool const is_matched = needs_matching(of), scales = has_diagonal(of) && !is_matched;
  if (!machine.is_host && is_matched) return;
  std::string_view const preconditioner = scales ? "jacobi" : "none";
  if (candidates[0].preconditioner == preconditioner) return;
  std::string_view const because =
      machine.is_host ? "its first iterations need no set-up, and show whether a few more suffice"
                      : "it needs no set-up, in whose time a GPU does many iterations";
  Candidate trial = candidate_of(
      of, machine, {promising, "bicgstab", preconditioner, "", always, {0.6, 2, 5000}, because},
      known);
  double const promise = candidates[0].promise();
  trial.is_trial = true;
  if (machine.is_host) {
    trial.judged_from = 6;
    trial.share_of_next = 0.5;
    bool const is_likely = scales || of.dominant_rows >= 0.95 * of.rows.rows;
    if (!is_likely || trial.judged_from * trial.iteration > 0.25 * promise) return;
  } else {
    double const share = scales ? 1 : 0.25;
    trial.judged_from = std::max(Haste::least_iterations, int(share * promise / trial.iteration));
    trial.share_of_next = scales ? 2 : 1;
  }
  candidates.insert(candidates.begin(), std::move(trial));
}

/// Tries the cheapest iterations first where nothing bounds their number.
void put_trial_first(std::vector<Candidate>& candidates, Analysis const& of, Machine const& machine,
                     Known const& known) {
  if (of.dominance > 1 || of.off_diagonals == 0 || of.is_triangular()) return;
  if (candidates[0].needs_definite)
    put_cg_first(candidates, machine, of.rows.rows);
  else
    put_bicgstab_first(candidates, of, machine, known);
}

}  // namespace

std::vector<Candidate> candidates_for(Analysis const& analysis, Machine const& machine,
                                      Restriction const& restriction) {
  std::vector<Candidate> candidates;
  double const plain = std::max(restriction.plain_iterations, plain_iterations(analysis));
  bool const is_for_cg = restriction.solver.empty() && is_hermitian(analysis);
  Known const known{plain, is_for_cg ? restriction.complete : CompleteFactor{}};
  if (!restriction.candidates.empty()) {
    candidates = listed(analysis, machine, restriction.candidates, known);
  } else {
    candidates = of_table(analysis, machine, restriction, false, known);
    if (restriction.may_try && restriction.plain_iterations == 0 && restriction.solver.empty() &&
        restriction.preconditioner.empty() && !candidates.empty())
      put_trial_first(candidates, analysis, machine, known);
    // What has been on trial and was slow does not come first.
    if (restriction.plain_iterations > 0 && !candidates.empty() &&
        candidates[0].name() == "cg+jacobi")
      if (Candidate const* const best = best_of(candidates, plain))
        std::rotate(candidates.begin(), candidates.begin() + (best - candidates.data()),
                    candidates.begin() + (best - candidates.data()) + 1);
    // A solver that is asked for is taken even where it does not suit.
    if (candidates.empty()) candidates = of_table(analysis, machine, restriction, true, known);
  }
  if (!restriction.preconditioner.empty()) {
    // Each solver once, where it stands first.
    std::vector<Candidate> of_solvers;
    for (Candidate& candidate : candidates) {
      auto const is_same = [&](Candidate const& other) { return other.solver == candidate.solver; };
      if (std::any_of(of_solvers.begin(), of_solvers.end(), is_same)) continue;
      // A matched matrix is no longer Hermitian; nor is M with the dropping of ilut, or with some
      // cycles of multigrid.
      if (candidate.needs_definite && restriction.solver.empty() &&
          (restriction.is_not_for_cg || restriction.preconditioner == "ilut"))
        continue;
      Candidate with = candidate_of(
          analysis, machine,
          named_rule(analysis, candidate.solver, restriction.preconditioner,
                     "this preconditioner was asked for, and the solver suits the matrix"),
          known, {.are_users = true, .keep_order = restriction.keeps_order});
      with.preconditioner_options = {};  // the user's
      with.needs_definite = candidate.needs_definite;
      of_solvers.push_back(std::move(with));
    }
    candidates = std::move(of_solvers);
  }
  if (candidates.empty())
    throw std::invalid_argument("Solder::make_solver: auto has no candidate with " +
                                (restriction.solver.empty() ? "this list" : restriction.solver) +
                                " for this matrix");
  return candidates;
}

double most_plain_iterations(std::int32_t rows) { return 30 * std::sqrt(std::max(rows, 1)); }

Candidate const* best_of(std::vector<Candidate> const& candidates, double plain_iterations) {
  Candidate const* best = nullptr;
  for (Candidate const& candidate : candidates)
    if (candidate.needs_definite && candidate.preconditioner != "jacobi" &&
        (best == nullptr ||
         candidate.promise_at(plain_iterations) < best->promise_at(plain_iterations)))
      best = &candidate;
  return best;
}

bool counts_complete(Analysis const& of, Machine const& machine, double promise) {
  double const entries = double(of.rows.nonzeros),
               counting = rates_of(machine).element_alone *
                          (elements_of_counted_row * of.rows.rows + elements_of_counted * entries);
  return is_hermitian(of) && of.rows.rows <= 100'000 && 2 * entries <= most_entries &&
         promise > 2 * counting;
}

double seconds_of_complete(Candidate const& candidate, CompleteFactor const& complete,
                           Analysis const& of, Machine const& machine) {
  if (is_too_large(complete, of)) return std::numeric_limits<double>::infinity();
  return rates_of(machine).element_alone * elements_of(complete, candidate.preconditioner);
}

double seconds_for_set_up(Candidate const& candidate, bool is_first, Wanted const& wanted,
                          double left) {
  constexpr double most_of_complete = 60, least_of_others = 20;
  if (candidate.is_complete)
    return wanted.automatic.time_limit > 0 || is_first ? left : most_of_complete;
  if (wanted.preconditioner.name != "auto" || !wanted.automatic.candidates.empty()) return left;
  return std::min(left, std::max(100 * candidate.setup, least_of_others));
}

CompleteFactor full_factor(std::int32_t rows) {
  double const n = rows;
  return {n * n / 2, n * n * n / 3};
}

Restriction restriction_of(Wanted const& wanted, SolverInputs const& inputs) {
  auto const given = [](std::string const& name) { return name == "auto" ? std::string() : name; };
  return {given(wanted.name),
          given(wanted.preconditioner.name),
          wanted.automatic.candidates,
          wanted.preconditioner.scaling.match != Match::none || !wanted.preconditioner.is_for_cg(),
          !wanted.automatic.never_converges() && inputs.columns == 1,
          ordering_of(Factorisation::ic0, wanted.preconditioner.incomplete, false) !=
              Ordering::multicolour,
          false,
          0,
          {}};
}

Wanted wanted_of(Wanted const& wanted, Candidate const& candidate) {
  Wanted with = wanted;
  with.check_symmetry = false;  // it was looked at already
  if (wanted.name == "auto") {
    Parameters parameters = candidate.solver_options;
    Wanted const named = read_solver(parameters.set("name", candidate.solver));
    with.name = named.name;
    with.options = named.options;
    std::visit(
        [&](auto& options) {
          static_cast<SolverOptions&>(options) =
              static_cast<SolverOptions const&>(wanted.automatic);
        },
        with.options);
  }
  if (wanted.preconditioner.name == "auto") {
    Parameters parameters = candidate.preconditioner_options;
    if (Scale const scale = wanted.preconditioner.scaling.scale; scale != Scale::none)
      parameters.set("scale", to_string(scale));
    with.preconditioner = read_preconditioner(parameters.set("name", candidate.preconditioner),
                                              with.needs_symmetry());
  }
  with.preconditioner.scaling.is_symmetric |= with.needs_symmetry();
  return with;
}

std::string introduced(Analysis const& analysis, std::vector<Candidate> const& candidates,
                       std::size_t chosen) {
  std::string text = describe(analysis) + "  first: " + candidates[chosen].solver + " with " +
                     candidates[chosen].preconditioner + ", because " +
                     std::string(candidates[chosen].because) + "\n";
  std::string others;
  std::set<std::string> named{candidates[chosen].name()};  // others may differ in options alone
  for (std::size_t k = chosen + 1; k < candidates.size(); ++k)
    if (std::string const name = candidates[k].name(); named.insert(name).second)
      others += (others.empty() ? "" : ", ") + name;
  return text + (others.empty() ? "" : "  if it fails or is slow: " + others + "\n");
}

std::string explained(Analysis const& analysis, std::vector<Candidate> const& candidates) {
  std::string text = "the matrix:\n" + describe(analysis) + "candidates, in this order:\n";
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    Candidate const& candidate = candidates[k];
    char line[128];
    std::snprintf(line, sizeof line,
                  "  %2zu. %-18s about %5d iterations, %8.3g s, set-up %.2g s: ", k + 1,
                  candidate.name().c_str(), candidate.likely,
                  candidate.likely * candidate.iteration, candidate.setup);
    text += line + std::string(candidate.because) + "\n";
  }
  return text;
}

}  // namespace Solder::Compiled
