#include "nn/formats/gguf.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/random.h"
#include "tests/temp_folder.h"

using namespace tapeformer;

namespace {

using nlohmann::json;
using Metadata = std::vector<std::pair<std::string, GgufValue>>;

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

const json& golden() {
  static const json read = json::parse(std::ifstream(std::string(TEST_DATA) + "/golden/gguf_blocks.json"));
  return read;
}

Tensor ramp(const Dims& sizes) {
  const Tensor tensor = Tensor::empty(sizes, DType::f32);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) tensor.data<float>()[i] = static_cast<float>(i % 37) / 8 - 2;
  return tensor;
}

// The bytes of a header, written number by number.
struct Bytes {
  std::string text = {};
  template <class T>
  Bytes& add(T value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& u32(std::uint32_t value) { return add(value); }
  Bytes& u64(std::uint64_t value) { return add(value); }
  Bytes& string(const std::string& value) {
    u64(value.size());
    text += value;
    return *this;
  }
};

Bytes begin(std::uint64_t tensors, std::uint64_t values, std::uint32_t version = 3) {
  return Bytes{"GGUF"}.u32(version).u64(tensors).u64(values);
}

// A file with one tensor, and 32 floats behind its header.
std::string one_tensor(std::uint32_t axes, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                       std::uint64_t offset) {
  Bytes bytes = begin(1, 0).string("t").u32(axes);
  for (const std::uint64_t size : sizes) bytes.u64(size);
  bytes.u32(type).u64(offset);
  bytes.text.resize((bytes.text.size() + 31) / 32 * 32 + 128, '\0');
  return bytes.text;
}

// A file of so many bytes with two tensors: 16 floats, and 8 floats at `offset`. Its data begin at byte 96.
std::string two_tensors(std::uint64_t offset, std::size_t size) {
  Bytes bytes = begin(2, 0).string("t").u32(1).u64(16).u32(0).u64(0).string("s").u32(1).u64(8).u32(0).u64(offset);
  bytes.text.resize(size, '\0');
  return bytes.text;
}

}  // namespace

TEST_CASE("gguf: blocks are read as llama.cpp's package reads them") {
  for (const auto& [key, blocks] : golden()["read"].items()) {
    const std::string& name = key;
    CAPTURE(name);
    const std::string bytes = from_hex(blocks["bytes"]);
    const std::vector<float> expected = blocks["values"];
    std::vector<float> values(expected.size());
    dequantize(gguf_type(name), bytes, values);
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  }
}

TEST_CASE("gguf: blocks are written as llama.cpp's package writes them, and are read again") {
  const std::vector<float> values = golden()["values"];
  for (const auto& [key, bytes] : golden()["written"].items()) {
    const std::string& name = key;
    CAPTURE(name);
    const GgufType& type = gguf_type(name);
    std::string blocks(values.size() / type.values * type.bytes, '\0');
    quantize(type, values, blocks);
    CHECK((blocks == from_hex(bytes)));
    std::vector<float> again(values.size());
    dequantize(type, blocks, again);
    const double error = name == "F16" ? 1e-3 : name == "BF16" ? 1e-2 : 0.3;
    for (std::size_t i = 0; i < 32; ++i) CHECK(std::abs(again[i] - values[i]) <= error * std::abs(values[i]) + 0.02);
  }
  std::string blocks(34, '\0');
  const std::vector<float> large(32, 1e9F), none(32, NAN);
  CHECK_THROWS_WITH_AS(quantize(gguf_type("Q8_0"), large, blocks), "a value is beyond the range of Q8_0: 1e+09", Error);
  CHECK_THROWS_WITH_AS(quantize(gguf_type("Q8_0"), none, blocks), "a value is not a finite number", Error);
  CHECK_THROWS_WITH_AS(quantize(gguf_type("F16"), std::span(large).first(1), std::span(blocks).first(2)),
                       "a value is beyond the range of F16: 1e+09", Error);
}

TEST_CASE("gguf: what is written is read again") {
  const TempFolder folder;
  const std::string path = (folder.path / "a.gguf").string();
  const Metadata metadata = {{"a.u32", std::uint32_t{7}},
                             {"a.i32", std::int32_t{-7}},
                             {"a.u64", std::uint64_t{1} << 40},
                             {"a.f32", 0.5F},
                             {"a.f64", 0.25},
                             {"a.nan", NAN},
                             {"a.bool", true},
                             {"a.text", std::string("x\u2581")},
                             {"a.texts", std::vector<std::string>{"a", "", "bc"}},
                             {"a.numbers", std::vector<float>{1.5F, -2}},
                             {"a.integers", std::vector<std::int64_t>{1, -2, 3}}};
  const Tensor matrix = ramp({3, 64}), vector = ramp({5});
  write_gguf(path, metadata,
             {{"m", matrix, &gguf_type("F32")}, {"v", vector, &gguf_type("F32")}, {"q", matrix, &gguf_type("Q8_0")}});
  const GgufFile file(path);
  for (const auto& [key, value] : metadata) CHECK((key == "a.nan" || file.metadata().at(key) == value));
  CHECK(file.integer("a.u64") == std::int64_t{1} << 40);
  CHECK(file.number("a.f64") == 0.25);
  CHECK(file.tensors().at("m") == matrix.sizes());
  for (const char* name : {"m", "v"}) {
    const Tensor& expected = *name == 'm' ? matrix : vector;
    const Tensor read = file.read(name);
    for (std::int64_t i = 0; i < read.numel(); ++i) CHECK(read.data<float>()[i] == expected.data<float>()[i]);
  }
  const Tensor quantized = file.read("q");
  for (std::int64_t i = 0; i < matrix.numel(); ++i)
    CHECK(std::abs(quantized.data<float>()[i] - matrix.data<float>()[i]) <= 2.5 / 127);
  CHECK_THROWS_WITH_AS(file.integer("a.i32"), (path + ": a.i32: expected a whole number, 0 or more").c_str(), Error);
  CHECK_THROWS_WITH_AS(file.number("a.nan"), (path + ": a.nan: expected a finite number of f32, got nan").c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(file.text("a.u32"), (path + ": a.u32: expected a text, got another type").c_str(), Error);
  CHECK_THROWS_WITH_AS(file.texts("b"), (path + ": the key b is missing").c_str(), Error);
  CHECK_THROWS_WITH_AS(write_gguf(path, {}, {{"v", vector, &gguf_type("Q8_0")}}),
                       "tensor v: a row has 5 values, expected whole blocks of 32", Error);
  CHECK_THROWS_WITH_AS(write_gguf(path, {{"a.integers", std::vector<std::int64_t>{1, std::int64_t{1} << 31}}}, {}),
                       "GGUF: expected a list of numbers of 32 bits, got 2147483648", Error);
  CHECK(GgufFile(path).has("a.u32"));  // the file before is still there
}

TEST_CASE("gguf: what is wrong with a file is named in one line") {
  const TempFolder folder;
  const std::string path = (folder.path / "a.gguf").string();
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
  const std::vector<std::pair<std::string, std::string>> all = {
      {"", "magic: the file ends before"},
      {"GGML", "it does not begin with \"GGUF\""},
      {begin(0, 0, 1).text, "version 1 is not supported, only 2 and 3"},
      {begin(kHuge, 0).text, "tensors: 1152921504606846976 of at least 24 bytes, 8 are left"},
      {begin(0, kHuge).text, "metadata: 1152921504606846976 of at least 13 bytes, 0 are left"},
      {begin(0, 1).u64(kHuge).u64(0).text, "metadata: a text of 1152921504606846976 bytes, 8 are left"},
      {begin(0, 1).string("k").u32(13).u64(0).text, "metadata: the type of a value is 13, expected 0 to 12"},
      {begin(0, 1).string("k").u32(9).u32(4).u64(kHuge).text,
       "metadata: 1152921504606846976 of at least 4 bytes, 0 are left"},
      {begin(0, 1).string("k").u32(9).u32(9).u64(1).text, "metadata: a list of values of type 9 is not supported"},
      {begin(0, 1).string("k").u32(9).u32(10).u64(1).u64(std::uint64_t{1} << 63).text,
       "metadata: a list has 9223372036854775808, which is too large"},
      {begin(0, 2).string("k").u32(4).u32(1).string("k").u32(4).u32(1).text, "the key k is there twice"},
      {begin(0, 1).string("general.alignment").u32(4).u32(24).text,
       "general.alignment: expected a power of two, got 24"},
      {one_tensor(5, {1, 1, 1, 1, 1}, 0, 0), "tensor t: it has 5 axes, expected 1 to 4"},
      {one_tensor(0, {}, 0, 0), "tensor t: it has 0 axes, expected 1 to 4"},
      {one_tensor(2, {kHuge, 1024}, 0, 0), "tensor t: bad shape"},
      {one_tensor(2, {0, 1}, 0, 0), "tensor t: bad shape"},
      {one_tensor(1, {32}, 9, 0),
       "tensor t: type 9 is not supported, only F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K, Q3_K, Q4_K, Q5_K, "
       "Q6_K"},
      {one_tensor(1, {33}, 8, 0), "tensor t: a row has 33 values, expected whole blocks of 32"},
      {one_tensor(1, {32}, 0, 8), "tensor t: its offset 8 is no multiple of 32"},
      {one_tensor(1, {64}, 0, 0), "tensor t: it lies outside of the file"},
      {one_tensor(1, {32}, 0, kHuge), "tensor t: it lies outside of the file"},
      {one_tensor(1, {kHuge - 1}, 0, 0), "tensor t: it lies outside of the file"},
      {begin(2, 0).string("t").u32(1).u64(8).u32(0).u64(0).string("t").u32(1).u64(8).u32(0).u64(0).text +
           std::string(64, '\0'),
       "tensor t: it is there twice"},
      {two_tensors(32, 224), "tensor s: expected it at 64, behind the one before, the header places it at 32"},
      {two_tensors(128, 256), "tensor s: expected it at 64, behind the one before, the header places it at 128"},
      {two_tensors(64, 191), "tensor s: it lies outside of the file"},
      {two_tensors(64, 224), "the tensors end at 192, the file has 224 bytes"},
      {begin(0, 1).string("general.alignment").u32(8).string("32").text,
       "general.alignment: expected a power of two, got another type"},
      {one_tensor(1, {32}, 8, 0), "the tensors end at 128, the file has 192 bytes"}};
  for (const auto& [bytes, message] : all) {
    write_file_atomically(path, bytes);
    CHECK_THROWS_WITH_AS(GgufFile file(path), (path + ": not a valid GGUF file: " + message).c_str(), Error);
  }
  write_file_atomically(path, one_tensor(1, {32}, 0, 0));
  CHECK(GgufFile(path).read("t").numel() == 32);
  write_file_atomically(path, two_tensors(64, 192));
  CHECK(GgufFile(path).read("s").numel() == 8);
  CHECK_THROWS_WITH_AS(GgufFile((folder.path / "none").string()),
                       ("cannot open " + (folder.path / "none").string() + ": No such file or directory").c_str(),
                       Error);
}
