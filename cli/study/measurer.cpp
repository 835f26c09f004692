#include "cli/study/measurer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text/lines.h"
#include "core/text/split_at.h"
#include "train/run/metrics.h"
#include "train/run/run_folder.h"

namespace tapeformer::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFolder = "{folder}/";  // begins the path of a file beside the study's

// Returns the number at a place such as "watch/blocks.0/grad".
std::optional<double> number_at(const Json& json, std::string_view place) {
  const Json* at = &json;
  for (const std::string_view part : split_at(place, '/')) {
    const std::string key(part);
    if (at->is_array()) {
      const std::size_t index = std::strtoull(key.c_str(), nullptr, 10);
      if (key.find_first_not_of("0123456789") != key.npos || index >= at->size()) return std::nullopt;
      at = &(*at)[index];
    } else {
      if (!at->is_object() || !at->contains(key)) return std::nullopt;
      at = &(*at)[key];
    }
  }
  return at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

std::optional<double> from_metrics(const RunFolder& run, const StudyMeasure& measure) {
  std::vector<double> numbers;
  for (const Json& line : read_metrics(run.metrics())) {
    if (line.contains("averaged")) continue;
    if (const auto number = number_at(line, measure.value)) numbers.push_back(*number);
  }
  if (numbers.empty()) return std::nullopt;
  switch (measure.take) {
    case StudyMeasure::Take::last:
      return numbers.back();
    case StudyMeasure::Take::least:
      return std::ranges::min(numbers);
    case StudyMeasure::Take::most:
      return std::ranges::max(numbers);
    case StudyMeasure::Take::mean:
      break;
  }
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum / static_cast<double>(numbers.size());
}

}  // namespace

std::vector<std::string> last_values(const TrainOptions& options, const std::string& option) {
  const auto found = std::ranges::find(options.rbegin(), options.rend(), option);
  if (found == options.rend()) return {};
  const auto is_name = [](const std::string& word) { return word.starts_with("--"); };
  return {found.base(), std::find_if(found.base(), options.end(), is_name)};
}

std::vector<std::string> measuring_command(const Study& study, const StudyMeasure& measure, const StudyRun& run,
                                           const TrainOptions& extra) {
  std::vector<std::string> words = measure.command;
  for (std::string& word : words) {
    if (word == "{run}") {
      word = run.folder.string();
    } else if (word.starts_with(kFolder)) {
      word = (study.file.parent_path() / word.substr(kFolder.size())).string();
    } else if (word.starts_with('{') && word.ends_with('}') && word.find('.') != word.npos) {
      const std::string option = "--" + word.substr(1, word.size() - 2);
      const std::vector<std::string> values = last_values(run_options(study, run, extra), option);
      const std::string where = str_cat(study.file.string(), ": ", measure.name, ": ");
      if (values.empty() || values.front().empty()) fail_usage(where, "expected the option ", option);
      if (values.size() > 1) fail_usage(where, "expected one value of ", option, ", got ", values.size());
      word = values.front();
    }
  }
  return words;
}

std::string last_line(const std::filesystem::path& messages) {
  std::string last;
  for_each_line(read_file(messages), [&](std::string_view line, std::size_t) {
    if (!line.empty()) last = line;
  });
  constexpr std::string_view kPrefix = "tapeformer: ";
  return last.starts_with(kPrefix) ? last.substr(kPrefix.size()) : last;
}

std::optional<double> Measurer::value_of(const StudyMeasure& measure) {
  if (!measure.is_metrics()) return by_command(measure);
  const std::optional<double> value = from_metrics(RunFolder{run_.folder}, measure);
  if (!value) refusal_ = str_cat("metrics.jsonl has no number at ", measure.value);
  return value;
}

std::optional<double> Measurer::by_command(const StudyMeasure& measure) {
  std::vector<std::string> words = measuring_command(study_, measure, run_, extra_);
  words.insert(words.end(), {"--quiet", "--json"});
  if (!outputs_.contains(words)) outputs_[words] = run_process(this_program(), words, run_.messages(), waiting_);
  const ProcessResult& result = outputs_[words];
  if (result.exit_code != 0) {
    refusal_ = last_line(run_.messages());
    return std::nullopt;
  }
  const std::string& command = measure.command.front();
  const std::optional<double> value = number_at(parse_json<Json>(result.output, command + ": "), measure.value);
  if (!value) refusal_ = str_cat(command, " prints no number at ", measure.value);
  return value;
}

}  // namespace tapeformer::cli
