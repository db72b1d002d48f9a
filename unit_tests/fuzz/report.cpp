// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Results of any text: a page and pictures are made of them, or they are refused as what is no
// result.
#include <driver/report/charts.hpp>
#include <driver/report/page.hpp>

#include <solder/core/errors.hpp>

#include "target.hpp"

using namespace Solder::Charts;

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::vector<Record> records;
  try {
    records.push_back(read_record("r.json", text_of(data, size)));
  } catch (Solder::InputError const& error) {
    claim_message(error.what(), "r.json");
    return 0;
  }
  std::string const page = html(records, records);
  claim(page.size() < 1'000'000, "a page is small");
  claim(is_utf8(page), "a page is UTF-8");
  for (char const* const word : {"<script", "<img", "<iframe", "javascript:<"})
    claim(page.find(word) == std::string::npos, "a page has no element of its input", word);
  auto const runs = all_runs(records);
  for (std::size_t k = 0; k < kind_names.size(); ++k) {
    std::string const file = svg_file(pictures(static_cast<Kind>(k), runs));
    claim(file.ends_with("</svg>\n"), "a picture ends");
  }
  return 0;
}
