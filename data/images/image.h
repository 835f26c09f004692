// Images in memory, and the PNG files that hold them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

struct Image {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  // (height, width, 3)
};

// Reads a PNG image of width · height pixels with at most 8 bits a channel: RGB, gray or a palette. The values are
// those that are stored, whatever the file says of its gamma or its colours. Transparent pixels are put on white: a
// value v of alpha a becomes v·a + 255·(1 − a). Throws Error, which begins with `origin`, for other images and for
// bytes that are no PNG image.
Image read_png(std::string_view file, std::int64_t width, std::int64_t height, const std::string& origin);
// Returns the image as the bytes of a PNG file.
std::string png_bytes(const Image& image);

}  // namespace tapeformer
