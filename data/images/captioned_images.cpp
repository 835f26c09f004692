#include "data/images/captioned_images.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/text/lines.h"
#include "core/text/parse_number.h"
#include "core/text/split_at.h"
#include "data/synthetic/corpora.h"
#include "data/text/text_files.h"

namespace tapeformer {
namespace {

// Reads "12,4" within an image, or "-"; throws Error that begins with `where` for anything else.
std::optional<Place> place_of(std::string_view text, std::int64_t size, const std::string& where) {
  if (text == "-") return std::nullopt;
  const std::size_t comma = std::min(text.find(','), text.size());
  const auto x = parse_number<std::int64_t>(text.substr(0, comma));
  const auto y = parse_number<std::int64_t>(text.substr(std::min(comma + 1, text.size())));
  check(x && y && *x >= 0 && *x < size && *y >= 0 && *y < size, where, "expected a place x,y in an image of ", size,
        " by ", size, " pixels, or -, got ", text);
  return Place{*x, *y};
}

std::vector<std::optional<Place>> places_of(std::string_view text, std::string_view caption, std::int64_t size,
                                            const std::string& where) {
  std::vector<std::optional<Place>> places;
  for (const std::string_view place : split_at(text, ' ')) places.push_back(place_of(place, size, where));
  check(places.size() == split_at(caption, ' ').size(), where, "expected a place for each of the ",
        split_at(caption, ' ').size(), " words, got ", places.size());
  return places;
}

}  // namespace

CaptionedImages CaptionedImages::from_folder(const std::filesystem::path& folder, std::int64_t size) {
  const std::filesystem::path list = folder / kCaptionsFile;
  const std::string text = read_text_file(list);
  CaptionedImages images(folder.string(), size);
  std::map<std::string, std::int64_t> known;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    const std::string where = str_cat(list.string(), ":", number, ": ");
    const std::vector<std::string_view> fields = split_at(line, '\t');
    check((fields.size() == 2 || fields.size() == 3) && !fields[0].empty(), where,
          "expected file, tab, caption, or places behind another tab; got ", fields.size() - 1, " tabs");
    const std::filesystem::path file = std::filesystem::path(fields[0]).lexically_normal();
    check(file.is_relative() && *file.begin() != "..", where, "expected a file in the folder, got ", fields[0]);
    auto found = known.find(file.string());  // "./a.png" is "a.png"
    if (found == known.end()) {
      const std::filesystem::path path = folder / file;
      const Image image = read_png(read_file(path), size, size, path.string());
      found = known.emplace(file.string(), images.add_image(image, std::string(fields[0]))).first;
    }
    Caption caption{found->second, std::string(fields[1]), {}};
    if (fields.size() == 3) caption.places = places_of(fields[2], fields[1], size, where);
    images.add_caption(std::move(caption));
  });
  check(!images.captions_.empty(), list.string(), ": expected lines of file, tab, caption, got none");
  return images;
}

CaptionedImages CaptionedImages::from_corpus(std::string_view corpus, std::int64_t lines, std::uint64_t seed,
                                             std::int64_t size) {
  CaptionedImages images(str_cat("corpus ", corpus), size);
  for (std::int64_t line = 0; line < lines; ++line) {
    CaptionedImage made = corpus_image(corpus, line, seed);
    const std::int64_t i = images.add_image(made.image, str_cat("image ", line + 1));
    images.add_caption({i, std::move(made.caption), std::move(made.places)});
  }
  return images;
}

std::span<const std::uint8_t> CaptionedImages::pixels(std::int64_t i) const {
  const std::int64_t bytes = size_ * size_ * 3;
  return std::span(pixels_).subspan(i * bytes, bytes);
}

Image CaptionedImages::image(std::int64_t i) const {
  const std::span<const std::uint8_t> rgb = pixels(i);
  return {size_, size_, {rgb.begin(), rgb.end()}};
}

CaptionedImages CaptionedImages::part(std::int64_t begin, std::int64_t end) const {
  CaptionedImages result(origin_, size_);
  for (std::int64_t i = begin; i < end; ++i) result.add_image(image(i), names_[i]);
  for (const Caption& caption : captions_) {
    if (caption.image < begin || caption.image >= end) continue;
    result.add_caption({caption.image - begin, caption.text, caption.places});
  }
  return result;
}

std::uint64_t CaptionedImages::hash() const {
  Hasher hasher;
  for (const Caption& caption : captions_) {
    hasher.update(caption.text.size());
    hasher.update(caption.text);
    const std::span<const std::uint8_t> bytes = pixels(caption.image);
    hasher.update(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  return hasher.digest();
}

std::int64_t CaptionedImages::add_image(const Image& image, std::string name) {
  check(image.width == size_ && image.height == size_, origin_, ": ", name, ": expected an image of ", size_, " by ",
        size_, " pixels, got ", image.width, " by ", image.height);
  pixels_.insert(pixels_.end(), image.rgb.begin(), image.rgb.end());
  names_.push_back(std::move(name));
  return image_count() - 1;
}

std::string captions_line(std::string_view file, const CaptionedImage& image) {
  std::string line = str_cat(file, '\t', image.caption);
  const char* separator = "\t";
  for (const std::optional<Place>& place : image.places) {
    line += separator;
    line += place ? str_cat(place->x, ',', place->y) : "-";
    separator = " ";
  }
  return line + '\n';
}

}  // namespace tapeformer
