// Byte pair encoding: which merges are learned, and how they make the tokens of a word.
#include "core/error.h"
#include "core/text/visible_text.h"
#include "report/explain/topics.h"
#include "tokenizer/train_tokenizer.h"

namespace tapeformer::explain {
namespace {

// The words by which Sennrich et al. (2016) explain the method, as often as there.
constexpr const char* kWords =
    "low low low low low lower lower newest newest newest newest newest newest widest widest widest";

std::string written(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  std::string text;
  for (const std::int32_t id : ids) text += (text.empty() ? "" : " ") + visible_text(tokenizer.token_bytes(id));
  return text;
}

// Learns ten merges of these words, and shows them.
std::unique_ptr<Tokenizer> learn(WorkedExample& out) {
  const std::int64_t merges = 10;
  const std::string_view text = kWords;
  auto tokenizer = train_tokenizer({.kind = "bpe", .vocab = 256 + merges, .special_tokens = {}}, {&text, 1});
  out.heading("Learning");
  out.say(str_cat("The text: ", text, "."));
  out.say(
      "The most frequent pair of neighbours becomes a token, again and again. A space belongs to the word after it "
      "(␣), and no pair spans two words.");
  CellTable table{"merges", {"rank", "new token", "id"}, {}};
  for (std::int64_t rank = 0; rank < tokenizer->merge_count(); ++rank) {
    const auto id = static_cast<std::int32_t>(256 + rank);
    table.rows.push_back({rank + 1, visible_text(tokenizer->token_bytes(id)), std::int64_t{id}});
  }
  out.show(std::move(table));
  return tokenizer;
}

}  // namespace

WorkedExample explain_bpe(const TopicOptions& options) {
  WorkedExample out{"bpe", "Byte pair encoding (Sennrich et al. 2016)"};
  const std::string path = options.text("tokenizer", "");
  const auto tokenizer = options.has("tokenizer") ? Tokenizer::load(path) : learn(out);
  const std::string word = options.text("text", options.has("tokenizer") ? "lowest" : " lowest");
  const std::vector<std::vector<std::int32_t>> steps = tokenizer->merge_steps(word);
  if (steps.empty()) fail_usage("explain bpe: --tokenizer: expected bpe, got ", tokenizer->kind(), " of ", path);
  out.heading("Encoding: " + visible_text(word));
  out.say(
      "A word begins as its bytes. Of all pairs that can merge, the one that was learned first merges, the leftmost of "
      "several.");
  CellTable table{"encoding", {"merge", "tokens", "count"}, {}};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    // The new token is at the first place where the ids differ from those before.
    std::string made;
    if (i > 0) {
      const auto [now, before] = std::ranges::mismatch(steps[i], steps[i - 1]);
      made = visible_text(tokenizer->token_bytes(*now));
    }
    table.rows.push_back({made, written(*tokenizer, steps[i]), std::ssize(steps[i])});
  }
  out.show(std::move(table));
  if (steps.size() == 1 && steps.front().size() == 1 && tokenizer->token_bytes(steps.front().front()).size() > 1) {
    out.say("No merges lead to this token: the tokenizer takes a word that is a token whole.");
  }
  const std::vector<std::int32_t> ids = tokenizer->encode(word);
  CellTable encoded{"encoded text", {"token", "id"}, {}};
  for (const std::int32_t id : ids) {
    encoded.rows.push_back({visible_text(tokenizer->token_bytes(id)), std::to_string(id)});
  }
  out.show(std::move(encoded));
  if (tokenizer->decode(std::span(ids).first(std::min(steps.back().size(), ids.size()))) != word) {
    out.say("The merges are those of the first word of the text; the ids are those of all of it.");
  }
  return out;
}

}  // namespace tapeformer::explain
