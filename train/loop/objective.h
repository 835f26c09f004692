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
  // The learning-rate factors of the parameters, for the optimizer's slab.
  virtual ParameterRates rates() const { return {}; }
  virtual RunTokenizers tokenizers() const = 0;
  // A hash of the training data, so that a resume can tell when it has changed.
  virtual std::uint64_t data_hash() const = 0;
  // A hash of the validation data; 0 where there is none.
  virtual std::uint64_t valid_hash() const { return 0; }
  // Lines that the user should read before the training starts: facts about the data, and warnings.
  virtual std::vector<std::string> description() const = 0;
  virtual std::vector<std::string> warnings() const { return {}; }

  // The number of targets that these micro-steps of a step score together.
  virtual std::int64_t scored_targets(std::int64_t step, MicroSteps micro_steps) = 0;
  // How many tokens these micro-steps count as: the number of their targets, where nearly every token is one.
  virtual std::int64_t step_tokens(std::int64_t step, MicroSteps micro_steps) {
    return scored_targets(step, micro_steps);
  }
  // The divisor of the mean over these micro-steps. Its number of targets may be 0, as nothing is divided by it then.
  MeanOver mean_over(std::int64_t step, MicroSteps micro_steps) {
    const std::int64_t targets = std::max<std::int64_t>(scored_targets(step, micro_steps), 1);
    return {micro_steps.size(), static_cast<double>(targets)};
  }
  // The contribution of one micro-step to the mean loss over the micro-steps of `mean`: its summed negative
  // log-likelihood divided by the number of all their targets, so that losses and gradients add up to those of the
  // mean. The value may be known only after backward. Undefined where the micro-step has nothing to score.
  virtual Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) = 0;

  // With label smoothing or a z-loss: the plain cross-entropy, summed over the micro-steps since the last call. It is
  // known after their backward passes.
  virtual std::optional<double> take_nll_loss() { return std::nullopt; }

  // The recurrent state that training carries from one step to the next beside the weights, for checkpoints: that of
  // all ranks. Empty before the first step.
  virtual NamedTensors recurrent_state() const { return {}; }
  // Restores the recurrent state of a checkpoint. Throws Error when it belongs to another batch size.
  virtual void load_recurrent_state(const NamedTensors&) {}
  // Keeps the recurrent state of this rank without copying it: calling the result restores it. The objective must still
  // exist then.
  virtual std::function<void()> hold_recurrent_state() {
    return [] {};
  }

  virtual bool can_evaluate() const = 0;
  // Why can_evaluate() is false.
  virtual std::string_view cannot_evaluate_because() const { return "no validation text"; }
  virtual Evaluation evaluate(const ProgressCallback& progress) = 0;
  // The number of tokens that evaluate() scores in the whole validation data, and the bytes of its text.
  virtual std::int64_t evaluation_tokens() const = 0;
  virtual std::int64_t evaluation_bytes() const = 0;
  // The share of unknown tokens among them. Above kMaxUnknownShare, bits per byte are not reported.
  virtual double unknown_share() const { return 0; }
  // Whether the loss is that of a text, so that it can be given in bits per byte.
  bool has_bits_per_byte() const { return task().has_perplexity && unknown_share() <= kMaxUnknownShare; }
  // BLEU of the model's own translations of the validation data; nullopt where the task is not translation.
  virtual std::optional<double> bleu() { return std::nullopt; }
  // The samples for train.sample_every; empty where the model generates no text. They do not influence the training.
  virtual std::vector<TextSample> samples() { return {}; }

 protected:
  const ResolvedConfig config_;

 private:
  Communicator* ranks_ = &Communicator::alone();
};

// Reads the data (TaskRow::prepare) and makes the model, its parameters not initialized yet.
std::unique_ptr<Objective> make_objective(const ResolvedConfig& config, const RunFolder* resumed = nullptr,
                                          const ProgressMaker& progress = {});

}  // namespace tapeformer
