#include <doctest/doctest.h>

#include "core/text/visible_text.h"

using namespace tapeformer;

TEST_CASE("printable text: what could drive a terminal or turn a line's direction is spelled out") {
  CHECK(printable_text("a b\n\tc") == "a b\n\tc");
  CHECK(printable_text("\x1b[2J\x07\r") == "\\x1B[2J\\x07\\x0D");
  CHECK(printable_text(std::string_view("\0\x7f", 2)) == "\\x00\\x7F");
  CHECK(printable_text("\xc2\x9bm") == "\\u009Bm");  // U+009B begins a control sequence as ESC [ does
  CHECK(printable_text("\xe2\x80\xaexyz\xe2\x81\xa9") == "\\u202Exyz\\u2069");
  CHECK(printable_text("\xe2\x80\xa8") == "\\u2028");
  CHECK(printable_text("\xff\xe2\x80") == "\\xFF\\xE2\\x80");
  CHECK(printable_text("שלום 😀 é") == "שלום 😀 é");  // text from the right to the left stays
}

TEST_CASE("visible text: spaces, line ends and tabs of a token can be seen") {
  CHECK(visible_text(" a\n\t") == "␣a↵⇥");
  CHECK(visible_text("\x1b\xff") == "\\x1B\\xFF");
}
