// What holds for the training of every task and family: toys of all of them.
#include <doctest/doctest.h>

#include <functional>
#include <numeric>
#include <set>

#include "core/error.h"
#include "tasks/captioning/caption_evaluation.h"
#include "tasks/captioning/caption_objective.h"
#include "tasks/text/text_evaluation.h"
#include "tasks/translation/translation_evaluation.h"
#include "tests/long_test.h"
#include "tests/train/thread_ranks.h"
#include "tests/train/toy.h"
#include "train/run/checkpoint_store.h"

using namespace tapeformer;

namespace {

// Calls check(toy) for all of them. A test that fails says which one it is.
void for_all_toys(const std::function<void(const NamedConfig&)>& check) {
  const CacheFolder folder;
  for (const NamedConfig& toy : all_toys(folder)) {
    CAPTURE(toy.name);
    check(toy);
  }
}

// Stops within a step: at the `asks`-th time that this run is asked from step `from` on.
std::function<bool()> stop_within(const TrainingState& state, std::int64_t from, int asks) {
  return [&state, from, asks, asked = 0]() mutable { return state.step >= from && ++asked >= asks; };
}

// −ln P of each token of a caption of the first image, and of its end.
std::vector<double> nats_of_caption(const CaptionObjective& objective, std::span<const std::int32_t> tokens) {
  const CaptionData& data = objective.data();
  const std::int32_t image = 0;
  TokenPairs pair;
  pair.add(std::span(&image, 1), tokens, 0);
  PairBatch batch;
  LengthBuckets(pair, data.tokenizer.pair_symbols(), {}).fill(0, batch);
  Tape tape(no_grad);
  const CaptionTensors tensors(tape, batch, data.train.images);
  const EncoderDecoder& model = objective.model();
  std::vector<double> nats;
  score_tokens(
      model.decode(tensors.inputs, model.encode(tape, tensors.source)), batch.targets,
      [&](const Variable& rows) { return model.logits(rows); }, 0,
      [&](const TokenScore& score) { nats.push_back(score.nats); });
  return nats;
}

// The message of the one-line error that f must end in.
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    const std::string message = error.what();
    CHECK(message.find('\n') == message.npos);
    return message;
  }
  return "no error";
}

}  // namespace

TEST_CASE("every task: there is a toy of each task and family") {
  std::set<std::string> families, tasks;
  for_all_toys([&](const NamedConfig& toy) {
    const ResolvedConfig config = resolve(toy.config);
    families.insert(config.family().name);
    tasks.insert(config.task_row().name);
  });
  for (const ModelFamily& family : model_families()) CHECK(families.contains(family.name));
  for (const TaskRow& task : task_rows()) CHECK(tasks.contains(task.name));
}

TEST_CASE("every task: 1×8, 2×4 and 8×1 give the same losses, gradients and recurrent states" * long_test()) {
  for_all_toys([](const NamedConfig& toy) {
    const Config config = without_dropout(toy.config);
    // gpt's gradients are the same to 1e-6 (test_trainer.cpp).
    check_accumulation(config, 8, {1, 2, 8}, 3, 1e-5);
    if (config.train.label_smoothing == 0) return;
    Config plain = config;
    plain.train.label_smoothing = plain.train.z_loss = 0;
    check_accumulation(plain, 8, {1, 8}, 3, 1e-5);
  });
}

TEST_CASE("every task: a run that was cut in two has the weights and recurrent states of one that was not" *
          long_test()) {
  const CacheFolder folder;
  for_all_toys([&](const NamedConfig& toy) {
    const auto finish = [&](const std::string& name, std::int64_t cut) {
      const auto run = trained(toy.config, folder.path / toy.name / name, cut);
      return std::pair(run->weights(), values_of(run->objective.recurrent_state()));
    };
    const auto whole = finish("whole", 0);
    CHECK(finish("cut beside the schedule", 7) == whole);
    CHECK(finish("cut at a checkpoint", 8) == whole);
    CHECK(whole.second.empty() == (toy.config.model.type != "rnn" || toy.config.task.kind != kNoTask));
  });
}

TEST_CASE("train: a stop gives up the step between two micro-steps, saves the last whole one, and resumes to the bit") {
  const CacheFolder folder;
  for_all_toys([&](const NamedConfig& toy) {
    Config config = toy.config;
    config.train.steps = 4;
    config.checkpoint.every = config.eval.every = 0;
    const auto whole = trained(config, folder.path / toy.name / "whole");
    const RunFolder run{folder.path / toy.name / "cut"};
    AnyToy first(config);
    create_run(run.root, to_toml(first.resolved), first.objective.facts().tokenizers);
    TrainingState state;
    // The first time after step 2, then twice within step 3.
    const TrainEnd end = train(first.objective, first.slab, first.optimizer, first.resolved, run, state,
                               {.stop_requested = stop_within(state, 2, 3)});
    CHECK(end == TrainEnd::stopped);
    CHECK(state.step == 2);
    CHECK(latest_step(run) == 2);
    AnyToy resumed(config);
    state = load_checkpoint(run, 2, resumed.model, resumed.optimizer);
    CHECK(train(resumed.objective, resumed.slab, resumed.optimizer, resumed.resolved, run, state, {}) ==
          TrainEnd::finished);
    CHECK(resumed.weights() == whole->weights());
  });
}

TEST_CASE("every task: steps after the second one leave no memory in use, and ask for none if their shapes are fixed") {
  for_all_toys([](const NamedConfig& named) {
    AnyToy toy(named.config);
    toy.steps(1, 2);
    const MemoryStats first = memory_stats();
    for (std::int64_t step = 3; step <= 12; ++step) {
      toy.step(step);
      CHECK(memory_stats().in_use == first.in_use);
      if (named.fixed_shapes) CHECK(memory_stats().system_requests == first.system_requests);
    }
  });
}

TEST_CASE("every task: ranks share an evaluation, and all know the whole") {
  for_all_toys([](const NamedConfig& toy) {
    int batches = 0;
    AnyToy alone(toy.config);
    const Evaluation whole = alone.objective.evaluate([&](double) { ++batches; });
    for (const int size : {2, 3}) {
      CAPTURE(size);
      std::vector<std::unique_ptr<AnyToy>> toys;
      for (int rank = 0; rank < size; ++rank) toys.push_back(std::make_unique<AnyToy>(toy.config));
      std::vector<int> own(size);
      run_ranks(size, [&](Communicator& ranks) {
        Objective& objective = toys[ranks.rank()]->objective;
        objective.share_with(ranks);
        const Evaluation shared = objective.evaluate([&](double) { ++own[ranks.rank()]; });
        CHECK(shared.tokens == whole.tokens);
        CHECK(shared.nats == doctest::Approx(whole.nats).epsilon(1e-6));
        REQUIRE(shared.parts.size() == whole.parts.size());
        for (std::size_t i = 0; i < whole.parts.size(); ++i) {
          CHECK(shared.parts[i].nats == doctest::Approx(whole.parts[i].nats).epsilon(1e-6));
        }
        REQUIRE(shared.metrics.size() == whole.metrics.size());
        for (std::size_t i = 0; i < whole.metrics.size(); ++i) {
          CHECK(shared.metrics[i].second == doctest::Approx(whole.metrics[i].second).epsilon(1e-6));
        }
      });
      // A model that reads a text in order reads as many rows of fewer streams.
      if (!alone.objective.recurrent()) CHECK(std::accumulate(own.begin(), own.end(), 0) == batches);
    }
  });
}

TEST_CASE("every task: data that is missing and keys that are not known are told in one line") {
  for_all_toys([](const NamedConfig& toy) {
    Config missing = toy.config;
    missing.data.labels.clear();
    const bool several = !toy.config.tasks.empty();
    if (!several) remove_corpus(missing);
    const bool talks = toy.config.task.kind == "instructions";
    const bool pairs = toy.config.data.corpus == "reverse";
    if (several) {
      missing.tasks.at("tags").labels = "nowhere.txt";
    } else if (!toy.config.data.labels.empty()) {
      missing.data.labels = "nowhere.txt";
    } else if (talks) {
      missing.data.conversations = "nowhere.txt";
    } else if (pairs) {
      missing.data.pairs = "nowhere.txt";
    } else if (toy.config.data.corpus == "shapes") {
      missing.data.images = "nowhere.txt";
    } else {
      missing.data.text = {"nowhere.txt"};
    }
    CHECK(error_of([&] { const AnyToy made(missing); }).find("nowhere.txt") != std::string::npos);
    Config config = toy.config;
    const std::string unknown = error_of([&] { apply_override(config, "model.dimm", "8"); });
    CHECK(unknown.ends_with("did you mean model.dim?"));
    config.model.options["dimm"] = std::int64_t{8};
    CHECK(error_of([&] { resolve(config); }).find("model.dimm") != std::string::npos);
  });
}

TEST_CASE("every task: a later token changes no prediction of a model that reads from the left") {
  constexpr std::size_t kChanged = 7;
  int checked = 0;
  for_all_toys([&](const NamedConfig& toy) {
    AnyToy any(toy.config);
    any.steps(1, 3);
    std::vector<std::int32_t> tokens(12);
    std::function<std::vector<double>()> nats_of_tokens;  // from the second one on, or of all and the end
    std::size_t unchanged = kChanged;
    if (const auto* language = dynamic_cast<LanguageObjective*>(&any.objective)) {
      language->data().train.view().copy(0, tokens);
      unchanged = kChanged - 1;
      nats_of_tokens = [&, language] {
        return surprisals(language->model(), std::span<const std::int32_t>(tokens), {});
      };
    } else if (const auto* translation = dynamic_cast<TranslationObjective*>(&any.objective)) {
      const std::span<const std::int32_t> target = translation->data().train.target(0);
      for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = target[i % target.size()];
      nats_of_tokens = [&, translation] {
        const auto& data = translation->data();
        std::vector<double> nats;
        score_tokens(translation->model(), data.train.source(0), tokens, data.tokenizers.symbols, 0,
                     [&](const TokenScore& score) { nats.push_back(score.nats); });
        return nats;
      };
    } else if (const auto* captions = dynamic_cast<CaptionObjective*>(&any.objective)) {
      const std::span<const std::int32_t> target = captions->data().train.pairs.target(0);
      for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = target[i % target.size()];
      nats_of_tokens = [&, captions] { return nats_of_caption(*captions, tokens); };
    } else {
      return;
    }
    const std::vector<double> before = nats_of_tokens();
    tokens[kChanged] = tokens[kChanged] == tokens[0] ? tokens[1] : tokens[0];
    const std::vector<double> after = nats_of_tokens();
    for (std::size_t i = 0; i < unchanged; ++i) CHECK(after[i] == before[i]);
    CHECK(after[unchanged] != before[unchanged]);
    CHECK(after[unchanged + 1] != before[unchanged + 1]);
    ++checked;
  });
  CHECK(checked >= 10);
}
