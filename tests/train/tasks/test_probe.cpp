// Probes of a frozen model's layers.
#include "tasks/analysis/probe.h"

#include <doctest/doctest.h>

#include <numeric>

#include "autograd/ops/views.h"
#include "tests/long_test.h"
#include "tests/train/toy.h"
#include "tokenizer/masked_symbols.h"

using namespace tapeformer;

namespace {

std::string labelled_lines(std::int64_t lines, std::uint64_t seed) {
  std::string text;
  for (std::int64_t line = 0; line < lines; ++line) text += labelled_corpus_line("cloze", line, seed);
  return text;
}

// A model of the cloze corpus, word by word.
struct ClozeToy : EncoderToy {
  explicit ClozeToy(std::int64_t steps) : EncoderToy(cloze_config(steps)) { this->steps(1, steps); }
  static Config cloze_config(std::int64_t steps) {
    Config config;
    config.model.type = "bilm";
    config.model.options = {{"cell", "gru"}, {"dim", std::int64_t{64}}, {"context", std::int64_t{26}}};
    config.tokenizer.kind = TokenizerKind::word;
    learn_quickly(config, {.corpus = "cloze", .steps = steps, .batch = 8});
    config.train.matmul = MatmulSetting::highest;
    return config;
  }
};

// The forward half of a bidirectional model's vectors: what a causal model knows.
class ForwardHalf : public Model {
 public:
  explicit ForwardHalf(const Model& both) : both_(both) {}
  std::vector<Variable> hidden_states(const Batch& rows) const override {
    std::vector<Variable> layers = both_.hidden_states(rows);
    for (Variable& layer : layers) layer = slice(layer, 2, 0, layer.size(2) / 2);
    return layers;
  }
  std::int64_t vocab() const override { return both_.vocab(); }
  std::optional<std::int64_t> context() const override { return both_.context(); }

 private:
  const Model& both_;
};

// The same sentences with the label of "it" at the last word, which decides it.
LabelledText labelled_at_the_end(const LabelledText& text) {
  std::string lines;
  for (const LabelledSentence& sentence : text.sentences()) {
    std::string_view label;
    for (const LabelledWord& word : sentence) {
      if (!word.label.empty()) label = word.label;
      lines += str_cat(word.word, &word == &sentence.back() ? str_cat('\t', label) : "", '\n');
    }
    lines += '\n';
  }
  return LabelledText::from_text(lines, "labelled at the end");
}

// Probes a model with the special tokens of its rows around a sentence.
ProbeResult probe_rows(const Model& model, const Tokenizer& tokenizer, const LabelledText& train,
                       const LabelledText& valid, const ProbeOptions& options) {
  return probe(model, tokenizer, row_frame(model, tokenizer), train, valid, options);
}

}  // namespace

TEST_CASE("probe: both directions together know what 'it' is; the token alone and the words before it do not" *
          long_test()) {
  const CacheFolder folder;
  const ClozeToy toy(1000);
  const LabelledText train = LabelledText::from_text(labelled_lines(300, 2), "train"),
                     valid = LabelledText::from_text(labelled_lines(200, 3), "valid");
  const auto run = [&](std::optional<std::int64_t> layer) {
    return probe_rows(toy.model, *toy.data.tokenizer, train, valid, {.layer = layer, .steps = 600});
  };
  const ProbeResult all = run(std::nullopt);
  CHECK(all.train_words == 300);
  CHECK(all.valid_words == 200);
  CHECK(all.labels.size() == 2);
  CHECK(all.majority == doctest::Approx(0.5).epsilon(0.2));
  CHECK(all.accuracy > 0.98);
  REQUIRE(all.shares.size() == 2);
  CHECK(std::accumulate(all.shares.begin(), all.shares.end(), 0.0) == doctest::Approx(1));
  CHECK(all.shares[0] < 0.4);  // the embedding of "it" says nothing
  CHECK(all.gamma != 1);
  const ProbeResult embedding = run(0);
  CHECK(embedding.accuracy < 0.6);
  CHECK(embedding.shares == std::vector<double>{1, 0});
  CHECK(run(1).accuracy > 0.98);
  const ForwardHalf forward(toy.model);
  CHECK(probe_rows(forward, *toy.data.tokenizer, train, valid, {.steps = 600}).accuracy < 0.6);
  CHECK(probe_rows(forward, *toy.data.tokenizer, labelled_at_the_end(train), labelled_at_the_end(valid), {.steps = 600})
            .accuracy > 0.98);
  CHECK(run(std::nullopt).accuracy == all.accuracy);
  CHECK(run(std::nullopt).shares == all.shares);
  CHECK_THROWS_WITH_AS(run(2), "--layer: expected 0 (the embedding) to 1, got 2", UsageError);
}

TEST_CASE("probe: a label that training does not have is never found") {
  const CacheFolder folder;
  const ClozeToy toy(1);
  const LabelledText train = LabelledText::from_text("The\tarticle\ndog\tnoun\n", "train"),
                     valid = LabelledText::from_text("The\tarticle\ndog\tanimal\n\nThe\tarticle\n", "valid");
  const ProbeResult result = probe_rows(toy.model, *toy.data.tokenizer, train, valid, {.steps = 50});
  CHECK(result.accuracy == doctest::Approx(2 / 3.0));
  CHECK(result.valid_words == 3);
  CHECK(result.unknown_labels == 1);
}

TEST_CASE(
    "probe: a model of marked rows reads [CLS] before a sentence and [SEP] behind it, and words keep their places") {
  const CacheFolder folder;
  Config config = ClozeToy::cloze_config(1);
  config.model.type = "bert";
  config.model.options = {{"layers", std::int64_t{1}}, {"dim", std::int64_t{32}}, {"context", std::int64_t{26}}};
  const MaskedToy toy(config);
  const MaskedSymbols symbols = masked_symbols(*toy.data.tokenizer);
  // The label of a sentence's second word is the word itself, which its own vector tells.
  const auto labelled = [](std::uint64_t seed) {
    std::string text;
    for (std::int64_t line = 0; line < 100; ++line) {
      const std::string sentence = corpus_line("cloze", line, seed);
      const std::string animal = sentence.substr(4, sentence.find(' ', 4) - 4);
      text += str_cat("The\n", animal, '\t', animal, "\ndidn't\ncross\n\n");
    }
    return LabelledText::from_text(text, "labelled");
  };

  class Checked : public Model {
   public:
    Checked(const Model& model, const MaskedSymbols& symbols) : model_(model), symbols_(symbols) {}
    std::vector<Variable> hidden_states(const Batch& rows) const override {
      const Tensor ids = rows.input_ids.value();
      if (ids.numel() == 1) return model_.hidden_states(rows);  // that asks for the widths of layers
      checked += ids.size(0);
      for (std::int64_t row = 0; row < ids.size(0); ++row) {
        const auto at = [&](std::int64_t t) { return ids.data<std::int32_t>()[row * ids.size(1) + t]; };
        CHECK(at(0) == symbols_.classification);
        CHECK(at(rows.lengths.data<std::int32_t>()[row] - 1) == symbols_.separator);
      }
      return model_.hidden_states(rows);
    }
    bool has_special_tokens() const override { return true; }
    std::int64_t vocab() const override { return model_.vocab(); }
    std::optional<std::int64_t> context() const override { return model_.context(); }

    mutable std::int64_t checked = 0;

   private:
    const Model& model_;
    MaskedSymbols symbols_;
  };
  const Checked checked(toy.model, symbols);
  const ProbeResult result =
      probe_rows(checked, *toy.data.tokenizer, labelled(2), labelled(3), {.layer = 0, .steps = 300});
  CHECK(result.accuracy == 1);
  CHECK(checked.checked == 200);
}
