// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "document.hpp"

#include <nlohmann/json.hpp>
#include <solder/io/detail/whole_file.hpp>

#include "driver/output.hpp"

namespace Solder::Perf {

Driver::OutputConfig complete(Driver::OutputConfig output, std::filesystem::path const& file) {
  if (output.json.empty()) output.json = file.stem().concat(".json");
  auto const beside = [&](char const* extension) {
    return std::filesystem::path(output.json).replace_extension(extension);
  };
  if (output.report.empty()) output.report = beside(".html");
  if (output.plot.empty()) output.plot = beside(".svg");
  return output;
}

void write(nlohmann::ordered_json results, Driver::OutputConfig const& output,
           Driver::Provenance const& provenance, std::vector<Charts::Record> const& old) {
  using Json = nlohmann::ordered_json;
  Json document = Json::parse(Driver::provenance_json(provenance).text());
  document.update(results);
  std::string const text = document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  Solder::Impl::write_whole_file(output.json.string(), [&](auto& file) { file.text(text); });
  Driver::write_pictures(output, provenance.file, text, old);
}

}  // namespace Solder::Perf
