// Translations that can be nothing but trees, whatever the model, the search and the tokenizer are.
#include "generate/bracket_grammar.h"

#include <sstream>

#include "tests/generate/search_support.h"
#include "tests/long_test.h"
#include "tokenizer/train_tokenizer.h"

using namespace tapeformer;

namespace {

const std::vector<std::string> kSentences{"dogs bark", "the dogs chase the cats in the park", "bark",
                                          "Zoë said : \"dogs , cats\" !", "a b c d e f g h"};

// Makes a tokenizer for trees over these sentences; `bpe` has all bytes, and merges that cross no word.
std::unique_ptr<Tokenizer> tokenizer_of(const std::string& kind) {
  std::string text = "(S (NP dogs )NP (VP bark )VP )S\n";
  for (const std::string& sentence : kSentences) text += "(S (NP " + sentence + " )NP )S\n";
  for (const std::string& sentence : kSentences) text += "(X (VP-2 " + sentence + " )VP-2 )X\n";
  text += "(S (NP+N_1 dogs )NP+N_1 bark )S\n";
  const std::string_view view = text;
  return train_tokenizer({.kind = kind, .vocab = kind == "bpe" ? 300 : 200, .special_tokens = {"<s>", "</s>", "<pad>"}},
                         {&view, 1});
}

// What is wrong with a line that should be a tree over the words of a sentence; empty: nothing.
std::string problem_of(const std::string& line, const std::string& sentence) {
  std::istringstream stream(line);
  std::vector<std::pair<std::string, std::size_t>> open;
  std::string words, part, parts;
  std::size_t count = 0;
  for (bool closed = false; stream >> part;) {
    parts += (parts.empty() ? "" : " ") + part;
    if (closed) return "it goes on after its root";
    if (part[0] == '(') {
      if (part.size() == 1) return "a bracket has no label";
      open.emplace_back(part.substr(1), count);
    } else if (part[0] == ')') {
      if (open.empty() || open.back().first != part.substr(1)) return part + " closes another bracket";
      if (open.back().second == count) return part + " closes a bracket without words";
      open.pop_back();
      closed = open.empty();
    } else {
      if (open.empty()) return part + " is outside";
      words += (count++ ? " " : "") + part;
    }
  }
  if (!open.empty()) return "it is not closed";
  if (parts != line) return "its spaces are others";
  return words == sentence ? "" : "it has other words";
}

// Calls f(options, name) for greedy search, beam search and sampling.
template <class F>
void for_searches(const F& f) {
  f(TranslateOptions{.search = {.beam = 1}}, "greedy");
  f(TranslateOptions{.search = {.beam = 4, .n_best = 4}}, "beam");
  f(TranslateOptions{.sampling = SamplingOptions{.temperature = 2}}, "sampled");
}

}  // namespace

TEST_CASE("brackets: random models write trees alone, by every search and tokenizer, in as few tokens as there are" *
          long_test()) {
  for (const std::string kind : {"char", "word", "bpe"}) {
    const auto tokenizer = tokenizer_of(kind);
    const PairSymbols symbols{.source = kSymbols.source,
                              .target = {.begin = tokenizer->special("<s>").value(),
                                         .end = tokenizer->special("</s>").value(),
                                         .padding = tokenizer->special("<pad>").value()}};
    const BracketVocabulary vocabulary(*tokenizer, symbols.target.end);
    const std::vector<Ids> sources = random_sources(std::ssize(kSentences), 3);
    for (const std::uint64_t seed : {0, 1}) {
      const TestTransformer model(seed, DType::f32, tokenizer->vocab_size(), 100);
      for (const std::int64_t max_length : {0, 70}) {
        for_searches([&](TranslateOptions options, const char* name) {
          options.max_length = max_length;
          options.grammar = [&](std::size_t source, std::int64_t most) {
            return std::make_shared<BracketGrammar>(vocabulary, kSentences[source], most);
          };
          const auto translations = translate(model, sources, symbols, options);
          for (std::size_t i = 0; i < sources.size(); ++i) {
            REQUIRE(!translations[i].empty());
            for (const Hypothesis& found : translations[i]) {
              const std::string text = tokenizer->decode(found.ids);
              INFO(kind, " ", seed, " ", name, " ", text);
              CHECK(problem_of(text, kSentences[i]) == "");
              CHECK(std::ssize(found.ids) < (max_length ? max_length : 100));
            }
          }
        });
      }
    }
  }
}

TEST_CASE("brackets: the shortest tree fits, and one token less is refused") {
  const auto tokenizer = tokenizer_of("char");
  const std::int32_t end = tokenizer->special("</s>").value();
  const BracketVocabulary vocabulary(*tokenizer, end);
  const std::int64_t shortest = std::ssize(std::string("(a dogs bark )a")) + 1;
  const BracketGrammar grammar(vocabulary, "dogs bark", shortest);
  // What may be written with no token to spare: one label of one letter, which nothing else fits in.
  Ids written;
  std::string text;
  for (std::int64_t i = 0; i < shortest; ++i) {
    const auto allowed = grammar.allowed_after(written);
    std::vector<std::int32_t> ids;
    for (std::int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
      if (allowed(id)) ids.push_back(id);
    }
    REQUIRE(!ids.empty());
    CHECK((ids.size() == 1 || i == 1));
    written.push_back(ids.front());
    if (ids.front() != end) text += tokenizer->token_bytes(ids.front());
  }
  CHECK(written.back() == end);
  CHECK(problem_of(text, "dogs bark") == "");
  CHECK_THROWS_WITH_AS(BracketGrammar(vocabulary, "dogs bark", shortest - 1),
                       "grammar brackets: the shortest tree of the sentence has 16 tokens, expected at most 15", Error);
}

TEST_CASE("brackets: the trees that a model may write are those of the definition") {
  const auto tokenizer = tokenizer_of("char");
  const std::int32_t end = tokenizer->special("</s>").value();
  const BracketVocabulary vocabulary(*tokenizer, end);
  const BracketGrammar grammar(vocabulary, "dogs bark", 200);
  // Whether each character of the text, and then the end, may be written.
  const auto allows = [&](const std::string& text) {
    Ids ids;
    for (const std::int32_t id : tokenizer->encode(text)) {
      if (!grammar.allowed_after(ids)(id)) return false;
      ids.push_back(id);
    }
    return grammar.allowed_after(ids)(end);
  };
  for (const char* const text :
       {"(S dogs bark )S", "(S (NP dogs )NP (VP bark )VP )S", "(S (S (S dogs )S bark )S )S",
        "(S (NP-2 dogs )NP-2 bark )S", "(S: dogs bark )S:", "(S (NP+N_1 dogs )NP+N_1 bark )S"}) {
    CHECK_MESSAGE(allows(text), text);
  }
  for (const char* const text :
       {"", "dogs bark", "(S dogs bark", "(S dogs )S bark", "(S (NP dogs )S bark )NP", "(S dogs bark )NP",
        "(S bark dogs )S", "(S dogs )S", "(S dogs bark bark )S", "(S (NP )NP dogs bark )S", "(S dogs bark )S (S",
        "(S  dogs bark )S", " (S dogs bark )S", "( dogs bark )", "(S dogsbark )S", "(S dogs bark)S",
        "(S( dogs bark )S(", "(S dogs bark (NP )NP )S", "(S dogs bark )S "}) {
    CHECK_MESSAGE(!allows(text), text);
  }
}

TEST_CASE("brackets: what cannot be written is refused by its name") {
  const auto tokenizer = tokenizer_of("word");
  const BracketVocabulary vocabulary(*tokenizer, tokenizer->special("</s>").value());
  const auto refusal = [&](const std::string& sentence) {
    try {
      BracketGrammar(vocabulary, sentence, 100);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(" \t") == "grammar brackets: expected a sentence, got none");
  CHECK(refusal("dogs zebras") == "grammar brackets: the model has no tokens for the word zebras");
  CHECK(refusal("dogs (bark") ==
        "grammar brackets: expected words that do not begin with a bracket, got (bark (write -LRB- or -RRB-)");
  const std::string_view plain = "dogs bark";
  const auto without = train_tokenizer({.kind = "char", .special_tokens = {"</s>"}}, {&plain, 1});
  CHECK_THROWS_WITH_AS(BracketVocabulary(*without, 0),
                       "grammar brackets: the char tokenizer has no tokens for \"(\", \" )\" and a label", UsageError);
}
