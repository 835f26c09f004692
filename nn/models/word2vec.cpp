#include "nn/models/word2vec.h"

namespace tapeformer {

Word2vec::Word2vec(const Word2vecConfig& config)
    : config_(config),
      token_embedding_(config.vocab, config.dim, Init::uniform(0.5 / static_cast<double>(config.dim)), config.dtype) {
  register_module("token_embedding", token_embedding_);
  refuse_hooks("word2vec has no output beside its embedding: hook token_embedding");
}

std::vector<Variable> Word2vec::hidden_states(const Batch& batch) const {
  return {token_embedding_.forward(only_ids(batch, "word2vec"))};
}

namespace {

std::vector<Key> word2vec_keys() {
  const KeyRange size = between(1, kMaxSize);
  return {{"dim", std::int64_t{64}, "width of a token's vector", size},
          {"window", std::int64_t{5}, "contexts of a token are those at most so far from it, on both sides", size},
          {"negatives", std::int64_t{5}, "tokens that are drawn against each context", size},
          {"negative_power", 0.75, "they are drawn in proportion to their count to this power", at_least(0)},
          {"context", std::int64_t{32}, "neighbouring tokens of a row of a batch whose contexts are predicted", size}};
}

std::unique_ptr<Model> make_word2vec(const KeyValues& options, const ModelVocabulary& vocabulary) {
  return std::make_unique<Word2vec>(Word2vecConfig{.vocab = vocabulary.target, .dim = options.integer("dim")});
}

}  // namespace

ModelFamily word2vec_family() {
  return {.name = "word2vec",
          .help = "word vectors by skip-gram with negative sampling (Mikolov et al. 2013)",
          .task = "skip_gram",
          .keys = word2vec_keys(),
          .resolve = [](KeyValues&, bool) {},
          .make = ModelMaker(make_word2vec),
          .parts = {{"embeddings", "token embedding", {"token_embedding."}}},
          .flops = [](const KeyValues&, const Module&, const ModelVocabulary&, std::int64_t) { return ForwardFlops{}; },
          .training = {.lr = 5e-3,
                       .schedule = ScheduleKind::wsd,
                       .optimizer = {{"beta2", 0.99}, {"eps", 1e-8}, {"weight_decay", 0.0}}}};
}

}  // namespace tapeformer
