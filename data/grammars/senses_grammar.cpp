#include "data/grammars/senses_grammar.h"

namespace tapeformer {

// The words before "green" and the words after it give information about each other. So a model that predicts one from
// the other gains by keeping this information in its state at "green".
const Grammar& senses_grammar() {
  // clang-format off
  static const Grammar grammar(
      "{sentence}\n",
      {},
      {
          {"sentence",
           {{1, "The {painter} {saw} the {colour} {thing}."},
            {1, "The {painter} {saw} the {novice} {person}."},
            {1, "The {gardener} {saw} the {colour} {thing}."},
            {1, "The {gardener} {saw} the {place} {somewhere}."},
            {1, "The {golfer} {saw} the {place} {somewhere}."},
            {1, "The {golfer} {saw} the {novice} {person}."}}},
          {"painter", {{1, "painter"}, {1, "tailor"}, {1, "potter"}, {1, "carpenter"}}},
          {"gardener", {{1, "gardener"}, {1, "farmer"}, {1, "mower"}, {1, "florist"}}},
          {"golfer", {{1, "golfer"}, {1, "coach"}, {1, "caddie"}, {1, "captain"}}},
          {"saw", {{1, "saw"}, {1, "praised"}, {1, "described"}, {1, "remembered"}}},
          {"colour", {{1, "green"}}},
          {"place", {{1, "green"}}},
          {"novice", {{1, "green"}}},
          {"thing", {{1, "door"}, {1, "dress"}, {1, "leaf"}, {1, "paint"}}},
          {"somewhere", {{1, "by the church"}, {1, "near the bunker"}, {1, "behind the clubhouse"}, {1, "beside the pond"}}},
          {"person", {{1, "recruit"}, {1, "clerk"}, {1, "pupil"}, {1, "apprentice"}}},
      });
  // clang-format on
  return grammar;
}

}  // namespace tapeformer
