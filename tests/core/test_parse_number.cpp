#include <doctest/doctest.h>

#include <cstdint>

#include "core/text/parse_number.h"

using namespace tapeformer;

TEST_CASE("parse number: the whole text is a number that the type has") {
  CHECK(parse_number<std::int64_t>("-12") == -12);
  CHECK(parse_number<double>("1e-3") == 1e-3);
  CHECK(parse_number<std::int32_t>("2147483647") == 2147483647);
  for (const char* const text : {"", "-", " 1", "1 ", "1.5", "x1", "0x1", "+1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_number<std::int64_t>(text).has_value());
  }
  CHECK_FALSE(parse_number<std::int32_t>("2147483648").has_value());
  CHECK(parse_number<double>("inf").has_value());
  for (const char* const text : {"inf", "-inf", "nan", "1e999", "1,5"})
    CHECK_FALSE(parse_finite_number(text).has_value());
  CHECK(parse_finite_number("0.25") == 0.25);
}
