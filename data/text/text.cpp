#include "data/text/text.h"

#include <glob.h>

#include <algorithm>
#include <unordered_set>

#include "core/error.h"
#include "data/text/byte_reader.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

void add_folder(const fs::path& folder, std::vector<fs::path>& found) {
  std::error_code error, unreachable;  // a link to nowhere is no error, and no regular file either
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(unreachable)) {
      found.push_back(entry->path());
    }
  }
  check(!error, "cannot list ", folder.string(), ": ", error.message());
}

void add_path(const fs::path& path, std::vector<fs::path>& found) {
  std::error_code unreachable;
  if (fs::is_directory(path, unreachable)) {
    add_folder(path, found);
  } else {
    found.push_back(path);
  }
}

void add_matches(const std::string& pattern, std::vector<fs::path>& found) {
  glob_t matches{};
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches) == 0) {
    for (std::size_t i = 0; i < matches.gl_pathc; ++i) add_path(matches.gl_pathv[i], found);
  }
  ::globfree(&matches);
}

}  // namespace

MappedText::MappedText(const fs::path& path) : file_(path) {
  check(!text().empty(), path.string(), " is empty, expected text");
}

std::vector<fs::path> expand_inputs(std::span<const std::string> inputs) {
  std::vector<fs::path> all;
  std::unordered_set<std::string> seen;
  for (const std::string& input : inputs) {
    std::vector<fs::path> found;
    std::error_code unreachable;
    // A file whose name happens to hold * ? [ is taken by its name.
    if (input == kStandardInput) {
      found.push_back(input);
    } else if (fs::exists(input, unreachable)) {
      add_path(input, found);
      check(!found.empty(), "no files in folder ", input);
    } else if (input.find_first_of("*?[") != std::string::npos) {
      add_matches(input, found);
      check(!found.empty(), "no files match ", input);
    } else {
      fail("no such file or folder: ", input);
    }
    std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
    for (fs::path& path : found) {
      if (seen.insert(path.lexically_normal().native()).second) all.push_back(std::move(path));
    }
  }
  return all;
}

}  // namespace tapeformer
