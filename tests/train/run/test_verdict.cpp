// What is said about the curves of a training.
#include "train/run/verdict.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

using namespace tapeformer;
using Json = nlohmann::ordered_json;
using Losses = std::vector<std::pair<double, double>>;  // of training and of validation, by evaluation

namespace {

struct Curve {
  std::vector<Json> lines;
  std::int64_t best = 0;
};

// A training line and an evaluation after each of the steps 10, 20, …; the learning rate falls in a straight line to
// `last_lr` of its peak.
Curve curve_of(const Losses& losses, double last_lr = 1) {
  Curve curve;
  double lowest = 1e9;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto step = static_cast<std::int64_t>(10 * (i + 1));
    const double done = losses.size() > 1 ? static_cast<double>(i) / static_cast<double>(losses.size() - 1) : 0;
    curve.lines.push_back({{"step", step}, {"loss", losses[i].first}, {"lr", 0.01 * (1 + done * (last_lr - 1))}});
    curve.lines.push_back({{"step", step}, {"eval_loss", losses[i].second}});
    if (losses[i].second < lowest) lowest = losses[i].second, curve.best = step;
  }
  return curve;
}

std::vector<std::string> verdict(const Losses& losses, VerdictFacts facts = {}, double last_lr = 1) {
  const Curve curve = curve_of(losses, last_lr);
  facts.best_step = curve.best;
  return training_verdict(curve.lines, facts);
}

using Sentences = std::vector<std::string>;

}  // namespace

TEST_CASE("verdict: a loss that still falls asks for a longer training") {
  const Losses losses{{4, 4.4}, {3.5, 3.9}, {3.2, 3.5}, {3, 3.3}, {2.9, 3.15}, {2.85, 3.1}, {2.8, 3.05}, {2.75, 2.9}};
  const std::string sentence =
      "still falling: over the last 2 evaluations the validation loss fell by 6.45 %, from 3.1 to 2.9: a longer "
      "training would probably lower it further";
  CHECK(verdict(losses) == Sentences{sentence});
  const std::string cooled =
      "still falling: over the last 2 evaluations the validation loss fell by 6.45 %, from 3.1 to 2.9, at a learning "
      "rate that came down to 10 % of its peak: a longer training would probably lower it further";
  CHECK(verdict(losses, {}, 0.1) == Sentences{cooled});
  // Fewer than four evaluations have no last quarter.
  CHECK(verdict({{4, 4.4}, {3, 3.3}, {2, 2.2}}).empty());
}

TEST_CASE("verdict: losses of other validation data than the last ones are not compared with these") {
  const Losses losses{{4, 1.2}, {3.8, 1.1}, {3.5, 1.0}, {3, 3.3}, {2.9, 3.15}, {2.85, 3.1}, {2.75, 2.9}};
  Curve curve = curve_of(losses);
  REQUIRE(curve.best == 30);
  curve.best = 70;
  const Sentences after = training_verdict(curve.lines, {.best_step = 70, .terms_since = 30});
  CHECK(after == Sentences{"still falling: over the last evaluation the validation loss fell by 6.45 %, from 3.1 to "
                           "2.9: a longer training would probably lower it further"});
  CHECK(training_verdict(curve.lines, {.best_step = 70, .terms_since = 70}).empty());
}

TEST_CASE("verdict: a loss that does not fall any more has settled") {
  const Losses losses{{4, 4.2}, {3, 3.15}, {2.9, 3.1}, {2.9, 3.08}, {2.9, 3.06}, {2.9, 3.05}, {2.9, 3.05}, {2.9, 3.04}};
  const std::string sentence = "settled: over the last 2 evaluations the validation loss went from 3.05 to 3.04";
  CHECK(verdict(losses) ==
        Sentences{sentence + ": as far as the curve shows, more steps at this rate would change little"});
  // What the rate's end has stopped says nothing about more steps.
  CHECK(verdict(losses, {}, 0) == Sentences{sentence + ", at a learning rate that came down to 0 % of its peak"});
  // A few evaluations may all lie on a part where the loss falls slowly for a while.
  CHECK(verdict({{4, 4.2}, {3, 3.15}, {2.9, 3.05}, {2.9, 3.04}}).empty());
}

TEST_CASE("verdict: equal losses say that nothing is learned by heart") {
  const Losses losses{{4, 4}, {3, 3}, {2.5, 2.5}, {2, 2.03}};
  const std::string sentence =
      "the validation loss, 2.03, is no more than 2 % above the training loss, 2: nothing is learned by heart, so the "
      "model is too small or was trained too short; more steps or a larger model might help";
  REQUIRE(verdict(losses).size() == 2);
  CHECK(verdict(losses)[1] == sentence);
  const auto dropped = verdict(losses, {.dropout = true});
  REQUIRE(dropped.size() == 2);
  CHECK(
      dropped[1] ==
      "the validation loss, 2.03, is no more than 2 % above the training loss (with dropout), 2: nothing is learned by "
      "heart, so the model is too small or was trained too short; more steps, less dropout or a larger model might "
      "help");
  CHECK(verdict({{4, 4}, {3, 3}, {2.5, 2.5}, {2, 2.05}}).size() == 1);  // between equal and far
  CHECK(verdict({{4, 4}, {2, 2}}).size() == 1);
  CHECK(verdict({{3, 2}}).empty());  // 3 is the mean since the beginning, and says little about the end
  CHECK(verdict(losses, {.generated = true}).size() == 1);             // it may have reached the entropy
  CHECK(verdict({{4, 4}, {3, 3}, {.1, .1}, {.01, .01}}).size() == 1);  // everything is learned
}

TEST_CASE("verdict: a validation loss far above says whether the data is small or another kind") {
  const Losses losses{{4, 4.1}, {3, 3.4}, {2.5, 3}, {2, 2.9}};
  const auto read_often = verdict(losses, {.passes = 12.34});
  REQUIRE(read_often.size() == 2);
  CHECK(read_often[1] ==
        "the validation loss, 2.9, is 45 % above the training loss, 2, after 12.3 passes over the training data: the "
        "data is small for the model: more data or more dropout might help, a larger model would not");
  const auto read_once = verdict(losses, {.passes = 0.5});
  REQUIRE(read_once.size() == 2);
  CHECK(read_once[1] ==
        "the validation loss, 2.9, is 45 % above the training loss, 2, after 0.5 passes over the training data: the "
        "validation data is harder than the training data, or of another kind");
  CHECK(verdict(losses).size() == 1);
}

TEST_CASE(
    "verdict: validation data that was far above in the first pass is of another kind, however often it is read") {
  const std::string kind = "or of another kind", small = "the data is small for the model: ";
  const auto second = [](const Losses& losses, double passes) {
    const auto sentences = verdict(losses, {.passes = passes});
    REQUIRE(sentences.size() == 2);
    return sentences[1];
  };
  // 26 and 13 of the 40 steps are the first pass: the evaluation after step 20 or step 10 is its last one.
  const Losses far{{4, 4.1}, {3, 3.4}, {2.5, 3}, {2, 2.9}}, near{{4, 4.5}, {3, 3.2}, {2.5, 3}, {2, 2.9}};
  CHECK(second(far, 1.5).ends_with(kind));
  CHECK(second(far, 3).find(small) != std::string::npos);
  CHECK(second(near, 1.5).find(small) != std::string::npos);
  CHECK(second(near, 3).ends_with(kind));
  CHECK(second(far, 3).find("after 3.0 passes over the training data") != std::string::npos);
}

TEST_CASE("verdict: losses of few steps that differ much say nothing about the distance of the training loss") {
  const auto second = [](const std::vector<double>& last_steps, double validation) {
    Curve curve = curve_of({{4, 4.4}, {3, 3.4}, {2.5, 3}, {2, validation}});
    curve.lines.erase(curve.lines.end() - 2);
    for (const double loss : last_steps) curve.lines.insert(curve.lines.end() - 1, Json{{"step", 40}, {"loss", loss}});
    const Sentences sentences = training_verdict(curve.lines, {.best_step = 40, .passes = 5});
    return sentences.size() == 2 ? sentences[1] : "";
  };
  // The mean is 2. Its interval of 95 % is ±2.48 for the first three, ±0.25 for the second ones.
  CHECK(second({1, 2, 3}, 2.6).empty());
  CHECK(second({1.9, 2, 2.1}, 2.6).starts_with("the validation loss, 2.6, is 30 % above the training loss, 2, "));
  CHECK(second({1.9, 2, 2.1}, 2.45).empty());
  CHECK(second({1.9, 2, 2.1}, 2).empty());
  CHECK(second({1.99, 2, 2.01}, 2).starts_with("the validation loss, 2, is no more than 2 % above"));
  CHECK(second({1.8, 2, 2.2, 1.8, 2, 2.2, 1.8, 2, 2.2, 1.8, 2, 2.2}, 2.4).find(" 20 % above ") != std::string::npos);
}

TEST_CASE("verdict: overfitting, and a loss that has risen, are all that is said") {
  const auto overfitted = verdict({{5, 5.5}, {4, 5}, {3.75, 5.25}, {3.5, 6}}, {.passes = 9});
  REQUIRE(overfitted.size() == 1);
  CHECK(
      overfitted[0].starts_with("overfitting: after step 20 the training loss fell from 4 to 3.5, and the validation "
                                "loss rose from 5 to 6: the model learns its training data by heart; "));
  CHECK(verdict({{5, 5.5}, {4, 5}, {4.5, 5.9}, {4.6, 6}}) ==
        Sentences{"the validation loss rose after step 20, from 5 to 6, while the training loss went from 4 to 4.6: a "
                  "smaller learning rate might help"});
  CHECK(verdict({{9, 5.5}, {8, 5}, {7, 5.5}, {7, 6}}) ==
        Sentences{"the validation loss rose after step 20, from 5 to 6"});  // the training loss fell, and is above it
  CHECK(training_verdict({}, {}).empty());
}

TEST_CASE("verdict: the plain training loss is compared, and nothing where there is none") {
  Curve curve = curve_of({{4, 4}, {3, 3}, {2.5, 2.5}, {2, 2}});
  for (Json& line : curve.lines) {
    if (line.contains("loss")) line["unsmoothed_loss"] = line["loss"].get<double>() - 0.08;
  }
  CHECK(training_verdict(curve.lines, {.best_step = curve.best}).size() == 1);
  for (Json& line : curve.lines) {
    line.erase("loss");
    line.erase("unsmoothed_loss");
  }
  CHECK(training_verdict(curve.lines, {.best_step = curve.best}).size() == 1);
}
