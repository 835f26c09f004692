// Texts for tests.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "data/text/text_reader.h"

namespace tapeformer {

// Fragments as they are given; counts how often it was read.
class MemoryText : public TextSource {
 public:
  using Fragments = std::vector<std::pair<std::string, Bound>>;

  explicit MemoryText(Fragments fragments) : fragments_(std::move(fragments)) {}
  // Pieces.
  explicit MemoryText(const std::vector<std::string>& pieces) {
    for (const std::string& piece : pieces) fragments_.emplace_back(piece, Bound::piece);
  }
  explicit MemoryText(const std::string& text) : MemoryText(std::vector<std::string>{text}) {}

  std::unique_ptr<FragmentReader> read() const override {
    ++times_read;
    return std::make_unique<Reader>(fragments_);
  }
  TextStamp stamp() const override { return stamped; }
  std::string name() const override { return "memory"; }
  bool has_documents() const override { return false; }

  mutable int times_read = 0;
  TextStamp stamped{.value = 1, .settled = true};

 private:
  struct Reader : FragmentReader {
    explicit Reader(const Fragments& all) : fragments(all) {}
    bool next(SourceFragment& fragment) override {
      if (index == fragments.size()) return false;
      fragment = {fragments[index].first, fragments[index].second};
      ++index;
      return true;
    }
    double share() const override { return static_cast<double>(index) / static_cast<double>(fragments.size()); }
    const Fragments fragments;
    std::size_t index = 0;
  };

  Fragments fragments_;
};

inline std::string gzip(std::string_view text) {
  z_stream stream{};
  ::deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

inline std::string zstd(std::string_view text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  out.resize(::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

// English-like text with all that a pre-tokenizer looks at: runs of white space, contractions, numbers, other scripts.
std::string varied_text(int words);

// The text of a source with its bounds written out: '|' for a piece, '#' for a document.
std::string with_bounds(const TextSource& source);

}  // namespace tapeformer
