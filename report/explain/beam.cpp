// The tree of a beam search.
#include "autograd/kernels/gemm/precision.h"
#include "autograd/tape/tape.h"
#include "core/text/visible_text.h"
#include "data/parallel/pair_batcher.h"
#include "generate/translator.h"
#include "nn/models/transformer.h"
#include "nn/optim/optimizers.h"
#include "report/explain/topics.h"
#include "tasks/translation/trained_translator.h"
#include "tokenizer/train_tokenizer.h"

#include <algorithm>
#include <cmath>

namespace tapeformer::explain {
namespace {

// Sentences for the built-in model. Some sources have two translations, so that a search has something to weigh.
constexpr std::pair<std::string_view, std::string_view> kSentences[] = {
    {"the cat sleeps", "die katze schläft"},
    {"the dog sleeps", "der hund schläft"},
    {"the bird sings", "der vogel singt"},
    {"the cat sees the dog", "die katze sieht den hund"},
    {"the dog sees the cat", "der hund sieht die katze"},
    {"the bird sees the cat", "der vogel sieht die katze"},
    {"you sleep", "du schläfst"},
    {"you sleep", "ihr schlaft"},
    {"you sing", "du singst"},
    {"you sing", "sie singen"},
    {"you see the bird", "du siehst den vogel"},
    {"you see the bird", "sie sehen den vogel"},
    {"you see the dog", "ihr seht den hund"},
    {"you see the dog", "du siehst den hund"},
};

// What a search needs: a run, or the built-in model.
struct Translator {
  std::shared_ptr<const Tokenizer> source, target;
  PairSymbols symbols;
  std::unique_ptr<EncoderDecoder> model;
  kernels::MatmulPrecision matmul = kernels::MatmulPrecision::highest;
};

std::shared_ptr<const Tokenizer> words_of(bool sources) {
  std::vector<std::string_view> texts;
  for (const auto& [source, target] : kSentences) texts.push_back(sources ? source : target);
  return train_tokenizer({.kind = "word", .vocab = 100, .special_tokens = {kBeginToken, kEndToken, kPaddingToken}},
                         texts);
}

// Trains a Transformer of one layer on the sentences for 60 steps.
Translator built_in_translator() {
  constexpr std::int64_t kSteps = 60;
  Translator translator{.source = words_of(true), .target = words_of(false), .symbols = {}, .model = {}};
  translator.symbols = {sentence_symbols(*translator.source, "source"), sentence_symbols(*translator.target, "target")};
  const Init init = Init::xavier_uniform();
  const TransformerConfig config{.source_vocab = translator.source->vocab_size(),
                                 .target_vocab = translator.target->vocab_size(),
                                 .context = 16,
                                 .layers = 1,
                                 .block = {.dim = 32, .heads = 2, .ff_dim = 64, .init = init, .residual_init = init},
                                 .tied = TiedEmbeddings::none};
  translator.model = std::make_unique<Transformer>(config);
  translator.model->initialize_parameters(1);
  TokenPairs pairs;
  for (const auto& [source, target] : kSentences) {
    pairs.add(translator.source->encode(source), translator.target->encode(target), std::ssize(target));
  }
  const LengthBuckets batches(pairs, translator.symbols, {.sentences = std::ssize(kSentences)});
  PairBatch batch;
  batches.fill(0, batch);
  const auto tensor = [](const std::vector<std::int32_t>& ids, const Dims& sizes) {
    return Tensor::from(std::span<const std::int32_t>(ids), sizes);
  };
  const SourceBatch source{tensor(batch.source, {batch.rows, batch.source_length}),
                           tensor(batch.source_lengths, {batch.rows})};
  const Dims target{batch.rows, batch.target_length};
  const ParameterSlab slab(*translator.model);
  const auto optimizer = make_optimizer("adam", slab, {});
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    slab.zero_grad();
    Tape tape;
    tape.backward(translator.model->loss(source, Variable::constant(tape, tensor(batch.inputs, target)),
                                         Variable::constant(tape, tensor(batch.targets, target)), {}));
    optimizer->step(1e-2, step);
  }
  return translator;
}

Translator translator_of(WorkedExample& out, const TopicOptions& options) {
  if (!options.has("run")) {
    out.say(str_cat("A Transformer of one layer, trained just now on ", std::ssize(kSentences),
                    " sentences. \"you\" is du, ihr or sie in them."));
    return built_in_translator();
  }
  const std::string path = options.text("run", "");
  auto run = load_run<TrainedTranslator>(RunSelection(path));
  out.say("The model of " + path + ", " + run.checkpoint_text + ".");
  return {run.tokenizers.source, run.tokenizers.target, run.tokenizers.symbols, std::move(run.model), run.matmul};
}

// Makes a tree of the candidates that a beam search considers.
class SearchTree {
 public:
  SearchTree(const Tokenizer& tokenizer, std::int32_t end) : tokenizer_(tokenizer), end_(end) {}

  // Adds the candidates of the next length.
  void add(const std::vector<BeamCandidate>& candidates) {
    std::vector<std::int64_t> live;
    for (const BeamCandidate& candidate : candidates) {
      const std::string token = candidate.id == end_ ? kEndToken : visible_text(tokenizer_.token_bytes(candidate.id));
      const char* const outcome = !candidate.kept ? "dropped" : candidate.ended ? "finished" : "kept";
      if (candidate.kept && !candidate.ended) live.push_back(std::ssize(tree.nodes));
      tree.nodes.push_back(
          {.parent = live_.empty() ? -1 : live_[candidate.parent],
           .text = token,
           .numbers = {{"log P", candidate.log_probability}, {"P", std::exp(candidate.log_probability)}},
           .note = outcome});
    }
    live_ = std::move(live);
  }

  Tree tree{"tree", {}};

 private:
  const Tokenizer& tokenizer_;
  std::int32_t end_;
  std::vector<std::int64_t> live_;  // the nodes of the hypotheses, in the order of the search
};

}  // namespace

WorkedExample explain_beam(const TopicOptions& options) {
  WorkedExample out{"beam", "Beam search"};
  const std::int64_t beam = options.integer("beam", 2, 1);
  if (options.has("run") && !options.has("text")) fail_usage("explain beam: --run: expected --text TEXT beside it");
  const Translator translator = translator_of(out, options);
  const kernels::MatmulPrecisionScope precision(translator.matmul);
  const std::string text = options.text("text", "you see the bird");
  const std::vector<std::int32_t> source = translator.source->encode(text);
  if (source.empty()) fail_usage("explain beam: --text: expected a text, got none");
  out.say(str_cat("Source: ", text, ". Beam: ", beam, "."));
  out.say(
      "At each length the search keeps the continuations with the largest log P, the sum of the logarithms of their "
      "tokens' probabilities. The tree shows as many that it drops.");
  SearchTree search_tree(*translator.target, translator.symbols.target.end);
  const BeamOptions search{
      .beam = beam,
      .n_best = beam,
      .observer = [&](std::size_t, const auto&, const auto& candidates) { search_tree.add(candidates); },
      .observe_dropped = beam};
  const std::vector<Hypothesis> best =
      translate(*translator.model, {&source, 1}, translator.symbols, {.search = search}).front();
  out.show(std::move(search_tree.tree));
  out.heading("Finished hypotheses");
  out.formula("score = log P / ((5 + tokens)/6)^α, α = " + number_text(search.length_penalty));
  CellTable table{"finished", {"translation", "log P", "score"}, {}};
  for (const Hypothesis& hypothesis : best) {
    table.rows.push_back(
        {printable_text(translator.target->decode(hypothesis.ids)), hypothesis.log_probability, hypothesis.score});
  }
  out.show(std::move(table));
  return out;
}

}  // namespace tapeformer::explain
