#include "data/grammars/grammar.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/text/utf8.h"

namespace tapeformer {

namespace {

// Used for alternatives and for rows.
template <class Weighted>
double total_weight(const std::vector<Weighted>& choices) {
  double total = 0;
  for (const Weighted& choice : choices) total += choice.weight;
  return total;
}

template <class Weighted>
const Weighted& draw(const std::vector<Weighted>& choices, RandomStream& random, double& nats) {
  const double total = total_weight(choices);
  double left = random.uniform() * total;
  std::size_t i = 0;
  while (i + 1 < choices.size() && left >= choices[i].weight) left -= choices[i++].weight;
  nats -= std::log(choices[i].weight / total);
  return choices[i];
}

template <class Weighted>
void check_weights(const std::vector<Weighted>& choices, const std::string& name) {
  check(!choices.empty(), "grammar: ", name, " has nothing to choose from");
  for (const Weighted& choice : choices) {
    check(choice.weight > 0, "grammar: ", name, " has weight ", choice.weight, ", expected above 0");
  }
}

}  // namespace

std::vector<TemplatePart> split_template(std::string_view text) {
  std::vector<TemplatePart> parts;
  std::string_view rest = text;
  while (!rest.empty()) {
    if (const std::size_t open = rest.find('{'); open != 0) {
      parts.push_back({false, rest.substr(0, open), {}});
      rest.remove_prefix(parts.back().text.size());
      check(parts.back().text.find('}') == rest.npos, "grammar: '}' without '{' in \"", text, '"');
      continue;
    }
    const std::size_t close = rest.find('}');
    check(close != rest.npos, "grammar: '{' without '}' in \"", text, '"');
    const std::string_view slot = rest.substr(1, close - 1);
    const std::size_t dot = slot.find('.');
    parts.push_back({true, slot.substr(0, dot), dot == slot.npos ? std::string_view() : slot.substr(dot + 1)});
    rest.remove_prefix(close + 1);
  }
  return parts;
}

Grammar::Grammar(std::string start, std::vector<GrammarVariable> variables, std::vector<Rule> rules)
    : start_(std::move(start)), variables_(std::move(variables)), rules_(std::move(rules)) {
  check_template(start_);
  for (const GrammarVariable& variable : variables_) {
    check_weights(variable.rows, variable.name);
    for (const Row& row : variable.rows) {
      check(row.cells.size() == variable.columns.size(), "grammar: a row of ", variable.name, " has ", row.cells.size(),
            " cells for ", variable.columns.size(), " columns");
      for (const std::string& cell : row.cells) check_template(cell);
    }
  }
  for (const Rule& rule : rules_) {
    check_weights(rule.alternatives, rule.name);
    for (const Alternative& alternative : rule.alternatives) check_template(alternative.text);
  }
}

void Grammar::check_template(const std::string& text) const {
  for (const TemplatePart& part : split_template(text)) {
    if (!part.is_slot) continue;
    if (part.column.empty()) {
      rule(part.text);
    } else {
      column(variables_[variable(part.text)], part.column);
    }
  }
}

const Rule& Grammar::rule(std::string_view name) const {
  for (const Rule& rule : rules_) {
    if (rule.name == name) return rule;
  }
  fail("grammar: no rule is named ", name);
}

int Grammar::variable(std::string_view name) const {
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].name == name) return static_cast<int>(i);
  }
  fail("grammar: no variable is named ", name);
}

int Grammar::column(const GrammarVariable& variable, std::string_view name) const {
  for (std::size_t i = 0; i < variable.columns.size(); ++i) {
    if (variable.columns[i] == name) return static_cast<int>(i);
  }
  fail("grammar: variable ", variable.name, " has no column ", name);
}

GrammarLine Grammar::generate(RandomStream& random) const {
  GrammarLine out{{}, 0};
  std::vector<const Row*> drawn;
  for (const GrammarVariable& variable : variables_) drawn.push_back(&draw(variable.rows, random, out.nats));
  write(start_, drawn, random, out);
  return out;
}

void Grammar::write(std::string_view text, const std::vector<const Row*>& drawn, RandomStream& random,
                    GrammarLine& out) const {
  for (const TemplatePart& part : split_template(text)) {
    if (!part.is_slot) {
      out.text += part.text;
      continue;
    }
    const std::size_t begin = out.text.size(), slots = out.slots.size();
    if (part.column.empty()) {
      write(draw(rule(part.text).alternatives, random, out.nats).text, drawn, random, out);
    } else {
      const int place = variable(part.text);
      write(drawn[place]->cells[column(variables_[place], part.column)], drawn, random, out);
    }
    if (out.slots.size() > slots) continue;  // skips slots that have slots inside
    const std::string name = str_cat(part.text, part.column.empty() ? "" : ".", part.column);
    out.slots.push_back({begin, out.text.size(), name});
  }
}

LineExpectation Grammar::expectation() const {
  LineExpectation line = expected(start_);
  for (const GrammarVariable& variable : variables_) {
    const double total = total_weight(variable.rows);
    for (const Row& row : variable.rows) line.nats -= row.weight / total * std::log(row.weight / total);
  }
  return line;
}

LineExpectation Grammar::expected(std::string_view text) const {
  LineExpectation sum{0, 0, 0};
  const auto add = [&](double p, double choice_nats, std::string_view chosen) {
    const LineExpectation inner = expected(chosen);
    sum.nats += p * (inner.nats + choice_nats);
    sum.chars += p * inner.chars;
    sum.bytes += p * inner.bytes;
  };
  for (const TemplatePart& part : split_template(text)) {
    if (!part.is_slot) {
      const auto begins_character = [](char byte) { return !is_continuation_byte(byte); };
      sum.chars += static_cast<double>(std::ranges::count_if(part.text, begins_character));
      sum.bytes += static_cast<double>(part.text.size());
    } else if (part.column.empty()) {
      const std::vector<Alternative>& alternatives = rule(part.text).alternatives;
      const double total = total_weight(alternatives);
      for (const Alternative& a : alternatives) add(a.weight / total, -std::log(a.weight / total), a.text);
    } else {
      const GrammarVariable& from = variables_[variable(part.text)];
      const int cell = column(from, part.column);
      const double total = total_weight(from.rows);
      for (const Row& row : from.rows) add(row.weight / total, 0, row.cells[cell]);
    }
  }
  return sum;
}

}  // namespace tapeformer
