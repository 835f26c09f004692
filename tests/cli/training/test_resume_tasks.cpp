// Training of every task and family, killed and resumed.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/cli/toys.h"
#include "tests/cli/training/resume_support.h"
#include "tests/long_test.h"

namespace {

struct KilledRun {
  std::string toy, options = "";
  std::string kept = "";  // what a finished run must have in its folder, beside the files that all have
};

}  // namespace

TEST_CASE("resume: a run of every task and family, killed at random steps, ends with the same bytes" * long_test()) {
  const KilledRun runs[]{
      {"rnn", "", "step-000024/carried.safetensors"},
      {"nplm", "--optimizer.state int8"},
      {"bilm", "--optimizer.state bf16"},
      {"bert"},
      {"word2vec"},
      {"word2vec", "--model.architecture cbow"},
      {"glove"},
      // About ten steps an epoch: a kill comes anywhere in it.
      {"transformer", "--optimizer.lr 0.05 --train.recompute true --eval.bleu_every 8 --eval.bleu_sentences 4",
       "average"},
      {"rnn_seq2seq", "", "average"},
      {"cnn_lstm"},
      {"vit", "--train.recompute true"},
      {"tag", "--task.layer_decay 0.8 --model.position sinusoidal"},
      {"instructions"},
      {"sentences", "--task.layer_decay 0.8"},
      {"multi_task"},
      {"tag", "--task.freeze true --optimizer.name muon --optimizer.state int8"},
  };
  std::vector<std::string> tested{"gpt"};  // by the other tests of resume
  for (const KilledRun& run : runs) {
    CAPTURE(run.toy);
    CAPTURE(run.options);
    const Sandbox box(run.toy);
    const std::string options = run.options + " --train.steps 24";
    box.train("straight", options);
    CHECK(box.has("straight/checkpoints/" + run.kept));
    check_kills_at_steps(box, "straight", 2, options, 7);
    tested.push_back(run.toy);
  }
  for (const ToyConfig& toy : toy_configs()) CHECK(std::ranges::count(tested, toy.name) > 0);
}
