// Runs with data.within_document: training, evaluation and the data that they take.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "core/error.h"
#include "tasks/common/text_start.h"
#include "tasks/text/language_data.h"
#include "tasks/text/text_evaluation.h"
#include "tests/temp_folder.h"
#include "tests/train/toy.h"
#include "tokenizer/train_tokenizer.h"

using namespace tapeformer;

namespace {

// On 200 documents of 1 to 30 letters in the order of the alphabet's first nine, each a line.
Config documents_config(const CacheFolder& folder) {
  RandomStream random({.seed = 5});
  std::string text;
  for (int line = 0; line < 200; ++line) {
    const std::uint64_t first = random.below(9), length = 1 + random.below(30);
    for (std::uint64_t i = 0; i < length; ++i) text += static_cast<char>('a' + (first + i) % 9);
    text += '\n';
  }
  Config config = toy_config();
  remove_corpus(config);
  config.data.text = {folder.write("lines.txt", text).string()};
  config.model.options["context"] = 48;
  config.data.document = DocumentEnd::line;
  config.data.within_document = true;
  return config;
}

// The same weights, but a row is one text.
struct PlainToy : Toy {
  static Config of_one_text(Config config) {
    config.data.within_document = false;
    return config;
  }
  explicit PlainToy(const Toy& toy) : Toy(of_one_text(toy.config)) { model.load_state_dict(toy.model.state_dict()); }
};

// −ln P of each target of a batch that is not ignored, by every document of every row alone.
std::vector<double> nats_alone(const Toy& toy, std::int32_t begin, const TextBatch& batch) {
  const PlainToy plain_toy(toy);
  const CausalModel& plain = plain_toy.model;
  std::vector<double> nats;
  const std::span<const std::int32_t> inputs = batch.inputs, targets = batch.targets;
  for (std::int64_t first = 0, end = 0; first < batch.rows * batch.length; first = end) {
    for (end = first + 1; end % batch.length != 0 && inputs[end] != begin; ++end) {
    }
    Tape tape(no_grad);
    const Tensor ids = Tensor::from(inputs.subspan(first, end - first), {1, end - first});
    score_tokens(
        plain.forward(Variable::constant(tape, ids)), targets.subspan(first, end - first),
        [&](const Variable& rows) { return plain.logits(rows); }, 0,
        [&](const TokenScore& score) { nats.push_back(score.nats); });
  }
  return nats;
}

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

TEST_CASE("documents: a step's loss is that of the documents of its rows, each alone") {
  const CacheFolder folder;
  Config config = documents_config(folder);
  config.optimizer.lr = 1e-2;
  Toy toy(config);
  const std::int32_t end_of_text = *toy.data.tokenizer->special("<|endoftext|>");
  CHECK(toy.model.document_token() == end_of_text);
  TextBatch batch;
  TextBatcher(toy.data.train.view(), config.train.batch, toy.resolved.block_size(),
              static_cast<std::uint64_t>(config.train.seed))
      .draw(1, 0, batch);
  REQUIRE(std::ranges::count(batch.inputs, end_of_text) > 2);
  const std::vector<double> nats = nats_alone(toy, end_of_text, batch);
  REQUIRE(nats.size() == batch.targets.size());
  const double first = toy.step(1).loss;
  CHECK(first == doctest::Approx(sum_of(nats) / static_cast<double>(nats.size())).epsilon(1e-5));

  StepResult last;
  for (int step = 2; step <= 30; ++step) last = toy.step(step);
  CHECK(last.loss < first - 0.5);
}

TEST_CASE("documents: without the key the same steps are taken as where documents mean nothing") {
  const CacheFolder folder;
  Config config = documents_config(folder);
  Toy within(config);
  config.data.within_document = false;
  Toy across(config);
  CHECK(across.model.document_token() == -1);
  CHECK(within.weights() == across.weights());
  CHECK(within.data.train.path() == across.data.train.path());
  CHECK(within.step(1).loss != across.step(1).loss);
}

TEST_CASE("documents: evaluation and surprisals score each token given its document in its window") {
  const CacheFolder folder;
  const Toy toy(documents_config(folder));
  const std::int32_t end_of_text = *toy.data.tokenizer->special("<|endoftext|>");
  // Weights that look back.
  std::uint64_t stream = 0;
  for (const NamedParameter& parameter : toy.model.named_parameters()) {
    initialize(parameter.variable.value(), Init::normal(0.3), RandomKey{.seed = 4, .stream = stream++});
  }
  const TokenView tokens = toy.data.valid->view();
  for (const std::int64_t stride : {48, 20}) {
    CAPTURE(stride);
    const WindowOptions options{.stride = stride, .batch = 3};
    const WindowBatcher batcher(tokens, 3, 48, stride);
    std::vector<double> expected;
    TextBatch batch;
    for (std::int64_t i = 0; i < batcher.batches(); ++i) {
      batcher.fill(i, batch);
      const std::vector<double> nats = nats_alone(toy, end_of_text, batch);
      expected.insert(expected.end(), nats.begin(), nats.end());
    }
    REQUIRE(static_cast<std::int64_t>(expected.size()) == tokens.size() - 1);
    const std::vector<double> values = surprisals(toy.model, tokens, options);
    REQUIRE(values.size() == expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == doctest::Approx(expected[i]).epsilon(1e-4));
    const Evaluation result = evaluate(toy.model, tokens, options);
    CHECK(result.tokens == tokens.size() - 1);
    CHECK(result.nats == doctest::Approx(sum_of(expected)).epsilon(1e-5));
    // It is not what a model gives that looks across.
    const std::vector<double> across = surprisals(PlainToy(toy).model, tokens, options);
    std::size_t others = 0;
    for (std::size_t i = 0; i < values.size(); ++i) others += std::abs(values[i] - across[i]) > 1e-2;
    CHECK(others > values.size() / 2);
  }
  Config config = toy.config;
  config.eval.stride = 20;
  LanguageObjective objective(resolve(config), prepare_language_data(resolve(config)));
  objective.model().load_state_dict(toy.model.state_dict());
  CHECK(objective.evaluate({}).nats == doctest::Approx(evaluate(toy.model, tokens, {.stride = 20}).nats).epsilon(1e-6));
}

TEST_CASE("documents: a text without any, or a tokenizer without their token, is refused before anything is read") {
  const CacheFolder folder;
  Config config = documents_config(folder);
  const auto refused = [&](const char* message) {
    CHECK_THROWS_WITH_AS(prepare_language_data(resolve(config)), message, UsageError);
  };
  const char* none =
      "data.within_document: expected documents (data.document other than none, or JSON lines), got none";
  config.data.document = DocumentEnd::none;
  refused(none);
  config.data.text = {};
  config.data.corpus = "stories";
  refused(none);
  remove_corpus(config);
  config.data.text = {folder.write("text.jsonl", "{\"text\": \"" + std::string(100, 'a') + "\"}\n").string()};
  const LanguageData data = prepare_language_data(resolve(config));
  CHECK(document_token(resolve(config), *data.tokenizer) == *data.tokenizer->special("<|endoftext|>"));

  // Characters of a text without documents have no token for their ends.
  config.data.within_document = false;
  config.data.text = {folder.write("text.txt", std::string(100, 'a')).string()};
  const auto tokenizer = prepare_language_data(resolve(config)).tokenizer;
  CHECK(document_token(resolve(config), *tokenizer) == -1);
  config.tokenizer.file = folder.write("tokenizer.json", tokenizer->to_json()).string();
  config.data.document = DocumentEnd::file;
  config.data.within_document = true;
  refused("data.within_document: expected a tokenizer with the token <|endoftext|>, got one without");
}

TEST_CASE(
    "language data: a tokenizer that was learned while its text was changed is not kept as that of the old text") {
  const CacheFolder folder;
  const Config config = documents_config(folder);
  const std::string text = read_all(config.data.text.front());
  const auto change = [&](const std::string& what) {
    if (what == "finding characters") folder.write("lines.txt", "xyz\n" + text);
    return ProgressCallback();
  };
  CHECK_THROWS_WITH_AS(prepare_language_data(resolve(config), nullptr, change),
                       "the text was changed while the tokenizer was learned", Error);
  folder.write("lines.txt", text);
  CHECK(prepare_language_data(resolve(config)).tokenizer->vocab_size() == 10);  // nine letters and <|endoftext|>
}

TEST_CASE("documents: those of the validation text alone are told, as the model does not learn what ends them") {
  const CacheFolder folder;
  Config config = documents_config(folder);
  config.data.document = DocumentEnd::none;
  config.data.within_document = false;
  config.tokenizer.kind = TokenizerKind::bpe;
  config.tokenizer.vocab = 257;
  config.data.valid = {folder.write("valid.jsonl", "{\"text\": \"abc\"}\n{\"text\": \"cde\"}\n").string()};
  CHECK(prepare_language_data(resolve(config)).warnings ==
        std::vector<std::string>{"data.valid has documents, and the training text has none: the validation loss counts "
                                 "the token <|endoftext|> that ends them, which the model does not learn"});
  config.data.document = DocumentEnd::line;
  CHECK(prepare_language_data(resolve(config)).warnings.empty());
}

TEST_CASE("documents: a text begins after <|endoftext|> where training has read it, else after a line end") {
  const TempFolder folder;
  const std::string plain = folder.write("plain.txt", "A cat.\n").string(),
                    json = folder.write("documents.jsonl", "{\"text\": \"A cat.\"}\n").string();
  const std::string_view text = "A cat.\n";
  const auto tokenizer =
      train_tokenizer({.kind = "bpe", .vocab = 257, .special_tokens = {"<|endoftext|>"}}, std::span(&text, 1));
  const auto start = [&](const Config& config) {
    return tokenizer->token_bytes(text_start(resolve(config), *tokenizer));
  };
  Config alone, several;
  several.task.kind = "multi_task";
  several.tasks["tags"] = {.kind = "tag", .labels = "train.tsv"};
  const auto start_of = [&](const std::string& file) {
    alone.data.text = {file};
    several.tasks["text"] = {.kind = "language_model", .text = {file}};
    CHECK(start(several) == start(alone));
    return start(alone);
  };
  CHECK(start_of(plain) == "\n");
  CHECK(start_of(json) == "<|endoftext|>");
  // The name tells what a text was that is not there any more, but nobody knows what a folder had.
  for (const char* name : {"gone.txt", "gone.txt.gz", "gone/*.txt", "/dev/fd/63"}) {
    CAPTURE(name);
    CHECK(start_of((folder.path / name).string()) == "\n");
  }
  for (const char* name : {"gone.jsonl", "gone.jsonl.zst", "gone/*.jsonl", "gone"}) {
    CAPTURE(name);
    CHECK(start_of((folder.path / name).string()) == "<|endoftext|>");
  }
  // A run on from other weights knows what these have read, unless nobody can tell that any more.
  const std::string base = (folder.path / "base").string();
  const auto start_after = [&](const std::string& file) {
    std::filesystem::create_directories(base);
    Config first;
    first.data.text = {file};
    folder.write("base/config.toml", to_toml(resolve(first)));
    alone.train.init_from = base;
    alone.data.text = {plain};
    return start(alone);
  };
  CHECK(start_after(plain) == "\n");
  CHECK(start_after(json) == "<|endoftext|>");
  Config itself;  // it has taken the place of the run with whose weights it began
  itself.data.text = {plain};
  itself.train.init_from = base;
  folder.write("base/config.toml", to_toml(resolve(itself)));
  CHECK(start(alone) == "<|endoftext|>");
  alone.train.init_from = base + "/gone";
  CHECK(start(alone) == "<|endoftext|>");
  alone.train.init_from = "";
  alone.data.document = several.data.document = DocumentEnd::file;
  CHECK(start_of(plain) == "<|endoftext|>");
}
