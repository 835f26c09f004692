#include "data/text/text_files.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

#include "core/error.h"
#include "data/text/byte_reader.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

// Adds the files in a folder at any depth, also through links. `seen` has the folders that were read: a link may lead
// to one of them.
void add_folder(const fs::path& folder, std::set<fs::path>& seen, std::vector<fs::path>& found) {
  std::error_code error, unreachable;  // a broken link is no error here, but it is not a regular file
  const fs::path real = fs::canonical(folder, error);
  if (!error && !seen.insert(real).second) return;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (is_hidden(entry->path())) continue;
    if (entry->is_directory(unreachable)) {
      add_folder(entry->path(), seen, found);
    } else if (entry->is_regular_file(unreachable)) {
      found.push_back(entry->path());
    }
  }
  check(!error, "cannot list ", folder.string(), ": ", error.message());
}

void add_path(const fs::path& path, std::vector<fs::path>& found) {
  std::error_code unreachable;
  if (fs::is_directory(path, unreachable)) {
    std::set<fs::path> seen;
    add_folder(path, seen, found);
  } else {
    found.push_back(path);
  }
}

// The folder that the search for a pattern could not list, and why.
thread_local std::string refused;

// glob() calls this for what it cannot list. Returns whether the search ends there: it goes on if there is no folder.
int end_at_refused(const char* folder, int error) {
  if (error == ENOENT || error == ENOTDIR || error == ELOOP) return 0;
  refused = str_cat(folder, ": ", std::generic_category().message(error));
  return 1;
}

// A folder that cannot be listed is an error, as in add_folder(): it may have files that match.
void add_matches(const std::string& pattern, std::vector<fs::path>& found) {
  glob_t matches{};
  const int status = ::glob(pattern.c_str(), GLOB_NOSORT, end_at_refused, &matches);
  std::vector<fs::path> paths;
  for (std::size_t i = 0; status == 0 && i < matches.gl_pathc; ++i) paths.emplace_back(matches.gl_pathv[i]);
  ::globfree(&matches);
  check(status != GLOB_ABORTED, pattern, ": cannot list ", refused);
  for (const fs::path& path : paths) add_path(path, found);
}

// Two paths of one file have the same place, whatever links lead to it. A pipe has no place but its name.
fs::path place_of(const fs::path& path) {
  std::error_code unreachable;
  fs::path place = path == kStandardInput ? path : fs::canonical(path, unreachable);
  return unreachable ? path : place;
}

}  // namespace

std::string read_text_file(const fs::path& path, TextNotes& notes) {
  constexpr std::size_t kStep = std::size_t{1} << 20;
  TextBytes bytes(path, notes);
  std::string text;
  for (std::size_t count = 1; count > 0;) {
    const std::size_t size = text.size();
    if (text.capacity() < size + kStep) text.reserve(2 * size + kStep);
    text.resize(size + kStep);
    count = bytes.read(std::span(text).subspan(size));
    text.resize(size + count);
  }
  check(!text.empty(), path.string(), " is empty, expected text");
  check(!text.starts_with("\xFF\xFE") && !text.starts_with("\xFE\xFF"), path.string(),
        " is in UTF-16, expected UTF-8 (iconv -f UTF-16 -t UTF-8 converts it)");
  text.shrink_to_fit();
  return text;
}

std::string read_text_file(const fs::path& path) {
  TextNotes notes;
  return read_text_file(path, notes);
}

std::vector<fs::path> expand_inputs(std::span<const std::string> inputs) {
  std::vector<fs::path> all;
  std::set<fs::path> seen;
  for (const std::string& input : inputs) {
    std::vector<fs::path> found;
    std::error_code unreachable;
    // The check for an existing file comes first, as its name may contain * ? [ too.
    if (input == kStandardInput) {
      found.push_back(input);
    } else if (fs::exists(input, unreachable)) {
      add_path(input, found);
      check(!found.empty(), "no files in folder ", input);
    } else if (input.find_first_of("*?[") != std::string::npos) {
      add_matches(input, found);
      check(!found.empty(), "no files match ", input);
    } else {
      check(!unreachable, "cannot look at ", input, ": ", unreachable.message());
      fail("no such file or folder: ", input);
    }
    std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
    for (fs::path& path : found) {
      if (seen.insert(place_of(path)).second) all.push_back(std::move(path));
    }
  }
  return all;
}

}  // namespace tapeformer
