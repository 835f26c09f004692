// A model family defined in this file alone: a table of bigrams, log P(next | token) up to a constant, with a key of
// its own. It trains, resumes, evaluates, generates and is refused where it does not fit, as the library's families
// are.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "autograd/tape/tape.h"
#include "generate/generator.h"
#include "nn/layers/layers.h"
#include "nn/models/registry.h"
#include "tasks/analysis/neighbours.h"
#include "tasks/analysis/trained_embedder.h"
#include "tasks/common/load_run.h"
#include "tasks/text/text_evaluation.h"
#include "tasks/translation/trained_translator.h"
#include "tests/train/toy.h"
#include "train/run/checkpoint.h"

using namespace tapeformer;

namespace {

// It looks at one token, however long the text is: it has no context limit, and nothing to remember.
class Bigram : public CausalModel {
 public:
  Bigram(std::int64_t vocab, double spread) : table_(vocab, vocab, Init::normal(spread), DType::f32) {
    register_module("table", table_);
  }
  std::int64_t vocab() const override { return table_.weight.size(0); }
  std::optional<std::int64_t> context() const override { return std::nullopt; }
  std::unique_ptr<Cache> make_cache() const override {
    struct Nothing : Cache {
      void clear() override {}
      void select(std::span<const std::int64_t>) override {}
      NamedTensors tensors() const override { return {}; }
    };
    return std::make_unique<Nothing>();
  }
  Variable forward(const Variable& ids, Cache*) const override { return table_.forward(ids); }
  std::vector<Variable> hidden_states(const Batch& batch) const override {
    return {forward(only_ids(batch, "bigram"), nullptr)};
  }
  Variable logits(const Variable& features) const override { return features; }

 private:
  Embedding table_;
};

ModelFamily bigram_family() {
  return {
      .name = "bigram",
      .help = "a table of bigrams",
      .task = "language_model",
      .keys = {{"spread", 0.01, "standard deviation of the initial table", at_least(0)}},
      .resolve = [](KeyValues&, bool) {},
      .make = CausalModelMaker([](const KeyValues& options, const ModelVocabulary& vocabulary) {
        return std::make_unique<Bigram>(vocabulary.target, options.number("spread"));
      }),
      .parts = {{"table", "table", {"table."}}},
      .flops = [](const KeyValues&, const Module&, const ModelVocabulary&, std::int64_t) { return ForwardFlops{}; }};
}

const bool bigram_registered = (register_model_family(bigram_family()), true);

Config bigram_config() {
  Config config = toy_config_of("bigram", {});
  config.data.lines = 300;
  config.optimizer.lr = 0.1;
  config.train.steps = 300, config.train.batch = 8;
  config.eval.every = config.checkpoint.every = 100;
  return config;
}

}  // namespace

TEST_CASE("toy family: a table of bigrams learns the bigrams of its text") {
  REQUIRE(bigram_registered);
  const CacheFolder folder;
  Toy toy(bigram_config());
  const RunFolder run = create_run(folder.path / "run", to_toml(toy.resolved), toy.objective.facts().tokenizers);
  TrainingState state;
  CHECK(train(toy.objective, toy.slab, toy.optimizer, toy.resolved, run, state, {}) == TrainEnd::finished);

  // The entropy of the bigrams in the validation text is the least loss that a table of bigrams can have there.
  const TokenView valid = toy.data.valid->view();
  std::map<std::pair<std::int32_t, std::int32_t>, double> pairs;
  std::map<std::int32_t, double> firsts;
  std::vector<std::int32_t> ids(valid.size());
  valid.copy(0, ids);
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) ++pairs[{ids[i], ids[i + 1]}], ++firsts[ids[i]];
  double entropy = 0;
  for (const auto& [pair, count] : pairs) entropy -= count * std::log(count / firsts[pair.first]);
  entropy /= static_cast<double>(ids.size() - 1);
  CHECK(state.best_loss > entropy);
  CHECK(state.best_loss < entropy + 0.1);

  const TrainedLanguageModel trained = load_run<TrainedLanguageModel>(run.root);
  CHECK(trained.checkpoint_text.find("(best") != std::string::npos);
  CHECK(evaluate(*trained.model, valid, {}).loss() == doctest::Approx(state.best_loss).epsilon(1e-6));
  const std::vector<std::int32_t> prompt = trained.tokenizer->encode("T");
  const auto text = generate(*trained.model, prompt, {.sampling = {.temperature = 0}, .tokens = 30});
  CHECK(text.size() == 30);
  CHECK(text == generate(*trained.model, prompt, {.sampling = {.temperature = 0}, .tokens = 30, .use_cache = false}));

  const TrainedEmbedder embedder = load_run<TrainedEmbedder>(run.root);
  const Tensor table = embedder.model->state_dict().at("table.weight");
  CHECK(text_vectors(embedder, "T").vectors.to_vector<float>() ==
        table.slice(0, prompt[0], prompt[0] + 1).to_vector<float>());
  // A model that names no token embedding is known by its first layer.
  const NeighbourFinder by_token(embedder, {}), by_layer(embedder, 0);
  CHECK(by_token.of_word("T", 1)[0].id == by_layer.of_word("T", 1)[0].id);
}

TEST_CASE("toy family: a run that was cut in two has the weights of one that was not") {
  const CacheFolder folder;
  const Config config = bigram_config();
  const auto finish = [&](const std::string& name, bool cut) {
    const RunFolder run{folder.path / name};
    TrainingState state;
    if (cut) {
      Toy first(config);
      create_run(run.root, to_toml(resolve(config)), first.objective.facts().tokenizers);
      train(first.objective, first.slab, first.optimizer, first.resolved, run, state,
            {.stop_requested = [&] { return state.step == 50; }});
    }
    Toy toy(config);
    if (cut) {
      state = load_checkpoint(run, 50, toy.model, toy.optimizer);
    } else {
      create_run(run.root, to_toml(resolve(config)), toy.objective.facts().tokenizers);
    }
    train(toy.objective, toy.slab, toy.optimizer, toy.resolved, run, state, {});
    return toy.weights();
  };
  CHECK(finish("cut", true) == finish("whole", false));
}

TEST_CASE("toy family: what it is not made for is refused") {
  const CacheFolder folder;
  const Config config = bigram_config();
  Toy toy(config);
  const RunFolder run = create_run(folder.path / "run", to_toml(resolve(config)), toy.objective.facts().tokenizers);
  const std::string expected =
      run.root.string() +
      ": the model is a bigram, expected an encoder-decoder; for language models there are generate, probe, "
      "and eval and surprisal with --text";
  CHECK_THROWS_WITH_AS(load_run<TrainedTranslator>(run.root), expected.c_str(), Error);
  CHECK_THROWS_WITH_AS(register_model_family(bigram_family()), "model family bigram: registered twice", Error);
  CHECK_THROWS_AS(find_model_family("trigram"), UsageError);
}

TEST_CASE("toy family: its keys are read, checked, offered and written as those of the library's families") {
  const Config config = parse_config("[model]\nspread = 0.5\ntype = \"bigram\"\n", "x.toml");
  const ResolvedConfig resolved = resolve(config);
  CHECK(resolved.model.options.number("spread") == 0.5);
  CHECK_FALSE(resolved.context().has_value());
  CHECK(to_toml(resolved).find("spread = 0.5 ") != std::string::npos);
  CHECK(to_toml(resolved).find("\nheads = ") == std::string::npos);
  CHECK(resolve(parse_config(to_toml(resolved), "run.toml")) == resolved);

  CHECK_THROWS_WITH_AS(parse_config("[model]\ntype = \"bigram\"\nspread = -1\n", "x.toml"),
                       "x.toml:3: model.spread: expected value >= 0, got -1.0", UsageError);
  Config wrong = config;
  apply_override(wrong, "model.heads", "2");
  CHECK_THROWS_WITH_AS(resolve(wrong), "model.heads: bigram has no such key; its keys are spread", UsageError);
  Config gpt;
  apply_override(gpt, "model.spread", "2");
  CHECK_THROWS_WITH_AS(resolve(gpt), doctest::Contains("model.spread: gpt has no such key; its keys are layers, heads"),
                       UsageError);
  apply_overrides(gpt, {{"model.type", {"bigram"}}});
  CHECK(resolve(gpt).model.options.number("spread") == 2);

  const auto keys = config_keys();
  const auto spread = std::ranges::find(keys, "model.spread", &ConfigKey::name);
  REQUIRE(spread != keys.end());
  CHECK(spread->owners == std::vector<std::string>{"bigram"});
  CHECK(spread->default_value == "0.01");
  CHECK(std::ranges::find(keys, "model.heads", &ConfigKey::name)->owners ==
        std::vector<std::string>{"gpt", "transformer", "bert", "vit"});
  CHECK(std::ranges::count(keys.front().allowed, "bigram") == 1);
}

TEST_CASE("toy family: what needs a width or parallel text is refused by its name") {
  Config config = bigram_config();
  config.schedule.factor = 1;
  CHECK_THROWS_WITH_AS(resolve(config), "schedule.factor: expected 0, since bigram has no key model.dim, got 1",
                       UsageError);
  config = bigram_config();
  config.data.corpus = "";
  config.data.pairs = "pairs.tsv";
  CHECK_THROWS_WITH_AS(resolve(config), "model.type: bigram trains on data.text or data.corpus, got data.pairs",
                       UsageError);
}
