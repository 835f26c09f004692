#include "data/synthetic/corpora.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/random.h"
#include "core/text/nearest_name.h"
#include "data/grammars/cloze_grammar.h"
#include "data/grammars/paraphrases_grammar.h"
#include "data/grammars/parse_grammars.h"
#include "data/grammars/relations_grammar.h"
#include "data/grammars/senses_grammar.h"
#include "data/grammars/stories_grammar.h"
#include "data/grammars/tales_grammar.h"
#include "data/synthetic/clauses.h"
#include "data/synthetic/instructions.h"
#include "data/synthetic/mappings.h"
#include "data/synthetic/sequences.h"
#include "data/synthetic/shapes.h"
#include "data/synthetic/tasks.h"

namespace tapeformer {

namespace {

using GrammarOf = const Grammar& (*)();
using LabelOfSlot = std::string_view (*)(std::string_view slot);  // empty: the same as other words

// The label of the word at [begin, end): the label of the first labelled slot in it, or the other words' label.
std::string_view label_at(const GrammarLine& line, LabelOfSlot of_slot, std::string_view other, std::size_t begin,
                          std::size_t end) {
  for (const GrammarLine::Slot& slot : line.slots) {
    const std::string_view label = of_slot(slot.name);
    if (!label.empty() && slot.begin < end && begin < slot.end) return label;
  }
  return other;
}

template <GrammarOf grammar>
std::string grammar_line(RandomStream& random) {
  return grammar().generate(random).text;
}

template <GrammarOf grammar>
LineExpectation grammar_expectation() {
  return grammar().expectation();
}

// A line of a grammar's text: each word with its label on a line, and an empty line. Words of no labelled slot have the
// label O, or none.
template <GrammarOf grammar, LabelOfSlot of_slot, bool others_are_o>
std::string labelled_line(RandomStream& random) {
  const GrammarLine drawn = grammar().generate(random);
  std::string text;
  for (std::size_t begin = 0, end; begin < drawn.text.size(); begin = end + 1) {
    end = drawn.text.find_first_of(" \n", begin);
    const std::string_view label = label_at(drawn, of_slot, others_are_o ? "O" : "", begin, end);
    text += str_cat(std::string_view(drawn.text).substr(begin, end - begin), label.empty() ? "" : "\t", label, '\n');
  }
  return text + '\n';
}

std::string_view stories_label(std::string_view slot) { return slot.find('.') == slot.npos ? "" : slot; }
std::string_view cloze_label(std::string_view slot) { return slot == "animal" || slot == "place" ? slot : ""; }
std::string_view senses_label(std::string_view slot) {
  return slot == "colour" || slot == "place" || slot == "novice" ? slot : "";
}

struct Corpus {
  std::string_view name;
  std::string (*line)(RandomStream&);
  LineExpectation (*expectation)() = nullptr;                                  // for plain text; null for parallel text
  std::string (*labelled_line)(RandomStream&) = nullptr;                       // null if the corpus has no labels
  std::vector<AlignmentLink> (*alignment)(std::string_view source) = nullptr;  // null if the corpus has no alignment
  const MarkovChain& (*chain)() = nullptr;           // null if the corpus is not a Markov chain
  std::string (*analogies)() = nullptr;              // null if the corpus has no related words
  CaptionedImage (*image)(RandomStream&) = nullptr;  // null if the corpus has no images
  const PhraseGrammar& (*phrases)() = nullptr;       // null if the targets of the corpus are no trees
  bool conversations = false;                        // the lines are conversations in JSON
};

constexpr std::array kCorpora = {
    Corpus{"stories", grammar_line<stories_grammar>, grammar_expectation<stories_grammar>,
           labelled_line<stories_grammar, stories_label, true>},
    Corpus{"tales", grammar_line<tales_grammar>, grammar_expectation<tales_grammar>,
           labelled_line<tales_grammar, stories_label, true>},
    Corpus{"markov", markov_line, markov_expectation, nullptr, nullptr, markov_chain},
    Corpus{"recall", recall_line, recall_expectation, labelled_recall_line},
    Corpus{"induction", induction_line, induction_expectation},
    Corpus{"cloze", grammar_line<cloze_grammar>, grammar_expectation<cloze_grammar>,
           labelled_line<cloze_grammar, cloze_label, false>},
    Corpus{"senses", grammar_line<senses_grammar>, grammar_expectation<senses_grammar>,
           labelled_line<senses_grammar, senses_label, false>},
    Corpus{.name = "relations",
           .line = grammar_line<relations_grammar>,
           .expectation = grammar_expectation<relations_grammar>,
           .analogies = relations_analogies},
    Corpus{"mappings", mappings_line, mappings_expectation},
    Corpus{.name = "reverse", .line = reverse_line, .alignment = reverse_alignment},
    Corpus{"sort", sort_line},
    Corpus{"dates", dates_line},
    Corpus{"numbers", numbers_line},
    Corpus{"add", add_line},
    Corpus{"clauses", clauses_line},
    Corpus{"paraphrases", grammar_line<paraphrases_grammar>},
    Corpus{.name = "shapes", .line = shapes_line, .image = shapes_image},
    Corpus{.name = "parse", .line = parse_line, .phrases = parse_grammar},
    Corpus{.name = "parse-ambiguous", .line = ambiguous_parse_line, .phrases = ambiguous_parse_grammar},
    Corpus{.name = "instructions", .line = instructions_line, .conversations = true},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kCorpora.size()> names;
  std::transform(kCorpora.begin(), kCorpora.end(), names.begin(), [](const Corpus& corpus) { return corpus.name; });
  return names;
}();

constexpr std::uint64_t kCorpusStream = 0x636f727075732121;  // differs from the streams of ops, which are 0, 1, 2, …

const Corpus& find_corpus(std::string_view name) {
  for (const Corpus& corpus : kCorpora) {
    if (corpus.name == name) return corpus;
  }
  fail_usage("unknown corpus '", name, "', did you mean '", nearest_name(name, kNames), "'?");
}

RandomStream random_of(std::int64_t line, std::uint64_t seed) {
  const auto number = static_cast<std::uint64_t>(line);
  const RandomKey key{seed, static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
                      kCorpusStream};
  return RandomStream(key);
}

std::string line_of(const Corpus& corpus, std::int64_t line, std::uint64_t seed) {
  RandomStream random = random_of(line, seed);
  return corpus.line(random);
}

// The entropy of a line, divided by its length in one of the two units.
std::optional<double> entropy_per(double LineExpectation::*length, std::string_view name, bool lines_are_documents) {
  const Corpus& corpus = find_corpus(name);
  if (!corpus.expectation) return std::nullopt;
  const LineExpectation line = corpus.expectation();
  return line.nats / (line.*length - (lines_are_documents ? 1 : 0));
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

std::string labelled_corpus_line(std::string_view name, std::int64_t line, std::uint64_t seed) {
  const auto labelled_line = find_corpus(name).labelled_line;
  if (!labelled_line) {
    std::string with_labels;
    for (const Corpus& corpus : kCorpora) {
      if (corpus.labelled_line) with_labels.append(with_labels.empty() ? "" : ", ").append(corpus.name);
    }
    fail_usage("labels: expected one of the corpora ", with_labels, ", got ", name, ", which has none");
  }
  RandomStream random = random_of(line, seed);
  return labelled_line(random);
}

std::string corpus_alignment(std::string_view name, std::int64_t line, std::uint64_t seed) {
  const Corpus& corpus = find_corpus(name);
  if (!corpus.alignment) fail_usage("corpus ", name, ": it has no alignment");
  const std::string text = line_of(corpus, line, seed);
  return format_alignment(corpus.alignment(std::string_view(text).substr(0, text.find('\t')))) + "\n";
}

std::string corpus_analogies(std::string_view name) {
  const auto analogies = find_corpus(name).analogies;
  if (!analogies) fail_usage("corpus ", name, ": it has no analogies; relations has them");
  return analogies();
}

CaptionedImage corpus_image(std::string_view name, std::int64_t line, std::uint64_t seed) {
  const Corpus& corpus = find_corpus(name);
  if (!corpus.image) fail_usage("corpus: expected one with images, which is shapes, got ", name);
  RandomStream random = random_of(line, seed);
  return corpus.image(random);
}

std::string most_probable_tree(std::string_view name, std::int64_t line, std::uint64_t seed) {
  const Corpus& corpus = find_corpus(name);
  if (!corpus.phrases) fail_usage("corpus ", name, ": it has no trees");
  RandomStream random = random_of(line, seed);
  return flat_text(corpus.phrases().viterbi(corpus.phrases().draw(random).words).value()) + "\n";
}

bool is_parallel_corpus(std::string_view name) {
  const Corpus& corpus = find_corpus(name);
  return corpus.expectation == nullptr && !corpus.conversations;
}

bool is_conversation_corpus(std::string_view name) { return find_corpus(name).conversations; }

bool is_image_corpus(std::string_view name) { return find_corpus(name).image != nullptr; }

std::optional<double> corpus_entropy(std::string_view name, bool lines_are_documents) {
  return entropy_per(&LineExpectation::chars, name, lines_are_documents);
}

std::optional<double> corpus_entropy_per_byte(std::string_view name, bool lines_are_documents) {
  return entropy_per(&LineExpectation::bytes, name, lines_are_documents);
}

std::optional<MaskedOptimum> corpus_masked_optimum(std::string_view name, std::int64_t row, const MaskRates& rates) {
  const Corpus& corpus = find_corpus(name);
  return corpus.chain ? std::optional(masked_optimum(corpus.chain(), row, rates)) : std::nullopt;
}

}  // namespace tapeformer
