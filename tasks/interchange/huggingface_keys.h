// The keys of config.json that need more than a row in a table: each architecture has a function that reads them and
// one that writes them (HuggingFaceLayout).
#pragma once

#include <string>
#include <string_view>

#include "tasks/interchange/huggingface_layout.h"

namespace tapeformer::huggingface {

using Json = HuggingFaceLayout::Json;
using Options = HuggingFaceLayout::Options;

// Throws Error that the key has the value `got`, which is not supported; `expected` lists the supported values.
[[noreturn]] void fail_value(const std::string& key, const Json& got, std::string_view expected);

// These return the value of a key, or `otherwise` where it is missing or null. All but the first throw Error for a
// value of another type; number_or() returns the number as text, and requires a whole number if `otherwise` is one.
Json value_or(const Json& config, const std::string& key, Json otherwise);
std::int64_t integer_or(const Json& config, const std::string& key, std::int64_t otherwise);
std::string number_or(const Json& config, const std::string& key, const Json& otherwise);
bool boolean_or(const Json& config, const std::string& key, bool otherwise);

std::string word_of_bool(bool value);

void read_gpt2(const Json& config, Options& options);
void write_gpt2(const KeyValues& options, Json& config);
void read_llama(const Json& config, Options& options);
void write_llama(const KeyValues& options, Json& config);
void read_qwen2(const Json& config, Options& options);
void write_qwen2(const KeyValues& options, Json& config);
void read_qwen3(const Json& config, Options& options);
void write_qwen3(const KeyValues& options, Json& config);
void read_bert(const Json& config, Options& options);
void write_bert(const KeyValues& options, Json& config);

}  // namespace tapeformer::huggingface
