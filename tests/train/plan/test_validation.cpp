// How much plans evaluate of long validation data.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/error.h"
#include "tests/temp_folder.h"
#include "tests/train/plan/fake_timer.h"

using namespace tapeformer;

namespace {

enum class DataOf { pairs, conversations, labels };

// So many lines of data of this kind.
std::string validated_lines(DataOf kind, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const std::string sentence = str_cat("sentence ", i, " of many sentences that are all alike");
    text += kind == DataOf::conversations ? str_cat(R"({"prompt": ")", sentence, R"(", "completion": "yes"})")
            : kind == DataOf::labels      ? str_cat(i % 2 == 0 ? "even" : "odd", '\t', sentence)
                                          : str_cat(sentence, '\t', sentence);
    text += '\n';
  }
  return text;
}

}  // namespace

TEST_CASE("plan: evaluations of many pairs, conversations or labelled texts keep within their share of the time") {
  const TempFolder folder;
  for (const DataOf kind : {DataOf::pairs, DataOf::conversations, DataOf::labels}) {
    CAPTURE(static_cast<int>(kind));
    const std::string end = kind == DataOf::conversations ? ".jsonl" : ".txt";
    FakeMachine machine;
    PlanRequest request{.given = {}, .given_keys = {}, .minutes = 0.1, .step_seconds = machine.timer()};
    Config& given = request.given;
    if (kind == DataOf::pairs) given.model.type = "transformer";
    if (kind != DataOf::pairs) given.task.kind = kind == DataOf::labels ? "classify" : "instructions";
    std::string& train = kind == DataOf::pairs           ? given.data.pairs
                         : kind == DataOf::conversations ? given.data.conversations
                                                         : given.data.labels;
    std::string& valid = kind == DataOf::pairs           ? given.data.valid_pairs
                         : kind == DataOf::conversations ? given.data.valid_conversations
                                                         : given.data.valid_labels;
    train = folder.write("few" + end, validated_lines(kind, 100)).string();
    CHECK(chosen(make_plan(request), "data.valid_fraction") == "");
    train = folder.write("many" + end, validated_lines(kind, 20'000)).string();
    const Plan held_out = make_plan(request);
    CHECK(resolve(held_out.config).data.valid_fraction < 0.1);
    CHECK(chosen(held_out, "eval.batches") == "");
    // The plan scores a part of data that is given. Metrics of labels are measured on all of it.
    request.given_keys = {"data.valid_fraction"};
    CHECK((chosen(make_plan(request), "eval.batches") == "") == (kind == DataOf::labels));
    request.given_keys = {};
    valid = train;
    const Plan beside = make_plan(request);
    CHECK(chosen(beside, "data.valid_fraction") == "");
    CHECK((chosen(beside, "eval.batches") == "") == (kind == DataOf::labels));
  }
}

TEST_CASE("plan: an evaluation reads at least a batch, however few tokens there is time for") {
  FakeMachine machine{.flops = 1e8};
  PlanRequest request{.given = {}, .given_keys = {}, .minutes = 0.1, .step_seconds = machine.timer()};
  request.given.data.corpus = "stories";
  request.given.data.lines = 20'000;
  const Plan plan = make_plan(request);
  const auto held_out = std::ranges::find(plan.keys, "data.valid_fraction", &PlannedKey::key);
  REQUIRE(held_out != plan.keys.end());
  CHECK(held_out->reason == "2048 tokens are a batch, the least that is evaluated");
}
