#include "nn/formats/gguf.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "nn/formats/gguf_layout.h"

namespace tapeformer {

using namespace gguf;

// Reads the header from its beginning on, through a buffer. Everything that is read lies within the file.
class GgufFile::Header {
 public:
  explicit Header(const InputFile& file) : file_(file) {}

  std::int64_t position() const { return position_; }
  std::int64_t left() const { return file_.size() - position_; }

  template <class T>
  T get(const char* what) {
    T value;
    take(reinterpret_cast<char*>(&value), sizeof value, what);
    return value;
  }
  std::string get_text(const char* what) {
    const auto size = get<std::uint64_t>(what);
    check(size <= static_cast<std::uint64_t>(left()), what, ": a text of ", size, " bytes, ", left(), " are left");
    std::string text(size, '\0');
    take(text.data(), static_cast<std::int64_t>(size), what);
    return text;
  }
  // Reads a count of items that take at least `bytes` bytes each. Throws Error if so many are not left in the file.
  std::uint64_t get_count(const char* what, std::int64_t bytes) {
    const auto count = get<std::uint64_t>(what);
    check(count <= static_cast<std::uint64_t>(left() / bytes), what, ": ", count, " of at least ", bytes, " bytes, ",
          left(), " are left");
    return count;
  }

  GgufValue get_value(std::uint32_t kind, const char* what) {
    switch (kind) {
      case u8:
        return std::uint32_t{get<std::uint8_t>(what)};
      case i8:
        return std::int32_t{get<std::int8_t>(what)};
      case u16:
        return std::uint32_t{get<std::uint16_t>(what)};
      case i16:
        return std::int32_t{get<std::int16_t>(what)};
      case u32:
        return get<std::uint32_t>(what);
      case i32:
        return get<std::int32_t>(what);
      case f32:
        return get<float>(what);
      case truth:
        return get<std::uint8_t>(what) != 0;
      case string:
        return get_text(what);
      case list:
        return get_list(what);
      case u64:
        return get<std::uint64_t>(what);
      case i64:
        return get<std::int64_t>(what);
      case f64:
        return get<double>(what);
    }
    fail(what, ": the type of a value is ", kind, ", expected 0 to ", kinds - 1);
  }

 private:
  GgufValue get_list(const char* what) {
    const auto kind = get<std::uint32_t>(what);
    check(kind < kinds && kind != list, what, ": a list of values of type ", kind, " is not supported");
    const std::uint64_t count = get_count(what, kBytes[kind]);
    if (kind == string) {
      std::vector<std::string> texts(count);
      for (std::string& text : texts) text = get_text(what);
      return texts;
    }
    if (kind == f32 || kind == f64) {
      std::vector<float> numbers(count);
      for (float& number : numbers) number = kind == f32 ? get<float>(what) : static_cast<float>(get<double>(what));
      return numbers;
    }
    std::vector<std::int64_t> numbers(count);
    for (std::int64_t& number : numbers) {
      number = std::visit(
          [&](const auto& one) -> std::int64_t {
            using T = std::decay_t<decltype(one)>;
            if constexpr (std::is_same_v<T, std::uint64_t>) {
              check(std::in_range<std::int64_t>(one), what, ": a list has ", one, ", which is too large");
            }
            if constexpr (std::is_integral_v<T>) return static_cast<std::int64_t>(one);
            return 0;
          },
          get_value(kind, what));
    }
    return numbers;
  }

  void take(char* out, std::int64_t bytes, const char* what) {
    check(bytes <= left(), what, ": the file ends before");
    while (bytes > 0) {
      if (position_ >= buffer_begin_ + std::ssize(buffer_)) {
        buffer_begin_ = position_;
        buffer_.resize(std::min<std::int64_t>(left(), 1 << 20));
        file_.read_at(buffer_begin_, buffer_);
      }
      const std::int64_t at = position_ - buffer_begin_, some = std::min(bytes, std::ssize(buffer_) - at);
      std::memcpy(out, buffer_.data() + at, some);
      out += some, position_ += some, bytes -= some;
    }
  }

  const InputFile& file_;
  std::string buffer_;
  std::int64_t position_ = 0, buffer_begin_ = 0;
};

GgufFile::GgufFile(const std::filesystem::path& path) : file_(path) {
  try {
    read_header();
  } catch (const IoError&) {
    throw;
  } catch (const std::exception& error) {
    fail(path.string(), ": not a valid GGUF file: ", error.what());
  }
}

void GgufFile::read_header() {
  Header header(file_);
  const auto magic = header.get<std::uint32_t>("magic");
  check(magic == kMagic, "it does not begin with \"GGUF\"");
  const auto version = header.get<std::uint32_t>("version");
  check(version == 2 || version == 3, "version ", version, " is not supported, only 2 and 3");
  const std::uint64_t tensors = header.get_count("tensors", 24), values = header.get_count("metadata", 13);
  for (std::uint64_t i = 0; i < values; ++i) {
    std::string key = header.get_text("metadata");
    GgufValue value = header.get_value(header.get<std::uint32_t>("metadata"), "metadata");
    const auto [entry, is_new] = metadata_.emplace(std::move(key), std::move(value));
    check(is_new, "the key ", entry->first, " is there twice");
  }
  read_places(header, tensors);
}

void GgufFile::read_places(Header& header, std::uint64_t count) {
  std::int64_t alignment = kAlignment;
  if (const auto found = metadata_.find(kAlignmentKey); found != metadata_.end()) {
    const auto* const given = std::get_if<std::uint32_t>(&found->second);
    check(given != nullptr, kAlignmentKey, ": expected a power of two, got another type");
    alignment = *given;
  }
  check(alignment > 0 && alignment <= 1 << 20 && std::has_single_bit(static_cast<std::uint64_t>(alignment)),
        kAlignmentKey, ": expected a power of two, got ", alignment);
  std::vector<std::pair<std::int64_t, std::string>> by_offset;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string name = header.get_text("tensors");
    const auto where = [&] { return str_cat("tensor ", name, ": "); };
    const auto axes = header.get<std::uint32_t>("tensors");
    check(axes >= 1 && axes <= 4, where(), "it has ", axes, " axes, expected 1 to 4");
    std::vector<std::int64_t> sizes(axes);
    std::int64_t elements = 1;
    for (std::int64_t axis = axes - 1; axis >= 0; --axis) {  // the last axis comes first in the file
      const auto size = header.get<std::uint64_t>("tensors");
      check(size >= 1 && size <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 8) &&
                !__builtin_mul_overflow(elements, static_cast<std::int64_t>(size), &elements),
            where(), "bad shape");
      sizes[axis] = static_cast<std::int64_t>(size);
    }
    const GgufType* type = nullptr;
    try {
      type = &gguf_type(header.get<std::uint32_t>("tensors"));
    } catch (const Error& error) {
      fail(where(), error.what());
    }
    check(sizes.back() % type->values == 0, where(), "a row has ", sizes.back(), " values, expected whole blocks of ",
          type->values);
    const auto offset = header.get<std::uint64_t>("tensors");
    check(offset % static_cast<std::uint64_t>(alignment) == 0, where(), "its offset ", offset, " is no multiple of ",
          alignment);
    const std::int64_t blocks = elements / type->values, left = file_.size() / type->bytes;
    check(blocks <= left && offset <= static_cast<std::uint64_t>(file_.size()), where(), "it lies outside of the file");
    check(sizes_.emplace(name, Dims(sizes)).second, where(), "it is there twice");
    places_[name] = {type, static_cast<std::int64_t>(offset), blocks * type->bytes};
    by_offset.emplace_back(static_cast<std::int64_t>(offset), name);
  }
  const std::int64_t data = aligned(header.position(), alignment);
  std::ranges::sort(by_offset);
  std::int64_t end = 0;
  for (const auto& [offset, name] : by_offset) {
    Place& place = places_[name];
    // The format has no gaps beyond alignment, so a gap means that a type or size is wrong.
    check(offset == end, "tensor ", name, ": expected it at ", end, ", behind the one before, the header places it at ",
          offset);
    check(data + offset + place.bytes <= file_.size(), "tensor ", name, ": it lies outside of the file");
    end = aligned(offset + place.bytes, alignment);
    place.begin += data;
  }
  check(file_.size() <= data + end, "the tensors end at ", data + end, ", the file has ", file_.size(), " bytes");
}

DType GgufFile::dtype(const std::string& name) const { return type(name).name == "BF16" ? DType::bf16 : DType::f32; }

void GgufFile::read_to(const Tensor& to, const std::string& name) const {
  const auto found = places_.find(name);
  check(found != places_.end(), origin(), ": there is no tensor ", name);
  const Place& place = found->second;
  to.mark_changed();
  if (to.dtype() == DType::bf16) {
    return file_.read_at(
        place.begin, {reinterpret_cast<char*>(to.span<kernels::Bf16>().data()), static_cast<std::size_t>(place.bytes)});
  }
  const std::span<float> values = to.span<float>();
  const std::int64_t blocks = place.bytes / place.type->bytes,
                     some = std::max<std::int64_t>(1, (1 << 20) / place.type->bytes);
  std::string part;
  for (std::int64_t first = 0; first < blocks; first += some) {
    const std::int64_t count = std::min(some, blocks - first);
    part.resize(count * place.type->bytes);
    file_.read_at(place.begin + first * place.type->bytes, part);
    dequantize(*place.type, part, values.subspan(first * place.type->values, count * place.type->values));
  }
}

template <class T>
const T& GgufFile::value(const std::string& key, const char* expected) const {
  const auto found = metadata_.find(key);
  check(found != metadata_.end(), origin(), ": the key ", key, " is missing");
  const T* const value = std::get_if<T>(&found->second);
  check(value != nullptr, origin(), ": ", key, ": expected ", expected, ", got another type");
  return *value;
}

std::int64_t GgufFile::integer(const std::string& key) const {
  const auto found = metadata_.find(key);
  check(found != metadata_.end(), origin(), ": the key ", key, " is missing");
  return std::visit(
      [&](const auto& one) -> std::int64_t {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
          if (std::in_range<std::int64_t>(one) && one >= 0) return static_cast<std::int64_t>(one);
        }
        fail(origin(), ": ", key, ": expected a whole number, 0 or more");
      },
      found->second);
}

double GgufFile::number(const std::string& key) const {
  const auto found = metadata_.find(key);
  const bool wide = found != metadata_.end() && std::holds_alternative<double>(found->second);
  const double number = wide ? std::get<double>(found->second) : value<float>(key, "a number");
  check(std::isfinite(static_cast<float>(number)), origin(), ": ", key, ": expected a finite number of f32, got ",
        number);
  return number;
}

bool GgufFile::boolean(const std::string& key) const { return value<bool>(key, "true or false"); }
const std::string& GgufFile::text(const std::string& key) const { return value<std::string>(key, "a text"); }
const std::vector<std::string>& GgufFile::texts(const std::string& key) const {
  return value<std::vector<std::string>>(key, "a list of texts");
}
const std::vector<std::int64_t>& GgufFile::integers(const std::string& key) const {
  return value<std::vector<std::int64_t>>(key, "a list of whole numbers");
}
const std::vector<float>& GgufFile::numbers(const std::string& key) const {
  return value<std::vector<float>>(key, "a list of numbers");
}

}  // namespace tapeformer
