// Every number by which plans are made (`--minutes`), to be tuned by experiments. The rules that use them are in
// rules.h and in the plans of the tasks.
#pragma once

#include <cstdint>

namespace tapeformer::tuning {

// The size of a model: on each side, for an encoder-decoder.
struct ModelSize {
  std::int64_t layers, dim;
};
inline constexpr ModelSize kGptSizes[] = {{2, 64},  {4, 96},  {4, 128}, {4, 192},
                                          {5, 256}, {6, 384}, {8, 512}, {12, 768}};
inline constexpr ModelSize kTranslationSizes[] = {{2, 64}, {3, 128}, {4, 128}, {4, 192}, {6, 256}, {6, 512}};
inline constexpr ModelSize kEncoderSizes[] = {{1, 64}, {2, 64}, {2, 128}, {4, 128}, {4, 256}, {6, 384}};
// The width of a head: the smaller one in models that are narrower than the limit.
inline constexpr std::int64_t kNarrowHead = 32, kWideHead = 64, kWideModel = 384;

// The predicted loss of N parameters that have read D tokens: e + a / N^alpha + b / D^beta.
struct LossLaw {
  double e, a, alpha, b, beta;
};
// The values that Hoffmann et al. 2022 (section 3.3) fitted to larger models.
inline constexpr LossLaw kLossLaw{.e = 1.69, .a = 406.4, .alpha = 0.34, .b = 410.7, .beta = 0.28};
// The larger the vocabulary, the more text it takes to learn each of its tokens: in predicted_loss() a token counts for
// (65 / vocab)^power characters. Fitted to trainings of 1 and 3 minutes (docs/learning.md).
inline constexpr double kCharacterVocab = 65, kVocabPower = 0.55;
// R* in effective_tokens(): the smaller, the sooner repeated tokens are worth nothing (Muennighoff et al. 2023: 15.39).
inline constexpr double kRepeatsThatCount = 15.39;

// The share of the minutes in which steps are done: the rest is for reading, planning, evaluations and the end.
inline constexpr double kStepsShare = 0.88;
// The share of the minutes, and the least seconds, in which speeds are measured; into how many measurements this time
// is divided, and the seconds of the longest measurement.
inline constexpr double kMeasuringShare = 0.06, kMeasuringLeast = 1, kLongestMeasurement = 1.5;
inline constexpr int kMeasurements = 12;
// The factor by which a step must be faster with more exact products to get them, as it may be for small models.
inline constexpr double kClearlyFaster = 1.03;
// The largest share of the machine's memory for weights, gradients and moments, and for the activations of a
// micro-step. And about how many bytes activations take for each token, layer and unit of the width (48 to 58 were
// measured).
inline constexpr double kMemoryShare = 0.25, kActivationBytes = 60;

// Tokenizers are chosen by a sample of the text, of at most kSampleBytes. A text of at most kCharBytes bytes with at
// most kMostCharacters different characters is read by characters: its sample is all of it, so that none of its bytes
// can be one that is no character.
inline constexpr std::int64_t kSampleBytes = 1'200'000;
inline constexpr double kCharBytes = kSampleBytes;
inline constexpr std::int64_t kMostCharacters = 200;
// The vocabulary of byte pairs for texts of up to `up_to` bytes that a language model reads (kTextVocab; measured with
// 0.25 to 11 MB, docs/learning.md), for texts with labels (kLabelVocab), and for up to `up_to` pairs of sentences
// (kPairVocab). For a language model, a text of few different words has a smaller vocabulary: kTokensOfWord tokens for
// each different word (or character, where there are more), but no fewer than the first row of kTextVocab has.
struct VocabRow {
  double up_to;
  std::int64_t vocab;
};
inline constexpr VocabRow kTextVocab[] = {{3e5, 512}, {1.2e6, 2048}, {50e6, 4096}, {1e300, 8192}};
inline constexpr double kTokensOfWord = 3;
inline constexpr VocabRow kLabelVocab[] = {{1e6, 512}, {5e6, 1024}, {25e6, 2048}, {200e6, 4096}, {1e300, 8192}};
inline constexpr VocabRow kPairVocab[] = {{3000, 512}, {10000, 2000}, {20000, 4000}, {200000, 8000}, {1e300, 16000}};

// A step's tokens: the tokens of the training divided by the wanted steps, as a power of two, within these limits
// (kFewestPairStepTokens for a translation). While the size of the model is chosen, a step has kFirstStepTokens.
inline constexpr double kWantedSteps = 3000;
inline constexpr std::int64_t kFewestStepTokens = 2048, kFewestPairStepTokens = 1024, kMostStepTokens = 32768;
inline constexpr std::int64_t kFirstStepTokens = 2048;
// Contexts of a language model: the longer one from kLongContextMinutes on. The context is shortened until the text has
// at least kLeastRows rows.
inline constexpr std::int64_t kContext = 128, kLongContext = 256, kLeastContext = 16, kLeastRows = 32;
inline constexpr double kLongContextMinutes = 2;

// Learning rates at a width of 128: Muon's for the matrices, and AdamW's for all parameters (beside Muon: for the other
// ones). At another width they are multiplied by (kRateWidth / width)^power.
inline constexpr double kMuonRate = 0.02, kMuonPower = 0, kAdamRate = 3e-3, kAdamPower = 0.5;
inline constexpr double kRateWidth = 128;
// A language model's embedding is also its head, so with few tokens each of its rows gets large gradients at every
// step. Beside Muon, AdamW's rate is multiplied by (vocab / kFullRateVocab)^power, within kLeastRateShare and 1
// (docs/learning.md).
inline constexpr double kFullRateVocab = 2048, kRateVocabPower = 1.5, kLeastRateShare = 0.35;
// AdamW's or Adam's rates of other tasks: of translation without Muon, of models that learn labels from scratch (at
// 3e-3 a BERT falls back to chance; docs/learning.md), and of a classifier on a model that stays as it is.
inline constexpr double kTranslationRate = 5e-3, kTranslationPower = 0.5;
inline constexpr double kLabelRate = 1e-3, kFrozenLabelRate = 3e-3, kLabelPower = 0.5;
// Rates of fine-tuning (docs/learning.md): of Muon, of AdamW for text, translations and conversations, and of AdamW for
// labels. Higher ones undo what the weights know. Adapters learn at a multiple of AdamW's rate. For a training of
// P > `passes` passes over the data, the rates, except those for labels, are multiplied by `passes` / P.
struct TunedRates {
  double adam, passes;
};
inline constexpr TunedRates kTunedText{5e-4, 2.8}, kTunedConversations{1e-3, 2};
inline constexpr double kTunedMuonRate = 0.005, kTunedPower = 0.5;
inline constexpr double kTunedLabelRate = 1e-3, kTunedLabelPower = 1.5;
inline constexpr double kAdapterRateFactor = 10;
// Warm-up and cool-down as shares of the steps, and the limits of warm-up.
inline constexpr double kWarmupShare = 0.03, kTranslationWarmupShare = 0.06;
inline constexpr double kCooldown = 0.6, kTranslationCooldown = 0.7;
inline constexpr std::int64_t kFewestWarmup = 10, kMostWarmup = 1000;

// Dropout is 0 for up to `free_epochs` passes over the data, and grows by `per_doubling` with each doubling of the
// passes, up to `most`. A model with more parameters than the data has tokens can learn the data by heart: its dropout
// is multiplied by 1 + of_excess · log2(parameters / tokens).
struct DropoutRule {
  double free_epochs, per_doubling, most, of_excess = 0;
};
inline constexpr DropoutRule kTextDropout{4, 0.05, 0.4, 0.75}, kPairDropout{2, 0.07, 0.3}, kLabelDropout{4, 0.05, 0.2};

// Evaluations: their number, and the share of the time that they take at most; an evaluated token costs a third of one
// that is trained on.
inline constexpr std::int64_t kFewestEvaluations = 3, kMostEvaluations = 20;
inline constexpr double kEvaluationShare = 0.05, kEvaluatedTokenCost = 1.0 / 3;
inline constexpr double kCheckpointMinutes = 5;
// BLEU: how often it is computed, and of how many sentences for each minute, within limits.
inline constexpr std::int64_t kBleuScores = 3, kFewestBleuSentences = 50, kMostBleuSentences = 1000;
inline constexpr double kBleuSentencesOfMinute = 100;
// Sentences of a translation are read by characters if they have at most kCharSentence bytes on average: a character of
// Chinese, of three bytes, says as much as some letters. The context is kSentenceContext times the mean number of
// tokens, of a translation on the longer side, rounded to a power of two.
inline constexpr double kCharSentence = 30, kSentenceContext = 5;
inline constexpr std::int64_t kLeastSentenceContext = 64, kMostSentenceContext = 512;
// Conversations: the share of them that fit into the context, unless it would be longer than kMostConversationContext.
inline constexpr double kFittingConversations = 0.99;
inline constexpr std::int64_t kMostConversationContext = 1024;
// The largest number of micro-steps in a step, each of sentences of similar lengths.
inline constexpr std::int64_t kMostPairMicroSteps = 4;
// The hidden width of feed-forward layers, as a multiple of the model's width.
inline constexpr std::int64_t kTranslationFf = 2;
inline constexpr std::int64_t kLabelBatch = 16;  // examples in a step

// Keys with one value for all sizes.
struct FixedKey {
  const char *key, *value, *reason;
};
inline constexpr FixedKey kGptKeys[] = {
    {"model.norm_kind", "rms", "today's blocks: RMS norms"},
    {"model.activation", "swiglu", "today's blocks: a gated feed-forward layer"},
    {"model.position", "rotary", "today's blocks: rotary positions"},
    {"model.qk_norm", "true", "today's blocks: norms of queries and keys"},
    {"model.bias", "false", "today's blocks: no biases"},
    {"model.init_std", "0.05", "narrow matrices begin wider than GPT-2's"},
    {"optimizer.name", "muon", "it learns most in a second"},
    {"optimizer.beta2", "0.99", "short trainings: moments of the last hundred steps"},
    {"optimizer.eps", "1e-8", "as published"},
};
// Keys of models whose weights are those of another run. They replace those above, and the rule for the dropout, which
// undoes what the weights know (docs/learning.md).
inline constexpr FixedKey kFineTuningKeys[] = {
    {"model.dropout", "0", "weights that are trained already learn more without it"},
    {"model.attention_dropout", "0", "weights that are trained already learn more without it"},
    {"optimizer.name", "adamw", "trained weights need small steps, not Muon's"},
};
inline constexpr FixedKey kTranslationKeys[] = {
    {"model.norm", "pre", "it needs no long warm-up"},
    {"model.attention_dropout", "0", "as in multi30k-tiny.toml"},
    {"model.tie_embeddings", "all", "one vocabulary: source, target and head share its vectors"},
    {"optimizer.name", "muon", "it learns most in a second"},
    {"optimizer.clip", "0", "as in multi30k-tiny.toml"},
    {"train.label_smoothing", "0.1", "as published"},
    {"train.batch_tokens", "1024", "small batches, each of sentences of like lengths"},
    {"train.length_groups", "0", "each micro-step draws lengths of its own"},
    {"eval.bleu_tokenize", "none", "the text is scored as it is written"},
};
// Keys of a translation with Muon only: Adam would add the weight decay to the gradient (L2 regularisation).
inline constexpr FixedKey kTranslationMuonKeys[] = {
    {"optimizer.weight_decay", "0.01", "as in multi30k-tiny.toml"},
};
inline constexpr FixedKey kLabelKeys[] = {
    {"optimizer.name", "adamw", "as published"},
    {"optimizer.beta2", "0.99", "short trainings: moments of the last hundred steps"},
    {"optimizer.weight_decay", "0.01", "as published"},
};

}  // namespace tapeformer::tuning
