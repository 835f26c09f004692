#include "cli/study/study_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/study/process.h"
#include "core/error.h"
#include "core/files.h"
#include "train/config/toml_text.h"

namespace tapeformer::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Reads the keys of one table, and says what is wrong with them.
class Fields {
 public:
  Fields(const Json& table, std::string where) : table_(table), where_(std::move(where)) {
    if (!table.is_object()) fail_usage(where_, ": expected a table");
  }

  std::string text(const char* key, const std::string& otherwise) { return optional_text(key).value_or(otherwise); }
  std::string text(const char* key) {
    const auto value = optional_text(key);
    if (!value) fail_usage(where_, ": expected the key ", key);
    return *value;
  }
  std::optional<std::string> optional_text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) fail_usage(where_, ": ", key, ": expected a string");
    return value->get<std::string>();
  }
  std::optional<double> number(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) fail_usage(where_, ": ", key, ": expected a number");
    return value->get<double>();
  }
  // The value; null if it is not given.
  const Json* find(const char* key) {
    known_.insert(key);
    const auto found = table_.find(key);
    return found == table_.end() ? nullptr : &*found;
  }
  // A list of tables; empty if it is not given.
  std::vector<Fields> tables(const char* key) {
    const Json* list = find(key);
    std::vector<Fields> result;
    if (list == nullptr) return result;
    if (!list->is_array()) fail_usage(where_, ": ", key, ": expected tables, [[", key, "]]");
    for (const Json& table : *list) result.emplace_back(table, str_cat(where_, ": ", key, " ", result.size() + 1));
    return result;
  }
  // All keys that were not asked for, as options of `train`: {"--model.norm", "post", …}.
  TrainOptions options() const {
    TrainOptions options;
    for (const auto& [section, keys] : table_.items()) {
      if (known_.contains(section)) continue;
      if (!keys.is_object()) fail_usage(where_, ": unknown key ", section);
      for (const auto& [key, value] : keys.items()) add_option(section + "." + key, value, options);
    }
    return options;
  }
  // Refuses keys that were not asked for.
  void end() const {
    for (const auto& [key, value] : table_.items()) {
      if (!known_.contains(key)) fail_usage(where_, ": unknown key ", key);
    }
  }
  const std::string& where() const { return where_; }

 private:
  // A table within a section has keys such as train.lora.rank.
  static void add_option(const std::string& key, const Json& value, TrainOptions& options) {
    if (value.is_object()) {
      for (const auto& [part, inner] : value.items()) add_option(key + "." + part, inner, options);
      return;
    }
    options.push_back("--" + key);
    if (!value.is_array()) {
      options.push_back(value.is_string() ? value.get<std::string>() : value.dump());
      return;
    }
    for (const Json& item : value) options.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  }

  const Json& table_;
  std::string where_;
  std::set<std::string> known_;
};

std::vector<std::int64_t> read_seeds(Fields& fields) {
  const Json* given = fields.find("seeds");
  if (given == nullptr) return {1};
  std::vector<std::int64_t> seeds;
  if (given->is_array()) {
    for (const Json& seed : *given) {
      if (!seed.is_number_unsigned()) break;
      seeds.push_back(seed.get<std::int64_t>());
    }
    const std::set<std::int64_t> different(seeds.begin(), seeds.end());
    if (seeds.size() == given->size() && different.size() == seeds.size() && !seeds.empty()) return seeds;
  }
  fail_usage(fields.where(), ": seeds: expected a list of different whole numbers of at least 0");
}

StudyMeasure::Take read_take(Fields& fields) {
  using Take = StudyMeasure::Take;
  const std::string word = fields.text("take", "last");
  if (word == "last") return Take::last;
  if (word == "mean") return Take::mean;
  if (word == "least") return Take::least;
  if (word == "most") return Take::most;
  fail_usage(fields.where(), ": take: expected last, mean, least or most, got ", word);
}

int read_digits(Fields& fields, int otherwise) {
  constexpr double kMost = 15;
  const double digits = fields.number("digits").value_or(otherwise);
  if (digits < 0 || digits > kMost || digits != std::floor(digits)) {
    fail_usage(fields.where(), ": digits: expected a whole number from 0 to ", kMost, ", got ", digits);
  }
  return static_cast<int>(digits);
}

// Reads the keys line and x: the line on which the page draws a variant or a measure, and its place on that line.
void read_line(Fields& fields, std::string& line, std::optional<double>& x) {
  line = fields.text("line", "");
  x = fields.number("x");
  if (!line.empty() && !x) fail_usage(fields.where(), ": line needs x, its place on the line");
}

StudyMeasure read_measure(Fields fields) {
  StudyMeasure measure{.name = fields.text("name"), .value = {}};
  const Json* command = fields.find("command");
  const auto metrics = fields.optional_text("metrics");
  if ((command == nullptr) == !metrics) fail_usage(fields.where(), ": expected either metrics or command");
  measure.digits = read_digits(fields, measure.digits);
  read_line(fields, measure.line, measure.x);
  if (metrics) {
    measure.value = *metrics;
    measure.take = read_take(fields);
  } else {
    measure.value = fields.text("value");
    const auto is_word = [](const Json& word) { return word.is_string(); };
    if (!command->is_array() || command->empty() || !std::all_of(command->begin(), command->end(), is_word)) {
      fail_usage(fields.where(), ": command: expected a list of words");
    }
    measure.command = command->get<std::vector<std::string>>();
  }
  fields.end();
  return measure;
}

StudyVariant read_variant(Fields fields) {
  StudyVariant variant{.name = fields.text("name")};
  read_line(fields, variant.line, variant.x);
  variant.options = fields.options();
  return variant;
}

// Throws UsageError if none has the name. `what` is "variant" or "measure".
template <class Named>
void require_name(const std::vector<Named>& all, const std::string& name, const std::string& where, const char* what) {
  if (std::ranges::count(all, name, &Named::name) == 0) fail_usage(where, ": no ", what, " has the name ", name);
}

StudyCheck read_check(Fields fields, const Study& study) {
  const std::string measure = fields.text("measure", study.measures.front().name);
  StudyCheck check{.variant = fields.text("of"),
                   .measure = measure,
                   .other_variant = {},
                   .other_measure = fields.text("than_measure", measure)};
  const Json *below = fields.find("below"), *above = fields.find("above");
  if ((below == nullptr) == (above == nullptr)) fail_usage(fields.where(), ": expected either below or above");
  check.lower = below != nullptr;
  const Json& other = check.lower ? *below : *above;
  if (other.is_number()) {
    check.bound = other.get<double>();
    if (check.other_measure != measure) fail_usage(fields.where(), ": than_measure needs a variant beside it");
  } else if (other.is_string()) {
    check.other_variant = other.get<std::string>();
    require_name(study.variants, check.other_variant, fields.where(), "variant");
  } else {
    fail_usage(fields.where(), ": expected a variant's name or a number after ", check.lower ? "below" : "above");
  }
  check.margin = fields.number("by").value_or(0);
  require_name(study.variants, check.variant, fields.where(), "variant");
  require_name(study.measures, check.measure, fields.where(), "measure");
  require_name(study.measures, check.other_measure, fields.where(), "measure");
  fields.end();
  return check;
}

// Throws UsageError if two variants, or two measures, have the same name. `what` is "variants" or "measures".
template <class Named>
void require_names(const Study& study, const std::vector<Named>& all, const char* what) {
  std::set<std::string> names;
  for (const Named& one : all) {
    if (!names.insert(one.name).second) {
      fail_usage(study.file.string(), ": two ", what, " have the name ", one.name);
    }
  }
}

// Throws UsageError if two variants, or two measures, are at the same place of one line, where the picture would show
// one of them. Variants without a line are on one together, measures without a line on none.
template <class Placed>
void require_places(const Study& study, const std::vector<Placed>& all, const char* what, bool only_lines) {
  std::map<std::pair<std::string, double>, std::string> names;
  for (const Placed& one : all) {
    if (!one.x || (only_lines && one.line.empty())) continue;
    const auto [place, is_new] = names.emplace(std::pair(one.line, *one.x), one.name);
    if (!is_new) {
      fail_usage(study.file.string(), ": the ", what, ' ', place->second, " and ", one.name, " have the same x, ",
                 *one.x, ": give each a line of its own");
    }
  }
}

}  // namespace

fs::path studies_folder() {
  const fs::path below = "configs/studies";
  if (is_folder(below)) return below;
  for (fs::path folder = this_program().parent_path(); folder != folder.root_path(); folder = folder.parent_path()) {
    if (is_folder(folder / below)) return folder / below;
  }
  fail("there is no folder configs/studies here or above the program: give the path of a study's file");
}

fs::path study_path(const std::string& name) {
  if (is_file(name)) return name;
  check(!name.ends_with(".toml"), "cannot open ", name, ": there is no such file");
  const fs::path file = studies_folder() / (name + ".toml");
  check(is_file(file), "there is no study ", name, " in ", studies_folder().string(),
        "; tapeformer study --list shows them");
  return file;
}

Study load_study(const fs::path& file) {
  const Json table = read_toml(file);
  Fields fields(table, file.string());
  Study study{.file = file,
              .name = file.stem().string(),
              .title = fields.text("title"),
              .claim = fields.text("claim"),
              .variants = {},
              .measures = {},
              .checks = {}};
  study.finding = fields.text("finding", "");
  study.x_label = fields.text("x_label", study.x_label);
  study.seeds = read_seeds(fields);
  study.config = fields.text("config", "");
  if (!study.config.empty()) study.config = (file.parent_path() / study.config).string();
  if (const Json* options = fields.find("options")) {
    study.options = Fields(*options, file.string() + ": options").options();
  }
  for (Fields& variant : fields.tables("variants")) study.variants.push_back(read_variant(std::move(variant)));
  if (study.variants.empty()) fail_usage(file.string(), ": expected variants, [[variants]]");
  require_names(study, study.variants, "variants");
  require_places(study, study.variants, "variants", false);
  for (Fields& measure : fields.tables("measures")) study.measures.push_back(read_measure(std::move(measure)));
  if (std::ranges::count(study.measures, "loss", &StudyMeasure::name) == 0) {
    study.measures.insert(study.measures.begin(), {.name = "loss", .value = "eval_loss", .is_implied = true});
  }
  require_names(study, study.measures, "measures");
  require_places(study, study.measures, "measures", true);
  for (Fields& shown : fields.tables("shown")) study.checks.push_back(read_check(std::move(shown), study));
  fields.end();
  return study;
}

}  // namespace tapeformer::cli
