#include "tasks/labels/labelled_data.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/shuffle.h"
#include "core/text/utf8.h"
#include "tasks/common/models.h"
#include "tasks/text/language_data.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kHoldOutStream = mix64(0x686f6c64);  // "hold"

std::uint64_t hash_of(std::span<const LabelledExample> examples) {
  if (examples.empty()) return 0;
  Hasher hasher;
  for (const LabelledExample& example : examples) {
    hasher.update(std::uint64_t{example.pieces.size()});
    for (std::size_t i = 0; i < example.pieces.size(); ++i) {
      hasher.update(str_cat(example.pieces[i], '\n', example.labels[i], '\n'));
    }
  }
  return hasher.digest();
}

// The frequency of each label, and the labels in the order of their first occurrence.
struct LabelKinds {
  explicit LabelKinds(std::span<const LabelledExample> examples) {
    for (const LabelledExample& example : examples) {
      for (const std::string& label : example.labels) {
        if (label.empty()) continue;
        if (++counts[label] == 1) names.push_back(label);
        ++total;
      }
    }
  }
  std::unordered_map<std::string, std::int64_t> counts;
  std::vector<std::string> names;
  std::int64_t total = 0;
};

std::string_view without_spaces_around(std::string_view label) {
  constexpr const char* kSpaces = " \t\r";
  const std::size_t begin = label.find_first_not_of(kSpaces);
  return begin == label.npos ? "" : label.substr(begin, label.find_last_not_of(kSpaces) + 1 - begin);
}

// Warns of the first label that is another one but for white space around it.
void warn_of_spaces(const std::string& file, const LabelKinds& kinds, std::vector<std::string>& warnings) {
  std::unordered_map<std::string_view, std::string_view> seen;
  for (const std::string& label : kinds.names) {
    const auto [other, is_new] = seen.emplace(without_spaces_around(label), label);
    if (is_new) continue;
    warnings.push_back(str_cat(file, ": the labels \"", other->second, "\" and \"", label,
                               "\" are two, which differ by white space alone"));
    return;
  }
}

// Warns if the labels look like another column: there are more different labels than texts, or many labels that occur
// only a few times each.
void warn_of_labels(const std::string& file, std::span<const LabelledExample> examples, const LabelKinds& kinds,
                    std::vector<std::string>& warnings) {
  constexpr std::int64_t kFewOfEach = 4, kMany = 20;
  std::unordered_set<std::string_view> texts;
  for (const LabelledExample& example : examples) texts.insert(example.pieces.begin(), example.pieces.end());
  const std::int64_t count = std::ssize(kinds.names);
  if (count > std::ssize(texts) || (count > kMany && kinds.total < kFewOfEach * count)) {
    warnings.push_back(str_cat(file, ": ", kinds.total, " labels of ", count, " kinds beside ", texts.size(),
                               " kinds of texts: are the columns of labels and texts the right ones?"));
  }
  const std::string& first = kinds.names.front();
  const auto is_single = [](const auto& entry) { return entry.second == 1; };
  if (count > 2 && kinds.counts.at(first) == 1 && std::ranges::count_if(kinds.counts, is_single) == 1) {
    warnings.push_back(str_cat(file, ": the first label, ", first,
                               ", is the only one that does not come again: is the ",
                               "first line the names of the columns?"));
  }
}

// The examples that stay when some are held out, by how often each label occurs in them.
class KeptLabels {
 public:
  explicit KeptLabels(std::unordered_map<std::string, std::int64_t> counts) : counts_(std::move(counts)) {}

  // Holds out an example, unless it is the only one left with one of its labels. Returns whether it did.
  bool hold_out(const LabelledExample& example) {
    bool is_last = false;
    for (const std::string& label : example.labels) is_last |= !label.empty() && --counts_.at(label) == 0;
    if (!is_last) return true;
    for (const std::string& label : example.labels) {
      if (!label.empty()) ++counts_.at(label);
    }
    return false;
  }

 private:
  std::unordered_map<std::string, std::int64_t> counts_;
};

// Throws Error if a tokenizer cannot be learned from a text of the examples.
void require_utf8(const ResolvedConfig& config, std::span<const LabelledExample> examples, const std::string& file) {
  if (config.tokenizer.kind == TokenizerKind::bpe) return;
  for (const LabelledExample& example : examples) {
    check(std::ranges::all_of(example.pieces, [](const auto& piece) { return find_invalid_utf8(piece) == piece.npos; }),
          file, ":", example.line, ": the text is not valid UTF-8; a bpe tokenizer takes any bytes");
  }
}

}  // namespace

std::unique_ptr<Tokenizer> learn_tokenizer(const ResolvedConfig& config, std::span<const LabelledExample> examples,
                                           const ProgressMaker& progress) {
  std::vector<std::string> texts;
  for (const LabelledExample& example : examples) {
    std::string& text = texts.emplace_back();
    for (const std::string& piece : example.pieces) text += (text.empty() ? "" : " ") + piece;
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return train_tokenizer(tokenizer_options(config, false), views, start_progress(progress, "learning merges"));
}

std::vector<LabelledExample> examples_for_tokenizer(const ResolvedConfig& config, const LabelledData& data) {
  std::vector<LabelledExample> examples = data.train;
  if (config.tokenizer.kind == TokenizerKind::character)
    examples.insert(examples.end(), data.valid.begin(), data.valid.end());
  return examples;
}

std::vector<LabelledExample> hold_out(std::vector<LabelledExample>& examples, double fraction, std::uint64_t seed) {
  const LabelKinds kinds(examples);
  std::unordered_map<std::string_view, std::vector<std::int64_t>> of_label;  // the examples that count for each label
  std::vector<std::string_view> labels;                                      // in the order of their first occurrence
  for (std::int64_t i = 0; i < std::ssize(examples); ++i) {
    std::string_view rarest;
    for (const std::string& label : examples[i].labels) {
      if (!label.empty() && (rarest.empty() || kinds.counts.at(label) < kinds.counts.find(std::string(rarest))->second))
        rarest = label;
    }
    std::vector<std::int64_t>& own = of_label[rarest];
    if (own.empty()) labels.push_back(rarest);
    own.push_back(i);
  }
  // The most frequent labels come first. So a label with too few examples to give any cannot make a frequent one give
  // more than its share.
  std::ranges::stable_sort(labels, std::greater(), [&](std::string_view label) { return of_label.at(label).size(); });
  KeptLabels left(kinds.counts);
  std::vector<bool> is_held_out(examples.size(), false);
  std::int64_t seen = 0, taken = 0;
  for (const std::string_view label : labels) {
    std::vector<std::int64_t>& own = of_label.at(label);
    RandomStream random({.seed = seed, .step = static_cast<std::uint32_t>(seen), .stream = kHoldOutStream});
    shuffle(own, random);
    seen += std::ssize(own);
    const auto owed = static_cast<std::int64_t>(fraction * static_cast<double>(seen)) - taken;
    std::int64_t count = std::min(owed, std::ssize(own) - 1);
    for (const std::int64_t i : own) {
      if (count <= 0) break;
      if (!left.hold_out(examples[i])) continue;
      is_held_out[i] = true;
      --count, ++taken;
    }
  }
  std::vector<LabelledExample> kept, held_out;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    (is_held_out[i] ? held_out : kept).push_back(std::move(examples[i]));
  }
  examples = std::move(kept);
  return held_out;
}

KnownVocabulary vocabulary_of(const RunFolder* run) {
  if (!run) return {};
  return {Tokenizer::load(run->tokenizer()), read_labels(run->labels()), run->root.string()};
}

LabelledData read_labelled_data(const ResolvedConfig& config, KnownVocabulary known) {
  const Config::Data& data = config.data;
  const LabelTask& task = find_label_task(config.task.kind);
  const bool learns = !known.tokenizer && config.tokenizer.file.empty();
  LabelledData result;
  const auto read = [&](const std::string& file) {
    LabelledFile labelled = task.functions.read(file, data.labelled_file_options());
    if (learns) require_utf8(config, labelled.examples, file);
    if (!labelled.header.empty()) result.warnings.push_back(header_note(file, labelled.header));
    return std::move(labelled.examples);
  };
  result.train = read(data.labels);
  const LabelKinds all(result.train);
  check(all.total > 0, data.labels, ": expected examples with labels, got none");
  if (!task.extracts_span) {
    warn_of_spaces(data.labels, all, result.warnings);
    warn_of_labels(data.labels, result.train, all, result.warnings);
  }
  result.valid = data.valid_labels.empty()
                     ? hold_out(result.train, data.valid_fraction, static_cast<std::uint64_t>(data.seed))
                     : read(data.valid_labels);
  result.train_hash = hash_of(result.train);
  result.valid_hash = hash_of(result.valid);
  result.labels = LabelKinds(result.train).names;
  if (task.extracts_span) result.labels = {"start", "end"};
  if (known.labels) {
    for (const std::string& label : result.labels) {
      check(std::ranges::count(*known.labels, label) > 0, data.labels, ": the label ", label, " is none of those that ",
            known.run, " was begun with");
    }
    result.labels = std::move(*known.labels);
  }
  result.tokenizer = std::move(known.tokenizer);
  return result;
}

LabelledData prepare_labelled_data(const ResolvedConfig& config, KnownVocabulary known, const ProgressMaker& progress) {
  LabelledData result = read_labelled_data(config, std::move(known));
  const std::string& file = config.tokenizer.file;
  if (!result.tokenizer && !file.empty()) result.tokenizer = Tokenizer::load(file);
  if (!result.tokenizer) {
    result.tokenizer = learn_tokenizer(config, examples_for_tokenizer(config, result), progress);
  }
  return result;
}

std::unique_ptr<EncoderForClassification> make_encoder_for_classification(const ResolvedConfig& config,
                                                                          const Tokenizer& tokenizer,
                                                                          std::int64_t labels) {
  return make_encoder_for_classification(
      config, std::shared_ptr<Model>(make_model_with_heads(config, model_vocabulary(config, tokenizer))), labels);
}

std::unique_ptr<EncoderForClassification> make_encoder_for_classification(const ResolvedConfig& config,
                                                                          std::shared_ptr<Model> encoder,
                                                                          std::int64_t labels) {
  return std::make_unique<EncoderForClassification>(
      std::move(encoder), ClassificationOptions{.labels = labels,
                                                .pooled = find_label_task(config.task.kind).pooled,
                                                .mix = config.task.mix,
                                                .dropout = config.task.dropout,
                                                .freeze = config.task.freeze});
}

std::vector<std::string> read_labels(const std::filesystem::path& path, const std::string& task) {
  auto labels = parse_json<nlohmann::json>(read_file(path), path.string() + ": ");
  if (!task.empty()) {
    check(labels.is_object() && labels.contains(task), path.string(), ": expected an object with the labels of ", task);
    labels = nlohmann::json(labels[task]);
  }
  check(labels.is_array() && std::ranges::all_of(labels, [](const auto& label) { return label.is_string(); }),
        path.string(), ": expected a list of strings");
  return labels.get<std::vector<std::string>>();
}

std::string labels_json(std::span<const std::string> labels) {
  return dump_json(nlohmann::json(std::vector<std::string>(labels.begin(), labels.end()))) + "\n";
}

}  // namespace tapeformer
