#include "tokenizer/char_tokenizer.h"

#include <iomanip>
#include <sstream>

#include "core/error.h"
#include "core/text/utf8.h"

namespace tapeformer {
namespace {

// For messages: "'é' (U+00E9)", or "U+000A" for a control character.
std::string describe(std::int32_t code_point) {
  std::ostringstream out;
  const bool control = code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
  std::string text;
  append_utf8(text, code_point);
  if (!control) out << "'" << text << "' (";
  out << "U+" << std::hex << std::uppercase << std::setw(4) << std::setfill('0') << code_point;
  if (!control) out << ")";
  return out.str();
}

}  // namespace

CharTokenizer::CharTokenizer(Vocabulary vocabulary) : Tokenizer(std::move(vocabulary)) {
  unknown_ = special("<unk>");
  for (const std::int32_t id : ordinary_ids()) {
    const std::string& token = tokens()[id];
    const Utf8Char c = token.empty() ? Utf8Char{kInvalidUtf8, 0} : read_utf8(token, 0);
    check(c.code_point != kInvalidUtf8 && static_cast<std::size_t>(c.length) == token.size(), "token ", id,
          " is not one character");
    if (static_cast<std::size_t>(c.code_point) >= id_of_.size()) id_of_.resize(c.code_point + 1, -1);
    id_of_[c.code_point] = id;
  }
}

void CharTokenizer::encode_plain(std::string_view text, std::size_t offset, std::vector<std::int32_t>& ids) const {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = read_utf8(text, at);
    if (c.code_point == kInvalidUtf8) throw InvalidUtf8("char", static_cast<std::int64_t>(offset + at));
    std::int32_t id = static_cast<std::size_t>(c.code_point) < id_of_.size() ? id_of_[c.code_point] : -1;
    if (id < 0) {
      if (!unknown_) {
        fail("char tokenizer: character ", describe(c.code_point), " at byte ", offset + at,
             " is not in the vocabulary; a bpe tokenizer takes any bytes");
      }
      id = *unknown_;
    }
    ids.push_back(id);
    at += c.length;
  }
}

}  // namespace tapeformer
