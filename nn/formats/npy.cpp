#include "nn/formats/npy.h"

#include <bit>

#include "core/error.h"

namespace tapeformer {
namespace {

static_assert(std::endian::native == std::endian::little, "the values are written as they lie in memory");

constexpr std::size_t kHeaderBytes = 128;  // a multiple of 64, large enough for sizes of any number of digits
constexpr std::size_t kBufferBytes = 1 << 16;

// Returns the header: the magic string, the version, the length of the rest, and a Python dictionary, padded with
// spaces.
std::string header_of(std::int64_t rows, std::int64_t width) {
  constexpr std::size_t kDictionary = kHeaderBytes - 10;
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(kDictionary & 0xFF);
  header += static_cast<char>(kDictionary >> 8);
  header += str_cat("{'descr': '<f4', 'fortran_order': False, 'shape': (", rows, ", ", width, "), }");
  header.resize(kHeaderBytes - 1, ' ');
  return header + '\n';
}

}  // namespace

NpyWriter::NpyWriter(const std::filesystem::path& path, std::int64_t width) : file_(path), width_(width) {
  check(width > 0, path.string(), ": expected rows of at least one value, got ", width);
  file_.append(header_of(0, width));
}

void NpyWriter::append(std::span<const float> rows) {
  const auto values = static_cast<std::int64_t>(rows.size());
  check(values % width_ == 0, "npy: expected whole rows of ", width_, " values, got ", values, " values");
  rows_ += values / width_;
  buffer_.append(reinterpret_cast<const char*>(rows.data()), rows.size_bytes());
  if (buffer_.size() >= kBufferBytes) flush();
}

void NpyWriter::flush() {
  file_.append(buffer_);
  buffer_.clear();
}

void NpyWriter::commit() {
  flush();
  file_.write_at(0, header_of(rows_, width_));
  file_.commit();
}

}  // namespace tapeformer
