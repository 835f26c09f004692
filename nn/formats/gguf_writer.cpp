#include <type_traits>
#include <utility>

#include "nn/formats/gguf.h"
#include "nn/formats/gguf_layout.h"

namespace tapeformer {

using namespace gguf;

namespace {

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void append_text(std::string& out, const std::string& text) {
  append<std::uint64_t>(out, text.size());
  out += text;
}

template <class T>
constexpr Kind kKindOf = std::is_same_v<T, std::uint32_t>   ? u32
                         : std::is_same_v<T, std::int32_t>  ? i32
                         : std::is_same_v<T, std::uint64_t> ? u64
                         : std::is_same_v<T, std::int64_t>  ? i64
                         : std::is_same_v<T, float>         ? f32
                         : std::is_same_v<T, double>        ? f64
                         : std::is_same_v<T, bool>          ? truth
                                                            : string;

void append_value(std::string& out, const GgufValue& value) {
  std::visit(
      [&]<class T>(const T& one) {
        if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
          // Lists of whole numbers are written as i32, as llama.cpp's are.
          constexpr bool kWhole = std::is_same_v<typename T::value_type, std::int64_t>;
          append<std::uint32_t>(out, list);
          append<std::uint32_t>(out, kWhole ? i32 : kKindOf<typename T::value_type>);
          append<std::uint64_t>(out, one.size());
          for (const auto& element : one) {
            if constexpr (kWhole) {
              check(std::in_range<std::int32_t>(element), "GGUF: expected a list of numbers of 32 bits, got ", element);
              append(out, static_cast<std::int32_t>(element));
            } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
              append_text(out, element);
            } else {
              append(out, element);
            }
          }
        } else {
          append<std::uint32_t>(out, kKindOf<T>);
          if constexpr (std::is_same_v<T, std::string>) {
            append_text(out, one);
          } else {
            append(out, one);
          }
        }
      },
      value);
}

}  // namespace

void write_gguf(const std::filesystem::path& path, const std::vector<std::pair<std::string, GgufValue>>& metadata,
                const std::vector<GgufTensor>& tensors) {
  std::string header;
  append(header, kMagic);
  append<std::uint32_t>(header, 3);
  append<std::uint64_t>(header, tensors.size());
  append<std::uint64_t>(header, metadata.size());
  for (const auto& [key, value] : metadata) {
    append_text(header, key);
    append_value(header, value);
  }
  std::int64_t offset = 0;
  for (const GgufTensor& tensor : tensors) {
    const Dims& sizes = tensor.values.sizes();
    append_text(header, tensor.name);
    append<std::uint32_t>(header, static_cast<std::uint32_t>(sizes.rank()));
    for (int axis = sizes.rank() - 1; axis >= 0; --axis) append<std::uint64_t>(header, sizes[axis]);
    append(header, tensor.type->id);
    append<std::uint64_t>(header, offset);
    check(tensor.values.size(-1) % tensor.type->values == 0, "tensor ", tensor.name, ": a row has ",
          tensor.values.size(-1), " values, expected whole blocks of ", tensor.type->values);
    offset = aligned(offset + tensor.values.numel() / tensor.type->values * tensor.type->bytes, kAlignment);
  }
  AtomicFile file(path);
  const auto append_padded = [&](std::string& bytes) {
    bytes.resize(aligned(std::ssize(bytes), kAlignment), '\0');
    file.append(bytes);
  };
  append_padded(header);
  for (const GgufTensor& tensor : tensors) {
    const Tensor dense = tensor.values.contiguous();
    std::string bytes(dense.numel() / tensor.type->values * tensor.type->bytes, '\0');
    try {
      quantize(*tensor.type, dense.span<float>(), bytes);
    } catch (const Error& error) {
      fail("tensor ", tensor.name, ": ", error.what());
    }
    append_padded(bytes);
  }
  file.commit();
}

}  // namespace tapeformer
