#include <algorithm>
#include <cstdint>
#include <limits>
#include <system_error>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text/utf8.h"
#include "tokenizer/bpe/bpe_tokenizer.h"
#include "tokenizer/formats/gpt2_files.h"
#include "tokenizer/formats/json_text.h"
#include "tokenizer/formats/pieces_json.h"
#include "tokenizer/formats/tiktoken_file.h"
#include "tokenizer/formats/written_bpe.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_folder.h"

namespace tapeformer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVocabName = "vocab.json", kMergesName = "merges.txt", kWordsName = "vocab.txt";

Gpt2Files names_in(const fs::path& folder) { return {(folder / kVocabName).string(), (folder / kMergesName).string()}; }

// The names of both files, given one of them: they differ only in "vocab.json" and "merges.txt" at the end.
std::optional<Gpt2Files> gpt2_names(const std::string& path) {
  for (const std::string_view name : {kVocabName, kMergesName}) {
    if (!path.ends_with(name)) continue;
    const std::string stem = path.substr(0, path.size() - name.size());
    return Gpt2Files{str_cat(stem, kVocabName), str_cat(stem, kMergesName)};
  }
  return std::nullopt;
}

std::unique_ptr<Tokenizer> load_gpt2(const Gpt2Files& names, const FileOptions& options) {
  const std::string merges = read_file(names.merges);
  return read_gpt2_files({read_file(names.vocab), std::string(without_byte_order_mark(merges))}, names, options.pattern,
                         options.special_tokens);
}

bool is_json(const fs::path& path, std::string_view text) {
  if (path.extension() == ".json" || path.extension() == ".tiktoken") return path.extension() == ".json";
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

// Returns a sentence for each rule of the tokenizer, besides its split pattern, that only a tokenizer.json holds.
std::vector<std::string> rules_without_place(const Tokenizer& tokenizer, std::string_view files) {
  const auto* const bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer);
  const bool has_flags = std::ranges::any_of(tokenizer.special_ids(), [&](std::int32_t id) {
    const TokenFlags flags = tokenizer.special_flags(id);
    return flags.normalized || flags.strips();
  });
  std::vector<std::string> lines;
  const auto add = [&](bool lost, std::string_view what, std::string_view effect) {
    if (lost) lines.push_back(str_cat(files, " have no place for ", what, ": ", effect));
  };
  add(bpe && bpe->composes(), "Unicode's normalization form C",
      "whoever reads them gives other ids to text that is not in that form");
  add(!tokenizer.frame().json.empty(), "the special tokens around a text", "whoever reads them puts none there");
  add(has_flags, "what special tokens do with the text beside them (lstrip, rstrip, normalized)",
      "whoever reads them leaves it as it is");
  return lines;
}

}  // namespace

std::unique_ptr<Tokenizer> Tokenizer::load(const fs::path& path, const FileOptions& options) {
  const std::string name = path.string();
  if (is_folder(path)) {
    std::vector<std::string> warnings;  // none, where any number of tokens may be added
    return with_added_tokens(load(tokenizer_file_in(path), options), path, std::numeric_limits<std::int64_t>::max(),
                             warnings);
  }
  if (const auto names = gpt2_names(name)) return load_gpt2(*names, options);
  const std::string text = read_file(path);
  if (name.ends_with(kWordsName)) {
    if (options.pattern || !options.special_tokens.empty()) {
      fail_usage(name, ": BERT's vocab.txt takes no pattern and no special tokens beside it");
    }
    const fs::path settings = path.parent_path() / "tokenizer_config.json";
    return read_vocab_txt(without_byte_order_mark(text), name,
                          is_there(settings) ? parse_json<nlohmann::json>(read_file(settings), settings.string() + ": ")
                                             : nlohmann::json::object());
  }
  if (is_json(path, text)) {
    if (options.pattern) fail_usage(name, ": a tokenizer.json itself says how text is split: expected no pattern");
    if (!options.special_tokens.empty()) {
      fail_usage(name, ": a tokenizer.json itself has its special tokens: expected none beside it");
    }
    return from_json(text, name);
  }
  if (!options.pattern) {
    fail_usage(name, ": tiktoken's files do not say how text is split: expected a pattern, ", kSplitPatternNames,
               ", beside it");
  }
  return read_tiktoken_file(text, name, *options.pattern, options.special_tokens);
}

std::vector<std::string> Tokenizer::save(const fs::path& path) const {
  if (path.extension() == ".tiktoken") {
    write_file_atomically(path, write_tiktoken_file(*this));
    std::vector<std::string> lines = rules_without_place(*this, "tiktoken's files");
    lines.insert(lines.begin(),
                 str_cat("tiktoken's files do not hold the split pattern, ", name_of(*split_pattern()),
                         special_ids().empty() ? "" : ", and the special tokens", ": name what is missing on reading"));
    return lines;
  }
  check(!path.string().ends_with(kWordsName), path.string(), ": the format of BERT's ", kWordsName,
        " can only be read: expected another name");
  std::optional<Gpt2Files> names = gpt2_names(path.string());
  if (!names && (path.extension() == ".json" || (path.has_filename() && !is_folder(path)))) {
    write_file_atomically(path, to_json());
    return {};
  }
  const Gpt2Files files = write_gpt2_files(*this);
  const bool is_whole_folder = !names;
  if (is_whole_folder) {
    std::error_code error;
    fs::create_directories(path, error);
    check(!error, "cannot make folder ", path.string(), ": ", error.message());
    names = names_in(path);
  }
  // Both files are written before one of them appears.
  AtomicFile vocab(names->vocab), merges(names->merges);
  vocab.append(files.vocab);
  merges.append(files.merges);
  vocab.commit();
  merges.commit();
  std::vector<std::string> lines = rules_without_place(*this, "GPT-2's files");
  for (const std::string_view other : {std::string_view("tokenizer.json"), kWordsName}) {
    if (is_whole_folder && is_there(path / other))
      lines.push_back(str_cat(path.string(), " has a ", other, " too, which is read where the folder is named"));
  }
  if (split_pattern() == SplitPattern::gpt2) return lines;
  lines.insert(lines.begin(), str_cat("GPT-2's files have no place for the split pattern, ", name_of(*split_pattern()),
                                      ": the first line of merges.txt names it, but other programs will split by "
                                      "gpt2's"));
  return lines;
}

}  // namespace tapeformer
