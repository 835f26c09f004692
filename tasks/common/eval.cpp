#include "tasks/common/eval.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "core/text/numbers.h"
#include "tasks/common/models.h"
#include "tasks/common/text_start.h"

namespace tapeformer {

using Json = nlohmann::ordered_json;

LoadOptions load_options(const EvalRequest& request) {
  return {.matmul = request.matmul,
          .weights = request.weights,
          .default_weights = DefaultWeights::as_stored,
          .without_heads = request.without_heads,
          .conversations = !request.conversations.empty()};
}

nlohmann::ordered_json with_run_keys(nlohmann::ordered_json json, const TrainedModel& run) {
  json["checkpoint"] = run.checkpoint;
  if (!run.without_heads.empty()) json["without_heads"] = run.without_heads;
  json["matmul"] = word_of(kernels::MatmulPrecisionScope::current());
  if (run.weights != WeightFormat::f32) json["weights"] = word_of(run.weights);
  return json;
}

std::string loss_table(const Evaluation& result, const TextFacts& facts) {
  std::ostringstream table;
  table << "bytes          " << facts.bytes << '\n'
        << "loss           " << result.loss() << " nats per token\n"
        << "perplexity     " << format_perplexity(result.perplexity()) << '\n';
  for (const Evaluation::Part& part : result.parts) {
    const Evaluation alone = result.part(part);
    table << std::left << std::setw(15) << part.name << alone.loss() << " nats per token, perplexity "
          << format_perplexity(alone.perplexity()) << '\n';
  }
  if (facts.unknown_share > 0) table << "unknown        " << 100 * facts.unknown_share << " % of the tokens\n";
  if (facts.has_bits_per_byte()) {
    table << "bits per byte  " << result.bits_per_byte(facts.bytes) << '\n';
  } else {
    table << "bits per byte  withheld: " << 100 * facts.unknown_share << " % of the tokens are unknown (more than "
          << 100 * kMaxUnknownShare << " %)\n";
  }
  return table.str();
}

nlohmann::ordered_json loss_json(const Evaluation& result, const TextFacts& facts) {
  const Json bits = facts.has_bits_per_byte() ? Json(result.bits_per_byte(facts.bytes)) : Json(nullptr);
  Json json{{"tokens", result.tokens},
            {"bytes", facts.bytes},
            {"loss", result.loss()},
            {"perplexity", result.perplexity()},
            {"bits_per_byte", bits}};
  if (facts.unknown_share > 0) json["unknown_share"] = facts.unknown_share;
  for (const Evaluation::Part& part : result.parts) {
    const Evaluation alone = result.part(part);
    json[part.name] = {{"loss", alone.loss()}, {"perplexity", alone.perplexity()}};
  }
  return json;
}

EncodedText read_text(const std::string& input, const TrainedModel& run, const Tokenizer& tokenizer,
                      const std::function<void(const std::string&)>& warn) {
  EncodedText text = encode_inputs(std::span(&input, 1), run.config.data.text_options(), tokenizer);
  const std::vector<std::int32_t> prefix = text_prefix(run, tokenizer);
  text.ids.insert(text.ids.begin(), prefix.begin(), prefix.end());
  for (const std::string& note : text.notes.lines()) warn(note);
  const auto ends = std::ranges::count(text.ids, tokenizer.special(kEndOfText).value_or(-1));
  if (ends > 0 && !may_know_end_of_text(run.config, run.is_imported())) {
    warn(str_cat("the text has documents, and that of the training had none: the model has not learned the token ",
                 kEndOfText, ", which this text has ", ends, ends == 1 ? " time" : " times"));
  }
  return text;
}

void require_no_pseudo_option(const EvalRequest& request) {
  if (request.no_pseudo) {
    fail_usage("eval: --no-pseudo: expected none, since only a masked language model has a pseudo-perplexity");
  }
}

void require_no_parts(const EvalRequest& request) {
  if (request.by_position || request.by_frequency) {
    fail_usage("eval: ", request.by_position ? "--by-position" : "--by-frequency",
               ": expected none, since only a language model predicts each token from those before it in its window");
  }
}

void require_no_windows(const EvalRequest& request, std::string_view reason) {
  if (request.stride || request.context) {
    fail_usage("eval: --context and --stride: expected none, since ", reason);
  }
}

}  // namespace tapeformer
