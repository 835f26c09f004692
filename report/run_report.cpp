#include "report/run_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/text/utf8.h"
#include "report/page.h"
#include "train/loop/evaluation.h"
#include "train/loop/run_summary.h"
#include "train/machine/machine.h"
#include "train/run/checkpoint.h"
#include "train/run/metrics.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDigits = 6;  // more digits would not be visible
// These limits, for all runs together, keep a page below 1 MB:
constexpr std::size_t kMaxPoints = 8000;       // points of a curve
constexpr std::size_t kMaxWatched = 30'000;    // numbers about layers
constexpr std::size_t kMaxSamples = 40;        // steps with samples of text
constexpr std::size_t kMaxSampleBytes = 2000;  // length of a sample

// The numbers of one key in lines of metrics: each with the place of its line.
struct KeyNumbers {
  std::string key;
  std::vector<std::pair<std::size_t, const Json*>> numbers;
};

// Returns the numbers of each key, in the order in which the keys first have one. A line of train.watch may have
// thousands of keys, and to look each of them up in the line would take longer than to read the file.
std::vector<KeyNumbers> numbers_by_key(const std::vector<Json>& lines) {
  std::vector<KeyNumbers> keys;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t line = 0; line < lines.size(); ++line) {
    for (const auto& [key, value] : lines[line].items()) {
      if (!value.is_number()) continue;
      const auto place = places.try_emplace(key, keys.size()).first;
      if (place->second == keys.size()) keys.push_back({key, {}});
      keys[place->second].numbers.emplace_back(line, &value);
    }
  }
  return keys;
}

// Returns a list for each key of the lines: its mean over each group of `per_point` lines, or null if no line of the
// group has the key. Of single lines, whole numbers such as steps keep all their digits, since steps are compared.
Json columns_of(const std::vector<Json>& lines, std::size_t per_point) {
  Json columns = Json::object();
  for (const auto& [key, numbers] : numbers_by_key(lines)) {
    Json& column = columns[key] = Json::array();
    auto number = numbers.begin();
    for (std::size_t begin = 0; begin < lines.size(); begin += per_point) {
      const auto first = number;
      double sum = 0;
      for (; number != numbers.end() && number->first < begin + per_point; ++number) {
        sum += number->second->get<double>();
      }
      if (number == first) {
        column.push_back(nullptr);
      } else if (per_point == 1 && first->second->is_number_integer()) {
        column.push_back(*first->second);
      } else {
        column.push_back(rounded(sum / static_cast<double>(number - first), kDigits));
      }
    }
  }
  return columns;
}

struct RunLines {
  std::vector<Json> train, eval, samples;
  std::vector<Json> watched;  // results of flat_watch()
};

// Returns a line of train.watch in the flat form for columns_of(): {"step", "tokens", "elapsed_s", "grad blocks.0", …}.
Json flat_watch(const Json& line) {
  Json::object_t flat;
  for (const char* const key : {"step", "tokens", "elapsed_s"}) {
    if (line.contains(key)) flat.emplace_back(key, line[key]);
  }
  for (const auto& [layer, norms] : line["watch"].items()) {
    // emplace_back() does not look for the key among the others: all of them differ.
    for (const auto& [kind, norm] : norms.items()) flat.emplace_back(kind + " " + layer, norm);
  }
  return flat;
}

std::string truncated(const std::string& text) {
  if (text.size() <= kMaxSampleBytes) return text;
  return text.substr(0, character_start(text, kMaxSampleBytes)) + "…";
}

// Returns at most `most` of the lines with samples, from the first to the last. Long texts are cut.
Json samples_of(const std::vector<Json>& lines, std::size_t most) {
  Json samples = Json::array();
  const std::size_t count = std::min(lines.size(), most);
  for (std::size_t i = 0; i < count; ++i) {
    Json line = lines[count > 1 ? i * (lines.size() - 1) / (count - 1) : lines.size() - 1];
    for (Json& sample : line["samples"]) {
      for (auto& [key, text] : sample.items()) {
        if (text.is_string()) text = truncated(text.get<std::string>());
      }
    }
    samples.push_back(std::move(line));
  }
  return samples;
}

// Renames the training loss after its task, since the losses of several tasks make no curve together.
void name_task(Json& line) {
  const auto task = line.find("task");
  if (task == line.end() || !task->is_string() || !line.contains("loss")) return;
  const Json loss = line.value("unsmoothed_loss", line["loss"]);
  line["loss of " + task->get<std::string>()] = loss;
  line.erase("loss");
  line.erase("unsmoothed_loss");
}

RunLines read_lines(const RunFolder& run) {
  RunLines lines;
  if (!is_there(run.metrics())) return lines;  // the run has not finished its first step
  for (Json& line : read_metrics(run.metrics())) {
    // The evaluation of the averaged weights at the end is not a point of a curve.
    if (line.contains("averaged")) continue;
    const bool sampled = line.contains("samples") && line["samples"].is_array();
    if (line.contains("watch") && line["watch"].is_object()) lines.watched.push_back(flat_watch(line));
    name_task(line);
    (sampled ? lines.samples : line.contains("eval_loss") ? lines.eval : lines.train).push_back(std::move(line));
  }
  return lines;
}

// Returns what the summary shows of the last line. The last point of a curve may be a mean.
Json last_of(const std::vector<Json>& lines) {
  Json last = Json::object();
  for (const char* const key : {"step", "tokens", "elapsed_s", "loss", "unsmoothed_loss"}) {
    if (!lines.empty() && lines.back().contains(key)) last[key] = lines.back()[key];
  }
  return last;
}

}  // namespace

Json run_report_data(std::span<const RunFolder> runs) {
  std::vector<RunLines> lines;
  std::size_t total = 0, watched = 0;
  for (const RunFolder& run : runs) {
    const RunLines& of_run = lines.emplace_back(read_lines(run));
    total += of_run.train.size();
    for (const Json& line : of_run.watched) watched += line.size();
  }
  const auto share = [](std::size_t count, std::size_t most) {
    return std::max<std::size_t>(1, (count + most - 1) / most);
  };
  const std::size_t per_point = share(total, kMaxPoints), per_watched = share(watched, kMaxWatched);
  const std::size_t most_samples = std::max<std::size_t>(1, kMaxSamples / std::max<std::size_t>(1, runs.size()));
  Json data{{"runs", Json::array()}, {"per_point", per_point}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::optional<std::int64_t> kept = last_kept_step(runs[i]);
    const std::string metric = metric_for_best_model(runs[i]);
    data["runs"].push_back({{"name", runs[i].name()},
                            {"config", read_file(runs[i].config())},
                            {"unit", loss_unit(runs[i])},
                            {"train", columns_of(lines[i].train, per_point)},
                            {"last", last_of(lines[i].train)},
                            {"eval", columns_of(lines[i].eval, 1)},
                            {"metric", metric},
                            {"smaller_is_better", smaller_is_better(metric)},
                            {"terms_since", terms_since(runs[i])},
                            {"kept_until", kept ? Json(*kept) : Json()},
                            {"watch", columns_of(lines[i].watched, per_watched)},
                            {"samples", samples_of(lines[i].samples, most_samples)},
                            {"machines", read_machines(runs[i])}});
  }
  return data;
}

std::string run_report(std::span<const RunFolder> runs) {
  std::string title;
  for (const RunFolder& run : runs) title += (title.empty() ? "" : ", ") + run.name();
  return page_html({.title = title + " – tapeformer",
                    .styles = {"dygraph.min.css", "report.css"},
                    .scripts = {"dygraph.min.js", "report.js"}},
                   run_report_data(runs));
}

void write_run_report(std::span<const RunFolder> runs, const std::filesystem::path& to) {
  write_file_atomically(to, run_report(runs));
}

}  // namespace tapeformer
