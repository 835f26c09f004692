#include "tokenizer/formats/tiktoken_file.h"

#include <charconv>
#include <limits>
#include <map>
#include <unordered_set>

#include "core/error.h"
#include "core/text/lines.h"
#include "tokenizer/bpe/byte_level.h"
#include "tokenizer/formats/base64.h"
#include "tokenizer/formats/json_text.h"
#include "tokenizer/formats/rank_merges.h"
#include "tokenizer/special_tokens.h"

namespace tapeformer {
namespace {

std::string show_line(std::string_view line) { return show(nlohmann::json(line)); }

// The ordinary tokens by id; an empty string for an id without a token.
std::vector<std::string> read_tokens(std::string_view text) {
  std::map<std::int32_t, std::string> by_rank;
  std::unordered_set<std::string> seen;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    const std::size_t space = line.find(' ');
    const std::string_view digits = space == line.npos ? "" : line.substr(space + 1);
    std::int32_t rank = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    check(!digits.empty() && end == digits.data() + digits.size() && digits[0] != '-', "line ", number,
          ": expected a token in base64 and its rank, got ", show_line(line));
    check(error == std::errc() && rank < std::numeric_limits<std::int32_t>::max(), "line ", number, ": the rank ",
          digits.substr(0, 40), " is out of range");
    std::optional<std::string> token = read_base64(line.substr(0, space));
    check(token && !token->empty(), "line ", number, ": not base64: ", show_line(line.substr(0, space)));
    check(seen.insert(*token).second, "line ", number, ": the token is there twice");
    check(by_rank.emplace(rank, std::move(*token)).second, "line ", number, ": the rank ", rank, " is there twice");
  });
  check(!by_rank.empty(), "no tokens in it");
  const std::int32_t end = by_rank.rbegin()->first + 1;
  check(end <= static_cast<std::int64_t>(by_rank.size()) + kMostUnused, "the greatest rank is ", end - 1, ", but ",
        by_rank.size(), " tokens are all there are");
  std::vector<std::string> tokens(end);
  for (auto& [rank, token] : by_rank) tokens[rank] = std::move(token);
  return tokens;
}

std::unique_ptr<Tokenizer> read(std::string_view text, SplitPattern pattern,
                                std::span<const std::string> special_tokens) {
  Vocabulary vocabulary{read_tokens(text), {}};
  add_special_tokens(vocabulary, special_tokens);
  std::unordered_set<std::string> specials;
  for (const std::int32_t id : vocabulary.special_ids) {
    if (!specials.insert(vocabulary.tokens[id]).second) {
      fail_usage("special token '", vocabulary.tokens[id], "' is another token as well");
    }
  }
  std::vector<BpeMerge> merges = merges_of_ranks(vocabulary).merges;
  auto tokenizer = std::make_unique<BpeTokenizer>(std::move(vocabulary), std::move(merges), pattern, true);
  for (std::int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
    if (tokenizer->is_special(id)) continue;
    const std::string written = write_bytes(tokenizer->token_bytes(id));
    if (specials.contains(written)) fail_usage("special token '", written, "' is an ordinary token as well");
  }
  return tokenizer;
}

}  // namespace

std::unique_ptr<Tokenizer> read_tiktoken_file(std::string_view text, const std::string& origin, SplitPattern pattern,
                                              std::span<const std::string> special_tokens) {
  try {
    return read(text, pattern, special_tokens);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    fail(origin, ": ", error.what());
  }
}

std::string write_tiktoken_file(const Tokenizer& tokenizer) {
  const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer);
  check(bpe != nullptr, "a ", tokenizer.kind(), " tokenizer cannot be written as a file of ranks, only bpe");
  check(bpe->added_tokens().empty(), "a file of ranks cannot hold added tokens that are not special");
  Vocabulary vocabulary;
  vocabulary.special_ids.assign(bpe->special_ids().begin(), bpe->special_ids().end());
  std::string text;
  for (std::int32_t id = 0; id < bpe->vocab_size(); ++id) {
    vocabulary.tokens.emplace_back(bpe->token_bytes(id));
    if (!bpe->is_special(id)) text += str_cat(write_base64(bpe->token_bytes(id)), " ", id, "\n");
  }
  const RankMerges ranks = merges_of_ranks(vocabulary);
  check(ranks.merges == effective_merges(*bpe),
        "a file of ranks would give other ids: the order of the merges is not that of the ids of their tokens");
  check(ranks.reach_all || bpe->whole_pretokens(),
        "a file of ranks would give other ids: pretokens would become tokens to which no merges lead");
  return text;
}

}  // namespace tapeformer
