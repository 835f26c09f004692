#include "cli/model_costs.h"

#include <optional>

#include "core/error.h"
#include "train/config/model_config.h"
#include "train/objectives/language_data.h"
#include "train/objectives/translation_data.h"

namespace tapeformer::cli {
namespace {

struct VocabSizes {
  std::int64_t source, target;
};

// Parameters of one part of a model: those whose names begin with the prefix.
std::int64_t count_parameters(const Module& model, const std::string& prefix) {
  std::int64_t count = 0;
  for (const NamedParameter& parameter : model.named_parameters()) {
    if (parameter.name.starts_with(prefix)) count += parameter.variable.value().numel();
  }
  return count;
}

// Products of the forward, twice their multiplications, become three times that with backward. Recomputing does the
// forward of all layers but the last again.
double training_flops(double layers_forward, double other_forward, const Config& config) {
  const double layers = static_cast<double>(config.model.layers);
  const double again = config.train.recompute ? layers_forward * (layers - 1) / layers : 0;
  return 3 * (layers_forward + other_forward) + again;
}

ModelCosts gpt_costs(const Config& config, std::int64_t vocab) {
  const Gpt model(gpt_config(config, vocab));
  const auto count = [&](const char* prefix) { return count_parameters(model, prefix); };
  const std::int64_t head = count("head.");
  ModelCosts costs{.vocab = vocab,
                   .parts = {{"embeddings", "token embedding", count("token_embedding.")},
                             {"positions", "position embedding", count("position_embedding.")},
                             {"blocks", "blocks", count("blocks.")},
                             {"final_norm", "final norm", count("final_norm.")},
                             {"head", head ? "head" : "head (tied)", head}},
                   .total = model.parameter_count(),
                   .tokens_per_step = config.train.batch * config.train.accumulate * config.model.context};
  // Documents do not say how long they are: then attention, the lesser part, is left out.
  const std::int64_t length = config.data.within_document ? 0 : config.model.context;
  const double attention = static_cast<double>(config.model.layers * config.model.dim * length);
  const double products =
      static_cast<double>(costs.total - count("position_embedding.") - (head ? count("token_embedding.") : 0));
  const double blocks_forward = 2 * static_cast<double>(count("blocks.")) + 2 * attention;
  costs.flops_per_token =
      training_flops(blocks_forward, 2 * products - 2 * static_cast<double>(count("blocks.")), config);
  return costs;
}

ModelCosts transformer_costs(const Config& config, const VocabSizes& vocab) {
  const Transformer model(transformer_config(config, vocab.source, vocab.target));
  const auto count = [&](const char* prefix) { return count_parameters(model, prefix); };
  const std::int64_t head = count("head.");
  const std::int64_t positions = count("source_position_embedding.") + count("target_position_embedding.");
  ModelCosts costs{.vocab = vocab.target,
                   .parts = {{"embeddings", "embeddings", count("source_embedding.") + count("target_embedding.")},
                             {"positions", "position embeddings", positions},
                             {"encoder", "encoder", count("encoder.")},
                             {"decoder", "decoder", count("decoder.")},
                             {"head", head ? "head" : "head (tied)", head}},
                   .total = model.parameter_count(),
                   .tokens_per_step = config.train.accumulate * (config.train.batch_tokens
                                                                     ? config.train.batch_tokens
                                                                     : config.train.batch * config.model.context)};
  // Batches by tokens do not say how long their sentences are: then attention, the lesser part, is left out.
  const std::int64_t length = config.train.batch_tokens ? 0 : config.model.context;
  const double attention = static_cast<double>(config.model.layers * config.model.dim * length);
  // Attention of the encoder, to the encoder, and (causal) of the decoder: 4, 4 and 2 a token.
  const double layers_forward = 2 * static_cast<double>(count("encoder.") + count("decoder.")) + 10 * attention;
  const double head_forward = 2 * static_cast<double>(vocab.target * config.model.dim);
  costs.flops_per_token = training_flops(layers_forward, head_forward, config);
  return costs;
}

// The vocabularies that training would have.
VocabSizes vocab_sizes(const Config& config) {
  const Config::Tokenizer& tokenizer = config.tokenizer;
  const bool one = config.model.type == "gpt" || tokenizer.joint;
  // Nothing where it depends on the text.
  const auto size_of = [&](const std::string& file) -> std::optional<std::int64_t> {
    if (!file.empty()) return Tokenizer::load(file)->vocab_size();
    return tokenizer.kind == "char" ? std::nullopt : std::optional(tokenizer.vocab);
  };
  const auto source = size_of(tokenizer.file), target = one ? source : size_of(tokenizer.target_file);
  if (source && target) return {*source, *target};
  const Config::Data& data = config.data;
  if (data.text.empty() && data.corpus.empty() && data.source.empty() && data.pairs.empty()) {
    fail_usage(
        "info: a vocabulary of characters comes from the text: set tokenizer.file, or the training text in [data]");
  }
  if (config.model.type == "gpt") {
    const std::int64_t vocab = prepare_language_data(config).tokenizer->vocab_size();
    return {vocab, vocab};
  }
  const PairTokenizers tokenizers = prepare_translation_data(config).tokenizers;
  return {tokenizers.source->vocab_size(), tokenizers.target->vocab_size()};
}

}  // namespace

ModelCosts costs_of_run(const Config& config, const std::string& folder) {
  const RunFolder run{folder};
  if (config.model.type == "gpt") return gpt_costs(config, Tokenizer::load(run.tokenizer())->vocab_size());
  const PairTokenizers tokenizers = load_pair_tokenizers(run, config);
  return transformer_costs(config, {tokenizers.source->vocab_size(), tokenizers.target->vocab_size()});
}

ModelCosts costs_of_config(const Config& config) {
  const VocabSizes vocab = vocab_sizes(config);
  return config.model.type == "gpt" ? gpt_costs(config, vocab.source) : transformer_costs(config, vocab);
}

}  // namespace tapeformer::cli
