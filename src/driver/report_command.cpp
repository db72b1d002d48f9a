// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report_command.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <solder/core/errors.hpp>
#include <solder/io/detail/whole_file.hpp>

#include "document.hpp"
#include "errors.hpp"
#include "report/charts.hpp"
#include "report/page.hpp"
#include "schema.hpp"

namespace Solder::Driver {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view usage =
    "usage: solder report RESULTS.json [more.json ...] [--compare OLD.json] [--report PAGE.html]\n"
    "                     [--plot PICTURE.svg] [--plot-kind KIND]\n"
    "Makes a page of results that output.json or solder_perf has written; without --report and\n"
    "--plot it is RESULTS.html. KIND is ";

struct Request {
  std::vector<fs::path> files, old;
  fs::path report, plot;
  Charts::Kind kind = Charts::Kind::automatic;
  bool help = false;
};

Request read_request(std::vector<std::string> const& arguments, Errors& errors) {
  Request request;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string name = arguments[i], value;
    bool const is_option = name.starts_with("-");
    auto const equals = name.find('=');
    bool const is_joined = is_option && equals != std::string::npos;
    if (is_joined) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    if (!is_option) {
      request.files.emplace_back(name);
      continue;
    }
    if (name == "--help" || name == "-h") {
      request.help = true;
      continue;
    }
    std::vector<std::string_view> const options = {"--compare", "--report", "--plot",
                                                   "--plot-kind"};
    if (std::find(options.begin(), options.end(), name) == options.end()) {
      std::string_view const near = nearest(name, options);
      errors.add(shown(name), "unknown option",
                 near.empty() ? "" : concat("; did you mean ", near, "?"));
      continue;
    }
    if (!is_joined && i + 1 < arguments.size()) value = arguments[++i];
    if (value.empty()) errors.add(name, "needs a value after it");
    if (name == "--compare") request.old.emplace_back(value);
    if (name == "--report") request.report = value;
    if (name == "--plot") request.plot = value;
    if (name != "--plot-kind" || value.empty()) continue;
    std::vector<std::string_view> const kinds(Charts::kind_names.begin(), Charts::kind_names.end());
    request.kind = Charts::kind_of(value);
    if (to_string(request.kind) != value)
      errors.add(name, "must be ", join(kinds), ", not ", shown(value));
  }
  if (!request.plot.empty() && request.plot.extension() != ".svg")
    errors.add("--plot", shown(request.plot.string()), " must end in .svg: pictures are SVG");
  if (request.files.empty() && !request.help && errors.empty())
    errors.add("", "no file of results given\n", usage,
               join({Charts::kind_names.begin(), Charts::kind_names.end()}), ".");
  if (request.report.empty() && request.plot.empty() && !request.files.empty())
    request.report = fs::path(request.files[0]).replace_extension(".html");
  return request;
}

}  // namespace

std::vector<Charts::Record> read_records(std::vector<fs::path> const& files, Errors& errors) {
  std::vector<Charts::Record> records;
  for (fs::path const& file : files) try {
      std::error_code code;
      std::ifstream stream(file, std::ios::binary);
      if (fs::is_directory(file, code)) throw InputError(file.string(), 0, "is a folder");
      if (!stream) throw InputError(file.string(), 0, "no such file, or it cannot be read");
      std::string const text(std::istreambuf_iterator<char>(stream), {});
      if (text.starts_with("\x1f\x8b"))
        throw InputError(file.string(), 0, "is gzipped; unpack it first, by gunzip");
      records.push_back(Charts::read_record(file.string(), text));
      records.back().name = file.filename().string();
      if (records.back().runs.empty())
        throw InputError(file.string(), 0,
                         "has no run in its list 'runs': the program ended before the first one "
                         "did; solve again, and make the page of what that writes");
    } catch (InputError const& error) {
      errors.add("", error.what());
    }
  return records;
}

namespace {

void write(fs::path const& path, std::string const& text) {
  Solder::Impl::write_whole_file(path.string(), [&](auto& file) { file.text(text); });
}

}  // namespace

int report_command(std::vector<std::string> const& arguments) {
  Errors errors;
  Request const request = read_request(arguments, errors);
  if (request.help && errors.empty()) {
    std::cout << usage << join({Charts::kind_names.begin(), Charts::kind_names.end()}) << ".\n";
    return std::cout.flush() ? 0 : 2;
  }
  for (fs::path const& file : request.files)
    for (fs::path const& output : {request.report, request.plot})
      if (std::error_code code; !output.empty() && fs::equivalent(file, output, code))
        errors.add(shown(output.string()), "would overwrite the results");
  auto const records = read_records(request.files, errors), old = read_records(request.old, errors);
  if (errors.empty()) try {
      if (!request.report.empty()) write(request.report, Charts::html(records, old));
      if (!request.plot.empty())
        write(request.plot,
              Charts::svg_file(Charts::pictures(request.kind, Charts::all_runs(records))));
    } catch (InputError const& error) {
      errors.add("", error.what());
    }
  for (std::string const& message : errors.messages()) std::cerr << "error: " << message << "\n";
  if (!errors.empty()) return 2;
  for (fs::path const& output : {request.report, request.plot})
    if (!output.empty()) std::cout << output.string() << "\n";
  return std::cout.flush() ? 0 : 2;
}

}  // namespace Solder::Driver
