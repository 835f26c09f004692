#include "generate/stop_strings.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace tapeformer {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  for (const std::string& string : strings_) {
    if (string.empty()) fail_usage("--stop: expected a text, got an empty one");
  }
}

std::string StopStrings::push(std::string_view part) {
  if (stopped_) return {};
  pending_ += part;
  std::size_t sure = pending_.size();
  for (const std::string& string : strings_) sure = std::min(sure, pending_.find(string));
  stopped_ = sure < pending_.size();
  for (const std::string& string : strings_) {
    if (stopped_) break;  // a stop string that has only begun stops nothing
    for (std::size_t kept = std::min(string.size() - 1, pending_.size()); kept > 0; --kept) {
      if (!pending_.ends_with(std::string_view(string).substr(0, kept))) continue;
      sure = std::min(sure, pending_.size() - kept);
      break;
    }
  }
  std::string text = pending_.substr(0, sure);
  pending_.erase(0, sure);
  return text;
}

std::string StopStrings::finish() { return stopped_ ? std::string() : std::exchange(pending_, {}); }

}  // namespace tapeformer
