#include "tasks/text/text_baselines.h"

#include <algorithm>

#include "core/memory.h"
#include "data/baselines/kneser_ney.h"
#include "data/baselines/xz.h"

namespace tapeformer {
namespace {

// The speeds of one core, rather too low than too high.
constexpr double kTokensPerSecond = 10e6, kNgramsPerSecond = 3e6, kXzBytesPerSecond = 1.25e6;
constexpr std::int64_t kMaxXzBytes = std::int64_t{64} << 20;

// Passes on a part of the progress, from share `begin` to `end`.
ProgressCallback part_of(const ProgressCallback& progress, double begin, double end) {
  return [=, &progress](double share) {
    if (progress) progress(begin + (end - begin) * share);
  };
}

Evaluation evaluate(const KneserNey& ngrams, const CausalModel& model, TokenView tokens, const WindowOptions& options,
                    const ProgressCallback& progress) {
  Evaluation total;
  std::vector<KneserNey::History> histories;
  for_scored_batches(model, tokens, options, progress, [&](const TextBatch& batch, bool continues) {
    if (!continues) histories.clear();
    histories.resize(batch.rows);
    for (std::int64_t i = 0; i < batch.rows * batch.length; ++i) {
      KneserNey::History& history = histories[i / batch.length];
      ngrams.read(history, batch.inputs[i]);
      if (batch.targets[i] == kIgnoredTarget) continue;
      KneserNey::History before = history;
      total.nats += ngrams.read(before, batch.targets[i]);
      ++total.tokens;
    }
  });
  return total;
}

// A part of a text. The end of a document is a zero byte, which does not count as text.
struct PlainText {
  std::string bytes;
  std::int64_t document_ends = 0;

  std::int64_t size() const { return std::ssize(bytes) - document_ends; }
};

PlainText text_of(const TokenFile& tokens, std::int64_t begin, std::int64_t end, const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids(end - begin);
  tokens.copy(begin, ids);
  const std::int32_t document_end = tokenizer.special(kEndOfText).value_or(-1);
  PlainText text;
  for (const std::int32_t id : ids) {
    const bool ends = id == document_end;
    text.document_ends += ends;
    text.bytes += ends ? std::string_view("\0", 1) : tokenizer.token_bytes(id);
  }
  return text;
}

// Returns the number of tokens that have about `bytes` bytes of text.
std::int64_t tokens_of(const TokenFile& tokens, std::int64_t bytes) {
  if (tokens.text_bytes() <= bytes) return tokens.size();
  return bytes * tokens.size() / tokens.text_bytes();
}

// Returns nullopt if so small a part of the validation text has no bytes.
std::optional<Baselines::Xz> compress(const LanguageData& data, std::int64_t most, const ProgressCallback& progress) {
  const std::int64_t scored = tokens_of(*data.valid, most / 2), all = data.train.size();
  const PlainText valid = text_of(*data.valid, 0, scored, *data.tokenizer);
  if (valid.size() == 0) return std::nullopt;
  // The first tokens may have more bytes than the mean, and so leave none.
  const std::int64_t read = tokens_of(data.train, std::max<std::int64_t>(0, most - std::ssize(valid.bytes)));
  const PlainText before = text_of(data.train, all - read, all, *data.tokenizer);
  const auto bytes = static_cast<double>(xz_growth(before.bytes, valid.bytes, progress));
  return Baselines::Xz{.bits_per_byte = 8 * bytes / static_cast<double>(valid.size()),
                       .training_bytes = before.size(),
                       .validation_bytes = valid.size(),
                       .whole = read == all && scored == data.valid->size()};
}

}  // namespace

Baselines text_baselines(const CausalModel& model, const LanguageData& data, const WindowOptions& options,
                         bool has_bytes, double seconds, const ProgressCallback& progress) {
  KneserNeyOptions learning{.vocab = data.tokenizer->vocab_size(), .document_token = model.document_token()};
  learning.max_tokens = static_cast<std::int64_t>(0.5 * seconds * kTokensPerSecond);
  learning.max_ngrams = std::min(learning.max_ngrams, static_cast<std::int64_t>(0.5 * seconds * kNgramsPerSecond));
  const KneserNey ngrams = KneserNey::learn(data.train.view(), learning, part_of(progress, 0, 0.4));
  Baselines found{
      .ngrams = {.order = learning.order,
                 .evaluation = evaluate(ngrams, model, data.valid->view(), options, part_of(progress, 0.4, 0.5)),
                 .tokens = ngrams.tokens(),
                 .of = data.train.size()},
      .xz = std::nullopt};
  // Unknown tokens stand for bytes of the text that are not known here.
  const bool has_text = has_bytes && data.valid_unknown == 0 && data.valid->text_bytes() > 0;
  if (options.max_batches > 0 || !has_text) return found;
  // xz takes 12 bytes of memory for each byte of text: at most an eighth of the machine's.
  const std::int64_t most = std::min(
      {kMaxXzBytes, machine_memory_bytes() / (8 * 12), static_cast<std::int64_t>(0.5 * seconds * kXzBytesPerSecond)});
  found.xz = compress(data, most, part_of(progress, 0.5, 1));
  return found;
}

}  // namespace tapeformer
