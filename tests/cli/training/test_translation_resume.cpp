// How an encoder-decoder with an average of checkpoints ends when it is killed or goes on.
#include <doctest/doctest.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/cli/training/resume_support.h"
#include "tests/long_test.h"

using std::chrono::microseconds;

TEST_CASE("resume: an encoder-decoder killed while it ends, by patience, ends with the same bytes") {
  const Sandbox box("transformer");
  const std::string options = "--optimizer.lr 0 --eval.every 4 --eval.patience 2";
  box.train("straight", options);
  CHECK(box.metrics("straight").back()["step"] == 12);
  CHECK(box.has("straight/checkpoints/average"));
  std::mt19937 random(5);
  check_kills(box, "straight", 4, options, [&](Process& process, const std::string& run, int kill) {
    // The first kills leave a run without its end; what follows ends at once.
    wait_until(process, [&] { return lines_of(box, run) >= 15; });
    std::this_thread::sleep_for(microseconds((kill + 1) * (random() % 2000)));
  });
}

TEST_CASE("resume: more steps do away with the average, until they are done" * long_test()) {
  const Sandbox box("transformer");
  box.train("straight", "--train.steps 16");
  box.train("extended", "--train.steps 8");
  const std::string before = box.read("extended/checkpoints/average/state.json");
  const Outcome stopped = box.run("train --resume extended --train.steps 16 --train.max_minutes 1e-9");
  CHECK(stopped.tells("out of time at step 9; go on with: tapeformer train --resume extended"));
  CHECK_FALSE(box.has("extended/checkpoints/average"));
  const Outcome outcome = box.succeed("train --resume extended --train.max_minutes 0");
  INFO(outcome.err);
  CHECK(outcome.tells("averaged the checkpoints of the steps 12, 16"));
  const std::string weights = "/checkpoints/average/model.safetensors";
  const bool same = box.read("extended" + weights) == box.read("straight" + weights);
  CHECK(same);
  CHECK_FALSE(box.read("extended/checkpoints/average/state.json") == before);

  const std::string bytes = box.read("extended" + weights);
  const Outcome again = box.run("train --resume extended");  // nothing is left to train
  CHECK(again.exit_code == 0);
  CHECK(again.tells("averaged the checkpoints of the steps 12, 16"));
  const bool kept = box.read("extended" + weights) == bytes;
  CHECK(kept);
}
