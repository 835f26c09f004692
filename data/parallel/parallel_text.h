// Parallel text: sentences and their translations, one pair for each line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/text/text_notes.h"

namespace tapeformer {

struct SentencePair {
  std::string_view source, target;
};

struct PairSplit {
  std::span<const SentencePair> train, valid;
};

// Sentence pairs in the order of their lines (core/text/lines.h). Files are read as read_text_file() does:
// decompressed, and without a byte order mark; those that are named as JSON lines are refused. The sentences are views
// of texts that the object owns; they stay valid when it is moved.
class ParallelText {
 public:
  // Reads two files, where line i of `target` translates line i of `source`. Throws Error as read_text_file() does, and
  // when one file has more lines.
  static ParallelText from_files(const std::filesystem::path& source, const std::filesystem::path& target);
  // Reads lines "source\ttarget"; an empty line is a pair of empty sentences. Throws Error as read_text_file() does,
  // and for the first other line that does not have exactly one tab.
  static ParallelText from_pairs(const std::filesystem::path& path);
  // The same for a text in memory, such as a generated corpus; errors name it `origin`. Throws Error when it is empty.
  static ParallelText from_lines(std::string text, const std::string& origin = "text");

  std::span<const SentencePair> pairs() const { return pairs_; }
  // The text's name in error messages: its file, its two files, or the given `origin`.
  const std::string& origin() const { return origin_; }
  // The problems of its files.
  const TextNotes& notes() const { return notes_; }

  // A copy of some of the pairs, which owns its texts.
  ParallelText copy_of(std::span<const SentencePair> pairs) const;

  // The first floor(pairs * (1 - valid_fraction)) pairs are for training, the others for validation. Throws Error
  // unless 0 <= valid_fraction < 1.
  PairSplit split(double valid_fraction) const;

 private:
  explicit ParallelText(std::string origin) : origin_(std::move(origin)) {}
  // Stores a text, and returns a view of it.
  std::string_view add_text(std::string text);
  void read_pairs(std::string_view text);

  std::string origin_;
  TextNotes notes_;
  std::vector<std::unique_ptr<const std::string>> texts_;  // on the heap, so that views of them survive a move
  std::vector<SentencePair> pairs_;
};

// A hash of the sentences, which depends on their order and on where each begins and ends.
std::uint64_t pairs_hash(std::span<const SentencePair> pairs);

}  // namespace tapeformer
