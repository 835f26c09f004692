#include "core/error.h"

#include <sstream>

namespace tapeformer {

void MessagePart::write_text(std::ostream& out, const void* text) { out << static_cast<const char*>(text); }

std::string join_parts(std::initializer_list<MessagePart> parts) {
  std::ostringstream out;
  for (const MessagePart& part : parts) part.write(out);
  return out.str();
}

void throw_error(std::initializer_list<MessagePart> parts) { throw Error(join_parts(parts)); }

void throw_usage_error(std::initializer_list<MessagePart> parts) { throw UsageError(join_parts(parts)); }

}  // namespace tapeformer
