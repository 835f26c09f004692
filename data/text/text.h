// Text files: found by name, and mapped.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"

namespace tapeformer {

// A text file mapped read-only. Throws Error when it is missing, a folder, or empty.
class MappedText {
 public:
  explicit MappedText(const std::filesystem::path& path);
  std::string_view text() const { return file_.bytes(); }

 private:
  MappedFile file_;
};

// The files that the inputs name, in the order of the inputs; each file once. An input is a file; a folder (every file
// below it, names that begin with '.' left out); or a glob pattern with * ? [..]. Within one input the files are sorted
// by the bytes of their paths, whatever the locale. "-" stands for itself: standard input. Throws Error for an input
// that names no file.
std::vector<std::filesystem::path> expand_inputs(std::span<const std::string> inputs);

}  // namespace tapeformer
