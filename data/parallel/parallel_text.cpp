#include "data/parallel/parallel_text.h"

#include <algorithm>

#include "core/error.h"
#include "core/hash.h"
#include "core/text/lines.h"
#include "data/text/byte_reader.h"
#include "data/text/text_files.h"

namespace tapeformer {

namespace fs = std::filesystem;

namespace {

// Reads plain text. Of JSON lines, braces and keys would be learned as parts of the sentences.
std::string read_plain_text(const fs::path& path, TextNotes& notes) {
  check(!is_json_lines(path), path.string(),
        " is JSON lines by its name, expected plain text: a sentence a line, or a source, a tab and a target");
  return read_text_file(path, notes);
}

}  // namespace

ParallelText ParallelText::from_files(const fs::path& source, const fs::path& target) {
  ParallelText out(str_cat(source.string(), " and ", target.string()));
  std::string_view sources = out.add_text(read_plain_text(source, out.notes_));
  std::string_view targets = out.add_text(read_plain_text(target, out.notes_));
  const std::int64_t lines = count_lines(sources), translations = count_lines(targets);
  check(lines == translations, source.string(), " has ", lines, " lines, ", target.string(), " ", translations,
        ": expected a translation for each line");
  out.pairs_.resize(lines);
  for (SentencePair& pair : out.pairs_) pair = {take_line(sources), take_line(targets)};
  return out;
}

ParallelText ParallelText::from_pairs(const fs::path& path) {
  ParallelText out(path.string());
  out.read_pairs(out.add_text(read_plain_text(path, out.notes_)));
  return out;
}

ParallelText ParallelText::from_lines(std::string text, const std::string& origin) {
  check(!text.empty(), origin, " is empty, expected lines of source, tab, target");
  ParallelText out(origin);
  out.read_pairs(out.add_text(std::move(text)));
  return out;
}

ParallelText ParallelText::copy_of(std::span<const SentencePair> pairs) const {
  std::size_t bytes = 0;
  for (const SentencePair& pair : pairs) bytes += pair.source.size() + pair.target.size();
  std::string text;
  text.reserve(bytes);
  for (const SentencePair& pair : pairs) text.append(pair.source).append(pair.target);
  ParallelText out(origin_);
  std::string_view rest = out.add_text(std::move(text));
  for (const SentencePair& pair : pairs) {
    const auto take = [&](std::size_t size) {
      const std::string_view sentence = rest.substr(0, size);
      rest.remove_prefix(size);
      return sentence;
    };
    const std::string_view source = take(pair.source.size());
    out.pairs_.push_back({source, take(pair.target.size())});
  }
  return out;
}

std::string_view ParallelText::add_text(std::string text) {
  return *texts_.emplace_back(std::make_unique<const std::string>(std::move(text)));
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
