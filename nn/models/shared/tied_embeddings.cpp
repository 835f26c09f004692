#include "nn/models/shared/tied_embeddings.h"

namespace tapeformer {

Key pair_tied_key() {
  Key tied = word_key("tie_embeddings", TiedEmbeddings::all,
                      "embeddings that share weights (auto = all with a joint vocabulary, else output)");
  std::get<std::vector<std::string>>(tied.allowed).push_back("auto");
  tied.default_value = std::string("auto");
  tied.follows = "tokenizer.joint";
  return tied;
}

void resolve_pair_tied(KeyValues& options, bool joint) {
  const std::string& tied = options.text("tie_embeddings");
  if (tied == "auto") options.set("tie_embeddings", std::string(joint ? "all" : "output"));
  if (!joint && tied == "all") {
    fail_usage("model.tie_embeddings: all needs tokenizer.joint = true, expected none or output");
  }
}

Key tied_key(TiedEmbeddings default_value) {
  return word_key("tie_embeddings", default_value, "embeddings that share weights with the head");
}

void resolve_tied(KeyValues& options) {
  if (options.text("tie_embeddings") == "all") options.set("tie_embeddings", std::string("output"));
}

bool ties_embeddings(const KeyValues& options) {
  return options.word<TiedEmbeddings>("tie_embeddings") != TiedEmbeddings::none;
}

}  // namespace tapeformer
