// Reading and writing tensors in Hugging Face's safetensors format: an 8-byte little-endian length, a JSON header with
// each tensor's dtype, shape and place, then the raw little-endian values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autograd/tensor/tensor.h"
#include "core/files.h"

namespace tapeformer {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Writes the tensors in the given order, with optional string metadata. Not atomic: write into a staging folder.
// Throws Error when the file cannot be written.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {});

// A file whose header has been read and checked. The values stay in the file until read() copies them into their
// place, so that loading a model takes no memory beside the model's own. The file may be renamed or removed meanwhile.
class SafetensorsFile {
 public:
  // A tensor of the file.
  class Entry {
   public:
    Entry(const Dims& sizes, DType dtype, std::int64_t offset) : sizes_(sizes), dtype_(dtype), offset_(offset) {}
    const Dims& sizes() const { return sizes_; }
    DType dtype() const { return dtype_; }

   private:
    friend class SafetensorsFile;
    Dims sizes_;
    DType dtype_;
    std::int64_t offset_;  // of the first value, from the beginning of the file
  };

  // Throws Error, naming the file, when it is missing, truncated or malformed. Knows F32, F64 and I32.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::map<std::string, Entry>& entries() const { return entries_; }
  // Copies the values of a tensor into `place`, which must be contiguous and have the entry's sizes and dtype; a place
  // of bf16 takes f32, rounded. Throws Error when there is no such tensor, when the place does not fit, and when
  // reading fails.
  void read(const std::string& name, const Tensor& place) const;
  // The same for the elements from `begin` on, as many as the place has, of a tensor of the place's dtype.
  void read(const std::string& name, std::int64_t begin, const Tensor& place) const;
  // A new tensor with the values.
  Tensor read(const std::string& name) const;

 private:
  void read_header();
  void read_rounded(std::int64_t offset, const Tensor& place) const;

  InputFile file_;
  std::map<std::string, Entry> entries_;
};

// All tensors of a file. Throws Error as SafetensorsFile does.
std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path);

}  // namespace tapeformer
