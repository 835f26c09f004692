#include "tasks/translation/translation_data.h"

#include <limits>

#include "core/error.h"
#include "data/synthetic/corpora.h"
#include "tasks/text/sentence_tokenizer.h"

namespace tapeformer {
namespace {

// A tokenizer, and its name in error messages.
struct NamedTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string origin;
};

NamedTokenizer load_named(const std::filesystem::path& path) { return {Tokenizer::load(path), path.string()}; }

PairTokenizers pair_tokenizers(const NamedTokenizer& source, const NamedTokenizer& target) {
  return {source.tokenizer,
          target.tokenizer,
          {sentence_symbols(*source.tokenizer, source.origin), sentence_symbols(*target.tokenizer, target.origin)}};
}

PairTokenizers make_tokenizers(const ResolvedConfig& config, const PairSplit& split, const std::string& origin,
                               const ProgressMaker& progress) {
  const Config::Tokenizer& options = config.tokenizer;
  std::vector<std::string_view> sources, targets;
  SkippedPairs skipped;
  const auto add = [&](std::span<const SentencePair> pairs) {
    for (const SentencePair& pair : pairs) {
      if (!is_usable(pair, skipped)) continue;
      sources.push_back(pair.source);
      targets.push_back(pair.target);
    }
  };
  add(split.train);
  check(!sources.empty(), origin, ": none of ", split.train.size(),
        " sentence pairs can be used: ", describe(skipped, {}));
  if (options.kind == TokenizerKind::character) add(split.valid);
  const auto make = [&](const std::string& file, std::span<const std::string_view> texts) {
    return file.empty() ? NamedTokenizer{train_sentence_tokenizer(options, texts, progress), "tokenizer"}
                        : load_named(file);
  };
  if (!options.joint) return pair_tokenizers(make(options.file, sources), make(options.target_file, targets));
  sources.insert(sources.end(), targets.begin(), targets.end());
  const NamedTokenizer both = make(options.file, sources);
  return pair_tokenizers(both, both);
}

}  // namespace

PairTokenizers load_pair_tokenizers(const RunFolder& run, const ResolvedConfig& config) {
  const NamedTokenizer source = load_named(run.tokenizer());
  return pair_tokenizers(source, config.tokenizer.joint ? source : load_named(run.target_tokenizer()));
}

ParallelText read_training_pairs(const ResolvedConfig& config) {
  const Config::Data& data = config.data;
  if (!data.pairs.empty()) return ParallelText::from_pairs(data.pairs);
  if (!data.source.empty()) return ParallelText::from_files(data.source, data.target);
  if (!is_parallel_corpus(data.corpus)) {
    const bool tunes = config.task_row().fine_tunes;
    fail_usage("data.corpus: expected ",
               tunes ? "pairs of sentences for task.kind = " : "parallel text for model.type = ",
               tunes ? config.task.kind : config.model.type, ", got ", data.corpus, ", which is plain text");
  }
  return ParallelText::from_lines(generate_corpus(data.corpus, data.lines, static_cast<std::uint64_t>(data.seed)),
                                  str_cat("corpus ", data.corpus));
}

std::optional<ParallelText> read_validation_pairs(const Config::Data& data) {
  if (!data.valid_pairs.empty()) return ParallelText::from_pairs(data.valid_pairs);
  if (!data.valid_source.empty()) return ParallelText::from_files(data.valid_source, data.valid_target);
  return std::nullopt;
}

PairLimits pair_limits(const ResolvedConfig& config) {
  constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  const std::int64_t batch = config.train.batch_tokens > 0 ? config.train.batch_tokens : kNoLimit;
  const std::int64_t most = config.context().value_or(batch) - 1;
  return {most, most};
}

TokenPairs encode_text(const ParallelText& text, std::span<const SentencePair> pairs, const PairTokenizers& tokenizers,
                       const ResolvedConfig& config, const ProgressCallback& progress) try {
  return encode_pairs(pairs, *tokenizers.source, *tokenizers.target, pair_limits(config), progress);
} catch (const Error& error) {
  fail(text.origin(), ": ", error.what());
}

std::vector<std::string> pair_notes(const TokenPairs& pairs, const PairTokenizers& tokenizers,
                                    const ResolvedConfig& config, const std::string& source) {
  std::vector<std::string> notes;
  if (const std::int64_t skipped = pairs.skipped().total(); skipped > 0) {
    notes.push_back(str_cat(skipped, " of ", skipped + pairs.size(),
                            " pairs are not scored: ", describe(pairs.skipped(), pair_limits(config))));
  }
  const Tokenizer& tokenizer = *tokenizers.source;
  if (auto note = unknown_note(pairs.unknown_sources(tokenizer), pairs.source_tokens(), tokenizer, source))
    notes.push_back(*std::move(note));
  return notes;
}

PairBatchOptions pair_batch_options(const ResolvedConfig& config) {
  return {.tokens = config.train.batch_tokens,
          .sentences = config.train.batch,
          .seed = static_cast<std::uint64_t>(config.train.seed)};
}

PairBatchOptions training_batch_options(const ResolvedConfig& config) {
  PairBatchOptions options = pair_batch_options(config);
  if (config.train.length_groups > 0) options.pieces = config.train.accumulate / config.train.length_groups;
  return options;
}

TranslationData prepare_translation_data(const ResolvedConfig& config, std::optional<PairTokenizers> tokenizers,
                                         const ProgressMaker& progress) {
  TranslationData data;
  const ParallelText train = read_training_pairs(config);
  PairSplit split{train.pairs(), {}};
  data.notes = train.notes();
  data.valid_text = read_validation_pairs(config.data);
  if (data.valid_text) {
    split.valid = data.valid_pairs();
    data.notes.add(data.valid_text->notes());
  } else {
    split = train.split(config.data.valid_fraction);
    data.valid_text = train.copy_of(split.valid);  // the training text is not needed after this function
  }
  check(!split.train.empty(), train.origin(), ": no sentence pair is left to train on, all are for validation");
  data.tokenizers = tokenizers ? std::move(*tokenizers) : make_tokenizers(config, split, train.origin(), progress);
  const ProgressCallback show = start_progress(progress, "encoding the sentence pairs");
  data.train = encode_text(train, split.train, data.tokenizers, config, show);
  data.hash = pairs_hash(split.train);
  if (!split.valid.empty()) data.valid = encode_text(*data.valid_text, split.valid, data.tokenizers, config, show);
  return data;
}

}  // namespace tapeformer
