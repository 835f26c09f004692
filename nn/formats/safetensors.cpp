#include "nn/formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

namespace tapeformer {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian, and so must the machine be");

constexpr std::uint64_t kMaxHeaderBytes = 100 << 20;  // the format's own limit
constexpr std::uint64_t kMaxTensorBytes = std::numeric_limits<std::int64_t>::max();

const char* format_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::f64:
      return "F64";
    case DType::i32:
      return "I32";
    case DType::bf16:
      break;
  }
  fail("safetensors: ", dtype, " is not written");
}

char* raw_bytes(const Tensor& tensor) {
  return dispatch_all(tensor.dtype(), [&]<class T>(T) { return reinterpret_cast<char*>(tensor.span<T>().data()); });
}

DType parse_dtype(const std::string& name, const std::string& tensor) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32}) {
    if (name == format_name(dtype)) return dtype;
  }
  fail("tensor ", tensor, ": dtype ", name, " is not supported (F32, F64 and I32 are)");
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  auto header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", format_name(tensor.dtype())},
                    {"shape", std::vector<std::int64_t>(tensor.sizes().begin(), tensor.sizes().end())},
                    {"data_offsets", {offset, offset + tensor.bytes()}}};
    offset += tensor.bytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the data
  const std::uint64_t header_bytes = text.size();

  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&header_bytes), 8);
  file << text;
  for (const auto& [name, tensor] : tensors) {
    const Tensor dense = tensor.contiguous();
    file.write(raw_bytes(dense), dense.bytes());
  }
  file.close();
  check(!file.fail(), path.string(), ": cannot be written: ", std::strerror(errno));
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  try {
    read_header();
  } catch (const std::exception& error) {
    fail(path.string(), ": not a valid safetensors file: ", error.what());
  }
}

void SafetensorsFile::read_header() {
  std::uint64_t header_bytes = 0;
  const auto file_bytes = static_cast<std::uint64_t>(file_.size());
  check(file_bytes >= 8, "truncated header");
  file_.read_at(0, {reinterpret_cast<char*>(&header_bytes), 8});
  check(header_bytes <= kMaxHeaderBytes && header_bytes + 8 <= file_bytes, "the header claims ", header_bytes,
        " bytes, the file has ", file_bytes);
  std::string header(header_bytes, '\0');
  file_.read_at(8, header);
  const std::uint64_t data_bytes = file_bytes - 8 - header_bytes;

  std::uint64_t named_bytes = 0;
  const auto tensors = nlohmann::json::parse(header);  // named: items() refers to it
  check(tensors.is_object(), "the header is no JSON object");
  for (const auto& [name, entry] : tensors.items()) {
    if (name == "__metadata__") continue;
    const DType dtype = parse_dtype(entry.at("dtype").get<std::string>(), name);
    const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
    const auto [begin, end] = entry.at("data_offsets").get<std::pair<std::uint64_t, std::uint64_t>>();
    std::uint64_t bytes = size_of(dtype);
    for (std::int64_t size : shape) {  // sizes of 0 count as 1 here: the strides beside them must not overflow either
      const auto counted = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
      check(size >= 0 && !__builtin_mul_overflow(bytes, counted, &bytes) && bytes <= kMaxTensorBytes, "tensor ", name,
            ": bad shape");
    }
    if (std::ranges::find(shape, 0) != shape.end()) bytes = 0;
    check(begin <= end && end <= data_bytes && end - begin == bytes, "tensor ", name, ": ", bytes,
          " bytes are expected, the header places it at ", begin, " to ", end, " of ", data_bytes);
    entries_.emplace(name, Entry(Dims(shape), dtype, static_cast<std::int64_t>(8 + header_bytes + begin)));
    named_bytes += bytes;
  }
  check(named_bytes == data_bytes, "the tensors have ", named_bytes, " bytes, the file has ", data_bytes);
}

void SafetensorsFile::read(const std::string& name, const Tensor& place) const {
  const auto found = entries_.find(name);
  check(found != entries_.end(), file_.path().string(), ": there is no tensor ", name);
  const Entry& entry = found->second;
  const bool rounds = place.dtype() == DType::bf16 && entry.dtype() == DType::f32;
  check(entry.sizes() == place.sizes() && (entry.dtype() == place.dtype() || rounds), file_.path().string(),
        ": tensor ", name, ": expected ", place.sizes(), " ", place.dtype(), ", got ", entry.sizes(), " ",
        entry.dtype());
  if (rounds) {
    read_rounded(entry.offset_, place);
  } else {
    file_.read_at(entry.offset_, {raw_bytes(place), static_cast<std::size_t>(place.bytes())});
  }
  place.mark_changed();
}

void SafetensorsFile::read_rounded(std::int64_t offset, const Tensor& place) const {
  std::vector<float> part(1 << 20);
  const std::span<kernels::Bf16> to = place.span<kernels::Bf16>();
  for (std::size_t begin = 0; begin < to.size(); begin += part.size()) {
    const std::size_t count = std::min(part.size(), to.size() - begin);
    file_.read_at(offset + static_cast<std::int64_t>(begin * sizeof(float)),
                  {reinterpret_cast<char*>(part.data()), count * sizeof(float)});
    std::transform(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count), to.begin() + begin,
                   kernels::round_to_bf16);
  }
}

void SafetensorsFile::read(const std::string& name, std::int64_t begin, const Tensor& place) const {
  const auto found = entries_.find(name);
  check(found != entries_.end(), file_.path().string(), ": there is no tensor ", name);
  const Entry& entry = found->second;
  check(entry.dtype() == place.dtype() && begin >= 0 && begin + place.numel() <= entry.sizes().product(),
        file_.path().string(), ": tensor ", name, ": expected ", place.numel(), " elements of ", place.dtype(),
        " from ", begin, " on, got ", entry.sizes(), " ", entry.dtype());
  const auto offset = entry.offset_ + begin * static_cast<std::int64_t>(size_of(place.dtype()));
  file_.read_at(offset, {raw_bytes(place), static_cast<std::size_t>(place.bytes())});
  place.mark_changed();
}

Tensor SafetensorsFile::read(const std::string& name) const {
  const auto found = entries_.find(name);
  check(found != entries_.end(), file_.path().string(), ": there is no tensor ", name);
  const Tensor tensor = Tensor::empty(found->second.sizes(), found->second.dtype());
  read(name, tensor);
  return tensor;
}

std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  std::map<std::string, Tensor> tensors;
  for (const auto& entry : file.entries()) tensors.emplace(entry.first, file.read(entry.first));
  return tensors;
}

}  // namespace tapeformer
