// Models with the heads of their tasks, made from a model's configuration, and losses of theirs.
#pragma once

#include "nn/models/bert.h"
#include "nn/models/bilm.h"
#include "nn/models/shared/recurrent_keys.h"
#include "nn/models/word2vec.h"
#include "tasks/bidirectional_language_model/bidirectional_language_model.h"
#include "tasks/glove/glove_model.h"
#include "tasks/masked_language_model/masked_language_model.h"
#include "tasks/skip_gram/skip_gram_model.h"
#include "tests/nn/support.h"

namespace tapeformer {

struct MaskedBert : MaskedLanguageModel {
  explicit MaskedBert(const BertConfig& config, bool next_sentence = true, bool tied = true)
      : MaskedLanguageModel(std::make_unique<Bert>(config), config.block, next_sentence, 0, tied) {}
};

struct BidirectionalBilm : BidirectionalLanguageModel {
  explicit BidirectionalBilm(const BilmConfig& config, bool tied = false)
      : BidirectionalLanguageModel(std::make_unique<Bilm>(config),
                                   {.dim = config.stack.dim, .tie_embeddings = tied, .init = head_init(config.stack)}) {
  }
};

struct SkipGramWord2vec : SkipGramModel {
  explicit SkipGramWord2vec(const Word2vecConfig& config) : SkipGramModel(std::make_unique<Word2vec>(config)) {}
};

struct GloveWord2vec : GloveModel {
  explicit GloveWord2vec(const Word2vecConfig& config) : GloveModel(std::make_unique<Word2vec>(config)) {}
};

inline double loss_of(const BidirectionalLanguageModel& model, const Tensor& ids, const Tensor& lengths,
                      const CrossEntropyOptions& options = {}) {
  Tape tape(no_grad);
  return model.loss({Variable::constant(tape, ids), lengths}, options).value().item();
}

// Adds the loss's gradients to the model's; returns the loss.
inline double add_gradients(const BidirectionalLanguageModel& model, const Tensor& ids, const Tensor& lengths,
                            const CrossEntropyOptions& loss_options = {}, const TapeOptions& tape_options = {}) {
  Tape tape(tape_options);
  const Variable loss = model.loss({Variable::constant(tape, ids), lengths}, loss_options);
  tape.backward(loss);
  return loss.value().item();
}

}  // namespace tapeformer
