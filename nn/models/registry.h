// The table of model families. A family consists of a file with its model, and a row in this table with all that
// training and the commands need to know of it. Other code names a family only as a default (train/), in plans
// (--minutes), and where models of other programs are read and written (tasks/interchange/).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/keys.h"
#include "nn/interfaces/causal_model.h"
#include "nn/interfaces/encoder_decoder.h"
#include "nn/optim/schedule.h"

namespace tapeformer {

// The vocabulary that a model is made for.
struct ModelVocabulary {
  std::int64_t source = 0, target = 0;  // sizes; for a language model both are the size of its vocabulary
  bool joint = true;                    // whether source and target have the same vocabulary
  std::int32_t document_token = -1;     // Model::document_token()
};

// Functions that make a model. Their types distinguish models by how data flow through them: causal models,
// encoder-decoders, and other models, such as an encoder whose tokens see both sides.
using CausalModelMaker = std::function<std::unique_ptr<CausalModel>(const KeyValues&, const ModelVocabulary&)>;
using EncoderDecoderMaker = std::function<std::unique_ptr<EncoderDecoder>(const KeyValues&, const ModelVocabulary&)>;
using ModelMaker = std::function<std::unique_ptr<Model>(const KeyValues&, const ModelVocabulary&)>;

// Makes an encoder-decoder whose sources are images (SourceBatch::images). The key model.image_size is the width and
// height of the images.
struct ImageDecoderMaker {
  std::function<std::unique_ptr<EncoderDecoder>(const KeyValues&, const ModelVocabulary&)> make;
  std::unique_ptr<EncoderDecoder> operator()(const KeyValues& options, const ModelVocabulary& vocabulary) const {
    return make(options, vocabulary);
  }
};

// Makes a module that is none of these models, or that reads something other than text. Only the family's own task can
// use it.
struct OtherModelMaker {
  std::function<std::unique_ptr<Module>(const KeyValues&, const ModelVocabulary&)> make;
  std::unique_ptr<Module> operator()(const KeyValues& options, const ModelVocabulary& vocabulary) const {
    return make(options, vocabulary);
  }
};

// A part of a model whose parameters `info` counts: those whose names begin with one of the prefixes.
struct ModelPart {
  std::string key, label;  // the key in JSON; the text for people
  std::vector<std::string> prefixes;
  // Whether only pre-training needs the part. The published sizes of encoders do not include such parts, so `info` also
  // shows the count without them.
  bool only_pretraining = false;
};

// The floating-point operations of the forward pass for each target token.
struct ForwardFlops {
  double blocks = 0;       // of all blocks; train.recompute repeats all blocks but the last
  double other = 0;        // of all other parts
  double head = 0;         // the part of `other` that predicts tokens, which fine-tuning does not compute
  std::int64_t count = 1;  // number of blocks
};

// The defaults of keys outside [model], for training a model on its family's own task.
struct TrainingDefaults {
  double lr = 1e-3;                                    // optimizer.lr
  ScheduleKind schedule = ScheduleKind::inverse_sqrt;  // schedule.kind
  // Values of keys that only some optimizers have, such as beta2; each holds for all optimizers that have the key.
  std::vector<std::pair<std::string, KeyValue>> optimizer = {};
};
// Returns the defaults that language models have.
TrainingDefaults language_model_training();

struct ModelFamily {
  std::string name;  // model.type
  std::string help;  // one line
  std::string task;  // the task on which it is trained, a name in the table of tasks ("language_model")
  // The keys of the section [model], apart from type. Families that share a key give it the same type.
  std::vector<Key> keys;
  // Replaces values that depend on others (ff_dim 0 becomes 4·dim). Throws UsageError, which begins with "model.KEY: ",
  // if values contradict each other. A second call changes nothing. `joint`: source and target share a vocabulary.
  std::function<void(KeyValues& options, bool joint)> resolve;
  // Makes the model that resolved options describe.
  std::variant<CausalModelMaker, EncoderDecoderMaker, ModelMaker, ImageDecoderMaker, OtherModelMaker> make;
  // The parts in the order in which they are shown; every parameter belongs to one part. Heads that the task adds are
  // parts of the task (TaskHeads).
  std::vector<ModelPart> parts;
  // Counts the operations. `model` may have parameters without memory (ShapesOnly). Each token attends to up to
  // `length` tokens; with the length 0 (not known) attention is not counted.
  std::function<ForwardFlops(const KeyValues&, const Module& model, const ModelVocabulary&, std::int64_t length)> flops;

  TrainingDefaults training = {};
  // The default of train.bptt for a family of RecurrentModels; 0 for other families.
  std::int64_t bptt = 0;
  // Whether the model's attention can be restricted to documents (ModelVocabulary::document_token).
  bool keeps_documents = false;
  // Whether train.recompute has an effect on the model's blocks.
  bool recomputes = false;

  // Both call `make`. make_model() throws UsageError if `make` is an OtherModelMaker.
  std::unique_ptr<Model> make_model(const KeyValues& options, const ModelVocabulary& vocabulary) const;
  std::unique_ptr<Module> make_module(const KeyValues& options, const ModelVocabulary& vocabulary) const;
  bool is_causal() const { return std::holds_alternative<CausalModelMaker>(make); }
  // Whether the model reads one text (not a source and a target) and gives each of its tokens a vector.
  bool reads_text() const { return is_causal() || std::holds_alternative<ModelMaker>(make); }
  // Whether its sources are images.
  bool reads_images() const { return std::holds_alternative<ImageDecoderMaker>(make); }
  // Whether it reads a source of text and writes a target.
  bool is_encoder_decoder() const { return std::holds_alternative<EncoderDecoderMaker>(make); }
};

// Returns all families: first those of this library, then the registered ones.
const std::vector<ModelFamily>& model_families();
// Throws Error if a family of that name exists already.
void register_model_family(ModelFamily family);
// Throws UsageError for an unknown name.
const ModelFamily& find_model_family(std::string_view name);

}  // namespace tapeformer
