#include "report/run_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/files.h"
#include "report/page.h"
#include "train/run/metrics.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDigits = 6;                 // more cannot be seen
constexpr std::size_t kMostPoints = 8000;  // of all runs, so that a page stays below 1 MB

// A list for each key that a line has, of the means of `per_point` lines each; null where none of them has the key.
Json columns_of(const std::vector<Json>& lines, std::size_t per_point) {
  Json columns = Json::object();
  for (const Json& line : lines) {
    for (const auto& [key, value] : line.items()) {
      if (value.is_number()) columns[key] = Json::array();
    }
  }
  for (auto& [key, column] : columns.items()) {
    for (std::size_t begin = 0; begin < lines.size(); begin += per_point) {
      double sum = 0;
      int count = 0;
      for (std::size_t i = begin; i < std::min(begin + per_point, lines.size()); ++i) {
        if (const auto found = lines[i].find(key); found != lines[i].end() && found->is_number()) {
          sum += found->get<double>();
          ++count;
        }
      }
      column.push_back(count ? rounded(sum / count, kDigits) : Json());
    }
  }
  return columns;
}

struct RunLines {
  std::vector<Json> train, eval;
};

RunLines read_lines(const RunFolder& run) {
  RunLines lines;
  if (!std::filesystem::exists(run.metrics())) return lines;  // the run has not made its first step
  for (Json& line : read_metrics(run.metrics())) {
    (line.contains("eval_loss") ? lines.eval : lines.train).push_back(std::move(line));
  }
  return lines;
}

std::string name_of(const RunFolder& run) {
  const auto path = std::filesystem::absolute(run.root).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace

Json run_report_data(std::span<const RunFolder> runs) {
  std::vector<RunLines> lines;
  std::size_t total = 0;
  for (const RunFolder& run : runs) total += lines.emplace_back(read_lines(run)).train.size();
  const std::size_t per_point = std::max<std::size_t>(1, (total + kMostPoints - 1) / kMostPoints);
  Json data{{"runs", Json::array()}, {"per_point", per_point}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    data["runs"].push_back({{"name", name_of(runs[i])},
                            {"config", read_file(runs[i].config())},
                            {"train", columns_of(lines[i].train, per_point)},
                            {"eval", columns_of(lines[i].eval, 1)}});
  }
  return data;
}

std::string run_report(std::span<const RunFolder> runs) {
  std::string title;
  for (const RunFolder& run : runs) title += (title.empty() ? "" : ", ") + name_of(run);
  return page_html({.title = title + " – tapeformer",
                    .styles = {"dygraph.min.css", "report.css"},
                    .scripts = {"dygraph.min.js", "report.js"}},
                   run_report_data(runs));
}

void write_run_report(std::span<const RunFolder> runs, const std::filesystem::path& to) {
  write_file_atomically(to, run_report(runs));
}

}  // namespace tapeformer
