// Images with captions: a folder of PNG files, or a generated corpus.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/images/image.h"

namespace tapeformer {

// A pixel within the object that a word of a caption names.
struct Place {
  std::int64_t x, y;
};

struct CaptionedImage {
  Image image;
  std::string caption;
  // For each word of the caption, where the object is that it names, or nothing; empty: the places are not known.
  std::vector<std::optional<Place>> places;
};

// Images of one size, each with one caption or more, in the order of their first captions.
class CaptionedImages {
 public:
  struct Caption {
    std::int64_t image;  // its index in the images
    std::string text;
    std::vector<std::optional<Place>> places;  // CaptionedImage::places
  };

  // Reads FOLDER/captions.tsv and the files that it names, images of size · size pixels. A line is "file\tcaption", or
  // "file\tcaption\tplaces", where the places have x,y or - for each word of the caption, with spaces between them.
  // A file on several lines has several captions. Throws Error that names the file, and the line if there is one.
  static CaptionedImages from_folder(const std::filesystem::path& folder, std::int64_t size);
  // The first lines of a generated corpus of images (corpus_image()).
  static CaptionedImages from_corpus(std::string_view corpus, std::int64_t lines, std::uint64_t seed,
                                     std::int64_t size);

  std::span<const Caption> captions() const { return captions_; }
  std::int64_t image_count() const { return static_cast<std::int64_t>(names_.size()); }
  // The file's name, or "image 17" of a corpus.
  const std::string& name(std::int64_t image) const { return names_[image]; }
  Image image(std::int64_t i) const;
  // The pixels (size, size, 3) of an image.
  std::span<const std::uint8_t> pixels(std::int64_t i) const;
  // The folder, or the name of the corpus, in error messages.
  const std::string& origin() const { return origin_; }
  std::int64_t size() const { return size_; }

  // Keeps the images [begin, end) with all their captions, wherever these are in the list.
  CaptionedImages part(std::int64_t begin, std::int64_t end) const;
  // A hash of the images and captions.
  std::uint64_t hash() const;

  // Adds an image without captions; returns its index. Throws Error if its size is another one.
  std::int64_t add_image(const Image& image, std::string name);
  void add_caption(Caption caption) { captions_.push_back(std::move(caption)); }

  CaptionedImages(std::string origin, std::int64_t size) : origin_(std::move(origin)), size_(size) {}

 private:
  std::string origin_;
  std::int64_t size_;                 // width and height of each image
  std::vector<std::uint8_t> pixels_;  // (images, size, size, 3)
  std::vector<std::string> names_;
  std::vector<Caption> captions_;
};

// The name of the file that holds the captions of a folder.
inline constexpr const char* kCaptionsFile = "captions.tsv";
// A line of that file, with its newline.
std::string captions_line(std::string_view file, const CaptionedImage& image);

}  // namespace tapeformer
