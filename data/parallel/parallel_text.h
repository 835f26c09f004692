// Parallel text: sentences and their translations, line by line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/text/text.h"

namespace tapeformer {

struct SentencePair {
  std::string_view source, target;
};

struct PairSplit {
  std::span<const SentencePair> train, valid;
};

// Sentence pairs in the order of their lines. A last line counts without a newline too; a '\r' at the end of a line is
// no part of it. What is handed out looks at the texts and lives as long as the object, wherever that is moved.
class ParallelText {
 public:
  // Line i of `target` translates line i of `source`. Throws Error as MappedText does, and when one has more lines.
  static ParallelText from_files(const std::filesystem::path& source, const std::filesystem::path& target);
  // Lines "source\ttarget"; an empty line is a pair of empty sentences. Throws Error as MappedText does, and naming the
  // first other line that has not exactly one tab.
  static ParallelText from_pairs(const std::filesystem::path& path);
  // The same from a text in memory, such as a generated corpus; errors call it `origin`. Throws Error when it is empty.
  static ParallelText from_lines(std::string text, const std::string& origin = "text");

  std::span<const SentencePair> pairs() const { return pairs_; }
  // What errors call it: its file, its two files, or what it was called.
  const std::string& origin() const { return origin_; }

  // The last part goes to `valid`: all but the first floor(pairs * (1 - valid_fraction)). Throws Error unless
  // 0 <= valid_fraction < 1.
  PairSplit split(double valid_fraction) const;

 private:
  explicit ParallelText(std::string origin) : origin_(std::move(origin)) {}
  void read_pairs(std::string_view text);

  std::string origin_;
  std::vector<MappedText> files_;
  std::unique_ptr<const std::string> text_;  // on the heap: views into it survive a move
  std::vector<SentencePair> pairs_;
};

// Other sentences, another order or other bounds between them give another hash.
std::uint64_t pairs_hash(std::span<const SentencePair> pairs);

}  // namespace tapeformer
