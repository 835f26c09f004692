// Folders of images with captions, and the generated images.
#include "data/images/captioned_images.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "data/synthetic/corpora.h"
#include "tests/temp_folder.h"
#include "tokenizer/formats/base64.h"

using namespace tapeformer;

namespace {

std::string error_of_folder(const TempFolder& folder, std::int64_t size = 32) {
  try {
    CaptionedImages::from_folder(folder.path, size);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// PNG files of other kinds, of 2 by 2 pixels: gray, a palette with a transparent colour, 16 bits a channel, and RGB
// with alphas of 128, 51, 255 and 0.
constexpr std::string_view kGray =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAAAAABX3VL4AAAAEUlEQVR4AQEGAPn/AGTIAAD/BhkCLIuEmzoAAAAASUVORK5CYII=";
constexpr std::string_view kPalette =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAMAAABFaP0WAAAABlBMVEX/AAAAAP9sof2OAAAAAnRSTlP/AOW3MEoAAAARSURBVHgBAQYA+f8AAAEA"
    "AQAADAADSLtiOwAAAABJRU5ErkJggg==";
constexpr std::string_view kDeep =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACEAAAAAAHTY67AAAAFUlEQVR4AQEKAPX/AAAAAAAAAAAAAAAKAAEHJylUAAAAAElFTkSuQmCC";
constexpr std::string_view kAlpha =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAYAAABytg0kAAAAGklEQVR42mNgYGBoOJFiZMzAJSL3n5GJmQEAIKkDU8ETqHUAAAAASUVORK5CYII=";
// The pixels of kGray and of kAlpha in files that say that they are amounts of light (a gamma of 1).
constexpr std::string_view kGrayLight =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAAAAABX3VL4AAAABGdBTUEAAYagMeiWXwAAAA5JREFUeJxjSDnBwPAfAAYZAiwK/"
    "mjNAAAAAElFTkSuQmCC";
constexpr std::string_view kAlphaLight =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAYAAABytg0kAAAABGdBTUEAAYagMeiWXwAAABpJREFUeJxjYGBgaDgxLcWYgUtE7j8jEzMDACUnA7cGv6"
    "U9"
    "AAAAAElFTkSuQmCC";

}  // namespace

TEST_CASE("shapes: an image is what its line says, and the caption follows from the cells") {
  std::set<std::string> captions, images;
  for (std::int64_t line = 0; line < 300; ++line) {
    const std::string text = corpus_line("shapes", line, 3);
    const CaptionedImage made = corpus_image("shapes", line, 3);
    CAPTURE(text);
    CHECK(text.substr(text.find('\t') + 1) == made.caption + "\n");
    CHECK(std::ranges::count(made.caption, ' ') + 1 == std::ssize(made.places));
    images.emplace(made.image.rgb.begin(), made.image.rgb.end());
    captions.insert(made.caption);
    // The cells of the scene are the places of the caption's words, two for each shape, in reading order.
    std::size_t at = 0, word = 0;
    for (std::int64_t before = -1; at < text.find('\t'); at = text.find(',', at) + 2) {
      const Place cell{(text[at] - 'a') * 8 + 4, (text[at + 1] - '1') * 8 + 4};
      if (before >= 0) {
        const bool lower = text[at + 1] - '1' > before / 4;
        CHECK_FALSE(made.places[word].has_value());
        word += lower ? 1 : 2;
      }
      before = (text[at + 1] - '1') * 4 + text[at] - 'a';
      for (int i = 0; i < 2; ++i, ++word) {
        REQUIRE(made.places[word].has_value());
        CHECK(made.places[word]->x == cell.x);
        CHECK(made.places[word]->y == cell.y);
      }
      // The middle of the cell has the shape's colour: one of its channels is far below the gray background.
      const std::uint8_t* const pixel = &made.image.rgb[(cell.y * 32 + cell.x) * 3];
      CHECK(std::min({pixel[0], pixel[1], pixel[2]}) < 85);
      if (text.find(',', at) > text.find('\t')) break;
    }
    CHECK(word == made.places.size());
  }
  CHECK(captions.size() > 150);
  CHECK(images.size() == 300);
  CHECK_THROWS_WITH_AS(corpus_image("stories", 0, 1), "corpus: expected one with images, which is shapes, got stories",
                       UsageError);
}

TEST_CASE("captioned images: a folder that is written is read again, with several captions of one image") {
  const TempFolder folder;
  std::string list;
  for (std::int64_t line = 0; line < 5; ++line) {
    const CaptionedImage made = corpus_image("shapes", line, 1);
    folder.write(str_cat(line, ".png"), png_bytes(made.image));
    list += captions_line(str_cat(line, ".png"), made);
  }
  folder.write("captions.tsv", list + "./0.png\tanother caption\n");
  const CaptionedImages read = CaptionedImages::from_folder(folder.path, 32);
  const CaptionedImages made = CaptionedImages::from_corpus("shapes", 5, 1, 32);
  CHECK(read.image_count() == 5);
  REQUIRE(read.captions().size() == 6);
  CHECK(read.captions()[5].image == 0);
  CHECK(read.captions()[5].places.empty());
  CHECK(read.part(1, 5).hash() == made.part(1, 5).hash());
  for (std::int64_t i = 0; i < 5; ++i) {
    CHECK(read.image(i).rgb == made.image(i).rgb);
    CHECK(read.captions()[i].places.size() == made.captions()[i].places.size());
    CHECK(read.captions()[i].places[0]->x == made.captions()[i].places[0]->x);
  }
  const CaptionedImages first = read.part(0, 2), last = read.part(4, 5);
  CHECK(first.image_count() == 2);
  REQUIRE(first.captions().size() == 3);
  CHECK(first.captions()[2].text == "another caption");
  CHECK(first.captions()[2].image == 0);
  CHECK(last.name(0) == "4.png");
  CHECK(last.captions()[0].image == 0);
  CHECK(last.image(0).rgb == read.image(4).rgb);
}

TEST_CASE("png: gray and palettes become RGB, transparent pixels become white, and 16 bits are refused") {
  const auto read = [](std::string_view text) { return read_png(*read_base64(text), 2, 2, "a.png").rgb; };
  using Pixels = std::vector<std::uint8_t>;
  CHECK(read(kGray) == Pixels{100, 100, 100, 200, 200, 200, 0, 0, 0, 255, 255, 255});
  CHECK(read(kPalette) == Pixels{255, 0, 0, 255, 255, 255, 255, 255, 255, 255, 0, 0});
  CHECK(read(kAlpha) == Pixels{127, 127, 127, 244, 224, 214, 10, 20, 30, 255, 255, 255});
  CHECK_THROWS_WITH_AS(read(kDeep), "a.png: expected 8 bits a channel, got 16", Error);
}

TEST_CASE("png: values are read as they are stored, whatever gamma the file names") {
  const auto read = [](std::string_view text) { return read_png(*read_base64(text), 2, 2, "a.png").rgb; };
  CHECK(read(kGrayLight) == read(kGray));
  CHECK(read(kAlphaLight) == std::vector<std::uint8_t>{127, 127, 127, 244, 234, 224, 10, 20, 30, 255, 255, 255});
}

TEST_CASE("captioned images: what does not fit is told in one line") {
  const TempFolder folder;
  const std::string at = folder.path.string();
  CHECK(error_of_folder(folder).find("captions.tsv") != std::string::npos);
  folder.write("a.png", png_bytes(corpus_image("shapes", 0, 1).image));
  folder.write("captions.tsv", "a.png\n");
  CHECK(error_of_folder(folder) ==
        at + "/captions.tsv:1: expected file, tab, caption, or places behind another tab; got 0 tabs");
  folder.write("captions.tsv", "a.png\tone shape\t3,4\n");
  CHECK(error_of_folder(folder) == at + "/captions.tsv:1: expected a place for each of the 2 words, got 1");
  folder.write("captions.tsv", "a.png\tone shape\t3,4 32,1\n");
  CHECK(error_of_folder(folder) ==
        at + "/captions.tsv:1: expected a place x,y in an image of 32 by 32 pixels, or -, got 32,1");
  folder.write("captions.tsv", "../a.png\tone shape\n");
  CHECK(error_of_folder(folder) == at + "/captions.tsv:1: expected a file in the folder, got ../a.png");
  folder.write("captions.tsv", "a.png\tone shape\n");
  CHECK(error_of_folder(folder) == "no error");
  CHECK(error_of_folder(folder, 64) == at + "/a.png: expected an image of 64 by 64 pixels, got 32 by 32");
  folder.write("a.png", "GIF89a");
  CHECK(error_of_folder(folder).starts_with(at + "/a.png: expected a PNG image, got other bytes ("));
  const std::string whole = png_bytes(corpus_image("shapes", 0, 1).image);
  folder.write("a.png", whole.substr(0, whole.size() / 2));
  CHECK(error_of_folder(folder).starts_with(at + "/a.png: the image is damaged ("));
}
