#include <doctest/doctest.h>

#include "core/error.h"
#include "generate/stop_strings.h"

using namespace tapeformer;

TEST_CASE("stop strings: the text ends before the first one, wherever the parts are cut") {
  const std::string text = "one two\n\nthree";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    StopStrings stops({"\n\n", "three"});
    std::string shown;
    for (std::size_t at = 0; at < text.size(); at += size) shown += stops.push(text.substr(at, size));
    CHECK(stops.stopped());
    CHECK(shown + stops.finish() == "one two");
  }
  StopStrings earlier({"b c", "a"});  // the place in the text counts, not the order of the strings
  CHECK(earlier.push("x a b c") == "x ");
  CHECK(earlier.push("y").empty());
  StopStrings begun({"abcd", "b"});  // "ab" begins the first one, but is text before the second one
  CHECK(begun.push("x") == "x");
  CHECK(begun.push("a").empty());
  CHECK(begun.push("b") == "a");
  CHECK(begun.stopped());
}

TEST_CASE("stop strings: only what may become one is kept back, and comes at the end") {
  StopStrings stops({"aab"});
  CHECK(stops.push("xa") == "x");
  CHECK(stops.push("a") == "");
  CHECK(stops.push("a") == "a");  // "aa" may still begin the string
  CHECK(stops.push("c") == "aac");
  CHECK(stops.push("a") == "");
  CHECK_FALSE(stops.stopped());
  CHECK(stops.finish() == "a");
  StopStrings none({});
  CHECK(none.push("aab") == "aab");
  CHECK_THROWS_WITH_AS(StopStrings({""}), "--stop: expected a text, got an empty one", UsageError);
}
