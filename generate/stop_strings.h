// Ends a text that comes in parts before the first of some strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

class StopStrings {
 public:
  // Throws UsageError for an empty string.
  explicit StopStrings(std::vector<std::string> strings);

  // Takes the next part, and returns what of the text is now sure to stand before a stop string: an end that may become
  // one is kept back. Nothing comes any more once stopped().
  std::string push(std::string_view part);
  // What was kept back of a text that has ended without a stop string.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> strings_;
  std::string pending_;
  bool stopped_ = false;
};

}  // namespace tapeformer
