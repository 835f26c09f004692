// Continues rows of tokens by sampling.
#pragma once

#include <functional>

#include "core/random.h"
#include "generate/decoder.h"
#include "generate/sampler.h"

namespace tapeformer {

// Draws the tokens of each row independently of the other rows: token i with the key of its row and step = i.
class SampledRows : public DecodingStrategy {
 public:
  // A function that is called with the index of a row, the token that was drawn for it (which may be the end token),
  // and the logits of the model. The row ends if the function returns false.
  using OnToken = std::function<bool(std::size_t row, std::int32_t token, std::span<const float> logits)>;

  // All rows begin with the same number of ids; `keys` has a key for each. Throws UsageError for options out of range.
  SampledRows(const std::vector<RowStart>& starts, const std::vector<RandomKey>& keys, DecodingRules rules,
              const SamplingOptions& options, OnToken on_token);

  TokenRows rows() const override;
  std::vector<std::int64_t> extend(const Tensor& logits) override;

 private:
  struct Row : RowStart {
    std::size_t index;
    RandomKey key;
  };
  std::int32_t next_token(const Row& row, std::span<const float> logits) const;

  const DecodingRules rules_;
  const SamplingOptions options_;
  const OnToken on_token_;
  std::int64_t length_ = 0;  // the number of tokens that each row has so far beyond its beginning
  std::vector<Row> rows_;
};

}  // namespace tapeformer
