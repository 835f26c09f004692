// How sentencepiece and wordpiece tokenizers are written in Hugging Face's `tokenizers` format, and BERT's vocab.txt.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tokenizer/pieces/sentencepiece_tokenizer.h"
#include "tokenizer/pieces/wordpiece_tokenizer.h"

namespace tapeformer {

// Whether a BPE model is one over characters: it has byte_fallback, or a component that replaces spaces by "▁".
bool is_sentencepiece(const nlohmann::json& file);
// Reads a file with the model BPE. Spaces are replaced by the normalizer, Prepend and Replace as in Llama 2's file or
// Replace alone as in Gemma's, or by the pre_tokenizer Metaspace. Throws Error that names what is not supported.
std::unique_ptr<Tokenizer> read_sentencepiece(const nlohmann::json& file, const nlohmann::json& model);
// Reads a file with the model WordPiece, the normalizer BertNormalizer or none, and the pre_tokenizer
// BertPreTokenizer.
std::unique_ptr<Tokenizer> read_wordpiece(const nlohmann::json& file, const nlohmann::json& model);

// Sets normalizer, pre_tokenizer, decoder and model of a file. `vocab` has the ids of the written tokens.
void write_sentencepiece(const SentencePieceTokenizer& tokenizer, nlohmann::ordered_json& file,
                         nlohmann::ordered_json vocab);
void write_wordpiece(const WordPieceTokenizer& tokenizer, nlohmann::ordered_json& file, nlohmann::ordered_json vocab);

// Reads a file with a token on each line, by id. `settings` is the object of the tokenizer_config.json beside it, whose
// do_lower_case, strip_accents and tokenize_chinese_chars say how text is normalized. Without do_lower_case, text is
// lower-cased if no token has an upper-case letter of ASCII. [PAD], [UNK], [CLS], [SEP] and [MASK] are special. Throws
// Error that names the file.
std::unique_ptr<Tokenizer> read_vocab_txt(std::string_view text, const std::string& name,
                                          const nlohmann::json& settings);

}  // namespace tapeformer
