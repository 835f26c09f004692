#include <algorithm>
#include <cmath>

#include "cli/info/info.h"
#include "cli/terminal/results.h"
#include "cli/training/planning.h"
#include "core/parallel.h"
#include "core/text/numbers.h"
#include "tasks/text/dummy_data.h"

namespace tapeformer::cli {
namespace {

std::string mebibytes(std::int64_t bytes) {
  const double value = static_cast<double>(bytes) / (1 << 20);
  return value < 1000 ? fmt::format("{:.1f} MiB", value) : format_count(std::llround(value)) + " MiB";
}

std::string short_time(double seconds) {
  return seconds < 1    ? fmt::format("{:.1f} ms", 1e3 * seconds)
         : seconds < 60 ? fmt::format("{:.2f} s", seconds)
                        : format_duration(seconds);
}

// A table of names, values and notes.
Table facts() { return Table({{.width = 34}, {.width = 16, .right = true, .gap = 1}, {.gap = 3}}); }

// "12 · 12 · 768²" where 12 · layers · dim² is the number of elements in matrices, as in GPT's blocks; else "".
std::string formula_of(const Info& info) {
  const KeyValues& keys = info.config.model.options;
  if (!keys.has("layers") || !keys.has("dim")) return "";
  const std::int64_t layers = keys.integer("layers"), dim = keys.integer("dim");
  if (12 * layers * dim * dim != info.costs.matrices) return "";
  return fmt::format("12 · {} · {}²", layers, dim);
}

std::string parameters_text(const Info& info) {
  const ModelCosts& costs = info.costs;
  Table table = facts();
  for (const ModelCosts::Part& part : costs.parts) table.add({part.label, format_count(part.parameters)});
  table.add({"total", format_count(costs.total)});
  if (costs.without_heads) table.add({"without heads", format_count(*costs.without_heads)});
  if (costs.learning < costs.total) table.add({"of which learn", format_count(costs.learning)});
  table.add({"without embeddings and heads", format_count(costs.non_embedding)});
  table.add({"  of these in matrices", format_count(costs.matrices), formula_of(info)});
  for (const auto& [first, last] : equal_layers(costs)) {
    const std::string number = last->name.substr(last->name.rfind('.') + 1);
    table.add({first == last ? first->name : str_cat("each of ", first->name, " to ", number),
               format_count(first->parameters)});
    for (const ModelCosts::Part& part : first->parts) table.add({"  " + part.key, format_count(part.parameters)});
  }
  return "\nparameters\n" + table.text();
}

// Changes of the configuration with which the training would fit into memory.
std::string advice_text(const Info& info) {
  if (info.advice.empty()) return "  what helps: a smaller model\n";
  std::string text;
  for (const Advice& option : info.advice) {
    text += "  what helps:";
    for (const auto& [key, value] : option.changes) text += str_cat(" --", key, " ", value.front());
    Table table = facts();
    table.add({"", mebibytes(option.peak_bytes), option.peak_bytes <= info.machine_bytes ? "about" : "not enough"});
    text += '\n' + table.text();
  }
  return text;
}

std::string memory_text(const Info& info) {
  Table table = facts();
  table.add({"weights", mebibytes(info.costs.weight_bytes())});
  table.add({"gradients", mebibytes(info.costs.gradient_bytes())});
  table.add({"state of " + info.config.optimizer.name, mebibytes(info.costs.optimizer_bytes)});
  if (!info.dry_run) {
    table.add({"together", mebibytes(info.state_bytes()), "activations come on top"});
  } else {
    table.add({"activations", mebibytes(info.dry_run->activation_bytes)});
    table.add({"program, data and the rest",
               mebibytes(info.peak_bytes() - info.state_bytes() - info.dry_run->activation_bytes)});
    table.add({info.dry_run->scaled ? "peak, about" : "peak", mebibytes(info.peak_bytes())});
  }
  if (info.measured && info.measured->peak_bytes > 0) {
    table.add({"peak, measured", mebibytes(info.measured->peak_bytes)});
  }
  table.add({"this machine", mebibytes(info.machine_bytes), info.fits() ? "" : "IT DOES NOT FIT"});
  return "\nmemory\n" + table.text() + (info.fits() ? "" : advice_text(info));
}

std::string time_text(const Info& info) {
  const Config::Train& train = info.config.train;
  Table table = facts();
  const bool has_padding = train.batch_tokens > 0;  // sentences rarely fill a batch
  table.add({has_padding ? "tokens of a step, at most" : "tokens of a step", format_count(info.costs.tokens_per_step)});
  const double gflop = 1e-9 * info.step_flops();
  if (gflop > 0) {
    table.add({"operations of a step",
               gflop < 1000 ? fmt::format("{:.3g} GFLOP", gflop) : format_count(std::llround(gflop)) + " GFLOP"});
  }
  const std::string about = info.method() == std::string("measured") ? "" : ", about";
  table.add({"a step" + about, short_time(info.step_seconds),
             gflop > 0 ? fmt::format("{:.0f} % of that", 100 * std::min(1.0, info.share_of_peak())) : ""});
  if (const auto seconds = info.evaluation_seconds()) table.add({"an evaluation", short_time(*seconds)});
  const std::string evaluations = info.evaluation_seconds()
                                      ? str_cat("with ", format_count(info.evaluations()), " evaluations")
                                      : "without evaluations";
  if (info.ends_by_clock()) {
    table.add({fmt::format("{:g} min (train.minutes)", train.minutes), format_count(info.steps()) + " steps",
               "about, " + evaluations});
  } else {
    table.add({format_count(train.steps) + " steps" + about, short_time(info.training_seconds()), evaluations});
  }
  if (const auto& measured = info.measured) {
    if (measured->step_seconds) table.add({"a step, measured", short_time(*measured->step_seconds)});
    table.add({format_count(measured->steps) + " steps, measured", short_time(measured->elapsed_seconds)});
  }
  const bool bleu = info.config.task_row().has_bleu && info.config.eval.bleu_every > 0;
  return fmt::format("\ntime, on {} thread{}, with products in {} precision (at most {:.0f} GFLOP/s)\n{}{}",
                     thread_count(), thread_count() > 1 ? "s" : "", word_of(train.matmul), 1e-9 * info.machine_flops,
                     table.text(), bleu ? "  BLEU of the validation data (eval.bleu_every) comes on top\n" : "");
}

// The first lines: the model, its vocabulary, and whether its data is read.
std::string heading(const Info& info) {
  std::string text = fmt::format("{}, vocabulary of {} ({})\n", info.config.model.type, format_count(info.costs.vocab),
                                 info.vocab_origin);
  if (info.no_data.empty()) return text;
  text += fmt::format("no data is read ({}): random tokens take its place\n", info.no_data);
  if (info.config.task_row().reads_sentences)
    text += fmt::format("sentences are assumed to have {} tokens\n", kDummyLength);
  return text;
}

}  // namespace

std::string info_text(const Info& info) {
  const std::string plan = info.planned.empty() ? "" : "\nplan\n" + indented(plan_text(info.planned));
  return heading(info) + plan + parameters_text(info) + memory_text(info) + time_text(info);
}

}  // namespace tapeformer::cli
