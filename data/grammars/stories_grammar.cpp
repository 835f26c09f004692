#include "data/grammars/stories_grammar.h"

#include <utility>

namespace tapeformer {

namespace {

std::vector<GrammarVariable> stories_variables() {
  // clang-format off
  return {
      {"hero", {"name", "he", "He", "him", "his", "His"},
       {{3, {"Lily", "she", "She", "her", "her", "Her"}},
        {3, {"Anna", "she", "She", "her", "her", "Her"}},
        {2, {"Rosie", "she", "She", "her", "her", "Her"}},
        {2, {"Mia", "she", "She", "her", "her", "Her"}},
        {2, {"Ella", "she", "She", "her", "her", "Her"}},
        {1, {"Poppy", "she", "She", "her", "her", "Her"}},
        {1, {"Greta", "she", "She", "her", "her", "Her"}},
        {1, {"Nora", "she", "She", "her", "her", "Her"}},
        {3, {"Tom", "he", "He", "him", "his", "His"}},
        {3, {"Ben", "he", "He", "him", "his", "His"}},
        {2, {"Max", "he", "He", "him", "his", "His"}},
        {2, {"Oliver", "he", "He", "him", "his", "His"}},
        {2, {"Sam", "he", "He", "him", "his", "His"}},
        {1, {"Finn", "he", "He", "him", "his", "His"}},
        {1, {"Jasper", "he", "He", "him", "his", "His"}},
        {1, {"Hugo", "he", "He", "him", "his", "His"}}}},
      {"animal", {"kind", "home", "food", "went"},
       {{2, {"rabbit", "burrow", "carrots", "hopped"}},
        {2, {"bear", "cave", "honey", "walked"}},
        {2, {"mouse", "hole", "cheese", "crept"}},
        {2, {"duck", "nest", "bread", "waddled"}},
        {2, {"frog", "pond", "flies", "jumped"}},
        {1, {"squirrel", "tree", "nuts", "ran"}},
        {1, {"fox", "den", "berries", "trotted"}},
        {1, {"kitten", "basket", "fish", "tiptoed"}},
        {1, {"pig", "sty", "apples", "plodded"}},
        {1, {"pony", "stable", "oats", "galloped"}}}},
      {"colour", {"name"},
       {{2, {"red"}}, {2, {"blue"}}, {2, {"green"}}, {2, {"yellow"}}, {2, {"white"}}, {1, {"silver"}},
        {1, {"purple"}}, {1, {"golden"}}, {1, {"pink"}}}},
      {"toy", {"name"},
       {{2, {"ball"}}, {2, {"kite"}}, {2, {"boat"}}, {2, {"drum"}}, {1, {"hat"}}, {1, {"bell"}},
        {1, {"cup"}}, {1, {"wagon"}}, {1, {"spoon"}}, {1, {"lamp"}}}},
      {"friend", {"kind"},
       {{2, {"owl"}}, {2, {"goat"}}, {2, {"hen"}}, {2, {"turtle"}}, {1, {"crow"}}, {1, {"mole"}},
        {1, {"swan"}}, {1, {"deer"}}, {1, {"badger"}}, {1, {"snail"}}}},
  };
  // clang-format on
}

}  // namespace

// The alternatives of a rule may begin alike, but none is a prefix of another: read from the left, a story has only one
// possible derivation, so its entropy is that of the draws (grammar.h).
Grammar story_grammar(std::vector<GrammarVariable> variables) {
  // clang-format off
  return Grammar(
      "{opening} {story}\n",
      std::move(variables),
      {
          {"opening",
           {{2, "Once upon a time there was a {size} {animal.kind} named {hero.name}."},
            {2, "{hero.name} was a {size} {animal.kind}."},
            {1, "A {size} {animal.kind} called {hero.name} lived in a {animal.home}."}}},
          {"size",
           {{3, "little"}, {2, "small"}, {2, "young"}, {2, "brave"}, {1, "shy"}, {1, "clever"}, {1, "lazy"},
            {1, "funny"}, {1, "quiet"}, {1, "merry"}}},

          {"story",
           {{2, "{when} {hero.he} {day}"},
            {3, "{hero.He} loved {animal.food} and {hobby}. {when} {hero.he} {day}"},
            {2, "{hero.His} {dear} friend was the {friend.kind}. {when} {hero.he} {day}"}}},
          {"hobby",
           {{2, "sunny days"}, {2, "long walks"}, {2, "games"}, {1, "songs"}, {1, "the rain"}, {1, "tales"},
            {1, "maps"}, {1, "jokes"}, {1, "naps"}}},
          {"dear", {{3, "best"}, {2, "oldest"}, {1, "only"}, {1, "dearest"}}},
          {"when",
           {{2, "One day"}, {2, "One morning"}, {2, "One evening"}, {1, "One {weather} afternoon"},
            {2, "On a {weather} day"}, {1, "Last week"}, {1, "Today"}, {1, "In {month}"}}},
          {"weather", {{2, "sunny"}, {2, "rainy"}, {1, "cold"}, {1, "windy"}, {1, "warm"}}},
          {"month", {{1, "April"}, {1, "May"}, {1, "July"}, {1, "October"}}},

          {"day",
           {{3, "lost {hero.his} {thing} {where}. {lost}"},
            {3, "{animal.went} {where} and found a {thing}. {found}"},
            {2, "{wanted} to {make} a {thing} for the {friend.kind}. {made}"}}},
          {"wanted", {{2, "wanted"}, {1, "hoped"}, {1, "tried"}, {1, "promised"}}},
          {"make", {{2, "make"}, {1, "buy"}, {1, "paint"}, {1, "find"}}},
          {"thing", {{1, "{colour.name} {toy.name}"}}},
          {"where",
           {{3, "in the {place}"}, {2, "near the {place}"}, {1, "behind the {place}"}, {1, "by the river"},
            {1, "on a hill"}}},
          {"place",
           {{2, "garden"}, {2, "forest"}, {2, "meadow"}, {2, "mill"}, {1, "barn"}, {1, "school"}, {1, "castle"},
            {1, "lake"}, {1, "bridge"}, {1, "shop"}, {1, "oak"}}},

          {"lost",
           {{2, "{helped}"},
            {2, "{hero.He} was {sad} and {cried}. {helped}"},
            {2, "{hero.He} looked {spot} and {second_spot}, but it was {gone}. {helped}"}}},
          {"gone", {{2, "not there"}, {2, "gone"}, {1, "nowhere"}}},
          {"sad", {{3, "very sad"}, {2, "so tired"}, {2, "afraid"}, {1, "angry"}, {1, "lonely"}}},
          {"cried", {{3, "began to cry"}, {2, "sat down"}, {1, "called for help"}, {1, "went to bed"}}},
          {"helped",
           {{3, "The {nice} {friend.kind} {heard} {hero.him} and {help}. {ending}"},
            {2, "Then the {nice} {friend.kind} {came} and found it {spot}. {ending}"}}},
          {"nice",
           {{2, "kind"}, {2, "wise"}, {2, "old"}, {2, "friendly"}, {1, "quick"}, {1, "gentle"}, {1, "busy"},
            {1, "fat"}}},
          {"came", {{3, "came"}, {2, "passed by"}, {1, "looked down"}, {1, "woke up"}}},
          {"heard", {{3, "heard"}, {2, "saw"}, {2, "met"}, {1, "ran to"}, {1, "felt sorry for"}}},
          {"help",
           {{1, "helped {hero.him} look for it"}, {2, "found it {spot}"}, {1, "told {hero.him} it was {spot}"}}},
          {"spot", {{3, "under a {cover}"}, {2, "behind a {cover}"}, {1, "in the tall grass"}, {1, "in the mud"}}},
          {"cover", {{2, "bush"}, {2, "stone"}, {2, "log"}, {1, "bench"}, {1, "bucket"}, {1, "wall"}}},
          {"second_spot", {{2, "by the fence"}, {2, "in every corner"}, {1, "on the roof"}, {1, "down the well"}}},

          {"found",
           {{3, "{shown}"},
            {2, "It was {worn}, but {hero.he} {liked} it. {shown}"},
            {1, "But it was not {hero.his} own, so {hero.he} gave it to the {nice} {friend.kind}. {together}"}}},
          {"worn", {{2, "old"}, {2, "broken"}, {2, "dirty"}, {1, "wet"}, {1, "too big"}}},
          {"liked", {{3, "liked"}, {2, "kept"}, {1, "washed and dried"}}},
          {"shown", {{1, "{hero.He} {showed} it to the {nice} {friend.kind}, who {answered}. {ending}"}}},
          {"showed", {{3, "showed"}, {2, "took"}, {1, "proudly carried"}}},
          {"answered",
           {{3, "smiled"}, {2, "clapped"}, {2, "wanted to play too"}, {1, "sang a song"}, {1, "had never seen one"}}},

          {"made",
           {{2, "{given}"},
            {2, "It was {hard}, but {hero.he} did not {stop}. {given}"}}},
          {"hard", {{2, "hard"}, {2, "slow work"}, {1, "not easy"}, {1, "late"}}},
          {"stop", {{3, "give up"}, {2, "stop"}, {1, "ask for help"}}},
          {"given",
           {{2, "The {nice} {friend.kind} was {happy} and {thanked} {hero.him}. {together}"},
            {1, "Soon the {nice} {friend.kind} {thanked} {hero.him}. {together}"}}},
          {"thanked", {{3, "thanked"}, {2, "hugged"}, {1, "kissed"}}},
          {"happy", {{3, "happy"}, {2, "glad"}, {2, "proud"}, {1, "cheerful"}, {1, "full of joy"}}},

          {"ending",
           {{2, "{hero.name} was {happy} and {brought} the {toy.name} {back} to {hero.his} {animal.home}."},
            {3, "{together}"}}},
          {"back", {{2, "home"}, {1, "back"}, {1, "safely"}, {1, "straight"}}},
          {"brought", {{2, "brought"}, {2, "carried"}, {1, "took"}, {1, "pulled"}}},
          {"together",
           {{2, "They {played} with the {thing} until {late}."},
            {2, "Then they ate {much} {animal.food} {beside}."},
            {2, "That night {hero.name} {dreamed} of the {toy.name} and the {friend.kind}."}}},
          {"beside", {{3, "together"}, {2, "by the fire"}, {1, "and fell asleep"}, {1, "in the sun"}}},
          {"played", {{3, "played"}, {2, "danced"}, {1, "laughed"}, {1, "ran about"}}},
          {"late", {{2, "it was dark"}, {2, "the moon came up"}, {2, "bedtime"}, {1, "supper"}, {1, "it rained"}}},
          {"much", {{2, "some"}, {2, "a lot of"}, {1, "warm"}, {1, "all the"}}},
          {"dreamed", {{3, "dreamed"}, {2, "sang"}, {1, "spoke"}}},
      });
  // clang-format on
}

const Grammar& stories_grammar() {
  static const Grammar grammar = story_grammar(stories_variables());
  return grammar;
}

}  // namespace tapeformer
