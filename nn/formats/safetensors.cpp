#include "nn/formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/json.h"
#include "core/parallel.h"

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
      return "BF16";
    case DType::u8:
      return "U8";
    case DType::q8_0:
      break;
  }
  fail("safetensors: no name for the dtype ", dtype);
}

char* raw_bytes(const Tensor& tensor) {
  return dispatch_stored(tensor.dtype(), [&]<class T>(T) { return reinterpret_cast<char*>(tensor.span<T>().data()); });
}

// A dtype of the format: its name, and the bytes of an element.
struct StoredType {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::string_view kHalf = "F16";
// The dtypes of the format that format_name() does not return.
constexpr StoredType kOtherTypes[] = {{kHalf, 2}, {"BOOL", 1}, {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
                                      {"I16", 2}, {"U16", 2},  {"U32", 4}, {"I64", 8},     {"U64", 8}};

// The dtype as which values of the file are read; nullopt for one that is not supported.
std::optional<DType> read_dtype(const std::string& name) {
  if (name == kHalf) return DType::f32;
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::bf16, DType::u8}) {
    if (name == format_name(dtype)) return dtype;
  }
  return std::nullopt;
}

std::uint64_t stored_bytes(const std::string& name) {
  if (const auto other = std::ranges::find(kOtherTypes, name, &StoredType::name); other != std::end(kOtherTypes))
    return other->bytes;
  const std::optional<DType> dtype = read_dtype(name);
  check(dtype.has_value(), "dtype ", name, " is not known");
  return size_of(*dtype);
}

using nlohmann::json;

// Returns the whole number. The JSON library alone would also convert 1.5 and true.
std::uint64_t whole_number(const json& value) {
  check(value.is_number_unsigned(), "expected a whole number, got ", dump_json(value));
  return value.get<std::uint64_t>();
}

// A tensor in the file: its name, dtype, shape and bytes [begin, end), counted from the first byte after the header.
struct Place {
  std::uint64_t begin, end;
  std::string name, dtype;
  std::vector<std::int64_t> shape;
};

// Reads a tensor's entry of the header. Throws Error unless its number of bytes is the one that dtype and shape need.
Place read_place(const std::string& name, const json& entry) {
  check(entry.is_object(), "expected an object, got ", dump_json(entry));
  for (const char* key : {"dtype", "shape", "data_offsets"})
    check(entry.contains(key), "the key \"", key, "\" is missing");
  check(entry.at("dtype").is_string(), "dtype: expected a text, got ", dump_json(entry.at("dtype")));
  const json& offsets = entry.at("data_offsets");
  check(offsets.is_array() && offsets.size() == 2, "data_offsets: expected two numbers, got ", dump_json(offsets));
  Place place{.begin = whole_number(offsets[0]),
              .end = whole_number(offsets[1]),
              .name = name,
              .dtype = entry.at("dtype").get<std::string>(),
              .shape = {}};
  check(entry.at("shape").is_array(), "shape: expected a list of numbers, got ", dump_json(entry.at("shape")));
  std::uint64_t bytes = stored_bytes(place.dtype);
  for (const json& size : entry.at("shape")) {
    // Sizes of 0 count as 1 here, because the strides must not overflow either.
    const std::uint64_t counted = std::max<std::uint64_t>(whole_number(size), 1);
    check(!__builtin_mul_overflow(bytes, counted, &bytes) && bytes <= kMaxTensorBytes, "bad shape");
    place.shape.push_back(size.get<std::int64_t>());
  }
  if (std::ranges::find(place.shape, 0) != place.shape.end()) bytes = 0;
  check(place.begin <= place.end && place.end - place.begin == bytes, bytes,
        " bytes are expected, the header places it at ", place.begin, " to ", place.end);
  return place;
}

// Returns the tensors in the order of their bytes. Throws Error unless every byte of the file belongs to exactly one
// tensor: each tensor begins where the previous one ends, and the last one ends at `data_bytes`.
std::vector<Place> read_places(const json& tensors, std::uint64_t data_bytes) {
  check(tensors.is_object(), "the header is no JSON object");
  std::vector<Place> places;
  for (const auto& [name, entry] : tensors.items()) {
    if (name == "__metadata__") {
      const bool texts =
          entry.is_object() && std::ranges::all_of(entry, [](const json& value) { return value.is_string(); });
      check(texts, "__metadata__: expected an object of strings");
      continue;
    }
    try {
      places.push_back(read_place(name, entry));
    } catch (const std::exception& error) {
      fail("tensor ", name, ": ", error.what());
    }
  }
  std::ranges::sort(places, {}, [](const Place& place) { return std::pair(place.begin, place.end); });
  std::uint64_t end = 0;
  for (const Place& place : places) {
    check(place.begin == end, "tensor ", place.name, ": expected it at ", end,
          ", behind the one before, the header places it at ", place.begin);
    end = place.end;
  }
  check(end == data_bytes, "the tensors have ", end, " bytes, the file has ", data_bytes);
  return places;
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
  std::string text = dump_json(header);
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

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, OtherDtypes others) : file_(path) {
  try {
    read_header(others);
  } catch (const IoError&) {
    throw;
  } catch (const std::exception& error) {
    fail(path.string(), ": not a valid safetensors file: ", error.what());
  }
}

void SafetensorsFile::read_header(OtherDtypes others) {
  std::uint64_t header_bytes = 0;
  const auto file_bytes = static_cast<std::uint64_t>(file_.size());
  check(file_bytes >= 8, "truncated header");
  file_.read_at(0, {reinterpret_cast<char*>(&header_bytes), 8});
  check(header_bytes <= kMaxHeaderBytes && header_bytes + 8 <= file_bytes, "the header claims ", header_bytes,
        " bytes, the file has ", file_bytes);
  std::string header(header_bytes, '\0');
  file_.read_at(8, header);
  const std::uint64_t data_bytes = file_bytes - 8 - header_bytes;

  for (const Place& place : read_places(parse_json<json>(header), data_bytes)) {
    const auto offset = static_cast<std::int64_t>(8 + header_bytes + place.begin);
    const std::optional<DType> dtype = read_dtype(place.dtype);
    check(dtype.has_value() || others == OtherDtypes::skipped, "tensor ", place.name, ": dtype ", place.dtype,
          " is not supported (F32, F64, F16, I32, BF16 and U8 are)");
    if (!dtype) {
      skipped_.emplace(place.name, place.dtype);
      continue;
    }
    entries_.emplace(place.name, Entry(Dims(place.shape), *dtype, place.dtype == kHalf, offset));
  }
}

namespace {

// Reads values of the type Stored, and writes what `convert` makes of them.
template <class Stored, class T, class Convert>
void read_converted(const InputFile& file, std::int64_t offset, std::span<T> to, const Convert& convert) {
  std::vector<Stored> part(1 << 20);
  for (std::size_t begin = 0; begin < to.size(); begin += part.size()) {
    const std::size_t count = std::min(part.size(), to.size() - begin);
    file.read_at(offset + static_cast<std::int64_t>(begin * sizeof(Stored)),
                 {reinterpret_cast<char*>(part.data()), count * sizeof(Stored)});
    std::transform(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count), to.begin() + begin, convert);
  }
}

// Reads numbers of f32 or bf16, and writes them as q8_0, kPart numbers at a time.
void read_quantized(const InputFile& file, std::int64_t offset, DType dtype, const Tensor& place) {
  constexpr std::int64_t kPart = 1 << 20;
  static_assert(kPart % kernels::kQ8Block == 0);
  const Tensor part = Tensor::empty({std::min(kPart, place.numel())}, dtype);
  for (std::int64_t begin = 0; begin < place.numel(); begin += kPart) {
    const Tensor some = part.slice(0, 0, std::min(kPart, place.numel() - begin));
    file.read_at(offset + begin * size_of(dtype), {raw_bytes(some), static_cast<std::size_t>(some.bytes())});
    const Tensor values = some.to(DType::f32);
    parallel_for(0, some.numel(), 1 << 14, [&](std::int64_t first, std::int64_t end) {
      kernels::quantize_q8(place.q8_rows().from(begin + first), values.data<float>() + first, end - first);
    });
  }
}

}  // namespace

const SafetensorsFile::Entry& SafetensorsFile::entry_of(const std::string& name) const {
  const auto found = entries_.find(name);
  check(found != entries_.end(), file_.path().string(), ": there is no tensor ", name);
  return found->second;
}

void SafetensorsFile::read(const std::string& name, const Tensor& place) const {
  const Entry& entry = entry_of(name);
  const bool rounds = place.dtype() == DType::bf16 && entry.dtype() == DType::f32 && !entry.half_;
  const bool widens = place.dtype() == DType::f32 && entry.dtype() == DType::bf16;
  const bool quantizes =
      place.dtype() == DType::q8_0 && !entry.half_ && (entry.dtype() == DType::f32 || entry.dtype() == DType::bf16);
  check(entry.sizes() == place.sizes() && (entry.dtype() == place.dtype() || rounds || widens || quantizes),
        file_.path().string(), ": tensor ", name, ": expected ", place.sizes(), " ", place.dtype(), ", got ",
        entry.sizes(), " ", entry.dtype());
  if (quantizes) {
    read_quantized(file_, entry.offset_, entry.dtype(), place);
  } else if (rounds) {
    read_converted<float>(file_, entry.offset_, place.span<kernels::Bf16>(), kernels::round_to_bf16);
  } else if (widens) {
    read_converted<kernels::Bf16>(file_, entry.offset_, place.span<float>(), kernels::widen);
  } else if (entry.half_) {
    read_converted<kernels::F16>(file_, entry.offset_, place.span<float>(), kernels::widen_f16);
  } else {
    file_.read_at(entry.offset_, {raw_bytes(place), static_cast<std::size_t>(place.bytes())});
  }
  place.mark_changed();
}

void SafetensorsFile::read(const std::string& name, std::int64_t begin, const Tensor& place) const {
  const Entry& entry = entry_of(name);
  check(
      entry.dtype() == place.dtype() && !entry.half_ && begin >= 0 && begin + place.numel() <= entry.sizes().product(),
      file_.path().string(), ": tensor ", name, ": expected ", place.numel(), " elements of ", place.dtype(), " from ",
      begin, " on, got ", entry.sizes(), " ", entry.dtype());
  const auto offset = entry.offset_ + begin * static_cast<std::int64_t>(size_of(place.dtype()));
  file_.read_at(offset, {raw_bytes(place), static_cast<std::size_t>(place.bytes())});
  place.mark_changed();
}

Tensor SafetensorsFile::read(const std::string& name) const {
  const Entry& entry = entry_of(name);
  const Tensor tensor = Tensor::empty(entry.sizes(), entry.dtype());
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
