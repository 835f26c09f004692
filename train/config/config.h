// The configuration of a run: plain typed values, read from TOML and from the command line. Every key stands once in
// the table of config_table.cpp, which makes reading, writing, checks, help and options.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

// Meanings and units: the help texts in config_table.cpp. "auto", and the numbers that its help says stand for another
// value, are worked out by resolve().
struct Config {
  struct Model {
    std::string type = "gpt";
    std::int64_t layers = 4, heads = 4, dim = 128, ff_dim = 0, context = 128;
    double dropout = 0, attention_dropout = -1;
    std::string norm = "auto", activation = "auto", position = "auto", tie_embeddings = "auto";
    double position_base = 10000, norm_eps = 1e-5, init_std = 0;
    bool bias = true;
    bool operator==(const Model&) const = default;
  };
  struct Tokenizer {
    std::string kind = "bpe";
    std::int64_t vocab = 4096, sample = 64;
    std::string file, target_file;
    bool joint = true;
    bool operator==(const Tokenizer&) const = default;
  };
  struct Data {
    std::vector<std::string> text, valid;
    double valid_fraction = 0.1;
    std::string document = "none", text_field = "text";
    bool within_document = false;
    std::string source, target, valid_source, valid_target, pairs, valid_pairs, corpus;
    std::int64_t lines = 20000, seed = 1;
    bool operator==(const Data&) const = default;
  };
  struct Optimizer {
    std::string name = "adamw";
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.98, eps = 1e-9, weight_decay = 0.1, clip = 1;
    bool operator==(const Optimizer&) const = default;
  };
  struct Schedule {
    std::string kind = "inverse_sqrt";
    std::int64_t warmup = -1, total = 0;
    double min_lr = 0, factor = 0;
    bool operator==(const Schedule&) const = default;
  };
  struct Train {
    std::int64_t steps = 2000, batch = 16, batch_tokens = 0, accumulate = 1, length_groups = 1;
    double label_smoothing = 0;
    std::int64_t seed = 1, threads = 0;
    bool recompute = false;
    double max_minutes = 0;
    std::int64_t log_every = 10;
    bool operator==(const Train&) const = default;
  };
  struct Eval {
    std::int64_t every = 250, batches = 0, stride = 0, patience = 0;
    std::int64_t bleu_every = 1000, bleu_sentences = 1000;
    std::string bleu_tokenize = "13a";
    bool operator==(const Eval&) const = default;
  };
  struct Checkpoint {
    std::int64_t every = 500;
    double every_minutes = 0;
    std::int64_t keep = 3, average = 0;
    bool operator==(const Checkpoint&) const = default;
  };

  Model model;
  Tokenizer tokenizer;
  Data data;
  Optimizer optimizer;
  Schedule schedule;
  Train train;
  Eval eval;
  Checkpoint checkpoint;
  bool operator==(const Config&) const = default;
};

// Reading. Keys that are not given keep their defaults. Throws UsageError, one line `origin:line: …`, for a syntax
// error, an unknown key or section (naming the nearest known one), a wrong type or a value out of range.
Config parse_config(std::string_view text, const std::string& origin);
// Throws Error as well, when the file cannot be opened.
Config load_config(const std::filesystem::path& path);

// Sets one key as the command line gives it: apply_override(config, "model.layers", "4"). Booleans are true or false; a
// list is comma-separated, and several values (a repeated option) are put together. Throws UsageError as parse_config
// does, and for several values where the key is no list.
void apply_override(Config& config, std::string_view name, std::span<const std::string> values);
void apply_override(Config& config, std::string_view name, const std::string& value);

// With every default that depends on another key worked out: no "auto" is left, ff_dim, warmup, total and stride have
// their values, weight_decay is 0 for adam, as many checkpoints are kept as are averaged. Resolving again changes
// nothing.
Config resolve(Config config);

// Checks a resolved configuration: each key by itself, then the rules across keys. Throws UsageError. A configuration
// without any training data passes: `info` needs none.
void validate(const Config& config);
// Throws UsageError unless the configuration names training data.
void require_data(const Config& config);

// Every key with its help as a comment; parse_config() of it gives an equal Config. Throws UsageError for a string that
// is not UTF-8.
std::string to_toml(const Config& config);

enum class ConfigType { integer, number, boolean, string, list };

// What the command line needs to know to offer a key as the option --name.
struct ConfigKey {
  std::string name;  // "model.layers"
  ConfigType type;
  std::string help;                  // one line, with the unit
  std::string default_value;         // as apply_override() takes it
  std::vector<std::string> allowed;  // the words a string may be; empty where anything goes
};
const std::vector<ConfigKey>& config_keys();

}  // namespace tapeformer
