#include "data/parallel/parallel_text.h"

#include <algorithm>

#include "core/error.h"
#include "core/hash.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

// Of a text that is not empty.
std::int64_t count_lines(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n') + (text.ends_with('\n') ? 0 : 1);
}

// Cuts the first line off a text that is not empty.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

ParallelText ParallelText::from_files(const fs::path& source, const fs::path& target) {
  ParallelText out(str_cat(source.string(), " and ", target.string()));
  std::string_view sources = out.files_.emplace_back(source).text();
  std::string_view targets = out.files_.emplace_back(target).text();
  const std::int64_t lines = count_lines(sources), translations = count_lines(targets);
  check(lines == translations, source.string(), " has ", lines, " lines, ", target.string(), " ", translations,
        ": expected a translation for each line");
  out.pairs_.resize(lines);
  for (SentencePair& pair : out.pairs_) pair = {take_line(sources), take_line(targets)};
  return out;
}

ParallelText ParallelText::from_pairs(const fs::path& path) {
  ParallelText out(path.string());
  out.read_pairs(out.files_.emplace_back(path).text());
  return out;
}

ParallelText ParallelText::from_lines(std::string text, const std::string& origin) {
  check(!text.empty(), origin, " is empty, expected lines of source, tab, target");
  ParallelText out(origin);
  out.text_ = std::make_unique<const std::string>(std::move(text));
  out.read_pairs(*out.text_);
  return out;
}

void ParallelText::read_pairs(std::string_view text) {
  pairs_.resize(count_lines(text));
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const std::string_view line = take_line(text);
    if (line.empty()) continue;
    const auto tabs = std::count(line.begin(), line.end(), '\t');
    check(tabs == 1, origin_, ":", i + 1, ": expected source, tab, target; got ", tabs, " tabs");
    const std::size_t tab = line.find('\t');
    pairs_[i] = {line.substr(0, tab), line.substr(tab + 1)};
  }
}

PairSplit ParallelText::split(double valid_fraction) const {
  check(valid_fraction >= 0 && valid_fraction < 1, "valid_fraction: expected at least 0 and below 1, got ",
        valid_fraction);
  const auto train = static_cast<std::size_t>(static_cast<double>(pairs_.size()) * (1 - valid_fraction));
  return {pairs().first(train), pairs().subspan(train)};
}

std::uint64_t pairs_hash(std::span<const SentencePair> pairs) {
  Hasher hasher;
  for (const SentencePair& pair : pairs) {
    for (const std::string_view sentence : {pair.source, pair.target}) {
      hasher.update(sentence.size());
      hasher.update(sentence);
    }
  }
  return hasher.digest();
}

}  // namespace tapeformer
