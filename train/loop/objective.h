// What a run trains: a model, its data, and the loss. The trainer sees only this interface.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "autograd/tape/tape.h"
#include "data/text/encode_text.h"
#include "data/text/text_reader.h"
#include "nn/optim/parameter_slab.h"
#include "train/config/config.h"
#include "train/config/task_row.h"
#include "train/loop/evaluation.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// Accumulates the loss without label smoothing and z-loss, for objectives that have one of these.
class NllLoss {
 public:
  // `wanted`: whether there is label smoothing or a z-loss.
  explicit NllLoss(bool wanted) : wanted_(wanted) {}
  // A pointer for CrossEntropyOptions::unsmoothed.
  double* place() { return wanted_ ? &sum_ : nullptr; }
  std::optional<double> take() { return wanted_ ? std::optional(std::exchange(sum_, 0)) : std::nullopt; }

 private:
  bool wanted_;
  double sum_ = 0;
};

// A text that a model has generated: the continuation of a prompt, or the translation of a source; the reference is
// then the source's given translation.
struct TextSample {
  std::string input, output, reference = {};
};

// The options of the tape of a training micro-step.
TapeOptions training_tape(const ResolvedConfig& config, std::int64_t step, std::int64_t micro_step);

// A range of micro-steps of one step: those of one rank, or all.
using MicroSteps = Communicator::Share;

// The divisor of the mean loss: a number of micro-steps, and the number of targets that they score together.
struct MeanOver {
  std::int64_t micro_steps;
  double targets;
};

// What the targets of some micro-steps are, and the tokens that they count as: their targets, where nearly every token
// is one.
struct StepSize {
  std::int64_t targets = 0, tokens = 0;
};

// What a run's folder keeps of the data, and what a user should know of it.
struct DataFacts {
  RunTokenizers tokenizers = {};
  std::uint64_t data_hash = 0;   // of the training data, so that a resume can tell when it has changed
  std::uint64_t valid_hash = 0;  // of the validation data; 0 where there is none
  // What is trained, a line each, and what is wrong with the data.
  std::vector<std::string> description = {}, warnings = {};
};

struct ValidationFacts {
  std::string missing = {};            // why nothing can be evaluated; empty: it can
  std::int64_t tokens = 0, bytes = 0;  // what evaluate() scores of the whole validation data; the bytes of its text
  double unknown_share = 0;            // of the tokens; above kMaxUnknownShare bits per byte are withheld
};

// The state that a recurrent model hands from one step to the next.
class RecurrentTraining {
 public:
  virtual ~RecurrentTraining() = default;
  // The states of all ranks, for checkpoints. Nothing before the first step.
  virtual NamedTensors state() const = 0;
  // Goes on with the state of a checkpoint. Throws Error when it is of another batch.
  virtual void load(const NamedTensors& state) = 0;
  // Holds this rank's state of now, without a copy: calling the result goes back to it. The object must live.
  virtual std::function<void()> hold() = 0;
};

class Objective {
 public:
  explicit Objective(const ResolvedConfig& config) : config_(config) {}
  virtual ~Objective() = default;

  const TaskRow& task() const { return config_.task_row(); }

  // The ranks that share the micro-steps of every step, and the evaluations; one rank, unless share_with() was called.
  Communicator& ranks() const { return *ranks_; }
  void share_with(Communicator& ranks) { ranks_ = &ranks; }

  virtual const Module& model() const = 0;
  // The part of the model that train.init_from sets; the other parameters are initialized at random.
  virtual const Module& initial_part() const { return model(); }
  // The learning-rate factors of the parameters, for the optimizer's slab: those of their layers, times
  // optimizer.embedding_lr or optimizer.head_lr.
  ParameterRates rates() const;
  virtual DataFacts facts() const = 0;

  // What these micro-steps of a step score together.
  virtual StepSize step_size(std::int64_t step, MicroSteps micro_steps) = 0;
  // The mean over these micro-steps. Their number of targets may be 0, as nothing is divided by it then.
  MeanOver mean_over(std::int64_t step, MicroSteps micro_steps) {
    const std::int64_t targets = std::max<std::int64_t>(step_size(step, micro_steps).targets, 1);
    return {micro_steps.size(), static_cast<double>(targets)};
  }
  // The contribution of one micro-step to the mean loss over the micro-steps of `mean`: its summed negative
  // log-likelihood divided by the number of all their targets, so that losses and gradients add up to those of the
  // mean. The value may be known only after backward. Undefined where the micro-step has nothing to score.
  virtual Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) = 0;
  // Where labels are smoothed or there is a z-loss: the plain cross-entropy, summed over the micro-steps since the last
  // call. Known when their backward has passed.
  std::optional<double> take_nll_loss() { return nll_.take(); }
  // Null where training has no state beside the weights.
  virtual RecurrentTraining* recurrent() { return nullptr; }
  // recurrent()'s, where there is one.
  NamedTensors recurrent_state() { return recurrent() ? recurrent()->state() : NamedTensors(); }
  void load_recurrent_state(const NamedTensors& state);
  std::function<void()> hold_recurrent_state();

  virtual ValidationFacts validation() const = 0;
  bool can_evaluate() const { return validation().missing.empty(); }
  virtual Evaluation evaluate(const ProgressCallback& progress) = 0;
  // Whether the loss is that of the text, so that it can be given in bits per byte.
  bool has_bits_per_byte() const { return task().has_perplexity && validation().unknown_share <= kMaxUnknownShare; }
  // BLEU of the model's own output for the validation data; nothing where that is no translation.
  virtual std::optional<double> bleu() { return std::nullopt; }
  // The samples for train.sample_every; empty where the model generates no text. They do not influence the training.
  virtual std::vector<TextSample> samples() { return {}; }

 protected:
  const ResolvedConfig config_;
  NllLoss nll_{config_.train.label_smoothing > 0 || config_.train.z_loss > 0};

 private:
  // The factors that depend on the layer (task.layer_decay); 0 for a parameter that is not trained.
  virtual ParameterRates layer_rates() const { return {}; }

  Communicator* ranks_ = &Communicator::alone();
};

// Reads the data (TaskRow::prepare) and makes the model, its parameters not initialized yet.
std::unique_ptr<Objective> make_objective(const ResolvedConfig& config, const RunFolder* resumed = nullptr,
                                          const ProgressMaker& progress = {});

}  // namespace tapeformer
