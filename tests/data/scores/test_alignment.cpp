#include "data/scores/alignment.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "data/synthetic/corpora.h"

using namespace tapeformer;

TEST_CASE("alignment: sure and possible links are read, sorted and kept once each") {
  const Alignment alignment = parse_alignment("3-1 0-0  2p0 0-0 10-2\r");
  CHECK(alignment.sure == std::vector<AlignmentLink>{{0, 0}, {3, 1}, {10, 2}});
  CHECK(alignment.possible == std::vector<AlignmentLink>{{0, 0}, {2, 0}, {3, 1}, {10, 2}});
  CHECK(format_alignment(alignment.sure) == "0-0 3-1 10-2");
  CHECK(parse_alignment("").possible.empty());
  CHECK(format_alignment({}) == "");
  for (const char* bad : {"1", "1-", "-1", "1-2-3", "1--2", "1?2", "a-b", "0-0 1:1", "99999999999999999999-1"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_alignment(bad), Error);
  }
  CHECK_THROWS_WITH_AS(parse_alignment("0-0 1:1"), "expected links i-j or ipj, got 1:1", Error);
}

TEST_CASE("alignment error rate: values worked out by hand") {
  AlignmentErrorRate rate;
  // One of the three links is sure, and two are possible; one of the two sure links of the reference is found.
  rate.add(parse_alignment("0-0 1-2 4-4"), parse_alignment("0-0 1-1 1p2"));
  CHECK(rate.precision() == doctest::Approx(2. / 3));
  CHECK(rate.recall() == doctest::Approx(1. / 2));
  CHECK(rate.error_rate() == doctest::Approx(1 - (1. + 2) / (3 + 2)));
  // A second sentence without any error: counts are added, not rates.
  rate.add(parse_alignment("0-1 1-0 2-2"), parse_alignment("0-1 1-0 2-2"));
  CHECK(rate.error_rate() == doctest::Approx(1 - (4. + 5) / (6 + 5)));
  CHECK(rate.links() == 6);
  CHECK(rate.sure() == 5);
  CHECK(AlignmentErrorRate().error_rate() == 0);
}

TEST_CASE("alignment: the reference of reverse links each letter to its place from the end") {
  for (std::int64_t line = 0; line < 50; ++line) {
    const std::string text = corpus_line("reverse", line, 3);
    const std::size_t tab = text.find('\t');
    const std::string source = text.substr(0, tab), target = text.substr(tab + 1, text.size() - tab - 2);
    const Alignment alignment = parse_alignment(corpus_alignment("reverse", line, 3));
    CHECK(alignment.sure.size() == source.size());
    for (const AlignmentLink& link : alignment.sure) {
      CHECK(link.source + link.target == std::ssize(source) - 1);
      CHECK(source[link.source] == target[link.target]);
    }
  }
  CHECK_THROWS_WITH_AS(corpus_alignment("sort", 0, 1), "corpus sort: it has no alignment", UsageError);
}
