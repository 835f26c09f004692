// How the parameters of our models are made of the tensors in the files of other programs, and the other way round. A
// map is a table; each architecture of a format has one, which serves both directions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "nn/formats/safetensors.h"

namespace tapeformer {

// The tensors of a model in one file or several, in any format. The values stay in the files until they are read.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  // The file or folder, for messages.
  virtual std::string origin() const = 0;
  // The names and sizes of all tensors. The sizes have PyTorch's order, (rows, columns), whatever the order in the
  // file.
  virtual const std::map<std::string, Dims>& tensors() const = 0;
  // bf16 for a tensor whose values are bf16 in the file; f32 for all others.
  virtual DType dtype(const std::string& name) const = 0;
  // Copies the values to `place`, which is contiguous and has the tensor's sizes: in f32, whatever the format of the
  // file, or in dtype(name). Throws Error that names the file.
  virtual void read_to(const Tensor& place, const std::string& name) const = 0;
  // Returns the values in f32.
  Tensor read(const std::string& name) const;
};

// A tensor of a file, which holds all rows of a parameter or some of them.
struct TensorPart {
  std::string name;
  std::int64_t rows = 0;  // the number of rows, along the first axis of the parameter; 0: all
  // The number of heads whose rows have another order in the file: rows i and d/2 + i of a head, which rotary positions
  // rotate as a pair (RotaryPairs::halves), are rows 2i and 2i + 1 in the file. 0: the file has the same order.
  std::int64_t interleaved_heads = 0;
};

// A parameter, and the tensors of a file that it is made of, one below the other.
struct TensorMapping {
  std::string parameter;
  std::vector<TensorPart> parts;
  bool transposed = false;  // the file has the transpose of the matrix; there is one part
  // If the model lacks the parameter but the file needs its tensor: zeros of these sizes are written, which change
  // nothing.
  Dims zeros = {};
};

struct TensorMap {
  std::vector<TensorMapping> rows;
  std::vector<std::string> spare = {};  // tensors that a file may have as well, and that are not read
};

// What a map needs to know about a Transformer.
struct TransformerShape {
  std::int64_t layers = 0, dim = 0, ff_dim = 0;
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;  // of attention; the values are as wide as the keys
  bool qkv_bias = false, out_bias = false, ff_bias = false, qk_norm = false;
  bool next_sentence = false;  // of BERT
  bool tied = true;            // whether the head has the weights of the token embedding
};

// Returns the map with a row for each layer in place of each row with "#", which stands for the number of a layer.
TensorMap for_each_layer(const TensorMap& map, std::int64_t layers);

// Returns whether the files also have bf16 values for all parameters that are bf16. A tensor that is missing in the
// files counts as bf16.
bool has_all_bf16(const NamedTensors& parameters, const TensorMap& map, const TensorSource& source);

// Reads the parameters of a model (Module::named_tensors()). Throws Error, before it changes a value, unless the source
// has each tensor of the map, with the sizes that the parameters need, and no others than these and the spare ones.
// Parameters without a row keep their values. Tensors that the file has in the model's order are read into the
// parameters directly; transposed and interleaved ones are read into a temporary tensor first.
void load_mapped(const NamedTensors& parameters, const TensorMap& map, const TensorSource& source);

// Returns the tensors of the file, in the order of the map. They share memory with the parameters where they can.
// Throws Error for a parameter without a row.
NamedTensors mapped_tensors(const NamedTensors& parameters, const TensorMap& map);

}  // namespace tapeformer
