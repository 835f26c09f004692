// What a decode loop needs of a model, for all models that predict the next token.
#pragma once

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
  // Returns the logits (R, vocab) of the token after each of R rows. The rows are those of the call before, after
  // select(), with one more token each.
  virtual Tensor next_logits(const TokenRows& rows) = 0;
  // Replaces row i by the old row rows[i], as Cache::select() does.
  virtual void select(std::span<const std::int64_t> rows) = 0;
};

// Continues texts by a model that reads no source. When the context is full, the older half is dropped, and decoding
// continues from the newer half; a model without a limit drops nothing. After a document token the model sees nothing
// before it. The first rows must be such as seen_part() returns.
class CausalDecoder : public Decoder {
 public:
  // Without the cache the model reads all that it sees for each token.
  CausalDecoder(const CausalModel& model, bool use_cache) : model_(model), use_cache_(use_cache) {}

  // Throws Error if a document begins in some of the rows and not in the others.
  Tensor next_logits(const TokenRows& rows) override;
  void select(std::span<const std::int64_t> rows) override { cache_->select(rows); }

 private:
  // Forgets the tokens before position `begin`.
  void begin_at(std::int64_t begin);

  const CausalModel& model_;
  const bool use_cache_;
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
  std::unique_ptr<Cache> cache_;  // null: without
  std::int64_t rows_, read_ = 0;  // the rows; the number of tokens that the cache has read
};

// A row as it begins, and how far it may go.
struct RowStart {
  std::vector<std::int32_t> ids;  // a prompt, or the begin token
  std::int64_t max_length;        // the number of tokens that may follow, the end token included
  std::string name;               // of the row in error messages
};

// The tokens that may follow.
struct DecodingRules {
  std::int32_t end = -1;                    // ends a row; -1: there is none
  std::vector<std::int32_t> excluded = {};  // never follow, except the end
  bool must_end = false;                    // whether only the end may be the last of max_length tokens
};

// How a batch of rows goes on after each step: by sampling, or by a beam search.
class DecodingStrategy {
 public:
  virtual ~DecodingStrategy() = default;
  // Returns the rows that go on, all of the same length; none when the work is done. They are valid until extend().
  virtual TokenRows rows() const = 0;
  // Chooses tokens by the logits (R, vocab) of the rows. Returns for each row that goes on which of the rows before it
  // continues.
  virtual std::vector<std::int64_t> extend(const Tensor& logits) = 0;
};

// Extends the rows token by token until none goes on.
void decode(Decoder& decoder, DecodingStrategy& strategy);

}  // namespace tapeformer
