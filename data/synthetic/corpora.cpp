#include "data/synthetic/corpora.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/nearest_name.h"
#include "core/random.h"
#include "data/synthetic/sequences.h"
#include "data/synthetic/stories_grammar.h"
#include "data/synthetic/tasks.h"

namespace tapeformer {

namespace {

struct Corpus {
  std::string_view name;
  std::string (*line)(RandomStream&);
  double (*entropy)();                                                         // of plain text; null for parallel text
  std::vector<AlignmentLink> (*alignment)(std::string_view source) = nullptr;  // null where there is none
};

std::string stories_line(RandomStream& random) { return stories_grammar().generate(random).text; }

double stories_entropy() {
  const LineExpectation line = stories_grammar().expectation();
  return line.nats / line.chars;
}

constexpr std::array kCorpora = {
    Corpus{"stories", stories_line, stories_entropy},
    Corpus{"markov", markov_line, markov_entropy},
    Corpus{"recall", recall_line, recall_entropy},
    Corpus{"reverse", reverse_line, nullptr, reverse_alignment},
    Corpus{"sort", sort_line, nullptr},
    Corpus{"dates", dates_line, nullptr},
    Corpus{"numbers", numbers_line, nullptr},
    Corpus{"add", add_line, nullptr},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kCorpora.size()> names;
  std::transform(kCorpora.begin(), kCorpora.end(), names.begin(), [](const Corpus& corpus) { return corpus.name; });
  return names;
}();

constexpr std::uint64_t kCorpusStream = 0x636f727075732121;  // far from the streams of ops, which are 0, 1, 2, …

const Corpus& find_corpus(std::string_view name) {
  for (const Corpus& corpus : kCorpora) {
    if (corpus.name == name) return corpus;
  }
  fail_usage("unknown corpus '", name, "', did you mean '", nearest_name(name, kNames), "'?");
}

std::string line_of(const Corpus& corpus, std::int64_t line, std::uint64_t seed) {
  const auto number = static_cast<std::uint64_t>(line);
  const RandomKey key{seed, static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
                      kCorpusStream};
  RandomStream random(key);
  return corpus.line(random);
}

}  // namespace

std::span<const std::string_view> corpus_names() { return kNames; }

std::string corpus_line(std::string_view name, std::int64_t line, std::uint64_t seed) {
  return line_of(find_corpus(name), line, seed);
}

std::string generate_corpus(std::string_view name, std::int64_t lines, std::uint64_t seed) {
  const Corpus& corpus = find_corpus(name);
  if (lines < 1) fail_usage("corpus ", name, ": expected at least 1 line, got ", lines);
  std::string text;
  for (std::int64_t line = 0; line < lines; ++line) text += line_of(corpus, line, seed);
  return text;
}

std::string corpus_alignment(std::string_view name, std::int64_t line, std::uint64_t seed) {
  const Corpus& corpus = find_corpus(name);
  if (!corpus.alignment) fail_usage("corpus ", name, ": it has no alignment");
  const std::string text = line_of(corpus, line, seed);
  return format_alignment(corpus.alignment(std::string_view(text).substr(0, text.find('\t')))) + "\n";
}

bool is_parallel_corpus(std::string_view name) { return find_corpus(name).entropy == nullptr; }

std::optional<double> corpus_entropy(std::string_view name) {
  const Corpus& corpus = find_corpus(name);
  return corpus.entropy ? std::optional(corpus.entropy()) : std::nullopt;
}

}  // namespace tapeformer
