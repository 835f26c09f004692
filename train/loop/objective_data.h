// The training data of an objective, whose model does not exist yet when the data is read.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "nn/models/registry.h"
#include "nn/optim/parameter_slab.h"
#include "train/config/config.h"

namespace tapeformer {

// The size and the cost of a training, for the command `info`.
struct TrainingShape {
  std::unique_ptr<Module> model;  // as the objective makes it
  ParameterRates rates = {};
  std::vector<ModelPart> parts = {};  // the parts that the task adds to the family's model
  double block_size = 0;              // mean number of tokens in a row
  std::int64_t rows = 1;              // how many rows the model reads for each that train.batch counts
  // Returns the floating-point operations of a training step for each token that the model reads, given those of the
  // forward pass of the family's model.
  std::function<double(const ForwardFlops&)> flops;
};

// Returns the operations of a training step, given those of its forward pass: backward takes twice as many, or as many
// if the weights are frozen beside adapters (whose own few products are not counted), and recomputing repeats the
// forward pass of all blocks except the last.
double training_flops(const ForwardFlops& forward, const Config::Train& train);

struct ObjectiveData {
  virtual ~ObjectiveData() = default;
  // Returns the vocabulary of a model that is trained on this data.
  virtual ModelVocabulary vocabulary(const ResolvedConfig& config) const = 0;
  // Makes the model to see its size. While a ShapesOnly object lives, the parameters get no memory.
  virtual TrainingShape shape(const ResolvedConfig& config) const;
  // Returns the smallest train.batch_tokens with which the whole data can be read; 1 if that key does not limit it.
  virtual std::int64_t least_batch_tokens() const { return 1; }
};

// The data of some tasks, wrapped as ObjectiveData; take_data() unwraps it.
template <class Data>
struct ObjectiveDataOf : ObjectiveData {
  explicit ObjectiveDataOf(Data data) : data(std::move(data)) {}
  Data data;
};

// Unwraps, in TaskRow::make, what the same row's prepare() or dummy() has returned.
template <class Data>
Data take_data(std::unique_ptr<ObjectiveData> data) {
  return std::move(static_cast<ObjectiveDataOf<Data>&>(*data).data);
}

// Implements TaskRow::make for an objective that is made from a configuration and data of this type.
template <class ObjectiveOfTask, class Data>
std::unique_ptr<Objective> make_from(const ResolvedConfig& config, std::unique_ptr<ObjectiveData> data) {
  return std::make_unique<ObjectiveOfTask>(config, take_data<Data>(std::move(data)));
}

}  // namespace tapeformer
