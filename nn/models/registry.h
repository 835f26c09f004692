// The table of model families. A family is one file with its model and one row here; nothing else names it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/keys.h"
#include "nn/interfaces/language_model.h"
#include "nn/interfaces/sequence_to_sequence.h"
#include "nn/interfaces/skip_gram_model.h"
#include "nn/interfaces/text_encoder.h"

namespace tapeformer {

// What a model must know of its tokens.
struct ModelVocabulary {
  std::int64_t source = 0, target = 0;  // sizes; of a language model both are the text's
  bool joint = true;                    // source and target have the same vocabulary
  std::int32_t document_token = -1;     // LanguageModel::document_token()
};

using LanguageModelMaker = std::function<std::unique_ptr<LanguageModel>(const KeyValues&, const ModelVocabulary&)>;
using SequenceToSequenceMaker =
    std::function<std::unique_ptr<SequenceToSequence>(const KeyValues&, const ModelVocabulary&)>;
using BidirectionalLanguageModelMaker =
    std::function<std::unique_ptr<BidirectionalLanguageModel>(const KeyValues&, const ModelVocabulary&)>;
using MaskedLanguageModelMaker =
    std::function<std::unique_ptr<MaskedLanguageModel>(const KeyValues&, const ModelVocabulary&)>;
using SkipGramModelMaker = std::function<std::unique_ptr<SkipGramModel>(const KeyValues&, const ModelVocabulary&)>;

// A model of no kind that this library knows: its task alone calls it.
struct OtherModelMaker {
  std::function<std::unique_ptr<Module>(const KeyValues&, const ModelVocabulary&)> make;
  std::unique_ptr<Module> operator()(const KeyValues& options, const ModelVocabulary& vocabulary) const {
    return make(options, vocabulary);
  }
};

// A part of a model, for the count of its parameters: those whose names begin with one of the prefixes.
struct ModelPart {
  std::string key, label;  // the key of the JSON object; what people read
  std::vector<std::string> prefixes;
  // The part serves pre-training alone. The published sizes of encoders leave it out, so `info` shows that count too.
  bool only_pretraining = false;
};

// Floating point operations of the forward pass, for each target token.
struct ForwardFlops {
  double blocks = 0;       // of all blocks; train.recompute repeats all but the last
  double other = 0;        // of everything else
  double head = 0;         // the part of `other` that predicts tokens: fine-tuning does without
  std::int64_t count = 1;  // blocks
};

struct ModelFamily {
  std::string name;  // model.type
  std::string help;  // one line
  std::string task;  // what it is trained for: a name in the table of tasks ("language_model")
  // The keys of the section [model], apart from type. Families that share a key give it the same type.
  std::vector<Key> keys;
  // Works out the values that stand for others (ff_dim 0: 4·dim), and throws UsageError, beginning with "model.KEY: ",
  // for values that do not go together. Resolving twice changes nothing. `joint`: source and target share a vocabulary.
  std::function<void(KeyValues& options, bool joint)> resolve;
  // Makes the model of resolved options.
  std::variant<LanguageModelMaker, SequenceToSequenceMaker, BidirectionalLanguageModelMaker, MaskedLanguageModelMaker,
               SkipGramModelMaker, OtherModelMaker>
      make;
  // In the order in which they are shown; every parameter belongs to one.
  std::vector<ModelPart> parts;
  // `model` may have parameters without memory (ShapesOnly). Each token looks at up to `length` tokens; 0 where the
  // length is not known: then attention is left out.
  std::function<ForwardFlops(const KeyValues&, const Module& model, const ModelVocabulary&, std::int64_t length)> flops;

  // The parameter (vocab, width) with the tokens' own vectors; of an encoder-decoder, with those of the source's.
  std::string token_embedding = "token_embedding.weight";
  // The default of train.bptt for a family of RecurrentLanguageModels; the other families have 0.
  std::int64_t bptt = 0;
  // Whether the model can be kept within documents (ModelVocabulary::document_token).
  bool keeps_documents = false;
  // Whether the model has blocks whose activations train.recompute computes again.
  bool recomputes = false;

  // Calls `make`.
  std::unique_ptr<Module> make_model(const KeyValues& options, const ModelVocabulary& vocabulary) const;
  bool is_causal() const { return std::holds_alternative<LanguageModelMaker>(make); }
  // Whether the model gives each token of a text a vector: all but those whose input is something else.
  bool reads_text() const { return !is_encoder_decoder() && !std::holds_alternative<OtherModelMaker>(make); }
  bool is_encoder_decoder() const { return std::holds_alternative<SequenceToSequenceMaker>(make); }
};

// All families, those of this library first.
const std::vector<ModelFamily>& model_families();
// Throws Error when a family of that name is there already.
void register_model_family(ModelFamily family);
// Throws UsageError for an unknown name.
const ModelFamily& find_model_family(std::string_view name);

}  // namespace tapeformer
