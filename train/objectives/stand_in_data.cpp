#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/random.h"
#include "train/config/model_config.h"
#include "train/objectives/objective_data.h"

namespace tapeformer {
namespace {

// A tokenizer whose tokens are numbers.
std::unique_ptr<Tokenizer> numbers_tokenizer(const ResolvedConfig& config, std::vector<std::string> special_tokens) {
  const Config::Tokenizer& wanted = config.tokenizer;
  const std::int64_t vocab = wanted.kind == TokenizerKind::character ? kStandInCharacters : wanted.vocab;
  std::string text;
  for (std::int64_t i = 0; i < vocab; ++i) text += ' ' + std::to_string(i);
  const std::string_view texts[] = {text};
  return train_tokenizer({.kind = "word", .vocab = vocab, .special_tokens = std::move(special_tokens)}, texts);
}

// The tokenizer of a text: that of the run, or of the configuration's file, or one that is made up.
std::unique_ptr<Tokenizer> text_tokenizer(const ResolvedConfig& config, const RunFolder* run) {
  if (run) return Tokenizer::load(run->tokenizer());
  if (!config.tokenizer.file.empty()) return Tokenizer::load(config.tokenizer.file);
  const bool documents = config.data.document != DocumentEnd::none;
  return numbers_tokenizer(config, tokenizer_options(config, documents).special_tokens);
}

PairTokenizers pair_tokenizers(const ResolvedConfig& config, const RunFolder* run) {
  if (run) return load_pair_tokenizers(*run, config);
  const auto make = [&](const std::string& file) -> std::shared_ptr<const Tokenizer> {
    if (!file.empty()) return Tokenizer::load(file);
    return numbers_tokenizer(config, {kPaddingToken, kBeginToken, kEndToken});
  };
  PairTokenizers both{.source = make(config.tokenizer.file), .target = nullptr, .symbols = {}};
  both.target = config.tokenizer.joint ? both.source : make(config.tokenizer.target_file);
  both.symbols = {sentence_symbols(*both.source, config.tokenizer.file),
                  sentence_symbols(*both.target, config.tokenizer.target_file)};
  return both;
}

std::vector<std::int32_t> random_ids(std::int64_t count, const Tokenizer& tokenizer) {
  RandomStream random({});
  std::vector<std::int32_t> ids(count);
  const auto vocab = static_cast<std::uint32_t>(tokenizer.vocab_size());
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.next_u32() % vocab);
  return ids;
}

// Enough for two steps.
LanguageData text_data(const ResolvedConfig& config, std::unique_ptr<Tokenizer> tokenizer) {
  const TokenCache cache(token_cache_folder());
  const std::filesystem::path path = cache.writable_folder() / str_cat("stand-in-", ::getpid(), ".tokens");
  TokenFileWriter file(path, tokenizer->vocab_size(), 0, tokenizer->hash());
  const std::int64_t rows = config.train.batch * config.train.accumulate;
  file.append(random_ids(2 * rows * (config.row_tokens() + 1), *tokenizer));
  file.commit(0);
  LanguageData data{
      .tokenizer = std::move(tokenizer), .train = TokenFile::open(path), .valid = std::nullopt, .warnings = {}};
  std::filesystem::remove(path);  // it stays open
  return data;
}

TranslationData pair_data(const ResolvedConfig& config, PairTokenizers tokenizers) {
  const PairLimits limits = pair_limits(config);
  const auto ids = [&](const Tokenizer& tokenizer, std::int64_t most) {
    return random_ids(std::min(most, kStandInLength), tokenizer);
  };
  const auto source = ids(*tokenizers.source, limits.source), target = ids(*tokenizers.target, limits.target);
  const std::int64_t of_tokens = config.train.batch_tokens / (std::ssize(target) + 1) + 1;
  const std::int64_t batch = config.train.batch_tokens > 0 ? of_tokens : config.train.batch;
  TranslationData data{.tokenizers = std::move(tokenizers), .train = {}, .valid = {}, .valid_text = {}, .notes = {}};
  for (std::int64_t i = 0; i < 2 * batch * config.train.accumulate; ++i) data.train.add(source, target, 0);
  return data;
}

TaskData task_data(const ResolvedConfig& config, const RunFolder* run) {
  const Task& task = find_task(config.task.kind);
  TaskData data{.tokenizer = text_tokenizer(config, run), .labels = {}, .train = {}, .valid = {}};
  if (run) {
    data.labels = read_labels(run->labels());
  } else if (task.points) {
    data.labels = {"start", "end"};
  } else {
    for (std::int64_t i = 0; i < kStandInLabels; ++i) data.labels.push_back(str_cat("label ", i));
  }
  const std::int64_t count = 2 * config.train.batch * config.train.accumulate, labels = std::ssize(data.labels);
  for (std::int64_t i = 0; i < count; ++i) {
    LabelledExample& example = data.train.emplace_back();
    for (std::int64_t k = 0; k < kStandInLength; ++k) {
      const std::string word = std::to_string(k), label = data.labels[(i + k) % labels];
      if (task.pooled && k > 0) {
        example.pieces[0] += ' ' + word;
        continue;
      }
      example.pieces.push_back(word);
      example.labels.push_back(task.points && k == 0 ? "" : label);
    }
  }
  return data;
}

}  // namespace

ObjectiveData stand_in_data(const ResolvedConfig& config, const RunFolder* run) {
  if (config.has_task()) return task_data(config, run);
  if (config.family().reads_pairs()) return pair_data(config, pair_tokenizers(config, run));
  return text_data(config, text_tokenizer(config, run));
}

}  // namespace tapeformer
