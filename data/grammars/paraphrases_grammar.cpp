#include "data/grammars/paraphrases_grammar.h"

#include "data/grammars/tales_grammar.h"

namespace tapeformer {

const Grammar& paraphrases_grammar() {
  static const Grammar grammar = [] {
    std::vector<GrammarVariable> variables = tales_grammar().variables();
    // clang-format off
    variables.push_back({"event", {"first", "second"},
         {{1, {"{hero.name} lost {hero.his} {thing} in the {place.name}.",
               "The {thing} was gone, so {hero.name} looked for it by the {place.name}."}},
          {1, {"{hero.name} found a {thing} near the {place.name}.",
               "A {thing} was in the {place.name} and {hero.he} saw it: {hero.name}."}},
          {1, {"{hero.name} gave {hero.his} {thing} to the {friend.kind}.",
               "The {friend.kind} {thanked} {hero.name} for the {thing}."}},
          {1, {"The {friend.kind} told {hero.name} it was in the {place.name}.",
               "{hero.name} heard of the {place.name} and was glad: the {friend.kind} found it."}},
          {1, {"One day {hero.name} {played} with the {friend.kind}.",
               "That evening the {friend.kind} and {hero.name} were happy and ran about together."}}}});
    variables.push_back({"place", {"name"},
         {{1, {"garden"}}, {1, {"forest"}}, {1, {"meadow"}}, {1, {"mill"}}, {1, {"barn"}}, {1, {"school"}},
          {1, {"castle"}}, {1, {"lake"}}, {1, {"bridge"}}, {1, {"shop"}}, {1, {"oak"}}}});
    return Grammar("{event.first}\t{event.second}\n", std::move(variables),
        {{"thing", {{1, "{colour.name} {toy.name}"}}},
         {"thanked", {{3, "thanked"}, {2, "hugged"}, {1, "kissed"}}},
         {"played", {{3, "played"}, {2, "danced"}, {1, "laughed"}}}});
    // clang-format on
  }();
  return grammar;
}

}  // namespace tapeformer
