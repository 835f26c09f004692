#include "tasks/text/language_data.h"

#include <algorithm>

#include "core/error.h"
#include "core/hash.h"
#include "data/masked/masked_batcher.h"
#include "data/text/byte_reader.h"
#include "data/text/learn_tokenizer.h"
#include "data/text/text_files.h"
#include "tasks/common/models.h"
#include "tasks/common/text_start.h"
#include "tokenizer/masked_symbols.h"

namespace tapeformer {
namespace {

// Copies standard input or a pipe to a file so that it can be read several times. The destructor removes the file.
class SpooledInput {
 public:
  SpooledInput(const std::filesystem::path& path, const std::filesystem::path& folder, const ProgressMaker& progress)
      : file_(folder / "standard-input") {
    const auto shown = start_progress(progress, "waiting for the text");
    const auto input = open_bytes(path, [&] {
      if (shown) shown(0);
    });
    std::string buffer(std::size_t{1} << 20, '\0');
    while (const std::size_t count = input->read(buffer)) file_.append(std::string_view(buffer).substr(0, count));
    check(input->consumed() > 0, shown_name(path), " is empty, expected text");
    if (shown) shown(1);
  }
  const std::filesystem::path& path() const { return file_.temporary_path(); }

 private:
  AtomicFile file_;
};

// A text, and the reader that reads it once for both training and validation.
struct Text {
  std::vector<std::unique_ptr<SpooledInput>> spooled;
  std::unique_ptr<TextSource> source;
  std::unique_ptr<TextReader> reader = nullptr;
  TextSummary summary = {};

  // Must be called once, before the other functions.
  void open(const TokenCache& cache, const ProgressMaker& progress) {
    summary = cache.summary(*source, start_progress(progress, "reading the text"));
    reader = std::make_unique<TextReader>(*source);
  }
  TextRange range(std::int64_t begin, std::int64_t end) const { return {summary, begin, end}; }
};

// Returns how many tokens a training text has at least.
std::int64_t fewest_tokens(const ResolvedConfig& config) {
  const std::string& task = config.family().task;
  const KeyValues& model = config.model.options;
  if (task == "glove") return 2;  // it draws pairs, from anywhere in the text
  if (task == "skip_gram") return config.block_size() + 2 * model.integer("window");  // the centres and their contexts
  if (task != "masked_language_model") return config.block_size() + 1;  // the last token of a row has a target too
  MaskedRowOptions options;
  options.pairs = model.boolean("next_sentence");
  return config.block_size() - options.special_tokens();
}

Text text_of_files(const std::vector<std::string>& inputs, const ResolvedConfig& config, const TokenCache& cache,
                   const ProgressMaker& progress) {
  std::vector<std::unique_ptr<SpooledInput>> spooled;
  std::vector<std::filesystem::path> paths = expand_inputs(inputs), names = paths;
  for (std::filesystem::path& path : paths) {
    if (!is_read_once(path)) continue;
    spooled.push_back(std::make_unique<SpooledInput>(path, cache.writable_folder(), progress));
    path = spooled.back()->path();
  }
  return {std::move(spooled),
          std::make_unique<FileText>(std::move(paths), config.data.text_options(), std::move(names))};
}

Text training_text(const ResolvedConfig& config, const TokenCache& cache, const ProgressMaker& progress) {
  const Config::Data& data = config.data;
  if (data.corpus.empty()) return text_of_files(data.text, config, cache, progress);
  return {{},
          std::make_unique<CorpusText>(data.corpus, data.lines, static_cast<std::uint64_t>(data.seed), data.document)};
}

// Throws Error if the text has changed since its summary: what is made of it would be stored as that of the old text.
void require_unchanged(const TextSource& source, const TextRange& range) {
  check(source.stamp().value == range.text.stamp.value, "the text was changed while the tokenizer was learned");
}

std::unique_ptr<Tokenizer> make_tokenizer(const ResolvedConfig& config, const TokenCache& cache, const TextRange& train,
                                          const TextSource& train_source, const TextRange& valid,
                                          const TextSource& valid_source, const ProgressMaker& progress) {
  const Config::Tokenizer& wanted = config.tokenizer;
  const TokenizerOptions options = tokenizer_options(config, train_source.has_documents());
  const bool learns_all = wanted.kind == TokenizerKind::character;
  Hasher key;
  key.update(options.kind);
  for (const std::uint64_t number :
       {std::uint64_t{options.special_tokens.size()}, static_cast<std::uint64_t>(options.vocab),
        static_cast<std::uint64_t>(wanted.sample), train.hash(), learns_all ? valid.hash() : 0}) {
    key.update(number);
  }
  for (const std::string& token : options.special_tokens) key.update(token);
  return cache.tokenizer(key.digest(), [&] {
    TextReader train_reader(train_source, kLearnPartBytes), valid_reader(valid_source, kLearnPartBytes);
    train_reader.stop_at(train.end);
    if (learns_all) valid_reader.skip_to(valid.begin);
    valid_reader.stop_at(valid.end);
    TextReader* const readers[] = {&train_reader, &valid_reader};
    auto tokenizer = learn_tokenizer(options, readers, sample_bytes_of(wanted.sample), progress);
    require_unchanged(train_source, train);
    if (learns_all) require_unchanged(valid_source, valid);
    return tokenizer;
  });
}

// Returns why the ends of the documents of the texts mean nothing to the model; "" if they mean something.
std::string documents_warning(const ResolvedConfig& config, const Tokenizer& tokenizer) {
  if (!tokenizer.special(kEndOfText)) {
    return str_cat("the tokenizer has no token ", kEndOfText,
                   ": the documents of the text follow each other without a mark");
  }
  if (may_know_end_of_text(config)) return "";
  return str_cat("data.valid has documents, and the training text has none: the validation loss counts the token ",
                 kEndOfText, " that ends them, which the model does not learn");
}

// Returns the number of tokens of a text that are unknown. If they are many, a warning is added.
std::int64_t count_and_tell_unknown(const TokenFile& text, const Tokenizer& tokenizer, const char* what,
                                    std::vector<std::string>& warnings) {
  const std::int64_t unknown = count_unknown(text.view(), tokenizer);
  if (auto note = unknown_note(unknown, text.size(), tokenizer, what, kMostUnknown))
    warnings.push_back(*std::move(note));
  return unknown;
}

}  // namespace

TokenizerOptions tokenizer_options(const ResolvedConfig& config, bool documents) {
  const Config::Tokenizer& wanted = config.tokenizer;
  TokenizerOptions options{.kind = word_of(wanted.kind), .vocab = wanted.vocab, .special_tokens = {}};
  if (wanted.kind == TokenizerKind::bpe || documents) options.special_tokens = {std::string(kEndOfText)};
  if (config.family().task == "masked_language_model")
    options.special_tokens.insert(options.special_tokens.end(), kMaskedTokens.begin(), kMaskedTokens.end());
  return options;
}

LanguageData prepare_language_data(const ResolvedConfig& config, std::unique_ptr<Tokenizer> tokenizer,
                                   const ProgressMaker& progress) {
  if (!tokenizer && !config.tokenizer.file.empty()) tokenizer = Tokenizer::load(config.tokenizer.file);
  const TokenCache cache(token_cache_folder());
  Text text = training_text(config, cache, progress);
  if (config.data.within_document && !text.source->has_documents()) {
    fail_usage("data.within_document: expected documents (data.document other than none, or JSON lines), got none");
  }
  text.open(cache, progress);
  std::optional<Text> other;
  if (!config.data.valid.empty()) {
    other = text_of_files(config.data.valid, config, cache, progress);
    other->open(cache, progress);
  }
  TextNotes notes = text.summary.notes;
  if (other) notes.add(other->summary.notes);
  const std::int64_t bytes = text.summary.bytes;
  const std::int64_t cut = other ? bytes : text.summary.split(config.data.valid_fraction);
  const TextRange train = text.range(0, cut);
  const Text& valid_text = other ? *other : text;
  const std::int64_t valid_begin = other ? 0 : cut, valid_size = valid_text.summary.bytes - valid_begin;
  const std::int64_t valid_most = config.data.valid_bytes > 0 ? config.data.valid_bytes : valid_size;
  const TextRange valid = valid_text.range(valid_begin, valid_begin + std::min(valid_most, valid_size));
  if (!tokenizer) {
    tokenizer = make_tokenizer(config, cache, train, *text.source, valid, *valid_text.source, progress);
  }
  // These throw before the text is encoded.
  document_token(config, *tokenizer);
  if (config.family().task == "masked_language_model") masked_symbols(*tokenizer);

  const ProgressCallback show = start_progress(progress, "encoding the text");
  LanguageData result{.tokenizer = nullptr,
                      .train = cache.tokens("train", *text.reader, train, *tokenizer, show),
                      .valid = std::nullopt,
                      .warnings = notes.lines()};
  if (!cache.warning().empty()) result.warnings.push_back(cache.warning());
  const bool has_documents = text.source->has_documents() || valid_text.source->has_documents();
  if (has_documents) {
    if (std::string line = documents_warning(config, *tokenizer); !line.empty()) result.warnings.push_back(line);
  }
  const std::int64_t fewest = fewest_tokens(config);
  const char* const what = config.train.bptt > 0 ? "train.bptt" : config.context() ? "model.context" : "a row's length";
  check(result.train.size() >= fewest, "the training text has ", result.train.size(), " tokens: ", what, " = ",
        config.block_size(), " takes at least ", fewest);
  if (!valid.empty()) {
    TokenFile tokens = cache.tokens("valid", *valid_text.reader, valid, *tokenizer, show);
    check(!other || tokens.size() >= 2, "data.valid: the text has ", tokens.size(), " tokens, expected at least 2");
    if (tokens.size() >= 2) result.valid = std::move(tokens);
    if (result.valid)
      result.valid_unknown = count_and_tell_unknown(*result.valid, *tokenizer, "the validation text", result.warnings);
  }
  count_and_tell_unknown(result.train, *tokenizer, "the training text", result.warnings);
  for (const std::string& line : cache.found_damaged()) result.warnings.push_back(line);
  result.tokenizer = std::move(tokenizer);
  return result;
}

}  // namespace tapeformer
