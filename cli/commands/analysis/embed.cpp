#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/options/input_lines.h"
#include "cli/options/page_option.h"
#include "cli/options/run_model.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/results.h"
#include "core/files.h"
#include "core/text/visible_text.h"
#include "nn/formats/npy.h"
#include "report/embedding_page.h"
#include "tasks/analysis/text_vectors.h"
#include "tasks/analysis/trained_embedder.h"

namespace tapeformer::cli {
namespace {

struct EmbedArguments {
  RunSelection run;
  std::string out, format;
  std::optional<std::string> text;
  std::optional<MatmulSetting> matmul;
  TextVectorOptions options;
};

// Returns the format that --format gives, or else the one that the extension of the file's name implies.
std::string format_of(const EmbedArguments& arguments) {
  if (!arguments.format.empty()) return arguments.format;
  const std::string extension = std::filesystem::path(arguments.out).extension().string();
  return extension == ".npy" || extension == ".html" ? extension.substr(1) : "jsonl";
}

// Throws UsageError if the vectors cannot be written to --out, before the model is read.
void check_out(const EmbedArguments& arguments) {
  const std::string format = format_of(arguments);
  if (format != "jsonl" && arguments.out.empty())
    fail_usage("embed: --format ", format, ": expected --out FILE beside it, got none");
  if (format == "html") require_page_name("embed: --out", arguments.out);
}

// Writes the vectors of one text after another. Only a page (html) keeps them in memory until the end.
class VectorWriter {
 public:
  VectorWriter(const EmbedArguments& arguments, const TrainedEmbedder& run)
      : path_(arguments.out),
        pooled_(arguments.options.pooling != Pooling::none),
        format_(format_of(arguments)),
        run_(run),
        tokenizer_(*run.tokenizer) {
    if (format_ == "jsonl" && !path_.empty()) file_.emplace(path_);
  }

  void write(std::int64_t line, std::string_view written, const TextVectors& text) {
    if (format_ == "html") return collect(written, text);
    if (format_ == "npy") {
      if (!npy_) npy_.emplace(path_, text.vectors.size(1));
      return npy_->append(text.vectors.span<float>());
    }
    const std::string json = json_line(line, text);
    if (file_) return file_->append(json);
    print_text(json);
    flush_results();
  }

  void commit() {
    if (npy_) npy_->commit();
    if (file_) file_->commit();
    if (format_ == "html") {
      const auto count = std::ssize(labels_);
      const Tensor vectors = Tensor::from(std::span<const float>(vectors_), {count, std::ssize(vectors_) / count});
      const std::string title = "Vectors: " + run_.run.name();
      write_file_atomically(path_, embedding_page(title, labels_, vectors, position_vectors(run_)));
    }
  }

 private:
  void collect(std::string_view written, const TextVectors& text) {
    const std::size_t begin = std::min(written.find_first_not_of(' '), written.size());
    if (pooled_) labels_.emplace_back(written.substr(begin));
    for (std::size_t i = 0; !pooled_ && i < text.ids.size(); ++i)
      labels_.push_back(visible_text(tokenizer_.token_bytes(text.ids[i])));
    const std::span<const float> values = text.vectors.span<float>();
    vectors_.insert(vectors_.end(), values.begin(), values.end());
  }

  // Writes the shortest decimals that read back as the same f32.
  static void append_vector(std::string& json, std::span<const float> vector) {
    char separator = '[';
    for (const float x : vector) {
      char digits[32];
      const auto end = std::to_chars(digits, digits + sizeof(digits), x).ptr;
      json += separator;
      json.append(digits, end);
      separator = ',';
    }
    json += ']';
  }

  std::string json_line(std::int64_t line, const TextVectors& text) const {
    const std::int64_t width = text.vectors.size(1);
    const std::span<const float> values = text.vectors.span<float>();
    std::string json = str_cat("{\"line\":", line);
    if (pooled_) {
      append_vector(json += ",\"vector\":", values);
      return json + "}\n";
    }
    auto tokens = Json::array();
    for (const std::int32_t id : text.ids) tokens.push_back(tokenizer_.token_bytes(id));
    json += ",\"tokens\":" + json_text(tokens);
    json += ",\"vectors\":";
    for (std::size_t t = 0; t < text.ids.size(); ++t) {
      json += t == 0 ? '[' : ',';
      append_vector(json, values.subspan(t * width, width));
    }
    return json + "]}\n";
  }

  std::string path_;
  bool pooled_;
  std::string format_;  // jsonl, npy or html
  const TrainedEmbedder& run_;
  const Tokenizer& tokenizer_;
  std::vector<std::string> labels_;  // labels of the page's vectors
  std::vector<float> vectors_;
  std::optional<NpyWriter> npy_;
  std::optional<AtomicFile> file_;
};

void write_vectors(const EmbedArguments& arguments) {
  check_out(arguments);
  const TrainedEmbedder run = open_run<TrainedEmbedder>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  VectorWriter writer(arguments, run);
  std::int64_t tokens = 0, unknown = 0;
  const auto embed = [&](std::int64_t number, std::string_view text, bool typed) {
    TextVectors vectors;
    try {
      vectors = text_vectors(run, text, arguments.options);
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      const std::string what = str_cat(arguments.text ? "--text" : str_cat("line ", number), ": ", error.what());
      if (!typed) fail("embed: ", what);
      return log_warning("embed: {}", what);
    }
    tokens += vectors.tokens, unknown += vectors.unknown;
    writer.write(number, text, vectors);
  };
  if (arguments.text) {
    embed(1, *arguments.text, false);
  } else {
    InputLines input("embedding");
    std::int64_t number = 0;
    for (std::string line; input.next(line);) embed(++number, line, input.typed());
    check(tokens > 0, "embed: expected lines of text on standard input, got none");
  }
  writer.commit();
  if (unknown > 0) {
    log_warning("{} of {} tokens are words or characters that the vocabulary does not have: all have the vector of {}",
                unknown, tokens, run.tokenizer->token_bytes(*run.tokenizer->unknown_id()));
  }
}

}  // namespace

Command embed_command() {
  const auto arguments = std::make_shared<EmbedArguments>();
  TextVectorOptions& options = arguments->options;
  return {.name = "embed",
          .help = "Vectors of a text, or of each line of standard input, from any layer of a model",
          .options =
              {run_argument(arguments->run),
               checkpoint_option(arguments->run),
               {"--text", &arguments->text, "The text [each line of standard input is one]"},
               {"--layer",
                &options.layer,
                "The layer whose vectors are taken (0 = the embedding) [the last]",
                {.least = 0}},
               word_option(
                   "--pool", options.pooling,
                   "A text's vector is the mean of its tokens', or that of its first or last token; none: each token's "
                   "[mean]"),
               {"--word", &options.word, "Only the tokens of the first occurrence of this word in each text"},
               {"--format",
                &arguments->format,
                "jsonl: JSON lines; npy: a matrix of f32 for NumPy; html: a page with a map [by the end of FILE, else "
                "jsonl]",
                {.words = {"jsonl", "npy", "html"}}},
               {"--out", &arguments->out, "File for the vectors [standard output]"},
               matmul_option(arguments->matmul)},
          .run = [arguments] { write_vectors(*arguments); }};
}

}  // namespace tapeformer::cli
