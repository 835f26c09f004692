// Reads and writes GGUF, the format of llama.cpp: key-value metadata, a table of tensors, and their values, which may
// be quantized (gguf_blocks.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/files.h"
#include "nn/formats/gguf_blocks.h"
#include "nn/formats/tensor_map.h"

namespace tapeformer {

// A value of the metadata. Whole numbers of 8 and 16 bits are read as 32 bits, lists of whole numbers and of truth
// values as i64, and lists of f64 as f32.
using GgufValue = std::variant<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t, float, double, bool,
                               std::string, std::vector<std::string>, std::vector<std::int64_t>, std::vector<float>>;

// A file whose header has been read and checked: every count, length, type and offset lies within the file, and the
// tensors follow each other without gaps up to the file's end. The values stay in the file.
class GgufFile : public TensorSource {
 public:
  // Reads a file of version 2 or 3. Throws Error that names the file, and what is wrong with it.
  explicit GgufFile(const std::filesystem::path& path);

  std::string origin() const override { return file_.path().string(); }
  const std::map<std::string, Dims>& tensors() const override { return sizes_; }
  DType dtype(const std::string& name) const override;
  void read_to(const Tensor& place, const std::string& name) const override;
  // The type of a tensor of the file.
  const GgufType& type(const std::string& name) const { return *places_.at(name).type; }

  const std::map<std::string, GgufValue>& metadata() const { return metadata_; }
  bool has(const std::string& key) const { return metadata_.contains(key); }
  // The value of a key; the functions throw Error that names the file and the key if it is missing or of another type.
  std::int64_t integer(const std::string& key) const;  // 0 or more
  double number(const std::string& key) const;         // finite, also as f32
  bool boolean(const std::string& key) const;
  const std::string& text(const std::string& key) const;
  const std::vector<std::string>& texts(const std::string& key) const;
  const std::vector<std::int64_t>& integers(const std::string& key) const;
  const std::vector<float>& numbers(const std::string& key) const;

 private:
  class Header;
  struct Place {
    const GgufType* type;
    std::int64_t begin, bytes;  // from the beginning of the file
  };
  void read_header();
  void read_places(Header& header, std::uint64_t count);
  template <class T>
  const T& value(const std::string& key, const char* expected) const;

  InputFile file_;
  std::map<std::string, GgufValue> metadata_;
  std::map<std::string, Dims> sizes_;
  std::map<std::string, Place> places_;
};

// A tensor to write: its values in f32, and the type that it gets in the file.
struct GgufTensor {
  std::string name;
  Tensor values;
  const GgufType* type;
};

// Writes a file of version 3, which appears as a whole or not at all. A row of a tensor must have whole blocks. Throws
// Error, naming the tensor, for values that the type cannot hold, and for a list with a whole number outside the range
// of i32, the type in which lists of whole numbers are written.
void write_gguf(const std::filesystem::path& path, const std::vector<std::pair<std::string, GgufValue>>& metadata,
                const std::vector<GgufTensor>& tensors);

// The names of the tensors of GPT-2 in GGUF (architecture gpt2), and of Llama and Qwen (llama, qwen2, qwen3).
// `interleaved`: the file has rows 2i and 2i + 1 of a head where the model has rows i and d/2 + i, the pairs that
// rotary positions rotate; llama's files do.
TensorMap gguf_gpt2_map(const TransformerShape& shape);
TensorMap gguf_llama_map(const TransformerShape& shape, bool interleaved);

}  // namespace tapeformer
