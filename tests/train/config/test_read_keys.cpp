// Keys that would have no effect, since nothing reads them.
#include <doctest/doctest.h>

#include "tests/train/config/config_support.h"

using namespace tapeformer;

TEST_CASE("config: a key of a task is refused beside a task that does not read it") {
  check_invalid({"data.text=a", "task.freeze=true"}, "task.freeze: expected false beside task.kind = none, got true");
  check_invalid({"model.type=bert", "task.layer_decay=0.5"},
                "task.layer_decay: expected 1.0 beside task.kind = none, got 0.5");
  check_invalid({"task.kind=classify", "task.temperature=1"},
                "task.temperature: expected 0.05 beside task.kind = classify, got 1.0");
  check_invalid({"task.kind=tag", "task.sampling_alpha=1"},
                "task.sampling_alpha: expected 0.5 beside task.kind = tag, got 1.0");
  check_invalid({"task.kind=tag", "task.metric_for_best_model=accuracy"},
                "task.metric_for_best_model: expected none beside task.kind = tag, got accuracy");
  check_invalid({"task.kind=instructions", "task.mix=true"},
                "task.mix: expected false beside task.kind = instructions, got true");
  CHECK_NOTHROW(resolved({"task.kind=classify", "task.freeze=true", "task.mix=true", "task.dropout=0.5"}));
  CHECK_NOTHROW(resolved({"model.type=bert", "task.kind=multi_task", "task.dropout=0.5", "task.sampling_alpha=1",
                          "task.metric_for_best_model=b_loss", "tasks.a.kind=tag", "tasks.a.labels=a",
                          "tasks.b.kind=masked_language_model", "tasks.b.text=b"}));
}

TEST_CASE("config: the documents of a generated corpus are its lines, and other ends are refused") {
  CHECK_NOTHROW(resolved({"data.corpus=stories", "data.document=line"}));
  check_invalid({"data.corpus=stories", "data.document=file"},
                "data.document: expected none or line beside data.corpus, whose documents are its lines, got file");
}
