// The rules of plans. Numbers that are tuned are taken from tuning.h.
#include "tasks/plan/rules.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tasks/plan/sizes.h"

using namespace tapeformer;
using doctest::Approx;

TEST_CASE("plan: tokens that are read again count less and less") {
  CHECK(effective_tokens(500, 1000) == 500);
  CHECK(effective_tokens(1000, 1000) == 1000);
  // Four passes over the data are worth nearly four times as much; forty are not (Muennighoff et al. 2023, figure 5).
  CHECK(effective_tokens(4000, 1000) / 1000 == Approx(3.73).epsilon(0.01));
  CHECK(effective_tokens(41000, 1000) / 1000 == Approx(1 + 15.39 * (1 - std::exp(-40 / 15.39))));
  CHECK(effective_tokens(1e9, 1000) / 1000 == Approx(16.39));
}

TEST_CASE("plan: the predicted loss falls with parameters and tokens, to the law's floor") {
  constexpr tuning::LossLaw kLaw{.e = 1.5, .a = 400, .alpha = 0.5, .b = 100, .beta = 0.25};
  CHECK(predicted_loss(1e4, 1e8, kLaw) == Approx(1.5 + 4 + 1));
  CHECK(predicted_loss(1e6, 1e8, kLaw) == Approx(1.5 + 0.4 + 1));
  CHECK(predicted_loss(1e300, 1e300, kLaw) == Approx(1.5));
}

TEST_CASE("plan: tokens of larger vocabularies count less") {
  CHECK(token_worth(65) == 1);
  CHECK(token_worth(1024) == Approx(std::pow(65.0 / 1024, tuning::kVocabPower)));
}

TEST_CASE("plan: small vocabularies lower AdamW's rate, to a limit") {
  CHECK(vocab_rate_share(8192) == 1);
  CHECK(vocab_rate_share(2048) == 1);
  CHECK(vocab_rate_share(1449) == Approx(std::pow(1449.0 / 2048, 1.5)));
  CHECK(vocab_rate_share(65) == tuning::kLeastRateShare);
}

TEST_CASE("plan: dropout begins with many passes over the data, and has a limit") {
  constexpr tuning::DropoutRule kRule{.free_epochs = 4, .per_doubling = 0.06, .most = 0.3, .of_excess = 0.5};
  CHECK(dropout_for(4, 1, kRule) == 0);
  CHECK(dropout_for(4, 100, kRule) == 0);
  CHECK(dropout_for(16, 0.5, kRule) == Approx(0.1));  // 0.12
  CHECK(dropout_for(32, 1, kRule) == Approx(0.2));    // 0.18
  CHECK(dropout_for(16, 4, kRule) == Approx(0.25));   // 0.12 · (1 + 0.5 · 2)
  CHECK(dropout_for(1e6, 1, kRule) == 0.3);
}

TEST_CASE("plan: heads divide the width, and are even") {
  CHECK(heads_for(64) == 64 / tuning::kNarrowHead);
  CHECK(heads_for(768) == 768 / tuning::kWideHead);
  CHECK(heads_for(16) == 1);
  CHECK(heads_for(96, 2) == 2);
  CHECK(heads_for(128, 2) == 4);
  CHECK(heads_for(80, 5) == 5);
  for (const std::int64_t dim : {34, 50, 96, 100, 130, 190, 254, 600}) {
    const std::int64_t heads = heads_for(dim);
    CHECK(dim % heads == 0);
    CHECK(dim / heads % 2 == 0);
  }
}

TEST_CASE("plan: the tokens of a step are a power of two that grows with the training") {
  CHECK(power_of_two(1000, 1, 1 << 20) == 1024);
  CHECK(power_of_two(1500, 1, 1 << 20) == 2048);  // the nearest of the logarithm
  CHECK(power_of_two(1e30, 1, 64) == 64);
  CHECK(power_of_two(1e-9, 16, 64) == 16);
  CHECK(step_tokens_for(8192 * tuning::kWantedSteps, 1024) == 8192);
  CHECK(step_tokens_for(1, 1024) == 1024);
  CHECK(step_tokens_for(1e15, 1024) == tuning::kMostStepTokens);
}

TEST_CASE("plan: a step is cut into micro-steps whose activations fit into the memory") {
  const std::int64_t memory = std::int64_t{8} << 30;
  CHECK(micro_steps_for(2048, 256, 8, 512, memory) == 1);
  const std::int64_t micro_steps = micro_steps_for(32768, 256, 8, 512, memory);
  CHECK(micro_steps == 4);  // 8192 tokens of 60 · 8 · 512 bytes are 1.9 GiB, within a quarter of 8 GiB
  CHECK(micro_steps_for(32768, 256, 8, 512, 2 * memory) == micro_steps / 2);
  CHECK(micro_steps_for(1024, 256, 12, 768, 1 << 20) == 4);  // never less than a row
}

TEST_CASE("plan: vocabularies grow with the text") {
  constexpr tuning::VocabRow kRows[] = {{100, 300}, {1000, 500}, {1e300, 700}};
  CHECK(vocab_for(100, kRows) == 300);
  CHECK(vocab_for(101, kRows) == 500);
  CHECK(vocab_for(1e12, kRows) == 700);
}

TEST_CASE("plan: the context is long where there are minutes and text, and 0 where the text is too short") {
  CHECK(context_for(tuning::kLongContextMinutes, 1e9) == tuning::kLongContext);
  CHECK(context_for(1, 1e9) == tuning::kContext);
  CHECK(context_for(1, static_cast<double>(tuning::kLeastRows * 32)) == 32);
  const double least = static_cast<double>(tuning::kLeastRows * tuning::kLeastContext);
  CHECK(context_for(1, least) == tuning::kLeastContext);
  CHECK(context_for(1, least - 1) == 0);
}

TEST_CASE("plan: rates fall with the power of the width, in two digits") {
  CHECK(rate_for(0.02, 0, 512) == 0.02);
  CHECK(rate_for(3e-3, 0.5, 512) == 1.5e-3);
  CHECK(rate_for(3e-3, 0.5, 96) == 3.5e-3);
  CHECK(two_digits(0.012345) == 0.012);
}

TEST_CASE("plan: evaluations are as many as their share of the time allows, within limits") {
  const double all = 1e6 * tuning::kEvaluationShare / tuning::kEvaluatedTokenCost;
  CHECK(evaluations_for(1e6, all / 7.5) == 7);
  CHECK(evaluations_for(1e6, 1) == tuning::kMostEvaluations);
  CHECK(evaluations_for(1e6, 1e9) == tuning::kFewestEvaluations);
  CHECK(most_validation(1e6) * static_cast<double>(tuning::kFewestEvaluations) == Approx(all));
}

TEST_CASE("plan: numbers for people are round") {
  CHECK(round_number(0.3) == 1);
  CHECK(round_number(7.9) == 7);
  CHECK(round_number(87) == 85);
  CHECK(round_number(1299) == 1200);
}

TEST_CASE("plan: rough amounts have two digits, without exponents") {
  CHECK(rough_amount(0.4213) == "0.42");
  CHECK(rough_amount(2.96) == "3");
  CHECK(rough_amount(99.7) == "100");
  CHECK(rough_amount(4537) == "4500");
  CHECK(rough_amount(123'456) == "120 thousand");
}
