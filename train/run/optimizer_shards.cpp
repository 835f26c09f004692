#include "train/run/optimizer_shards.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <set>

#include "core/error.h"
#include "core/text/joined.h"

namespace tapeformer {
namespace {

// The parsed name of a state's tensor: "m.w@32" is the state "m" of the parameter w, from element 32 on.
struct PartName {
  explicit PartName(std::string_view name) {
    const std::size_t at = name.rfind('@');
    const bool cut =
        at != name.npos && std::from_chars(name.data() + at + 1, name.data() + name.size(), begin).ec == std::errc();
    whole = std::string(name.substr(0, cut ? at : name.size()));
  }
  std::string whole;
  std::int64_t begin = 0;
};

// A range of a parameter's state in a file, and its destination.
struct Piece {
  std::size_t file;
  std::string name;
  // The offset in the file's tensor, the offset in the destination, and the length, in elements.
  std::int64_t from, to, count;
};

// The kinds of state that each parameter has: "m" and "v". DiLoCo's outer state is counted separately, as "outer.NAME":
// each rank has a share of it, beside the whole state of its own local optimizer.
std::map<std::string, std::set<std::string>> kinds_of_state(const std::set<std::string>& names) {
  std::map<std::string, std::set<std::string>> kinds;
  for (const std::string& name : names) {
    const std::size_t begin = name.starts_with("outer.") ? 6 : 0, end = name.find('.', begin);
    kinds[name.substr(0, begin) + name.substr(end + 1)].insert(name.substr(begin, end - begin));
  }
  return kinds;
}

}  // namespace

std::string optimizer_file(int rank, int ranks) {
  if (ranks == 1) return "optimizer.safetensors";
  char name[64];
  std::snprintf(name, sizeof(name), "optimizer-%05d-of-%05d.safetensors", rank + 1, ranks);
  return name;
}

OptimizerShards::OptimizerShards(const std::filesystem::path& folder) {
  int ranks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    int first = 0;
    std::sscanf(entry.path().filename().c_str(), "optimizer-%5d-of-%5d.safetensors", &first, &ranks);
  }
  check(ranks > 0 || is_there(folder / optimizer_file(0, 1)), folder.string(),
        " has weights without an optimizer's state: train.init_from begins a new run with them");
  for (int rank = 0; rank < std::max(1, ranks); ++rank) {
    files_.emplace_back(folder / optimizer_file(rank, std::max(1, ranks)));
  }
}

void OptimizerShards::load(Optimizer& optimizer, int rank, int ranks) const {
  const NamedTensors places = optimizer.state();
  // Older versions also saved moments of parameters that no gradient reaches in fine-tuning.
  const bool has_more = files_.front().entries().size() > places.size();
  if (files_.size() == 1 && ranks == 1 && !has_more) return optimizer.load_state(files_.front());
  check_kinds(places);
  read_parts(places, rank);
}

bool OptimizerShards::contains(std::string_view name) const {
  return std::ranges::any_of(files_, [&](const SafetensorsFile& file) {
    return std::ranges::any_of(file.entries(), [&](const auto& entry) { return PartName(entry.first).whole == name; });
  });
}

// Throws Error unless the files have the same kinds of state for each parameter as `places`.
void OptimizerShards::check_kinds(const NamedTensors& places) const {
  std::set<std::string> names, wanted;
  for (const SafetensorsFile& file : files_) {
    for (const auto& [name, entry] : file.entries()) names.insert(PartName(name).whole);
  }
  for (const auto& [name, place] : places) wanted.insert(PartName(name).whole);
  std::map<std::string, std::set<std::string>> found_kinds = kinds_of_state(names);
  for (const auto& [parameter, expected] : kinds_of_state(wanted)) {
    check(found_kinds[parameter] == expected, "optimizer state: ", parameter, ": expected ", joined(expected, ", "),
          ", got ", joined(found_kinds[parameter], ", "));
  }
}

void OptimizerShards::read_parts(const NamedTensors& places, int rank) const {
  struct Stored {
    std::size_t file;
    std::string name;
    std::int64_t begin, count;
    DType dtype;
  };
  std::map<std::string, std::vector<Stored>> stored;  // by the whole's name; the file of `rank` comes first
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const std::size_t file = (static_cast<std::size_t>(rank) + i) % files_.size();
    for (const auto& [name, entry] : files_[file].entries()) {
      const PartName part(name);
      stored[part.whole].push_back({file, name, part.begin, entry.sizes().product(), entry.dtype()});
    }
  }

  std::vector<std::vector<Piece>> plan;
  for (const auto& [name, place] : places) {
    const PartName part(name);
    const std::int64_t size = place.numel(), end = part.begin + size;
    std::int64_t found = 0;
    auto& pieces = plan.emplace_back();
    for (const Stored& from : stored[part.whole]) {
      if (found == size) break;
      const std::int64_t first = std::max(part.begin, from.begin), last = std::min(end, from.begin + from.count);
      if (first >= last || from.dtype != place.dtype()) continue;
      pieces.push_back({from.file, from.name, first - from.begin, first - part.begin, last - first});
      found += last - first;
    }
    check(found == size, "optimizer state: ", name, ": expected ", size, " elements of ", place.dtype(), ", got ",
          found);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Tensor flat = places[i].second.reshape({places[i].second.numel()});
    for (const Piece& piece : plan[i]) {
      files_[piece.file].read(piece.name, piece.from, flat.slice(0, piece.to, piece.to + piece.count));
    }
  }
}

}  // namespace tapeformer
