#include "data/chat/conversation_batcher.h"

#include <algorithm>

#include "core/error.h"
#include "core/ignored_target.h"
#include "core/random.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kPackStream = mix64(0x7061636b);        // "pack"
constexpr std::uint64_t kRowOrderStream = mix64(0x636f6e7665);  // "conve"
constexpr std::ptrdiff_t kOpenRows = 64;                        // rows in which the next conversation may still fit

std::int64_t positions_of(const ChatTokens& conversation) { return std::ssize(conversation.ids) - 1; }

}  // namespace

ConversationBatcher::ConversationBatcher(std::span<const ChatTokens> conversations,
                                         const ConversationRowOptions& options)
    : conversations_(conversations), options_(options) {
  check(!conversations.empty(), "conversations: expected at least one, got none");
  // Which conversations share a row is random, but stays the same in all epochs.
  EpochOrder packing(std::ssize(conversations), options.seed, kPackStream);
  for (std::int64_t number = 0; number < std::ssize(conversations); ++number) {
    const std::int64_t i = packing.at(number);
    const std::int64_t needed = positions_of(conversations[i]);
    check(needed >= 1 && needed <= options.length, "conversation ", i + 1, ": expected 2 to ", options.length + 1,
          " tokens, got ", needed + 1);
    const auto open = rows_.end() - (options.packs ? std::min(kOpenRows, std::ssize(rows_)) : 0);
    auto row = std::find_if(open, rows_.end(), [&](const Row& r) { return r.positions + needed <= options.length; });
    if (row == rows_.end()) row = rows_.emplace(rows_.end());
    row->conversations.push_back(i);
    row->positions += needed;
    row->scored += conversations[i].scored();
  }
  order_ = EpochOrder(rows(), options.seed, kRowOrderStream);
}

std::vector<const ConversationBatcher::Row*> ConversationBatcher::rows_of(std::int64_t step, std::int64_t of_step,
                                                                          std::int64_t first, std::int64_t count) {
  std::vector<const Row*> chosen;
  for (std::int64_t i = 0; i < count; ++i) {
    chosen.push_back(&rows_[order_.at((step - 1) * of_step + first + i)]);
  }
  return chosen;
}

void ConversationBatcher::draw(std::int64_t step, std::int64_t of_step, std::int64_t first, std::int64_t count,
                               ConversationBatch& out) {
  write(rows_of(step, of_step, first, count), out);
}

void ConversationBatcher::count(std::int64_t step, std::int64_t of_step, std::int64_t first, std::int64_t count,
                                ConversationBatch& out) {
  out.scored = out.positions = 0;
  for (const Row* row : rows_of(step, of_step, first, count)) {
    out.scored += row->scored;
    out.positions += row->positions;
  }
}

void ConversationBatcher::fill(std::int64_t i, ConversationBatch& out) const {
  check(i >= 0 && i < batches(), "evaluation batch ", i, " is out of range for ", batches());
  std::vector<const Row*> chosen;
  for (std::int64_t r = i * options_.batch; r < std::min(rows(), (i + 1) * options_.batch); ++r) {
    chosen.push_back(&rows_[r]);
  }
  write(chosen, out);
}

void ConversationBatcher::write(std::span<const Row* const> rows, ConversationBatch& out) const {
  out.rows = std::ssize(rows), out.length = out.scored = out.positions = 0;
  out.packs = options_.packs;
  for (const Row* row : rows) {
    out.length = std::max(out.length, row->positions);
    out.scored += row->scored;
    out.positions += row->positions;
  }
  out.inputs.assign(out.rows * out.length, 0);
  out.targets.assign(out.rows * out.length, kIgnoredTarget);
  out.first_tokens.resize(out.rows * out.length);
  out.lengths.resize(out.rows);
  for (std::int64_t r = 0; r < out.rows; ++r) {
    std::int64_t begin = 0;
    for (const std::int64_t c : rows[r]->conversations) {
      const ChatTokens& conversation = conversations_[c];
      const std::int64_t size = positions_of(conversation), place = r * out.length + begin;
      std::copy_n(conversation.ids.begin(), size, out.inputs.begin() + place);
      std::fill_n(out.first_tokens.begin() + place, size, static_cast<std::int32_t>(begin));
      for (const TokenSpan& answer : conversation.answers) {
        std::copy_n(conversation.ids.begin() + answer.begin, answer.size(),
                    out.targets.begin() + place + answer.begin - 1);
      }
      begin += size;
    }
    out.lengths[r] = static_cast<std::int32_t>(begin);
    // The padding is a conversation of its own.
    std::fill(out.first_tokens.begin() + r * out.length + begin, out.first_tokens.begin() + (r + 1) * out.length,
              static_cast<std::int32_t>(begin));
  }
}

}  // namespace tapeformer
