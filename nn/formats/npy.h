// Writes a matrix in NumPy's .npy format, version 1.0, which numpy.load() reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/files.h"

namespace tapeformer {

// Writes f32 rows as they arrive, so that only a few of them are in memory. The header contains the number of rows and
// is written last.
class NpyWriter {
 public:
  // Each row has `width` values. Throws Error as AtomicFile does.
  NpyWriter(const std::filesystem::path& path, std::int64_t width);

  // Appends any number of whole rows. Throws Error for a part of a row, and if writing fails.
  void append(std::span<const float> rows);
  // Writes the header and makes the file visible under its name.
  void commit();

 private:
  void flush();

  AtomicFile file_;
  std::int64_t width_, rows_ = 0;
  std::string buffer_;
};

}  // namespace tapeformer
