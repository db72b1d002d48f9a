// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Results of a run, of any texts and numbers: what is written is JSON with the same texts and
// numbers in it.
#include <driver/output.hpp>
#include <driver/report/page.hpp>
#include <driver/table.hpp>

#include <cmath>
#include <cstring>

#include "target.hpp"

using namespace Solder::Driver;

namespace {

/// Takes values from an input; of one that is used up zeros and empty texts.
class Values {
 public:
  explicit Values(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T number() {
    T value{};
    std::size_t const size = std::min(sizeof(T), bytes_.size());
    std::memcpy(&value, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return value;
  }
  std::string text() {
    std::string const result(bytes_.substr(0, number<std::uint8_t>()));
    bytes_.remove_prefix(std::min(result.size(), bytes_.size()));
    return result;
  }
  std::size_t index(std::size_t count) { return number<std::uint8_t>() % count; }

 private:
  std::string_view bytes_;
};

Solder::Report report_of(Values& values) {
  Solder::Report report;
  report.reason = Solder::Reason(values.index(9));
  report.detail = values.text();
  report.form = values.text();
  report.iterations = values.number<int>();
  report.true_relative_residual = values.number<double>();
  report.relative_residual = values.number<double>();
  for (std::size_t i = values.index(8); i > 0; --i)
    report.history.push_back(values.number<double>());
  report.solve_seconds = values.number<double>();
  report.preconditioner.schedule = values.text();
  report.preconditioner.phases.push_back({values.text(), values.number<double>()});
  return report;
}

void claim_same(nlohmann::json const& json, double value) {
  claim(std::isfinite(value) ? json == value : json.is_null(), "a number is itself, or null");
}

void claim_same(nlohmann::json const& json, std::string const& text) {
  claim(!is_utf8(text) || (json.is_null() ? text.empty() : json == text), "a text is itself");
}

}  // namespace

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  Values values(text_of(data, size));
  static constexpr std::string_view preconditioners[] = {"none", "fsai", "chebyshev", "ic0", "amg"};
  RunConfig run;
  run.problem.name = values.text();
  run.solver.name = values.text();
  run.solver.idr.shadow_dimension = values.number<std::int8_t>();
  run.preconditioner.name = preconditioners[values.index(5)];
  run.preconditioner.label = values.text();
  run.preconditioner.inner = run.preconditioner.precision = values.text();
  run.problem.batch = values.number<std::int8_t>();
  RunResult result{&run,
                   values.number<std::int32_t>(),
                   values.number<std::int64_t>(),
                   values.text(),
                   report_of(values),
                   values.text(),
                   values.text()};
  for (std::size_t c = 1 + values.index(3); c > 0; --c) result.columns.push_back(report_of(values));
  result.copy_bandwidth = values.number<double>();
  std::string const device = values.text(), stopped = values.text();

  Provenance const provenance{.device = device, .file = run.problem.name, .yaml = stopped};
  std::string const text = json_text({result}, provenance, stopped);
  auto const json = nlohmann::json::parse(text);
  claim_same(json["device"], device);
  auto const& written = json["runs"].at(0);
  claim_same(written["problem"]["name"], run.problem.name);
  claim_same(written["solver"], run.solver.name);
  claim_same(written["matrix_format_reason"], result.format_reason);
  claim_same(written["detail"], result.report.detail);
  claim_same(written["true_relative_residual"], result.report.true_relative_residual);
  claim(written["history"].size() == result.report.history.size(), "the history is whole");
  for (std::size_t i = 0; i < result.report.history.size(); ++i)
    claim_same(written["history"][i], result.report.history[i]);

  std::vector<Solder::Charts::Record> const records = {Solder::Charts::read_record("r", text)};
  std::string const page = Solder::Charts::html(records, records);
  claim(page.find("<script") == std::string::npos, "a page has no script");

  run.problem.generate = "fem_poisson_2d";  // a table asks how large the system will be
  run.problem.parameters["size"] = 9.0;
  std::vector<FileConfig> const files = {{"runs.yaml", {run}}};
  claim(Table(files, Style{}).line(result).ends_with('\n'), "a table has lines");
  return 0;
}
