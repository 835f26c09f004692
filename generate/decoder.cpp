#include "generate/decoder.h"

#include <algorithm>

#include "autograd/tape/tape.h"

namespace tapeformer {
namespace {

// Returns the ids of the rows from position `begin` on, (R, T).
Tensor ids_from(const TokenRows& rows, std::int64_t begin) {
  std::vector<std::int32_t> ids;
  for (const std::span<const std::int32_t> row : rows) ids.insert(ids.end(), row.begin() + begin, row.end());
  return Tensor::from(std::span<const std::int32_t>(ids), {std::ssize(rows), std::ssize(rows.front()) - begin});
}

// Returns the features of the last position of each row: (R, T, F) → (R, F).
Variable last_of(const Variable& features) {
  const std::int64_t rows = features.size(0), length = features.size(1);
  return Variable::constant(*features.tape(), features.value().slice(1, length - 1, length).reshape({rows, -1}));
}

}  // namespace

void CausalDecoder::begin_at(std::int64_t begin) {
  begin_ = read_ = begin;
  cache_->clear();
}

Tensor CausalDecoder::next_logits(const TokenRows& rows) {
  const std::int64_t length = std::ssize(rows.front());
  const auto begins_document = [&](const auto& row) { return row.back() == model_.document_token(); };
  if (const std::int64_t begun = std::ranges::count_if(rows, begins_document); begun > 0) {
    check(begun == std::ssize(rows), "generate: a document begins in ", begun, " of ", rows.size(),
          " rows, expected all or none");
    begin_at(length - 1);
  }
  if (context_ && length - begin_ > *context_) begin_at(length - std::max<std::int64_t>(*context_ / 2, 1));
  Tape tape(no_grad);
  const Variable ids = Variable::constant(tape, ids_from(rows, use_cache_ ? read_ : begin_));
  const Variable features = model_.forward(ids, use_cache_ ? cache_.get() : nullptr);
  read_ = length;
  return model_.logits(last_of(features)).value();
}

TargetDecoder::TargetDecoder(const EncoderDecoder& model, const SourceBatch& sources, std::int64_t length,
                             bool use_cache)
    : model_(model), encoded_(model.encode(tape_, sources)), rows_(encoded_.hidden.size(0)) {
  if (use_cache) cache_ = model.make_cache(length, encoded_.hidden.size(1));
}

Tensor TargetDecoder::next_logits(const TokenRows& rows) {
  const Variable ids = Variable::constant(tape_, ids_from(rows, cache_ ? read_ : 0));
  const Variable features = model_.decode(ids, encoded_, cache_.get());
  read_ = std::ssize(rows.front());
  return model_.logits(last_of(features)).value();
}

void TargetDecoder::select(std::span<const std::int64_t> rows) {
  if (cache_) cache_->select(rows);
  encoded_ = select_rows(encoded_, selected_sources(rows, rows_ / encoded_.hidden.size(0)));
  rows_ = std::ssize(rows);
}

void decode(Decoder& decoder, DecodingStrategy& strategy) {
  TokenRows rows = strategy.rows();
  while (!rows.empty()) {
    const std::vector<std::int64_t> selected = strategy.extend(decoder.next_logits(rows));
    rows = strategy.rows();
    if (!rows.empty()) decoder.select(selected);
  }
}

}  // namespace tapeformer
