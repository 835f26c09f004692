// Text from a seeded probabilistic grammar whose entropy is computed, not estimated.
//
// A template is text with slots: "{hero.He} was {happy}." A slot {rule} draws one of the rule's alternatives, each time
// anew. A slot {variable.column} writes a cell of the row that is drawn once per line for that variable, so that a name
// and its pronoun agree in all sentences. Alternatives and cells are templates too; none may refer to itself.
//
// Weights never depend on what was drawn before, so expectations add up, slot by slot, exactly:
//   rule:     nats = Σ p_i (nats_i - ln p_i),  chars = Σ p_i chars_i
//   template: the sum of its slots' nats and chars, and its own characters
//   line:     the start template, plus the entropy of every variable's row
// If the text determines the draws (tests/data proves it for our grammars), the nats of the draws are those of the
// text, and nats / chars is the entropy rate: the smallest cross-entropy that a model can reach.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"

namespace tapeformer {

struct Alternative {
  double weight;
  std::string text;
};

// An alternative of a rule; one is drawn each time that a slot names the rule.
struct Rule {
  std::string name;
  std::vector<Alternative> alternatives;
};

struct Row {
  double weight;
  std::vector<std::string> cells;  // one for each column
};

// A variable; one of its rows is drawn for each line.
struct GrammarVariable {
  std::string name;
  std::vector<std::string> columns;
  std::vector<Row> rows;
};

// A literal text, or the slot `variable.column` or `rule` (then `column` is empty).
struct TemplatePart {
  bool is_slot;
  std::string_view text;  // the literal text, or the slot's rule or variable
  std::string_view column;
};
// Throws Error for an unmatched brace.
std::vector<TemplatePart> split_template(std::string_view text);

struct GrammarLine {
  // The part of the text that was written by a slot without other slots inside.
  struct Slot {
    std::size_t begin, end;
    std::string name;  // "rule" or "variable.column"
  };
  std::string text;
  double nats;  // -ln of the probability of the line's draws
  std::vector<Slot> slots = {};
};

// What is expected of one line of a corpus.
struct LineExpectation {
  double nats;          // its entropy
  double chars, bytes;  // its length with the newline
};

class Grammar {
 public:
  // Throws Error for a slot with an unknown name, a row with too few or too many cells, or a weight that is not
  // positive.
  Grammar(std::string start, std::vector<GrammarVariable> variables, std::vector<Rule> rules);

  GrammarLine generate(RandomStream& random) const;
  LineExpectation expectation() const;

  const std::string& start() const { return start_; }
  const std::vector<GrammarVariable>& variables() const { return variables_; }
  const std::vector<Rule>& rules() const { return rules_; }
  // These throw Error for a name that the grammar does not have.
  const Rule& rule(std::string_view name) const;
  int variable(std::string_view name) const;                                 // its index in variables()
  int column(const GrammarVariable& variable, std::string_view name) const;  // its index in variable.columns

 private:
  void check_template(const std::string& text) const;
  void write(std::string_view text, const std::vector<const Row*>& drawn, RandomStream& random, GrammarLine& out) const;
  LineExpectation expected(std::string_view text) const;

  std::string start_;
  std::vector<GrammarVariable> variables_;
  std::vector<Rule> rules_;
};

}  // namespace tapeformer
