#include "tokenizer/formats/gpt2_files.h"

#include <algorithm>
#include <unordered_set>

#include "core/error.h"
#include "core/json.h"
#include "core/text/lines.h"
#include "tokenizer/bpe/byte_level.h"
#include "tokenizer/formats/json_text.h"
#include "tokenizer/formats/written_bpe.h"
#include "tokenizer/special_tokens.h"

namespace tapeformer {
namespace {

// Calls `read`, and puts the name of the file before the message of an Error.
template <class Read>
auto naming(const std::string& file, const Read& read) {
  try {
    return read();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    fail(file, ": ", error.what());
  }
}

// The first line of merges.txt. It names the split pattern if that is not GPT-2's; readers elsewhere skip the line.
constexpr const char *kVersionLine = "#version: 0.2", *kPatternMark = " pattern: ";

// The pattern that the first line names; GPT-2's if it names none.
SplitPattern read_pattern(std::string_view merges) {
  const std::string_view line = merges.substr(0, merges.find_first_of("\r\n"));
  const std::size_t mark = line.find(kPatternMark);
  if (!line.starts_with("#version") || mark == line.npos) return SplitPattern::gpt2;
  const std::string_view name = line.substr(mark + std::string_view(kPatternMark).size());
  for (const SplitPatternInfo& info : kSplitPatterns) {
    if (name == info.name) return info.pattern;
  }
  fail("line 1: unknown pattern ", show(nlohmann::json(name)), ", expected ", kSplitPatternNames);
}

struct NumberedPair {
  WrittenPair pair;
  std::size_t line;
};

std::vector<NumberedPair> read_merges(std::string_view text) {
  std::vector<NumberedPair> merges;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    if (number == 1 && line.starts_with("#version")) return;
    std::optional<WrittenPair> pair = read_written_pair(line);
    if (!pair) fail("line ", number, ": expected two tokens, \"a b\", got ", show(nlohmann::json(line)));
    merges.push_back({std::move(*pair), number});
  });
  return merges;
}

bool is_byte(const std::string& written) {
  const auto bytes = read_bytes(written);
  return bytes && bytes->size() == 1;
}

// Whether it is written with a character for white space or for a control character, which no name of a special token
// has.
bool is_of_text(const std::string& written) {
  const auto bytes = read_bytes(written);
  return bytes && std::any_of(bytes->begin(), bytes->end(), [](char c) { return c >= 0 && c <= ' '; });
}

// Adds the special tokens that the vocabulary does not have yet.
void add_new_special_tokens(Vocabulary& vocabulary, std::span<const std::string> special_tokens) {
  std::unordered_set<std::string> known;
  for (const std::int32_t id : vocabulary.special_ids) {
    const std::string& name = vocabulary.tokens[id];
    known.insert({name, str_cat(name, "=", id)});
  }
  std::vector<std::string> others;
  for (const std::string& name : special_tokens) {
    if (!known.contains(name)) others.push_back(name);
  }
  add_special_tokens(vocabulary, others);
  std::unordered_set<std::string> seen;
  for (const std::string& token : vocabulary.tokens) {
    if (!seen.insert(token).second) fail_usage("special token '", token, "' is another token as well");
  }
}

}  // namespace

std::unique_ptr<Tokenizer> read_gpt2_files(const Gpt2Files& text, const Gpt2Files& names,
                                           std::optional<SplitPattern> pattern,
                                           std::span<const std::string> special_tokens) {
  const auto numbered = naming(names.merges, [&] { return read_merges(text.merges); });
  if (!pattern) pattern = naming(names.merges, [&] { return read_pattern(text.merges); });
  std::vector<WrittenPair> merges;
  std::unordered_set<std::string> merged;
  for (const NumberedPair& entry : numbered) {
    merges.push_back(entry.pair);
    merged.insert(entry.pair.left + entry.pair.right);
  }
  Vocabulary written;
  naming(names.vocab, [&] {
    written.tokens = tokens_by_id(read_vocab(parse_json<nlohmann::json>(text.vocab), "file"), "file");
    for (std::size_t id = 0; id < written.tokens.size(); ++id) {
      const std::string& token = written.tokens[id];
      check(!token.empty(), "the token with id ", id, " is empty");
      if (is_byte(token) || merged.contains(token)) continue;
      written.special_ids.push_back(static_cast<std::int32_t>(id));
    }
  });
  for (const std::int32_t id : written.special_ids) {
    check(!is_of_text(written.tokens[id]), names.merges, ": not whole: no merge makes the token ",
          show(written.tokens[id]), " of ", names.vocab);
  }
  add_new_special_tokens(written, special_tokens);
  const auto where_merge = [&](std::size_t index) { return str_cat(names.merges, ": line ", numbered[index].line); };
  return bpe_of_written(written, merges, names.vocab, where_merge, *pattern);
}

Gpt2Files write_gpt2_files(const Tokenizer& tokenizer) {
  const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer);
  check(bpe != nullptr, "a ", tokenizer.kind(), " tokenizer cannot be written as GPT-2's files, only bpe");
  check(!bpe->whole_pretokens(), "GPT-2's files cannot say that pretokens may be tokens to which no merges lead");
  check(bpe->added_tokens().empty(), "GPT-2's files cannot hold added tokens that are not special");
  const std::vector<std::string> written = written_tokens(*bpe);
  Gpt2Files files{"{", kVersionLine};
  if (bpe->pattern() != SplitPattern::gpt2) files.merges += str_cat(kPatternMark, name_of(bpe->pattern()));
  files.merges += "\n";
  std::unordered_set<std::int32_t> merged;
  for (const BpeMerge& merge : bpe->merges()) {
    files.merges += str_cat(written[merge.left], " ", written[merge.right], "\n");
    merged.insert(merge.result);
  }
  for (std::int32_t id = 0; id < bpe->vocab_size(); ++id) {
    check(bpe->is_special(id) || bpe->token_bytes(id).size() == 1 || merged.contains(id), "no merge makes the token ",
          show(written[id]), ": GPT-2's files would take it for a special one");
    check(!bpe->is_special(id) || !is_of_text(written[id]), "GPT-2's files would take the special token ",
          show(written[id]), " for one of text that no merge makes");
    files.vocab += str_cat(id > 0 ? ", " : "", dump_json(nlohmann::json(written[id])), ": ", id);
  }
  files.vocab += "}\n";
  return files;
}

}  // namespace tapeformer
