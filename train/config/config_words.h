// The words of the configuration that name the values of an enum, where the enum's own header does not list them.
#pragma once

#include "core/keys.h"
#include "data/scores/bleu.h"

namespace tapeformer {

enum class TokenizerKind { character, word, bpe };

// kernels::MatmulPrecision, or the one that suits the CPU.
enum class MatmulSetting { automatic, highest, high, medium };

template <>
struct Words<TokenizerKind> {
  static constexpr std::pair<TokenizerKind, std::string_view> list[] = {
      {TokenizerKind::character, "char"}, {TokenizerKind::word, "word"}, {TokenizerKind::bpe, "bpe"}};
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

}  // namespace tapeformer
