#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "core/text/utf8.h"
#include "helpers.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/unicode_class.h"

using namespace tapeformer;

namespace {

using Pretokens = std::vector<std::string>;

Pretokens split_text(std::string_view text, SplitPattern pattern = SplitPattern::gpt2) {
  Pretokens pretokens;
  for_each_pretoken(text, pattern, [&](std::string_view pretoken) { pretokens.emplace_back(pretoken); });
  return pretokens;
}

}  // namespace

TEST_CASE("utf8: valid characters are read and written back, and only shortest forms are valid") {
  for (const std::int32_t c : {0, 0x41, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF}) {
    std::string text;
    append_utf8(text, c);
    CAPTURE(c);
    CHECK(read_utf8(text, 0).code_point == c);
    CHECK(read_utf8(text, 0).length == static_cast<int>(text.size()));
    // Without its last byte it is not a character.
    if (text.size() > 1) CHECK(read_utf8(text.substr(0, text.size() - 1), 0).code_point == kInvalidUtf8);
  }
  for (const std::string text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF8\x90\x80\x80", "\xFF\x90\x80\x80", "\xFF",
        "\xC3"
        "A"}) {
    CHECK(read_utf8(text, 0).code_point == kInvalidUtf8);
    CHECK(read_utf8(text, 0).length == 1);
  }
  CHECK(find_invalid_utf8("caf\xC3\xA9") == std::string_view::npos);
  CHECK(find_invalid_utf8("caf\xC3\xA9\xA9") == 5);
}

TEST_CASE("unicode classes: as many letters, numbers and spaces, with the same sums, as Unicode 16.0.0 has") {
  // General categories L* and N* from DerivedGeneralCategory.txt, White_Space from PropList.txt.
  std::int64_t count[4] = {}, sum[4] = {};
  for (std::int32_t c = 0; c <= 0x10FFFF; ++c) {
    const int place = static_cast<int>(char_class(c));
    ++count[place];
    sum[place] += c;
  }
  CHECK(count[static_cast<int>(CharClass::letter)] == 141028);
  CHECK(sum[static_cast<int>(CharClass::letter)] == 15240929258);
  CHECK(count[static_cast<int>(CharClass::number)] == 1911);
  CHECK(sum[static_cast<int>(CharClass::number)] == 110651895);
  CHECK(count[static_cast<int>(CharClass::space)] == 25);
  CHECK(sum[static_cast<int>(CharClass::space)] == 141586);
  CHECK(char_class(kInvalidUtf8) == CharClass::other);
}

TEST_CASE("pretokenizer: known splits of GPT-2's pattern") {
  CHECK(split_text("Hello, world!") == Pretokens{"Hello", ",", " world", "!"});
  CHECK(split_text("I'm sure they'll've") == Pretokens{"I", "'m", " sure", " they", "'ll", "'ve"});
  CHECK(split_text("we'd 'd it'S O'Neil") == Pretokens{"we", "'d", " '", "d", " it", "'", "S", " O", "'", "Neil"});
  CHECK(split_text("in 1984, 3.14 2nd") == Pretokens{"in", " 1984", ",", " 3", ".", "14", " 2", "nd"});
  CHECK(split_text("a  b   c") == Pretokens{"a", " ", " b", "  ", " c"});
  CHECK(split_text("end   ") == Pretokens{"end", "   "});
  CHECK(split_text("a\n\nb\n c") == Pretokens{"a", "\n", "\n", "b", "\n", " c"});
  CHECK(split_text("a\tb \tc") == Pretokens{"a", "\t", "b", " ", "\t", "c"});
  CHECK(split_text("caf\u00E9 \u4F60\u597D \U0001F642\U0001F642!") ==
        Pretokens{"caf\u00E9", " \u4F60\u597D", " \U0001F642\U0001F642!"});
  CHECK(split_text("e\u0301") == Pretokens{"e", "\u0301"});
  CHECK(split_text("").empty());
}

TEST_CASE("pretokenizer: splits as Perl's regular expressions do (make_splits.pl)") {
  std::ifstream file(TEST_DATA "/splits.txt");
  REQUIRE(file.is_open());
  int texts = 0;
  for (std::string line; std::getline(file, line); ++texts) {
    std::istringstream words(line);
    Pretokens expected;
    std::string text;
    for (std::string hex; words >> hex;) {
      std::string& pretoken = expected.emplace_back();
      for (std::size_t i = 0; i < hex.size(); i += 2)
        pretoken += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
      text += pretoken;
    }
    CAPTURE(text);
    CHECK(split_text(text) == expected);
  }
  CHECK(texts > 400);
}

TEST_CASE("pretokenizer: a byte that is not valid UTF-8 is one character of the class of symbols") {
  CHECK(split_text("ab\xFF"
                   "c") == Pretokens{"ab", "\xFF", "c"});
  CHECK(split_text("a \xC3!\x80 b") == Pretokens{"a", " \xC3!\x80", " b"});
  CHECK(split_text("\xE4\xBD") == Pretokens{"\xE4\xBD"});
  RandomStream random(RandomKey{.seed = 1});
  for (int i = 0; i < 200; ++i) {
    const std::string text = random_bytes(random, i);
    std::string joined;
    for (const std::string& pretoken : split_text(text)) {
      CHECK_FALSE(pretoken.empty());
      joined += pretoken;
    }
    CHECK(joined == text);
  }
}
