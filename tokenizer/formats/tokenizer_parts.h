// The parts of a tokenizer.json that all kinds of tokenizers have.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tokenizer/formats/written_bpe.h"
#include "tokenizer/tokenizer.h"

namespace tapeformer {

// A setting that would change the ids must have the one value that is supported. A missing key means that value.
void expect(const nlohmann::json& object, const char* key, const nlohmann::json& expected, const std::string& where);
// A setting that is true or false; `otherwise` if the key is missing. Throws Error that begins with `where`.
bool flag_of(const nlohmann::json& object, const char* key, bool otherwise, const std::string& where);
// Whether a component is of this type.
bool is_type(const nlohmann::json& value, const char* type);
// The components of a Sequence, or the component itself; none for null.
std::vector<nlohmann::json> components(const nlohmann::json& value, const char* list);

// The tokens of a file by id, as the file writes them, with what it says of special and added tokens and of those that
// stand around a text. Throws Error for what is not supported.
Vocabulary read_vocabulary(const nlohmann::json& file, const nlohmann::json& vocab);

// Merges, each as "a b" or as ["a", "b"].
std::vector<WrittenPair> read_pairs(const nlohmann::json& list);
// How messages name a merge of the list.
std::string where_merge(const nlohmann::json& list, std::size_t index);

// A post_processor with these tokens around a text.
TextFrame make_frame(const std::vector<std::string>& tokens, std::vector<std::int32_t> before,
                     std::vector<std::int32_t> after);

}  // namespace tapeformer
