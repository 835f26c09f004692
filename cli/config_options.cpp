#include "cli/config_options.h"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "core/error.h"
#include "data/text/byte_reader.h"

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
  if (!key.families.empty()) help += str_cat(" (only ", CLI::detail::join(key.families, ", "), ")");
  if (!key.allowed.empty()) help += str_cat(" {", CLI::detail::join(key.allowed, ","), "}");
  if (!key.default_value.empty())
    help += str_cat(" [", key.default_value == "\n" ? "a newline" : key.default_value, "]");
  return help;
}

}  // namespace

void add_config_options(CLI::App& command, ConfigOverrides& overrides) {
  for (const ConfigKey& key : config_keys()) {
    CLI::Option* option = command.add_option("--" + key.name, overrides[key.name], option_help(key));
    option->group("[" + key.name.substr(0, key.name.find('.')) + "]")->type_name("");
    if (key.type != KeyType::list) option->expected(1);
  }
}

ResolvedConfig override_config(Config config, const ConfigOverrides& overrides) {
  const std::vector<std::string> notes = apply_overrides(config, overrides);
  make_paths_absolute(config);
  ResolvedConfig resolved = resolve(std::move(config));
  for (const std::string& note : notes) spdlog::info("{}", note);
  return resolved;
}

}  // namespace tapeformer::cli
