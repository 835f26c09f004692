// What a configuration asks to train, made ready: the data, the model and the objective over both.
#pragma once

#include <memory>

#include "train/config/config.h"
#include "train/objectives/language_data.h"
#include "train/objectives/objective.h"
#include "train/run/run_folder.h"

namespace tapeformer {

class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  virtual const Module& model() const = 0;
  virtual Objective& objective() = 0;
  virtual RunTokenizers tokenizers() const = 0;
  // Of the training text, so that a resume can tell when it has changed.
  virtual std::uint64_t data_hash() const = 0;
  // What a user should know before the training starts, a line each; and what is wrong with the data.
  virtual std::vector<std::string> description() const = 0;
  virtual std::vector<std::string> warnings() const { return {}; }
};

// Reads the data and makes the model, its parameters not set yet. The tokenizers are those of the run that is resumed;
// without one, those that the configuration names, or learned ones. Keeps a reference to the configuration, which is
// resolved. What takes long with a language model's text shows its progress.
std::unique_ptr<TrainingTask> make_training_task(const Config& config, const RunFolder* resumed = nullptr,
                                                 const ProgressMaker& progress = {});

}  // namespace tapeformer
