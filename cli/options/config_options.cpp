#include "cli/options/config_options.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "core/error.h"
#include "data/text/byte_reader.h"
#include "train/loop/initial_weights.h"

namespace tapeformer::cli {
namespace {

void make_paths_absolute(Config& config) {
  const auto absolute = [](std::string& path) {
    if (!path.empty() && path != kStandardInput) path = std::filesystem::absolute(path).lexically_normal().string();
  };
  Config::Data& data = config.data;
  for (std::string& path : data.text) absolute(path);
  for (std::string& path : data.valid) absolute(path);
  for (std::string* path : {&data.source, &data.target, &data.valid_source, &data.valid_target, &data.pairs,
                            &data.valid_pairs, &data.labels, &data.valid_labels, &config.tokenizer.file,
                            &config.tokenizer.target_file, &config.train.init_from}) {
    absolute(*path);
  }
}

std::string option_help(const ConfigKey& key) {
  std::string help = key.help;
  if (!key.allowed.empty()) help += str_cat(" {", CLI::detail::join(key.allowed, ","), "}");
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

bool is_in_short_help(const CLI::Option& option) {
  return std::ranges::any_of(option.get_lnames(), [](const std::string& name) {
    return std::ranges::find(kShortHelp, name) != std::end(kShortHelp);
  });
}

// A help formatter that leaves most configuration keys out of --help.
class ShortHelp : public CLI::Formatter {
 public:
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group.starts_with('[')) {
      std::erase_if(options, [](const CLI::Option* option) { return !is_in_short_help(*option); });
      if (options.empty()) return {};
    }
    return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
  }
  std::string make_footer(const CLI::App* app) const override {
    return str_cat("\n--help-all lists all ", config_keys().size(), " keys of a configuration.\n",
                   CLI::Formatter::make_footer(app));
  }
};

}  // namespace

void add_config_options(CLI::App& command, ConfigOverrides& overrides) {
  for (const ConfigKey& key : config_keys()) {
    CLI::Option* option = command.add_option("--" + key.name, overrides[key.name], option_help(key));
    option->group("[" + key.name.substr(0, key.name.find('.')) + "]")->type_name("");
    // The option takes one value, even if more words follow; if it is repeated the last one counts, as for any option.
    if (key.type != KeyType::list) option->expected(1)->allow_extra_args(false)->take_last();
  }
  const auto all = std::make_shared<CLI::Formatter>();
  all->column_width(static_cast<std::size_t>(command.get_formatter()->get_column_width()));
  command.formatter(std::make_shared<ShortHelp>());
  command
      .add_flag_callback(
          "--help-all",
          [&command, all] {
            command.formatter(all);
            throw CLI::CallForHelp();
          },
          "Print this with all keys of a configuration")
      ->trigger_on_parse();
}

ResolvedConfig override_config(Config config, const ConfigOverrides& overrides, std::vector<std::string>& notes) {
  std::ranges::move(apply_overrides(config, overrides), std::back_inserter(notes));
  make_paths_absolute(config);
  return resolve(std::move(config));
}

ResolvedConfig new_config(Config config, const ConfigOverrides& overrides) {
  std::vector<std::string> notes = apply_overrides(config, overrides);
  make_paths_absolute(config);
  std::ranges::move(imply_model(config), std::back_inserter(notes));
  ResolvedConfig resolved = resolve(std::move(config));
  for (const std::string& note : notes) spdlog::info("{}", note);
  return resolved;
}

}  // namespace tapeformer::cli
