// The words of the configuration that name the values of an enum, where the enum's own header does not list them.
#pragma once

#include "core/keys.h"
#include "data/scores/bleu.h"

namespace tapeformer {

enum class TokenizerKind { character, word, bpe };

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

}  // namespace tapeformer
