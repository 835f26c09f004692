// Measures the tokenizer on a text: seconds and peak memory of training byte-level BPE, and megabytes (10^6 bytes) per
// second of encoding and decoding the same text, as medians of --rounds. Prints one JSON line;
// bench/peers/hf_tokenizers.mjs prints the same keys for Hugging Face's tokenizers. bench/mixed_text.sh makes a text.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/work.h"
#include "core/parallel.h"
#include "data/text/learn_tokenizer.h"
#include "data/text/text_files.h"

namespace tapeformer::bench {
namespace {

struct TokenizerWork {
  std::string text, tokenizer, save;
  std::int64_t vocab = 30256;
  SplitPattern pattern = SplitPattern::gpt2;
  std::uint64_t max_memory = TokenizerOptions().max_memory;
  int threads = 2, rounds = 3;
  bool train_only = false;
};

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

nlohmann::ordered_json measure(const TokenizerWork& work) {
  set_thread_count(work.threads);
  const double megabytes = static_cast<double>(std::filesystem::file_size(work.text)) * 1e-6;
  nlohmann::ordered_json report = {{"name", "tapeformer"}, {"threads", work.threads}, {"text_mb", megabytes}};

  std::unique_ptr<Tokenizer> tokenizer;
  if (!work.tokenizer.empty()) {
    tokenizer = Tokenizer::load(work.tokenizer);
    report["vocab"] = tokenizer->vocab_size();
  } else {
    const TokenizerOptions options{.kind = "bpe",
                                   .vocab = work.vocab,
                                   .special_tokens = {},
                                   .pattern = work.pattern,
                                   .max_memory = work.max_memory};
    const FileText text({work.text}, {});
    TextReader reader(text, kLearnPartBytes);
    TextReader* const readers[] = {&reader};
    const double seconds = seconds_of([&] { tokenizer = learn_tokenizer(options, readers, 0); });
    report["vocab"] = tokenizer->vocab_size();
    report["train_s"] = seconds;
    report["train_peak_rss_mib"] = peak_rss_mib();
    if (!work.save.empty()) tokenizer->save(work.save);
  }
  if (work.train_only) return report;

  const std::string text = read_text_file(work.text);
  std::vector<std::int32_t> ids;
  std::string decoded;
  std::vector<double> encode_s, decode_s;
  for (int round = 0; round < work.rounds; ++round) {
    encode_s.push_back(seconds_of([&] { ids = tokenizer->encode(text); }));
    decode_s.push_back(seconds_of([&] { decoded = tokenizer->decode(ids); }));
  }
  check(decoded == text, "the text decoded differs from the text");
  report["tokens"] = ids.size();
  report["encode_mb_s"] = megabytes / median(encode_s);
  report["decode_mb_s"] = megabytes / median(decode_s);
  return report;
}

}  // namespace
}  // namespace tapeformer::bench

int main(int argc, char** argv) {
  tapeformer::bench::TokenizerWork work;
  CLI::App app("Training, encoding and decoding of the tokenizer on a text; one JSON line");
  app.add_option("--text", work.text, "The file")->required();
  app.add_option("--vocab", work.vocab)->capture_default_str();
  app.add_option("--threads", work.threads)->check(CLI::PositiveNumber)->capture_default_str();
  std::map<std::string, tapeformer::SplitPattern> patterns;
  for (const tapeformer::SplitPatternInfo& info : tapeformer::kSplitPatterns) patterns.emplace(info.name, info.pattern);
  app.add_option("--pattern", work.pattern, std::string(tapeformer::kSplitPatternNames))
      ->transform(CLI::Transformer(patterns));
  app.add_option("--max-memory", work.max_memory)->transform(CLI::AsSizeValue(false));
  app.add_option("--rounds", work.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  CLI::Option* given = app.add_option("--tokenizer", work.tokenizer, "Use this tokenizer.json, do not train");
  app.add_option("--save", work.save, "Keep the trained tokenizer in this file")->excludes(given);
  app.add_flag("--train-only", work.train_only, "Neither encode nor decode")->excludes(given);
  CLI11_PARSE(app, argc, argv);
  try {
    std::cout << tapeformer::bench::measure(work) << '\n';
  } catch (const std::exception& error) {
    std::cerr << "tokenizer: " << error.what() << '\n';
    return 1;
  }
}
