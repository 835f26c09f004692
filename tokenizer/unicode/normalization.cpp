#include "tokenizer/unicode/normalization.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "core/text/utf8.h"

namespace tapeformer {
namespace {

struct Decomposition {
  std::int32_t composed, first, second;
};
struct Single {
  std::int32_t composed, first;
};
struct CombiningRange {
  std::int32_t first, last;
  int combining_class;
};
struct CategoryRange {
  std::int32_t first, last;
  Category category;
};
struct LowerRange {
  std::int32_t first, last, step, delta;
};

#include "tokenizer/unicode/categories.inc"
#include "tokenizer/unicode/decompositions.inc"
#include "tokenizer/unicode/normalization.inc"

// Hangul syllables are composed by a formula (The Unicode Standard, section 3.12).
constexpr std::int32_t kSyllables = 0xAC00, kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11A7;
constexpr std::int32_t kLeadingCount = 19, kVowelCount = 21, kTrailingCount = 28;
constexpr std::int32_t kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

// No character below it decomposes, or changes those before it.
constexpr std::int32_t kFirstOfInterest = 0xC0;

template <class Entry, std::size_t n>
const Entry* entry_of(const Entry (&table)[n], std::int32_t code_point) {
  const auto found = std::ranges::lower_bound(table, code_point, {}, &Entry::composed);
  return found != std::end(table) && found->composed == code_point ? found : nullptr;
}

// The range that has the code point; null if none has it.
template <class Range, std::size_t n>
const Range* range_of(const Range (&table)[n], std::int32_t code_point) {
  const auto found = std::ranges::lower_bound(table, code_point, {}, &Range::last);
  return found != std::end(table) && found->first <= code_point ? found : nullptr;
}

int combining_class(std::int32_t code_point) {
  const CombiningRange* const range = code_point < 0x300 ? nullptr : range_of(kCombiningClasses, code_point);
  return range ? range->combining_class : 0;
}

void append_decomposed(CodePoints& out, std::int32_t c) {
  if (c < kFirstOfInterest) {
    out.push_back(c);
  } else if (c >= kSyllables && c < kSyllables + kSyllableCount) {
    const std::int32_t index = c - kSyllables, trailing = index % kTrailingCount;
    out.push_back(kLeading + index / (kVowelCount * kTrailingCount));
    out.push_back(kVowels + index / kTrailingCount % kVowelCount);
    if (trailing > 0) out.push_back(kTrailing + trailing);
  } else if (const Single* const single = entry_of(kSingles, c)) {
    append_decomposed(out, single->first);
  } else {
    const Decomposition* pair = entry_of(kPairs, c);
    if (!pair) pair = entry_of(kExcludedPairs, c);
    if (!pair) return out.push_back(c);
    append_decomposed(out, pair->first);
    append_decomposed(out, pair->second);
  }
}

// The character that two characters compose.
std::optional<std::int32_t> composed(std::int32_t first, std::int32_t second) {
  if (first >= kLeading && first < kLeading + kLeadingCount && second >= kVowels && second < kVowels + kVowelCount) {
    return kSyllables + ((first - kLeading) * kVowelCount + second - kVowels) * kTrailingCount;
  }
  const bool open_syllable =
      first >= kSyllables && first < kSyllables + kSyllableCount && (first - kSyllables) % kTrailingCount == 0;
  if (open_syllable && second > kTrailing && second < kTrailing + kTrailingCount) return first + second - kTrailing;
  static const std::vector<Decomposition> by_parts = [] {
    std::vector<Decomposition> pairs(std::begin(kPairs), std::end(kPairs));
    std::ranges::sort(pairs, {}, [](const Decomposition& pair) { return std::pair(pair.first, pair.second); });
    return pairs;
  }();
  const auto found = std::ranges::lower_bound(by_parts, std::pair(first, second), {},
                                              [](const Decomposition& p) { return std::pair(p.first, p.second); });
  if (found == by_parts.end() || found->first != first || found->second != second) return std::nullopt;
  return found->composed;
}

}  // namespace

CodePoints code_points(std::string_view text) {
  CodePoints out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = read_utf8(text, at);
    const bool valid = c.code_point != kInvalidUtf8;
    out.push_back(valid ? c.code_point : -1 - static_cast<std::int32_t>(static_cast<unsigned char>(text[at])));
    at += c.length;
  }
  return out;
}

std::string to_utf8(const CodePoints& characters) {
  std::string out;
  out.reserve(characters.size());
  for (const std::int32_t c : characters) {
    if (c < 0) {
      out += static_cast<char>(-1 - c);
    } else {
      append_utf8(out, c);
    }
  }
  return out;
}

CodePoints nfd(const CodePoints& characters) {
  CodePoints out;
  out.reserve(characters.size());
  for (const std::int32_t c : characters) append_decomposed(out, c);
  for (std::size_t begin = 0; begin < out.size();) {  // sorts each run of marks
    if (combining_class(out[begin]) == 0) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < out.size() && combining_class(out[end]) > 0) ++end;
    std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(begin), out.begin() + static_cast<std::ptrdiff_t>(end),
                     [](std::int32_t a, std::int32_t b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
  return out;
}

std::string nfc(std::string_view text) {
  // The first byte of U+0300: texts without later characters stay as they are.
  constexpr unsigned char kFirstMark = 0xCC;
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < kFirstMark; })) {
    return std::string(text);
  }
  CodePoints out;
  std::ptrdiff_t starter = -1;  // the last character of class 0, with which later ones may compose
  int last_class = 0;           // of the character before
  for (const std::int32_t c : nfd(code_points(text))) {
    const int its_class = combining_class(c);
    const bool adjacent = starter + 1 == std::ssize(out);
    const bool blocked = !adjacent && last_class >= its_class;
    if (starter >= 0 && !blocked) {
      if (const auto pair = composed(out[starter], c)) {
        out[starter] = *pair;
        continue;
      }
    }
    if (its_class == 0) starter = std::ssize(out);
    last_class = its_class;
    out.push_back(c);
  }
  return to_utf8(out);
}

Category category(std::int32_t code_point) {
  const CategoryRange* const range = range_of(kCategories, code_point);
  return range ? range->category : Category::other;
}

void append_lower(CodePoints& out, std::int32_t code_point) {
  constexpr std::int32_t kDottedI = 0x130;
  const LowerRange* const range = range_of(kLower, code_point);
  const bool has_lower = range && (code_point - range->first) % range->step == 0;
  out.push_back(code_point == kDottedI ? 'i' : has_lower ? code_point + range->delta : code_point);
  if (code_point == kDottedI) out.push_back(0x307);
}

}  // namespace tapeformer
