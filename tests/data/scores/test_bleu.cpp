#include "data/scores/bleu.h"

#include <doctest/doctest.h>

#include <cmath>
#include <utility>

using namespace tapeformer;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;  // hypothesis, reference

BleuScore score_of(const Pairs& pairs, BleuTokenization tokenization = BleuTokenization::none) {
  Bleu bleu(tokenization);
  for (const auto& [hypothesis, reference] : pairs) bleu.add(hypothesis, reference);
  return bleu.score();
}

std::string words_of(std::string_view line) {
  std::string joined;
  for (const std::string& word : bleu_words(line, BleuTokenization::v13a))
    joined.append(joined.empty() ? 0 : 1, '|').append(word);
  return joined;
}

double fourth_root(double product) { return 100 * std::pow(product, 0.25); }

}  // namespace

TEST_CASE("bleu: values worked out by hand") {
  CHECK(score_of({{"the cat sat on the mat", "the cat sat on the mat"}}).score == doctest::Approx(100));
  // 5 of 7 unigrams, 3 of 6 bigrams, 1 of 5 trigrams and 0 of 4 4-grams occur in the reference: "the" and "cat" count
  // only as often as they occur there.
  const BleuScore clipped = score_of({{"the cat the cat on the mat", "the cat is on the mat"}});
  CHECK(clipped.score == doctest::Approx(fourth_root(5. / 7 * 3 / 6 * 1 / 5 * 1 / (2 * 4))));
  CHECK(clipped.score == doctest::Approx(30.7394).epsilon(1e-5));
  CHECK(clipped.precisions[0] == doctest::Approx(500. / 7));
  CHECK(clipped.precisions[3] == doctest::Approx(12.5));
  CHECK(clipped.brevity_penalty == 1);
  // Nothing longer than a word matches: smoothed by 1/2, 1/4, 1/8.
  CHECK(score_of({{"a b x y z", "a c b d e"}}).score ==
        doctest::Approx(fourth_root(2. / 5 * 1 / (2 * 4) * 1 / (4 * 3) * 1 / (8 * 2))));
}

TEST_CASE("bleu: short, empty and unrelated hypotheses") {
  const BleuScore brief = score_of({{"a b c d", "a b c d e f"}});
  CHECK(brief.brevity_penalty == doctest::Approx(std::exp(1 - 6. / 4)));
  CHECK(brief.score == doctest::Approx(100 * std::exp(-0.5)));
  const BleuScore empty = score_of({{"", "a b c d"}});
  CHECK(empty.score == 0);
  CHECK(empty.brevity_penalty == 0);
  CHECK(empty.hypothesis_words == 0);
  CHECK(empty.reference_words == 4);
  CHECK(score_of({{"a b c", "a b c"}}).score == 0);  // no 4-gram at all
  CHECK(score_of({{"e f g h i", "a b c d"}}).score == 0);
  CHECK(score_of({{"", ""}}).score == 0);
  CHECK(score_of({}).score == 0);
}

TEST_CASE("bleu: counts of the corpus, not means of the lines") {
  // 4 + 5 words; bigrams 3 + 4, trigrams 2 + 3, 4-grams 1 + 2; the second line shares its first word alone.
  const BleuScore two = score_of({{"a b c d", "a b c d"}, {"a v w x y", "a k l m n"}});
  CHECK(two.score == doctest::Approx(fourth_root(5. / 9 * 3 / 7 * 2 / 5 * 1 / 3)));
  // The lengths are summed over all lines, so a long line balances a short one.
  CHECK(score_of({{"a b c d", "a b c d e"}, {"f g h i j k", "f g h i j"}}).brevity_penalty == 1);
  CHECK(score_of({{"", "a b"}, {"a b c d e", "a b c d e"}}).score == doctest::Approx(100 * std::exp(1 - 7. / 5)));
}

TEST_CASE("bleu: mteval-v13a parts punctuation from words, and numbers keep theirs") {
  CHECK(words_of("Hello, world!") == "Hello|,|world|!");
  CHECK(words_of("1,000.5 dollars.") == "1,000.5|dollars|.");
  CHECK(words_of("a,b 1,b b,1") == "a|,|b|1|,|b|b|,|1");
  CHECK(words_of("the U.S. of A.") == "the|U|.|S|.|of|A|.");
  CHECK(words_of("wait...what") == "wait|.|.|.|what");
  CHECK(words_of("3-4 well-known it's -5") == "3|-|4|well-known|it's|-5");
  CHECK(words_of("&quot;hi&quot; &amp; &lt;b&gt;") == "\"|hi|\"|&|<|b|>");
  CHECK(words_of("a<skipped>b (c)/[d]=$5.5%") == "ab|(|c|)|/|[|d|]|=|$|5.5|%");
  CHECK(words_of("  two\tspaces \r") == "two|spaces");
  CHECK(words_of("") == "");
}

TEST_CASE("bleu: punctuation beyond ASCII stays with its word, white space beyond ASCII parts words") {
  CHECK(words_of("„Hallo“ – sagt’s…") == "„Hallo“|–|sagt’s…");
  CHECK(words_of("終わり。ここ") == "終わり。ここ");
  CHECK(words_of("a\u00A0b\u3000c\x1F"
                 "d") == "a|b|c|d");
  CHECK(words_of("é.x") == "é|.|x");
  CHECK(words_of("\xFF.\x80") == "\xFF|.|\x80");  // bytes that are not UTF-8
}

TEST_CASE("bleu: the tokenisation changes the score, and the signature says so") {
  const Pairs pairs{{"He said , well .", "He said, well."}};
  CHECK(score_of(pairs, BleuTokenization::v13a).score == doctest::Approx(100));
  CHECK(score_of(pairs, BleuTokenization::none).score < 40);
  CHECK(Bleu(BleuTokenization::v13a).signature() == "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp");
  CHECK(Bleu(BleuTokenization::none).signature() == "nrefs:1|case:mixed|eff:no|tok:none|smooth:exp");
}
