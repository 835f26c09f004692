// Reads and writes tensors in Hugging Face's safetensors format: an 8-byte little-endian length, a JSON header with
// each tensor's dtype, shape and byte range, then the raw little-endian values.
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

// Writes the tensors in the given order, with optional string metadata. The write is not atomic: use a staging folder.
// Throws Error if the file cannot be written.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {});

// A file whose header has been read and checked. The values stay in the file until read() copies them to their
// destination, so loading a model needs no extra memory. The file may be renamed or removed in the meantime.
class SafetensorsFile {
 public:
  // A tensor of the file.
  class Entry {
   public:
    Entry(const Dims& sizes, DType dtype, bool half, std::int64_t offset)
        : sizes_(sizes), dtype_(dtype), half_(half), offset_(offset) {}
    const Dims& sizes() const { return sizes_; }
    // The dtype as which the values are read: f32 for F16.
    DType dtype() const { return dtype_; }

   private:
    friend class SafetensorsFile;
    Dims sizes_;
    DType dtype_;
    bool half_;            // the values are F16 in the file
    std::int64_t offset_;  // of the first value, from the beginning of the file
  };

  // What happens to tensors of other dtypes than F32, F64, F16, I32, BF16 and U8: an Error, or they are left out.
  enum class OtherDtypes { refused, skipped };

  // Throws Error, naming the file, if it is missing, truncated or malformed.
  explicit SafetensorsFile(const std::filesystem::path& path, OtherDtypes others = OtherDtypes::refused);

  const std::map<std::string, Entry>& entries() const { return entries_; }
  // The tensors that were left out, each with its dtype: "I64".
  const std::map<std::string, std::string>& skipped() const { return skipped_; }
  // Copies the values of a tensor to `place`, which must be contiguous and have the entry's sizes and dtype; f32 is
  // rounded if `place` is bf16, bf16 is widened if it is f32, both are rounded if `place` is q8_0, and F16 is always
  // read as f32. Throws Error if there is no such tensor, if `place` does not fit, or if reading fails.
  void read(const std::string& name, const Tensor& place) const;
  // Copies the elements from `begin` on until `place` is full. The tensor must have the dtype of `place`, and must not
  // be F16 in the file.
  void read(const std::string& name, std::int64_t begin, const Tensor& place) const;
  // Returns a new tensor with the values.
  Tensor read(const std::string& name) const;

 private:
  void read_header(OtherDtypes others);
  // Throws Error if there is no such tensor.
  const Entry& entry_of(const std::string& name) const;

  InputFile file_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> skipped_;
};

// Returns all tensors of a file. Throws Error as SafetensorsFile does.
std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path);

}  // namespace tapeformer
