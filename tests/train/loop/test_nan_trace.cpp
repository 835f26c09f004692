// Where a number that is not finite comes from.
#include <limits>

#include "tests/train/toy.h"

using namespace tapeformer;

namespace {

// The error of step 3, before which a weight was spoilt. Its head and the advice at its end are left out.
template <class Toy>
std::string error_of(Toy& toy, const std::string& weight, std::int64_t element, float value) {
  toy.step(1), toy.step(2);
  toy.model.state_dict().at(weight).template data<float>()[element] = value;
  try {
    toy.step(3);
  } catch (const Error& error) {
    const std::string message = error.what(), first = "; the first value that is not finite is of the ";
    const std::size_t begin = message.find(first), end = message.rfind("; a lower ");
    if (begin == message.npos || end == message.npos) return message;
    return message.substr(begin + first.size(), end - begin - first.size());
  }
  return "no error";
}

bool begins(const std::string& text, const std::string& head) {
  CAPTURE(text);
  CHECK(text.starts_with(head));
  return text.starts_with(head);
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("trace_nan: a weight that is not finite is named, with the op and the module that read it first") {
  const CacheFolder folder;
  for (const bool recompute : {false, true}) {
    Config config = toy_config();
    config.train.recompute = recompute;
    config.train.accumulate = 2;
    Toy up(config), head(config), norm(config);
    // Unit 2 of the hidden layer is wrong for every token.
    const std::string message = error_of(up, "blocks.1.feed_forward.up.weight", 2 * 16 + 5, kNan);
    begins(message, "forward of linear in blocks.1.feed_forward: its output (4, 16, 64) has nan at (0, 0, 2), beside ");
    CHECK(message.find(", [nan], ") != message.npos);
    CHECK(message.find("; its inputs: (4, 16, 16); blocks.1.feed_forward.up.weight (64, 16), not finite already: nan "
                       "at (2, 5), beside ") != message.npos);
    begins(error_of(norm, "final_norm.bias", 3, -std::numeric_limits<float>::infinity()),
           "forward of layer_norm in final_norm: its output (4, 16, 16) has -inf at (0, 0, 3), beside ");
    // The last token is in no row, so its embedding reaches the head alone.
    const std::int64_t last = head.model.vocab() - 1;
    const std::string of_head = error_of(head, "token_embedding.weight", 16 * last, kNan);
    CHECK(of_head.find("token_embedding.weight (") != of_head.npos);
  }
}

TEST_CASE("trace_nan: the same in a recurrent model, which reads the step's row from the state before it") {
  const CacheFolder folder;
  Toy hidden(rnn_config()), input(rnn_config());
  const std::string message = error_of(hidden, "layers.1.weight_hh", 7, kNan);
  begins(message, "forward of recurrent in layers.1: its output (16, 4, 12) has nan at (0, 0, ");
  // The states from before the step are finite: they are not those that the failed step has left.
  CHECK(
      message.find("; its inputs: (16, 4, 48); (4, 12); (4, 12); layers.1.weight_hh (48, 12), not finite already: ") !=
      message.npos);
  begins(error_of(input, "layers.0.weight_ih", 7, kNan),
         "forward of linear in layers.0: its output (16, 4, 48) has nan");
}

TEST_CASE("trace_nan: weights that a huge learning rate has made overflow in the forward pass that is named") {
  const CacheFolder folder;
  Config config = toy_config();
  config.optimizer.lr = 1e30;
  config.optimizer.options["weight_decay"] = 0.0;
  config.schedule.warmup = 0;
  Toy toy(config);
  toy.step(1);
  try {
    toy.step(2);
    FAIL("expected an error");
  } catch (const Error& error) {
    const std::string message = error.what();
    CAPTURE(message);
    CHECK(message.find("; the first value that is not finite is of the forward of ") != message.npos);
    CHECK(message.find("not finite already") == message.npos);  // the weights are large, and numbers
    CHECK(message.find('\n') == message.npos);
  }
}

TEST_CASE("trace_nan: where it is off, the error names the key; and it changes no bit of the training") {
  const CacheFolder folder;
  Config config = toy_config(), off = toy_config();
  off.train.trace_nan = false;
  Toy toy(config), without(off);
  CHECK(error_of(without, "final_norm.bias", 3, kNan) ==
        "step 3: the loss is nan; train.trace_nan = true names the op that made it; a lower optimizer.lr or a longer "
        "schedule.warmup may help");
  Toy again(off);
  for (std::int64_t step = 1; step <= 3; ++step) toy.step(step), again.step(step);
  CHECK(toy.weights() == again.weights());
}
