// Vectors of texts from the command line.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "autograd/tape/tape.h"
#include "core/sanitizers.h"
#include "tasks/common/load_run.h"
#include "tests/cli/sandbox.h"
#include "tests/long_test.h"

using Json = nlohmann::ordered_json;
using namespace tapeformer;

namespace {

// A matrix from a .npy file, its header read as NumPy reads it.
struct Matrix {
  std::int64_t rows = 0, width = 0;
  std::vector<float> values;

  std::vector<float> row(std::int64_t i) const {
    return {values.begin() + i * width, values.begin() + (i + 1) * width};
  }
};

Matrix read_npy(const std::string& bytes) {
  REQUIRE(bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t length = static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  const std::string header = bytes.substr(10, length);
  REQUIRE((10 + length) % 64 == 0);
  REQUIRE(header.back() == '\n');
  Matrix matrix;
  long long rows = 0, width = 0;
  REQUIRE(std::sscanf(header.c_str(), "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, %lld), }", &rows,
                      &width) == 2);
  matrix.rows = rows, matrix.width = width;
  REQUIRE(bytes.size() == 10 + length + rows * width * sizeof(float));
  matrix.values.resize(rows * width);
  std::memcpy(matrix.values.data(), bytes.data() + 10 + length, rows * width * sizeof(float));
  return matrix;
}

constexpr const char* kData = "[tokenizer]\nkind = \"char\"\n[data]\ntext = \"text.txt\"\n";

// Runs of one step each, of the families given by their keys of [model].
struct EmbedBox : Sandbox {
  explicit EmbedBox(std::initializer_list<std::pair<const char*, const char*>> models) {
    prepare_toy("gpt");
    for (const auto& [name, model] : models) {
      write(std::string(name) + ".toml", std::string("[model]\n") + model + kData);
      succeed("train " + std::string(name) + ".toml --out " + name + " --train.steps 1 --train.matmul highest");
    }
  }

  Matrix npy(const std::string& words, const std::vector<std::string>& more = {}, std::string_view input = {}) const {
    result_of(*this, "embed " + words + " --format npy --out x.npy", more, input);
    return read_npy(read("x.npy"));
  }
};

constexpr const char *kGpt = "type = \"gpt\"\nlayers = 2\nheads = 2\ndim = 8\ncontext = 24\nposition = \"learned\"\n",
                     *kBilm = "type = \"bilm\"\nlayers = 1\ndim = 8\n",
                     *kBert = "type = \"bert\"\nlayers = 2\nheads = 2\ndim = 8\ncontext = 24\n";

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  for (const std::string& line : lines_in(text)) lines.push_back(Json::parse(line));
  return lines;
}

std::vector<float> mean_of(const Matrix& matrix, std::int64_t begin, std::int64_t end) {
  std::vector<float> mean(matrix.width);
  for (std::int64_t i = 0; i < matrix.width; ++i) {
    double sum = 0;
    for (std::int64_t t = begin; t < end; ++t) sum += matrix.row(t)[i];
    mean[i] = static_cast<float>(sum / static_cast<double>(end - begin));
  }
  return mean;
}

}  // namespace

TEST_CASE("embed: the vectors of a layer are those of the model's forward pass, as .npy and as JSON lines") {
  const EmbedBox box({{"gpt", kGpt}});
  const std::vector<std::string> text{"--text", "Ella sat."};
  const Matrix vectors = box.npy("gpt --pool none", text);
  CHECK(vectors.rows == 9);
  CHECK(vectors.width == 8);

  const TrainedLanguageModel run = load_run<TrainedLanguageModel>(box / "gpt");
  const std::vector<std::int32_t> ids = run.tokenizer->encode("Ella sat.");
  Tape tape(no_grad);
  const Tensor row = Tensor::from(std::span<const std::int32_t>(ids), {1, 9});
  CHECK(vectors.values == run.model->forward(Variable::constant(tape, row)).value().to_vector<float>());

  const Json line = Json::parse(result_of(box, "embed gpt --pool none --layer 2", text));
  CHECK(keys_of(line) == std::vector<std::string>{"line", "tokens", "vectors"});
  CHECK(line["tokens"] == Json{"E", "l", "l", "a", " ", "s", "a", "t", "."});
  for (std::int64_t t = 0; t < 9; ++t) CHECK(line["vectors"][t].get<std::vector<float>>() == vectors.row(t));
  // The two letters l stand at different places, so that even their embeddings differ; other layers differ from it.
  CHECK(box.npy("gpt --pool none --layer 1", text).values != vectors.values);
}

TEST_CASE("embed: a line's vector is the mean of its tokens' vectors, or that of the first or the last one") {
  const EmbedBox box({{"gpt", kGpt}, {"bert", kBert}});
  const std::string input = "Ella sat.\nMax ran\r\nElla";
  for (const std::string run : {"gpt", "bert"}) {
    CAPTURE(run);
    const std::int64_t marks = run == "bert" ? 2 : 0;  // [CLS] and [SEP]
    const Matrix all = box.npy(run + " --pool none", {}, input);
    REQUIRE(all.rows == 9 + 7 + 4 + 3 * marks);
    const std::vector<Json> none = lines_of(result_of(box, "embed " + run + " --pool none", {}, input));
    CHECK(none[1]["tokens"].size() == 7 + marks);
    if (marks) CHECK(none[2]["tokens"] == Json{"[CLS]", "E", "l", "l", "a", "[SEP]"});
    const Matrix mean = box.npy(run, {}, input), first = box.npy(run + " --pool first", {}, input),
                 last = box.npy(run + " --pool last", {}, input);
    const std::vector<Json> lines = lines_of(result_of(box, "embed " + run, {}, input));
    REQUIRE(lines.size() == 3);
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < 3; ++i) {
      const std::int64_t end = begin + std::ssize(none[i]["tokens"]);
      CHECK(mean.row(i) == mean_of(all, begin + marks / 2, end - marks / 2));
      CHECK(first.row(i) == all.row(begin));
      CHECK(last.row(i) == all.row(end - 1));
      CHECK(lines[i]["line"] == i + 1);
      CHECK(lines[i]["vector"].get<std::vector<float>>() == mean.row(i));
      begin = end;
    }
  }
  // A file of JSON lines has what standard output has.
  result_of(box, "embed gpt --out x.jsonl", {}, input);
  CHECK(box.read("x.jsonl") == result_of(box, "embed gpt", {}, input));
}

TEST_CASE("embed: editing tokens 4 and 5 leaves a causal model's vectors 1 to 3, and changes a bidirectional one's") {
  const EmbedBox box({{"gpt", kGpt}, {"bilm", kBilm}});
  for (const std::string run : {"gpt", "bilm"}) {
    const Matrix vectors = box.npy(run + " --pool none", {}, "Ella sat.\nEllorsat.");
    const std::int64_t size = 3 * vectors.width, second = 9 * vectors.width;
    const bool same = std::memcmp(vectors.values.data(), vectors.values.data() + second, size * sizeof(float)) == 0;
    CHECK(same == (run == "gpt"));
  }
}

TEST_CASE(
    "embed: each line is a row of its own, in a recurrent model too, and begins a document where the model keeps to "
    "them") {
  const EmbedBox box({{"rnn", "type = \"rnn\"\ndim = 8\n"}});
  const Matrix two = box.npy("rnn", {}, "Ella sat.\nMax ran.\n"), one = box.npy("rnn", {}, "Max ran.\n");
  CHECK(two.row(1) == one.row(0));

  box.write("documents.toml",
            std::string("[model]\n") + kGpt + kData + "document = \"line\"\nwithin_document = true\n");
  const Outcome training = box.succeed("train documents.toml --out documents --train.steps 1");
  INFO(training.err);
  const Json line = Json::parse(result_of(box, "embed documents --pool none", {"--text", "sea"}));
  CHECK(line["tokens"] == Json{"<|endoftext|>", "s", "e", "a"});
}

TEST_CASE("embed: --word takes the tokens of a word alone") {
  const EmbedBox box({{"gpt", kGpt}});
  const std::vector<std::string> text{"--text", "Max, a max at sea."};
  const Matrix all = box.npy("gpt --pool none", text);
  const std::vector<std::string> word{"--text", "Max, a max at sea.", "--word", "a"};
  CHECK(box.npy("gpt --pool none", word).values == all.row(5));
  CHECK(box.npy("gpt --word at", text).row(0) == mean_of(all, 11, 13));
  CHECK(box.npy("gpt --word sea --pool last", text).values == all.row(16));
  check_error(box, 1, "embed: --text: expected the word ea in it, got Max, a max at sea.",
              "embed gpt --word ea --out new", text);
}

TEST_CASE("embed: --word finds a word between signs of any alphabet, and not a part of a longer word") {
  const Sandbox box("gpt");
  box.write("tiny.toml", std::string("[model]\n") + kGpt +
                             "[tokenizer]\nkind = \"bpe\"\nvocab = 257\n[data]\ntext = \"text.txt\"\n");
  box.train("run", "--train.steps 1");
  const auto tokens = [&](const char* word, const char* text) {
    return Json::parse(result_of(box, "embed run --pool none", {"--text", text, "--word", word}))["tokens"];
  };
  for (const char* const text : {"séa “sea”—sea", "猫、sea❤", "5×sea€", "séa猫seaが"})
    CHECK(tokens("sea", text) == Json{"s", "e", "a"});
  CHECK(tokens("at", "a cat sat at sea") == Json{" ", "a", "t"});
  // Japanese and Thai have no spaces between words: the first occurrence counts.
  CHECK(tokens("猫", "私は猫が好き").size() == 3);
  CHECK(tokens("แมว", "รแมวมา").size() == 9);
  for (const std::string text : {"seaé", "ésea"})
    check_error(box, 1, "embed: --text: expected the word sea in it, got " + text, "embed run --word sea",
                {"--text", text});
}

TEST_CASE("embed: --word leaves the text's tokens as they are, where one begins before the word") {
  const Sandbox box("gpt");
  std::string text;
  for (int i = 0; i < 400; ++i) text += "den-cat den-cat\n";
  box.write("text.txt", text);
  box.succeed("tokenizer train text.txt --vocab 262 --pattern cl100k --out t.json");
  box.train("run", "--train.steps 1 --eval.every 0 --tokenizer.file t.json");
  const Json all = json_of(box, "embed run --pool none --text den-cat");
  REQUIRE(all["tokens"] == Json::array({"den", "-cat"}));
  const Json cat = json_of(box, "embed run --pool none --text den-cat --word cat");
  CHECK(cat["tokens"] == Json::array({"-cat"}));
  CHECK(cat["vectors"] == Json::array({all["vectors"][1]}));
  CHECK(json_of(box, "embed run --pool none --text den-cat --word den")["vectors"] == Json::array({all["vectors"][0]}));
}

TEST_CASE("embed: with a tokenizer of words, a word at the beginning of a text is read as it stands behind a space") {
  const Sandbox box("gpt");
  box.write("text.txt", [] {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "A red ball and a blue ball lay on the green grass.\n";
    return text;
  }());
  box.write("tiny.toml",
            "[model]\ntype = \"word2vec\"\ndim = 8\n[tokenizer]\nkind = \"word\"\nvocab = 60\n[data]\n"
            "text = \"text.txt\"\n");
  box.train("run", "--train.steps 2 --train.matmul highest");
  const auto vectors = [&](const std::string& words, std::string_view input) {
    return lines_of(result_of(box, "embed run " + words, {}, input));
  };
  const std::vector<Json> words = vectors("", "red\nblue\ngreen\n");
  const std::vector<Json> asked = vectors("--word red", "red\n\"red\"\nA red ball\n");
  CHECK(words[0]["vector"] != words[1]["vector"]);
  CHECK(words[0]["vector"] != words[2]["vector"]);
  for (const Json& line : asked) CHECK(line["vector"] == words[0]["vector"]);
  CHECK(vectors("--pool none", "red ball.")[0]["tokens"] == Json{" red", " ball", "."});
  CHECK(vectors("--pool none", "A red")[0]["tokens"] == Json{"A", " red"});
  CHECK(box.run("embed run -q", {}, "red\nblue\n").err == "");

  // A word that the vocabulary does not have is counted.
  const Outcome unknown = box.run("embed run -q", {}, "red xylophone ball\nzebra\n");
  CHECK(unknown.exit_code == 0);
  CHECK(unknown.err ==
        "warning: 2 of 4 tokens are words or characters that the vocabulary does not have: all have the vector of "
        "<unk>\n");
}

#if !defined(TAPEFORMER_ADDRESS_SANITIZER)  // its heap keeps what is freed for a while
TEST_CASE("embed: the memory does not grow with the number of lines") {
  const EmbedBox box({{"gpt", kGpt}});
  const auto peak = [&](std::int64_t lines) {
    std::string input;
    for (std::int64_t i = 0; i < lines; ++i) input += "Ella sat by the sea.\n";
    const Outcome outcome = box.run("embed gpt --pool none --format npy --out x.npy", {}, input);
    REQUIRE(outcome.exit_code == 0);
    CHECK(read_npy(box.read("x.npy")).rows == 20 * lines);
    return outcome.peak_bytes;
  };
  const std::int64_t few = peak(10);
  CHECK(peak(3000) - few < 20 * 3000 * 8 * std::int64_t{sizeof(float)} / 2);  // the vectors take 1.9 MB
}
#endif

TEST_CASE("embed: what it refuses") {
  const EmbedBox box({{"gpt", kGpt}});
  check_error(box, 2, "embed: --format npy: expected --out FILE beside it, got none", "embed gpt --format npy", {},
              "a");
  check_error(box, 2, "--layer: expected 0 (the embedding) to 2, got 3", "embed gpt --layer 3 --out new", {}, "a");
  check_error(box, 1, "embed: line 2: the text has no tokens", "embed gpt --out new", {}, "a\n\na\n");
  check_error(box, 1, "embed: expected lines of text on standard input, got none", "embed gpt --out new");
  check_error(box, 1, "embed: line 1: the text has 30 tokens: the model reads at most 24", "embed gpt --out new", {},
              std::string(30, 'a'));
  check_error(box, 2, "embed: --out: expected a file that ends in .html, got new", "embed gpt --format html --out new");
  check_error(box, 2, "--pool: …", "embed gpt --pool middle --out new", {}, "a");
}

TEST_CASE("embed: the vectors of a word tell its senses where a model reads both sides; static ones are all the same" *
          long_test()) {
  const Sandbox box;
  const std::string train =
      "train --tokenizer.kind word --data.corpus senses --data.lines 1000 --train.matmul highest --eval.every 0 "
      "--optimizer.lr 1e-2 --optimizer.weight_decay 0 --schedule.kind cosine --schedule.warmup 10 ";
  for (const std::string more : {"bilm --model.cell gru --model.dim 32 --model.context 32 --train.steps 500 --out bilm",
                                 "word2vec --model.dim 8 --train.steps 2 --out word2vec"}) {
    const Outcome training = box.succeed(train + "--model.type " + more);
    INFO(training.err);
    // The entropy of the text bounds the loss of its tokens, and not that of drawn pairs.
    CHECK((training.out.find("no model can do better") == std::string::npos) == more.starts_with("word2vec"));
  }
  constexpr std::size_t kLines = 100;
  const std::string lines = result_of(box, "corpus senses --lines 100 --seed 2");
  const std::string labelled = result_of(box, "corpus senses --lines 100 --seed 2 --labels");
  std::vector<std::string> senses;
  for (std::size_t at = 0; (at = labelled.find("green\t", at)) != labelled.npos; ++at) {
    senses.push_back(labelled.substr(at + 6, labelled.find('\n', at) - at - 6));
  }
  REQUIRE(senses.size() == kLines);
  const auto vectors_of = [&](const std::string& run) {
    std::vector<std::vector<double>> vectors;
    for (const Json& line : lines_of(result_of(box, "embed " + run + " --word green", {}, lines))) {
      vectors.push_back(line["vector"].get<std::vector<double>>());
    }
    REQUIRE(vectors.size() == kLines);
    return vectors;
  };
  const std::vector<std::vector<double>> words = vectors_of("word2vec");
  for (const std::vector<double>& vector : words) CHECK(vector == words.front());

  // Cosines after the mean of all was subtracted. A vector that knows nothing but who speaks has 1/4 within a sense and
  // -1/8 between senses; one that knows the sense alone has 1 and -1/2.
  std::vector<std::vector<double>> vectors = vectors_of("bilm");
  for (std::size_t i = 0; i < vectors[0].size(); ++i) {
    double mean = 0;
    for (const auto& vector : vectors) mean += vector[i] / kLines;
    for (auto& vector : vectors) vector[i] -= mean;
  }
  double sum[2] = {0, 0}, count[2] = {0, 0};
  for (std::size_t a = 0; a < kLines; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const std::vector<double>&x = vectors[a], &y = vectors[b];
      double xx = 0, yy = 0, xy = 0;
      for (std::size_t i = 0; i < x.size(); ++i) xx += x[i] * x[i], yy += y[i] * y[i], xy += x[i] * y[i];
      const bool same = senses[a] == senses[b];
      sum[same] += xy / std::sqrt(xx * yy), ++count[same];
    }
  }
  const double within = sum[1] / count[1], between = sum[0] / count[0];
  CHECK(within - between > 0.6);
}

TEST_CASE("embed: a page has a map of lines or tokens, and the positions of a model that adds them") {
  const EmbedBox box(
      {{"gpt", "layers = 1\ndim = 16\nheads = 2\ncontext = 24\nposition = \"learned\"\n"},
       {"rnn", "type = \"rnn\"\ndim = 16\n"},
       {"llama", "layers = 1\ndim = 16\nheads = 2\ncontext = 24\n"},
       {"bert", "type = \"bert\"\nlayers = 1\ndim = 16\nheads = 2\ncontext = 24\nposition = \"sinusoidal\"\n"}});
  const auto page = [&](const std::string& words, std::string_view input) {
    result_of(box, "embed " + words + " --out page.html", {}, input);
    const std::string html = box.read("page.html");
    const std::size_t begin = html.find("id=\"data\">") + 10;
    return Json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  };
  const Json lines = page("gpt/", "Once\nThe cat\n a\n");
  CHECK(lines["title"] == "Vectors: gpt");
  CHECK(lines["labels"] == Json{"Once", "The cat", "a"});
  CHECK(lines["positions"]["values"].size() == 24);
  CHECK(lines["positions"]["dim"] == 16);
  const Json tokens = page("rnn --pool none --layer 0", "The cat\n");
  CHECK(tokens["labels"] == Json{"T", "h", "e", "␣", "c", "a", "t"});
  CHECK(tokens["cosines"][0][0] == 1);
  CHECK_FALSE(tokens.contains("positions"));
  CHECK_FALSE(page("llama", "Once\n").contains("positions"));
  const Json fixed = page("bert", "Once\n")["positions"]["values"];
  CHECK(fixed[0][0] == 0);  // sin 0 and cos 0
  CHECK(fixed[0][1] == 1);
  CHECK(fixed[3][0].get<double>() == doctest::Approx(std::sin(3.0)).epsilon(1e-2));
  check_error(box, kUsage, "embed: --format html: expected --out FILE beside it, got none",
              "embed gpt --text Once --format html");
}
