#include "tasks/interchange/peft_config.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "tasks/interchange/huggingface_keys.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

double PeftConfig::scale(const std::string& path, std::int64_t module_rank) const {
  double own = alpha;
  for (const auto& [end, value] : alphas) {
    if (path != end && !path.ends_with("." + end)) continue;
    own = value;
    break;  // PEFT takes the first one that fits
  }
  return own / (by_root ? std::sqrt(static_cast<double>(module_rank)) : static_cast<double>(module_rank));
}

PeftConfig read_peft_config(const std::filesystem::path& path) {
  const auto json = parse_json<Json>(read_file(path), path.string() + ": ");
  const auto require = [&](const char* key, const Json& expected) {
    const Json got = json.value(key, expected);
    check(got == expected || got.is_null() || (got.is_array() && got.empty()), path.string(), ": ", key, ": expected ",
          dump_json(expected), ", got ", dump_json(got));
  };
  check(json.is_object(), path.string(), ": expected an object");
  require("peft_type", "LORA"), require("bias", "none"), require("use_dora", false), require("lora_bias", false);
  require("modules_to_save", nullptr), require("layer_replication", nullptr), require("use_qalora", false);
  require("alora_invocation_tokens", nullptr);
  // Other words, such as pissa, olora and loftq, make PEFT change the weights of the base, too.
  constexpr std::string_view kOfAdapters[] = {"gaussian", "eva", "orthogonal"};
  const Json init = json.value("init_lora_weights", Json(true));
  const std::string word = init.is_string() ? init.get<std::string>() : "";
  check(init.is_boolean() || init.is_null() || std::ranges::count(kOfAdapters, word) > 0, path.string(),
        ": init_lora_weights: expected true, false, gaussian, eva or orthogonal, which leave the base as it is, got ",
        dump_json(init));
  const auto number = [&](const char* key, double otherwise) {
    const Json value = huggingface::value_or(json, key, otherwise);
    check(value.is_number(), key, ": expected a number, got ", dump_json(value));
    return value.get<double>();
  };
  try {
    PeftConfig config{.alpha = number("lora_alpha", 8),
                      .dropout = number("lora_dropout", 0),
                      .by_root = huggingface::boolean_or(json, "use_rslora", false)};
    const Json alphas = huggingface::value_or(json, "alpha_pattern", Json::object());
    check(alphas.is_object(), "alpha_pattern: expected an object, got ", dump_json(alphas));
    check(config.alpha > 0, "lora_alpha: expected a number above 0, got ", config.alpha);
    for (const auto& [end, value] : alphas.items()) {
      const bool is_path =
          std::ranges::all_of(end, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
      check(is_path, "alpha_pattern: expected ends of the modules' paths, got the regular expression ", end);
      check(value.is_number(), "alpha_pattern: ", end, ": expected a number, got ", dump_json(value));
      config.alphas.emplace_back(end, value.get<double>());
    }
    return config;
  } catch (const Error& error) {
    fail(path.string(), ": ", error.what());
  }
}

}  // namespace tapeformer
