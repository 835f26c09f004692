// A task that only this file knows, with its family: captions of images. An image is a vector of six numbers, a colour
// and a shape, and its caption two words. The task trains, resumes and evaluates by a metric of its own, `info`'s costs
// and `runs` know it, and it is refused where it does not fit, without a change anywhere else.
#include <doctest/doctest.h>

#include <algorithm>

#include "autograd/ops/ops.h"
#include "core/random.h"
#include "nn/layers/layers.h"
#include "nn/models/registry.h"
#include "tasks/common/eval.h"
#include "tasks/text/text_evaluation.h"
#include "tests/train/toy.h"
#include "tokenizer/train_tokenizer.h"
#include "train/config/data_kinds.h"
#include "train/loop/objective_data.h"
#include "train/loop/run_summary.h"

using namespace tapeformer;

namespace {

constexpr std::int64_t kFeatures = 6, kWords = 2;  // of an image, and of its caption
const char* const kColors[] = {"red", "green", "blue"};
const char* const kShapes[] = {"circle", "square", "star"};

struct Captions {
  std::vector<float> images;        // (N, kFeatures)
  std::vector<std::int32_t> words;  // (N, kWords)

  std::int64_t size() const { return std::ssize(words) / kWords; }
};

// What a decoder of one layer knows: the image and the word before.
class Captioner : public Model {
 public:
  Captioner(std::int64_t vocab, std::int64_t dim)
      : image_(kFeatures, dim, true, Init::normal(0.1), DType::f32),
        word_(vocab + 1, dim, Init::normal(0.1), DType::f32),
        head_(dim, vocab, true, Init::normal(0.1), DType::f32, ParameterKind::head) {
    register_module("image", image_);
    register_module("word", word_);
    register_module("head", head_);
  }
  // The words that a caption is made of, and the one before its beginning.
  std::int64_t vocab() const override { return word_.weight.size(0); }
  std::optional<std::int64_t> context() const override { return kWords; }
  bool is_causal() const override { return true; }
  // A batch has the images as features (N, 1, kFeatures), and the words before, (N, kWords), as tokens. Each word
  // before is told apart by its vector from the beginning, whose id is the last one.
  std::vector<Variable> hidden_states(const Batch& batch) const override {
    const Variable before = word_.forward(ids_of(batch, "captioner"));
    return {before, tanh(add(before, image_.forward(batch.input_features)))};
  }
  // Returns logits (N·kWords, words).
  Variable logits(const Batch& batch) const {
    return head_.forward(reshape(features(batch), {-1, head_.weight.size(1)}));
  }
  std::int32_t beginning() const { return static_cast<std::int32_t>(head_.weight.size(0)); }

 private:
  Linear image_;
  Embedding word_;
  Linear head_;
};

struct CaptionData : ObjectiveData {
  std::unique_ptr<Tokenizer> tokenizer;
  Captions train, valid;

  ModelVocabulary vocabulary(const ResolvedConfig&) const override {
    return {.source = tokenizer->vocab_size(), .target = tokenizer->vocab_size()};
  }
};

Captions make_captions(std::int64_t count, std::uint64_t seed, const Tokenizer& tokenizer) {
  RandomStream random({.seed = seed});
  Captions captions;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t color = random.next_u32() % 3, shape = random.next_u32() % 3;
    for (std::uint32_t j = 0; j < kFeatures; ++j) {
      const bool on = j < 3 ? j == color : j - 3 == shape;
      captions.images.push_back((on ? 1.0f : 0.0f) + 0.1f * static_cast<float>(random.normal()));
    }
    captions.words.push_back(tokenizer.encode(kColors[color])[0]);
    captions.words.push_back(tokenizer.encode(kShapes[shape])[0]);
  }
  return captions;
}

std::unique_ptr<ObjectiveData> prepare_captions(const ResolvedConfig& config, const RunFolder* resumed,
                                                const ProgressMaker&) {
  auto data = std::make_unique<CaptionData>();
  const std::string_view words[] = {"red", "green", "blue", "circle", "square", "star"};
  data->tokenizer = resumed ? Tokenizer::load(resumed->tokenizer())
                            : train_tokenizer({.kind = "word", .vocab = 100, .special_tokens = {}}, words);
  data->train = make_captions(config.model.options.integer("images"), 1, *data->tokenizer);
  data->valid = make_captions(30, 2, *data->tokenizer);
  return data;
}

// The logits of some captions, and what is right, i32 (count·kWords).
std::pair<Variable, Variable> captions_on(Tape& tape, const Captioner& model, const Captions& all, std::int64_t first,
                                          std::int64_t count) {
  const auto images = std::span(all.images).subspan(first * kFeatures, count * kFeatures);
  const auto words = std::span(all.words).subspan(first * kWords, count * kWords);
  std::vector<std::int32_t> before(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) before[i] = i % kWords == 0 ? model.beginning() : words[i - 1];
  const auto ids = [&](std::span<const std::int32_t> values, const Dims& sizes) {
    return Variable::constant(tape, Tensor::from(values, sizes));
  };
  const Tensor features = Tensor::from(std::span<const float>(images), {count, 1, kFeatures});
  return {
      model.logits({.input_ids = ids(before, {count, kWords}), .input_features = Variable::constant(tape, features)}),
      ids(words, {count * kWords})};
}

// Σ −ln P of all words, and the share of captions that are right in every word.
Evaluation evaluate_captions(const Captioner& model, const Captions& captions) {
  Tape tape(no_grad);
  const auto [logits, targets] = captions_on(tape, model, captions, 0, captions.size());
  const std::int64_t vocab = logits.size(1);
  const std::vector<float> values = logits.value().to_vector<float>();
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < captions.size(); ++i) {
    bool all = true;
    for (std::int64_t w = i * kWords; w < (i + 1) * kWords; ++w) {
      const auto row = std::span(values).subspan(w * vocab, vocab);
      all &= std::ranges::max_element(row) - row.begin() == captions.words[w];
    }
    right += all;
  }
  const double loss = cross_entropy(logits, targets, {}).value().to_vector<float>()[0];
  return {.tokens = std::ssize(captions.words),
          .nats = loss * static_cast<double>(captions.words.size()),
          .metrics = {{"exact", static_cast<double>(right) / static_cast<double>(captions.size())}},
          .metric_for_best_model = "exact"};
}

class CaptionObjective : public Objective {
 public:
  CaptionObjective(const ResolvedConfig& config, std::unique_ptr<ObjectiveData> data)
      : Objective(config),
        data_(std::move(static_cast<CaptionData&>(*data))),
        model_(data_.tokenizer->vocab_size(), config.model.options.integer("dim")) {}

  const Captioner& model() const override { return model_; }
  DataFacts facts() const override {
    return {.tokenizers = {data_.tokenizer->to_json(), ""},
            .data_hash = data_.train.words.size(),
            .description = {"captions of images"}};
  }
  StepSize step_size(std::int64_t, MicroSteps of) override {
    const std::int64_t words = of.size() * config_.train.batch * kWords;
    return {.targets = words, .tokens = words};
  }
  Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) override {
    const std::int64_t batch = config_.train.batch;
    const std::int64_t number = (step - 1) * config_.train.accumulate + micro_step;
    const auto [logits, targets] =
        captions_on(tape, model_, data_.train, number * batch % (data_.train.size() - batch), batch);
    return cross_entropy(logits, targets, {.normalizer = mean.targets});
  }
  ValidationFacts validation() const override { return {.tokens = std::ssize(data_.valid.words)}; }
  Evaluation evaluate(const ProgressCallback&) override { return evaluate_captions(model_, data_.valid); }

 private:
  const CaptionData data_;
  const Captioner model_;
};

ModelFamily captioner_family() {
  return {
      .name = "captioner",
      .help = "words for an image",
      .task = "toy captioning",
      .keys = {{"dim", std::int64_t{16}, "width", at_least(1)},
               {"images", std::int64_t{60}, "images to learn from", at_least(1)}},
      .resolve = [](KeyValues&, bool) {},
      .make = OtherModelMaker{[](const KeyValues& options, const ModelVocabulary& vocabulary) {
        return std::make_unique<Captioner>(vocabulary.target, options.integer("dim"));
      }},
      .parts = {{"encoder", "image", {"image."}}, {"decoder", "words", {"word.", "head."}}},
      .flops = [](const KeyValues&, const Module& model, const ModelVocabulary&,
                  std::int64_t) { return ForwardFlops{.other = 2.0 * static_cast<double>(model.parameter_count())}; }};
}

TaskRow captioning_task() {
  return {.name = "toy captioning",
          .help = "the words for an image",
          .model = "a captioner",
          .commands = "for captioners there is eval",
          .next_commands = {},
          .eval_input = "text",
          .loss_unit = "nats per word of a caption",
          .has_perplexity = false,
          .metric_for_best_model = "exact",
          .reads_sentences = true,
          .check =
              [](const ResolvedConfig& config) {
                if (!data_kinds(config.data).empty()) {
                  fail_usage("model.type: captioner makes its images, got ", data_kinds(config.data)[0]);
                }
              },
          .prepare = prepare_captions,
          .dummy = [](const ResolvedConfig& config, const RunFolder* run) { return prepare_captions(config, run, {}); },
          .make = [](const ResolvedConfig& config, std::unique_ptr<ObjectiveData> data) -> std::unique_ptr<Objective> {
            return std::make_unique<CaptionObjective>(config, std::move(data));
          },
          .evaluate =
              [](const EvalRequest& request) {
                const TrainedObjective run = load_trained_objective(request.run);
                const Evaluation result = run.objective->evaluate({});
                return EvalReport{{{"loss", result.loss()}, {"exact", result.metrics[0].second}}, ""};
              }};
}

const bool captioning_registered = (register_task(captioning_task()), register_model_family(captioner_family()), true);

Config caption_config() {
  Config config = toy_config();
  config.model = {};
  config.model.type = "captioner";
  config.data = {};
  config.train.steps = 60;
  config.train.batch = 8;
  config.optimizer.lr = 3e-2;
  config.schedule.warmup = 2;
  config.eval.every = 20;
  config.checkpoint.every = 20;
  return config;
}

// What trained() of toy.h needs.
struct CaptionToy {
  explicit CaptionToy(const Config& config) : resolved(resolve(config)) { model.initialize_parameters(1); }
  ResolvedConfig resolved;
  std::unique_ptr<Objective> owned = make_objective(resolved);
  Objective& objective = *owned;
  const Module& model = owned->model();
  ParameterSlab slab{model};
  std::unique_ptr<Optimizer> owned_optimizer = make_optimizer(resolved, slab);
  Optimizer& optimizer = *owned_optimizer;
};

}  // namespace

TEST_CASE("toy task: captions are learned, and a run that was cut in two has the weights of one that was not") {
  REQUIRE(captioning_registered);
  const CacheFolder folder;
  const auto whole = trained<CaptionToy>(caption_config(), folder.path / "whole");
  const auto cut = trained<CaptionToy>(caption_config(), folder.path / "cut", 33);
  CHECK(cut->slab.values().to_vector<float>() == whole->slab.values().to_vector<float>());
  const Evaluation evaluation = whole->objective.evaluate({});
  CHECK(evaluation.metrics[0].second > 0.9);
  CHECK(evaluation.loss() < 0.5);
}

TEST_CASE("toy task: its runs are listed by its metric, and eval reads the best checkpoint") {
  const CacheFolder folder;
  const auto toy = trained<CaptionToy>(caption_config(), folder.path / "run");
  const RunSummary summary = summarize_run({folder.path / "run"});
  CHECK(summary.type == "captioner");
  CHECK(summary.unit == "nats per word of a caption");
  CHECK(summary.measure == "exact");
  CHECK(summary.state == "finished");
  const TaskRow& task = task_of_run(folder.path / "run");
  CHECK(task.name == "toy captioning");
  const EvalReport report = task.evaluate({.run = folder.path / "run"});
  CHECK(report.json["exact"] == summary.measured("exact"));
}

TEST_CASE("toy task: its shape is known without memory for parameters") {
  const ResolvedConfig config = resolve(caption_config());
  const auto data = config.task_row().dummy(config, nullptr);
  const ShapesOnly shapes;
  const TrainingShape shape = data->shape(config);
  CHECK(shape.model->parameter_count() == 6 * 16 + 16 + 8 * 16 + 7 * 16 + 7);  // 6 words and <unk>
  const ForwardFlops forward = config.family().flops(config.model.options, *shape.model, data->vocabulary(config), 0);
  CHECK(shape.flops(forward) == 6.0 * static_cast<double>(shape.model->parameter_count()));
}

TEST_CASE("toy task: it is refused where it does not fit, in a line") {
  const CacheFolder folder;
  trained<CaptionToy>(caption_config(), folder.path / "run");
  const auto message = [&](auto&& load) -> std::string {
    try {
      load();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message([&] {
          load_run<TrainedLanguageModel>(folder.path / "run");
        }).ends_with("run: the model is a captioner, expected a language model; for captioners there is eval"));
  CHECK(message([&] {
          load_run<TrainedTextModel>(folder.path / "run");
        }).ends_with("run: the model is a captioner, expected a model of plain text; for captioners there is eval"));
  CHECK(message([&] { find_model_family("captioner").make_model(resolve(caption_config()).model.options, {}); }) ==
        "model.type: expected a model that gives the tokens of a text vectors, got captioner, which is none");
  Config config = caption_config();
  config.data.text = {"a.txt"};
  CHECK_THROWS_WITH_AS(resolve(config), "model.type: captioner makes its images, got data.text", UsageError);
  config = caption_config();
  config.train.sample_every = 5;
  CHECK_THROWS_WITH_AS(resolve(config), "train.sample_every: expected 0 for captioner, which makes no text, got 5",
                       UsageError);
}
