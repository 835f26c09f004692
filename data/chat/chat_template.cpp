#include "data/chat/chat_template.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "data/chat/template_parser.h"

namespace tapeformer {
namespace {

constexpr int kMostBlocks = 100;          // nested
constexpr std::size_t kTurnBytes = 4096;  // the work of a turn of a loop, which makes the values of `loop`

using Block = std::vector<TemplateStatement>;

TemplateFlow run_block(const Block& block, TemplateScope& scope, std::string& out) {
  for (const TemplateStatement& statement : block) {
    const TemplateFlow flow = statement(scope, out);
    if (flow != TemplateFlow::next) return flow;
  }
  return TemplateFlow::next;
}

// Runs a block in a scope of its own: what it sets ends with it.
TemplateFlow run_scoped(const Block& block, TemplateScope& scope, std::string& out) {
  scope.frames.emplace_back();
  const TemplateFlow flow = run_block(block, scope, out);
  scope.frames.pop_back();
  return flow;
}

// Calls f(), and adds the line of the template to its errors, unless they have one.
template <class F>
auto at_line(int line, const F& f) {
  static constexpr std::string_view kPrefix = "chat template: ";
  try {
    return f();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (message.starts_with(kPrefix)) throw;
    fail(kPrefix, "line ", line, ": ", message);
  }
}

// The variable `loop` in the i-th of the items.
TemplateValue loop_of(const TemplateList& items, std::size_t i) {
  const auto at = static_cast<std::int64_t>(i), size = std::ssize(items);
  const auto other = [&](bool exists, std::size_t index) {
    return exists ? items[index] : TemplateValue{TemplateUndefined{"loop item"}};
  };
  return make_dict({{"index", {at + 1}},
                    {"index0", {at}},
                    {"revindex", {size - at}},
                    {"revindex0", {size - at - 1}},
                    {"first", {at == 0}},
                    {"last", {at == size - 1}},
                    {"length", {size}},
                    {"depth", {std::int64_t{1}}},  // of a loop that is not recursive
                    {"depth0", {std::int64_t{0}}},
                    {"previtem", other(i > 0, i - 1)},
                    {"nextitem", other(at < size - 1, i + 1)}});
}

// Reads the statements of a template.
class StatementParser {
 public:
  explicit StatementParser(std::vector<ChatTemplatePart> parts) : parts_(std::move(parts)) {}

  Block read_all() { return read_block({}); }

 private:
  using Names = std::vector<std::string_view>;

  // Reads up to a statement with one of these names, whose tag becomes tag_; without names, to the end.
  Block read_block(const Names& ends) {
    check(++depth_ < kMostBlocks, "chat template: expected at most ", kMostBlocks, " nested blocks");
    const int line = at_ > 0 ? parts_[at_ - 1].line : 1;
    Block block;
    while (true) {
      if (at_ == parts_.size()) {
        if (!ends.empty()) fail("chat template: line ", line, ": expected {% ", ends.back(), " %}, got the end");
        break;
      }
      const ChatTemplatePart& part = parts_[at_++];
      if (part.kind == ChatTemplatePart::Kind::text) {
        block.emplace_back([text = part.text, line = part.line](TemplateScope& scope, std::string& out) {
          at_line(line, [&] { scope.spend(text.size()); });
          out += text;
          return TemplateFlow::next;
        });
      } else if (part.kind == ChatTemplatePart::Kind::expression) {
        block.push_back(at_line(part.line, [&] { return read_output(part); }));
      } else {
        if (std::ranges::count(ends, part.tokens[0].text) > 0) {
          if (part.tokens[0].text != "elif") at_line(part.line, [&] { require_one_word(part); });
          tag_ = &part;
          break;
        }
        block.push_back(at_line(part.line, [&] { return read_statement(part); }));
      }
    }
    --depth_;
    return block;
  }

  // Throws Error for a tag with more than its name, such as {% else if x %}.
  static void require_one_word(const ChatTemplatePart& part) {
    TemplateExpressionParser tokens(part.tokens);
    tokens.name();
    if (!tokens.at_end()) tokens.fail_here("the end of the tag");
  }

  static TemplateExpression only_expression(TemplateExpressionParser& tokens) {
    TemplateExpression value = tokens.condition();
    if (!tokens.at_end()) tokens.fail_here("the end of the tag");
    return value;
  }

  static TemplateStatement read_output(const ChatTemplatePart& part) {
    TemplateExpressionParser tokens(part.tokens);
    TemplateExpression value = only_expression(tokens);
    return [value, line = part.line](TemplateScope& scope, std::string& out) {
      at_line(line, [&] {
        const std::size_t before = out.size();
        out += printed(value(scope));
        scope.spend(out.size() - before);
      });
      return TemplateFlow::next;
    };
  }

  TemplateStatement read_statement(const ChatTemplatePart& part) {
    TemplateExpressionParser tokens(part.tokens);
    const std::string name = tokens.name();
    if (name == "if") return read_if(part);
    if (name == "for") return read_for(tokens, part.line);
    if (name == "set") return read_set(tokens, part.line);
    if (name == "generation" || name == "break" || name == "continue") require_one_word(part);
    if (name == "generation") {                    // marks the assistant's text for other programs
      const int loops = std::exchange(loops_, 0);  // a break within it ends no loop around it
      Block body = read_block({"endgeneration"});
      loops_ = loops;
      return [body](TemplateScope& scope, std::string& out) { return run_scoped(body, scope, out); };
    }
    if ((name == "break" || name == "continue") && loops_ > 0) {
      const TemplateFlow flow = name == "break" ? TemplateFlow::break_loop : TemplateFlow::continue_loop;
      return [flow](TemplateScope&, std::string&) { return flow; };
    }
    fail("the statement '", name, "' is not supported here; there are if, elif, else, for, set, break, continue");
  }

  TemplateStatement read_if(const ChatTemplatePart& first) {
    struct Branch {
      TemplateExpression test;  // empty: else
      Block body;
      int line;
    };
    std::vector<Branch> branches;
    for (const ChatTemplatePart* tag = &first; tag->tokens[0].text != "endif"; tag = tag_) {
      const bool is_else = tag->tokens[0].text == "else";
      TemplateExpressionParser tokens(tag->tokens);
      tokens.name();
      TemplateExpression test;
      if (!is_else) test = at_line(tag->line, [&] { return only_expression(tokens); });
      Block body = read_block(is_else ? Names{"endif"} : Names{"elif", "else", "endif"});
      branches.push_back({std::move(test), std::move(body), tag->line});
    }
    return [branches](TemplateScope& scope, std::string& out) {
      for (const Branch& branch : branches) {
        const bool chosen = !branch.test || at_line(branch.line, [&] { return is_true(branch.test(scope)); });
        if (chosen) return run_block(branch.body, scope, out);
      }
      return TemplateFlow::next;
    };
  }

  TemplateStatement read_for(TemplateExpressionParser& tokens, int line) {
    std::vector<std::string> names{tokens.name()};
    while (tokens.take(",")) names.push_back(tokens.name());
    tokens.expect("in");
    TemplateExpression list = tokens.disjunction(), filter;
    if (tokens.take("if")) filter = tokens.condition();
    if (!tokens.at_end()) tokens.fail_here("the end of the tag");
    ++loops_;
    Block body = read_block({"else", "endfor"}), otherwise;
    --loops_;
    if (tag_->tokens[0].text == "else") otherwise = read_block({"endfor"});
    return [=](TemplateScope& scope, std::string& out) {
      TemplateList items = at_line(line, [&] { return items_of(list(scope)); });
      const auto set_names = [&](const TemplateValue& value) {
        if (names.size() == 1) return void(scope.frames.back()[names[0]] = value);
        const TemplateList parts = items_of(value);
        check(parts.size() == names.size(), "for: expected ", names.size(), " values, got ", parts.size());
        for (std::size_t k = 0; k < names.size(); ++k) scope.frames.back()[names[k]] = parts[k];
      };
      scope.frames.emplace_back();
      if (filter) {
        std::erase_if(items, [&](const TemplateValue& value) {
          return at_line(line, [&] { return set_names(value), !is_true(filter(scope)); });
        });
      }
      TemplateFlow flow = TemplateFlow::next;
      bool has_whole_turn = false;  // one that no break or continue has ended
      for (std::size_t i = 0; i < items.size() && flow != TemplateFlow::break_loop; ++i) {
        scope.frames.back().clear();
        at_line(line, [&] {
          scope.spend(kTurnBytes);
          set_names(items[i]);
          scope.frames.back()["loop"] = loop_of(items, i);
        });
        flow = run_block(body, scope, out);
        has_whole_turn = has_whole_turn || flow == TemplateFlow::next;
      }
      scope.frames.pop_back();
      return has_whole_turn ? TemplateFlow::next : run_scoped(otherwise, scope, out);
    };
  }

  static TemplateStatement read_set(TemplateExpressionParser& tokens, int line) {
    const std::string name = tokens.name();
    const std::string member = tokens.take(".") ? tokens.name() : "";
    if (tokens.at_end()) fail("{% set ", name, " %} … {% endset %} is not supported; {% set ", name, " = … %} is");
    tokens.expect("=");
    TemplateExpression value = only_expression(tokens);
    return [=](TemplateScope& scope, std::string&) {
      at_line(line, [&] {
        TemplateValue computed = value(scope);
        if (computed.string()) scope.spend(computed.string()->size());
        if (member.empty()) return void(scope.frames.back()[name] = std::move(computed));
        const TemplateValue space = scope.find(name);
        const auto* shared = space.get<std::shared_ptr<TemplateNamespace>>();
        check(shared != nullptr, "set ", name, ".", member, ": expected a namespace, got ", kind_of(space));
        scope.spend(size_as_item(computed));
        set_item((*shared)->items, member, std::move(computed));
      });
      return TemplateFlow::next;
    };
  }

  const std::vector<ChatTemplatePart> parts_;
  std::size_t at_ = 0;
  const ChatTemplatePart* tag_ = nullptr;  // at which the last block ended
  int loops_ = 0, depth_ = 0;
};

}  // namespace

struct ChatTemplate::Program {
  Block statements;
};

ChatTemplate::ChatTemplate(std::string_view text)
    : program_(std::make_unique<Program>(Program{StatementParser(cut_template(text)).read_all()})) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::render(std::span<const ChatMessage> messages, const ChatRenderOptions& options) const {
  TemplateList list;
  for (const ChatMessage& message : messages) {
    list.push_back(make_dict({{"role", {message.role}}, {"content", {message.content}}}));
  }
  TemplateScope scope;
  auto& variables = scope.frames.emplace_back();
  variables["messages"] = make_list(std::move(list));
  variables["add_generation_prompt"] = {options.generation_prompt};
  variables["tools"] = variables["documents"] = {nullptr};
  if (!options.bos_token.empty()) variables["bos_token"] = {options.bos_token};
  if (!options.eos_token.empty()) variables["eos_token"] = {options.eos_token};
  std::string out;
  run_block(program_->statements, scope, out);
  return out;
}

}  // namespace tapeformer
