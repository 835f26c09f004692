// Reads chat templates into functions that compute their expressions and run their statements.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/chat/template_lexer.h"
#include "data/chat/template_value.h"

namespace tapeformer {

// The variables, by scope; a turn of a loop, its else, and a generation block have scopes of their own.
struct TemplateScope {
  std::vector<std::map<std::string, TemplateValue>> frames;

  // The work that is left: bytes that are printed or set, and some for each turn of a loop. This limit ends a template
  // that would run for too long, as one from an unknown source may.
  std::size_t work = std::size_t{256} << 20;

  TemplateValue find(const std::string& name) const;
  // Throws Error if so much work is not left.
  void spend(std::size_t bytes);
};

using TemplateExpression = std::function<TemplateValue(const TemplateScope&)>;

// How a statement ends.
enum class TemplateFlow { next, break_loop, continue_loop };
// Runs a statement: appends what it prints to `out`.
using TemplateStatement = std::function<TemplateFlow(TemplateScope&, std::string& out)>;

// Reads the tokens of a tag as expressions.
class TemplateExpressionParser {
 public:
  explicit TemplateExpressionParser(const std::vector<TemplateToken>& tokens) : tokens_(tokens) {}

  // condition: A if B else C; or else the operators from `or` on.
  TemplateExpression condition();
  TemplateExpression disjunction();

  bool at_end() const { return peek().kind == TemplateToken::Kind::end; }
  bool is_next(std::string_view text) const;  // a name or a symbol
  bool take(std::string_view text);           // moves past it, if it is next
  void expect(std::string_view text);
  std::string name();
  [[noreturn]] void fail_here(std::string_view expected) const;

 private:
  const TemplateToken& peek() const { return tokens_[at_]; }
  TemplateExpression conjunction();
  TemplateExpression negation();
  TemplateExpression comparison();
  // The operators of these levels: + -, then ~, then * / // %.
  TemplateExpression arithmetic(int level);
  TemplateExpression unary(bool with_filters);
  TemplateExpression primary();
  TemplateExpression list_of_values();
  TemplateExpression dict_of_values();
  TemplateExpression postfix(TemplateExpression value);
  TemplateExpression subscript(TemplateExpression value);
  TemplateExpression filters(TemplateExpression value);
  std::function<TemplateArguments(const TemplateScope&)> arguments();

  const std::vector<TemplateToken>& tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace tapeformer
