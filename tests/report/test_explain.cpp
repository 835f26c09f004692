// The topics of `explain`: the lectures' numbers, and that what is shown is what the ops compute.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "autograd/ops/ops.h"
#include "autograd/tape/tape.h"
#include "core/error.h"
#include "report/explain/topics.h"
#include "tests/long_test.h"

using namespace tapeformer;
using namespace tapeformer::explain;

namespace {

using Given = std::map<std::string, std::string, std::less<>>;

WorkedExample example_of(const std::string& topic, const Given& given = {}) {
  return explain_topic(topic, TopicOptions(given));
}

// The part of this kind and name, which must be there.
template <class Kind>
const Kind& find_part(const WorkedExample& example, const std::string& name) {
  const Kind* found = nullptr;
  for (const Part& part : example.parts) {
    const Kind* const candidate = std::get_if<Kind>(&part);
    if (candidate && candidate->name == name) found = candidate;
  }
  REQUIRE_MESSAGE(found, name);
  return *found;
}

std::vector<double> values_of(const WorkedExample& example, const std::string& name) {
  return find_part<Values>(example, name).tensor.to(DType::f64).to_vector<double>();
}

void check_close(const std::vector<double>& values, const std::vector<double>& expected, double tolerance) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(std::abs(values[i] - expected[i]) <= tolerance);
}

std::int64_t count_of(const CellTable& table, const std::string& name) {
  for (const auto& row : table.rows) {
    if (std::get<std::string>(row.front()) == name) return std::get<std::int64_t>(row.back());
  }
  FAIL(name);
  return 0;
}

bool says(const WorkedExample& example, const std::string& text) {
  return std::ranges::any_of(example.parts, [&](const Part& part) {
    const auto* const paragraph = std::get_if<Paragraph>(&part);
    return paragraph && paragraph->text.find(text) != std::string::npos;
  });
}

std::string refusal(const std::string& topic, const Given& given) {
  try {
    example_of(topic, given);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("explain: the gradient vanishes in a tanh layer, and reaches back in an LSTM whose forget gate is open") {
  const WorkedExample example = example_of("vanishing");
  const CellTable& table = find_part<CellTable>(example, "gradient");
  const auto number = [&](std::size_t row, std::size_t column) { return std::get<double>(table.rows[row][column]); };
  REQUIRE(std::get<std::int64_t>(table.rows.back()[0]) == 100);
  for (std::size_t cell = 1; cell <= 4; ++cell) CHECK(number(0, cell) == 1);
  CHECK(number(7, 1) < 1e-15);
  CHECK(number(7, 3) < 1e-6);
  CHECK(number(7, 4) > 0.1);
}

TEST_CASE("explain: the variance of q·k is d_k, and without √d_k wide heads take one key" * long_test()) {
  const WorkedExample example = example_of("attention");
  const CellTable& drawn = find_part<CellTable>(example, "drawn");
  REQUIRE(drawn.rows.size() == 4);
  for (const auto& row : drawn.rows) {
    const auto number = [&](std::size_t column) { return std::get<double>(row[column]); };
    const auto d = static_cast<double>(std::get<std::int64_t>(row[0]));
    CHECK(number(1) == doctest::Approx(d).epsilon(0.1));
    CHECK(number(2) == doctest::Approx(1).epsilon(0.1));
    CHECK(number(4) < 0.15);
  }
  CHECK(std::get<double>(drawn.rows[0][3]) < 0.4);
  CHECK(std::get<double>(drawn.rows[3][3]) > 0.8);
}

TEST_CASE("explain: in every example the names differ, and no op is far from its steps") {
  for (const Topic& topic : topics()) {
    std::vector<Given> variants{{}};
    if (topic.name == "attention")
      variants = {{}, {{"form", "bilinear"}}, {{"form", "additive"}}, {{"form", "kernel"}}};
    for (const Given& given : variants) {
      CAPTURE(topic.name);
      const WorkedExample example = example_of(topic.name, given);
      CHECK(example.topic == topic.name);
      std::set<std::string> names;
      std::size_t named = 0, differences = 0;
      for (const Part& part : example.parts) {
        std::visit(
            [&](const auto& p) {
              if constexpr (requires { p.name; }) names.insert(p.name), ++named;
            },
            part);
        const auto* const values = std::get_if<Values>(&part);
        if (!values || !values->name.ends_with(": largest difference")) continue;
        ++differences;
        const double allowed = values->name.starts_with("logits") ? 1e-5 : 1e-12;  // f32 and f64
        const double difference = values->tensor.item();
        if (!values->name.starts_with("gelu and")) CHECK(difference <= allowed);
      }
      CHECK(names.size() == named);
      const std::set<std::string> without{"perplexity", "schedule", "parameters", "beam",
                                          "bpe",        "backward", "vanishing"};
      CHECK((differences > 0) == !without.contains(topic.name));
      CHECK(example_json(example)["parts"].size() == example.parts.size());
    }
  }
}

TEST_CASE("explain attention: the lectures' scores give .8808 .1192 and .0180 .9820, not the weights that they print") {
  const WorkedExample example = example_of("attention");
  CHECK(values_of(example, "q·k") == std::vector<double>{112, 96, 16, 8, 92, 124, 22, 8});
  CHECK(values_of(example, "scores") == std::vector<double>{14, 12, 2, 1, 11.5, 15.5, 2.75, 1});
  const std::vector<double> weights = values_of(example, "weights");
  check_close(weights, {.8808, .1192, 5e-6, 2e-6, .0180, .9820, 3e-6, 5e-7}, 5e-5);
  // The lectures: .87 .12 .01 0 and .08 .91 .01 0.
  CHECK(weights[0] - .87 > .01);
  CHECK(.01 - weights[2] > .0099);
  CHECK(.08 - weights[4] > .06);
  CHECK(weights[5] - .91 > .07);
  CHECK(says(example, "The lectures print .87 .12 .01 0 for the first row and .08 .91 .01 0"));
  CHECK(values_of(example, "causal weights")[3] == 0);
}

TEST_CASE("explain attention: with numbers of one's own, it is the op's result; each form has its own score") {
  const Given own{{"q", "1 0; 0 1"}, {"k", "1,0; 0,1; 1,1"}, {"v", "1; 2; 3"}};
  const WorkedExample example = example_of("attention", own);
  CHECK_FALSE(says(example, "The lectures"));
  Tape tape(no_grad);
  const auto head = [&](std::initializer_list<double> values, const Dims& sizes) {
    return Variable::constant(tape, Tensor::from(values, sizes));
  };
  const Variable output = scaled_dot_product_attention(
      head({1, 0, 0, 1}, {1, 1, 2, 2}), head({1, 0, 0, 1, 1, 1}, {1, 1, 3, 2}), head({1, 2, 3}, {1, 1, 3, 1}), {});
  check_close(values_of(example, "output"), output.value().to_vector<double>(), 1e-15);

  Given form = own;
  form["form"] = "bilinear", form["w"] = "0 1; 1 0";
  CHECK(values_of(example_of("attention", form), "scores") == std::vector<double>{0, 1, 1, 1, 0, 1});
  form["form"] = "additive", form["w"] = "2 0";
  const double one = 2 * std::tanh(1.0), two = 2 * std::tanh(2.0);
  check_close(values_of(example_of("attention", form), "scores"), {two, one, two, one, 0, one}, 1e-15);
  form.erase("w");
  form["form"] = "kernel", form["bandwidth"] = "0.5";
  CHECK(values_of(example_of("attention", form), "scores") == std::vector<double>{0, -4, -2, -4, 0, -2});
}

TEST_CASE("explain softmax, positions, loss, perplexity: the lectures' numbers") {
  check_close(values_of(example_of("softmax"), "softmax"), {.02, .90, .05, .01, .02}, .005);
  const WorkedExample positions = example_of("positions");
  check_close(values_of(positions, "PE, d = 4, base 100"),
              {0, 1, 0, 1, .84, .54, .10, 1.00, .91, -.42, .20, .98, .14, -.99, .30, .96}, .0051);
  CHECK(values_of(positions, "PE(0)·PE(k)").front() == doctest::Approx(32));
  CHECK(find_part<Values>(positions, "PE, d = 64").heat_map);
  const WorkedExample loss = example_of("loss");
  CHECK(values_of(loss, "−ln P(target)")[0] == doctest::Approx(-std::log(.90)).epsilon(.03));
  // Half, a quarter, and twice an eighth: 9/4 bits in the mean.
  CHECK(values_of(example_of("perplexity"), "perplexity")[0] == doctest::Approx(std::pow(2, 2.25)).epsilon(1e-12));
  CHECK(values_of(example_of("perplexity", {{"x", "0.1 0.1 0.1"}}), "perplexity")[0] ==
        doctest::Approx(10).epsilon(1e-12));
}

TEST_CASE("explain parameters: the base Transformer's counts, and 30 sublayers where the lectures say 42") {
  const WorkedExample example = example_of("parameters");
  const CellTable& counts = find_part<CellTable>(example, "parameters");
  CHECK(count_of(counts, "W_Q") == 262'144);
  CHECK(count_of(counts, "attention, with W_O and biases") == 1'050'624);
  CHECK(count_of(counts, "cross-attention") == 1'050'624);
  CHECK(count_of(counts, "weights of the feed-forward layer") == 2'097'152);
  CHECK(count_of(counts, "feed-forward layer, with biases") == 2'099'712);
  CHECK(count_of(counts, "encoder layer") == 3'152'384);
  CHECK(count_of(counts, "decoder layer") == 4'204'032);
  CHECK(count_of(counts, "encoder") == 18'914'304);
  CHECK(count_of(counts, "decoder") == 25'224'192);
  CHECK(count_of(counts, "together") == 63'082'496);
  const CellTable& sublayers = find_part<CellTable>(example, "sublayers");
  CHECK(count_of(sublayers, "together") == 30);
  CHECK(count_of(sublayers, "together, if each feed-forward layer counts as two") == 42);
  CHECK(says(example, "The lectures say 42"));
}

TEST_CASE("explain schedule, layer-norm, gelu, backward: known values") {
  const WorkedExample schedule = example_of("schedule");
  CHECK(values_of(schedule, "peak")[0] == doctest::Approx(1 / std::sqrt(512.0 * 4000)).epsilon(1e-12));
  for (const auto& row : find_part<CellTable>(schedule, "rates").rows) {
    const auto rate = [&](std::size_t i) { return std::get<double>(row[i]); };
    CHECK(rate(3) == doctest::Approx(std::min(rate(1), rate(2))).epsilon(1e-12));
    const auto step = static_cast<double>(std::get<std::int64_t>(row[0]));
    CHECK(rate(2) == doctest::Approx(step * std::pow(4000, -1.5) / std::sqrt(512)).epsilon(1e-12));
  }
  const Curves& kinds = find_part<Curves>(schedule, "the rate by schedule.kind");
  CHECK(kinds.curves.size() == 5);
  const auto wsd = std::ranges::find(kinds.curves, "wsd", &Curve::name);
  REQUIRE(wsd != kinds.curves.end());
  for (std::size_t i = 0; i < kinds.x.size(); ++i) {  // it cools down as long as training does by default
    if (kinds.x[i] >= 600) CHECK(wsd->y[i] == doctest::Approx((1000 - kinds.x[i]) / 400).epsilon(1e-12));
  }
  check_close(values_of(example_of("layer-norm", {{"x", "-1 1"}, {"eps", "0"}}), "layer_norm"), {-1, 1}, 1e-15);
  check_close(values_of(example_of("gelu", {{"x", "1 0"}}), "relu, gelu, gelu_tanh"),
              {1, 0, .8413447460685429, 0, .8411919906082768, 0}, 1e-12);
  // L = (tanh(w x + b) − y)² at 0: L = y², ∂L/∂b = −2y.
  const WorkedExample backward = example_of("backward", {{"x", "2 0 0 3"}});
  const CellTable& tape = find_part<CellTable>(backward, "tape");
  REQUIRE(tape.rows.size() == 5);
  CHECK(tape.rows[4] == std::vector<Cell>{"square", "L", 9.0, 1.0, "step 1"});
  CHECK(tape.rows[2] == std::vector<Cell>{"tanh", "tanh(w x + b)", 0.0, -6.0, "step 3"});
  const CellTable& gradients = find_part<CellTable>(backward, "parameters");
  CHECK(gradients.rows == std::vector<std::vector<Cell>>{{"w", 2.0, 0.0}, {"x", 0.0, -12.0}, {"b", 0.0, -6.0}});
}

TEST_CASE("explain bpe and beam: merges one by one, and a tree whose kept rows are the best of each length") {
  const WorkedExample bpe = example_of("bpe");
  const CellTable& merges = find_part<CellTable>(bpe, "encoding");
  REQUIRE(merges.rows.size() == 6);
  CHECK(merges.rows[0] == std::vector<Cell>{"", "␣ l o w e s t", std::int64_t{7}});
  CHECK(merges.rows[1] == std::vector<Cell>{"es", "␣ l o w es t", std::int64_t{6}});
  CHECK(merges.rows[5] == std::vector<Cell>{"␣low", "␣low est", std::int64_t{2}});
  const WorkedExample beam = example_of("beam", {{"beam", "3"}});
  const std::vector<TreeNode>& nodes = find_part<Tree>(beam, "tree").nodes;
  std::map<std::int64_t, double> below;  // P of all continuations of a node that are shown
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < std::ssize(nodes); ++i) {
    CHECK(nodes[i].parent < i);
    if (nodes[i].parent >= 0) CHECK(nodes[nodes[i].parent].note == "kept");
    CHECK(nodes[i].numbers[1].second == doctest::Approx(std::exp(nodes[i].numbers[0].second)));
    below[nodes[i].parent] += nodes[i].numbers[1].second;
    if (nodes[i].parent == -1) kept += nodes[i].note == "kept";
  }
  CHECK(kept == 3);
  for (const auto& [parent, sum] : below) {
    CHECK(sum <= (parent < 0 ? 1 : nodes[parent].numbers[1].second) * (1 + 1e-5));
  }
  // "you see the bird" has two translations among the sentences.
  std::set<std::string> found;
  for (const auto& row : find_part<CellTable>(beam, "finished").rows) found.insert(std::get<std::string>(row[0]));
  CHECK(found.contains("sie sehen den vogel"));
  CHECK(found.contains("du siehst den vogel"));
}

TEST_CASE("explain kv-cache: 4,096 bytes for each token") {
  const WorkedExample example = example_of("kv-cache");
  const CellTable& table = find_part<CellTable>(example, "a token");
  CHECK(table.rows.size() == 7);
  for (const auto& row : table.rows) CHECK(std::get<std::int64_t>(row[1]) == 4096 * std::get<std::int64_t>(row[0]));
}

TEST_CASE("explain: what does not fit is refused in one line") {
  CHECK(refusal("soft", {}).starts_with("explain: expected a topic (attention, softmax, "));
  CHECK(refusal("gelu", {{"q", "1"}}) == "explain: gelu: expected --x, got --q");
  CHECK(refusal("parameters", {{"q", "1"}}) == "explain: parameters: expected no option of a topic, got --q");
  CHECK(refusal("softmax", {{"x", "1 a"}}) == "explain: --x: expected numbers, got a");
  CHECK(refusal("softmax", {{"x", "inf"}}) == "explain: --x: expected numbers, got inf");
  CHECK(refusal("softmax", {{"x", " "}}) == "explain: --x: expected numbers, got none");
  CHECK(refusal("softmax", {{"x", "1; 2"}}) == "explain: --x: expected one row of numbers, got 2");
  CHECK(refusal("attention", {{"q", "1 2; 3"}}) == "explain: --q: expected rows of 2 numbers, got one of 1");
  CHECK(refusal("attention", {{"q", "1 2"}, {"k", "1"}, {"v", "1"}}) ==
        "explain attention: --q has rows of 2 numbers, --k of 1: expected the same");
  CHECK(refusal("attention", {{"v", "1"}}) ==
        "explain attention: --k has 4 rows, --v has 1: expected a value for each key");
  CHECK(refusal("attention", {{"form", "cosine"}}) ==
        "explain attention: --form: expected dot, bilinear, additive or kernel, got cosine");
  CHECK(refusal("attention", {{"w", "1"}}) == "explain attention: --form dot has no --w");
  CHECK(refusal("attention", {{"form", "bilinear"}, {"w", "1"}}) ==
        "explain attention: --w: expected (2, 2) numbers, got (1, 1)");
  CHECK(refusal("attention", {{"form", "additive"}, {"w", "1"}}) ==
        "explain attention: --w: expected 2 numbers, got 1");
  CHECK(refusal("attention", {{"form", "kernel"}, {"bandwidth", "0"}}) ==
        "explain attention: --bandwidth: expected above 0, got 0");
  CHECK(refusal("layer-norm", {{"eps", "-1"}}) == "explain layer-norm: --eps: expected at least 0, got -1");
  CHECK(refusal("loss", {{"x", "1 2"}, {"targets", "2"}}) == "explain loss: --targets: expected 0 to 1, got 2");
  CHECK(refusal("loss", {{"targets", "1"}}) ==
        "explain loss: --targets: expected one for each of the 2 rows of --x, got 1");
  CHECK(refusal("loss", {{"smoothing", "1"}}) == "explain loss: --smoothing: expected 0 to 1, got 1");
  CHECK(refusal("perplexity", {{"x", "0"}}) ==
        "explain perplexity: --x: expected probabilities above 0 and up to 1, got 0");
  CHECK(refusal("perplexity", {{"text", "a"}}) ==
        "explain perplexity: expected --run RUN and --text TEXT together, or --x");
  CHECK(refusal("schedule", {{"warmup", "1.5"}}) ==
        "explain: --warmup: expected a whole number of at least 1, got 1.5");
  CHECK(refusal("backward", {{"x", "1"}}) == "explain backward: --x: expected 4 numbers w x b y, got 1");
  CHECK(refusal("positions", {{"text", "a"}}) == "explain positions: --text: expected --run beside it");
  CHECK(refusal("beam", {{"run", "a"}}) == "explain beam: --run: expected --text TEXT beside it");
}
