#include <spdlog/spdlog.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/run_model.h"
#include "cli/terminal/numbers.h"
#include "cli/terminal/progress_line.h"
#include "cli/usage.h"
#include "train/evaluation/encoder_evaluation.h"
#include "train/evaluation/masked_evaluation.h"
#include "train/evaluation/skip_gram_evaluation.h"
#include "train/evaluation/translation_evaluation.h"
#include "train/tasks/labelled_rows.h"

namespace tapeformer::cli {
namespace {

struct EvalArguments {
  ModelSource run;
  std::string text, source, target, labels;
  std::optional<MatmulSetting> matmul;
  std::int64_t stride = 0, context = 0, batch = 16;
  bool no_pseudo = false, json = false;
};

using Json = nlohmann::ordered_json;

// A result, and as its last keys the weights and the precision that it was made with.
Json finished(Json json, const TrainedModel& run) {
  json["checkpoint"] = run.checkpoint;
  json["matmul"] = word_of(kernels::MatmulPrecisionScope::current());
  return json;
}

// What is scored beside the loss. Bits per byte are withheld where too many tokens are unknown: <unk> would count as if
// it predicted the bytes that it stands for.
struct Measured {
  std::int64_t bytes = 0;
  double unknown_share = 0;  // of the tokens
  bool has_bits_per_byte() const { return unknown_share <= kMaxUnknownShare; }
};

void print_table(const Evaluation& result, const Measured& measured) {
  std::cout << "bytes          " << measured.bytes << '\n'
            << "loss           " << result.loss() << " nats per token\n"
            << "perplexity     " << format_perplexity(result.perplexity()) << '\n';
  for (const Evaluation::Part& part : result.parts) {
    const Evaluation alone = result.part(part);
    std::cout << std::left << std::setw(15) << part.name << alone.loss() << " nats per token, perplexity "
              << format_perplexity(alone.perplexity()) << '\n';
  }
  if (measured.unknown_share > 0)
    std::cout << "unknown        " << 100 * measured.unknown_share << " % of the tokens\n";
  if (measured.has_bits_per_byte()) {
    std::cout << "bits per byte  " << result.bits_per_byte(measured.bytes) << '\n';
  } else {
    std::cout << "bits per byte  withheld: " << 100 * measured.unknown_share
              << " % of the tokens are unknown (more than " << 100 * kMaxUnknownShare << " %)\n";
  }
}

Json measures(const Evaluation& result, const Measured& measured) {
  const Json bits = measured.has_bits_per_byte() ? Json(result.bits_per_byte(measured.bytes)) : Json(nullptr);
  Json json{{"tokens", result.tokens},
            {"bytes", measured.bytes},
            {"loss", result.loss()},
            {"perplexity", result.perplexity()},
            {"bits_per_byte", bits}};
  if (measured.unknown_share > 0) json["unknown_share"] = measured.unknown_share;
  for (const Evaluation::Part& part : result.parts) {
    const Evaluation alone = result.part(part);
    json[part.name] = {{"loss", alone.loss()}, {"perplexity", alone.perplexity()}};
  }
  return json;
}

// Prints the result of a text that was scored by windows or, without `windows`, in order.
void print_text_result(const EvalArguments& arguments, const TrainedModel& run, const EncodedText& text,
                       const std::optional<WindowOptions>& windows, const Evaluation& result) {
  require_finite(result);
  const Measured measured{text.bytes, text.unknown_share()};
  if (arguments.json) {
    Json json = measures(result, measured);
    json["context"] = windows ? Json(windows->context) : Json(nullptr);
    json["stride"] = windows ? Json(windows->stride) : Json(nullptr);
    std::cout << finished(json, run) << '\n';
    return;
  }
  std::cout << "tokens         " << result.tokens << " scored of " << text.ids.size()
            << (result.parts.empty() ? " (the first has nothing before it)\n" : " by each prediction\n");
  print_table(result, measured);
  std::cout << "context        ";
  if (windows) {
    std::cout << windows->context << ", stride " << windows->stride;
  } else {
    std::cout << "all before it, in " << arguments.batch << " parts";
  }
  std::cout << ", " << run.checkpoint_text << '\n';
}

// The text of the run's evaluation. Throws Error when there is nothing to score in it.
EncodedText scored_text(const EvalArguments& arguments, const TrainedModel& run, const Tokenizer& tokenizer) {
  EncodedText text = read_tokens(run.config, tokenizer, arguments.text);
  check(text.ids.size() >= 2, arguments.text, ": has ", text.ids.size(), " tokens, at least 2 are needed");
  return text;
}

void evaluate_text(const EvalArguments& arguments) {
  const TrainedLanguageModel run = open_language_model(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const EncodedText text = scored_text(arguments, run, *run.tokenizer);
  WindowOptions options{.context = arguments.context, .stride = arguments.stride, .batch = arguments.batch};
  const bool windows = !reads_in_order(*run.model);
  if (windows) {
    options.context = window_context(*run.model, options.context);
    if (options.stride == 0) options.stride = options.context;
  } else if (options.context || options.stride) {
    fail_usage("eval: --context and --stride: expected none, since ", run.config.model.type,
               " reads a text in order and has no windows");
  }
  const std::span<const std::int32_t> ids = text.ids;
  const Evaluation result = evaluate(*run.model, ids, options, show_progress("evaluating"));
  print_text_result(arguments, run, text, windows ? std::optional(options) : std::nullopt, result);
}

void evaluate_bidirectional(const EvalArguments& arguments) {
  const TrainedBidirectionalLanguageModel run =
      open_bidirectional_language_model(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const EncodedText text = scored_text(arguments, run, *run.tokenizer);
  const std::int64_t context = arguments.context ? arguments.context : run.config.row_tokens();
  const WindowOptions options{
      .context = context, .stride = arguments.stride ? arguments.stride : context, .batch = arguments.batch};
  const std::span<const std::int32_t> ids = text.ids;
  const Evaluation result = evaluate(*run.model, ids, options, show_progress("evaluating"));
  print_text_result(arguments, run, text, options, result);
}

void evaluate_masked(const EvalArguments& arguments) {
  if (arguments.stride) fail_usage("eval: --stride: expected none, since the windows of masked text do not overlap");
  const TrainedMaskedLanguageModel run = open_masked_language_model(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const EncodedText text = read_tokens(run.config, *run.tokenizer, arguments.text);
  MaskedRowOptions options = masked_row_options(run.config, *run.model, arguments.batch);
  options.length = window_context(run.model->context(), arguments.context ? arguments.context : options.length);
  if (options.length < options.shortest()) {
    fail_usage("eval: --context: expected at least ", options.shortest(), " tokens, of which ", options.marks(),
               " are [CLS] and [SEP], got ", options.length);
  }
  const std::span<const std::int32_t> ids = text.ids;
  const MaskedBatcher rows(ids, *run.tokenizer, options);
  const Evaluation masked = evaluate(*run.model, rows, 0, show_progress("masked tokens"));
  require_finite(masked);
  const bool chosen = masked.tokens > 0;  // of a short text perhaps none is
  check(chosen || !arguments.no_pseudo, arguments.text, ": no token was chosen, and --no-pseudo leaves out the rest");
  std::optional<Evaluation> pseudo;
  if (!arguments.no_pseudo) {
    pseudo = pseudo_likelihood(*run.model, rows, arguments.batch, show_progress("each token in turn"));
    require_finite(*pseudo);
  }
  if (arguments.json) {
    Json json{{"tokens", ids.size()}, {"bytes", text.bytes}};
    if (text.unknown_share() > 0) json["unknown_share"] = text.unknown_share();
    json["masked_tokens"] = masked.tokens;
    if (chosen) json["masked_loss"] = masked.loss();
    for (const auto& [name, value] : masked.measures) json[name == "accuracy" ? "masked_accuracy" : name] = value;
    if (pseudo) {
      json.update({{"pseudo_tokens", pseudo->tokens},
                   {"pseudo_loss", pseudo->loss()},
                   {"pseudo_perplexity", pseudo->perplexity()}});
    }
    json["context"] = options.length;
    std::cout << finished(json, run) << '\n';
    return;
  }
  std::cout << "tokens             " << masked.tokens << " chosen of " << ids.size() << '\n'
            << "bytes              " << text.bytes << '\n';
  if (text.unknown_share() > 0) {
    std::cout << "unknown            " << 100 * text.unknown_share() << " % of the tokens: never chosen\n";
  }
  if (chosen) std::cout << "masked loss        " << masked.loss() << " nats per chosen token\n";
  for (const auto& [name, value] : masked.measures) {
    if (name == "accuracy") std::cout << "masked accuracy    " << 100 * value << " %\n";
    if (name == "next_sentence_loss") std::cout << "next sentence      " << value << " nats per pair of segments, ";
    if (name == "next_sentence_accuracy") std::cout << 100 * value << " % right\n";
  }
  if (pseudo) {
    std::cout << "pseudo-perplexity  " << format_perplexity(pseudo->perplexity()) << ", " << pseudo->loss()
              << " nats per token, each of " << pseudo->tokens << " masked in turn\n";
  }
  std::cout << "context            " << options.length << ", " << run.checkpoint_text << '\n';
}

void evaluate_skip_gram(const EvalArguments& arguments) {
  if (arguments.stride || arguments.context) {
    fail_usage("eval: --context and --stride: expected none, since a skip-gram model scores every pair in its window");
  }
  const TrainedSkipGramModel run = open_skip_gram_model(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const EncodedText text = read_tokens(run.config, *run.tokenizer, arguments.text);
  const std::span<const std::int32_t> ids = text.ids;
  const SkipGramBatcher pairs(ids, run.model->vocab(), skip_gram_options(run.config, *run.model, arguments.batch));
  const Evaluation result = evaluate(*run.model, pairs, 0, show_progress("evaluating"));
  require_finite(result);
  if (arguments.json) {
    Json json{{"tokens", ids.size()}, {"bytes", text.bytes}};
    if (text.unknown_share() > 0) json["unknown_share"] = text.unknown_share();
    json.update({{"pairs", result.tokens}, {"loss", result.loss()}, {"window", run.model->window()}});
    std::cout << finished(json, run) << '\n';
    return;
  }
  std::cout << "tokens         " << ids.size() << '\n' << "bytes          " << text.bytes << '\n';
  if (text.unknown_share() > 0) std::cout << "unknown        " << 100 * text.unknown_share() << " % of the tokens\n";
  std::cout << "loss           " << result.loss() << " nats per pair, of " << result.tokens << '\n'
            << "window         " << run.model->window() << ", " << run.checkpoint_text << '\n';
}

void evaluate_pairs(const EvalArguments& arguments) {
  const TrainedTranslator run = open_translator(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const ParallelText text = ParallelText::from_files(arguments.source, arguments.target);
  for (const std::string& note : text.notes().lines()) spdlog::warn("{}", note);
  const PairLimits limits = pair_limits(run.config);
  const TokenPairs pairs = encode_text(text, text.pairs(), run.tokenizers, run.config);
  const std::int64_t skipped = pairs.skipped().total();
  if (skipped > 0) {
    spdlog::warn("{} of {} pairs are not scored: {}", skipped, text.pairs().size(), describe(pairs.skipped(), limits));
  }
  const Evaluation result = evaluate(*run.model, pairs, run.tokenizers.symbols, {.sentences = arguments.batch}, 0,
                                     show_progress("evaluating"));
  require_finite(result);
  const double unknown = static_cast<double>(pairs.unknown_targets(*run.tokenizers.target));
  const Measured measured{pairs.target_bytes(), unknown / static_cast<double>(pairs.target_tokens())};
  if (arguments.json) {
    Json json = measures(result, measured);
    // The keys of a text's evaluation as well: a sentence is one window.
    if (const auto context = run.model->context()) json.update({{"context", *context}, {"stride", *context}});
    json.update({{"pairs", pairs.size()}, {"skipped", skipped}});
    std::cout << finished(json, run) << '\n';
    return;
  }
  std::cout << "pairs          " << pairs.size() << " scored, " << skipped << " skipped\n"
            << "tokens         " << result.tokens << " of the target, with the ends of its sentences\n";
  print_table(result, measured);
  std::cout << "checkpoint     " << run.checkpoint_text << '\n';
}

// The scores of a model that is fine-tuned on labels, with a row for each label or kind of spans.
void evaluate_labels(const EvalArguments& arguments) {
  const TrainedLabeller run = open_labeller(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const Task& task = find_task(run.config.task.kind);
  const LabelledFile file = task.read(arguments.labels, run.config.data.labelled_format());
  const std::vector<LabelledExample>& examples = file.examples;
  if (!file.header.empty()) spdlog::warn("{}", header_note(arguments.labels, file.header));
  const RowEncoder encoder(task, run.model->encoder(), *run.tokenizer, run.labels);
  const std::vector<LabelledRow> rows = encoder.encode_all(examples, arguments.labels);
  for (const std::string& note : row_notes(rows, arguments.labels)) spdlog::warn("{}", note);
  const TaskEvaluation result =
      evaluate(*run.model, task, run.labels, examples, rows, arguments.batch, show_progress("evaluating"));
  require_finite(result.evaluation);
  const TaskScore& score = result.score;
  const std::int64_t labels = result.evaluation.tokens + result.unknown_labels;
  const std::int64_t cut = std::ranges::count_if(rows, [](const LabelledRow& row) { return row.cut > 0; });
  if (arguments.json) {
    Json json{{"examples", examples.size()}, {"labels", labels}};
    if (result.unknown_labels > 0) json["unknown_labels"] = result.unknown_labels;
    if (cut > 0) json["cut_examples"] = cut;
    json["loss"] = result.evaluation.loss();
    for (const auto& [name, value] : score.measures) json[name] = value;
    if (!score.table.empty()) {
      Json table = Json::array();
      for (const LabelCount& row : score.table) {
        table.push_back({{score.table_of, row.label},
                         {"gold", row.gold},
                         {"predicted", row.predicted},
                         {"right", row.right},
                         {"precision", row.precision()},
                         {"recall", row.recall()},
                         {"f1", row.f1()}});
      }
      json["table"] = std::move(table);
      json["confusion"] = {{"labels", score.labels}, {"counts", score.confusion}};
    }
    std::cout << finished(json, run) << '\n';
    return;
  }
  const auto percent = [](double share) { return fmt::format("{:.2f} %", 100 * share); };
  const std::string of_known =
      result.unknown_labels > 0 ? fmt::format(", of the {} that training has", result.evaluation.tokens) : "";
  std::cout << fmt::format("{:<15} {} with {} labels, {}\n", "examples", examples.size(), labels, run.checkpoint_text)
            << fmt::format("{:<15} {:.4f} nats per label{}\n", "loss", result.evaluation.loss(), of_known);
  for (const auto& [name, value] : score.measures) std::cout << fmt::format("{:<15} {}\n", name, percent(value));
  if (score.table.empty()) return;
  std::size_t width = score.table_of.size();
  for (const LabelCount& row : score.table) width = std::max(width, row.label.size());
  std::cout << fmt::format("\n{:<{}} {:>7} {:>9} {:>7} {:>9} {:>9} {:>9}\n", score.table_of, width, "gold", "predicted",
                           "right", "precision", "recall", "F1");
  for (const LabelCount& row : score.table) {
    std::cout << fmt::format("{:<{}} {:>7} {:>9} {:>7} {:>9} {:>9} {:>9}\n", row.label, width, row.gold, row.predicted,
                             row.right, percent(row.precision()), percent(row.recall()), percent(row.f1()));
  }
  width = 0;
  for (const std::string& label : score.labels) width = std::max(width, label.size());
  std::cout << "\nrows: the right label; columns: the predicted one, in the same order\n";
  for (std::size_t i = 0; i < score.labels.size(); ++i) {
    std::cout << fmt::format("{:<{}}", score.labels[i], width);
    for (const std::int64_t count : score.confusion[i]) std::cout << fmt::format(" {:>6}", count);
    std::cout << '\n';
  }
}

}  // namespace

void add_eval_command(CLI::App& app) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "Loss, perplexity and bits per byte of a text, or of translations");
  add_run_argument(*command, arguments->run);
  CLI::Option* labels = command->add_option("--labels", arguments->labels,
                                            "Labelled text, for a model that is fine-tuned on labels: a file as "
                                            "data.labels has it");
  CLI::Option* text = command->add_option("--text", arguments->text, "Text file, for a language model");
  CLI::Option* source =
      command->add_option("--source", arguments->source, "File to translate, for an encoder-decoder")->excludes(text);
  CLI::Option* target = command->add_option("--target", arguments->target, "Its translation, line by line");
  source->needs(target);
  target->needs(source);
  command
      ->add_option("--stride", arguments->stride,
                   "Tokens between the beginnings of windows; smaller is slower and sees more context [the context]")
      ->check(at_least(1))
      ->excludes(source);
  command->add_option("--context", arguments->context, "Tokens of a window [the model's]")
      ->check(at_least(1))
      ->excludes(source);
  labels->excludes(text)->excludes(source);
  command
      ->add_option("--batch", arguments->batch, "Windows, sentences, or parts of a recurrent model's text at once [16]")
      ->check(at_least(1));
  add_matmul_option(*command, arguments->matmul);
  command->add_flag("--no-pseudo", arguments->no_pseudo,
                    "Masked language models: leave out the pseudo-perplexity, which takes a row for each token");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([arguments] {
    if (!arguments->labels.empty()) return evaluate_labels(*arguments);
    if (!arguments->source.empty()) return evaluate_pairs(*arguments);
    if (arguments->text.empty())
      fail_usage("eval: expected --text FILE, --source FILE and --target FILE, or --labels FILE");
    const ModelTask task = task_of_run(arguments->run);
    if (arguments->no_pseudo && task != ModelTask::masked_language_model) {
      fail_usage("eval: --no-pseudo: expected none, since only a masked language model has a pseudo-perplexity");
    }
    switch (task) {
      case ModelTask::masked_language_model:
        return evaluate_masked(*arguments);
      case ModelTask::bidirectional_language_model:
        return evaluate_bidirectional(*arguments);
      case ModelTask::skip_gram_model:
        return evaluate_skip_gram(*arguments);
      default:
        return evaluate_text(*arguments);  // which refuses an encoder-decoder
    }
  });
}

}  // namespace tapeformer::cli
