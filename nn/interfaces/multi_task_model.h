// A model that several tasks train: one trunk, and a classifier for each task with labels.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/interfaces/encoder_for_classification.h"

namespace tapeformer {

// The parameters of the trunk, which is a family's model with its heads, come first and keep their names; the names of
// the classifier of the task NAME begin with "task.NAME.".
class MultiTaskModel : public Module {
 public:
  explicit MultiTaskModel(std::shared_ptr<Model> trunk) : trunk_(std::move(trunk)) { register_module("", *trunk_); }

  // Adds the classifier of a task, which reads the trunk.
  void add(const std::string& task, std::shared_ptr<const EncoderForClassification> model) {
    register_module("task." + task, model->classifier());
    tasks_.push_back(std::move(model));
  }
  const std::shared_ptr<Model>& trunk() const { return trunk_; }

 private:
  const std::shared_ptr<Model> trunk_;
  std::vector<std::shared_ptr<const EncoderForClassification>> tasks_;
};

}  // namespace tapeformer
