// Sentences of labelled words, and the generated corpora that have labels.
#include "data/labels/labelled_text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "core/text/lines.h"
#include "data/synthetic/corpora.h"

using namespace tapeformer;

TEST_CASE("labelled text: lines of words with and without labels, sentences apart by empty lines") {
  const LabelledText text = LabelledText::from_text("\nthe\ndog\tnoun\r\n\n\nit\tpronoun", "x");
  const LabelledText moved = LabelledText::from_text("a\tb\n", "y");
  REQUIRE(text.sentences().size() == 2);
  REQUIRE(text.sentences()[0].size() == 2);
  CHECK(text.sentences()[0][0].word == "the");
  CHECK(text.sentences()[0][0].label.empty());
  CHECK(text.sentences()[0][1].word == "dog");
  CHECK(text.sentences()[0][1].label == "noun");
  CHECK(text.sentences()[1][0].label == "pronoun");
}

TEST_CASE("labelled text: a line of nothing but spaces ends a sentence, as an empty one does") {
  for (const std::string blank : {" ", "   ", " \t", "\t"}) {
    CAPTURE(blank);
    const LabelledText text = LabelledText::from_text(blank + "\nthe\tO\ndog\tN\n" + blank + "\nit\tO\n", "x");
    REQUIRE(text.sentences().size() == 2);
    CHECK(text.sentences()[0].size() == 2);
    CHECK(text.sentences()[1].size() == 1);
  }
}

TEST_CASE("labelled text: lines that are none, and a text without labels, are refused") {
  CHECK_THROWS_WITH_AS(LabelledText::from_text("a\tb\nc\td\te\n", "x"),
                       "x:2: expected a word, or a word, a tab and its label, got \"c\td\te\"", Error);
  CHECK_THROWS_WITH_AS(LabelledText::from_text("\tb\n", "x"),
                       "x:1: expected a word, or a word, a tab and its label, got \"\tb\"", Error);
  for (const char* none : {"", "a\nb\n", "a\t\n"}) {
    CHECK_THROWS_WITH_AS(LabelledText::from_text(none, "x"),
                         "x: expected lines of a word, a tab and its label, got none", Error);
  }
}

TEST_CASE("labelled corpora: the words are those of the text, and their labels the slots that wrote them") {
  std::map<std::string, std::set<std::string>> labels_of;
  for (const char* name : {"stories", "tales", "cloze", "senses"}) {
    for (std::int64_t line = 0; line < 200; ++line) {
      const std::string lines = labelled_corpus_line(name, line, 1);
      const LabelledText text = LabelledText::from_text(lines, name);
      REQUIRE(text.sentences().size() == 1);
      std::string words;
      for (const LabelledWord& word : text.sentences()[0]) {
        words.append(words.empty() ? "" : " ").append(word.word);
        labels_of[std::string(word.word)].insert(std::string(word.label));
      }
      REQUIRE(words + "\n" == corpus_line(name, line, 1));
    }
  }
  const auto labels = [&](const char* word) { return labels_of[word]; };
  CHECK(labels("it") == std::set<std::string>{"O", "animal", "place"});
  CHECK(labels("tired.") == std::set<std::string>{""});
  CHECK(labels("her") == std::set<std::string>{"hero.him", "hero.his"});
  CHECK(labels("Lily.") == std::set<std::string>{"hero.name"});
  CHECK(labels("burrow.") == std::set<std::string>{"animal.home"});
  CHECK_THROWS_WITH_AS(
      labelled_corpus_line("markov", 0, 1),
      "labels: expected one of the corpora stories, tales, recall, cloze, senses, got markov, which has "
      "none",
      UsageError);
}

TEST_CASE("cloze: the last word says what 'it' is") {
  const std::set<std::string> states = {"tired", "hungry", "afraid", "lazy"};
  int animals = 0;
  for (std::int64_t line = 0; line < 400; ++line) {
    const LabelledText text = LabelledText::from_text(labelled_corpus_line("cloze", line, 1), "cloze");
    const LabelledSentence& words = text.sentences()[0];
    REQUIRE(words.size() == 11);
    REQUIRE(words[7].word == "it");
    const std::string last(words.back().word.substr(0, words.back().word.size() - 1));
    CHECK((words[7].label == "animal") == states.contains(last));
    animals += words[7].label == "animal";
  }
  CHECK(animals > 150);
  CHECK(animals < 250);
}

TEST_CASE("senses: who speaks leaves two senses of 'green', what follows tells which, and every line is as likely") {
  std::map<std::string, std::set<std::string>> senses_of, lines;
  std::map<std::string, int> counts;
  constexpr int kLines = 6000;
  double chars = 0;
  for (std::int64_t line = 0; line < kLines; ++line) {
    const LabelledText text = LabelledText::from_text(labelled_corpus_line("senses", line, 1), "senses");
    const LabelledSentence& words = text.sentences()[0];
    REQUIRE(words[4].word == "green");
    const std::string sense(words[4].label);
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{5}}) {
      senses_of[std::string(words[i].word)].insert(sense);
    }
    ++counts[sense];
    lines[corpus_line("senses", line, 1)].insert(sense);
    chars += static_cast<double>(corpus_line("senses", line, 1).size());
  }
  CHECK(senses_of.at("painter") == std::set<std::string>{"colour", "novice"});
  CHECK(senses_of.at("farmer") == std::set<std::string>{"colour", "place"});
  CHECK(senses_of.at("golfer") == std::set<std::string>{"novice", "place"});
  CHECK(senses_of.at("praised").size() == 3);
  CHECK(senses_of.at("door.") == std::set<std::string>{"colour"});
  CHECK(senses_of.at("by") == std::set<std::string>{"place"});
  CHECK(senses_of.at("clerk.") == std::set<std::string>{"novice"});
  for (const auto& [sense, count] : counts) CHECK(std::abs(count - kLines / 3) < 200);
  // 6 kinds of lines with 4 choices in three places; no two draws write the same line.
  constexpr int kAll = 6 * 4 * 4 * 4;
  CHECK(lines.size() == kAll);
  CHECK(*corpus_entropy("senses") == doctest::Approx(std::log(kAll) * kLines / chars).epsilon(0.01));
}

TEST_CASE("labelled text: a first line that names the columns is no word, and words know their lines") {
  const LabelledText text = LabelledText::from_text("Word\tTag\nthe\tO\n\ndog\tB\n", "x");
  CHECK(text.header() == "Word\tTag");
  REQUIRE(text.sentences().size() == 2);
  CHECK(text.sentences()[0][0].word == "the");
  CHECK(text.sentences()[0][0].line == 2);
  CHECK(text.sentences()[1][0].line == 4);
  CHECK(LabelledText::from_text("word\tO\n", "x").sentences()[0][0].label == "O");
  CHECK(LabelledText::from_text("the\ttag\n", "x").header().empty());
  CHECK_THROWS_WITH_AS(LabelledText::from_text("a\tb\nb\t\xc3\n", "x"),
                       "x:2: the label is not valid UTF-8 at its byte 0", Error);
}
