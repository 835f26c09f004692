// Enums of the configuration, and the words for the values of enums whose own headers do not list them.
#pragma once

#include "core/keys.h"
#include "data/labels/labelled_format.h"
#include "data/scores/bleu.h"

namespace tapeformer {

// The weights of the labels in the loss: all equal, or inversely proportional to the frequency of the label.
enum class ClassWeights { none, balanced };

enum class TokenizerKind { character, word, bpe };

// A kernels::MatmulPrecision, or `automatic`: the one that suits the CPU.
enum class MatmulSetting { automatic, highest, high, medium, low };

// The number format of the data that the ranks send to each other.
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
                                                                        {MatmulSetting::medium, "medium"},
                                                                        {MatmulSetting::low, "low"}};
};

template <>
struct Words<CommPrecision> {
  static constexpr std::pair<CommPrecision, std::string_view> list[] = {{CommPrecision::fp32, "fp32"},
                                                                        {CommPrecision::bf16, "bf16"}};
};

}  // namespace tapeformer
