// The values of keys as text: how files and the command line write them, and what errors say of them.
#pragma once

#include <optional>
#include <string>

#include "core/keys.h"

namespace tapeformer {

// "a whole number"
const char* expected_text(KeyType type);
// A value as the command line gives it; nothing when it is of another type. A list is separated by commas.
std::optional<KeyValue> parse_key_value(const std::string& text, KeyType type);
// The same text, from a value.
std::string command_line_text(const KeyValue& value);
// A value as TOML writes it; a double so that it reads back to the same bits. Throws UsageError for a string that is
// not UTF-8.
std::string format_key_value(const KeyValue& value);

// Throws UsageError, beginning with `where`, unless the key takes the value. `name` is the key's with its section.
void check_key_value(const std::string& name, const Key& key, const KeyValue& value, const std::string& where);

// The words that a key takes; none where anything goes.
std::vector<std::string> allowed_words(const Key& key);

}  // namespace tapeformer
