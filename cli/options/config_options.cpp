#include "cli/options/config_options.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "cli/terminal/messages.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text/joined.h"
#include "data/text/byte_reader.h"
#include "train/config/config_table.h"
#include "train/config/data_kinds.h"
#include "train/config/key_text.h"
#include "train/config/other_names.h"
#include "train/loop/initial_weights.h"

namespace tapeformer::cli {
namespace {

void make_paths_absolute(Config& config) {
  const auto absolute = [](std::string& path) {
    if (!path.empty() && path != kStandardInput) path = absolute_path(path).string();
  };
  for (const auto& [entry, validates] : data_files_keys(config)) {
    KeyValue value = entry.get(config);
    if (auto* const list = std::get_if<std::vector<std::string>>(&value)) {
      for (std::string& path : *list) absolute(path);
    } else {
      absolute(std::get<std::string>(value));
    }
    entry.set(config, std::move(value));
  }
  absolute(config.tokenizer.file), absolute(config.tokenizer.target_file), absolute(config.train.init_from);
}

std::string option_help(const ConfigKey& key) {
  std::string help = key.help;
  if (!key.allowed.empty()) help += str_cat(" {", joined(key.allowed, ","), "}");
  if (!key.default_value.empty())
    help += str_cat(" [", key.default_value == "\n" ? "a newline" : key.default_value, "]");
  return help;
}

// The keys that most users need: `--help` shows these, `--help-all` all of them.
constexpr std::string_view kShortHelp[] = {"model.type",    "model.layers",   "model.heads",     "model.dim",
                                           "model.context", "tokenizer.kind", "tokenizer.vocab", "data.text",
                                           "data.source",   "data.target",    "data.corpus",     "optimizer.name",
                                           "optimizer.lr",  "train.steps",    "train.batch",     "train.init_from",
                                           "train.threads", "train.matmul",   "eval.every",      "checkpoint.every"};

// A training by the clock has no number of steps that the decay of the moving average could follow: the one that a run
// has derived from its steps stays.
void keep_average_decay(Config& config, std::vector<std::string>& notes) {
  if (config.train.minutes == 0 || !config.derived || std::erase(*config.derived, "train.ema") == 0) return;
  notes.push_back(str_cat("train.ema stays ", config.train.ema, ": train.minutes has no number of steps beforehand"));
}

// Adds a line about each key that the command line gives for a tokenizer that is learned, though one is taken that
// there is already.
void note_idle_tokenizer_keys(const Config& config, const ConfigOverrides& overrides, std::vector<std::string>& notes) {
  const bool is_named = !config.tokenizer.file.empty();
  Config taken = config;
  if (!use_initial_tokenizers(taken) && !is_named) return;
  for (const char* const key : {"tokenizer.kind", "tokenizer.vocab", "tokenizer.sample", "tokenizer.joint"}) {
    const ConfigEntry entry = *find_config_entry(key, config);
    const KeyValue given = entry.get(config);
    const bool is_read = is_named ? entry.key.name == "joint" : given == entry.get(taken);
    if (is_read || !has_override(overrides, key)) continue;
    notes.push_back(str_cat(key, " = ", command_line_text(given), " has no effect beside ",
                            is_named ? "tokenizer.file" : "train.init_from", ", whose tokenizer is taken"));
  }
}

void list_config_options(Command& command, ConfigOverrides& overrides) {
  const std::vector<ConfigKey> keys = config_keys();
  for (const ConfigKey& key : keys) {
    const OptionRules rules{.values = key.type == KeyType::list ? ListValues::all : ListValues::last,
                            .shows_type = false,
                            .group = "[" + key.name.substr(0, key.name.find('.')) + "]",
                            .only_in_help_all = std::ranges::find(kShortHelp, key.name) == std::end(kShortHelp),
                            .one_of_many = true};
    const std::size_t any = key.name.find(kAnyName);
    OptionTarget target = &overrides[key.name];
    if (any != key.name.npos) {
      target = NamedTarget([&overrides, name = key.name, any](const std::string& task) {
        return &overrides[str_cat(name.substr(0, any + 1), task, name.substr(any + kAnyName.size() - 1))];
      });
    }
    command.options.push_back({"--" + key.name, std::move(target), option_help(key), rules});
  }
  for (const auto& [former, name] : kRenamedKeys) {
    command.options.push_back({str_cat("--", former),
                               &overrides[std::string(name)],
                               str_cat("The former name of --", name),
                               {.values = ListValues::last,
                                .shows_type = false,
                                .group = str_cat("[", name.substr(0, name.find('.')), "]"),
                                .only_in_help_all = true,
                                .one_of_many = true}});
  }
  command.help_all = "Print this with all keys of a configuration";
  command.help_end = str_cat("--help-all lists all ", keys.size(), " keys of a configuration.");
}

}  // namespace

void add_config_options(Command& command, ConfigOverrides& overrides) {
  command.add_options = [&overrides](Command& named) { list_config_options(named, overrides); };
}

void refuse_configuration_as_text(std::string_view command, const ConfigOverrides& overrides) {
  for (const auto& [key, texts] : overrides) {
    if (!key.ends_with(".text") && !key.ends_with(".valid")) continue;
    for (const std::string& text : texts) {
      if (!text.ends_with(".toml")) continue;
      fail_usage("--", key, ": expected texts, got the configuration ", text, ": name it first, as in ", command, " ",
                 text, " --", key, " FILE");
    }
  }
}

ResolvedConfig override_config(Config config, const ConfigOverrides& overrides, std::vector<std::string>& notes) {
  std::ranges::move(apply_overrides(config, overrides), std::back_inserter(notes));
  keep_average_decay(config, notes);
  make_paths_absolute(config);
  return resolve(std::move(config));
}

GivenConfig given_config(Config config, const ConfigOverrides& overrides) {
  std::vector<std::string> notes = apply_overrides(config, overrides);
  make_paths_absolute(config);
  std::ranges::move(imply_model(config), std::back_inserter(notes));
  note_idle_tokenizer_keys(config, overrides, notes);
  return {std::move(config), std::move(notes)};
}

ResolvedConfig new_config(Config config, const ConfigOverrides& overrides) {
  GivenConfig given = given_config(std::move(config), overrides);
  ResolvedConfig resolved = resolve(std::move(given.values));
  for (const std::string& note : given.notes) log_info("{}", note);
  return resolved;
}

}  // namespace tapeformer::cli
