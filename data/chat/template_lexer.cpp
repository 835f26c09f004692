#include "data/chat/template_lexer.h"

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "core/text/utf8.h"
#include "data/chat/template_text.h"

namespace tapeformer {
namespace {

constexpr std::string_view kBlank = " \t\n\r\f\v";
constexpr std::int32_t kLastCodePoint = 0x10ffff;
constexpr std::size_t kMostTokens = 2000;  // of a tag: the operators of an expression are calls within each other

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool is_octal(char c) { return c >= '0' && c <= '7'; }

// Whether there is only white space from this place on.
bool is_blank(std::string_view text, std::size_t from) { return stripped_text(text.substr(from), true, false).empty(); }

// "\r\n" and "\r" become "\n", and one newline at the end is removed, as Jinja does.
std::string normalized(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      out += '\n';
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class TemplateLexer {
 public:
  explicit TemplateLexer(std::string_view text) : text_(normalized(text)) {}

  std::vector<ChatTemplatePart> cut() {
    bool at_line_start = true;  // whether the text follows a newline that the tag before has removed
    while (true) {
      const std::size_t begin = next_tag();
      if (begin == text_.npos) break;
      const char kind = text_[begin + 1];
      const char sign = begin + 2 < text_.size() ? text_[begin + 2] : ' ';
      std::string before = text_.substr(at_, begin - at_);
      if (sign == '-') {
        before = stripped_text(before, false, true);
      } else if (sign != '+' && kind != '{') {
        const std::size_t line = before.rfind('\n') + 1;
        if ((line > 0 || at_line_start) && is_blank(before, line)) before.erase(line);
      }
      add_text(before);
      at_ = begin + 2 + (sign == '-' || sign == '+' ? 1 : 0);
      begin_ = begin;
      kind == '#' ? skip_comment() : read_tag(kind);
      at_line_start = at_ > 0 && text_[at_ - 1] == '\n';
    }
    add_text(text_.substr(at_));
    return std::move(parts_);
  }

 private:
  [[noreturn]] void fail_here(std::string_view what) const { fail("chat template: line ", line_of(at_), ": ", what); }

  int line_of(std::size_t at) const {
    at = std::min(at, text_.size());
    return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  std::size_t next_tag() const {
    for (std::size_t at = at_; (at = text_.find('{', at)) != text_.npos; ++at) {
      if (at + 1 < text_.size() && std::string_view("{%#").find(text_[at + 1]) != std::string_view::npos) return at;
    }
    return text_.npos;
  }

  void add_text(std::string text) {
    if (text.empty()) return;
    parts_.push_back({.text = std::move(text), .line = line_of(at_)});
  }

  // Moves to `end`, where a tag ends, and past the white space that its sign removes.
  void end_tag(std::size_t end, char sign, bool trims) {
    at_ = end;
    if (sign == '-') {
      at_ = text_.size() - stripped_text(std::string_view(text_).substr(at_), true, false).size();
    } else if (sign != '+' && trims && at_ < text_.size() && text_[at_] == '\n') {
      ++at_;
    }
  }

  void skip_comment() {
    const std::size_t end = text_.find("#}", at_);
    if (end == text_.npos) fail_here("a comment {# has no end #}");
    end_tag(end + 2, end > at_ ? text_[end - 1] : ' ', true);
  }

  void read_tag(char kind) {
    const bool statement = kind == '%';
    const std::string_view end = statement ? "%}" : "}}";
    ChatTemplatePart part{.kind = statement ? ChatTemplatePart::Kind::statement : ChatTemplatePart::Kind::expression,
                          .line = line_of(begin_)};
    int braces = 0;
    while (true) {
      at_ = text_.find_first_not_of(kBlank, at_);
      if (at_ == text_.npos) {
        at_ = begin_;
        fail_here(statement ? "{% has no end %}" : "{{ has no end }}");
      }
      const std::string_view rest = std::string_view(text_).substr(at_);
      const bool signed_end = (rest[0] == '-' || rest[0] == '+') && rest.substr(1).starts_with(end);
      if (braces == 0 && (rest.starts_with(end) || signed_end)) {
        end_tag(at_ + (signed_end ? 3 : 2), signed_end ? rest[0] : ' ', statement);
        break;
      }
      part.tokens.push_back(read_token());
      if (part.tokens.size() > kMostTokens) fail_here(str_cat("a tag has more than ", kMostTokens, " tokens"));
      if (part.tokens.back().kind != TemplateToken::Kind::symbol) continue;
      braces += part.tokens.back().text == "{" ? 1 : part.tokens.back().text == "}" ? -1 : 0;
    }
    part.tokens.emplace_back();
    parts_.push_back(std::move(part));
  }

  TemplateToken read_token() {
    const char c = text_[at_];
    if (c == '\'' || c == '"') return {TemplateToken::Kind::string, read_string(c)};
    const std::size_t begin = at_;
    if (is_decimal(c)) {
      while (at_ < text_.size() && is_decimal(text_[at_])) ++at_;
      const bool whole = at_ + 1 >= text_.size() || text_[at_] != '.' || !is_decimal(text_[at_ + 1]);
      if (!whole) ++at_;
      while (!whole && at_ < text_.size() && is_decimal(text_[at_])) ++at_;
      return {whole ? TemplateToken::Kind::integer : TemplateToken::Kind::number, text_.substr(begin, at_ - begin)};
    }
    if (is_name_character(c)) {
      while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
      return {TemplateToken::Kind::name, text_.substr(begin, at_ - begin)};
    }
    for (const std::string_view two : {"==", "!=", "<=", ">=", "//", "**"}) {
      if (std::string_view(text_).substr(at_).starts_with(two)) {
        at_ += 2;
        return {TemplateToken::Kind::symbol, std::string(two)};
      }
    }
    if (std::string_view("+-*/%~<>=()[]{},.:|").find(c) == std::string_view::npos) {
      fail_here(str_cat("unexpected character '", std::string(1, c), "' in a tag"));
    }
    ++at_;
    return {TemplateToken::Kind::symbol, std::string(1, c)};
  }

  // The characters of a string, with Python's escapes.
  std::string read_string(char quote) {
    const std::size_t begin = at_++;
    std::string out;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] != '\\') {
        out += text_[at_];
        continue;
      }
      if (++at_ == text_.size()) break;
      static constexpr std::string_view kLetters = "nrtbfav\\'\"", kMeaning = "\n\r\t\b\f\a\v\\'\"";
      const char c = text_[at_];
      if (const std::size_t at = kLetters.find(c); at != kLetters.npos) {
        out += kMeaning[at];
      } else if (c == 'x' || c == 'u' || c == 'U') {
        append_utf8(out, read_hex(c == 'x' ? 2 : c == 'u' ? 4 : 8));
      } else if (is_octal(c)) {
        append_utf8(out, read_octal());
      } else if (c == 'N') {
        fail_here("the escape \\N of a string is not supported");
      } else if (c != '\n') {
        out += '\\', out += c;
      }
    }
    if (at_ >= text_.size()) {
      at_ = begin;
      fail_here("a string has no end");
    }
    ++at_;
    return out;
  }

  std::int32_t read_hex(int digits) {
    std::int32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const char c = ++at_ < text_.size() ? text_[at_] : ' ';
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) fail_here("expected hexadecimal digits in a string");
      value = 16 * value + (is_decimal(c) ? c - '0' : std::tolower(static_cast<unsigned char>(c)) - 'a' + 10);
      if (value > kLastCodePoint) fail_here("expected the number of a character in a string");
    }
    return value;
  }

  // Reads one to three digits, the first of which is here.
  std::int32_t read_octal() {
    std::int32_t value = text_[at_] - '0';
    for (int i = 0; i < 2 && at_ + 1 < text_.size() && is_octal(text_[at_ + 1]); ++i)
      value = 8 * value + text_[++at_] - '0';
    return value;
  }

  const std::string text_;
  std::size_t at_ = 0, begin_ = 0;  // the next character; where the present tag begins
  std::vector<ChatTemplatePart> parts_;
};

}  // namespace

std::vector<ChatTemplatePart> cut_template(std::string_view text) { return TemplateLexer(text).cut(); }

}  // namespace tapeformer
