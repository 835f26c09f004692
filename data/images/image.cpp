#include "data/images/image.h"

#include <png.h>

#include <memory>

#include "core/error.h"

namespace tapeformer {
namespace {

// Frees what libpng keeps of an image.
struct PngFree {
  void operator()(png_image* image) const { png_image_free(image); }
};
using PngOwner = std::unique_ptr<png_image, PngFree>;

// Returns a PNG file without the chunks that say how its values are to be shown, such as its gamma: libpng converts the
// values by them, and models read the values that are stored.
std::string without_colour_space(std::string_view bytes) {
  constexpr std::size_t kSignature = 8, kFrame = 12;  // the frame of a chunk: its length, its type and a checksum
  std::string kept(bytes.substr(0, kSignature));
  bytes.remove_prefix(kept.size());
  while (bytes.size() >= kFrame) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = (length << 8) | static_cast<std::uint8_t>(bytes[i]);
    const std::string_view chunk = bytes.substr(0, kFrame + length), type = chunk.substr(4, 4);
    const bool is_critical = type[0] >= 'A' && type[0] <= 'Z';
    if (is_critical || type == "tRNS") kept += chunk;
    bytes.remove_prefix(chunk.size());
  }
  return kept.append(bytes);
}

// Puts pixels (…, 4) with alpha on white, value by value as they are stored. (libpng's own blending takes the values as
// amounts of light, which makes half-transparent black a light gray.)
std::vector<std::uint8_t> on_white(const std::vector<std::uint8_t>& rgba) {
  std::vector<std::uint8_t> rgb;
  rgb.reserve(rgba.size() / 4 * 3);
  for (std::size_t i = 0; i < rgba.size(); i += 4) {
    const int alpha = rgba[i + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      rgb.push_back(static_cast<std::uint8_t>((rgba[i + c] * alpha + 255 * (255 - alpha) + 127) / 255));
    }
  }
  return rgb;
}

}  // namespace

Image read_png(std::string_view file, std::int64_t width, std::int64_t height, const std::string& origin) {
  const std::string bytes = without_colour_space(file);
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const PngOwner owner(&png);
  check(png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) != 0, origin, ": expected a PNG image, got ",
        "other bytes (", png.message, ")");
  check(png.width == width && png.height == height, origin, ": expected an image of ", width, " by ", height,
        " pixels, got ", png.width, " by ", png.height);
  check((png.format & PNG_FORMAT_FLAG_LINEAR) == 0, origin, ": expected 8 bits a channel, got 16");
  png.format = PNG_FORMAT_RGBA;
  std::vector<std::uint8_t> rgba(PNG_IMAGE_SIZE(png));
  check(png_image_finish_read(&png, nullptr, rgba.data(), 0, nullptr) != 0, origin, ": the image is damaged (",
        png.message, ")");
  return {width, height, on_white(rgba)};
}

std::string png_bytes(const Image& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width), png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGB;
  const PngOwner owner(&png);
  png_alloc_size_t size = 0;
  const auto write = [&](void* to) {
    check(png_image_write_to_memory(&png, to, &size, 0, image.rgb.data(), 0, nullptr) != 0, "png: ", png.message);
  };
  write(nullptr);
  std::string bytes(size, '\0');
  write(bytes.data());
  bytes.resize(size);
  return bytes;
}

}  // namespace tapeformer
