#include "nn/models/shared/seq2seq_model.h"

#include "core/error.h"

namespace tapeformer {

Seq2SeqEmbeddings::Seq2SeqEmbeddings(const Seq2SeqEmbeddingsConfig& config)
    : source(config.source_vocab, config.dim, config.source_init, config.dtype),
      target(config.tied == TiedEmbeddings::all ? 0 : config.target_vocab, config.dim, config.target_init,
             config.dtype) {
  refuse_hooks("the two embeddings have no common output: hook source_embedding and target_embedding");
  register_module("source_embedding", source);
  if (config.tied != TiedEmbeddings::all) {
    register_module("target_embedding", target);
    return;
  }
  if (config.source_vocab != config.target_vocab) {
    fail_usage("model.tie_embeddings: all needs one vocabulary, the source's has ", config.source_vocab,
               " tokens, the target's ", config.target_vocab);
  }
  target.weight = source.weight;
  register_tied("target_embedding.weight", target.weight);
}

Seq2SeqModel::Seq2SeqModel(const Seq2SeqEmbeddingsConfig& embeddings, const Seq2SeqHeadConfig& head)
    : embeddings_(embeddings),
      head_(embeddings_.target, embeddings.tied != TiedEmbeddings::none, embeddings.dim, head.with_bias, head.init,
            embeddings.dtype, head.softcap) {}

}  // namespace tapeformer
