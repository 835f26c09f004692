// What writing and reading tokenizer.json share: how the three kinds look in Hugging Face's `tokenizers` format.
//
//   bpe   model BPE over byte-level characters (byte_level.h), pre_tokenizer and decoder ByteLevel: GPT-2's file;
//   cl100k's
//         pattern as Llama 3's file has it, a Sequence of Split by the pattern and ByteLevel without one of its own
//   word  model WordLevel, pre_tokenizer Split by GPT-2's pattern, decoder Fuse (tokens are put together as they are)
//   char  model WordLevel, pre_tokenizer Split by any character, decoder Fuse
//
// The special tokens are both in the model's vocabulary and in added_tokens. Hugging Face looks for them in every text;
// Tokenizer::encode only when allowed to.
#pragma once

namespace tapeformer {

inline constexpr const char* kCharPattern = "[\\s\\S]";

}  // namespace tapeformer
