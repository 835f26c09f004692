// Cuts a chat template into texts and tags, and tags into tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

struct TemplateToken {
  enum class Kind { name, integer, number, string, symbol, end };
  Kind kind = Kind::end;
  std::string text;  // the characters of a string; else as it is written
};

// A part of a template: text, {{ an expression }} or {% a statement %}.
struct ChatTemplatePart {
  enum class Kind { text, expression, statement };
  Kind kind = Kind::text;
  std::string text = {};                   // of a text
  std::vector<TemplateToken> tokens = {};  // of a tag; the last one is an end
  int line = 1;                            // where the part begins
};

// White space is removed as transformers configures Jinja: trim_blocks, lstrip_blocks, and the signs - and + of tags.
// Comments are left out. Throws Error "chat template: line N: …" for a tag that does not end, and for characters that
// do not belong in one.
std::vector<ChatTemplatePart> cut_template(std::string_view text);

}  // namespace tapeformer
