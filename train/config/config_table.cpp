#include "train/config/config_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/nearest_name.h"

namespace tapeformer {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMaxSize = 1 << 20;  // a width, length or count above this is a slip of the hand

using Words = std::vector<std::string>;

ConfigRange at_least(double min) { return {min, kInfinity}; }
ConfigRange above(double min) { return {min, kInfinity, true}; }
ConfigRange between(double min, double max) { return {min, max}; }
ConfigRange fraction() { return {0, 1, false, true}; }

// One section of Config, which makes the entries of its keys.
template <auto Section>
struct SectionOf {
  const char* name;

  template <auto Key>
  ConfigEntry key(const char* key, const char* help, decltype(ConfigEntry::allowed) allowed = std::monostate{}) const {
    using Type = std::remove_cvref_t<decltype(std::declval<Config>().*Section.*Key)>;
    return {name,
            key,
            [](const Config& config) -> ConfigValue { return config.*Section.*Key; },
            [](Config& config, ConfigValue value) { config.*Section.*Key = std::get<Type>(std::move(value)); },
            help,
            std::move(allowed)};
  }
};

std::string range_text(const ConfigRange& range) {
  if (range.max == kInfinity) return str_cat("value ", range.excludes_min ? "> " : ">= ", range.min);
  return str_cat(range.min, range.excludes_min ? " < " : " <= ", "value",
                 range.excludes_max ? " < " : " <= ", static_cast<std::int64_t>(range.max));
}

bool contains(const ConfigRange& range, double value) {
  return (range.excludes_min ? value > range.min : value >= range.min) &&
         (range.excludes_max ? value < range.max : value <= range.max);
}

// JSON's escapes are TOML's too, but for DEL, which TOML wants escaped.
std::string quoted(const std::string& text) {
  std::string json;
  try {
    json = nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    fail_usage("configuration: expected text in UTF-8, got ",
               nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  std::string out;
  for (const char c : json) c == '\x7f' ? out += "\\u007F" : out += c;
  return out;
}

std::string format_double(double value) {
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // a whole number, not inf or nan
  return text;
}

}  // namespace

const std::vector<ConfigEntry>& config_table() {
  using M = Config::Model;
  using K = Config::Tokenizer;
  using D = Config::Data;
  using O = Config::Optimizer;
  using S = Config::Schedule;
  using T = Config::Train;
  using E = Config::Eval;
  using C = Config::Checkpoint;
  constexpr SectionOf<&Config::model> model{"model"};
  constexpr SectionOf<&Config::tokenizer> tokenizer{"tokenizer"};
  constexpr SectionOf<&Config::data> data{"data"};
  constexpr SectionOf<&Config::optimizer> optimizer{"optimizer"};
  constexpr SectionOf<&Config::schedule> schedule{"schedule"};
  constexpr SectionOf<&Config::train> train{"train"};
  constexpr SectionOf<&Config::eval> eval{"eval"};
  constexpr SectionOf<&Config::checkpoint> checkpoint{"checkpoint"};
  static const std::vector<ConfigEntry> table = {
      model.key<&M::type>("type", "decoder only, or encoder-decoder", Words{"gpt", "transformer"}),
      model.key<&M::layers>("layers", "blocks (of the encoder and of the decoder)", between(1, kMaxSize)),
      model.key<&M::heads>("heads", "attention heads of a block", between(1, kMaxSize)),
      model.key<&M::dim>("dim", "width of the residual stream", between(1, kMaxSize)),
      model.key<&M::ff_dim>("ff_dim", "inner width of the feed-forward part (0 = 4 dim)", between(0, kMaxSize)),
      model.key<&M::context>("context", "longest sequence, in tokens", between(1, kMaxSize)),
      model.key<&M::dropout>("dropout", "probability of dropping an activation in training", fraction()),
      model.key<&M::attention_dropout>("attention_dropout", "the same of an attention weight (-1 = dropout)",
                                       ConfigRange{-1, 1, false, true}),
      model.key<&M::norm>("norm", "layer norm before or after each part (auto = pre for gpt, post for transformer)",
                          Words{"auto", "pre", "post"}),
      model.key<&M::activation>("activation", "of the feed-forward part (auto = gelu for gpt, relu for transformer)",
                                Words{"auto", "gelu", "gelu_tanh", "relu"}),
      model.key<&M::position>("position", "positions (auto = learned for gpt, sinusoidal for transformer)",
                              Words{"auto", "learned", "sinusoidal"}),
      model.key<&M::position_base>("position_base", "base of the sinusoidal wavelengths", above(0)),
      model.key<&M::tie_embeddings>("tie_embeddings",
                                    "embeddings that share weights (auto = all with a joint vocabulary, else output)",
                                    Words{"auto", "none", "output", "all"}),
      model.key<&M::bias>("bias", "biases in linear layers and layer norms"),
      model.key<&M::norm_eps>("norm_eps", "added to the variance in layer norm", above(0)),
      model.key<&M::init_std>(
          "init_std",
          "deviation of the normal distribution that matrices begin with (0 = 0.02 for gpt, Xavier's "
          "uniform distribution for transformer)",
          at_least(0)),

      tokenizer.key<&K::kind>("kind", "characters, words, or byte-level byte pair encoding",
                              Words{"char", "word", "bpe"}),
      tokenizer.key<&K::vocab>("vocab", "tokens to learn, at most (char takes every character)", between(1, kMaxSize)),
      tokenizer.key<&K::sample>(
          "sample", "MiB of text, spread over it, that words and byte pairs are learned from (0 = all)", at_least(0)),
      tokenizer.key<&K::file>("file", "an existing tokenizer.json, used in place of learning one"),
      tokenizer.key<&K::joint>("joint", "parallel text: one vocabulary for both sides, else one each"),
      tokenizer.key<&K::target_file>("target_file", "the target side's tokenizer.json where they are not joint"),

      data.key<&D::text>("text",
                         "text to train on: files, folders or globs; .gz, .zst and .jsonl too; - = standard input"),
      data.key<&D::valid>("valid", "validation text: files, folders or globs (none = the last part of text)"),
      data.key<&D::valid_fraction>("valid_fraction", "part held out when no validation data is given (0 = none)",
                                   fraction()),
      data.key<&D::document>("document",
                             "end of a document in plain text, where <|endoftext|> is put (mark = where it is written)",
                             Words{"none", "file", "line", "mark"}),
      data.key<&D::text_field>("text_field", "field of JSON lines (.jsonl) that holds a document's text"),
      data.key<&D::within_document>("within_document",
                                    "gpt: a token sees its own document alone, whose positions begin at 0"),
      data.key<&D::source>("source", "source side of parallel text, a sentence a line"),
      data.key<&D::target>("target", "target side of parallel text, a sentence a line"),
      data.key<&D::valid_source>("valid_source", "source side for validation"),
      data.key<&D::valid_target>("valid_target", "target side for validation"),
      data.key<&D::pairs>("pairs", "parallel text, a line is source, tab, target"),
      data.key<&D::valid_pairs>("valid_pairs", "the same for validation"),
      data.key<&D::corpus>("corpus", "name of a generated corpus"),
      data.key<&D::lines>("lines", "lines of the generated corpus", at_least(1)),
      data.key<&D::seed>("seed", "seed of the generated corpus", at_least(0)),

      optimizer.key<&O::name>("name", "Adam with decoupled weight decay, or without any", Words{"adamw", "adam"}),
      optimizer.key<&O::lr>("lr", "peak learning rate", at_least(0)),
      optimizer.key<&O::beta1>("beta1", "decay of the mean of gradients", fraction()),
      optimizer.key<&O::beta2>("beta2", "decay of the mean of squared gradients", fraction()),
      optimizer.key<&O::eps>("eps", "added to the root of the mean square", above(0)),
      optimizer.key<&O::weight_decay>("weight_decay", "decay of matrices, times the learning rate (adamw alone)",
                                      at_least(0)),
      optimizer.key<&O::clip>("clip", "largest global norm of the gradient (0 = no limit)", at_least(0)),

      schedule.key<&S::kind>("kind", "course of the learning rate after warm-up",
                             Words{"inverse_sqrt", "cosine", "linear", "constant"}),
      schedule.key<&S::warmup>(
          "warmup", "steps of linear warm-up (-1 = 4000, the paper's, with factor, and 200 without)", at_least(-1)),
      schedule.key<&S::total>("total", "step at which cosine and linear reach min_lr (0 = train.steps)", at_least(0)),
      schedule.key<&S::min_lr>("min_lr", "learning rate that cosine and linear end at", at_least(0)),
      schedule.key<&S::factor>("factor", "above 0: inverse_sqrt's peak is factor / sqrt(dim warmup), not optimizer.lr",
                               at_least(0)),

      train.key<&T::steps>("steps", "optimizer steps", at_least(1)),
      train.key<&T::batch>("batch", "sequences of a micro-step", between(1, kMaxSize)),
      train.key<&T::batch_tokens>("batch_tokens", "tokens of a micro-step of parallel text (0 = count sequences)",
                                  at_least(0)),
      train.key<&T::accumulate>("accumulate", "micro-steps whose gradients make one step", between(1, kMaxSize)),
      train.key<&T::length_groups>(
          "length_groups", "groups of sentences of similar lengths that a step draws (0 = one for each micro-step)",
          between(0, kMaxSize)),
      train.key<&T::label_smoothing>("label_smoothing", "share of the target spread over the vocabulary", fraction()),
      train.key<&T::seed>("seed", "seed of weights, batches and dropout", at_least(0)),
      train.key<&T::threads>("threads", "threads (0 = physical cores)", between(0, 4096)),
      train.key<&T::recompute>("recompute",
                               "compute activations again in backward: far less memory, up to a third more time"),
      train.key<&T::max_minutes>("max_minutes", "stop and save after so many minutes (0 = no limit)", at_least(0)),
      train.key<&T::log_every>("log_every", "steps between lines of metrics.jsonl", at_least(1)),

      eval.key<&E::every>("every", "steps between evaluations (0 = at the end alone)", at_least(0)),
      eval.key<&E::batches>("batches", "batches of an evaluation (0 = the whole validation data)", at_least(0)),
      eval.key<&E::stride>("stride", "tokens scored by a window of context (0 = context)", between(0, kMaxSize)),
      eval.key<&E::patience>("patience", "evaluations without a lower loss after which training ends (0 = no limit)",
                             at_least(0)),
      eval.key<&E::bleu_every>("bleu_every",
                               "steps between BLEU scores of greedy translations of validation sentences (0 = never)",
                               at_least(0)),
      eval.key<&E::bleu_sentences>("bleu_sentences", "the first validation sentences, for BLEU (0 = all)", at_least(0)),
      eval.key<&E::bleu_tokenize>("bleu_tokenize", "how BLEU finds words: as mteval-v13a does, or at spaces alone",
                                  Words{"13a", "none"}),

      checkpoint.key<&C::every>("every", "steps between checkpoints (0 = at the end alone)", at_least(0)),
      checkpoint.key<&C::every_minutes>("every_minutes", "minutes between checkpoints as well (0 = off)", at_least(0)),
      checkpoint.key<&C::keep>("keep", "newest checkpoints kept, beside the best (0 = all)", at_least(0)),
      checkpoint.key<&C::average>("average", "checkpoints whose weights are averaged at the end (0 = off)",
                                  at_least(0)),
  };
  return table;
}

const ConfigEntry* find_config_entry(std::string_view section, std::string_view key) {
  for (const ConfigEntry& entry : config_table()) {
    if (entry.section == section && entry.key == key) return &entry;
  }
  return nullptr;
}

bool is_config_section(std::string_view section) {
  return std::any_of(config_table().begin(), config_table().end(),
                     [&](const ConfigEntry& entry) { return entry.section == section; });
}

std::string nearest_config_section(std::string_view section) {
  std::vector<std::string_view> sections;
  for (const ConfigEntry& entry : config_table()) {
    if (entry.section.starts_with(section)) return entry.section;  // an abbreviation
    sections.push_back(entry.section);
  }
  return std::string(nearest_name(section, sections));
}

std::string nearest_config_name(std::string_view section, std::string_view key) {
  std::vector<const ConfigEntry*> entries;
  for (const ConfigEntry& entry : config_table()) entries.push_back(&entry);
  const std::string home = nearest_config_section(section);
  std::stable_partition(entries.begin(), entries.end(), [&](const auto* entry) { return entry->section == home; });
  std::vector<std::string_view> keys;
  for (const ConfigEntry* entry : entries) keys.push_back(entry->key);
  const std::string_view nearest = nearest_name(key, keys);
  return entries[std::find(keys.begin(), keys.end(), nearest) - keys.begin()]->name();
}

void check_config_value(const ConfigEntry& entry, const ConfigValue& value, const std::string& where) {
  const auto refuse = [&](const std::string& expected) {
    fail_usage(where, entry.name(), ": expected ", expected, ", got ", format_config_value(value));
  };
  if (const double* number = std::get_if<double>(&value); number && !std::isfinite(*number)) refuse("a finite number");
  if (const auto* range = std::get_if<ConfigRange>(&entry.allowed)) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (!contains(*range, integer ? static_cast<double>(*integer) : std::get<double>(value)))
      refuse(range_text(*range));
  }
  if (const auto* words = std::get_if<Words>(&entry.allowed)) {
    if (std::find(words->begin(), words->end(), std::get<std::string>(value)) != words->end()) return;
    std::string expected;
    for (const std::string& word : *words) {
      if (!expected.empty()) expected += &word == &words->back() ? " or " : ", ";
      expected += word;
    }
    refuse(expected);
  }
}

std::string format_config_value(const ConfigValue& value) {
  switch (static_cast<ConfigType>(value.index())) {
    case ConfigType::integer:
      return std::to_string(std::get<std::int64_t>(value));
    case ConfigType::number:
      return format_double(std::get<double>(value));
    case ConfigType::boolean:
      return std::get<bool>(value) ? "true" : "false";
    case ConfigType::string:
      return quoted(std::get<std::string>(value));
    case ConfigType::list:
      break;
  }
  std::string out = "[";
  for (const std::string& item : std::get<std::vector<std::string>>(value)) {
    out += (out.size() > 1 ? ", " : "") + quoted(item);
  }
  return out + "]";
}

}  // namespace tapeformer
