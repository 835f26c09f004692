#include <vector>

#include "core/error.h"
#include "core/hash.h"
#include "core/parallel.h"
#include "targets.h"
#include "tokenizer/formats/gpt2_files.h"
#include "tokenizer/formats/tiktoken_file.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/train_tokenizer.h"

namespace tapeformer::fuzz {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::string_view kText =
    "It's the fox's den, isn't it? They'LL see 1234567 foxes; we've seen 12.\n\n\tif (fox) {\r\n  return den;\n}\n"
    "Der Fuchs \u00FCber dem Bau, \u043B\u0438\u0441\u0430 \u2014 \u72D0\u72F8\u3000\u72D0\u72F8 \U0001F98A\U0001F98A "
    "...";

std::unique_ptr<Tokenizer> learn(SplitPattern pattern) {
  return train_tokenizer({.kind = "bpe", .vocab = 380, .special_tokens = {"<s>"}, .pattern = pattern},
                         std::vector{kText});
}

const std::vector<std::string> kNone;

}  // namespace

void encode(std::string_view data) {
  static const std::unique_ptr<Tokenizer> tokenizers[] = {learn(SplitPattern::gpt2), learn(SplitPattern::cl100k)};
  if (data.size() < 2) return;
  const auto choice = static_cast<unsigned char>(data[0]);
  std::string text(data.substr(1));
  // One input in 512 becomes long enough for several threads, whatever inputs the fuzzer prefers.
  const bool is_long = hash_bytes(data) % 512 == 0;
  while (is_long && text.size() < 300000) text += text;
  const Tokenizer& tokenizer = *tokenizers[choice % 2];
  const Ids ids = tokenizer.encode(text);
  require(tokenizer.decode(ids) == text, "decoding gives other bytes");
  const Ids with_special = tokenizer.encode(text, true);
  require(tokenizer.decode(with_special) == text, "decoding gives other bytes where special tokens are allowed");
  const std::size_t cut = safe_cut(text, text.size() * (choice >> 1 & 7) / 8);
  Ids parts = tokenizer.encode(std::string_view(text).substr(0, cut));
  for (const std::int32_t id : tokenizer.encode(std::string_view(text).substr(cut))) parts.push_back(id);
  require(parts == ids, "a safe cut changes ids");
  if (!is_long) return;
  const int threads = thread_count();
  set_thread_count(threads == 1 ? 3 : 1);
  const bool same = tokenizer.encode(text) == ids;
  set_thread_count(threads);
  require(same, "the number of threads changes ids");
}

void decode(std::string_view data) {
  static const std::unique_ptr<Tokenizer> tokenizer = learn(SplitPattern::gpt2);
  Ids ids;
  std::string expected;
  bool all_are_ids = true;
  for (std::size_t i = 0; i + 1 < data.size(); i += 2) {
    const auto low = static_cast<unsigned char>(data[i]), high = static_cast<unsigned char>(data[i + 1]);
    // From 8 below the first id to some above the last.
    const std::int32_t id = (low | high << 8) % (tokenizer->vocab_size() + 16) - 8;
    ids.push_back(id);
    const bool is_id = id >= 0 && id < tokenizer->vocab_size();
    all_are_ids = all_are_ids && is_id;
    if (is_id) expected += tokenizer->token_bytes(id);
  }
  try {
    require(tokenizer->decode(ids) == expected, "decoding is not the bytes of the tokens");
    require(all_are_ids, "decoding takes what is no id");
  } catch (const Error&) {
    require(!all_are_ids, "decoding refuses ids");
  }
}

void tokenizer_json(std::string_view data) {
  std::string json;
  try {
    json = Tokenizer::from_json(data, "fuzz")->to_json();
  } catch (const Error&) {
    return;
  }
  require(Tokenizer::from_json(json, "fuzz")->to_json() == json, "tokenizer.json reads back otherwise");
}

void gpt2_files(std::string_view data) {
  const std::size_t zero = std::min(data.find('\0'), data.size());
  const std::string_view merges = data.substr(std::min(zero + 1, data.size()));
  const auto read = [](const Gpt2Files& files) {
    return read_gpt2_files(files, {"vocab.json", "merges.txt"}, SplitPattern::gpt2, kNone);
  };
  std::unique_ptr<Tokenizer> tokenizer;
  try {
    tokenizer = read({std::string(data.substr(0, zero)), std::string(merges)});
  } catch (const Error&) {
    return;
  }
  require(read(write_gpt2_files(*tokenizer))->to_json() == tokenizer->to_json(), "GPT-2's files read back otherwise");
}

void tiktoken_file(std::string_view data) {
  std::unique_ptr<Tokenizer> tokenizer;
  try {
    tokenizer = read_tiktoken_file(data, "fuzz", SplitPattern::cl100k, kNone);
  } catch (const Error&) {
    return;
  }
  const std::string written = write_tiktoken_file(*tokenizer);
  const auto again = read_tiktoken_file(written, "fuzz", SplitPattern::cl100k, kNone);
  require(again->encode(kText) == tokenizer->encode(kText), "ranks read back otherwise");
  require(tokenizer->decode(tokenizer->encode(kText)) == kText, "decoding gives other bytes");
}

}  // namespace tapeformer::fuzz
