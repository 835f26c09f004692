#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "nn/formats/safetensors.h"
#include "tests/nn/support.h"
#include "tests/temp_folder.h"

using namespace tapeformer;

namespace {

NamedTensors some_tensors() {
  return {{"zebra.weight", Tensor::from({1.5f, -2.25f, 0.0f, 1e-40f, 3e38f, -0.0f}, {2, 3})},
          {"a", Tensor::from({3.141592653589793, -1e300, 5e-324}, {3, 1, 1})},
          {"ids", Tensor::from<std::int32_t>({7, -1, 2147483647, -2147483647 - 1, 0}, {5})},
          {"scalar", Tensor::scalar(0.1, DType::f64)},
          {"empty", Tensor::empty({0}, DType::f32)},
          {"empty matrix", Tensor::empty({3, 0, 2}, DType::i32)},
          {"deep", Tensor::full({1, 2, 1, 2, 1, 2, 1, 1}, DType::f32, 7)},
          {"näme \"quoted\"\n", Tensor::from<std::int32_t>({42}, {1, 1})}};
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string bytes_of(const Tensor& tensor) {
  return dispatch_all(tensor.dtype(), [&]<class T>(T) { return bytes_of(tensor.to_vector<T>()); });
}

// A file with the given header and data, the header's length told truly.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  return bytes_of(std::vector<std::uint64_t>{header.size()}) + header + std::string(data_bytes, '\x01');
}

// The message of the error that reading the bytes gives, which must name the file; "none" without one.
std::string error_of(const TempFolder& folder, const std::string& bytes) {
  const std::filesystem::path path = folder.write("bad.safetensors", bytes);
  try {
    read_safetensors(path);
  } catch (const Error& error) {
    const std::string prefix = path.string() + ": not a valid safetensors file: ";
    const std::string message = error.what();
    return message.starts_with(prefix) ? message.substr(prefix.size()) : "does not name the file: " + message;
  }
  return "none";
}

}  // namespace

TEST_CASE("safetensors: what was written is read back bit for bit, whatever the dtype and shape") {
  const TempFolder folder;
  const auto path = folder.path / "a.safetensors";
  const NamedTensors tensors = some_tensors();
  for (const auto& metadata : {std::map<std::string, std::string>{}, {{"format", "pt"}, {"step", "12"}}}) {
    write_safetensors(path, tensors, metadata);
    const std::map<std::string, Tensor> read = read_safetensors(path);
    CHECK(read.size() == tensors.size());
    for (const auto& pair : tensors) {
      const std::string& name = pair.first;
      const Tensor& tensor = pair.second;
      CAPTURE(name);
      REQUIRE(read.contains(name));
      CHECK(read.at(name).sizes() == tensor.sizes());
      CHECK(read.at(name).dtype() == tensor.dtype());
      CHECK(bytes_of(read.at(name)) == bytes_of(tensor));
    }
  }
  write_safetensors(path, {});
  CHECK(read_safetensors(path).empty());
}

TEST_CASE("safetensors: the file is as the format says, read here by hand") {
  const TempFolder folder;
  const auto path = folder.path / "a.safetensors";
  const NamedTensors tensors = some_tensors();
  write_safetensors(path, tensors, {{"format", "pt"}});
  const std::string file = read_all(path);
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), 8);
  CHECK(header_bytes % 8 == 0);
  CHECK(file[8] == '{');
  const auto header = nlohmann::ordered_json::parse(file.substr(8, header_bytes));
  CHECK(header.at("__metadata__") == nlohmann::ordered_json{{"format", "pt"}});
  CHECK(header.size() == tensors.size() + 1);

  const std::string data = file.substr(8 + header_bytes);
  std::size_t end = 0;
  for (const auto& pair : tensors) {
    const std::string& name = pair.first;
    const Tensor& tensor = pair.second;
    CAPTURE(name);
    const auto& entry = header.at(name);
    CHECK(entry.size() == 3);
    CHECK(entry.at("dtype") == (tensor.dtype() == DType::f32 ? "F32" : tensor.dtype() == DType::f64 ? "F64" : "I32"));
    CHECK(entry.at("shape") == std::vector<std::int64_t>(tensor.sizes().begin(), tensor.sizes().end()));
    const auto offsets = entry.at("data_offsets").get<std::vector<std::size_t>>();
    REQUIRE(offsets.size() == 2);
    CHECK(offsets[0] == end);  // one after the other in the given order, without gaps
    end = offsets[1];
    CHECK(data.substr(offsets[0], offsets[1] - offsets[0]) == bytes_of(tensor));
  }
  CHECK(end == data.size());
}

TEST_CASE("safetensors: tensors of bf16 and u8 are BF16 and U8, whole and in parts") {
  const TempFolder folder;
  const Tensor halves = Tensor::zeros({3}, DType::bf16), codes = Tensor::zeros({1, 5}, DType::u8);
  std::ranges::copy(std::vector{0x3F80, 0x8000, 0x7F7F}, halves.data<kernels::Bf16>());
  std::ranges::copy(std::vector{0, 1, 127, 128, 255}, codes.data<std::uint8_t>());
  write_safetensors(folder.path / "a", {{"halves", halves}, {"codes", codes}});
  const std::string bytes = read_all(folder.path / "a");
  CHECK(bytes.find(R"("halves":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]})") != std::string::npos);
  CHECK(bytes.find(R"("codes":{"dtype":"U8","shape":[1,5],"data_offsets":[6,11]})") != std::string::npos);
  const SafetensorsFile file(folder.path / "a");
  CHECK(file.read("halves").to_vector<kernels::Bf16>() == halves.to_vector<kernels::Bf16>());
  CHECK(file.read("codes").to_vector<std::uint8_t>() == codes.to_vector<std::uint8_t>());
  const Tensor part = Tensor::zeros({2}, DType::u8);
  file.read("codes", 2, part);
  CHECK(part.to_vector<std::uint8_t>() == std::vector<std::uint8_t>{127, 128});
}

TEST_CASE("safetensors: strided tensors are written in row-major order") {
  const TempFolder folder;
  const auto path = folder.path / "a.safetensors";
  const Tensor x = Tensor::from({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});
  write_safetensors(path, {{"t", x.transpose(0, 1)}, {"s", x.slice(1, 1, 3)}, {"e", x.slice(0, 0, 1).expand({2, 3})}});
  const auto read = read_safetensors(path);
  CHECK(read.at("t").to_vector<double>() == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(read.at("s").to_vector<double>() == std::vector<double>{2, 3, 5, 6});
  CHECK(read.at("e").to_vector<double>() == std::vector<double>{1, 2, 3, 1, 2, 3});
}

TEST_CASE("safetensors: a file cut short anywhere, or with bytes behind its end, is an error that names it") {
  const TempFolder folder;
  write_safetensors(folder.path / "good", some_tensors());
  const std::string good = read_all(folder.path / "good");
  for (std::size_t length = 0; length < good.size(); ++length) {
    CAPTURE(length);
    const std::string error = error_of(folder, good.substr(0, length));
    CHECK(error != "none");
    CHECK_FALSE(error.starts_with("does not name"));
  }
  CHECK(error_of(folder, good) == "none");
  CHECK(error_of(folder, good.substr(0, 5)) == "truncated header");
  CHECK(error_of(folder, good + "x").starts_with("the tensors have "));
}

TEST_CASE("safetensors: half-precision numbers are read as floats, exactly, and other dtypes are left out if asked") {
  const TempFolder folder;
  const std::string header =
      R"({"w":{"dtype":"F16","shape":[7],"data_offsets":[0,14]},"i":{"dtype":"I64","shape":[1],"data_offsets":[14,22]}})";
  const std::vector<std::uint16_t> bits{0x3C00, 0xC000, 0x0001, 0x83FF, 0x7BFF, 0xFC00, 0x8000};
  const auto path = folder.write("a.safetensors", bytes_of(std::vector<std::uint64_t>{header.size()}) + header +
                                                      bytes_of(bits) + std::string(8, '\0'));
  const SafetensorsFile file(path, SafetensorsFile::OtherDtypes::skipped);
  const std::vector<float> values = file.read("w").to_vector<float>();
  const std::vector<float> expected{1, -2, 0x1p-24f, -0x3FFp-24f, 65504, -INFINITY, -0.0f};
  CHECK(bytes_of(values) == bytes_of(expected));
  CHECK(file.skipped() == std::map<std::string, std::string>{{"i", "I64"}});
  CHECK_FALSE(file.entries().contains("i"));
}

TEST_CASE("safetensors: wrong headers are errors that say what is wrong") {
  const TempFolder folder;
  const auto entry = [](const char* dtype, const char* shape, const char* offsets) {
    return str_cat(R"({"w":{"dtype":")", dtype, R"(","shape":)", shape, R"(,"data_offsets":)", offsets, "}}");
  };
  const auto error = [&](const std::string& header, std::size_t data = 8) {
    return error_of(folder, file_of(header, data));
  };

  CHECK(error(entry("F32", "[2]", "[0,8]")) == "none");
  CHECK(error("{\"__metadata__\":{}}", 0) == "none");
  CHECK(error(entry("I64", "[1]", "[0,8]")) ==
        "tensor w: dtype I64 is not supported (F32, F64, F16, I32, BF16 and U8 are)");
  CHECK(error(entry("F17", "[1]", "[0,8]")) == "tensor w: dtype F17 is not known");
  CHECK(error(entry("F32", "[3]", "[0,8]")) == "tensor w: 12 bytes are expected, the header places it at 0 to 8");
  CHECK(error(entry("F32", "[2]", "[4,12]")) ==
        "tensor w: expected it at 0, behind the one before, the header places it at 4");
  CHECK(error(entry("F32", "[4]", "[0,16]")) == "the tensors have 16 bytes, the file has 8");
  CHECK(error(entry("F32", "[2]", "[8,0]")) == "tensor w: 8 bytes are expected, the header places it at 8 to 0");
  CHECK(error(entry("F32", "[-2]", "[0,8]")) == "tensor w: expected a whole number, got -2");
  CHECK(error(entry("F32", "[2.5]", "[0,8]")) == "tensor w: expected a whole number, got 2.5");
  CHECK(error(entry("F32", "[2]", "[0,8.0]")) == "tensor w: expected a whole number, got 8.0");
  CHECK(error(entry("F32", "[true,2]", "[0,8]")) == "tensor w: expected a whole number, got true");
  CHECK(error(entry("F32", "[2]", "[0,8,9]")) == "tensor w: data_offsets: expected two numbers, got [0,8,9]");
  CHECK(error("{\"__metadata__\":{\"a\":1}}", 0) == "__metadata__: expected an object of strings");
  CHECK(error("{\"a\":" + std::string(20000, '[')) == "lists and objects are more than 100 deep");
  CHECK(error(entry("F64", "[4294967296,4294967296]", "[0,8]")) == "tensor w: bad shape");
  CHECK(error(entry("F64", "[0,4294967296,4294967296]", "[0,0]")) == "tensor w: bad shape");
  CHECK(error(entry("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]")) == "a shape has 9 axes: at most 8 are supported");
  CHECK(error(entry("F32", "[1]", "[0,4]")) == "the tensors have 4 bytes, the file has 8");

  CHECK(error(R"({"w":1})") == "tensor w: expected an object, got 1");
  CHECK(error(R"({"w":{}})") == "tensor w: the key \"dtype\" is missing");
  CHECK(error(R"({"w":{"dtype":"F32","shape":[2]}})") == "tensor w: the key \"data_offsets\" is missing");
  CHECK(error(R"({"w":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})") == "tensor w: dtype: expected a text, got 4");
  CHECK(error(R"({"w":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})") ==
        "tensor w: shape: expected a list of numbers, got \"2\"");
  CHECK(error(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":8}})") ==
        "tensor w: data_offsets: expected two numbers, got 8");

  // These messages come from the JSON parser.
  for (const char* header : {"", "x", "{", "[]x", "{\"w\xff\":1}"}) {
    CAPTURE(header);
    const std::string message = error(header);
    CHECK(message != "none");
    CHECK_FALSE(message.starts_with("does not name"));
    CHECK(message.find('\n') == std::string::npos);
  }
  for (const char* header : {"null", "[]", "3", "\"w\""}) {
    CHECK(error(header, 0) == "the header is no JSON object");
  }
}

TEST_CASE("safetensors: every byte belongs to one tensor") {
  const TempFolder folder;
  const auto error = [&](const std::string& a, const std::string& b, std::size_t data) {
    const auto entry = [](const std::string& offsets) {
      return str_cat(R"({"dtype":"F32","shape":[2],"data_offsets":)", offsets, "}");
    };
    return error_of(folder, file_of(str_cat("{\"a\":", entry(a), ",\"b\":", entry(b), "}"), data));
  };
  CHECK(error("[0,8]", "[8,16]", 16) == "none");
  CHECK(error("[8,16]", "[0,8]", 16) == "none");  // in whatever order they are named
  // One tensor on another's place, and a hole of the same size: the sum of the bytes is right.
  CHECK(error("[0,8]", "[0,8]", 16) == "tensor b: expected it at 8, behind the one before, the header places it at 0");
  CHECK(error("[0,8]", "[4,12]", 16) == "tensor b: expected it at 8, behind the one before, the header places it at 4");
  CHECK(error("[0,8]", "[16,24]", 24) ==
        "tensor b: expected it at 8, behind the one before, the header places it at 16");
  CHECK(error("[8,16]", "[16,24]", 24) ==
        "tensor a: expected it at 0, behind the one before, the header places it at 8");
  const std::string twice = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  CHECK(error_of(folder, file_of("{" + twice + "," + twice + "}", 4)) == "the key \"w\" is there twice");
}

TEST_CASE("safetensors: a header longer than the file, or than the format allows, is an error before it is read") {
  const TempFolder folder;
  for (std::uint64_t claimed : {std::uint64_t{3}, std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
    CHECK(error_of(folder, bytes_of(std::vector<std::uint64_t>{claimed}) + "{}") ==
          str_cat("the header claims ", claimed, " bytes, the file has 10"));
  }
}

TEST_CASE("safetensors: damaged headers never do worse than throw an Error") {
  const TempFolder folder;
  write_safetensors(folder.path / "good", some_tensors());
  const std::string good = read_all(folder.path / "good");
  RandomStream random(RandomKey{.seed = 3});
  int errors = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string bad = good;
    for (int changes = 0; changes < 3; ++changes) {
      bad[random.below(good.size() - 80)] = static_cast<char>(random.below(256));
    }
    const std::string error = error_of(folder, bad);
    CHECK_FALSE(error.starts_with("does not name"));
    errors += error != "none";
  }
  CHECK(errors > 1000);
}

TEST_CASE("safetensors: a missing file, a folder, and a place that cannot be written") {
  const TempFolder folder;
  const std::string missing = (folder.path / "none").string();
  CHECK_THROWS_WITH_AS(read_safetensors(missing), ("cannot open " + missing + ": No such file or directory").c_str(),
                       Error);
  CHECK_THROWS_AS(read_safetensors(folder.path), Error);
  const std::string lost = (folder.path / "none" / "a").string();
  CHECK_THROWS_WITH_AS(write_safetensors(lost, some_tensors()),
                       (lost + ": cannot be written: No such file or directory").c_str(), Error);
}

TEST_CASE(
    "safetensors: a file is read tensor by tensor, into places that fit, also when it has been removed meanwhile") {
  const TempFolder folder;
  const auto path = folder.path / "a.safetensors";
  const NamedTensors tensors = some_tensors();
  write_safetensors(path, tensors);
  const SafetensorsFile file(path);
  std::filesystem::remove(path);
  CHECK(file.entries().size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor place = Tensor::full(tensor.sizes(), tensor.dtype(), 9);
    file.read(name, place);
    CHECK(bytes_of(place) == bytes_of(tensor));
  }
  const Tensor wrong = Tensor::zeros({3, 2}, DType::f32);
  CHECK_THROWS_WITH_AS(file.read("zebra.weight", wrong),
                       (path.string() + ": tensor zebra.weight: expected (3, 2) f32, got (2, 3) f32").c_str(), Error);
  CHECK_THROWS_WITH_AS(file.read("other"), (path.string() + ": there is no tensor other").c_str(), Error);
}

TEST_CASE("safetensors: a file that gets shorter after it was opened is an error") {
  const TempFolder folder;
  const auto path = folder.path / "a.safetensors";
  write_safetensors(path, {{"w", Tensor::zeros({1000}, DType::f32)}});
  const SafetensorsFile file(path);
  std::filesystem::resize_file(path, 1000);
  CHECK_THROWS_AS(file.read("w"), Error);
}
