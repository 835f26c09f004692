#include <charconv>

#include "core/error.h"
#include "data/chat/template_parser.h"

namespace tapeformer {
namespace {

constexpr int kMostNested = 100;  // parentheses, lists and the like within each other

}  // namespace

TemplateValue TemplateScope::find(const std::string& name) const {
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const auto found = frame->find(name);
    if (found != frame->end()) return found->second;
  }
  return {TemplateUndefined{name}};
}

void TemplateScope::spend(std::size_t bytes) {
  check(bytes <= work, "the template takes too long");
  work -= bytes;
}

bool TemplateExpressionParser::is_next(std::string_view text) const {
  const bool word = peek().kind == TemplateToken::Kind::name || peek().kind == TemplateToken::Kind::symbol;
  return word && peek().text == text;
}

bool TemplateExpressionParser::take(std::string_view text) {
  if (!is_next(text)) return false;
  ++at_;
  return true;
}

void TemplateExpressionParser::fail_here(std::string_view expected) const {
  fail("expected ", expected, ", got ", at_end() ? "the end of the tag" : "'" + peek().text + "'");
}

void TemplateExpressionParser::expect(std::string_view text) {
  if (!take(text)) fail_here(str_cat("'", text, "'"));
}

std::string TemplateExpressionParser::name() {
  if (peek().kind != TemplateToken::Kind::name) fail_here("a name");
  return tokens_[at_++].text;
}

TemplateExpression TemplateExpressionParser::condition() {
  TemplateExpression value = disjunction();
  while (take("if")) {
    TemplateExpression test = disjunction(), other;
    if (take("else")) other = condition();
    value = [value, test, other](const TemplateScope& scope) -> TemplateValue {
      if (is_true(test(scope))) return value(scope);
      return other ? other(scope) : TemplateValue{TemplateUndefined{"else"}};
    };
  }
  return value;
}

TemplateExpression TemplateExpressionParser::disjunction() {
  TemplateExpression left = conjunction();
  while (take("or")) {
    TemplateExpression right = conjunction();
    left = [left, right](const TemplateScope& scope) {
      TemplateValue value = left(scope);
      return is_true(value) ? value : right(scope);
    };
  }
  return left;
}

TemplateExpression TemplateExpressionParser::conjunction() {
  TemplateExpression left = negation();
  while (take("and")) {
    TemplateExpression right = negation();
    left = [left, right](const TemplateScope& scope) {
      TemplateValue value = left(scope);
      return is_true(value) ? right(scope) : value;
    };
  }
  return left;
}

TemplateExpression TemplateExpressionParser::negation() {
  if (!take("not")) return comparison();
  check(++depth_ < kMostNested, "expected at most ", kMostNested, " nested expressions");
  TemplateExpression value = negation();
  --depth_;
  return [value](const TemplateScope& scope) -> TemplateValue { return {!is_true(value(scope))}; };
}

TemplateExpression TemplateExpressionParser::comparison() {
  TemplateExpression left = arithmetic(0);
  bool is_chain = false;
  while (true) {
    std::string operation;
    for (const std::string_view known : {"==", "!=", "<=", ">=", "<", ">", "in"}) {
      if (operation.empty() && take(known)) operation = known;
    }
    if (operation.empty() && is_next("not") && tokens_[at_ + 1].text == "in") at_ += 2, operation = "not in";
    if (operation.empty()) return left;
    if (std::exchange(is_chain, true)) fail("a chain of comparisons, such as a < b < c, is not supported");
    TemplateExpression right = arithmetic(0);
    left = [left, right, operation](const TemplateScope& scope) -> TemplateValue {
      const TemplateValue a = left(scope), b = right(scope);
      if (operation == "==") return {equal(a, b)};
      if (operation == "!=") return {!equal(a, b)};
      if (operation == "in") return {contains(b, a)};
      if (operation == "not in") return {!contains(b, a)};
      return combine(operation, a, b);
    };
  }
}

TemplateExpression TemplateExpressionParser::arithmetic(int level) {
  static const std::vector<std::string_view> kOperators[] = {{"+", "-"}, {"~"}, {"*", "//", "/", "%"}};
  if (level == 3) return unary(true);
  TemplateExpression left = arithmetic(level + 1);
  while (true) {
    std::string operation;
    for (const std::string_view known : kOperators[level]) {
      if (operation.empty() && take(known)) operation = known;
    }
    if (operation.empty()) return left;
    TemplateExpression right = arithmetic(level + 1);
    left = [left, right, operation](const TemplateScope& scope) {
      return combine(operation, left(scope), right(scope));
    };
  }
}

TemplateExpression TemplateExpressionParser::unary(bool with_filters) {
  check(++depth_ < kMostNested, "expected at most ", kMostNested, " nested expressions");
  TemplateExpression value;
  if (take("-")) {
    TemplateExpression positive = unary(false);
    value = [positive](const TemplateScope& scope) { return combine("-", {std::int64_t{0}}, positive(scope)); };
  } else {
    value = postfix(primary());
  }
  if (with_filters) value = filters(std::move(value));
  --depth_;
  return value;
}

TemplateExpression TemplateExpressionParser::primary() {
  const auto constant = [](TemplateValue value) -> TemplateExpression {
    return [value = std::move(value)](const TemplateScope&) { return value; };
  };
  if (take("(")) {
    TemplateExpression value = condition();
    if (is_next(",")) fail("a tuple (a, b) is not supported");
    expect(")");
    return value;
  }
  if (is_next("[")) return list_of_values();
  if (is_next("{")) return dict_of_values();
  const TemplateToken token = peek();
  switch (token.kind) {
    case TemplateToken::Kind::string: {
      std::string text;
      while (peek().kind == TemplateToken::Kind::string) text += tokens_[at_++].text;
      return constant({std::move(text)});
    }
    case TemplateToken::Kind::integer:
    case TemplateToken::Kind::number: {
      ++at_;
      const auto constant_of = [&](auto value) {
        const auto read = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
        check(read.ec == std::errc(), "the number ", token.text, " is out of range");
        return constant({value});
      };
      return token.kind == TemplateToken::Kind::number ? constant_of(0.0) : constant_of(std::int64_t{0});
    }
    case TemplateToken::Kind::name:
      break;
    default:
      fail_here("a value");
  }
  const std::string named = name();
  if (named == "true" || named == "True") return constant({true});
  if (named == "false" || named == "False") return constant({false});
  if (named == "none" || named == "None") return constant({nullptr});
  if (is_next("(")) {
    require_function(named);
    auto given = arguments();
    return [named, given](const TemplateScope& scope) { return call_function(named, given(scope)); };
  }
  return [named](const TemplateScope& scope) {
    TemplateValue value = scope.find(named);
    if (value.is_undefined() && is_transformers_function(named))
      fail("the function '", named, "' is not supported as a value");
    return value;
  };
}

TemplateExpression TemplateExpressionParser::list_of_values() {
  expect("[");
  std::vector<TemplateExpression> values;
  while (!take("]")) {
    values.push_back(condition());
    if (!is_next("]")) expect(",");
  }
  return [values](const TemplateScope& scope) {
    TemplateList items;
    for (const TemplateExpression& value : values) items.push_back(value(scope));
    return make_list(std::move(items));
  };
}

TemplateExpression TemplateExpressionParser::dict_of_values() {
  expect("{");
  std::vector<std::pair<TemplateExpression, TemplateExpression>> entries;
  while (!take("}")) {
    TemplateExpression key = condition();
    expect(":");
    entries.emplace_back(std::move(key), condition());
    if (!is_next("}")) expect(",");
  }
  return [entries](const TemplateScope& scope) {
    TemplateDict items;
    for (const auto& entry : entries) {
      const TemplateValue key = entry.first(scope);
      check(key.string() != nullptr, "{ : }: expected a string as a key, got ", kind_of(key));
      set_item(items, *key.string(), entry.second(scope));
    }
    return make_dict(std::move(items));
  };
}

TemplateExpression TemplateExpressionParser::postfix(TemplateExpression value) {
  while (true) {
    if (is_next("[")) {
      value = subscript(std::move(value));
    } else if (take(".")) {
      const std::string member = name();
      if (is_next("(")) {
        require_method(member);
        auto given = arguments();
        value = [value, member, given](const TemplateScope& scope) {
          return call_method(member, value(scope), given(scope));
        };
      } else {
        value = [value, member](const TemplateScope& scope) { return attribute(value(scope), member); };
      }
    } else if (is_next("(")) {
      fail("a call of something other than a function, a method, a filter or a test is not supported");
    } else {
      return value;
    }
  }
}

TemplateExpression TemplateExpressionParser::subscript(TemplateExpression value) {
  expect("[");
  TemplateExpression parts[3];
  int colons = 0;
  while (!take("]")) {
    if (take(":")) {
      if (++colons > 2) fail_here("']'");
    } else if (!parts[colons]) {
      parts[colons] = condition();
    } else {
      fail_here("']'");
    }
  }
  TemplateExpression begin = parts[0], end = parts[1], step = parts[2];
  if (colons == 0) {
    if (!begin) fail("[ ]: expected an index, got none");
    return [value, begin](const TemplateScope& scope) { return item(value(scope), begin(scope)); };
  }
  return [value, begin, end, step](const TemplateScope& scope) {
    const auto bound = [&](const TemplateExpression& part) -> std::optional<std::int64_t> {
      const TemplateValue number = part ? part(scope) : TemplateValue{nullptr};
      if (number.get<std::nullptr_t>()) return std::nullopt;
      check(number.get<std::int64_t>() != nullptr, "[ : ]: expected a whole number, got ", kind_of(number));
      return *number.get<std::int64_t>();
    };
    return slice(value(scope), bound(begin), bound(end), bound(step).value_or(1));
  };
}

TemplateExpression TemplateExpressionParser::filters(TemplateExpression value) {
  while (true) {
    if (take("|")) {
      const std::string filter = name();
      require_filter(filter);
      std::function<TemplateArguments(const TemplateScope&)> given;
      if (is_next("(")) given = arguments();
      value = [value, filter, given](const TemplateScope& scope) {
        return apply_filter(filter, value(scope), given ? given(scope) : TemplateArguments{});
      };
    } else if (take("is")) {
      const bool negated = take("not");
      const std::string test = take("==") ? "==" : name();
      require_test(test);
      TemplateExpression other;
      if (test_has_argument(test)) other = unary(false);
      value = [value, negated, test, other](const TemplateScope& scope) -> TemplateValue {
        TemplateArguments given;
        if (other) given.values.push_back(other(scope));
        return {apply_test(test, value(scope), given) != negated};
      };
    } else {
      return value;
    }
  }
}

std::function<TemplateArguments(const TemplateScope&)> TemplateExpressionParser::arguments() {
  expect("(");
  std::vector<TemplateExpression> values;
  std::vector<std::pair<std::string, TemplateExpression>> named;
  while (!take(")")) {
    const bool has_name = peek().kind == TemplateToken::Kind::name && tokens_[at_ + 1].text == "=";
    if (has_name) {
      std::string key = name();
      expect("=");
      named.emplace_back(std::move(key), condition());
    } else {
      values.push_back(condition());
    }
    if (!is_next(")")) expect(",");
  }
  return [values, named](const TemplateScope& scope) {
    TemplateArguments given;
    for (const TemplateExpression& value : values) given.values.push_back(value(scope));
    for (const auto& entry : named) given.named.emplace_back(entry.first, entry.second(scope));
    return given;
  };
}

}  // namespace tapeformer
