// What simple models reach on the validation text of a language model's run.
#include <doctest/doctest.h>

#include "data/baselines/kneser_ney.h"
#include "data/baselines/xz.h"
#include "data/synthetic/corpora.h"
#include "tests/train/toy.h"

using namespace tapeformer;

namespace {

constexpr double kLong = 100;  // seconds that are enough for any toy

std::vector<std::int32_t> ids_of(const TokenFile& file) {
  std::vector<std::int32_t> ids(file.size());
  file.copy(0, ids);
  return ids;
}

// The nats of the targets valid[1], valid[2], … of an n-gram model that sees the tokens from begin_of(target) on.
template <class BeginOf>
double ngram_nats(const Toy& toy, const BeginOf& begin_of) {
  const KneserNey ngrams = KneserNey::learn(
      toy.data.train.view(), {.vocab = toy.data.tokenizer->vocab_size(), .document_token = toy.model.document_token()});
  const std::vector<std::int32_t> valid = ids_of(*toy.data.valid);
  double nats = 0;
  for (std::int64_t target = 1; target < std::ssize(valid); ++target) {
    KneserNey::History history;
    for (std::int64_t i = begin_of(target); i < target; ++i) ngrams.read(history, valid[i]);
    nats += ngrams.read(history, valid[target]);
  }
  return nats;
}

// Checks that the n-gram model is evaluated on the targets that the model is evaluated on.
Baselines checked_baselines(Toy& toy, double expected_nats) {
  const Evaluation model = toy.objective.evaluate({});
  const std::optional<Baselines> found = toy.objective.baselines(kLong, {});
  REQUIRE(found);
  CHECK(found->ngrams.evaluation.tokens == model.tokens);
  CHECK(found->ngrams.evaluation.nats == doctest::Approx(expected_nats).epsilon(1e-12));
  CHECK(found->ngrams.tokens == toy.data.train.size());
  CHECK(found->ngrams.of == toy.data.train.size());
  return *found;
}

}  // namespace

TEST_CASE("baselines: n-grams see what the model sees, from the beginning of its window on") {
  const CacheFolder folder;
  Toy toy;
  checked_baselines(toy, ngram_nats(toy, [](std::int64_t target) { return (target - 1) / 16 * 16; }));
  Config overlapping = toy_config();
  overlapping.eval.stride = 4;
  Toy other(overlapping);
  checked_baselines(other, ngram_nats(other, [](std::int64_t target) {
                      return target <= 16 ? std::int64_t{0} : ((target - 1) / 4 - 3) * 4;
                    }));
}

TEST_CASE("baselines: with a recurrent model n-grams see the whole text before") {
  const CacheFolder folder;
  Toy toy(rnn_config());
  checked_baselines(toy, ngram_nats(toy, [](std::int64_t) { return 0; }));
}

TEST_CASE("baselines: n-grams keep within documents as the model does") {
  const CacheFolder folder;
  Config config = toy_config();
  config.model.options["context"] = std::int64_t{4000};  // one window
  config.data.lines = 60;
  config.data.document = DocumentEnd::line;
  config.data.within_document = true;
  Toy toy(config);
  const std::int32_t document = toy.model.document_token();
  REQUIRE(document >= 0);
  const std::vector<std::int32_t> valid = ids_of(*toy.data.valid);
  REQUIRE(std::ranges::count(valid, document) > 2);
  const Baselines found = checked_baselines(toy, ngram_nats(toy, [&](std::int64_t target) {
                                              std::int64_t begin = target - 1;
                                              while (begin > 0 && valid[begin] != document) --begin;
                                              return begin;
                                            }));
  // The end of a document is a byte for xz, but none of the text.
  REQUIRE(found.xz);
  CHECK(found.xz->validation_bytes == toy.data.valid->text_bytes());
}

TEST_CASE("baselines: tokens of a very uneven length leave xz no text, or none to be compressed") {
  const CacheFolder folder;
  const std::string words = "a b c d e f g h ", of_words = words + words + words + words, text = of_words + of_words;
  const std::string giant(2000, 'x');
  Config config = toy_config();
  config.tokenizer.kind = TokenizerKind::word;
  remove_corpus(config), config.data.text = {folder.write("train.txt", giant + " " + text + text).string()};
  config.data.valid = {folder.write("valid.txt", giant + " " + text).string()};
  Toy toy(config);
  // By the mean length of tokens the half of the bytes is a few of them, of which the first has far more.
  const std::optional<Baselines> found = toy.objective.baselines(1e-3, {});
  REQUIRE((found && found->xz));
  CHECK(found->xz->validation_bytes > 2000);
  CHECK(found->xz->training_bytes == 0);
  const std::optional<Baselines> shorter = toy.objective.baselines(1e-6, {});
  REQUIRE(shorter);
  CHECK_FALSE(shorter->xz);
}

TEST_CASE("baselines: xz is left out where the validation text has an unknown word, whose bytes are not known") {
  const CacheFolder folder;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "a b c d e f g h ";
  Config config = toy_config();
  config.tokenizer.kind = TokenizerKind::word;
  remove_corpus(config), config.data.text = {folder.write("train.txt", text).string()};
  config.data.valid = {folder.write("valid.txt", text + "unheard " + text).string()};
  Toy toy(config);
  REQUIRE(toy.data.valid_unknown > 0);
  REQUIRE(toy.objective.has_bits_per_byte());
  const std::optional<Baselines> found = toy.objective.baselines(kLong, {});
  REQUIRE(found);
  CHECK_FALSE(found->xz);
}

TEST_CASE("baselines: xz compresses the validation text after the training text") {
  const CacheFolder folder;
  Toy toy;
  const Baselines found = *toy.objective.baselines(kLong, {});
  const std::string text = generate_corpus("stories", 20, 1);
  const std::size_t cut = text.size() * 9 / 10;
  const auto valid = static_cast<double>(text.size() - cut);
  REQUIRE(found.xz);
  CHECK(found.xz->whole);
  CHECK(found.xz->validation_bytes == valid);
  CHECK(found.xz->training_bytes == static_cast<std::int64_t>(cut));
  const auto bytes = static_cast<double>(xz_growth(text.substr(0, cut), text.substr(cut)));
  CHECK(found.xz->bits_per_byte == doctest::Approx(8 * bytes / valid).epsilon(1e-12));

  Config part = toy_config();
  part.eval.batches = 1;
  Toy other(part);
  const Baselines of_part = *other.objective.baselines(kLong, {});
  CHECK(of_part.ngrams.evaluation.tokens == 4 * 16);
  CHECK_FALSE(of_part.xz);
}

TEST_CASE("baselines: a short time is kept by reading only a part of the training text") {
  const CacheFolder folder;
  Config config = toy_config();
  config.data.lines = 2000;
  Toy toy(config);
  const Baselines found = *toy.objective.baselines(0.01, {});
  CHECK(found.ngrams.evaluation.tokens == toy.objective.evaluate({}).tokens);
  CHECK(found.ngrams.tokens < found.ngrams.of);
  REQUIRE(found.xz);
  CHECK_FALSE(found.xz->whole);
  CHECK(found.xz->validation_bytes < toy.data.valid->text_bytes());
  CHECK(found.xz->training_bytes + found.xz->validation_bytes < 7000);
  struct Stopped {};
  CHECK_THROWS_AS(toy.objective.baselines(kLong,
                                          [](double share) {
                                            if (share > 0.6) throw Stopped();
                                          }),
                  Stopped);
  CHECK_FALSE(AnyToy(translation_config()).objective.baselines(kLong, {}));
}
