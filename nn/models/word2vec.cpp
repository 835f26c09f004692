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
          {"architecture", std::string("skip_gram"),
           "skip_gram: a token predicts each of its contexts; cbow: the mean of the contexts predicts the token",
           std::vector<std::string>{"skip_gram", "cbow"}},
          {"window", std::int64_t{5}, "contexts of a token are those at most so far from it, on both sides", size},
          {"negatives", std::int64_t{5},
           "tokens that are drawn at random for each predicted one, as examples of what it is not", size},
          {"negative_power", 0.75, "negatives are drawn in proportion to their count to this power", at_least(0)},
          {"context", std::int64_t{32}, "neighbouring tokens of a row of a batch whose contexts are predicted", size}};
}

std::unique_ptr<Model> make_word2vec(const KeyValues& options, const ModelVocabulary& vocabulary) {
  return std::make_unique<Word2vec>(Word2vecConfig{.vocab = vocabulary.target, .dim = options.integer("dim")});
}

// The defaults of Pennington et al. 2014.
std::vector<Key> glove_keys() {
  const KeyRange size = between(1, kMaxSize);
  return {{"dim", std::int64_t{64}, "width of a token's vector", size},
          {"window", std::int64_t{10}, "tokens at most so far from each other are a pair", size},
          {"x_max", 100.0, "pairs that occur so often have the full weight", above(0)},
          {"alpha", 0.75, "pairs that occur less often have the weight (count / x_max)^alpha", at_least(0)},
          {"context", std::int64_t{128}, "pairs of near tokens in a row of a batch", size}};
}

// What both families have in common.
ModelFamily vectors_family(std::string name, std::string help, std::string task, std::vector<Key> keys) {
  return {.name = std::move(name),
          .help = std::move(help),
          .task = std::move(task),
          .keys = std::move(keys),
          .resolve = [](KeyValues&, bool) {},
          .make = ModelMaker(make_word2vec),
          .parts = {{"embeddings", "token embedding", {"token_embedding."}}},
          .flops = [](const KeyValues&, const Module&, const ModelVocabulary&, std::int64_t) { return ForwardFlops{}; },
          .training = {.lr = 5e-3,
                       .schedule = ScheduleKind::wsd,
                       .optimizer = {{"beta2", 0.99}, {"eps", 1e-8}, {"weight_decay", 0.0}}}};
}

}  // namespace

ModelFamily word2vec_family() {
  return vectors_family("word2vec", "word vectors by skip-gram or CBOW with negative sampling (Mikolov et al. 2013)",
                        "skip_gram", word2vec_keys());
}

ModelFamily glove_family() {
  return vectors_family("glove", "word vectors by counts of near words (GloVe, Pennington et al. 2014)", "glove",
                        glove_keys());
}

}  // namespace tapeformer
