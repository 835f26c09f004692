#include "data/masked/masked_batcher.h"

#include <algorithm>

#include "core/error.h"
#include "core/ignored_target.h"
#include "core/parallel.h"
#include "data/text/row_keys.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kRowStream = mix64(0x6d61736b726f77);   // "maskrow"
constexpr std::uint64_t kMaskStream = mix64(0x6d61736b746f6b);  // "masktok"

}  // namespace

MaskedBatcher::MaskedBatcher(TokenView tokens, const Tokenizer& tokenizer, const MaskedRowOptions& options)
    : tokens_(tokens), masker_(tokenizer, options.rates), symbols_(masked_symbols(tokenizer)), options_(options) {
  const std::int64_t room = options.length - options.special_tokens();
  check(options.length >= options.shortest(), "masked rows: expected at least ", options.shortest(), " tokens, got ",
        options.length);
  check(options.batch >= 1, "masked rows: expected at least 1 in a batch, got ", options.batch);
  second_ = options.pairs ? room / 2 : 0;
  first_ = room - second_;
}

void MaskedBatcher::resize(std::int64_t rows, MaskedBatch& out) const {
  out.rows = rows, out.length = options_.length;
  out.masked = out.sentences = 0;
  out.ids.resize(rows * options_.length), out.targets.resize(rows * options_.length);
  out.lengths.resize(rows);
  if (options_.pairs) out.segments.assign(rows * options_.length, 0), out.sentence_labels.resize(rows);
}

void MaskedBatcher::write(const RowPlan& plan, const RandomKey* key, std::int64_t row, MaskedBatch& out) const {
  const auto part = [&](std::vector<std::int32_t>& values) {
    return std::span(values).subspan(row * options_.length, options_.length);
  };
  const std::span<std::int32_t> ids = part(out.ids), targets = part(out.targets);
  std::ranges::fill(ids, symbols_.padding);
  ids[0] = symbols_.classification;
  tokens_.copy(plan.first.begin, ids.subspan(1, plan.first.size));
  std::int64_t end = 1 + plan.first.size;
  ids[end++] = symbols_.separator;
  if (plan.second.size > 0) {
    const std::int64_t begin = end;
    tokens_.copy(plan.second.begin, ids.subspan(begin, plan.second.size));
    end += plan.second.size;
    ids[end++] = symbols_.separator;
    std::ranges::fill(part(out.segments).subspan(begin, end - begin), 1);
  }
  out.lengths[row] = static_cast<std::int32_t>(end);
  if (options_.pairs) {
    out.sentence_labels[row] = plan.second.size > 0 ? plan.label : kIgnoredTarget;
    out.sentences += plan.second.size > 0;
  }
  std::ranges::fill(targets, kIgnoredTarget);
  if (key) out.masked += masker_.mask(ids, targets, *key);
}

void MaskedBatcher::draw(std::uint32_t step, std::uint32_t micro_step, MaskedBatch& out) const {
  check(tokens_.size() >= block_size(), "text is too short: ", tokens_.size(), " tokens, but a row has ", block_size());
  resize(options_.batch, out);
  for (std::int64_t row = 0; row < options_.batch; ++row) {
    const RandomKey key = training_row_key(options_.seed, step, micro_step, options_.batch, row, kMaskStream);
    RandomStream random(key.with_stream(kRowStream));
    const auto begin = static_cast<std::int64_t>(random.below(tokens_.size() - block_size() + 1));
    RowPlan plan{{begin, first_}, {begin + first_, second_}, 0};
    if (options_.pairs && random.below(2) == 1) {
      const std::int64_t follows = plan.second.begin;  // there are others, since the first segment is not empty
      while (plan.second.begin == follows)
        plan.second.begin = static_cast<std::int64_t>(random.below(tokens_.size() - second_ + 1));
      plan.label = 1;
    }
    write(plan, &key, row, out);
  }
}

std::int64_t MaskedBatcher::windows() const { return chunk_count(tokens_.size(), block_size()); }

MaskedBatcher::RowPlan MaskedBatcher::window(std::int64_t i) const {
  const std::int64_t begin = i * block_size(), size = std::min(block_size(), tokens_.size() - begin);
  const std::int64_t first = std::min(first_, size);
  return {{begin, first}, {begin + first, size - first}, 0};
}

void MaskedBatcher::fill(std::int64_t i, MaskedBatch& out) const {
  check(i >= 0 && i < batches(), "evaluation batch ", i, " is out of range for ", batches());
  const std::int64_t begin = i * options_.batch, end = std::min(windows(), begin + options_.batch);
  resize(end - begin, out);
  // The full windows 1, 3, 5, … exchange their second segments: each gets the second segment of a window half a text
  // away.
  const std::int64_t exchanging = tokens_.size() / block_size() / 2;
  for (std::int64_t w = begin; w < end; ++w) {
    RowPlan plan = window(w);
    if (options_.pairs && exchanging > 1 && w % 2 == 1 && w / 2 < exchanging) {
      plan.second = window((w / 2 + exchanging / 2) % exchanging * 2 + 1).second;
      plan.label = 1;
    }
    const RandomKey key = evaluation_row_key(w, kMaskStream);
    write(plan, &key, w - begin, out);
  }
}

void MaskedBatcher::plain(std::int64_t window, MaskedBatch& out) const {
  resize(1, out);
  write(this->window(window), nullptr, 0, out);
}

}  // namespace tapeformer
