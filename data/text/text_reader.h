// A text read in parts that can be encoded one by one, and what is found out by reading all of it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/text_source.h"

namespace tapeformer {

// Called now and then with the share that is done, 0 to 1.
using ReadProgress = std::function<void(double share)>;

// Starts to show the progress of some work, such as "encoding".
using ProgressMaker = std::function<ReadProgress(std::string what)>;

// A stretch of a piece, to be encoded by itself; whether a document ends with it.
struct TextSegment {
  std::string_view text;
  bool ends_document = false;
};

struct TextPart {
  struct End {
    std::size_t at;
    bool document;
  };
  std::string text;
  std::vector<End> ends;  // of the pieces that end in this part, ascending; what comes after the last goes on
  double share = 0;       // of the source, read so far

  // In order; they look at this part.
  std::vector<TextSegment> segments() const;
};

// The last place, but the beginning, where `text` may be cut without a change to its ids, whatever follows it; 0 when
// there is none. It is before white space that follows an ASCII letter or digit, which is a safe cut of every
// pre-tokenizer of ours (tokenizer/pretokenizer.h). Before a newline, if there is such a place, else a space.
std::size_t last_safe_cut(std::string_view text);

// `at`, moved back to where a UTF-8 character of `text` begins; not further than a character is long.
std::size_t character_start(std::string_view text, std::size_t at);

// Hands out a text in parts. A piece longer than a part is parted at safe cuts or, where there is none in a whole part,
// between any two characters. Memory is bounded by some parts and the longest document of JSON lines.
class TextReader {
 public:
  static constexpr std::size_t kPartBytes = std::size_t{8} << 20;
  static constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

  // Opens the source, which must outlive the reader, when the first part is asked for.
  explicit TextReader(const TextSource& source, std::size_t part_bytes = kPartBytes)
      : source_(source), part_bytes_(part_bytes) {}

  // next() stops at byte `end` of the text, moved back to where a character begins; kToTheEnd at first.
  void stop_at(std::int64_t end);
  // The next part, of at most part_bytes bytes; false where the text or what is wanted of it ends. Throws Error as the
  // source does.
  bool next(TextPart& part);
  // Stops at `begin`, and drops what comes before it.
  void skip_to(std::int64_t begin);

  // Bytes of the text that were handed out or dropped.
  std::int64_t position() const { return position_; }
  const TextSource& source() const { return source_; }

 private:
  void fill();
  std::size_t cut() const;

  const TextSource& source_;
  std::size_t part_bytes_;
  std::unique_ptr<FragmentReader> fragments_;
  TextFragment fragment_;  // what is left of the one that was read last
  bool within_fragment_ = false;
  TextPart pending_;
  std::int64_t position_ = 0, end_ = kToTheEnd;
  bool stopped_ = false, exhausted_ = false;
};

// Calls f(part) for all that the reader hands out; while it is at work, the next part is read.
void for_each_part(TextReader& reader, const std::function<void(const TextPart& part)>& f);

// Of the whole text: other bytes, or other ends of pieces and documents, give another hash.
struct TextSummary {
  std::int64_t bytes = 0;
  std::uint64_t hash = 0;
  TextStamp stamp;  // when it was read

  // Where the last part of the text begins that is held out for validation: floor(bytes * (1 - valid_fraction)). Throws
  // Error unless 0 <= valid_fraction < 1.
  std::int64_t split(double valid_fraction) const;
};

// Reads all of it. Throws Error as the source does.
TextSummary summarize(const TextSource& source, const ReadProgress& progress = {});

}  // namespace tapeformer
