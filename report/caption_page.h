// A page of images with the captions that a model has written, and where it looked for each word.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tasks/captioning/caption_evaluation.h"

namespace tapeformer {

struct WrittenCaption {
  std::string name;  // of the image
  Image image;
  std::string caption;
  std::optional<std::string> reference;  // the given caption
  CaptionAttention attention;            // of the written caption
};

// {"image": name, "caption": text, "reference": text if there is one, "words": [{"word", "weights": [[a row of
// cells]]}]}
nlohmann::ordered_json caption_json(const WrittenCaption& written);
// How many captions were written, and how many of them are exactly the given ones; nullopt if none were given.
struct CaptionCounts {
  std::int64_t written = 0;
  std::optional<std::int64_t> right = {};
};
// Shows these captions, which may be only some of the captions that `counts` counts. Throws UsageError if the page
// would hold more than two million pixels.
std::string caption_page(const std::string& title, const std::vector<WrittenCaption>& captions,
                         const CaptionCounts& counts);

}  // namespace tapeformer
