#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/options/page_option.h"
#include "cli/options/run_model.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/results.h"
#include "core/files.h"
#include "generate/line_translator.h"
#include "report/attention_page.h"
#include "tasks/common/eval.h"
#include "tasks/masked_language_model/masked_evaluation.h"
#include "tasks/translation/trained_translator.h"
#include "tokenizer/masked_symbols.h"

namespace tapeformer::cli {
namespace {

struct HeadPlace {
  std::int64_t layer = 0, head = 0;
};

struct AttentionArguments {
  RunSelection run;
  std::string text, source, out, by_position;
  std::optional<std::string> target;
  std::optional<HeadPlace> head;
  std::optional<MatmulSetting> matmul;
  bool json = false, lens = false, heads = false;
};

constexpr std::int64_t kLensTokens = 5;  // the most probable tokens that the logit lens shows at each position

std::vector<std::string> texts_of(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  std::vector<std::string> texts;
  for (const std::int32_t id : ids) texts.emplace_back(tokenizer.token_bytes(id));
  return texts;
}

void check_length(const std::vector<std::int32_t>& ids, std::optional<std::int64_t> context) {
  if (ids.empty()) fail_usage("attention: expected a text, got none");
  if (context && std::ssize(ids) > *context) {
    fail_usage("attention: expected a text of at most ", *context, " tokens, which the model reads, got ", ids.size());
  }
}

void require_text(const AttentionArguments& arguments) {
  if (!arguments.source.empty() || arguments.target) {
    fail_usage("attention: expected --text for this model, got --source or --target");
  }
}

// The loss of the file that the arguments name, by the place in windows as long as the context.
LossBreakdown loss_by_position(const AttentionArguments& arguments, const TrainedLanguageModel& run) {
  const EncodedText text = read_text(arguments.by_position, run, *run.tokenizer, warn);
  check(text.ids.size() >= 2, arguments.by_position, ": has ", text.ids.size(), " tokens, at least 2 are needed");
  const std::int64_t context = window_context(*run.model, 0);
  std::vector<LossBreakdown> breakdowns{breakdown_by_position(context)};
  const std::span<const std::int32_t> ids = text.ids;
  evaluate_breakdowns(*run.model, ids, {.context = context, .stride = context}, breakdowns,
                      start_progress(show_progress, "evaluating"));
  return std::move(breakdowns.front());
}

std::vector<AttentionText> of_language_model(const AttentionArguments& arguments) {
  require_text(arguments);
  const TrainedLanguageModel run = open_run<TrainedLanguageModel>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const std::vector<std::int32_t> ids = prompt_tokens(run, arguments.text);
  check_length(ids, run.model->can_exceed_context() ? std::nullopt : run.model->context());
  warn_of_unknown(ids, *run.tokenizer, "the text");
  const std::vector<std::string> texts = texts_of(*run.tokenizer, ids);
  AttentionText text{attention_of(*run.model, ids), texts, texts};
  if (arguments.lens) add_lens(text, logit_lens(*run.model, ids, kLensTokens), *run.tokenizer);
  if (arguments.heads) {
    check(ids.size() > 1, "attention: --heads: expected a text of at least 2 tokens, got 1");
    const WindowOptions window{.context = std::ssize(ids)};
    add_heads(text, study_heads(*run.model, ids, window, run.tokenizer->ordinary_ids(), show_progress));
  }
  if (!arguments.by_position.empty()) text.by_position = loss_by_position(arguments, run);
  return {text};
}

// The attention of a text encoder, without the lens.
template <class Trained>
AttentionText read_text_encoder(const AttentionArguments& arguments, const Trained& run,
                                std::vector<std::int32_t>& ids) {
  ids = run.model->has_special_tokens() ? masked_text_row(arguments.text, *run.tokenizer)
                                        : run.tokenizer->encode(arguments.text, true);
  check_length(ids, run.model->context());
  warn_of_unknown(ids, *run.tokenizer, "the text");
  const std::vector<std::string> texts = texts_of(*run.tokenizer, ids);
  return {attention_of(*run.model, ids), texts, texts};
}

std::vector<AttentionText> of_text_encoder(const AttentionArguments& arguments) {
  require_text(arguments);
  if (arguments.heads) {
    fail_usage("attention: --heads: expected a language model or an encoder-decoder; for others there is heads RUN");
  }
  std::vector<std::int32_t> ids;
  if (!arguments.lens) {
    const TrainedTextModel run = open_run<TrainedTextModel>(arguments.run, {.matmul = arguments.matmul});
    const kernels::MatmulPrecisionScope precision(run.matmul);
    return {read_text_encoder(arguments, run, ids)};
  }
  const auto run = open_run<TrainedMaskedLanguageModel>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  AttentionText text = read_text_encoder(arguments, run, ids);
  add_lens(text, logit_lens(*run.model, ids, kLensTokens), *run.tokenizer);
  return {text};
}

struct PairIds {
  std::span<const std::int32_t> source, target;
};

// Adds the lens of the decoder and the heads of all stacks, as the arguments say.
void add_insight(const AttentionArguments& arguments, const TrainedTranslator& run, const PairIds& ids,
                 std::vector<AttentionText>& texts) {
  const auto& [source, target, symbols] = run.tokenizers;
  if (arguments.lens) {
    const LogitLens lens = logit_lens(*run.model, ids.source, ids.target, symbols, kLensTokens);
    const auto decoder = [](const AttentionText& text) { return text.map.name == "decoder"; };
    add_lens(*std::ranges::find_if(texts, decoder), lens, *target);
  }
  if (!arguments.heads) return;
  TokenPairs pair;
  pair.add(ids.source, ids.target, 0);
  const HeadStudy study = study_heads(*run.model, pair, symbols, 1, show_progress);
  for (AttentionText& text : texts) add_heads(text, study);
}

// The attention of an encoder-decoder. The target is the model's own translation, unless one is given.
std::vector<AttentionText> of_translator(const AttentionArguments& arguments) {
  if (arguments.source.empty()) fail_usage("attention: expected --source for this model");
  const TrainedTranslator run = open_run<TrainedTranslator>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const auto& [source, target, symbols] = run.tokenizers;
  std::vector<std::int32_t> source_ids = source->encode(arguments.source), target_ids;
  if (arguments.target) {
    target_ids = target->encode(*arguments.target);
  } else {
    const std::string_view line = arguments.source;
    target_ids =
        translate_lines(*run.model, *source, *target, symbols, {&line, 1}, {.search = {.beam = 5}}).front().target;
  }
  std::optional<std::int64_t> context = run.model->context();
  if (context) --*context;  // one position is for the end of the source, or the beginning of the target
  check_length(source_ids, context);
  if (!target_ids.empty()) check_length(target_ids, context);
  warn_of_unknown(source_ids, *source, "the source");
  std::vector<AttentionMap> maps = attention_of(*run.model, source_ids, target_ids, symbols);

  std::vector<std::string> sources = texts_of(*source, source_ids), outputs = texts_of(*target, target_ids);
  std::vector<std::string> inputs = outputs;
  sources.push_back(kEndToken), outputs.push_back(kEndToken), inputs.insert(inputs.begin(), kBeginToken);
  std::vector<AttentionText> texts;
  for (AttentionMap& map : maps) {
    if (map.name == "encoder") texts.push_back({std::move(map), sources, sources});
    if (map.name == "decoder") texts.push_back({std::move(map), inputs, inputs});
    if (map.name == "cross") texts.push_back({std::move(map), outputs, sources});
  }
  add_insight(arguments, run, {source_ids, target_ids}, texts);
  return texts;
}

std::vector<AttentionText> read_attention(const AttentionArguments& arguments) {
  const ModelFamily& family = family_of_run(arguments.run);
  if (!arguments.by_position.empty() && !family.is_causal()) {
    fail_usage("attention: --by-position: expected none, since only a language model predicts each token from those ",
               "before it in its window");
  }
  if (family.is_encoder_decoder()) return of_translator(arguments);
  return family.is_causal() ? of_language_model(arguments) : of_text_encoder(arguments);
}

// Parses "3.5": layer 3, head 5.
HeadPlace parse_head(const std::string& text) {
  HeadPlace place;
  const char* const end = text.data() + text.size();
  const auto layer = std::from_chars(text.data(), end, place.layer);
  const bool has_head = layer.ec == std::errc() && layer.ptr != end && *layer.ptr == '.';
  const auto head = has_head ? std::from_chars(layer.ptr + 1, end, place.head) : layer;
  if (!has_head || head.ec != std::errc() || head.ptr != end) {
    fail_usage("attention: --head: expected LAYER.HEAD, such as 3.5, got ", text);
  }
  return place;
}

void write_attention(const AttentionArguments& arguments) {
  if (arguments.out.empty() && !arguments.json) fail_usage("attention: expected --out or --json");
  const bool is_page = !arguments.head;
  if (!is_page && arguments.out.empty()) fail_usage("attention: --head: expected --out FILE.svg beside it");
  if (!is_page && !arguments.json && (arguments.lens || arguments.heads || !arguments.by_position.empty())) {
    fail_usage("attention: --lens, --heads and --by-position: expected a page or --json, got the picture of --head");
  }
  const std::string_view ending = is_page ? kPageEnding : ".svg";
  if (!arguments.out.empty() && !arguments.out.ends_with(ending)) {
    fail_usage("attention: ", is_page ? "without --head it writes a page" : "--head writes a picture",
               ": expected --out FILE", ending, ", got ", arguments.out);
  }
  const std::vector<AttentionText> texts = read_attention(arguments);
  if (!is_page) {
    write_file_atomically(arguments.out, attention_svg(texts.back(), arguments.head->layer, arguments.head->head));
  } else if (!arguments.out.empty()) {
    const std::string& text = arguments.source.empty() ? arguments.text : arguments.source;
    write_file_atomically(arguments.out, attention_page("Attention: " + text, texts));
  }
  if (arguments.json) {
    constexpr int kAllDigits = 9;
    print_json(attention_json(texts, kAllDigits));
  }
}

}  // namespace

Command attention_command() {
  const auto arguments = std::make_shared<AttentionArguments>();
  return {.name = "attention",
          .help = "Show what every head looks at in a text",
          .options = {run_argument(arguments->run),
                      checkpoint_option(arguments->run),
                      {"--text", &arguments->text, "The text that the model reads"},
                      {"--source", &arguments->source, "Of an encoder-decoder: the source", {.excludes = {"--text"}}},
                      {"--target", &arguments->target, "Of an encoder-decoder: the target [the model's translation]"},
                      {"--out", &arguments->out, "The page (.html), or with --head the picture (.svg)"},
                      {"--head", [&head = arguments->head](const std::string& text) { head = parse_head(text); },
                       "LAYER.HEAD, from 0: this head alone as a picture; of an encoder-decoder, of target to source"},
                      {"--lens", &arguments->lens, "Also what each layer would predict at each position (logit lens)"},
                      {"--heads", &arguments->heads,
                       "Also how much the loss of this text rises without each head, and what the head looks at"},
                      {"--by-position", &arguments->by_position,
                       "A text file: also a language model's loss on it by the number of tokens before a token"},
                      matmul_option(arguments->matmul),
                      {"--json", &arguments->json, "Print the numbers as JSON"}},
          .run = [arguments] { write_attention(*arguments); }};
}

}  // namespace tapeformer::cli
