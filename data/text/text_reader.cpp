#include "data/text/text_reader.h"

#include <algorithm>
#include <future>
#include <optional>

#include "core/error.h"
#include "core/hash.h"
#include "core/text/utf8.h"
#include "tokenizer/pretokenizer.h"

namespace tapeformer {

namespace {

std::size_t last_cut_before(char space, std::string_view text) {
  for (std::size_t at = text.rfind(space); at != text.npos && at > 0; at = text.rfind(space, at - 1)) {
    if (word_ends(text, at)) return at;
  }
  return 0;
}

}  // namespace

std::vector<TextSegment> TextChunk::segments() const {
  std::vector<TextSegment> out;
  out.reserve(ends.size() + 1);
  const std::string_view all = text;
  std::size_t begin = 0;
  for (const End& end : ends) {
    out.push_back({all.substr(begin, end.at - begin), continues && begin == 0, end.document});
    begin = end.at;
  }
  if (begin < all.size()) out.push_back({all.substr(begin), continues && begin == 0, false});
  return out;
}

std::size_t last_safe_cut(std::string_view text) {
  const std::size_t line = last_cut_before('\n', text);
  return line > 0 ? line : last_cut_before(' ', text);
}

void TextReader::stop_at(std::int64_t end) {
  end_ = end;
  stopped_ = false;
}

void TextReader::skip_to(std::int64_t begin) {
  stop_at(begin);
  for (TextChunk dropped; next(dropped);) continue;
}

// Reads one byte more than the next chunk needs, to know whether a character begins there. It takes no more than that
// from a long fragment, since next() moves all pending bytes to the front after each chunk.
void TextReader::fill() {
  if (!fragments_) fragments_ = source_.read();
  while (!exhausted_ && pending_.text.size() <= chunk_bytes_ &&
         static_cast<std::int64_t>(pending_.text.size()) <= end_ - position_) {
    if (!within_fragment_ && !fragments_->next(fragment_)) {
      exhausted_ = true;
      break;
    }
    const std::string_view taken = fragment_.text.substr(0, chunk_bytes_ + 1 - pending_.text.size());
    pending_.text += taken;
    fragment_.text.remove_prefix(taken.size());
    within_fragment_ = !fragment_.text.empty();
    if (!within_fragment_ && fragment_.bound != Bound::none) {
      pending_.ends.push_back({pending_.text.size(), fragment_.bound == Bound::document});
    }
  }
}

// The number of bytes of the pending text that form the next chunk.
std::size_t TextReader::cut() const {
  const std::string_view text = pending_.text;
  if (text.size() <= chunk_bytes_) return text.size();  // the text ends within this chunk
  const auto later = std::upper_bound(pending_.ends.begin(), pending_.ends.end(), chunk_bytes_,
                                      [](std::size_t at, const TextChunk::End& end) { return at < end.at; });
  const std::size_t last_end = later == pending_.ends.begin() ? 0 : std::prev(later)->at;
  if (const std::size_t safe = last_safe_cut(text.substr(last_end, chunk_bytes_ - last_end))) return last_end + safe;
  return last_end > 0 ? last_end : std::max<std::size_t>(character_start(text, chunk_bytes_), 1);
}

bool TextReader::next(TextChunk& chunk) {
  if (stopped_) return false;
  fill();
  const std::int64_t left = end_ - position_;
  std::size_t size = 0;
  if (left <= static_cast<std::int64_t>(std::min(pending_.text.size(), chunk_bytes_))) {
    stopped_ = true;
    std::size_t piece = 0;
    for (const TextChunk::End& end : pending_.ends) {
      if (static_cast<std::int64_t>(end.at) <= left) piece = end.at;
    }
    size = piece + character_start(std::string_view(pending_.text).substr(piece), left - piece);
  } else {
    size = cut();
  }
  const auto kept =
      std::find_if(pending_.ends.begin(), pending_.ends.end(), [&](const auto& end) { return end.at > size; });
  chunk.text.assign(pending_.text, 0, size);
  chunk.ends.assign(pending_.ends.begin(), kept);
  chunk.share = fragments_->share();
  chunk.continues = within_piece_;
  if (size > 0) within_piece_ = chunk.ends.empty() || chunk.ends.back().at < size;
  pending_.text.erase(0, size);
  pending_.ends.erase(pending_.ends.begin(), kept);
  for (TextChunk::End& end : pending_.ends) end.at -= size;
  position_ += static_cast<std::int64_t>(size);
  return !chunk.text.empty();
}

void for_each_chunk(TextReader& reader, const std::function<void(const TextChunk& chunk)>& f) {
  const auto read = [&]() -> std::optional<TextChunk> {
    TextChunk chunk;
    if (!reader.next(chunk)) return std::nullopt;
    return chunk;
  };
  // If the system refuses a thread, the chunk is read when it is needed.
  constexpr auto kAheadIfPossible = std::launch::async | std::launch::deferred;
  auto coming = std::async(kAheadIfPossible, read);
  while (const std::optional<TextChunk> chunk = coming.get()) {
    coming = std::async(kAheadIfPossible, read);
    f(*chunk);
  }
}

std::int64_t TextSummary::split(double valid_fraction) const {
  check(valid_fraction >= 0 && valid_fraction < 1, "valid_fraction: expected at least 0 and below 1, got ",
        valid_fraction);
  return static_cast<std::int64_t>(static_cast<double>(bytes) * (1 - valid_fraction));
}

TextSummary summarize(const TextSource& source, const ProgressCallback& progress) {
  TextSummary summary;
  summary.stamp = source.stamp();
  Hasher text, ends;
  SourceFragment fragment;
  std::int64_t reported = 0;
  const auto fragments = source.read();
  while (fragments->next(fragment)) {
    text.update(fragment.text);
    summary.bytes += static_cast<std::int64_t>(fragment.text.size());
    if (fragment.bound != Bound::none) {
      ends.update(static_cast<std::uint64_t>(summary.bytes));
      ends.update(static_cast<std::uint64_t>(fragment.bound));
    }
    if (progress && summary.bytes - reported > static_cast<std::int64_t>(TextReader::kChunkBytes)) {
      reported = summary.bytes;
      progress(fragments->share());
    }
  }
  if (progress) progress(1);
  summary.notes = fragments->notes();
  text.update(ends.digest());
  summary.hash = text.digest();
  check(summary.stamp.value == source.stamp().value, "the text was changed while it was read");
  return summary;
}

}  // namespace tapeformer
