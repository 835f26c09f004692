// How the kinds of tokenizers that we learn are written in Hugging Face's `tokenizers` format.
//
//   bpe   model BPE over byte-level characters (byte_level.h), pre_tokenizer and decoder ByteLevel, as in GPT-2's file;
//         with other patterns the pre_tokenizer is a Sequence, as in Llama 3's file: Split by the pattern, then
//         ByteLevel without its own pattern; as in SmolLM's: Digits, then ByteLevel
//   word  model WordLevel, pre_tokenizer Split by GPT-2's pattern, decoder Fuse (which joins tokens without changes)
//   char  model WordLevel, pre_tokenizer Split by any character, decoder Fuse
//
// Special and added tokens are in the model's vocabulary and in added_tokens. Hugging Face looks for special tokens in
// every text, Tokenizer::encode only if asked to. The other kinds: pieces_json.h.
#pragma once

namespace tapeformer {

inline constexpr const char* kCharPattern = "[\\s\\S]";

}  // namespace tapeformer
