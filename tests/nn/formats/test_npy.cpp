// Matrices as NumPy's .npy files.
#include "nn/formats/npy.h"

#include <cstring>

#include "tests/nn/support.h"
#include "tests/temp_folder.h"

using namespace tapeformer;

TEST_CASE("npy: the header and the values are those that numpy.save() writes") {
  const TempFolder folder;
  const std::filesystem::path path = folder.path / "x.npy";
  NpyWriter writer(path, 2);
  const float first[] = {1.5f, -2.25f}, others[] = {0.0f, 1e-40f, 3e38f, -0.0f};
  writer.append(first);
  writer.append(others);
  CHECK_FALSE(std::filesystem::exists(path));
  writer.commit();
  const std::string bytes = read_all(path);
  // numpy.save() of NumPy 2.3: 128 bytes in all, of which the dictionary and its padding are 118.
  using namespace std::string_literals;
  std::string header = "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"s;
  header.resize(127, ' ');
  header += '\n';
  REQUIRE(bytes.size() == 128 + 6 * sizeof(float));
  CHECK(bytes.substr(0, 128) == header);
  float values[6];
  std::memcpy(values, bytes.data() + 128, sizeof(values));
  CHECK(std::memcmp(values, first, sizeof(first)) == 0);
  CHECK(std::memcmp(values + 2, others, sizeof(others)) == 0);
}

TEST_CASE("npy: more rows than the buffer holds come whole, and half a row is refused") {
  const TempFolder folder;
  const std::filesystem::path path = folder.path / "x.npy";
  constexpr std::int64_t kRows = 10'000, kWidth = 7;
  NpyWriter writer(path, kWidth);
  std::vector<float> row(kWidth);
  for (std::int64_t i = 0; i < kRows; ++i) {
    std::ranges::fill(row, static_cast<float>(i));
    writer.append(row);
  }
  CHECK_THROWS_WITH_AS(writer.append(std::span(row).first(3)), "npy: expected whole rows of 7 values, got 3 values",
                       Error);
  writer.commit();
  const std::string bytes = read_all(path);
  REQUIRE(bytes.size() == 128 + kRows * kWidth * sizeof(float));
  CHECK(bytes.find("'shape': (10000, 7), }") != bytes.npos);
  for (const std::int64_t i : {std::int64_t{0}, std::int64_t{5000}, kRows - 1}) {
    float value;
    std::memcpy(&value, bytes.data() + 128 + ((i + 1) * kWidth - 1) * sizeof(float), sizeof(value));
    CHECK(value == static_cast<float>(i));
  }
  CHECK_THROWS_AS(NpyWriter(folder.path / "no" / "x.npy", 2), Error);
}
