// Scores of predicted labels and spans, beside numbers counted by hand.
#include "data/scores/labels.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace tapeformer;

using Labels = std::vector<std::string_view>;
using Spans = std::vector<LabelSpan>;

TEST_CASE("label score: accuracy, macro F1 and the confusion matrix of six labels") {
  const std::string known[] = {"a", "b"};
  LabelScore score(known);
  for (const auto& [gold, predicted] :
       {std::pair("a", "a"), {"a", "b"}, {"b", "b"}, {"b", "b"}, {"c", "a"}, {"a", "a"}})
    score.add(gold, predicted);
  CHECK(score.total() == 6);
  CHECK(score.accuracy() == doctest::Approx(4.0 / 6));
  CHECK(score.confusion() == std::vector<std::vector<std::int64_t>>{{2, 1, 0}, {0, 2, 0}, {1, 0, 0}});
  const std::vector<LabelCount> counts = score.counts();
  REQUIRE(counts.size() == 3);
  CHECK(counts[2].label == "c");
  CHECK(counts[0].precision() == doctest::Approx(2.0 / 3));
  CHECK(counts[0].recall() == doctest::Approx(2.0 / 3));
  CHECK(counts[1].f1() == doctest::Approx(2 * 2.0 / 5));
  CHECK(counts[2].f1() == 0);
  CHECK(score.macro_f1() == doctest::Approx((2.0 / 3 + 0.8 + 0) / 3));
}

TEST_CASE("label spans: BIO labels are read as conlleval reads them, plain ones as runs of the same label") {
  const Labels bio{"B-X", "I-X", "B-X", "O", "I-Y", "I-Y", "I-X", "", "I-X"};
  CHECK(label_spans(bio, true) == Spans{{0, 2, "X"}, {2, 3, "X"}, {4, 6, "Y"}, {6, 7, "X"}, {8, 9, "X"}});
  CHECK(label_spans(Labels{"x", "x", "O", "x", "y"}, false) == Spans{{0, 2, "x"}, {3, 4, "x"}, {4, 5, "y"}});
  const std::string bio_set[] = {"O", "B-X", "I-X"}, plain[] = {"O", "B-X", "colour"};
  CHECK(are_bio_labels(bio_set));
  CHECK_FALSE(are_bio_labels(plain));
}

TEST_CASE("label spans: one other label among those of BIO does not make all of them plain") {
  const std::string zero[] = {"B-X", "O", "I-X", "0"}, padding[] = {"X", "B-Y", "E-Y"},
                    two_kinds[] = {"B-X", "I-Y", "0"};
  CHECK(are_bio_labels(zero));
  CHECK(are_bio_labels(padding));
  CHECK_FALSE(are_bio_labels(two_kinds));
  CHECK(label_spans(Labels{"B-X", "I-X", "0", "0", "I-X"}, true) == Spans{{0, 2, "X"}, {2, 4, "0"}, {4, 5, "X"}});
}

TEST_CASE("label spans: IOBES and BILOU labels, which say the last and the only word of a span too, make whole spans") {
  const Spans whole{{0, 3, "X"}, {3, 4, "X"}, {4, 5, "Y"}, {6, 8, "X"}};
  CHECK(label_spans(Labels{"B-X", "I-X", "E-X", "S-X", "S-Y", "O", "B-X", "E-X"}, true) == whole);
  CHECK(label_spans(Labels{"B-X", "I-X", "L-X", "U-X", "U-Y", "O", "B-X", "L-X"}, true) == whole);
  CHECK(label_spans(Labels{"B-X", "M-X", "E-X", "S-X", "S-Y", "O", "B-X", "E-X"}, true) == whole);
  // Predicted labels may be in an order that no span has.
  CHECK(label_spans(Labels{"E-X", "E-X", "I-X", "S-X", "I-X", "O", "I-X", "E-Y"}, true) ==
        Spans{{0, 1, "X"}, {1, 2, "X"}, {2, 3, "X"}, {3, 4, "X"}, {4, 5, "X"}, {6, 7, "X"}, {7, 8, "Y"}});
  const std::string iobes[] = {"O", "B-X", "I-X", "E-X", "S-X"}, bilou[] = {"U-X", "L-X", "O"},
                    plain[] = {"E-X", "Y-X"};
  CHECK(are_bio_labels(iobes));
  CHECK(are_bio_labels(bilou));
  CHECK_FALSE(are_bio_labels(plain));
  SpanScore score(true);
  score.add(Labels{"B-X", "E-X", "S-Y"}, Labels{"B-X", "I-X", "S-Y"});
  score.add(Labels{"B-X", "E-X", "O"}, Labels{"S-X", "E-X", "O"});
  CHECK(score.total().right == 2);
  CHECK(score.total().f1() == doctest::Approx(4.0 / 7));
}

TEST_CASE("label spans: B and I alone make whole spans, and other single letters are plain labels") {
  const std::string bare[] = {"B", "I", "O"}, bilou[] = {"B", "I", "L", "O", "U"}, mixed[] = {"B", "I-X", "O"},
                    letters[] = {"S", "U", "O"}, others[] = {"B", "I", "N"};
  CHECK(are_bio_labels(bare));
  CHECK(are_bio_labels(bilou));
  CHECK(are_bio_labels(std::vector<std::string>{"B", "E", "M", "S"}));
  CHECK_FALSE(are_bio_labels(mixed));
  CHECK_FALSE(are_bio_labels(letters));
  CHECK_FALSE(are_bio_labels(others));
  CHECK(label_spans(Labels{"B", "I", "B", "O", "I", "I"}, true) == Spans{{0, 2, "_"}, {2, 3, "_"}, {4, 6, "_"}});
  CHECK(label_spans(Labels{"B", "L", "U", "U", "O"}, true) == Spans{{0, 2, "_"}, {2, 3, "_"}, {3, 4, "_"}});
}

TEST_CASE("span score: only spans whose begin, end and kind are right count, and F1 is the micro-average") {
  SpanScore score(true);
  score.add(Labels{"B-X", "I-X", "O", "B-Y"}, Labels{"B-X", "O", "O", "B-Y"});
  score.add(Labels{"O", "B-Y"}, Labels{"B-X", "B-Y"});
  const LabelCount total = score.total();
  CHECK(total.gold == 3);
  CHECK(total.predicted == 4);
  CHECK(total.right == 2);
  CHECK(total.f1() == doctest::Approx(4.0 / 7));
  REQUIRE(score.counts().size() == 2);
  CHECK(score.counts()[1].label == "Y");
  CHECK(score.counts()[1].f1() == 1);
  CHECK(SpanScore(true).total().f1() == 0);
  CHECK_THROWS_WITH_AS(score.add(Labels{"O"}, Labels{}), "span score: 1 labels and 0 predicted ones: expected as many",
                       Error);
}
