#include "nn/formats/tensor_map.h"

#include <algorithm>
#include <set>

namespace tapeformer {
namespace {

// Returns the text with the number in place of each "#".
std::string with_layer(std::string text, std::int64_t layer) {
  const std::string number = std::to_string(layer);
  for (std::size_t at = text.find('#'); at != text.npos; at = text.find('#', at + number.size()))
    text.replace(at, 1, number);
  return text;
}

const Tensor* find_parameter(const NamedTensors& parameters, const std::string& name) {
  const auto found = std::ranges::find(parameters, name, &NamedTensors::value_type::first);
  return found == parameters.end() ? nullptr : &found->second;
}

// Returns the part's rows of a tensor that begins at row `begin`.
Tensor rows_of(const Tensor& tensor, const TensorPart& part, std::int64_t begin) {
  return part.rows == 0 ? tensor : tensor.slice(0, begin, begin + part.rows);
}

// Returns a view of the rows (h·d, …) with the order of each head's rows changed from halves to pairs, or back.
Tensor reordered(const Tensor& rows, std::int64_t heads, bool to_pairs) {
  if (heads == 0) return rows;
  const std::int64_t half = rows.size(0) / heads / 2, columns = rows.numel() / rows.size(0);
  const Dims split = to_pairs ? Dims{heads, 2, half, columns} : Dims{heads, half, 2, columns};
  return rows.reshape(split).transpose(1, 2).reshape(rows.sizes());
}

// Returns the sizes of a part in the file.
Dims sizes_in_file(const Tensor& parameter, const TensorMapping& mapping, const TensorPart& part) {
  const Tensor rows = rows_of(parameter, part, 0);
  return mapping.transposed ? rows.transpose(0, 1).sizes() : rows.sizes();
}

void check_source(const NamedTensors& parameters, const TensorMap& map, const TensorSource& source) {
  std::set<std::string> known(map.spare.begin(), map.spare.end());
  for (const TensorMapping& mapping : map.rows) {
    const Tensor* const parameter = find_parameter(parameters, mapping.parameter);
    check(parameter != nullptr, source.origin(), ": the model has no parameter ", mapping.parameter);
    std::int64_t rows = 0;
    for (const TensorPart& part : mapping.parts) {
      known.insert(part.name);
      const auto found = source.tensors().find(part.name);
      check(found != source.tensors().end(), source.origin(), ": the tensor ", part.name, " is missing");
      const Dims expected = sizes_in_file(*parameter, mapping, part);
      check(found->second == expected, source.origin(), ": tensor ", part.name, ": expected ", expected, ", got ",
            found->second);
      rows += part.rows;
    }
    check(rows == 0 || rows == parameter->size(0), mapping.parameter, ": its parts have ", rows,
          " rows, the parameter ", parameter->size(0));
  }
  for (const auto& tensor : source.tensors()) {
    check(known.contains(tensor.first), source.origin(), ": the tensor ", tensor.first,
          " has no place in the model that the configuration describes");
  }
}

}  // namespace

Tensor TensorSource::read(const std::string& name) const {
  const Tensor tensor = Tensor::empty(tensors().at(name), DType::f32);
  read_to(tensor, name);
  return tensor;
}

TensorMap for_each_layer(const TensorMap& map, std::int64_t layers) {
  TensorMap whole{.rows = {}, .spare = map.spare};
  for (const TensorMapping& row : map.rows) {
    const bool repeated = row.parameter.find('#') != row.parameter.npos;
    for (std::int64_t layer = 0; layer < (repeated ? layers : 1); ++layer) {
      TensorMapping one = row;
      one.parameter = with_layer(row.parameter, layer);
      for (TensorPart& part : one.parts) part.name = with_layer(part.name, layer);
      whole.rows.push_back(std::move(one));
    }
  }
  return whole;
}

bool has_all_bf16(const NamedTensors& parameters, const TensorMap& map, const TensorSource& source) {
  return std::ranges::all_of(map.rows, [&](const TensorMapping& mapping) {
    const Tensor* const parameter = find_parameter(parameters, mapping.parameter);
    return !parameter || parameter->dtype() != DType::bf16 ||
           std::ranges::all_of(mapping.parts, [&](const TensorPart& part) {
             return !source.tensors().contains(part.name) || source.dtype(part.name) == DType::bf16;
           });
  });
}

void load_mapped(const NamedTensors& parameters, const TensorMap& map, const TensorSource& source) {
  check_source(parameters, map, source);
  for (const TensorMapping& mapping : map.rows) {
    const Tensor& parameter = *find_parameter(parameters, mapping.parameter);
    std::int64_t begin = 0;
    for (const TensorPart& part : mapping.parts) {
      const Tensor place = rows_of(parameter, part, begin);
      begin += part.rows;
      if (!mapping.transposed && part.interleaved_heads == 0) {
        source.read_to(place, part.name);
        continue;
      }
      const Tensor read = Tensor::empty(source.tensors().at(part.name), place.dtype());
      source.read_to(read, part.name);
      place.copy_from(reordered(mapping.transposed ? read.transpose(0, 1) : read, part.interleaved_heads, false));
    }
  }
}

NamedTensors mapped_tensors(const NamedTensors& parameters, const TensorMap& map) {
  NamedTensors tensors;
  std::set<std::string> mapped;
  for (const TensorMapping& mapping : map.rows) {
    const Tensor* parameter = find_parameter(parameters, mapping.parameter);
    Tensor zeros;
    if (!parameter) {
      check(mapping.zeros.rank() > 0, "the model has no parameter ", mapping.parameter);
      zeros = Tensor::zeros(mapping.zeros, DType::f32);
      parameter = &zeros;
    }
    mapped.insert(mapping.parameter);
    std::int64_t begin = 0;
    for (const TensorPart& part : mapping.parts) {
      const Tensor rows = reordered(rows_of(*parameter, part, begin), part.interleaved_heads, true);
      tensors.emplace_back(part.name, mapping.transposed ? rows.transpose(0, 1) : rows);
      begin += part.rows;
    }
  }
  for (const auto& parameter : parameters) {
    check(mapped.contains(parameter.first), "the parameter ", parameter.first, " has no place in the file");
  }
  return tensors;
}

}  // namespace tapeformer
