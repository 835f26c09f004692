// The words of the configuration that name the values of an enum, where the enum's own header does not list them.
#pragma once

#include "core/keys.h"
#include "data/scores/bleu.h"
#include "data/text/labelled_format.h"

namespace tapeformer {

// Weights of the labels' losses: all alike, or inversely proportional to how often a label is there.
enum class ClassWeights { none, balanced };

enum class TokenizerKind { character, word, bpe };

// kernels::MatmulPrecision, or the one that suits the CPU.
enum class MatmulSetting { automatic, highest, high, medium };

// What travels between the ranks of a job.
enum class CommPrecision { fp32, bf16 };

template <>
struct Words<TokenizerKind> {
  static constexpr std::pair<TokenizerKind, std::string_view> list[] = {
      {TokenizerKind::character, "char"}, {TokenizerKind::word, "word"}, {TokenizerKind::bpe, "bpe"}};
};
template <>
struct Words<ClassWeights> {
  static constexpr std::pair<ClassWeights, std::string_view> list[] = {{ClassWeights::none, "none"},
                                                                       {ClassWeights::balanced, "balanced"}};
};
template <>
struct Words<BleuTokenization> {
  static constexpr std::pair<BleuTokenization, std::string_view> list[] = {{BleuTokenization::v13a, "13a"},
                                                                           {BleuTokenization::none, "none"}};
};

template <>
struct Words<MatmulSetting> {
  static constexpr std::pair<MatmulSetting, std::string_view> list[] = {{MatmulSetting::automatic, "auto"},
                                                                        {MatmulSetting::highest, "highest"},
                                                                        {MatmulSetting::high, "high"},
                                                                        {MatmulSetting::medium, "medium"}};
};

template <>
struct Words<CommPrecision> {
  static constexpr std::pair<CommPrecision, std::string_view> list[] = {{CommPrecision::fp32, "fp32"},
                                                                        {CommPrecision::bf16, "bf16"}};
};

}  // namespace tapeformer
