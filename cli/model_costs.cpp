#include "cli/model_costs.h"

#include <optional>

#include "core/error.h"
#include "train/config/model_config.h"
#include "train/objectives/language_data.h"
#include "train/objectives/translation_data.h"

namespace tapeformer::cli {
namespace {

// Backward does the products of the forward twice. Recomputing does the forward of all blocks but the last again.
double training_flops(const ForwardFlops& forward, bool recompute) {
  const double blocks = static_cast<double>(forward.count);
  const double again = recompute ? forward.blocks * (blocks - 1) / blocks : 0;
  return 3 * (forward.blocks + forward.other) + again;
}

ModelCosts costs(const ResolvedConfig& config, const ModelVocabulary& vocabulary) {
  const ModelFamily& family = config.family();
  const std::unique_ptr<Module> model = [&] {
    const ShapesOnly shapes;  // no memory for the parameters
    return make_model(config, vocabulary);
  }();
  ModelCosts costs{.vocab = vocabulary.target, .parts = {}, .total = model->parameter_count()};
  for (const ModelPart& part : family.parts) {
    std::int64_t parameters = 0;
    for (const std::string& prefix : part.prefixes) parameters += model->parameter_count(prefix);
    // The one part that may share all of its weights with another.
    const bool tied = parameters == 0 && part.key == "head";
    costs.parts.push_back({part.key, tied ? part.label + " (tied)" : part.label, parameters});
    if (part.only_pretraining) costs.without_heads = costs.without_heads.value_or(costs.total) - parameters;
  }
  const std::int64_t row = config.row_tokens();
  const std::int64_t micro_step = config.train.batch_tokens ? config.train.batch_tokens : config.train.batch * row;
  costs.tokens_per_step = config.train.accumulate * micro_step;
  const bool length_known = !config.data.within_document && config.train.batch_tokens == 0;
  const ForwardFlops forward = family.flops(config.model.options, *model, vocabulary, length_known ? row : 0);
  costs.flops_per_token = training_flops(forward, config.train.recompute);
  return costs;
}

// The vocabularies that training would have.
ModelVocabulary trained_vocabulary(const ResolvedConfig& config) {
  const Config::Tokenizer& tokenizer = config.tokenizer;
  const bool pairs = config.family().reads_pairs(), one = !pairs || tokenizer.joint;
  // Nothing where it depends on the text.
  const auto size_of = [&](const std::string& file) -> std::optional<std::int64_t> {
    if (!file.empty()) return Tokenizer::load(file)->vocab_size();
    return tokenizer.kind == TokenizerKind::character ? std::nullopt : std::optional(tokenizer.vocab);
  };
  const auto source = size_of(tokenizer.file), target = one ? source : size_of(tokenizer.target_file);
  if (source && target) return {.source = *source, .target = *target, .joint = tokenizer.joint};
  const Config::Data& data = config.data;
  if (data.text.empty() && data.corpus.empty() && data.source.empty() && data.pairs.empty()) {
    fail_usage(
        "info: a vocabulary of characters comes from the text: set tokenizer.file, or the training text in [data]");
  }
  if (!pairs) return model_vocabulary(config, *prepare_language_data(config).tokenizer);
  const PairTokenizers tokenizers = prepare_translation_data(config).tokenizers;
  return model_vocabulary(config, *tokenizers.source, *tokenizers.target);
}

}  // namespace

ModelCosts costs_of_run(const ResolvedConfig& config, const std::string& folder) {
  const RunFolder run{folder};
  if (!config.family().reads_pairs()) {
    return costs(config, model_vocabulary(config, *Tokenizer::load(run.tokenizer())));
  }
  const PairTokenizers tokenizers = load_pair_tokenizers(run, config);
  return costs(config, model_vocabulary(config, *tokenizers.source, *tokenizers.target));
}

ModelCosts costs_of_config(const ResolvedConfig& config) { return costs(config, trained_vocabulary(config)); }

}  // namespace tapeformer::cli
