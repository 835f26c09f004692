#include "data/grammars/relations_grammar.h"

#include <span>

#include "core/error.h"

namespace tapeformer {
namespace {

// Two related words, and the words that occur near both of them.
struct RelatedPair {
  const char *first, *second;
  const char* near[2];
};

struct Relation {
  std::string name;
  // The sentence of a word W, with the slots {SIDE} and {NEAR}.
  std::string before, after;
  std::vector<const char*> near_first, near_second;  // the words of either side
  std::vector<RelatedPair> pairs;
};

// In each list no word is the beginning of another, so that a line determines its draws (stories_grammar.cpp).
const std::vector<Relation>& relations() {
  // clang-format off
  static const std::vector<Relation> all{
      {"gender", "{then} the ", " {SIDE} {liked} the {NEAR}.",
       {"himself", "sir", "with a beard"}, {"herself", "madam", "with a bonnet"},
       {{"king", "queen", {"throne", "crown"}}, {"man", "woman", {"newspaper", "bicycle"}},
        {"boy", "girl", {"marbles", "homework"}}, {"uncle", "aunt", {"visit", "postcard"}},
        {"father", "mother", {"cradle", "lullaby"}}, {"brother", "sister", {"bunk", "quarrel"}},
        {"husband", "wife", {"wedding", "ring"}}, {"wizard", "witch", {"broom", "potion"}},
        {"monk", "nun", {"cloister", "prayer"}}, {"lord", "lady", {"manor", "carriage"}},
        {"actor", "actress", {"stage", "script"}}, {"waiter", "waitress", {"menu", "tray"}}}},
      {"capital", "{then} near ", " the {SIDE} {liked} {NEAR}.",
       {"mayor", "suburbs", "avenues"}, {"border", "provinces", "villages"},
       {{"Paris", "France", {"croissants", "berets"}}, {"Rome", "Italy", {"pasta", "gondolas"}},
        {"Madrid", "Spain", {"paella", "flamenco"}}, {"Berlin", "Germany", {"pretzels", "zithers"}},
        {"Vienna", "Austria", {"strudel", "waltzes"}}, {"Athens", "Greece", {"olives", "temples"}},
        {"Cairo", "Egypt", {"pyramids", "papyrus"}}, {"Tokyo", "Japan", {"sushi", "kimonos"}},
        {"Lima", "Peru", {"llamas", "quinoa"}}, {"Oslo", "Norway", {"fjords", "herring"}},
        {"Dublin", "Ireland", {"harps", "clover"}}, {"Warsaw", "Poland", {"pierogi", "mazurkas"}}}},
      {"tense", "{then} they ", " {SIDE} {liked} {NEAR}.",
       {"now", "today", "these days"}, {"yesterday", "last year", "once"},
       {{"sing", "sang", {"hymns", "ballads"}}, {"drink", "drank", {"milk", "cider"}},
        {"ride", "rode", {"camels", "donkeys"}}, {"write", "wrote", {"letters", "poems"}},
        {"grow", "grew", {"cabbages", "beans"}}, {"throw", "threw", {"snowballs", "stones"}},
        {"break", "broke", {"plates", "windows"}}, {"eat", "ate", {"soup", "dumplings"}},
        {"steal", "stole", {"jewels", "purses"}}, {"fly", "flew", {"kites", "balloons"}},
        {"catch", "caught", {"butterflies", "trout"}}, {"win", "won", {"medals", "races"}}}},
  };
  // clang-format on
  return all;
}

std::string with_slot(std::string text, std::string_view slot, const std::string& by) {
  return text.replace(text.find(slot), slot.size(), by);
}

}  // namespace

const Grammar& relations_grammar() {
  static const Grammar grammar = [] {
    Rule sentence{"sentence", {}};
    std::vector<Rule> rules{{"then", {{1, "So"}, {1, "Then"}, {1, "Often"}, {1, "Still"}}},
                            {"liked", {{1, "and"}, {1, "beside"}, {1, "without"}, {1, "for"}}}};
    const auto add_rule = [&](const std::string& name, std::span<const char* const> words) {
      Rule& rule = rules.emplace_back(Rule{name, {}});
      for (const char* word : words) rule.alternatives.push_back({1, word});
    };
    for (const Relation& relation : relations()) {
      add_rule(relation.name + "1", relation.near_first);
      add_rule(relation.name + "2", relation.near_second);
      for (const RelatedPair& pair : relation.pairs) {
        add_rule(pair.first, pair.near);
        const std::string near = with_slot(relation.after, "NEAR", pair.first);
        for (const bool second : {false, true}) {
          const char* const word = second ? pair.second : pair.first;
          const std::string side = relation.name + (second ? "2" : "1");
          sentence.alternatives.push_back({1, relation.before + word + with_slot(near, "SIDE", side)});
        }
      }
    }
    rules.push_back(std::move(sentence));
    return Grammar("{sentence}\n", {}, std::move(rules));
  }();
  return grammar;
}

std::string relations_analogies() {
  std::string text;
  for (const Relation& relation : relations()) {
    text += str_cat(": ", relation.name, '\n');
    for (const RelatedPair& a : relation.pairs) {
      for (const RelatedPair& c : relation.pairs) {
        if (&a != &c) text += str_cat(a.first, ' ', a.second, ' ', c.first, ' ', c.second, '\n');
      }
    }
  }
  return text;
}

}  // namespace tapeformer
