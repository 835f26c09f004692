// Texts to learn from: files found by name, mapped, and parted into training and validation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/core/files.h"

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
// by the bytes of their paths, whatever the locale. Throws Error for an input that names no file.
std::vector<std::filesystem::path> expand_inputs(std::span<const std::string> inputs);

struct TextSplit {
  std::vector<std::string_view> train, valid;
};

// A text of one or more pieces (one a file), which follow each other without anything between them.
class TextCorpus {
 public:
  // Throws Error as MappedText does, and without any path.
  explicit TextCorpus(std::span<const std::filesystem::path> paths);
  // Throws Error when the text is empty.
  explicit TextCorpus(std::string text);

  std::span<const std::string_view> pieces() const { return pieces_; }
  std::int64_t bytes() const { return bytes_; }

  // The last part of the text goes to `valid`: cut at byte floor(bytes * (1 - valid_fraction)), moved back to where a
  // UTF-8 character begins. A fraction of 0 leaves `valid` without pieces. The views live as long as this corpus.
  // Throws Error unless 0 <= valid_fraction < 1.
  TextSplit split(double valid_fraction) const;

 private:
  std::vector<MappedText> files_;
  std::unique_ptr<const std::string> text_;  // on the heap: views into it survive a move of the corpus
  std::vector<std::string_view> pieces_;
  std::int64_t bytes_ = 0;
};

}  // namespace tapeformer
