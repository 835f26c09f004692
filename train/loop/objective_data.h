// What an objective learns from, whatever its kind: read before its model is made.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "nn/models/registry.h"
#include "nn/optim/parameter_slab.h"
#include "train/config/config.h"

namespace tapeformer {

// What a training computes, for `info`.
struct TrainingShape {
  std::unique_ptr<Module> model;  // as the objective makes it
  ParameterRates rates = {};
  std::vector<ModelPart> parts = {};  // those that the model has beside its family's
  double block_size = 0;              // tokens of a row, in the mean
  // Floating point operations of a training step for each token that the model reads, from those of its family's
  // forward pass.
  std::function<double(const ForwardFlops&)> flops;
};

// Backward does the products of the forward pass twice. Recomputing does the forward of all blocks but the last again.
double training_flops(const ForwardFlops& forward, bool recompute);

struct ObjectiveData {
  virtual ~ObjectiveData() = default;
  // The vocabulary that a model on this data has.
  virtual ModelVocabulary vocabulary(const ResolvedConfig& config) const = 0;
  // Costs no memory for parameters under ShapesOnly.
  virtual TrainingShape shape(const ResolvedConfig& config) const;
};

// The data of a kind of tasks, found again by data_of().
template <class Data>
struct ObjectiveDataOf : ObjectiveData {
  explicit ObjectiveDataOf(Data data) : data(std::move(data)) {}
  Data data;
};

// The data of a TaskRow::make, which gets what the row's own prepare() or dummy() gave.
template <class Data>
Data take_data(std::unique_ptr<ObjectiveData> data) {
  return std::move(static_cast<ObjectiveDataOf<Data>&>(*data).data);
}

}  // namespace tapeformer
