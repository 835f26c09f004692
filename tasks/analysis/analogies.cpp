#include "tasks/analysis/analogies.h"

#include <sstream>

#include "core/text/lines.h"
#include "data/text/text_files.h"

namespace tapeformer {

Analogy parse_analogy(std::string_view text) {
  const std::size_t middle = text.find("::"), first = text.find(':');
  const auto refuse = [&] { fail_usage("neighbours: expected an analogy such as man:king::woman, got ", text); };
  if (middle == text.npos || first >= middle) refuse();
  Analogy analogy{.a = std::string(text.substr(0, first)),
                  .b = std::string(text.substr(first + 1, middle - first - 1)),
                  .c = std::string(text.substr(middle + 2))};
  for (const std::string* word : {&analogy.a, &analogy.b, &analogy.c}) {
    if (word->empty() || word->find(':') != word->npos) refuse();
  }
  return analogy;
}

std::vector<Neighbour> answer(const NeighbourFinder& finder, const Analogy& analogy, std::int64_t count) {
  return finder.of_word(str_cat(analogy.b, " - ", analogy.a, " + ", analogy.c), count);
}

namespace {

// Returns the token of the word d; nullopt if the vocabulary lacks one of the four words, or has d only in pieces.
std::optional<std::int32_t> expected_token(const Tokenizer& tokenizer, const Analogy& analogy) {
  try {
    for (const std::string* word : {&analogy.a, &analogy.b, &analogy.c}) word_tokens(tokenizer, *word);
    const std::vector<std::int32_t> expected = word_tokens(tokenizer, analogy.d);
    return expected.size() == 1 ? std::optional(expected[0]) : std::nullopt;
  } catch (const Error&) {  // a word that the tokenizer does not know
    return std::nullopt;
  }
}

}  // namespace

std::vector<AnalogyScore> score_analogies(const NeighbourFinder& finder, const Tokenizer& tokenizer,
                                          const std::string& file) {
  std::vector<AnalogyScore> sections;
  const std::string content = read_text_file(file);
  for_each_line(content, [&](std::string_view line, std::size_t number) {
    std::istringstream words{std::string(line)};
    Analogy analogy;
    std::string more;
    words >> analogy.a;
    if (analogy.a.starts_with(':')) {
      const std::size_t name = line.find_first_not_of(" :");
      sections.push_back({.section = name == line.npos ? "" : std::string(line.substr(name))});
      return;
    }
    words >> analogy.b >> analogy.c >> analogy.d;
    check(!analogy.d.empty() && !(words >> more), file, ":", number,
          ": expected an analogy of four words, or : and the name of a section, got \"", line, '"');
    if (sections.empty()) sections.emplace_back();
    AnalogyScore& score = sections.back();
    const std::optional<std::int32_t> expected = expected_token(tokenizer, analogy);
    ++(expected ? score.questions : score.unknown);
    if (!expected) return;
    const std::vector<Neighbour> nearest = answer(finder, analogy, 1);
    score.right += !nearest.empty() && nearest.front().id == *expected;
  });
  check(total(sections).questions > 0, file, ": expected analogies of words that the model knows, got none");
  return sections;
}

AnalogyScore total(const std::vector<AnalogyScore>& sections) {
  AnalogyScore sum;
  for (const AnalogyScore& section : sections) {
    sum.questions += section.questions, sum.right += section.right, sum.unknown += section.unknown;
  }
  return sum;
}

}  // namespace tapeformer
