#include "cli/scaling/points.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text/lines.h"
#include "core/text/parse_number.h"
#include "data/labels/csv.h"
#include "data/synthetic/corpora.h"
#include "data/text/text_files.h"
#include "tasks/plan/sizes.h"
#include "train/config/run_config.h"
#include "train/loop/run_summary.h"
#include "train/run/checkpoint.h"

namespace tapeformer::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPointKeys[] = {"N", "D", "C", "loss"};

// Returns the field of a training to which the number with this key belongs.
std::optional<double>& number_of(ScalingRun& run, std::optional<double>& loss, std::string_view key) {
  return key == "N" ? run.parameters : key == "D" ? run.tokens : key == "C" ? run.flops : loss;
}

void set_number(std::optional<double>& to, const std::optional<double>& value, const std::string& where,
                std::string_view key, const std::string& got) {
  check(value && *value > 0, where, ": ", key, ": expected a number above 0, got ", got);
  to = value;
}

void add_run(std::vector<ScalingRun>& runs, ScalingRun run, const std::optional<double>& loss,
             const std::string& where) {
  check(loss.has_value(), where, ": expected a loss");
  run.loss = *loss;
  if (run.name.empty()) run.name = where;
  if (!run.flops && run.parameters && run.tokens) run.flops = 6 * *run.parameters * *run.tokens;
  runs.push_back(std::move(run));
}

void read_json_lines(const std::string& path, std::vector<ScalingRun>& runs) {
  const std::string text = read_text_file(path);
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    if (line.find_first_not_of(" \t\r") == line.npos) return;
    const std::string where = str_cat(path, ":", number);
    const Json object = parse_json<Json>(line, where + ": ");
    check(object.is_object(), where, ": expected an object");
    ScalingRun run;
    std::optional<double> loss;
    for (const char* key : kPointKeys) {
      if (!object.contains(key)) continue;
      const Json& value = object[key];
      set_number(number_of(run, loss, key), value.is_number() ? std::optional(value.get<double>()) : std::nullopt,
                 where, key, json_text(value));
    }
    if (object.contains("name") && object["name"].is_string()) run.name = object["name"];
    add_run(runs, std::move(run), loss, where);
  });
}

void read_csv(const std::string& path, std::vector<ScalingRun>& runs) {
  const std::string text = read_text_file(path);
  const std::vector<TableRow> rows = csv_rows(text, path);
  std::vector<std::string> heads = rows.empty() ? std::vector<std::string>() : rows.front().fields;
  for (std::string& head : heads) {
    head.erase(head.find_last_not_of(' ') + 1);
    head.erase(0, head.find_first_not_of(' '));
  }
  check(std::ranges::count(heads, "loss") == 1, path,
        ": expected N, D, C and loss, or some of them, in the first line");
  for (const TableRow& row : std::span(rows).subspan(1)) {
    if (row.fields.size() == 1 && row.fields.front().empty()) continue;
    const std::string where = str_cat(path, ":", row.line);
    check(row.fields.size() == heads.size(), where, ": expected ", heads.size(), " fields, got ", row.fields.size());
    ScalingRun run;
    std::optional<double> loss;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const std::string& field = row.fields[i];
      if (heads[i] == "name") run.name = field;
      if (std::ranges::count(kPointKeys, heads[i]) == 0 || field.empty()) continue;
      set_number(number_of(run, loss, heads[i]), parse_finite_number(field), where, heads[i], field);
    }
    add_run(runs, std::move(run), loss, where);
  }
}

// Reads runs, and checks that their losses can be compared.
class RunReader {
 public:
  explicit RunReader(ScalingRuns& all) : all_(all) {}

  void read(const RunFolder& folder) {
    const std::string name = folder.root.string();
    const RunSummary summary = summarize_run(folder);
    check(summary.state != "running", name, " is in training");
    if (!summary.best_loss) return log_warning("{} has no validation loss: it is left out", name);
    const ResolvedConfig config = stored_config(load_run_config(folder.config()));
    compare(name, summary.unit, is_there(folder.tokenizer()) ? read_file(folder.tokenizer()) : "");
    if (const auto state = newest_training_state(folder)) compare_validation(name, state->valid_hash);
    ScalingRun run{
        .name = name, .parameters = {}, .tokens = summary.best_tokens, .flops = {}, .loss = *summary.best_loss};
    const auto parameters = static_cast<double>(count_parameters(config).non_embedding);
    if (parameters > 0) run.parameters = parameters;
    if (run.tokens && run.parameters && !config.task_row().reads_sentences) run.flops = 6 * parameters * *run.tokens;
    note_entropy(config, summary);
    all_.runs.push_back(std::move(run));
  }

 private:
  void compare(const std::string& name, const std::string& unit, const std::string& tokenizer) {
    if (first_.empty()) {
      first_ = name;
      all_.unit = unit;
      tokenizer_ = tokenizer;
    }
    check(unit == all_.unit, name, ": its loss is in ", unit, ", that of ", first_, " in ", all_.unit);
    check(tokenizer == tokenizer_, name, " has another tokenizer than ", first_,
          ": their losses per token cannot be compared");
  }

  // `validation` is the hash of the data; 0: unknown. Other data may be as hard to predict, so this is no error.
  void compare_validation(const std::string& name, std::uint64_t validation) {
    if (validation == 0) return;
    if (validation_ == 0) validation_ = validation, validated_ = name;
    if (validation == validation_) return;
    log_warning("{} was validated on other data than {}: their losses compare as far as these data are alike", name,
                validated_);
  }

  void note_entropy(const ResolvedConfig& config, const RunSummary& summary) {
    const std::string& corpus = config.data.corpus;
    const bool documents = config.data.document == DocumentEnd::line;
    const std::optional<double> entropy = corpus.empty() ? std::nullopt : corpus_entropy_per_byte(corpus, documents);
    const bool known = entropy && summary.bits_per_byte;
    if (corpus_.empty()) {
      corpus_ = corpus;
      documents_ = documents;
    }
    if (!known || corpus != corpus_ || documents != documents_ || !same_corpus_) {
      same_corpus_ = false;
      all_.entropy.reset();
      return;
    }
    all_.entropy = *entropy * *summary.best_loss / (*summary.bits_per_byte * std::log(2.0));
  }

  ScalingRuns& all_;
  std::string first_, tokenizer_, corpus_;
  std::uint64_t validation_ = 0;  // of the run `validated_`, the first one whose validation data is known
  std::string validated_;
  bool documents_ = false, same_corpus_ = true;
};

}  // namespace

ScalingRuns read_scaling_runs(std::span<const std::string> paths) {
  ScalingRuns all;
  RunReader reader(all);
  for (const std::string& path : paths) {
    if (path.ends_with(".jsonl")) {
      read_json_lines(path, all.runs);
    } else if (path.ends_with(".csv")) {
      read_csv(path, all.runs);
    } else {
      const std::vector<RunFolder> found = runs_below(path);
      check(!found.empty(), path, " is not a run, and has none in it");
      for (const RunFolder& run : found) reader.read(run);
    }
  }
  return all;
}

}  // namespace tapeformer::cli
