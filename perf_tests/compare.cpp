// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compare.hpp"

#include <yaml-cpp/yaml.h>

#include "driver/schema.hpp"

namespace Solder::Perf {

std::vector<std::string_view> peer_names() {
  return {"viennacl", "kokkos_kernels", "vendor", "eigen", "petsc"};
}

bool was_found([[maybe_unused]] std::string_view peer) {
#ifdef SOLDER_PERF_VIENNACL
  if (peer == "viennacl") return true;
#endif
#ifdef SOLDER_PERF_KOKKOS_KERNELS
  if (peer == "kokkos_kernels") return true;
#endif
#ifdef SOLDER_PERF_VENDOR
  if (peer == "vendor") return true;
#endif
#ifdef SOLDER_PERF_EIGEN
  if (peer == "eigen") return true;
#endif
#ifdef SOLDER_PERF_PETSC
  if (peer == "petsc") return true;
#endif
  return false;
}

template <class Scalar>
std::vector<PeerTiming> run_peer([[maybe_unused]] std::string_view peer,
                                 [[maybe_unused]] PeerProblem<Scalar> const& problem,
                                 [[maybe_unused]] PeerRequest const& request) {
#ifdef SOLDER_PERF_VIENNACL
  if (peer == "viennacl") return run_viennacl(problem, request);
#endif
#ifdef SOLDER_PERF_KOKKOS_KERNELS
  if (peer == "kokkos_kernels") return run_kokkos_kernels(problem, request);
#endif
#ifdef SOLDER_PERF_VENDOR
  if (peer == "vendor")
    return problem.right_sides > 1 ? run_vendor_columns(problem, request)
                                   : run_vendor(problem, request);
#endif
#ifdef SOLDER_PERF_EIGEN
  if (peer == "eigen") return run_eigen(problem, request);
#endif
#ifdef SOLDER_PERF_PETSC
  if (peer == "petsc") return run_petsc(problem, request);
#endif
  return {};
}

template std::vector<PeerTiming> run_peer(std::string_view, PeerProblem<float> const&,
                                          PeerRequest const&);
template std::vector<PeerTiming> run_peer(std::string_view, PeerProblem<double> const&,
                                          PeerRequest const&);

std::vector<std::string> read_compare(std::filesystem::path const& file, Driver::Errors& errors) {
  std::vector<std::string> peers;
  YAML::Node const list = YAML::LoadFile(file.string())["compare"];
  if (!list) return peers;
  auto const refuse = [&](YAML::Node const& node, std::string const& hint) {
    errors.add(file.string() + ":" + std::to_string(node.Mark().line + 1),
               "compare must be a list of " + Driver::join(peer_names()) + hint);
  };
  if (!list.IsSequence()) refuse(list, "");
  for (YAML::Node const& item : list) {
    std::string const name = item.IsScalar() ? item.Scalar() : "";
    bool known = false;
    for (std::string_view const peer : peer_names()) known = known || peer == name;
    std::string_view const near = Driver::nearest(name, peer_names());
    if (known)
      peers.push_back(name);
    else
      refuse(item, near.empty() ? "" : "; did you mean '" + std::string(near) + "'?");
  }
  return peers;
}

std::vector<std::string_view> measures() {
  return {"solve", "setup",   "spmv",      "triangular",
          "batch", "kernels", "multi_dot", "batched_cholesky",
          "copy"};
}

std::string read_measure(std::filesystem::path const& file, Driver::Errors& errors) try {
  YAML::Node const top = YAML::LoadFile(file.string());
  YAML::Node const node = top.IsMap() ? top["measure"] : YAML::Node{};
  if (!node.IsDefined() || node.IsNull()) return "solve";
  std::string const word = node.IsScalar() ? node.Scalar() : "";
  for (std::string_view const measure : measures())
    if (word == measure) return word;
  std::string_view const near = Driver::nearest(word, measures());
  errors.add(file.string() + ":" + std::to_string(node.Mark().line + 1),
             "measure must be " + Driver::join(measures()) +
                 (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?"));
  return "solve";
} catch (YAML::Exception const&) {
  return "solve";
}

}  // namespace Solder::Perf
