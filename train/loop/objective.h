// What a run trains: a model, its data, and the loss. The trainer sees only this interface.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "autograd/ops/losses/losses.h"
#include "autograd/tape/tape.h"
#include "data/text/encode_text.h"
#include "data/text/text_reader.h"
#include "nn/optim/parameter_slab.h"
#include "train/config/config.h"
#include "train/config/task_row.h"
#include "train/loop/evaluation.h"
#include "train/run/run_folder.h"

namespace tapeformer {

// Sums the plain cross-entropy of micro-steps (negative log-likelihood), if the loss that is minimised is another one:
// with label smoothing, a z-loss, a penalty that the model adds, or weights of labels.
class NllLoss {
 public:
  // `wanted`: whether it is another one. If not, nothing is summed.
  explicit NllLoss(bool wanted) : wanted_(wanted) {}
  // Returns CrossEntropyOptions::nll for a micro-step: where backward adds the plain cross-entropy; null if it is not
  // wanted.
  double* accumulator() { return wanted_ ? &sum_ : nullptr; }
  // Returns the sum since the last call; nullopt if it is not wanted.
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

// Returns the options of the tape of a training micro-step.
TapeOptions training_tape(const ResolvedConfig& config, std::int64_t step, std::int64_t micro_step);

// A range [begin, end) of the micro-steps of one step: those of one rank, or all.
using MicroSteps = Communicator::Share;

// What the loss is the mean over: a number of micro-steps, and the number of targets that they have together.
struct MeanOver {
  std::int64_t micro_steps;
  double targets;
  // The number by which the mean is multiplied. Only the objectives of tasks that share a model get another one than 1.
  double weight = 1;
  // Returns the number by which the sum over the targets is divided.
  double normalizer() const { return targets / weight; }
};

// The size of some micro-steps: the number of targets that their loss scores, and the number of tokens that progress
// and metrics report. These are the targets if nearly every token is a target, else all tokens that the model reads.
struct StepSize {
  std::int64_t targets = 0, tokens = 0;
  std::string task = {};  // the name of the task that the step trains, if the model has several tasks
};

// What an objective knows about its data: what the run's folder stores of it, and lines for the user.
struct DataFacts {
  RunTokenizers tokenizers = {};
  std::uint64_t data_hash = 0;   // of the training data, so that a resume can tell when it has changed
  std::uint64_t valid_hash = 0;  // of the validation data; 0 if there is none
  std::int64_t tokens = 0;       // of one pass over the training data, as StepSize counts them; 0: not known
  // Lines about what is trained on, and lines about what is wrong with the data.
  std::vector<std::string> description = {}, warnings = {};
};

// What an objective knows about its validation data.
struct ValidationFacts {
  std::string missing = {};            // why nothing can be evaluated; empty: it can
  std::int64_t tokens = 0, bytes = 0;  // of all validation data: the tokens that evaluate() scores, the bytes of text
  double unknown_share = 0;  // the share of unknown tokens; above kMaxUnknownShare bits per byte are not given
  std::int64_t read = 0;     // the tokens that evaluate() reads, as StepSize counts them; 0: as many as `tokens`
};

// The training state that a recurrent model has in addition to its weights: the recurrent state with which each row of
// the next step begins.
class RecurrentTraining {
 public:
  virtual ~RecurrentTraining() = default;
  // Returns the recurrent states of all ranks, for checkpoints. Empty before the first step.
  virtual NamedTensors state() const = 0;
  // Continues with the state of a checkpoint. Throws Error if the state has another batch size.
  virtual void load(const NamedTensors& state) = 0;
  // Returns a function that restores the state that this rank has now. The state is not copied. The object must live as
  // long as the function.
  virtual std::function<void()> hold() = 0;
};

class Objective {
 public:
  explicit Objective(const ResolvedConfig& config) : config_(config) {}
  virtual ~Objective() = default;

  const TaskRow& task() const { return config_.task_row(); }

  // The ranks that share the micro-steps of every step, and the evaluations. It is one rank unless share_with() was
  // called.
  Communicator& ranks() const { return *ranks_; }
  // Throws UsageError for several ranks if the model has buffers.
  void share_with(Communicator& ranks);

  virtual const Module& model() const = 0;
  // The part of the model that train.init_from sets; the other parameters are initialized at random.
  virtual const Module& initial_part() const { return model(); }
  // Returns the learning-rate factors of the parameters, for the optimizer's slab: the factors of their layers, times
  // optimizer.embedding_lr or optimizer.head_lr.
  ParameterRates rates() const;
  // Returns the number of parameters as text, and of those that learn if some do not: "840 parameters, of which 64
  // learn".
  std::string parameters_text() const;
  virtual DataFacts facts() const = 0;

  // Returns the size of these micro-steps of a step.
  virtual StepSize step_size(std::int64_t step, MicroSteps micro_steps) = 0;
  // Returns the divisor of the mean over these micro-steps. Without any targets there is no loss to divide, and the
  // divisor is 1 rather than 0.
  MeanOver mean_over(std::int64_t step, MicroSteps micro_steps) {
    const std::int64_t targets = std::max<std::int64_t>(step_size(step, micro_steps).targets, 1);
    return {micro_steps.size(), static_cast<double>(targets)};
  }
  // Returns the contribution of one micro-step to the mean loss over the micro-steps of `mean`: its summed negative
  // log-likelihood divided by mean.normalizer(), so that the losses and gradients of all micro-steps add up to those of
  // the mean. The value may be known only after backward. Undefined if the micro-step has no targets.
  virtual Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) = 0;
  // Returns the plain cross-entropy, summed over the micro-steps since the last call, after their backward passes;
  // nullopt if the loss has no other terms (NllLoss), since it is the plain cross-entropy then.
  std::optional<double> take_nll_loss();
  // Null if training has no state other than the weights.
  virtual RecurrentTraining* recurrent() { return nullptr; }
  // Call state() and load() of recurrent(). If recurrent() is null, the state is empty, and loading another one throws
  // Error.
  NamedTensors recurrent_state() { return recurrent() ? recurrent()->state() : NamedTensors(); }
  void load_recurrent_state(const NamedTensors& state);
  // Returns a function that restores what a step changes apart from the parameters: the recurrent state and the model's
  // buffers.
  std::function<void()> hold_state();

  virtual ValidationFacts validation() const = 0;
  bool can_evaluate() const { return validation().missing.empty(); }
  virtual Evaluation evaluate(const ProgressCallback& progress) = 0;
  // Estimates how many steps take as long as an evaluation: a forward takes about a third of a step's time.
  double evaluation_in_steps();
  // Whether the loss is the negative log-likelihood of a text, so that it can be given in bits per byte.
  bool has_bits_per_byte() const { return task().has_perplexity && validation().unknown_share <= kMaxUnknownShare; }
  // Returns the BLEU of the model's translations of the validation data; nullopt if the task has no BLEU.
  virtual std::optional<double> bleu() { return std::nullopt; }
  // Returns what simple models reach on the data that evaluate() scores, in about `seconds` seconds of work, which may
  // suffice for only a part of the training data; nullopt if the task has nothing to compare.
  virtual std::optional<Baselines> baselines(double seconds, const ProgressCallback& progress);
  // Returns the samples for train.sample_every; empty if the model generates no text. They do not influence the
  // training. If `go_on` is set, an objective may call it after each token, and ends the text when it returns false.
  virtual std::vector<TextSample> samples(const std::function<bool()>& go_on);

 protected:
  // For an objective that trains several tasks: adds the objective of one of them, to which some of this objective's
  // micro-steps are passed on.
  void add_part(std::shared_ptr<Objective> part) { parts_.push_back(std::move(part)); }
  // Says that a micro-step is passed on to this part. All micro-steps of a step go to the same one.
  void pass_on_to(std::size_t part) { part_ = part; }

  // Returns the options of the cross-entropy of a micro-step, whose sum is divided by `normalizer`. Its value may be
  // known only after backward (CrossEntropyOptions::deferred).
  CrossEntropyOptions loss_options(double normalizer) {
    return {.smoothing = config_.train.label_smoothing,
            .z_loss = config_.train.z_loss,
            .normalizer = normalizer,
            .deferred = true,
            .nll = nll_.accumulator()};
  }

  const ResolvedConfig config_;
  NllLoss nll_{config_.train.label_smoothing > 0 || config_.train.z_loss > 0};

 private:
  // Returns the factors that depend on the layer (task.layer_decay); 0 for a parameter that is not trained.
  virtual ParameterRates layer_rates() const { return {}; }

  Communicator* ranks_ = &Communicator::alone();
  std::vector<std::shared_ptr<Objective>> parts_;
  std::size_t part_ = 0;  // the part to which the last micro-step was passed on
};

// Reads the data (TaskRow::prepare) and makes the model, its parameters not initialized yet.
std::unique_ptr<Objective> make_objective(const ResolvedConfig& config, const RunFolder* resumed = nullptr,
                                          const ProgressMaker& progress = {});

}  // namespace tapeformer
