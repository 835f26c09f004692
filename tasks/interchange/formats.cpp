// The table of formats. A new one is a file in this folder with a function that returns its PublishedFormat, and a row
// here.
#include "core/error.h"
#include "core/files.h"
#include "core/text/joined.h"
#include "data/text/text_source.h"
#include "tasks/interchange/gguf_format.h"
#include "tasks/interchange/huggingface_folder.h"
#include "tasks/interchange/peft.h"

namespace tapeformer {

const std::vector<PublishedFormat>& published_formats() {
  static const std::vector<PublishedFormat> all{huggingface_format(), gguf_format(), peft_format()};
  return all;
}

std::vector<std::string> notes_on_export(const ResolvedConfig& config) {
  std::vector<std::string> notes;
  if (config.data.within_document) {
    notes.push_back(str_cat("the model was trained on documents that begin with ", kEndOfText,
                            ": begin each text with it; other programs let it see from one document into the next"));
  }
  if (config.task_row().is_multi_task) {
    notes.push_back("the model is that of the task of text: the classifiers of the other tasks are left out");
  }
  return notes;
}

PublishedModel read_published(const std::filesystem::path& path) {
  check(is_there(path), path.string(), ": no such file or folder");
  for (const PublishedFormat& format : published_formats()) {
    if (format.is_at(path)) return format.read(path);
  }
  fail(path.string(), ": expected ", joined(published_formats(), ", or ", &PublishedFormat::help));
}

}  // namespace tapeformer
