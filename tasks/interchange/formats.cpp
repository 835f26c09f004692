// The table of formats. A new one is a file in this folder with a function that returns its PublishedFormat, and a row
// here.
#include "core/error.h"
#include "core/files.h"
#include "tasks/interchange/gguf_format.h"
#include "tasks/interchange/huggingface_folder.h"
#include "tasks/interchange/peft.h"

namespace tapeformer {

const std::vector<PublishedFormat>& published_formats() {
  static const std::vector<PublishedFormat> all{huggingface_format(), gguf_format(), peft_format()};
  return all;
}

PublishedModel read_published(const std::filesystem::path& path) {
  check(is_there(path), path.string(), ": no such file or folder");
  std::string expected;
  for (const PublishedFormat& format : published_formats()) {
    if (format.is_at(path)) return format.read(path);
    expected += (expected.empty() ? "" : ", or ") + format.help;
  }
  fail(path.string(), ": expected ", expected);
}

}  // namespace tapeformer
