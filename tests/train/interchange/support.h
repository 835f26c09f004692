// What the tests of published models share.
#pragma once

#include <nlohmann/json.hpp>

#include "autograd/tape/tape.h"
#include "tasks/interchange/published_model.h"
#include "tasks/masked_language_model/masked_language_model.h"
#include "tests/largest_difference.h"
#include "tests/train/toy.h"

namespace tapeformer {

// The folder of models that transformers has written.
inline const std::filesystem::path kGolden = std::filesystem::path(TEST_DATA) / "interchange" / "golden";

inline const PublishedFormat& huggingface() { return published_formats().front(); }

inline double largest_difference(const Tensor& a, const Tensor& b) {
  return ::largest_difference(a.to_vector<float>(), b.to_vector<float>());
}

// The outputs of a model: logits, and next_sentence if it has them.
inline std::map<std::string, Tensor> outputs_of(const Model& model, const std::map<std::string, Tensor>& inputs) {
  Tape tape(no_grad);
  const Variable ids = Variable::constant(tape, inputs.at("ids"));
  if (const auto* causal = dynamic_cast<const CausalModel*>(&model))
    return {{"logits", causal->logits(causal->forward(ids)).value()}};
  const auto& masked = dynamic_cast<const MaskedLanguageModel&>(model);
  Batch batch{.input_ids = ids};
  if (inputs.contains("segments")) batch.token_type_ids = inputs.at("segments");
  const Variable features = masked.features(batch);
  std::map<std::string, Tensor> outputs{{"logits", masked.logits(features).value()}};
  if (masked.predicts_next_sentence()) outputs["next_sentence"] = masked.next_sentence_logits(features).value();
  return outputs;
}

// The values of a run's weights, whatever the formats in which it has them.
inline std::map<std::string, std::vector<float>> values_of(const RunFolder& run) {
  std::map<std::string, std::vector<float>> values;
  for (const auto& [name, tensor] : read_safetensors(checkpoint_weights(run.checkpoint(0)))) {
    values[name] = tensor.to(DType::f32).to_vector<float>();
  }
  return values;
}

// The message of the error that the call throws; "none" without one.
template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

}  // namespace tapeformer
