// The fuzzers' targets, called for the seeds.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "targets.h"

namespace fuzz = tapeformer::fuzz;

TEST_CASE("fuzz: every seed passes") {
  struct Target {
    const char* name;
    void (*call)(std::string_view);
  };
  const Target targets[] = {
      {"encode", fuzz::encode},
      {"decode", fuzz::decode},
      {"text_file", fuzz::text_file},
      {"tokenizer_json", fuzz::tokenizer_json},
      {"gpt2_files", fuzz::gpt2_files},
      {"tiktoken_file", fuzz::tiktoken_file},
      {"token_file", fuzz::token_file},
      {"safetensors", fuzz::safetensors},
      {"config", fuzz::config},
      {"json", fuzz::json},
      {"huggingface", fuzz::huggingface},
      {"gguf", fuzz::gguf},
      {"chat_template", fuzz::chat_template},
  };
  for (const Target& target : targets) {
    target.call("");
    int seeds = 0;
    for (const auto& seed :
         std::filesystem::directory_iterator(std::filesystem::path(TEST_DATA) / "seeds" / target.name)) {
      CAPTURE(seed.path().string());
      std::ifstream in(seed.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      CHECK_NOTHROW(target.call(bytes));
      ++seeds;
    }
    CHECK(seeds > 0);
  }
}
