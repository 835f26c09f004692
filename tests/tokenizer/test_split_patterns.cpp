// The hand-written pre-tokenizers against PCRE2, which runs their regular expressions.
#include <doctest/doctest.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdlib>
#include <memory>
#include <set>

#include "core/text/utf8.h"
#include "helpers.h"
#include "tests/long_test.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/unicode_class.h"

using namespace tapeformer;

namespace {

using Pretokens = std::vector<std::string>;

// A regular expression over UTF-8 with Unicode's classes.
class Regex {
 public:
  explicit Regex(std::string_view pattern) {
    int error = 0;
    PCRE2_SIZE at = 0;
    code_.reset(pcre2_compile(units(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr));
    REQUIRE(code_ != nullptr);
    match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

  // The number of the group that matches at `begin`, plus one; the end of the match goes to `end`. 0 for no match.
  int match(std::string_view text, std::size_t begin, std::size_t& end) const {
    const int result = pcre2_match(code_.get(), units(text), text.size(), begin,
                                   PCRE2_ANCHORED | PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK, match_.get(), nullptr);
    if (result < 0) return 0;
    end = pcre2_get_ovector_pointer(match_.get())[1];
    return result;
  }

  Pretokens split(std::string_view text) const {
    Pretokens pretokens;
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
      REQUIRE(match(text, begin, end) > 0);
      pretokens.emplace_back(text.substr(begin, end - begin));
    }
    return pretokens;
  }

 private:
  static PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> match_;
};

Pretokens split(std::string_view text, SplitPattern pattern) {
  Pretokens pretokens;
  for_each_pretoken(text, pattern, [&](std::string_view pretoken) { pretokens.emplace_back(pretoken); });
  return pretokens;
}

std::string utf8(std::int32_t code_point) {
  std::string text;
  append_utf8(text, code_point);
  return text;
}

// Code points to which PCRE2 gives another class than we do.
const std::set<std::int32_t>& disputed() {
  static const std::set<std::int32_t> found = [] {
    const Regex classes(R"((?:(\p{L})|(?:()(\p{N}))|(?:()()(\s))))");
    std::set<std::int32_t> differing;
    for (std::int32_t c = 0; c <= 0x10FFFF; ++c) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      std::size_t end = 0;
      CharClass expected = CharClass::other;
      switch (classes.match(utf8(c), 0, end)) {  // one more than the last group that took part
        case 2:
          expected = CharClass::letter;
          break;
        case 4:
          expected = CharClass::number;
          break;
        case 7:
          expected = CharClass::space;
          break;
        default:
          break;
      }
      if (char_class(c) != expected) differing.insert(c);
    }
    return differing;
  }();
  return found;
}

// Characters that the patterns distinguish, and any others.
std::string random_unicode(RandomStream& random, std::int64_t size) {
  static const std::vector<std::string> telling = {
      "'",       "'",       "'",      "'s",         "'S",     "'\u017F",
      "'t",      "'re",     "'RE",    "'rE",        "'ve",    "'Ve",
      "'m",      "'M",      "'ll",    "'lL",        "'l",     "'d",
      "'\u0131", "'\u212A", " ",      " ",          " ",      "  ",
      "\n",      "\n",      "\r",     "\r\n",       "\t",     "\v",
      "\f",      "\u0085",  "\u00A0", "\u2028",     "\u2003", "\u3000",
      "\u200B",  "\uFEFF",  "a",      "Z",          "s",      "l",
      "e",       "\u00E9",  "\u017F", "\u4F60",     "\u0301", "\u02BC",
      "0",       "7",       "12",     "345",        "6789",   "\u00BD",
      "\u0663",  "\u2167",  ".",      "-",          "_",      "!",
      "(",       "\"",      "\u3002", "\U0001F642", "\u200D", std::string(1, '\0')};
  std::string text;
  for (std::int64_t i = 0; i < size; ++i) {
    if (random.below(8) > 0) {
      text += telling[random.below(telling.size())];
      continue;
    }
    constexpr std::int32_t kLimits[] = {0x80, 0x800, 0x3000, 0x10000, 0x20000, 0x110000};
    const auto c = static_cast<std::int32_t>(random.below(kLimits[random.below(6)]));
    const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    if (!surrogate && !disputed().contains(c)) append_utf8(text, c);
  }
  return text;
}

// The same, with characters that are cut short or in wrong places.
std::string random_broken(RandomStream& random, std::int64_t size) {
  std::string text = random_unicode(random, size);
  for (char& c : text) {
    if (random.below(10) == 0) c = static_cast<char>(random.below(256));
  }
  return text;
}

}  // namespace

TEST_CASE("unicode classes: those of PCRE2, but for characters that its version of Unicode does not know yet") {
  char version[32] = {};
  pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version);
  MESSAGE("PCRE2 has Unicode ", std::string(version));
  CHECK(disputed().size() < 20000);
  if (std::atoi(version) > 16) return;
  const Regex unassigned("\\p{Cn}");
  for (const std::int32_t c : disputed()) {
    CAPTURE(c);
    std::size_t end = 0;
    // PCRE2's \s includes the Mongolian vowel separator, which is not white space in Unicode since version 6.3.
    CHECK((c == 0x180E || unassigned.match(utf8(c), 0, end) > 0));
  }
}

TEST_CASE("pretokenizer: splits as PCRE2 does by the patterns' regular expressions" * long_test()) {
  for (const SplitPatternInfo& info : kSplitPatterns) {
    CAPTURE(info.name);
    const Regex regex(info.regex);
    RandomStream random(RandomKey{.seed = 41});
    for (int i = 0; i < 20000; ++i) {
      const std::string text = random_unicode(random, i % 40);
      CAPTURE(text);
      REQUIRE(split(text, info.pattern) == regex.split(text));
    }
  }
}

TEST_CASE("pretokenizer: known splits of cl100k's pattern") {
  const auto check = [](std::string_view text, const Pretokens& pretokens) {
    CHECK(split(text, SplitPattern::cl100k) == pretokens);
  };
  check("Hello, world!", {"Hello", ",", " world", "!"});
  check("I'M they'LL we'\u017F 'sam", {"I", "'M", " they", "'LL", " we", "'\u017F", " '", "sam"});
  check("in 12345,678", {"in", " ", "123", "45", ",", "678"});
  check("if (x) {\n\n  y;\n}", {"if", " (", "x", ")", " {\n\n", " ", " y", ";\n", "}"});
  check("a \n \n  b\t\tc", {"a", " \n \n", " ", " b", "\t", "\tc"});
  check("(foo) \u3000bar", {"(foo", ")", " ", "\u3000bar"});
  check("end   ", {"end", "   "});
  // A byte that is not valid UTF-8 is a symbol.
  check(
      "\xFF"
      "ab \xC3\n1",
      {"\xFF"
       "ab",
       " \xC3\n", "1"});
}

TEST_CASE("pretokenizer: safe cuts change no pretoken, whatever the bytes") {
  RandomStream random(RandomKey{.seed = 42});
  int cuts = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = random_broken(random, i % 60);
    const std::size_t from = random.below(text.size() + 1), cut = safe_cut(text, from);
    CAPTURE(text);
    REQUIRE(cut >= std::min(from, text.size()));
    if (cut < text.size()) ++cuts;
    for (const SplitPatternInfo& info : kSplitPatterns) {
      Pretokens pretokens = split(text.substr(0, cut), info.pattern);
      for (std::string& pretoken : split(text.substr(cut), info.pattern)) pretokens.push_back(std::move(pretoken));
      REQUIRE(pretokens == split(text, info.pattern));
    }
  }
  CHECK(cuts > 1000);
}

TEST_CASE("pretokenizer: safe cuts are between a letter or a number and white space") {
  CHECK(safe_cut("ab\ncd e", 0) == 2);
  CHECK(safe_cut("ab\ncd e", 2) == 2);
  CHECK(safe_cut("ab\ncd e", 3) == 5);
  CHECK(safe_cut("1\t", 0) == 1);
  CHECK(safe_cut("a; b.\nc\u00E9\n", 0) == 9);
  CHECK(safe_cut("a\u00A0\nb", 0) == 5);  // white space beyond ASCII
  CHECK(safe_cut(" \nab", 0) == 4);
  CHECK(safe_cut("abc", 7) == 3);
  CHECK(safe_cut("", 0) == 0);
  const std::vector<std::string_view> texts = {"ab cd ef", "", "gh"};
  CHECK(cut_texts(texts, 3) == std::vector<std::string_view>{"ab cd", " ef", "gh"});
}
