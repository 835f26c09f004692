// Which evaluations of a run compare with each other.
#include "train/loop/evaluation_terms.h"

#include <fstream>

#include "core/error.h"
#include "tests/train/toy.h"

using namespace tapeformer;

namespace {

// What a run of this configuration, with a best evaluation, says when it goes on as `now`; nothing where the best
// stays.
std::optional<std::string> told_of(const Config& before, const Config& now) {
  const auto first = make_objective(resolve(before)), second = make_objective(resolve(now));
  TrainingState state = first_state(*first, resolve(before));
  state.step = 9, state.best_step = 5, state.best_loss = 1, state.num_bad_epochs = 2;
  state.scheduled_best = BestEvaluation{2, 4};
  const auto told = update_evaluation_terms(state, *second, resolve(now));
  CHECK(state.best_step == (told ? 0 : 5));
  CHECK(state.scheduled_best.has_value() == !told.has_value());
  CHECK(state.num_bad_epochs == 2);
  CHECK_FALSE(update_evaluation_terms(state, *second, resolve(now)).has_value());  // once
  return told;
}

}  // namespace

TEST_CASE("evaluation: whatever changes what its number means begins the comparison anew, and is told") {
  const CacheFolder folder;
  const Config config = toy_config();
  CHECK_FALSE(told_of(config, config).has_value());
  const std::string tail = ": its losses do not compare with the earlier ones, and the best one is looked for anew";
  Config few = config;
  few.eval.batches = 1;
  CHECK(told_of(config, few) ==
        "validation is scored by eval.batches = 1, eval.stride = 16, train.batch = 4, "
        "train.batch_tokens = 0, and was by eval.batches = 0, eval.stride = 16" +
            tail);
  CHECK(told_of(few, config).has_value());
  Config overlapping = config;
  overlapping.eval.stride = 8;
  CHECK(told_of(config, overlapping).has_value());
  Config text = config;
  text.data.valid_fraction = 0.2;
  CHECK(told_of(config, text) == "the validation data is another than before" + tail);
  // The size of a batch means something where batches are counted.
  Config wide = config, few_wide = few;
  wide.train.batch = few_wide.train.batch = 2;
  CHECK_FALSE(told_of(config, wide).has_value());
  CHECK(told_of(few, few_wide).has_value());
  Config others = config;
  others.eval.every = 7, others.eval.patience = 3, others.train.steps = 50, others.optimizer.lr = 1;
  CHECK_FALSE(told_of(config, others).has_value());

  Config translation = translation_config(), few_pairs = translation;
  few_pairs.eval.batches = 1;
  CHECK_FALSE(told_of(translation, translation).has_value());
  CHECK(told_of(translation, few_pairs).has_value());
  Config recurrent = toy_config_of("rnn", {{"dim", std::int64_t{16}}}), streams = recurrent;
  streams.train.batch = 2, streams.train.accumulate = 2;
  CHECK_FALSE(told_of(recurrent, recurrent).has_value());
  CHECK(told_of(recurrent, streams).has_value());
  // In fine-tuning there are no streams: an example is read alone, in batches of any size.
  Config tags = tag_config(folder, "rnn"), wide_tags = tags;
  wide_tags.train.batch *= 2;
  CHECK_FALSE(told_of(tags, wide_tags).has_value());
  Config answers = instructions_config("rnn"), wide_answers = answers;
  wide_answers.train.batch *= 2;
  CHECK_FALSE(told_of(answers, wide_answers).has_value());
}

TEST_CASE("evaluation: a size of batches that leaves out validation sentences begins the comparison anew") {
  const CacheFolder folder;
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder.path / name) << text;
    return (folder.path / name).string();
  };
  Config config = translation_config();
  config.model = {.type = "rnn_seq2seq", .options = {{"layers", std::int64_t{1}}, {"dim", std::int64_t{12}}}};
  config.data.corpus = "";
  config.data.lines = Config().data.lines;
  config.data.pairs = write("train.tsv", "ab\tba\nba\tab\naa\tbb\n");
  config.data.valid_pairs = write("valid.tsv", "ab\tba\nabababab\tbabababa\n");
  config.train.batch = Config().train.batch;
  config.train.batch_tokens = 32;
  Config large = config, small = config;
  large.train.batch_tokens = 64, small.train.batch_tokens = 6;
  CHECK_FALSE(told_of(config, large).has_value());
  CHECK(told_of(config, small).has_value());
  CHECK(told_of(small, config).has_value());
}

TEST_CASE("evaluation: the terms are those of the last evaluations where a run goes on without validation data") {
  const CacheFolder folder;
  const Config config = toy_config();
  Config none = config, other = config;
  none.data.valid_fraction = 0;
  other.eval.stride = 8;
  TrainingState state = first_state(*make_objective(resolve(config)), resolve(config));
  state.best_step = 5;
  CHECK_FALSE(update_evaluation_terms(state, *make_objective(resolve(none)), resolve(none)).has_value());
  CHECK(state.best_step == 5);
  state.step = 7;
  CHECK(update_evaluation_terms(state, *make_objective(resolve(other)), resolve(other)).has_value());
  CHECK(state.best_step == 0);
  CHECK(state.terms_since == 7);
}

TEST_CASE("evaluation: a key that follows evaluations is refused where there is nothing to evaluate") {
  const CacheFolder folder;
  Config config = toy_config();
  const auto require = [&] { require_evaluations(*make_objective(resolve(config)), resolve(config)); };
  config.eval.patience = 3;
  CHECK_NOTHROW(require());
  config.data.valid_fraction = 0;
  CHECK_THROWS_WITH_AS(require(), "eval.patience: expected 0 where nothing is evaluated (no validation text), got 3",
                       UsageError);
  config.eval.patience = 0;
  CHECK_NOTHROW(require());
  config.schedule.kind = ScheduleKind::plateau;
  CHECK_THROWS_WITH_AS(
      require(), "schedule.kind: expected another one where nothing is evaluated (no validation text), got plateau",
      UsageError);
}
