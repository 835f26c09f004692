#include "report/caption_page.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "report/page.h"

namespace tapeformer {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWeightDigits = 3;

// The pixels as two hexadecimal digits for each channel.
std::string hex_of(const Image& image) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * image.rgb.size());
  for (const std::uint8_t value : image.rgb) {
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

}  // namespace

nlohmann::ordered_json caption_json(const WrittenCaption& written) {
  Json json{{"image", written.name}, {"caption", written.caption}};
  if (written.reference) json["reference"] = *written.reference;
  Json words = Json::array();
  const CaptionAttention& attention = written.attention;
  for (std::size_t i = 0; i < attention.words.size(); ++i) {
    if (attention.words[i].empty()) continue;  // of a caption without words, or beside a space too many
    Json rows = Json::array();
    for (std::int64_t row = 0; row < attention.side; ++row) {
      Json cells = Json::array();
      for (std::int64_t column = 0; column < attention.side; ++column) {
        cells.push_back(rounded(attention.weights[i][row * attention.side + column], kWeightDigits));
      }
      rows.push_back(std::move(cells));
    }
    words.push_back({{"word", attention.words[i]}, {"weights", std::move(rows)}});
  }
  json["words"] = std::move(words);
  return json;
}

std::string caption_page(const std::string& title, const std::vector<WrittenCaption>& captions,
                         const CaptionCounts& counts) {
  constexpr std::int64_t kMaxPixels = 2'000'000;
  std::int64_t pixels = 0;
  Json data{{"title", title}, {"written", counts.written}, {"captions", Json::array()}};
  if (counts.right) data["right"] = *counts.right;
  for (const WrittenCaption& written : captions) {
    pixels += written.image.width * written.image.height;
    Json json = caption_json(written);
    json.update({{"width", written.image.width}, {"height", written.image.height}, {"rgb", hex_of(written.image)}});
    data["captions"].push_back(std::move(json));
  }
  if (pixels > kMaxPixels) {
    fail_usage("caption: expected at most ", kMaxPixels, " pixels for a page, got ", pixels,
               ": take fewer images, or --json");
  }
  return page_html({.title = title, .styles = {"caption.css"}, .scripts = {"caption.js"}}, data);
}

}  // namespace tapeformer
