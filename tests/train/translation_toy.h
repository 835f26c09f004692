// A small encoder-decoder, for several tests of training.
#pragma once

#include "tests/temp_folder.h"
#include "train/config/model_config.h"
#include "train/config/optim_config.h"
#include "train/objectives/translation_objective.h"
#include "train/trainer.h"

namespace tapeformer {

// A tiny model that reverses words, a character a token: 36 pairs to train on, 4 for validation.
inline Config translation_config() {
  Config config;
  config.model.type = "transformer";
  config.model.options["layers"] = 1;
  config.model.options["heads"] = 2;
  config.model.options["dim"] = 16;
  config.model.options["context"] = 16;
  config.tokenizer.kind = TokenizerKind::character;
  config.data.corpus = "reverse";
  config.data.lines = 40;
  config.schedule.warmup = 2;
  config.train.steps = 6;
  config.train.batch = 8;
  config.eval.bleu_every = 0;
  return config;
}

// Everything that trains, made from a configuration.
struct TranslationToy {
  explicit TranslationToy(const Config& with) : config(with) {
    model.initialize_parameters(static_cast<std::uint64_t>(config.train.seed));
  }

  Config config;
  ResolvedConfig resolved = resolve(config);
  TranslationObjective objective{resolved, prepare_translation_data(resolved)};
  const TranslationData& data = objective.data();
  const SequenceToSequence& model = objective.model();
  ParameterSlab slab{model};
  std::unique_ptr<Optimizer> owned_optimizer = make_optimizer(resolved, slab);
  Optimizer& optimizer = *owned_optimizer;

  StepResult step(std::int64_t number) {
    return train_step(objective, slab, optimizer, resolved, number, learning_rate(schedule_spec(resolved), number));
  }
};

}  // namespace tapeformer
