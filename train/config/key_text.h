// Conversions between values of keys and text, for files, the command line and error messages, and help texts about the
// defaults that model families give to keys outside [model] (TrainingDefaults).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/keys.h"
#include "nn/models/registry.h"

namespace tapeformer {

// Returns the name of a type for messages, such as "a whole number".
const char* expected_text(KeyType type);
// Returns the name of the key's type, and the words that it takes for numbers: "a number, auto or none".
std::string expected_text(const Key& key);
// Parses a value from the command line; nullopt if the text is no value of this type. A list is separated by commas.
std::optional<KeyValue> parse_key_value(const std::string& text, KeyType type);
// Parses a value of the key, which may be one of the words that it takes for numbers.
std::optional<KeyValue> parse_key_value(const std::string& text, const Key& key);
// Formats a value as one would write it on the command line.
std::string command_line_text(const KeyValue& value);
// The same for a message, in which an empty value is "none".
std::string value_text(const KeyValue& value);
// Returns the texts of a value that is a text or a list of them, without an empty one; none for another value.
std::vector<std::string> texts_of(const KeyValue& value);
// Formats a value for TOML; a double reads back to the same bits. Throws UsageError for a string that is not UTF-8.
std::string format_key_value(const KeyValue& value);

// Throws UsageError, beginning with `where`, unless the key accepts the value. `name` is the key's name with its
// section.
void check_key_value(const std::string& name, const Key& key, const KeyValue& value, const std::string& where);

// Returns the words that a key accepts; empty if any string is allowed.
std::vector<std::string> allowed_words(const Key& key);

// Returns which default each family has: "0.003 for gpt, rnn; 0.001 for bert; 0.001 for task.kind".
std::string family_defaults_help(const std::function<KeyValue(const TrainingDefaults&)>& value_of);
// Returns the defaults that families give to a key of optimizers, "0.99 for gpt, rnn"; "" if none gives one.
std::string optimizer_defaults_help(const std::string& key);

}  // namespace tapeformer
