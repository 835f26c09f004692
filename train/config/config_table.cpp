#include "train/config/config_table.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/nearest_name.h"
#include "nn/optim/optimizers.h"
#include "train/config/key_text.h"
#include "train/config/other_names.h"
#include "train/tasks/task.h"

namespace tapeformer {

namespace {

// What a key can say in addition.
struct KeyFlags {
  bool fixed = false;        // it says what the model, its tokens or its task are: a resumed run cannot change it
  const char* follows = "";  // Key::follows
};
constexpr KeyFlags kFixed{.fixed = true};

// One section of Config, which makes the entries of its keys.
template <auto Section>
struct SectionOf {
  const char* name;

  template <auto Member>
  ConfigEntry key(const char* key, std::string help, decltype(Key::allowed) allowed = {}, KeyFlags flags = {}) const {
    using Type = std::remove_cvref_t<decltype(std::declval<Config>().*Section.*Member)>;
    if constexpr (std::is_enum_v<Type>) allowed = words_of<Type>();
    const auto get = [](const Config& config) -> KeyValue {
      if constexpr (std::is_enum_v<Type>) {
        return word_of(config.*Section.*Member);
      } else {
        return config.*Section.*Member;
      }
    };
    const auto set = [](Config& config, KeyValue value) {
      if constexpr (std::is_enum_v<Type>) {
        config.*Section.*Member = value_of<Type>(std::get<std::string>(value));
      } else {
        config.*Section.*Member = std::get<Type>(std::move(value));
      }
    };
    return {name,
            {.name = key,
             .default_value = get(Config{}),
             .help = std::move(help),
             .allowed = std::move(allowed),
             .follows = flags.follows,
             .may_change = !flags.fixed},
            get,
            set};
  }
};

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const ModelFamily& family : model_families()) names.push_back(family.name);
  return names;
}

std::vector<std::string> task_names() {
  std::vector<std::string> names{std::string(kNoTask)};
  for (const Task& task : tasks()) names.push_back(task.name);
  return names;
}

// "tag = a label for each word, …"
std::string task_help() {
  std::string help;
  for (const Task& task : tasks()) help += str_cat(help.empty() ? "" : "; ", task.name, " = ", task.help);
  return help;
}

// " (adamw, adam)": the optimizers that read an option.
std::string read_by(const char* option) { return " (" + optimizers_with_option(option) + ")"; }

// "0.1 for adamw, 0 for adam, …"
std::string default_weight_decays() {
  std::string text;
  for (const std::string& name : optimizer_names()) {
    text += str_cat(text.empty() ? "" : ", ", find_optimizer_row(name)->defaults.weight_decay, " for ", name);
  }
  return text;
}

// The key model.type, then all keys that are not a model family's.
const std::vector<ConfigEntry>& common_entries() {
  using M = Config::Model;
  using K = Config::Tokenizer;
  using D = Config::Data;
  using L = Config::Task;
  using O = Config::Optimizer;
  using S = Config::Schedule;
  using T = Config::Train;
  using E = Config::Eval;
  using C = Config::Checkpoint;
  constexpr SectionOf<&Config::model> model{"model"};
  constexpr SectionOf<&Config::tokenizer> tokenizer{"tokenizer"};
  constexpr SectionOf<&Config::data> data{"data"};
  constexpr SectionOf<&Config::task> task{"task"};
  constexpr SectionOf<&Config::optimizer> optimizer{"optimizer"};
  constexpr SectionOf<&Config::schedule> schedule{"schedule"};
  constexpr SectionOf<&Config::train> train{"train"};
  constexpr SectionOf<&Config::eval> eval{"eval"};
  constexpr SectionOf<&Config::checkpoint> checkpoint{"checkpoint"};
  static const std::vector<ConfigEntry> entries = [&] {
    std::vector<ConfigEntry> table = {
        model.key<&M::type>("type", "model family", {}, kFixed),

        tokenizer.key<&K::kind>("kind", "tokens: characters, words, or byte-level byte pair encoding", {}, kFixed),
        tokenizer.key<&K::vocab>("vocab", "largest vocabulary that is learned (char takes every character)",
                                 between(1, kMaxSize), kFixed),
        tokenizer.key<&K::sample>("sample",
                                  "MiB of text, spread over all of it, from which words and byte pairs are learned "
                                  "(0 = all)",
                                  at_least(0), kFixed),
        tokenizer.key<&K::file>("file", "an existing tokenizer.json, used instead of learning one", {}, kFixed),
        tokenizer.key<&K::joint>("joint", "parallel text: one vocabulary for both sides, else one each", {}, kFixed),
        tokenizer.key<&K::target_file>("target_file", "tokenizer.json of the target side when they are not joint", {},
                                       kFixed),

        data.key<&D::text>("text",
                           "training text: files, folders or globs; .gz, .zst and .jsonl too; - = standard input"),
        data.key<&D::valid>("valid", "validation text: files, folders or globs (none = the last part of text)"),
        data.key<&D::valid_fraction>(
            "valid_fraction", "part of the data held out when no validation data is given (0 = none)", fraction()),
        data.key<&D::document>(
            "document", "end of a document in plain text, where <|endoftext|> is put (mark = where it is written)", {},
            kFixed),
        data.key<&D::text_field>("text_field", "field of JSON lines (.jsonl) that holds a document's text", {}, kFixed),
        data.key<&D::within_document>("within_document",
                                      "attention and positions stay within a document: it never sees the one before",
                                      {}, kFixed),
        data.key<&D::source>("source", "parallel text: source sentences, one a line"),
        data.key<&D::target>("target", "parallel text: target sentences, one a line"),
        data.key<&D::valid_source>("valid_source", "source side for validation"),
        data.key<&D::valid_target>("valid_target", "target side for validation"),
        data.key<&D::pairs>("pairs", "parallel text: each line is source, tab, target"),
        data.key<&D::valid_pairs>("valid_pairs", "parallel text for validation: each line is source, tab, target"),
        data.key<&D::labels>("labels",
                             "labelled text for task.kind; tag: a line is word, tab, label, an empty line ends a "
                             "sentence; classify: label, tab, text; span: question, tab, text, tab, answer; .jsonl: "
                             "fields of these names, words and labels"),
        data.key<&D::valid_labels>("valid_labels",
                                   "labelled text for validation (none = the last part of data.labels)"),
        data.key<&D::corpus>("corpus", "name of a generated corpus"),
        data.key<&D::lines>("lines", "lines of the generated corpus", at_least(1)),
        data.key<&D::seed>("seed", "seed of the generated corpus", at_least(0)),

        task.key<&L::kind>(
            "kind", "what the model is fine-tuned for (" + task_help() + "; none = trained for what its family is for)",
            {}, kFixed),
        task.key<&L::freeze>("freeze", "the encoder stays as it is: only the classifier on its vectors learns", {},
                             kFixed),
        task.key<&L::mix>("mix", "the classifier reads a learned mixture of all layers, not the last one", {}, kFixed),
        task.key<&L::layer_decay>("layer_decay", "factor of the learning rate from each layer to the one below it",
                                  KeyRange{0, 1, true}),
        task.key<&L::dropout>("dropout", "dropout on the vectors that the classifier reads", fraction()),
        task.key<&L::class_weights>(
            "class_weights", "weights of the labels' losses: all alike, or inverse to how often a label is there"),

        optimizer.key<&O::name>("name", "the rule by which gradients change the weights"),
        optimizer.key<&O::lr>("lr", "peak learning rate", at_least(0)),
        optimizer.key<&O::beta1>("beta1", "decay of the mean of gradients" + read_by("beta1"), fraction()),
        optimizer.key<&O::beta2>("beta2", "decay of the mean of squared gradients" + read_by("beta2"), fraction()),
        optimizer.key<&O::eps>("eps", "added to the root of the mean square" + read_by("eps"), above(0)),
        optimizer.key<&O::weight_decay>("weight_decay", "decay of matrices (-1 = " + default_weight_decays() + ")",
                                        at_least(-1), {.follows = "optimizer.name"}),
        optimizer.key<&O::momentum>(
            "momentum", "share of the last update that the next one keeps" + read_by("momentum"), fraction()),
        optimizer.key<&O::nesterov>("nesterov", "Nesterov's form of momentum" + read_by("nesterov")),
        optimizer.key<&O::clip>("clip", "largest global norm of the gradient (0 = no limit)", at_least(0)),

        schedule.key<&S::kind>("kind", "shape of the learning rate after warm-up"),
        schedule.key<&S::warmup>("warmup", "steps of linear warm-up (-1 = 4000 with schedule.factor, else 200)",
                                 at_least(-1), {.follows = "schedule.factor"}),
        schedule.key<&S::total>("total", "step at which cosine and linear reach min_lr (0 = train.steps)", at_least(0),
                                {.follows = "train.steps"}),
        schedule.key<&S::min_lr>("min_lr", "last learning rate of cosine and linear", at_least(0)),
        schedule.key<&S::factor>(
            "factor", "above 0: the peak of inverse_sqrt is factor / sqrt(dim warmup), not optimizer.lr", at_least(0)),
        schedule.key<&S::decay>(
            "decay", "what plateau multiplies the rate by after an evaluation whose loss is not below the best",
            between(0, 1)),

        train.key<&T::steps>("steps", "optimizer steps", at_least(1)),
        train.key<&T::batch>("batch", "sequences in a micro-step", between(1, kMaxSize)),
        train.key<&T::batch_tokens>("batch_tokens", "tokens in a micro-step of parallel text (0 = count sequences)",
                                    at_least(0)),
        train.key<&T::bptt>("bptt",
                            "tokens through which a recurrent model's gradient flows back; its state goes on from row "
                            "to row (0 = what the family says)",
                            between(0, kMaxSize), {.fixed = true, .follows = "model.type"}),
        train.key<&T::accumulate>("accumulate", "micro-steps whose gradients make one step", between(1, kMaxSize)),
        train.key<&T::length_groups>(
            "length_groups", "groups of sentences of similar lengths that a step draws (0 = one for each micro-step)",
            between(0, kMaxSize)),
        train.key<&T::label_smoothing>("label_smoothing", "share of the target that is spread over the vocabulary",
                                       fraction()),
        train.key<&T::z_loss>("z_loss", "weight of the squared log of the softmax's sum, added to each target's loss",
                              at_least(0)),
        train.key<&T::mask_rate>("mask_rate", "share of the tokens that a masked language model predicts",
                                 KeyRange{.min = 0, .max = 1, .excludes_min = true}, kFixed),
        train.key<&T::mask_token>("mask_token", "share of these tokens that become [MASK]", between(0, 1), kFixed),
        train.key<&T::mask_random>("mask_random", "share that become a random token; the others stay", between(0, 1),
                                   kFixed),
        train.key<&T::seed>("seed", "seed of weights, batches, masks and dropout", at_least(0)),
        train.key<&T::threads>("threads", "threads (0 = physical cores)", between(0, 4096)),
        train.key<&T::recompute>("recompute",
                                 "compute activations again in backward: far less memory, up to a third more time"),
        train.key<&T::matmul>(
            "matmul",
            "precision of matrix products: f32, two bf16 for each number, or one (auto = medium where "
            "the CPU has AMX or AVX512_BF16, else highest)"),
        train.key<&T::max_minutes>("max_minutes", "stop and save after this many minutes (0 = no limit)", at_least(0)),
        train.key<&T::init_from>("init_from",
                                 "weights that a new run begins with: a run, a checkpoint in it, or model.safetensors "
                                 "(none = random)",
                                 {}, kFixed),
        train.key<&T::log_every>("log_every", "steps between lines of metrics.jsonl", at_least(1)),
        train.key<&T::watch>(
            "watch",
            "steps between lines of metrics.jsonl with the norms of each layer's gradients, weights and outputs "
            "(0 = never)",
            at_least(0)),
        train.key<&T::trace_nan>(
            "trace_nan",
            "a loss or gradient that is not finite ends the training: run that step again and name "
            "the op, the module and the values around the first such number"),
        train.key<&T::sample_every>(
            "sample_every",
            "steps between texts that the model makes for a look: continuations of sample_prompt, or greedy "
            "translations of validation sentences (0 = never)",
            at_least(0)),
        train.key<&T::sample_tokens>("sample_tokens", "tokens of such a continuation", at_least(1)),
        train.key<&T::sample_prompt>("sample_prompt", "the text that it continues"),
        train.key<&T::comm>("comm",
                            "what travels between the ranks of mpirun: gradients and changes of the weights as they "
                            "are, or rounded to bf16, which halves the bytes"),
        train.key<&T::sync_every>("sync_every",
                                  "for slow networks (DiLoCo): steps that each rank takes by itself before the ranks "
                                  "average their changes (0 = they sum the gradients of every step)",
                                  at_least(0), kFixed),
        train.key<&T::outer_lr>("outer_lr", "learning rate of the outer step after each train.sync_every steps",
                                above(0)),
        train.key<&T::outer_momentum>("outer_momentum", "Nesterov momentum of the outer step", fraction()),

        eval.key<&E::every>("every", "steps between evaluations (0 = only at the end)", at_least(0)),
        eval.key<&E::batches>("batches", "batches of an evaluation (0 = all validation data)", at_least(0)),
        eval.key<&E::stride>(
            "stride", "tokens that each window of an evaluation scores (0 = model.context; a recurrent model has none)",
            between(0, kMaxSize), {.follows = "model.context"}),
        eval.key<&E::patience>("patience", "evaluations without a lower loss after which training ends (0 = no limit)",
                               at_least(0)),
        eval.key<&E::bleu_every>("bleu_every",
                                 "steps between BLEU scores of greedy translations of validation sentences "
                                 "(0 = never)",
                                 at_least(0)),
        eval.key<&E::bleu_sentences>("bleu_sentences", "how many validation sentences BLEU scores (0 = all)",
                                     at_least(0)),
        eval.key<&E::bleu_tokenize>("bleu_tokenize", "how BLEU finds words: as mteval-v13a does, or at spaces only"),

        checkpoint.key<&C::every>("every", "steps between checkpoints (0 = only at the end)", at_least(0)),
        checkpoint.key<&C::every_minutes>("every_minutes", "minutes between checkpoints as well (0 = off)",
                                          at_least(0)),
        checkpoint.key<&C::keep>("keep",
                                 "newest checkpoints that are kept, beside the best (0 = all; at least average)",
                                 at_least(0), {.follows = "checkpoint.average"}),
        checkpoint.key<&C::average>("average", "checkpoints whose weights are averaged at the end (0 = off)",
                                    at_least(0)),
    };
    const auto entry = [&](std::string_view name) {
      return std::ranges::find(table, name, [](const ConfigEntry& e) { return e.name(); });
    };
    entry("model.type")->registered = family_names;
    entry("task.kind")->registered = task_names;
    entry("optimizer.name")->registered = optimizer_names;
    return table;
  }();
  return entries;
}

ConfigEntry with_registered_words(ConfigEntry entry) {
  if (entry.registered) entry.key.allowed = entry.registered();
  return entry;
}

// A key of a model family. A key that takes words takes "auto" too.
ConfigEntry model_entry(Key key) {
  if (auto* words = std::get_if<std::vector<std::string>>(&key.allowed); words && !std::ranges::count(*words, kAuto)) {
    words->insert(words->begin(), std::string(kAuto));
  }
  const auto get = [key](const Config& config) -> KeyValue {
    const auto given = config.model.options.find(key.name);
    return given == config.model.options.end() ? key.default_value : given->second;
  };
  const auto set = [name = key.name](Config& config, KeyValue value) {
    if (value == KeyValue(std::string(kAuto))) {
      config.model.options.erase(name);
    } else {
      config.model.options[name] = std::move(value);
    }
  };
  return {"model", std::move(key), get, set};
}

const Key* find_key(const ModelFamily& family, std::string_view name) {
  const auto key = std::ranges::find(family.keys, name, &Key::name);
  return key == family.keys.end() ? nullptr : &*key;
}

struct KnownKey {
  std::string section, key;
};

// The keys of all families, each once, and all others.
std::vector<KnownKey> known_keys() {
  std::vector<KnownKey> known;
  for (const ModelFamily& family : model_families()) {
    for (const Key& key : family.keys) {
      const auto is_same = [&](const KnownKey& other) { return other.key == key.name; };
      if (std::ranges::none_of(known, is_same)) known.push_back({"model", key.name});
    }
  }
  for (const ConfigEntry& entry : common_entries()) known.push_back({entry.section, entry.key.name});
  return known;
}

// " (auto = pre for gpt, post for transformer)" where the families' defaults differ, else nothing.
std::string defaults_text(const std::vector<const ModelFamily*>& families, const std::string& name) {
  std::string text;
  bool differ = false;
  for (const ModelFamily* family : families) {
    const Key &key = *find_key(*family, name), &first = *find_key(*families.front(), name);
    differ = differ || key.default_value != first.default_value;
    text += str_cat(text.empty() ? "" : ", ", command_line_text(key.default_value), " for ", family->name);
  }
  return differ ? str_cat(" (auto = ", text, ")") : "";
}

// A key of the section [model] as all families together have it.
ConfigKey model_config_key(const std::string& name) {
  std::vector<const ModelFamily*> families;
  for (const ModelFamily& family : model_families()) {
    if (find_key(family, name)) families.push_back(&family);
  }
  // A family whose own default is "auto" says in its help what that means.
  const auto is_auto = [&](const ModelFamily* family) {
    return find_key(*family, name)->default_value == KeyValue(std::string(kAuto));
  };
  const auto explained = std::ranges::find_if(families, is_auto);
  const bool explains = explained != families.end();
  const ConfigEntry entry = model_entry(*find_key(explains ? **explained : *families.front(), name));
  const std::string differing = explains ? "" : defaults_text(families, name);
  ConfigKey key{.name = "model." + name,
                .type = entry.key.type(),
                .help = entry.key.help + differing,
                .default_value = command_line_text(entry.key.default_value),
                .allowed = allowed_words(entry.key),
                .families = {}};
  if (!differing.empty() && !key.allowed.empty()) key.default_value = kAuto;
  if (families.size() < model_families().size()) {
    for (const ModelFamily* family : families) key.families.push_back(family->name);
  }
  return key;
}

}  // namespace

std::vector<ConfigEntry> config_entries(std::string_view model_type) {
  std::vector<ConfigEntry> entries{with_registered_words(common_entries().front())};
  for (const Key& key : find_model_family(model_type).keys) entries.push_back(model_entry(key));
  for (const ConfigEntry& entry : std::span(common_entries()).subspan(1)) {
    entries.push_back(with_registered_words(entry));
  }
  return entries;
}

std::optional<ConfigEntry> find_config_entry(std::string_view section, std::string_view key,
                                             std::string_view model_type) {
  for (const ConfigEntry& entry : common_entries()) {
    if (entry.section == section && entry.key.name == key) return with_registered_words(entry);
  }
  if (section != "model") return std::nullopt;
  const Key* found = nullptr;
  for (const ModelFamily& family : model_families()) {
    const Key* candidate = find_key(family, key);
    if (candidate && (!found || family.name == model_type)) found = candidate;
  }
  return found ? std::optional(model_entry(*found)) : std::nullopt;
}

bool is_config_section(std::string_view section) {
  return std::ranges::any_of(common_entries(), [&](const ConfigEntry& entry) { return entry.section == section; });
}

std::string nearest_config_section(std::string_view section) {
  std::vector<std::string_view> sections;
  for (const ConfigEntry& entry : common_entries()) {
    if (entry.section.starts_with(section)) return entry.section;  // an abbreviation
    sections.push_back(entry.section);
  }
  return std::string(nearest_name(section, sections));
}

std::string nearest_config_name(std::string_view section, std::string_view key) {
  if (const std::string_view known_as = key_of_other_name(key); !known_as.empty()) return std::string(known_as);
  std::vector<KnownKey> known = known_keys();
  const std::string home = nearest_config_section(section);
  std::stable_partition(known.begin(), known.end(), [&](const KnownKey& other) { return other.section == home; });
  std::vector<std::string_view> keys;
  for (const KnownKey& other : known) keys.push_back(other.key);
  const KnownKey& nearest = known[std::ranges::find(keys, nearest_name(key, keys)) - keys.begin()];
  return nearest.section + "." + nearest.key;
}

std::vector<ConfigKey> config_keys() {
  std::vector<ConfigKey> keys;
  const auto add = [&](const ConfigEntry& entry) {
    keys.push_back({entry.name(),
                    entry.key.type(),
                    entry.key.help,
                    command_line_text(entry.key.default_value),
                    allowed_words(entry.key),
                    {}});
  };
  add(with_registered_words(common_entries().front()));
  for (const KnownKey& known : known_keys()) {
    if (known.section == "model" && known.key != "type") keys.push_back(model_config_key(known.key));
  }
  for (const ConfigEntry& entry : std::span(common_entries()).subspan(1)) add(with_registered_words(entry));
  return keys;
}

}  // namespace tapeformer
