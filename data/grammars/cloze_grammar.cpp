#include "data/grammars/cloze_grammar.h"

namespace tapeformer {

// The words before "it" depend on which animal and which place a line has. So a backward model, which predicts them
// from the words after "it", gains by remembering the last word; without such a gain it would forget it.
const Grammar& cloze_grammar() {
  // clang-format off
  static const Grammar grammar(
      "The {who.name} didn't cross the {where.name} because {reason}.\n",
      {
          {"who", {"name", "state"},
           {{1, {"dog", "{weary}"}}, {1, {"horse", "{weary}"}}, {1, {"cow", "{weary}"}}, {1, {"pig", "{weary}"}},
            {1, {"cat", "{uneasy}"}}, {1, {"sheep", "{uneasy}"}}, {1, {"goat", "{uneasy}"}}, {1, {"duck", "{uneasy}"}}}},
          {"where", {"name", "size"},
           {{1, {"lake", "{watery}"}}, {1, {"river", "{watery}"}}, {1, {"stream", "{watery}"}}, {1, {"bay", "{watery}"}},
            {1, {"road", "{dry}"}}, {1, {"street", "{dry}"}}, {1, {"field", "{dry}"}}, {1, {"bridge", "{dry}"}}}},
      },
      {
          {"reason", {{1, "{animal} was too {who.state}"}, {1, "{place} was too {where.size}"}}},
          {"animal", {{1, "it"}}},
          {"place", {{1, "it"}}},
          {"weary", {{1, "tired"}, {1, "lazy"}}},
          {"uneasy", {{1, "afraid"}, {1, "hungry"}}},
          {"watery", {{1, "deep"}, {1, "wide"}}},
          {"dry", {{1, "long"}, {1, "rough"}}},
      });
  // clang-format on
  return grammar;
}

}  // namespace tapeformer
