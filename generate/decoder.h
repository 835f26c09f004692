// The decode loop for all models that predict the next token, and the interfaces of its two sides: a Decoder (the
// model), and a DecodingStrategy (sampling or beam search).
#pragma once

#include <functional>

#include "autograd/tape/tape.h"
#include "nn/interfaces/causal_model.h"
#include "nn/interfaces/encoder_decoder.h"

namespace tapeformer {

// Rows of ids, all of the same length.
using TokenRows = std::vector<std::span<const std::int32_t>>;

// A model that continues a batch of rows of ids token by token.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Returns the logits (R, vocab) of the token after each of R rows. The rows must be those of the previous call, as
  // select() has rearranged them, with one more token each.
  virtual Tensor next_logits(const TokenRows& rows) = 0;
  // Replaces row i by the old row rows[i], as Cache::select() does.
  virtual void select(std::span<const std::int64_t> rows) = 0;
};

// Continues texts by a model that reads no source. When the context is full, the older half is dropped, and decoding
// continues from the newer half; a model without a limit drops nothing. After a document token the model sees nothing
// before it. The rows of the first call must be what seen_part() returns.
class CausalDecoder : public Decoder {
 public:
  // `context` is what seen_context() returns. Without the cache the model reads its whole context again for each token.
  CausalDecoder(const CausalModel& model, bool use_cache, std::optional<std::int64_t> context)
      : model_(model), use_cache_(use_cache), context_(context) {}

  // Throws Error if a document begins in some of the rows and not in the others.
  Tensor next_logits(const TokenRows& rows) override;
  void select(std::span<const std::int64_t> rows) override { cache_->select(rows); }

 private:
  // Forgets the tokens before position `begin`.
  void begin_at(std::int64_t begin);

  const CausalModel& model_;
  const bool use_cache_;
  const std::optional<std::int64_t> context_;
  const std::unique_ptr<Cache> cache_ = model_.make_cache();
  // The model sees the tokens from begin_ on. The cache has read those before read_.
  std::int64_t begin_ = 0, read_ = 0;
};

// Writes the targets of a batch of sources. A row begins with the begin token. At first there is one row for each
// source; select() may give each source more.
class TargetDecoder : public Decoder {
 public:
  // The targets have at most `length` tokens. Without a cache the decoder reads the whole row for each token.
  TargetDecoder(const EncoderDecoder& model, const SourceBatch& sources, std::int64_t length, bool use_cache);

  Tensor next_logits(const TokenRows& rows) override;
  void select(std::span<const std::int64_t> rows) override;

 private:
  const EncoderDecoder& model_;
  Tape tape_{no_grad};
  EncoderOutput encoded_;
  std::unique_ptr<Cache> cache_;  // null: no cache
  std::int64_t rows_, read_ = 0;  // the number of rows; the number of tokens that the cache has read
};

// Restricts the texts that a row may become. An implementation must allow some token after any text that it has
// allowed, and the end token after max_length − 1 tokens at the latest. May be used by several threads at once.
class OutputGrammar {
 public:
  virtual ~OutputGrammar() = default;
  using Allowed = std::function<bool(std::int32_t id)>;
  // Returns which tokens may follow those that were written after the beginning of the row.
  virtual Allowed allowed_after(std::span<const std::int32_t> written) const = 0;
};

// The tokens with which a row begins, and how many may follow.
struct RowStart {
  std::vector<std::int32_t> ids;  // a prompt, or the begin token
  std::int64_t max_length;        // the number of tokens that may follow, the end token included
  std::string name;               // of the row in error messages
  std::shared_ptr<const OutputGrammar> grammar = nullptr;  // null: any text
};

// Which tokens may follow the beginning of a row.
struct DecodingRules {
  std::int32_t end = -1;                    // the end token; -1: there is none
  std::vector<std::int32_t> excluded = {};  // tokens that never follow; the end token always may
  bool must_end = false;                    // whether the last of max_length tokens must be the end token
};

// Chooses the next tokens of a batch of rows: by sampling, or by a beam search.
class DecodingStrategy {
 public:
  virtual ~DecodingStrategy() = default;
  // Returns the rows that need a next token, all of the same length; none when the work is done. They are valid until
  // extend().
  virtual TokenRows rows() const = 0;
  // Chooses the next tokens from the logits (R, vocab) of rows(). Returns, for each row that rows() has afterwards, the
  // index of the row that it continues among those before the call.
  virtual std::vector<std::int64_t> extend(const Tensor& logits) = 0;
};

// Extends the strategy's rows token by token until none is left.
void decode(Decoder& decoder, DecodingStrategy& strategy);

}  // namespace tapeformer
