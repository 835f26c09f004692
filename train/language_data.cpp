#include "train/language_data.h"

#include <cstdlib>

#include "autograd/core/error.h"
#include "data/corpora.h"
#include "data/text.h"

namespace tapeformer {
namespace {

TextCorpus read_corpus(const std::vector<std::string>& inputs) { return TextCorpus(expand_inputs(inputs)); }

std::unique_ptr<Tokenizer> make_tokenizer(const Config& config, const TextSplit& split) {
  if (!config.tokenizer.file.empty()) return Tokenizer::load(config.tokenizer.file);
  std::vector<std::string_view> texts = split.train;
  if (config.tokenizer.kind == "char") texts.insert(texts.end(), split.valid.begin(), split.valid.end());
  TokenizerOptions options{.kind = config.tokenizer.kind, .vocab = config.tokenizer.vocab, .special_tokens = {}};
  if (options.kind == "bpe") options.special_tokens = {"<|endoftext|>"};
  return train_tokenizer(options, texts);
}

}  // namespace

std::filesystem::path token_cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value ? std::filesystem::path(value) : std::filesystem::path();
  };
  if (const auto folder = variable("TAPEFORMER_CACHE"); !folder.empty()) return folder;
  if (const auto folder = variable("XDG_CACHE_HOME"); !folder.empty()) return folder / "tapeformer";
  if (const auto home = variable("HOME"); !home.empty()) return home / ".cache" / "tapeformer";
  return std::filesystem::temp_directory_path() / "tapeformer-cache";
}

LanguageData prepare_language_data(const Config& config, std::unique_ptr<Tokenizer> tokenizer) {
  const Config::Data& data = config.data;
  const TextCorpus corpus =
      data.corpus.empty() ? read_corpus(data.text)
                          : TextCorpus(generate_corpus(data.corpus, data.lines, static_cast<std::uint64_t>(data.seed)));
  std::optional<TextCorpus> valid_corpus;
  TextSplit split;
  if (data.valid.empty()) {
    split = corpus.split(data.valid_fraction);
  } else {
    split.train.assign(corpus.pieces().begin(), corpus.pieces().end());
    valid_corpus = read_corpus(data.valid);
    split.valid.assign(valid_corpus->pieces().begin(), valid_corpus->pieces().end());
  }
  if (!tokenizer) tokenizer = make_tokenizer(config, split);

  const std::filesystem::path folder = token_cache_folder();
  LanguageData result{.tokenizer = nullptr,
                      .train = cached_token_file(folder, "train", split.train, *tokenizer),
                      .valid = std::nullopt};
  check(result.train.size() > config.model.context, "the training text has ", result.train.size(),
        " tokens: model.context = ", config.model.context, " takes at least ", config.model.context + 1);
  if (!split.valid.empty()) {
    TokenFile valid = cached_token_file(folder, "valid", split.valid, *tokenizer);
    if (valid.size() >= 2) result.valid = std::move(valid);
  }
  result.tokenizer = std::move(tokenizer);
  return result;
}

}  // namespace tapeformer
