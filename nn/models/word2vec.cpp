#include "nn/models/word2vec.h"

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/reductions.h"
#include "autograd/ops/views.h"
#include "autograd/tape/tape.h"

namespace tapeformer {

Word2vec::Word2vec(const Word2vecConfig& config)
    : config_(config),
      token_embedding_(config.vocab, config.dim, Init::uniform(0.5 / static_cast<double>(config.dim)), config.dtype),
      context_embedding_(config.vocab, config.dim, Init::zeros(), config.dtype) {
  register_module("token_embedding", token_embedding_);
  register_module("context_embedding", context_embedding_);
  refuse_hooks("word2vec has no output beside its embeddings: hook token_embedding and context_embedding");
}

std::vector<Variable> Word2vec::hidden_states(const Batch& rows) const {
  check(rows.ids.value().rank() == 2, "word2vec: expected ids (B, T), got ", rows.ids.sizes());
  return {token_embedding_.forward(rows.ids)};
}

Variable Word2vec::logits(const Variable& features) const { return linear(features, context_embedding_.weight, {}); }

Variable Word2vec::loss(const Variable& features, const Tensor& targets, const CrossEntropyOptions& options) const {
  return linear_cross_entropy(reshape(features, {-1, config_.dim}), context_embedding_.weight, {},
                              Variable::constant(*features.tape(), targets.reshape({-1})), options);
}

// Since −ln σ(x) = softplus(−x), the term of a context is softplus(−u·v), and that of a negative is softplus(u·v).
Variable Word2vec::loss(const SkipGramPairs& pairs, double normalizer) const {
  const Dims sizes = pairs.outputs.sizes();
  check(sizes.rank() == 3 && pairs.centers.sizes() == Dims{sizes[0]} && sizes[2] >= 1, "word2vec: the centres are ",
        pairs.centers.sizes(), ", the outputs ", sizes, ": expected (N) and (N, C, 1 + k)");
  const Variable v = reshape(token_embedding_.forward(pairs.centers), {sizes[0], config_.dim, 1});
  const Variable u = reshape(context_embedding_.forward(pairs.outputs), {sizes[0], sizes[1] * sizes[2], config_.dim});
  const Variable scores = reshape(matmul(u, v), sizes);
  const Tensor signs = Tensor::full({sizes[2]}, config_.dtype, 1);
  signs.slice(0, 0, 1).fill(-1);
  return scale(sum(softplus(mul(scores, Variable::constant(*v.tape(), signs)))), 1 / normalizer);
}

namespace {

std::vector<Key> word2vec_keys() {
  const KeyRange size = between(1, kMaxSize);
  return {{"dim", std::int64_t{100}, "width of a token's vector", size},
          {"window", std::int64_t{5}, "contexts of a token are those at most so far from it, on both sides", size},
          {"negatives", std::int64_t{5}, "tokens that are drawn against each context", size},
          {"negative_power", 0.75, "they are drawn in proportion to their count to this power", at_least(0)},
          {"context", std::int64_t{32}, "neighbouring tokens of a row of a batch whose contexts are predicted", size}};
}

std::unique_ptr<SkipGramModel> make_word2vec(const KeyValues& options, const ModelVocabulary& vocabulary) {
  return std::make_unique<Word2vec>(Word2vecConfig{.vocab = vocabulary.target,
                                                   .dim = options.integer("dim"),
                                                   .window = options.integer("window"),
                                                   .negatives = options.integer("negatives"),
                                                   .negative_power = options.number("negative_power")});
}

// Each centre needs one product of two vectors for each of its contexts and for each negative.
ForwardFlops word2vec_flops(const KeyValues& options, const Module&, const ModelVocabulary&, std::int64_t) {
  const std::int64_t outputs = 2 * options.integer("window") * (1 + options.integer("negatives"));
  const double head = 2 * static_cast<double>(outputs * options.integer("dim"));
  return {.other = head, .head = head};
}

}  // namespace

ModelFamily word2vec_family() {
  return {.name = "word2vec",
          .help = "word vectors by skip-gram with negative sampling (Mikolov et al. 2013)",
          .task = "skip_gram",
          .keys = word2vec_keys(),
          .resolve = [](KeyValues&, bool) {},
          .make = SkipGramModelMaker(make_word2vec),
          .parts = {{"embeddings", "token embedding", {"token_embedding."}},
                    {"contexts", "context embedding", {"context_embedding."}, true}},
          .flops = word2vec_flops};
}

}  // namespace tapeformer
