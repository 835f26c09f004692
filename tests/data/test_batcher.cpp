#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/error.h"
#include "data/text/batcher.h"
#include "tests/long_test.h"
#include "tests/system_calls.h"
#include "tests/temp_folder.h"

using namespace tapeformer;

namespace {

// A text whose token i is i, so that a token tells its place.
std::vector<std::int32_t> counting(std::int64_t n) {
  std::vector<std::int32_t> ids(n);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

TokenView view(const std::vector<std::int32_t>& ids) { return std::span<const std::int32_t>(ids); }

std::vector<std::int32_t> inputs_of_step(const TokenView& tokens, int micro_steps, int batch, std::uint32_t step) {
  const TextBatcher batcher(tokens, batch, 8, 42);
  std::vector<std::int32_t> all;
  TextBatch out;
  for (int micro = 0; micro < micro_steps; ++micro) {
    batcher.draw(step, micro, out);
    all.insert(all.end(), out.inputs.begin(), out.inputs.end());
  }
  return all;
}

}  // namespace

TEST_CASE("token view: ids in memory and in files of both widths, copies, and an error past the end") {
  const std::vector<std::int32_t> ids = {1, 2, 65535, 4};
  const TempFolder folder;
  const auto file = [&](const char* name, std::int64_t vocab_size) {
    TokenFileWriter writer(folder.path / name, vocab_size, 0, 0);
    writer.append(ids);
    writer.commit(0);
    return TokenFile::open(folder.path / name);
  };
  const TokenFile narrow = file("narrow", 65536), wide = file("wide", 65537);
  for (const TokenView& tokens : {narrow.view(), wide.view(), view(ids)}) {
    CHECK(tokens.size() == 4);
    CHECK(tokens[2] == 65535);
    std::vector<std::int32_t> out(3);
    tokens.copy(1, out);
    CHECK(out == std::vector<std::int32_t>{2, 65535, 4});
    CHECK_THROWS_WITH_AS(tokens.copy(2, out), "tokens: 2 to 5 is out of range for 4 tokens", Error);
    CHECK_THROWS_WITH_AS(tokens.copy(-1, out), "tokens: -1 to 2 is out of range for 4 tokens", Error);
  }
  CHECK(TokenView().size() == 0);
}

TEST_CASE("text batcher: targets are the inputs one further, at places all over the text" * long_test()) {
  const auto ids = counting(100);
  const TextBatcher batcher(view(ids), 4, 8, 1);
  std::map<int, int> begins;
  TextBatch out;
  const int steps = 5000;
  for (int step = 0; step < steps; ++step) {
    batcher.draw(step, 0, out);
    REQUIRE(out.inputs.size() == 32);
    REQUIRE(out.targets.size() == 32);
    for (int row = 0; row < 4; ++row) {
      for (int i = 0; i < 8; ++i) {
        REQUIRE(out.inputs[row * 8 + i] == out.inputs[row * 8] + i);
        REQUIRE(out.targets[row * 8 + i] == out.inputs[row * 8] + i + 1);
      }
      ++begins[out.inputs[row * 8]];
    }
  }
  CHECK(out.rows == 4);
  CHECK(out.length == 8);
  CHECK(out.scored == 32);
  // Uniform over 0 … 100 - 8 - 1.
  CHECK(begins.size() == 92);
  CHECK(begins.rbegin()->first == 91);
  const double mean = steps * 4 / 92.0;
  for (const auto& [begin, count] : begins) CHECK(std::abs(count - mean) < 5 * std::sqrt(mean));
}

TEST_CASE("text batcher: 1x32, 2x16, 4x8 and 32x1 draw the same sequences in the same order") {
  const auto ids = counting(5000);
  const auto whole = inputs_of_step(view(ids), 1, 32, 3);
  CHECK(inputs_of_step(view(ids), 2, 16, 3) == whole);
  CHECK(inputs_of_step(view(ids), 4, 8, 3) == whole);
  CHECK(inputs_of_step(view(ids), 32, 1, 3) == whole);
  CHECK(inputs_of_step(view(ids), 1, 32, 4) != whole);
  TextBatch a, b;
  TextBatcher(view(ids), 32, 8, 42).draw(3, 0, a);
  TextBatcher(view(ids), 32, 8, 43).draw(3, 0, b);
  CHECK(a.inputs == whole);
  CHECK(b.inputs != whole);
}

TEST_CASE("text batcher: reading ahead asks for every token of the batch that will be drawn") {
  const TempFolder folder;
  constexpr std::int64_t kHeader = 64;
  {
    TokenFileWriter writer(folder.path / "a.tokens", 1'000'000, 0, 0);  // 32 bits an id
    writer.append(counting(1'000'000));
    writer.commit(0);
  }
  const TokenFile file = TokenFile::open(folder.path / "a.tokens");
  const TextBatcher batcher(file.view(), 4, 2000, 1);
  using Range = std::pair<std::int64_t, std::int64_t>;  // offset in the file, bytes
  std::vector<Range> asked, used;
  {
    const WillNeedHook hook([&](std::int64_t offset, std::int64_t bytes) { asked.emplace_back(offset, bytes); });
    batcher.read_ahead(7, 3);
  }
  TextBatch batch;
  batcher.draw(7, 3, batch);
  for (int row = 0; row < 4; ++row) {
    CHECK(batch.targets[row * 2000 + 1999] == batch.inputs[row * 2000] + 2000);
    used.emplace_back(kHeader + 4 * batch.inputs[row * 2000], 4 * 2001);
  }
  CHECK(asked == used);
}

TEST_CASE("text batcher: the shortest text that fits, and errors") {
  const auto ids = counting(9);
  TextBatch out;
  TextBatcher(view(ids), 2, 8, 1).draw(0, 0, out);
  CHECK(out.inputs[0] == 0);
  CHECK(out.targets[7] == 8);
  CHECK_THROWS_WITH_AS(TextBatcher(view(ids), 2, 9, 1), "text is too short: 9 tokens, but context 9 needs at least 10",
                       Error);
  CHECK_THROWS_WITH_AS(TextBatcher(view(ids), 0, 8, 1), "batch: expected at least 1 sequence, got 0", Error);
  CHECK_THROWS_WITH_AS(TextBatcher(view(ids), 1, 0, 1), "context: expected at least 1 token, got 0", Error);
}

TEST_CASE("window batcher: every token but the first is scored once, from the longest context that the stride allows") {
  for (std::int64_t n : {2, 3, 7, 8, 9, 10, 16, 17, 25, 40}) {
    const auto ids = counting(n);
    for (std::int64_t context : {1, 2, 5, 8, 16}) {
      for (std::int64_t stride = 1; stride <= context; ++stride) {
        for (std::int64_t rows : {1, 3}) {
          CAPTURE(n);
          CAPTURE(context);
          CAPTURE(stride);
          CAPTURE(rows);
          const WindowBatcher batcher(view(ids), rows, context, stride);
          std::vector<int> scored(n, 0);
          TextBatch out;
          for (std::int64_t i = 0; i < batcher.batches(); ++i) {
            batcher.fill(i, out);
            REQUIRE(out.inputs.size() == static_cast<std::size_t>(rows * context));
            REQUIRE(out.targets.size() == static_cast<std::size_t>(rows * context));
            std::int64_t in_batch = 0;
            for (std::int64_t row = 0; row < rows; ++row) {
              for (std::int64_t p = 0; p < context; ++p) {
                const std::int32_t target = out.targets[row * context + p];
                if (target == kIgnoredTarget) continue;
                ++in_batch, ++scored[target];
                // The window begins at the first multiple of the stride from which the target can still be reached.
                const std::int64_t begin = std::max<std::int64_t>(0, target - context + stride - 1) / stride * stride;
                REQUIRE(p == target - 1 - begin);
                for (std::int64_t q = 0; q <= p; ++q) REQUIRE(out.inputs[row * context + q] == begin + q);
              }
            }
            CHECK(out.scored == in_batch);
            CHECK(in_batch > 0);
          }
          CHECK(scored[0] == 0);
          CHECK(std::count(scored.begin() + 1, scored.end(), 1) == n - 1);
        }
      }
    }
  }
}

TEST_CASE("window batcher: a batch by hand, padded to its shape") {
  const auto ids = counting(8);
  const WindowBatcher batcher(view(ids), 2, 4, 2);  // windows begin at 0, 2, 4
  CHECK(batcher.windows() == 3);
  CHECK(batcher.batches() == 2);
  TextBatch out;
  batcher.fill(0, out);
  CHECK(out.inputs == std::vector<std::int32_t>{0, 1, 2, 3, 2, 3, 4, 5});
  CHECK(out.targets == std::vector<std::int32_t>{1, 2, 3, 4, -1, -1, 5, 6});
  CHECK(out.scored == 6);
  batcher.fill(1, out);
  CHECK(out.inputs == std::vector<std::int32_t>{4, 5, 6, 0, 0, 0, 0, 0});
  CHECK(out.targets == std::vector<std::int32_t>{-1, -1, 7, -1, -1, -1, -1, -1});
  CHECK(out.scored == 1);
}

TEST_CASE("window batcher: errors") {
  const auto ids = counting(8);
  CHECK_THROWS_WITH_AS(WindowBatcher(view(ids), 1, 4, 5), "stride: expected 1 to 4 (the context), got 5", Error);
  CHECK_THROWS_WITH_AS(WindowBatcher(view(ids), 1, 4, 0), "stride: expected 1 to 4 (the context), got 0", Error);
  CHECK_THROWS_WITH_AS(WindowBatcher(view(ids), 0, 4, 1), "batch: expected at least 1 sequence, got 0", Error);
  CHECK_THROWS_WITH_AS(WindowBatcher(view(ids), 1, 0, 1), "context: expected at least 1 token, got 0", Error);
  const auto one = counting(1);
  CHECK_THROWS_WITH_AS(WindowBatcher(view(one), 1, 4, 1),
                       "text is too short to evaluate: expected at least 2 tokens, got 1", Error);
  TextBatch out;
  CHECK_THROWS_WITH_AS(WindowBatcher(view(ids), 1, 4, 4).fill(2, out), "evaluation batch 2 is out of range for 2",
                       Error);
}

TEST_CASE("stream batcher: rows go on where those of the step before ended, and begin anew behind the last full one") {
  const auto ids = counting(24);  // 23 targets: two streams of 11, three steps of 3 tokens
  const StreamBatcher batcher = StreamBatcher::full_rows(view(ids), 2, 3);
  CHECK(batcher.batches() == 3);
  TextBatch out;
  const std::vector<std::int32_t> begins{0, 3, 6, 0};
  for (std::int32_t step = 0; step < 4; ++step) {
    const std::int32_t a = begins[step], b = 11 + a;
    batcher.fill(step, out);
    CHECK(out.inputs == std::vector<std::int32_t>{a, a + 1, a + 2, b, b + 1, b + 2});
    CHECK(out.targets == std::vector<std::int32_t>{a + 1, a + 2, a + 3, b + 1, b + 2, b + 3});
    CHECK(out.scored == 6);
    CHECK(batcher.begins(step) == (step % 3 == 0));
  }
  batcher.fill(1, 1, 1, out);  // the second row alone
  CHECK(out.inputs == std::vector<std::int32_t>{14, 15, 16});
  CHECK_THROWS_WITH_AS(StreamBatcher::full_rows(view(ids), 4, 6),
                       "text is too short: 24 tokens, but 4 rows of 6 tokens need at least 25", Error);
}

TEST_CASE("stream batcher: for evaluation every token but the first is a target once, in order within its stream") {
  for (const std::int64_t tokens : {2, 3, 7, 24, 25}) {
    for (const std::int64_t streams : {1, 2, 3, 5, 40}) {
      for (const auto& [length, warm_up] : {std::pair{1, 0}, {3, 2}, {3, 9}, {100, 5}}) {
        const auto ids = counting(tokens);
        const StreamBatcher batcher = StreamBatcher::every_token(view(ids), streams, length, warm_up);
        std::vector<std::vector<std::int32_t>> seen(batcher.streams());
        TextBatch out;
        std::int64_t scored = 0;
        for (std::int64_t i = 0; i < batcher.batches(); ++i) {
          batcher.fill(i, out);
          scored += out.scored;
          for (std::size_t k = 0; k < out.targets.size(); ++k) {
            const std::size_t row = k / out.length;
            if (out.inputs[k] > 0 && k % out.length > 0) CHECK(out.inputs[k] == out.inputs[k - 1] + 1);
            if (out.targets[k] == kIgnoredTarget) continue;
            if (i == 0 && k % out.length == 0) CHECK((row == 0 || warm_up == 0));
            CHECK(out.inputs[k] == out.targets[k] - 1);
            seen[row].push_back(out.targets[k]);
          }
        }
        std::vector<std::int32_t> all;
        for (const auto& stream : seen) {
          CHECK_FALSE(stream.empty());
          all.insert(all.end(), stream.begin(), stream.end());
        }
        CHECK(scored == tokens - 1);
        CHECK(all == std::vector<std::int32_t>(ids.begin() + 1, ids.end()));
      }
    }
  }
}
