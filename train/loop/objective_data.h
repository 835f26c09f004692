// The training data of any kind of objective: it is read before the model is made.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "nn/models/registry.h"
#include "nn/optim/parameter_slab.h"
#include "train/config/config.h"

namespace tapeformer {

// The model and the computation of a training, for the command `info`.
struct TrainingShape {
  std::unique_ptr<Module> model;  // as the objective makes it
  ParameterRates rates = {};
  std::vector<ModelPart> parts = {};  // the parts that the task adds to the family's model
  double block_size = 0;              // mean number of tokens in a row
  // Floating point operations of a training step for each token that the model reads, computed from those of the
  // family's forward pass.
  std::function<double(const ForwardFlops&)> flops;
};

// Backward takes twice the products of the forward pass. Recomputing repeats the forward of all blocks but the last.
double training_flops(const ForwardFlops& forward, bool recompute);

struct ObjectiveData {
  virtual ~ObjectiveData() = default;
  // The vocabulary of a model on this data.
  virtual ModelVocabulary vocabulary(const ResolvedConfig& config) const = 0;
  // Allocates no memory for parameters under ShapesOnly.
  virtual TrainingShape shape(const ResolvedConfig& config) const;
};

// The data of a kind of tasks, wrapped as ObjectiveData; data_of() takes it out again.
template <class Data>
struct ObjectiveDataOf : ObjectiveData {
  explicit ObjectiveDataOf(Data data) : data(std::move(data)) {}
  Data data;
};

// Takes the data for TaskRow::make out of what the row's own prepare() or dummy() gave.
template <class Data>
Data take_data(std::unique_ptr<ObjectiveData> data) {
  return std::move(static_cast<ObjectiveDataOf<Data>&>(*data).data);
}

}  // namespace tapeformer
