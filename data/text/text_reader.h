// Reads a text in chunks that can be encoded one by one, and summarizes a text.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "data/text/text_source.h"

namespace tapeformer {

// A section of a piece that is encoded by itself.
struct TextSegment {
  std::string_view text;
  bool continues = false;      // whether the piece has begun before
  bool ends_document = false;  // whether a document ends after it
};

struct TextChunk {
  struct End {
    std::size_t at;
    bool document;
  };
  std::string text;
  bool continues = false;  // whether it begins within a piece
  // The ends of the pieces that end in this chunk, ascending; the last piece may continue in the next chunk.
  std::vector<End> ends;
  double share = 0;  // the share of the source that was read so far

  // The segments in order, as views of this chunk.
  std::vector<TextSegment> segments() const;
};

// The last offset where `text` can be cut without changing its ids, whatever follows the text; 0 if there is none. The
// cut is before white space that follows a letter or a number, where every split pattern (tokenizer/pretokenizer.h)
// splits too: before a newline if possible, else before a space.
std::size_t last_safe_cut(std::string_view text);

// Reads a text in chunks. A piece that is longer than a chunk is cut at safe cuts or, if a whole chunk has none,
// between any two characters. Memory is bounded by a few chunks and the longest document of JSON lines.
class TextReader {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{8} << 20;
  static constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

  // The source must outlive the reader, which opens it when the first chunk is read.
  explicit TextReader(const TextSource& source, std::size_t chunk_bytes = kChunkBytes)
      : source_(source), chunk_bytes_(chunk_bytes) {}

  // Makes next() stop at byte `end` of the text, or before it at the beginning of a character. The default is
  // kToTheEnd.
  void stop_at(std::int64_t end);
  // Reads the next chunk, of at most chunk_bytes bytes. Returns false at the end of the text, or at stop_at(). Throws
  // Error as the source does.
  bool next(TextChunk& chunk);
  // Skips the text before `begin`.
  void skip_to(std::int64_t begin);

  // The number of bytes of the text that were read or skipped.
  std::int64_t position() const { return position_; }
  const TextSource& source() const { return source_; }
  // The problems of the text that was read so far.
  TextNotes notes() const { return fragments_ ? fragments_->notes() : TextNotes(); }

 private:
  void fill();
  std::size_t cut() const;

  const TextSource& source_;
  std::size_t chunk_bytes_;
  std::unique_ptr<FragmentReader> fragments_;
  SourceFragment fragment_;  // the rest of the last fragment
  bool within_fragment_ = false;
  TextChunk pending_;
  std::int64_t position_ = 0, end_ = kToTheEnd;
  bool stopped_ = false, exhausted_ = false, within_piece_ = false;
};

// Calls f(chunk) for all chunks of the reader. While f is running, the next chunk is read.
void for_each_chunk(TextReader& reader, const std::function<void(const TextChunk& chunk)>& f);

// A summary of a whole text. Other bytes, or other ends of pieces and documents, give another hash.
struct TextSummary {
  std::int64_t bytes = 0;
  std::uint64_t hash = 0;
  TextNotes notes = {};
  TextStamp stamp;  // the stamp of the text when it was read

  // The offset where the validation part begins: floor(bytes * (1 - valid_fraction)). Throws Error unless 0 <=
  // valid_fraction < 1.
  std::int64_t split(double valid_fraction) const;
};

// Reads the whole text. Throws Error as the source does.
TextSummary summarize(const TextSource& source, const ProgressCallback& progress = {});

}  // namespace tapeformer
