// Writing a matrix in NumPy's .npy format, version 1.0, which numpy.load() reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/files.h"

namespace tapeformer {

// Rows of f32 that come one after another, so that no more than some of them are in memory. The header, which says how
// many there are, is written last.
class NpyWriter {
 public:
  // Each row has `width` values. Throws Error where AtomicFile does.
  NpyWriter(const std::filesystem::path& path, std::int64_t width);

  // Any number of whole rows. Throws Error for a part of a row, and when writing fails.
  void append(std::span<const float> rows);
  // Writes the header; until then there is no file of that name.
  void commit();

 private:
  void flush();

  AtomicFile file_;
  std::int64_t width_, rows_ = 0;
  std::string buffer_;
};

}  // namespace tapeformer
