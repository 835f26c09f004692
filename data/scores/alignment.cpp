#include "data/scores/alignment.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace tapeformer {
namespace {

// Parses a number at the beginning of `text` and removes it; returns false if there is none.
bool take_number(std::string_view& text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

void sort_once(std::vector<AlignmentLink>& links) {
  std::ranges::sort(links);
  links.erase(std::unique(links.begin(), links.end()), links.end());
}

std::int64_t count_shared(const std::vector<AlignmentLink>& a, const std::vector<AlignmentLink>& b) {
  return std::ranges::count_if(a, [&](const AlignmentLink& link) { return std::ranges::binary_search(b, link); });
}

double share_or_one(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Alignment parse_alignment(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\n";
  Alignment alignment;
  while (line.find_first_not_of(kSpace) != line.npos) {
    line.remove_prefix(line.find_first_not_of(kSpace));
    const std::string_view word = line.substr(0, line.find_first_of(kSpace));
    line.remove_prefix(word.size());
    std::string_view rest = word;
    AlignmentLink link;
    bool valid = take_number(rest, link.source) && !rest.empty() && (rest.front() == '-' || rest.front() == 'p');
    const bool sure = valid && rest.front() == '-';
    if (valid) rest.remove_prefix(1);
    valid = valid && take_number(rest, link.target) && rest.empty();
    check(valid, "expected links i-j or ipj, got ", word);
    if (sure) alignment.sure.push_back(link);
    alignment.possible.push_back(link);
  }
  sort_once(alignment.sure);
  sort_once(alignment.possible);
  return alignment;
}

std::string format_alignment(const std::vector<AlignmentLink>& links) {
  std::string line;
  for (const AlignmentLink& link : links) line += str_cat(line.empty() ? "" : " ", link.source, "-", link.target);
  return line;
}

void AlignmentErrorRate::add(const Alignment& links, const Alignment& reference) {
  links_ += std::ssize(links.possible);
  sure_ += std::ssize(reference.sure);
  in_sure_ += count_shared(links.possible, reference.sure);
  in_possible_ += count_shared(links.possible, reference.possible);
}

double AlignmentErrorRate::precision() const { return share_or_one(in_possible_, links_); }
double AlignmentErrorRate::recall() const { return share_or_one(in_sure_, sure_); }
double AlignmentErrorRate::error_rate() const { return 1 - share_or_one(in_sure_ + in_possible_, links_ + sure_); }

}  // namespace tapeformer
