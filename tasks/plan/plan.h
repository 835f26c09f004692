// Plans of trainings: the keys that are chosen for a training of given length (`--minutes`).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/plan/tuning.h"
#include "train/config/config.h"

namespace tapeformer {

// Returns the seconds of a step of a training; nullopt if there is no time left to measure it.
using StepTimer = std::function<std::optional<double>(const ResolvedConfig&)>;

struct PlanRequest {
  Config given;                      // what the user gave; it is not resolved, so that other keys have their defaults
  std::set<std::string> given_keys;  // the keys that the user gave: they stay as they are
  double minutes = 0;
  StepTimer step_seconds;
};

// A key that was chosen, with its value as one writes it on the command line, and why.
struct PlannedKey {
  std::string key, value, reason;
};

struct Plan {
  Config config;                 // the given one with the chosen keys
  std::vector<PlannedKey> keys;  // in the order in which they were chosen
};

// Plans by the task of the configuration (TaskRow::plan). Throws UsageError, in one line, if the task has no plan, if
// the configuration names no data or data that the task does not read, or if there is too little of it.
Plan make_plan(const PlanRequest& request);

// A plan while it is made.
class PlanDraft {
 public:
  explicit PlanDraft(const PlanRequest& request) : request_(&request), plan_{request.given, {}} {}

  const PlanRequest& request() const { return *request_; }
  // Whether the weights begin at random, and not with those of train.init_from.
  bool from_scratch() const { return request_->given.train.init_from.empty(); }
  // Whether the weights of another run go on learning: task.freeze leaves them as they are.
  bool tunes_weights() const { return !from_scratch() && !request_->given.task.freeze; }
  // Whether the user gave the key: then choose() changes nothing. With train.init_from, all keys of the model and of
  // its tokenizer count as given, except the dropout, because the weights need them as they are.
  bool is_given(std::string_view key) const;
  // Whether the key exists, which depends on the model's family and on the optimizer.
  bool has(std::string_view key) const;
  // Chooses a key, unless the family or the optimizer does not have it, or does not read it beside the others. A later
  // choice of the same key takes the place of an earlier one.
  void choose(std::string_view key, const KeyValue& value, std::string reason);
  void choose(std::span<const tuning::FixedKey> keys);

  // The present value of a key, given, chosen or default.
  KeyValue value(std::string_view key) const;
  std::int64_t integer(std::string_view key) const { return std::get<std::int64_t>(value(key)); }
  double number(std::string_view key) const { return std::get<double>(value(key)); }
  std::string text(std::string_view key) const { return std::get<std::string>(value(key)); }

  // Says about how many different tokens the tokenizer has: tokenizer.vocab is only the most that it learns.
  void set_vocab(std::int64_t vocab) { vocab_ = vocab; }
  // Measures a step of the draft as it is now, with a tokenizer of that many tokens. Returns nullopt if there is no
  // time left for it.
  std::optional<double> step_seconds() const;

  const Config& config() const { return plan_.config; }
  ResolvedConfig resolved() const { return resolve(plan_.config); }
  Plan plan() && { return std::move(plan_); }

 private:
  const PlanRequest* request_;
  Plan plan_;
  std::optional<std::int64_t> vocab_;
};

}  // namespace tapeformer
