// The topics of `tapeformer explain`. A topic computes its example by the ops and modules that training and generation
// use; it has no formula of its own for what they compute.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/explain/worked_example.h"

namespace tapeformer::explain {

// The options that were given, by name without dashes: {"x", "1 2 3"}. Each accessor returns `otherwise`, the default,
// for an option that was not given.
class TopicOptions {
 public:
  TopicOptions() = default;
  explicit TopicOptions(std::map<std::string, std::string, std::less<>> given) : given_(std::move(given)) {}

  bool has(std::string_view name) const { return given_.contains(name); }
  std::string text(std::string_view name, std::string_view otherwise) const;
  // Return a number, or a whole number of at least `least`. Both throw UsageError for another text.
  double number(std::string_view name, double otherwise) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise, std::int64_t least) const;
  // Returns a matrix (rows, columns), f64, written as "1 2; 3 4": rows are apart by semicolons, numbers by spaces or
  // commas. Throws UsageError for a text that is no matrix.
  Tensor matrix(std::string_view name, std::string_view otherwise) const;
  // Returns one row of numbers, (n).
  Tensor vector(std::string_view name, std::string_view otherwise) const;

  const std::map<std::string, std::string, std::less<>>& given() const { return given_; }

 private:
  std::map<std::string, std::string, std::less<>> given_;
};

struct Topic {
  std::string name, shows;
  std::vector<std::string> options;  // the names of the options that it reads
  WorkedExample (*make)(const TopicOptions&);
};

// All topics, in the order of the list.
const std::vector<Topic>& topics();
// Throws UsageError for an unknown topic, for an option that the topic does not read, and for values that do not fit.
WorkedExample explain_topic(std::string_view name, const TopicOptions& options);

// Each makes the example of the topic of its name. A file of this folder has one of them, or several that are related.
WorkedExample explain_attention(const TopicOptions& options);
WorkedExample explain_softmax(const TopicOptions& options);
WorkedExample explain_positions(const TopicOptions& options);
WorkedExample explain_layer_norm(const TopicOptions& options);
WorkedExample explain_gelu(const TopicOptions& options);
WorkedExample explain_loss(const TopicOptions& options);
WorkedExample explain_perplexity(const TopicOptions& options);
WorkedExample explain_schedule(const TopicOptions& options);
WorkedExample explain_parameters(const TopicOptions& options);
WorkedExample explain_beam(const TopicOptions& options);
WorkedExample explain_bpe(const TopicOptions& options);
WorkedExample explain_backward(const TopicOptions& options);
WorkedExample explain_vanishing(const TopicOptions& options);
WorkedExample explain_kv_cache(const TopicOptions& options);

}  // namespace tapeformer::explain
