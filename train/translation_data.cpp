#include "train/translation_data.h"

#include "autograd/core/error.h"
#include "data/corpora.h"

namespace tapeformer {
namespace {

ParallelText read_training_text(const Config::Data& data) {
  if (!data.pairs.empty()) return ParallelText::from_pairs(data.pairs);
  if (!data.source.empty()) return ParallelText::from_files(data.source, data.target);
  if (!is_parallel_corpus(data.corpus)) {
    fail_usage("data.corpus: expected parallel text for model.type = transformer, got ", data.corpus,
               ", which is plain text");
  }
  return ParallelText::from_lines(generate_corpus(data.corpus, data.lines, static_cast<std::uint64_t>(data.seed)),
                                  concat("corpus ", data.corpus));
}

std::optional<ParallelText> read_validation_text(const Config::Data& data) {
  if (!data.valid_pairs.empty()) return ParallelText::from_pairs(data.valid_pairs);
  if (!data.valid_source.empty()) return ParallelText::from_files(data.valid_source, data.valid_target);
  return std::nullopt;
}

std::shared_ptr<const Tokenizer> train_pair_tokenizer(const Config::Tokenizer& config,
                                                      std::span<const std::string_view> texts) {
  TokenizerOptions options{.kind = config.kind, .vocab = config.vocab, .special_tokens = {}};
  options.special_tokens = {kPaddingToken, kBeginToken, kEndToken};
  if (config.kind != "bpe") options.special_tokens.push_back("<unk>");  // bpe knows every byte
  return train_tokenizer(options, texts);
}

PairTokenizers make_tokenizers(const Config& config, const PairSplit& split) {
  const Config::Tokenizer& options = config.tokenizer;
  std::vector<std::string_view> sources, targets;
  const auto add = [&](std::span<const SentencePair> pairs) {
    for (const SentencePair& pair : pairs) {
      sources.push_back(pair.source);
      targets.push_back(pair.target);
    }
  };
  add(split.train);
  if (options.kind == "char") add(split.valid);
  const auto make = [&](const std::string& file, std::span<const std::string_view> texts) {
    return file.empty() ? train_pair_tokenizer(options, texts)
                        : std::shared_ptr<const Tokenizer>(Tokenizer::load(file));
  };
  if (!options.joint)
    return pair_tokenizers(make(options.file, sources), make(options.target_file, targets), "tokenizer");
  sources.insert(sources.end(), targets.begin(), targets.end());
  return pair_tokenizers(make(options.file, sources), nullptr, options.file.empty() ? "tokenizer" : options.file);
}

}  // namespace

PairTokenizers pair_tokenizers(std::shared_ptr<const Tokenizer> source, std::shared_ptr<const Tokenizer> target,
                               const std::string& origin) {
  if (!target) target = source;
  const PairSymbols symbols{sentence_symbols(*source, origin), sentence_symbols(*target, origin)};
  return {std::move(source), std::move(target), symbols};
}

PairTokenizers load_pair_tokenizers(const RunFolder& run) {
  std::shared_ptr<const Tokenizer> target;
  if (std::filesystem::exists(run.target_tokenizer())) target = Tokenizer::load(run.target_tokenizer());
  return pair_tokenizers(Tokenizer::load(run.tokenizer()), target, run.tokenizer().string());
}

PairLimits pair_limits(const Config& config) { return {config.model.context - 1, config.model.context - 1}; }

PairBatchOptions pair_batch_options(const Config& config) {
  return {.tokens = config.train.batch_tokens,
          .sentences = config.train.batch,
          .seed = static_cast<std::uint64_t>(config.train.seed)};
}

TranslationData prepare_translation_data(const Config& config, std::optional<PairTokenizers> tokenizers) {
  TranslationData data;
  data.texts.push_back(read_training_text(config.data));
  PairSplit split{data.texts[0].pairs(), {}};
  if (auto text = read_validation_text(config.data)) {
    split.valid = data.texts.emplace_back(std::move(*text)).pairs();
  } else {
    split = data.texts[0].split(config.data.valid_fraction);
  }
  data.tokenizers = tokenizers ? std::move(*tokenizers) : make_tokenizers(config, split);
  const auto encode = [&](std::span<const SentencePair> pairs) {
    return encode_pairs(pairs, *data.tokenizers.source, *data.tokenizers.target, pair_limits(config));
  };
  data.train = encode(split.train);
  data.hash = pairs_hash(split.train);
  if (!split.valid.empty()) data.valid = encode(split.valid);
  data.valid_text = split.valid;
  return data;
}

}  // namespace tapeformer
