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
  config.model.layers = 1;
  config.model.heads = 2;
  config.model.dim = 16;
  config.model.context = 16;
  config.tokenizer.kind = "char";
  config.data.corpus = "reverse";
  config.data.lines = 40;
  config.schedule.warmup = 2;
  config.train.steps = 6;
  config.train.batch = 8;
  config.eval.bleu_every = 0;
  return resolve(config);
}

// Everything that trains, made from a configuration.
struct TranslationToy {
  explicit TranslationToy(const Config& with) : config(with) {
    model.initialize_parameters(static_cast<std::uint64_t>(config.train.seed));
  }

  Config config;
  TranslationObjective objective{config, prepare_translation_data(config)};
  const TranslationData& data = objective.data();
  const SequenceToSequence& model = objective.model();
  ParameterSlab slab{model};
  std::unique_ptr<Optimizer> owned_optimizer = make_optimizer(config, slab);
  Optimizer& optimizer = *owned_optimizer;

  StepResult step(std::int64_t number) { return train_step(objective, slab, optimizer, config, number); }
};

}  // namespace tapeformer
