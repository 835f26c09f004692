#include "tokenizer/bpe_tokenizer.h"

#include <array>
#include <utility>

#include "autograd/core/error.h"
#include "tokenizer/pretokenizer.h"

namespace tapeformer {
namespace {

std::array<std::int32_t, 256> ids_of_bytes(const Tokenizer& tokenizer) {
  std::array<std::int32_t, 256> id_of_byte;
  id_of_byte.fill(-1);
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view token = tokenizer.token_bytes(id);
    if (token.size() == 1 && !tokenizer.is_special(id)) id_of_byte[static_cast<std::uint8_t>(token[0])] = id;
  }
  for (int byte = 0; byte < 256; ++byte) check(id_of_byte[byte] >= 0, "byte ", byte, " has no token");
  return id_of_byte;
}

}  // namespace

BpeTokenizer::BpeTokenizer(Vocabulary vocabulary, std::vector<BpeMerge> merges, SplitPattern pattern)
    : Tokenizer(std::move(vocabulary)), pattern_(pattern), table_(std::move(merges), ids_of_bytes(*this)) {
  for (const std::string& token : tokens()) lengths_.push_back(static_cast<std::uint32_t>(token.size()));
  for (const BpeMerge& merge : table_.merges()) {
    check(lengths_[merge.result] == lengths_[merge.left] + lengths_[merge.right], "the merge of the tokens ",
          merge.left, " and ", merge.right, " is not token ", merge.result);
  }
}

void BpeTokenizer::encode_plain(std::string_view text, std::size_t, std::vector<std::int32_t>& ids) const {
  const EncoderPool::Lease encoder = encoders_.take(table_, lengths_);
  for_each_piece(text, pattern_, [&](std::string_view piece) { encoder->encode(piece, ids); });
}

}  // namespace tapeformer
