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
  virtual RunTokenizers tokenizers() const = 0;
  // A hash of the training data, so that a resume can tell when it has changed.
  virtual std::uint64_t data_hash() const = 0;
  // The same of the validation data; 0 where there is none.
  virtual std::uint64_t valid_hash() const { return 0; }
  // What a user should know before the training starts, a line each; and what is wrong with the data.
  virtual std::vector<std::string> description() const = 0;
  virtual std::vector<std::string> warnings() const { return {}; }

  // The targets that these micro-steps of a step score together.
  virtual std::int64_t scored_targets(std::int64_t step, MicroSteps micro_steps) = 0;
  // The tokens that they count as: their targets, where nearly every token is one.
  virtual std::int64_t step_tokens(std::int64_t step, MicroSteps micro_steps) {
    return scored_targets(step, micro_steps);
  }
  // The mean over these micro-steps. Their number of targets may be 0, as nothing is divided by it then.
  MeanOver mean_over(std::int64_t step, MicroSteps micro_steps) {
    const std::int64_t targets = std::max<std::int64_t>(scored_targets(step, micro_steps), 1);
    return {micro_steps.size(), static_cast<double>(targets)};
  }
  // The part that one micro-step has in the mean loss over micro-steps that it is one of: its summed negative
  // log-likelihood divided by their targets, so that the losses and gradients of all add up to those of the mean. Its
  // value may be known only after backward. Undefined where the micro-step has nothing to score.
  virtual Variable micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) = 0;

  // Where labels are smoothed or there is a z-loss: the plain cross-entropy, summed over the micro-steps since the last
  // call. Known when their backward has passed.
  virtual std::optional<double> take_nll_loss() { return std::nullopt; }

  // What the training carries from one step to the next beside the weights, for checkpoints: the states of a recurrent
  // model, of all ranks. Nothing before the first step.
  virtual NamedTensors recurrent_state() const { return {}; }
  // Goes on with that of a checkpoint. Throws Error when it is of another batch.
  virtual void load_recurrent_state(const NamedTensors&) {}
  // Holds what this rank carries now, without a copy: calling the result goes back to it. The objective must live.
  virtual std::function<void()> hold_recurrent_state() {
    return [] {};
  }

  virtual bool can_evaluate() const = 0;
  // Why it cannot.
  virtual std::string_view cannot_evaluate_because() const { return "no validation text"; }
  virtual Evaluation evaluate(const ProgressCallback& progress) = 0;
  // What evaluate() scores of the whole validation data, and the bytes of its text.
  virtual std::int64_t evaluation_tokens() const = 0;
  virtual std::int64_t evaluation_bytes() const = 0;
  // The share of unknown tokens among them. Above kMaxUnknownShare bits per byte are withheld.
  virtual double unknown_share() const { return 0; }
  // Whether the loss is that of the text, so that it can be given in bits per byte.
  bool has_bits_per_byte() const { return task().has_perplexity && unknown_share() <= kMaxUnknownShare; }
  // BLEU of the model's own output for the validation data; nothing where that is no translation.
  virtual std::optional<double> bleu() { return std::nullopt; }
  // What train.sample_every asks for; nothing where the model makes no text. Training goes on as without it.
  virtual std::vector<TextSample> samples() { return {}; }

 protected:
  const ResolvedConfig config_;

 private:
  Communicator* ranks_ = &Communicator::alone();
};

// Reads the data (TaskRow::prepare) and makes the model, its parameters not set yet.
std::unique_ptr<Objective> make_objective(const ResolvedConfig& config, const RunFolder* resumed = nullptr,
                                          const ProgressMaker& progress = {});

}  // namespace tapeformer
