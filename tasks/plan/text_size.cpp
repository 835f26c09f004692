#include "tasks/plan/text_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/text/utf8.h"
#include "data/synthetic/corpora.h"
#include "data/text/byte_reader.h"
#include "data/text/text_files.h"
#include "tasks/plan/rules.h"
#include "tasks/plan/sizes.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/train_tokenizer.h"

namespace tapeformer {
namespace {

// The beginning of some texts.
struct FilesBeginning {
  std::string text;
  double of_bytes = 0;  // the bytes of the files, as stored, that were read for the text

  bool is_full() const { return std::ssize(text) >= tuning::kSampleBytes; }
};

void add_beginning(FilesBeginning& sample, const std::filesystem::path& path) {
  const auto reader = open_bytes(path);
  std::string buffer(std::size_t{1} << 16, '\0');
  while (!sample.is_full()) {
    const std::size_t count = reader->read(buffer);
    if (count == 0) break;
    sample.text.append(buffer, 0, count);
  }
  sample.of_bytes += static_cast<double>(reader->consumed());
}

std::size_t different_words(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  std::unordered_set<std::string_view> words;
  for (std::size_t begin = text.find_first_not_of(kSpaces); begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kSpaces, begin), text.size());
    words.insert(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kSpaces, end);
  }
  return words.size();
}

// Returns how many times as many different words a text has as its sample: as they grow from the first half of the
// sample to all of it, so on.
double word_growth(const TextSize& text) {
  const auto size = static_cast<double>(text.sample.size());
  const std::size_t half = different_words(std::string_view(text.sample).substr(0, text.sample.size() / 2));
  const double doubled = static_cast<double>(text.words) / static_cast<double>(std::max<std::size_t>(half, 1));
  return std::pow(std::max(text.bytes / size, 1.0), std::log2(std::max(doubled, 1.0)));
}

// A full sample may end within a character, of which it keeps nothing.
void end_with_character(FilesBeginning& sample) {
  constexpr std::size_t kLongestCharacter = 4;
  const std::size_t invalid = find_invalid_utf8(sample.text);
  if (sample.is_full() && invalid != std::string::npos && sample.text.size() - invalid < kLongestCharacter)
    sample.text.resize(invalid);
}

}  // namespace

TextSize size_of_sample(std::string sample, double times) {
  std::unordered_set<std::string_view> different;
  double characters = 0, lines = 0;
  for (std::size_t at = 0; at < sample.size();) {
    const auto length = static_cast<std::size_t>(read_utf8(sample, at).length);
    different.insert(std::string_view(sample).substr(at, length));
    lines += sample[at] == '\n';
    ++characters;
    at += length;
  }
  return {.bytes = times * static_cast<double>(sample.size()),
          .characters = times * characters,
          .lines = times * lines,
          .different = different.size(),
          .words = different_words(sample),
          .is_utf8 = find_invalid_utf8(sample) == std::string::npos,
          .sample = std::move(sample)};
}

void TextSum::add(std::string_view text) {
  bytes_ += static_cast<double>(text.size());
  if (std::ssize(sample_) < tuning::kSampleBytes) sample_ += text;
}

TextSize TextSum::size() const { return size_of_sample(sample_, bytes_ / static_cast<double>(sample_.size())); }

void require_files(const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (is_read_once(input)) {
      fail_usage("--minutes: expected text in files, whose size is known, got ",
                 input == kStandardInput ? "standard input" : input, ", which can be read only once");
    }
  }
}

TextSize size_of_files(const std::vector<std::string>& inputs) {
  double stored = 0;
  FilesBeginning sample;
  require_files(inputs);
  const std::vector<std::filesystem::path> paths = expand_inputs(inputs);
  for (const std::filesystem::path& path : paths) {
    stored += static_cast<double>(std::filesystem::file_size(path));
    if (!sample.is_full()) add_beginning(sample, path);
  }
  // An empty text has no mean token size, by which a plan divides, and is refused before any speed is measured.
  check(!sample.text.empty(), paths.front().string(), paths.size() > 1 ? " and the other files are" : " is",
        " empty, expected text");
  const double times = stored / std::max(sample.of_bytes, 1.0);
  end_with_character(sample);
  return size_of_sample(std::move(sample.text), times);
}

TextSize size_of_documents(const std::vector<std::string>& inputs, const TextOptions& options) {
  require_files(inputs);
  const auto reader = FileText(expand_inputs(inputs), options).read();
  FilesBeginning sample;
  SourceFragment fragment;
  bool ended = false;
  while (!sample.is_full()) {
    ended = !reader->next(fragment);
    if (ended) break;
    sample.text += fragment.text;
    if (fragment.bound == Bound::document) sample.text += '\n';
  }
  const double bytes = static_cast<double>(sample.text.size()) / (ended ? 1 : reader->share());
  // A document may be longer than a sample.
  if (sample.is_full()) sample.text.resize(tuning::kSampleBytes);
  end_with_character(sample);
  const double times = bytes / static_cast<double>(sample.text.size());
  return size_of_sample(std::move(sample.text), times);
}

TextSize size_of_text(const Config::Data& data) {
  if (data.corpus.empty()) return size_of_documents(data.text, data.text_options());
  constexpr std::int64_t kLines = 1000;
  const std::int64_t lines = std::min(data.lines, kLines);
  const std::string sample = generate_corpus(data.corpus, lines, static_cast<std::uint64_t>(data.seed));
  return size_of_sample(sample, static_cast<double>(data.lines) / static_cast<double>(lines));
}

void choose_text_tokenizer(PlanDraft& draft, const TextSize& text) {
  if (draft.is_given("tokenizer.file")) return;
  const bool small = text.is_utf8 && text.bytes <= tuning::kCharBytes &&
                     text.different <= static_cast<std::size_t>(tuning::kMostCharacters);
  draft.choose("tokenizer.kind", std::string(small ? "char" : "bpe"),
               text.is_utf8 ? describe(text) : "the text is not valid UTF-8, and byte pairs take any bytes");
  if (draft.text("tokenizer.kind") != "bpe") return;
  const std::int64_t of_size = vocab_for(text.bytes, tuning::kTextVocab), least = tuning::kTextVocab[0].vocab;
  // A line of Chinese or Japanese, which have no spaces, is one word, but has a token for each of its characters.
  const std::size_t words = std::max(text.words, text.different);
  const auto of_words = static_cast<std::int64_t>(tuning::kTokensOfWord * static_cast<double>(words));
  const bool few_words = of_words < of_size;
  draft.choose("tokenizer.vocab", few_words ? power_of_two(static_cast<double>(of_words), least, of_size) : of_size,
               few_words && words == text.words
                   ? fmt::format("{} bytes of text with {} different words", amount(text.bytes), words)
                   : describe(text));
}

TokenSize token_size(const Config::Tokenizer& tokenizer, const TextSize& text, std::string_view also) {
  const double character = text.bytes / std::max(text.characters, 1.0);
  const bool learns = tokenizer.file.empty();
  if (learns && tokenizer.kind == TokenizerKind::character)
    return {character, static_cast<std::int64_t>(text.different)};
  const std::string_view learned_from[] = {text.sample, also};
  const auto encoder =
      learns ? train_tokenizer({.kind = word_of(tokenizer.kind), .vocab = tokenizer.vocab, .special_tokens = {}},
                               learned_from)
             : Tokenizer::load(tokenizer.file);
  const auto known = static_cast<double>(encoder->vocab_size());
  const double vocab = learns ? std::min(static_cast<double>(tokenizer.vocab), known * word_growth(text)) : known;
  TokenSize size{character, static_cast<std::int64_t>(vocab)};
  if (encoder->kind() == word_of(TokenizerKind::character)) return size;  // it may refuse the end of a line
  const auto tokens = static_cast<double>(encoder->encode(text.sample).size());
  size.bytes = static_cast<double>(text.sample.size()) / std::max(tokens, 1.0);
  return size;
}

std::string describe(const TextSize& size) {
  return fmt::format("{} bytes of text with {} different characters", amount(size.bytes), size.different);
}

}  // namespace tapeformer
