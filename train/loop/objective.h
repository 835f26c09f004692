// What a run trains: a model, its data, and the loss over both. The trainer knows no more of them.
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

// Where an objective that smooths labels gathers the loss of the plain ones.
class NllLoss {
 public:
  // `wanted`: labels are smoothed, or there is a z-loss.
  explicit NllLoss(bool wanted) : wanted_(wanted) {}
  // As CrossEntropyOptions::unsmoothed takes it.
  double* place() { return wanted_ ? &sum_ : nullptr; }
  std::optional<double> take() { return wanted_ ? std::optional(std::exchange(sum_, 0)) : std::nullopt; }

 private:
  bool wanted_;
  double sum_ = 0;
};

// A text that a model has made: the continuation of a prompt, or the translation of a source, whose own translation is
// the reference then.
struct TextSample {
  std::string input, output, reference = {};
};

// The tape of a micro-step of training.
TapeOptions training_tape(const ResolvedConfig& config, std::int64_t step, std::int64_t micro_step);

// Micro-steps of one step: those that a rank does, or all.
using MicroSteps = Communicator::Share;

// What the loss of a step is the mean of: so many micro-steps, and the targets that they score together.
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

  // The ranks that share the micro-steps of every step, and the evaluations. Alone, unless share_with() was called.
  Communicator& ranks() const { return *ranks_; }
  void share_with(Communicator& ranks) { ranks_ = &ranks; }

  virtual const Module& model() const = 0;
  // The part of the model that train.init_from sets; the rest begins at random.
  virtual const Module& initial_part() const { return model(); }
  // How fast the parameters learn: what the slab of the optimizer is made with.
  virtual ParameterRates rates() const { return {}; }
  virtual DataFacts facts() const = 0;

  // What these micro-steps of a step score together.
  virtual StepSize step_size(std::int64_t step, MicroSteps micro_steps) = 0;
  // The mean over these micro-steps. Their number of targets may be 0, as nothing is divided by it then.
  MeanOver mean_over(std::int64_t step, MicroSteps micro_steps) {
    const std::int64_t targets = std::max<std::int64_t>(step_size(step, micro_steps).targets, 1);
    return {micro_steps.size(), static_cast<double>(targets)};
  }
  // The part that one micro-step has in the mean loss over micro-steps that it is one of: its summed negative
  // log-likelihood divided by their targets, so that the losses and gradients of all add up to those of the mean. Its
  // value may be known only after backward. Undefined where the micro-step has nothing to score.
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
  // What train.sample_every asks for; nothing where the model makes no text. Training goes on as without it.
  virtual std::vector<TextSample> samples() { return {}; }

 protected:
  const ResolvedConfig config_;
  NllLoss nll_{config_.train.label_smoothing > 0 || config_.train.z_loss > 0};

 private:
  Communicator* ranks_ = &Communicator::alone();
};

// Reads the data (TaskRow::prepare) and makes the model, its parameters not set yet.
std::unique_ptr<Objective> make_objective(const ResolvedConfig& config, const RunFolder* resumed = nullptr,
                                          const ProgressMaker& progress = {});

}  // namespace tapeformer
