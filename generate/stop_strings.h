// Cuts a text that arrives in parts before the first stop string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapeformer {

class StopStrings {
 public:
  // Throws UsageError for an empty string.
  explicit StopStrings(std::vector<std::string> strings);

  // Takes the next part and returns the text that is certainly before any stop string; an end that may be the beginning
  // of a stop string is held back. Returns nothing once stopped().
  std::string push(std::string_view part);
  // Returns the text that was held back, when the text has ended without a stop string.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> strings_;
  std::string pending_;
  bool stopped_ = false;
};

}  // namespace tapeformer
