#include "data/baselines/xz.h"

#include <doctest/doctest.h>
#include <lzma.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/random.h"
#include "data/synthetic/corpora.h"

using namespace tapeformer;

namespace {

// The bytes of the file that `xz -9e` makes of a text.
std::int64_t xz_bytes(const std::string& text) {
  std::vector<std::uint8_t> out(::lzma_stream_buffer_bound(text.size()));
  std::size_t size = 0;
  REQUIRE(::lzma_easy_buffer_encode(9 | LZMA_PRESET_EXTREME, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), out.data(), &size,
                                    out.size()) == LZMA_OK);
  return static_cast<std::int64_t>(size);
}

// Letters of 4 bits each.
std::string random_letters(std::size_t count) {
  RandomStream random({.seed = 7});
  std::string letters(count, '\0');
  for (char& letter : letters) letter = static_cast<char>('a' + random.below(16));
  return letters;
}

}  // namespace

TEST_CASE("xz: a text takes what xz -9e of both texts takes more than of the first") {
  const std::string before = generate_corpus("stories", 1000, 1), text = generate_corpus("stories", 200, 2);
  const auto expected = static_cast<double>(xz_bytes(before + text) - xz_bytes(before));
  const auto found = static_cast<double>(xz_growth(before, text));
  CHECK(found == doctest::Approx(expected).epsilon(0.003));
  CHECK(found < 0.95 * static_cast<double>(xz_growth("", text)));  // it has learned from the first text
}

TEST_CASE("xz: the dictionary reaches back over the whole first text") {
  const std::string noise = random_letters(300'000);
  CHECK(xz_growth(noise, noise.substr(0, 1000)) < 50);
  const auto alone = static_cast<double>(xz_growth("", noise));
  CHECK(alone > 0.5 * 300'000);
  CHECK(alone < 0.6 * 300'000);
  CHECK(xz_growth(noise, "") == 0);
}

TEST_CASE("xz: it can be stopped") {
  struct Stopped {};
  double last = 0;
  const auto stop = [&](double share) {
    last = share;
    if (share > 0.4) throw Stopped();
  };
  CHECK_THROWS_AS(xz_growth(random_letters(150'000), random_letters(150'000), stop), Stopped);
  CHECK(last < 0.7);
}
