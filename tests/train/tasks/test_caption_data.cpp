// Which images of a folder train a model of images, and which validate it; the words of captions.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "data/synthetic/corpora.h"
#include "tasks/captioning/caption_evaluation.h"
#include "tests/train/toy.h"

using namespace tapeformer;

TEST_CASE("captions: an image validates with all its captions, or trains with all of them, in any order of the list") {
  const CacheFolder folder;
  constexpr int kImages = 10;
  std::string by_image, by_caption;
  for (int i = 0; i < kImages; ++i) {
    folder.write(str_cat("images/", i, ".png"), png_bytes(corpus_image("shapes", i, 1).image));
    by_image += str_cat(i, ".png\ta shape\n", i, ".png\tone shape\n");
  }
  for (const char* caption : {"a shape", "one shape"}) {
    for (int i = 0; i < kImages; ++i) by_caption += str_cat(i, ".png\t", caption, '\n');
  }
  Config config = caption_config("vit");
  remove_corpus(config);
  config.data.images = folder.path / "images";
  config.data.valid_fraction = 0.25;
  for (const std::string& list : {by_image, by_caption}) {
    folder.write("images/captions.tsv", list);
    const CaptionData data = prepare_caption_data(resolve(config), nullptr, {});
    REQUIRE(data.valid.has_value());
    const CaptionedImages &train = data.train.images, &valid = data.valid->images;
    CHECK(train.image_count() == 8);  // 16 captions, which are at least 75 % of 20
    CHECK(train.captions().size() == 16);
    CHECK(valid.image_count() == 2);
    CHECK(valid.captions().size() == 4);
    for (std::int64_t i = 0; i < valid.image_count(); ++i) {
      for (std::int64_t k = 0; k < train.image_count(); ++k) CHECK(valid.name(i) != train.name(k));
    }
  }
  config.data.valid_fraction = 0.99;
  CHECK_THROWS_WITH_AS(prepare_caption_data(resolve(config), nullptr, {}),
                       str_cat(config.data.images, ": no caption is left to train on, all are for validation").c_str(),
                       Error);
}

TEST_CASE("captions: a warning tells of training captions of which more than a tenth is unknown") {
  const CacheFolder folder;
  Config config = caption_config("vit");
  remove_corpus(config);
  config.data.valid_fraction = 0;
  config.data.images = folder.path / "images";
  folder.write("images/0.png", png_bytes(corpus_image("shapes", 0, 1).image));
  folder.write("images/captions.tsv", "0.png\ta red shape\n");
  const auto known = make_objective(resolve(config));
  CHECK(known->facts().warnings.empty());
  config.tokenizer.file = folder.write("tokenizer.json", known->facts().tokenizers.source).string();
  folder.write("images/captions.tsv", "0.png\ta zork shape\n");
  CHECK(make_objective(resolve(config))->facts().warnings ==
        std::vector<std::string>{"1 of 3 tokens of the training captions are words or characters that the vocabulary "
                                 "does not have: the model reads <unk>"});
}

TEST_CASE("captions: every word has weights of its own, behind a word that the vocabulary lacks, too") {
  const CacheFolder folder;
  const ResolvedConfig config = resolve(caption_config("vit"));
  const CaptionData data = prepare_caption_data(config, nullptr, {});
  const Tokenizer& tokenizer = *data.tokenizer.tokenizer;
  const auto model = make_image_decoder(config, model_vocabulary(config, tokenizer));
  model->initialize_parameters(1);
  const std::int64_t image = 0;
  const Tensor pixels = image_batch(data.train.images, std::span(&image, 1));
  for (const std::string text : {"red circle above blue square", "red zork above blue square"}) {
    CAPTURE(text);
    const CaptionAttention attention =
        caption_attention(*model, pixels, {tokenizer.encode(text), text}, data.tokenizer);
    REQUIRE(attention.weights.size() == 5);
    for (const std::vector<double>& weights : attention.weights) {
      CHECK(std::accumulate(weights.begin(), weights.end(), 0.0) == doctest::Approx(1).epsilon(1e-5));
    }
  }
}
