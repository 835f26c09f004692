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

}  // namespace

Image read_png(std::string_view bytes, std::int64_t width, std::int64_t height, const std::string& origin) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const PngOwner owner(&png);
  check(png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) != 0, origin, ": expected a PNG image, got ",
        "other bytes (", png.message, ")");
  check(png.width == width && png.height == height, origin, ": expected an image of ", width, " by ", height,
        " pixels, got ", png.width, " by ", png.height);
  check((png.format & PNG_FORMAT_FLAG_LINEAR) == 0, origin, ": expected 8 bits a channel, got 16");
  png.format = PNG_FORMAT_RGB;
  Image image{width, height, std::vector<std::uint8_t>(PNG_IMAGE_SIZE(png))};
  const png_color white{255, 255, 255};
  check(png_image_finish_read(&png, &white, image.rgb.data(), 0, nullptr) != 0, origin, ": the image is damaged (",
        png.message, ")");
  return image;
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
