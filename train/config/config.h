// The configuration of a run: typed values, read from TOML files and from the command line. Every key is defined once,
// in the table of config_table.cpp or among the keys of a model family or an optimizer; reading, writing, checks, help
// and the options of the command line are derived from there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/keys.h"
#include "data/text/text_source.h"
#include "nn/layers/lora.h"
#include "nn/models/registry.h"
#include "nn/optim/schedule.h"
#include "train/config/config_words.h"
#include "train/config/task_row.h"

namespace tapeformer {

// The help texts in config_table.cpp give meanings and units. Some values are placeholders for the value of another
// key, as their help says (schedule.total = 0 means train.steps): resolve() replaces them.
struct Config {
  struct Model {
    std::string type = "gpt";    // a name in the registry of model families
    bool type_is_given = false;  // by a file or an option; if not, imply_model() may change it
    // The family's keys that are given, by name; the others have the family's defaults.
    std::map<std::string, KeyValue, std::less<>> options;
    bool operator==(const Model&) const = default;
  };
  struct Tokenizer {
    TokenizerKind kind = TokenizerKind::bpe;
    std::int64_t vocab = 4096, sample = 64;
    std::string file, target_file;
    bool joint = true;
    bool operator==(const Tokenizer&) const = default;
  };
  struct Data {
    std::vector<std::string> text, valid;
    double valid_fraction = 0.1;
    std::int64_t valid_bytes = 0;
    DocumentEnd document = DocumentEnd::none;
    std::string text_field = "text";
    bool within_document = false;
    std::string source, target, valid_source, valid_target, pairs, valid_pairs, labels, valid_labels, images,
        valid_images, conversations, valid_conversations, corpus;
    LabelFormat labels_format = LabelFormat::automatic;
    HeaderLine labels_header = HeaderLine::automatic;
    std::string label_column, text_column;
    std::int64_t lines = 20000, seed = 1;
    // Returns how text files are read.
    TextOptions text_options() const { return {.document = document, .field = text_field}; }
    // Returns how labelled text is read.
    LabelledFileOptions labelled_file_options() const {
      return {labels_format, labels_header, label_column, text_column};
    }
    bool operator==(const Data&) const = default;
  };
  struct Task {
    std::string kind = "none";
    bool freeze = false, mix = false;
    double layer_decay = 1, dropout = 0.1, temperature = 0.05;
    ClassWeights class_weights = ClassWeights::none;
    double sampling_alpha = 0.5;
    std::string metric_for_best_model;
    bool operator==(const Task&) const = default;
  };
  // One of the tasks that a model learns together with others (task.kind = multi_task): the section [tasks.NAME].
  struct TaskSection {
    std::string kind = {};
    double weight = 1;
    std::vector<std::string> text = {}, valid = {};
    std::string corpus = {}, labels = {}, valid_labels = {};
    bool operator==(const TaskSection&) const = default;
  };
  struct Optimizer {
    std::string name = "adamw";  // a name in the table of optimizers
    double lr = -1, clip = 1, embedding_lr = 1, head_lr = 1;
    // The optimizer's own keys that are given, by name; the others have its defaults. Once resolved, all are here.
    std::map<std::string, KeyValue, std::less<>> options;
    bool operator==(const Optimizer&) const = default;
  };
  struct Schedule {
    std::optional<ScheduleKind> kind;  // nullopt (auto): what suits the model's family; resolved, it has a value
    std::int64_t warmup = -1, total = 0;
    double min_lr = 0, factor = 0, decay = 0.5, cooldown = 0.4;
    CooldownShape cooldown_shape = CooldownShape::linear;
    bool operator==(const Schedule&) const = default;
  };
  struct Train {
    std::int64_t steps = 2000, batch = 16, batch_tokens = 0, bptt = 0, accumulate = 1, length_groups = 1;
    double label_smoothing = 0;
    double z_loss = 0;
    double ema = 0;
    double mlm_probability = 0.15, mask_token = 0.8, mask_random = 0.1;
    std::int64_t seed = 1, threads = 0;
    bool recompute = false;
    MatmulSetting matmul = MatmulSetting::automatic;
    double minutes = 0, max_minutes = 0;
    std::string init_from;
    std::int64_t lora_rank = 0;
    double lora_alpha = 16, lora_dropout = 0;
    std::vector<std::string> lora_targets;
    std::int64_t log_every = 10;
    std::int64_t watch = 0;
    bool trace_nan = true;
    std::int64_t sample_every = 0, sample_tokens = 100;
    std::string sample_prompt;
    CommPrecision comm = CommPrecision::fp32;
    std::int64_t sync_every = 0;
    double outer_lr = 1, outer_momentum = 0.5;
    bool operator==(const Train&) const = default;
  };
  struct Eval {
    std::int64_t every = 250, batches = 0, stride = 0, patience = 0;
    std::int64_t bleu_every = 1000, bleu_sentences = 1000;
    BleuTokenization bleu_tokenize = BleuTokenization::v13a;
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
  Task task;
  std::map<std::string, TaskSection, std::less<>> tasks;  // by name
  Optimizer optimizer;
  Schedule schedule;
  Train train;
  Eval eval;
  Checkpoint checkpoint;
  // The keys whose values were derived from other keys when the program wrote the file ("schedule.total"): resolve()
  // derives them again. nullopt: a user wrote the file.
  std::optional<std::vector<std::string>> derived = std::nullopt;
  bool operator==(const Config&) const = default;
};

// Returns the task on which the configuration's model is trained: task.kind, or else the task of its family. Throws
// Error for an unknown task or family.
const TaskRow& task_row_of(const Config& config);
// Returns the defaults of the keys outside [model]: the family's, if the model is trained on its family's own task,
// else those of fine-tuning. Throws UsageError for an unknown family.
TrainingDefaults training_defaults(const Config& config);

// The section [model] of a resolved configuration.
struct ResolvedModel {
  std::string type;
  KeyValues options;  // every key of the family, resolved
  bool operator==(const ResolvedModel&) const = default;
};

// A complete and valid configuration: no value refers to another key any more, and the rules across keys hold. Only
// resolve() makes one, and nothing changes it. Copies share the values.
class ResolvedConfig {
  struct Values {
    Config config;
    ResolvedModel model;
  };
  std::shared_ptr<const Values> values_;
  explicit ResolvedConfig(std::shared_ptr<const Values> values);
  friend ResolvedConfig resolve(Config config);

 public:
  const ResolvedModel& model;
  const Config::Tokenizer& tokenizer;
  const Config::Data& data;
  const Config::Task& task;
  const std::map<std::string, Config::TaskSection, std::less<>>& tasks;
  const Config::Optimizer& optimizer;
  const Config::Schedule& schedule;
  const Config::Train& train;
  const Config::Eval& eval;
  const Config::Checkpoint& checkpoint;

  const ModelFamily& family() const { return find_model_family(model.type); }
  const TaskRow& task_row() const { return task_row_of(values()); }
  // Returns the metric that chooses the best checkpoint: task.metric_for_best_model, or else that of its TaskRow.
  std::string_view metric_for_best_model() const {
    return task.metric_for_best_model.empty() ? task_row().metric_for_best_model : task.metric_for_best_model;
  }
  // Return model.context and model.dim; nullopt if the family has no such key.
  std::optional<std::int64_t> context() const { return integer_option("context"); }
  std::optional<std::int64_t> model_dim() const { return integer_option("dim"); }
  // Returns the number of tokens in a row of a language model's batch: train.bptt for a recurrent model, else the
  // model's context, or a fixed number for a model without a limit.
  std::int64_t block_size() const { return train.bptt ? train.bptt : context().value_or(kUnlimitedRowTokens); }
  static constexpr std::int64_t kUnlimitedRowTokens = 128;

  // Returns the adapters of the model (train.lora.*).
  LoraOptions lora() const;

  // Returns the same values as a Config in which every key is given. Its `derived` lists the keys that were derived
  // from others.
  const Config& values() const { return values_->config; }
  bool operator==(const ResolvedConfig& other) const { return values() == other.values(); }

 private:
  std::optional<std::int64_t> integer_option(std::string_view name) const;
};

// Reads a configuration. Keys that are not given keep their defaults. Throws UsageError, one line `origin:line: …`, for
// a syntax error, an unknown key or section (naming the nearest known one), a wrong type or a value out of range.
Config parse_config(std::string_view text, const std::string& origin);
// Reads a configuration from a file, in the same way. Also throws Error if the file cannot be opened.
Config load_config(const std::filesystem::path& path);
// Returns the keys that a file gives, such as "model.layers", by their present names. Throws as load_config() does
// where the file is no TOML.
std::set<std::string> keys_given_in(const std::filesystem::path& path);

// Sets one key to what the command line gives: apply_override(config, "model.layers", "4"). Booleans are true or false;
// a list is comma-separated, and several values (a repeated option) are joined. Throws UsageError as parse_config()
// does, and for several values of a key that is no list.
void apply_override(Config& config, std::string_view name, std::span<const std::string> values);
void apply_override(Config& config, std::string_view name, const std::string& value);

// The values that the command line gives, by key; a key without values is not given.
using ConfigOverrides = std::map<std::string, std::vector<std::string>>;
// Returns whether the command line gives the key.
bool has_override(const ConfigOverrides& overrides, std::string_view key);
// Sets all these keys, model.type and optimizer.name first. If they name training data of another kind, the data of the
// configuration is removed, together with its validation data. If they name another optimizer, values of keys that it
// does not have are removed, and so are values that have no effect beside the value of an override (idle_keys()).
// Returns a line about each value that was removed.
std::vector<std::string> apply_overrides(Config& config, const ConfigOverrides& overrides);

// Replaces every value that refers to another key, and checks all values: first each key by itself, then the rules
// across keys. Throws UsageError. A configuration without training data is allowed, because `info` needs none.
// Resolving the values() of the result gives the same result again.
ResolvedConfig resolve(Config config);
// Throws UsageError unless the configuration names training data, or tasks that do.
void require_data(const Config& config);

// Returns the keys of the optimizer with their values, including lr and clip.
KeyValues optimizer_options(const ResolvedConfig& config);

// Returns the TOML text of the configuration: every key with its help as a comment, and `derived`. Parsing and
// resolving it gives an equal configuration. Its first line has a checksum of the others. Throws UsageError for a
// string that is not UTF-8.
std::string to_toml(const ResolvedConfig& config);

// Returns whether the text is unchanged since to_toml() wrote it: whether it has the right checksum. Older versions
// wrote none.
bool is_unchanged(std::string_view toml);
bool has_checksum(std::string_view toml);

// What the command line needs to know to offer a key as the option --name.
struct ConfigKey {
  std::string name;  // "model.layers"
  KeyType type;
  std::string help;                  // one line, with the unit
  std::string default_value;         // as apply_override() takes it
  std::vector<std::string> allowed;  // the allowed words of a string; empty if any string is allowed
  std::vector<std::string> owners;   // the model families or optimizers that have the key; empty if all have it
};
std::vector<ConfigKey> config_keys();

}  // namespace tapeformer
