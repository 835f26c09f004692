// What the tests of tokenizers share.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "tokenizer/train_tokenizer.h"

namespace tapeformer {

inline std::unique_ptr<Tokenizer> train(const std::string& kind, std::int64_t vocab, std::string_view text,
                                        std::vector<std::string> special_tokens = {}) {
  return train_tokenizer({kind, vocab, std::move(special_tokens)}, std::vector{text});
}

// `size` characters drawn from the alphabet.
inline std::string random_text(RandomStream& random, std::string_view alphabet, std::int64_t size) {
  std::string text;
  for (std::int64_t i = 0; i < size; ++i) text += alphabet[random.below(alphabet.size())];
  return text;
}

inline std::string random_bytes(RandomStream& random, std::int64_t size) {
  std::string text;
  for (std::int64_t i = 0; i < size; ++i) text += static_cast<char>(random.below(256));
  return text;
}

// A folder that disappears with all it holds.
struct TemporaryFolder {
  std::filesystem::path path;
  explicit TemporaryFolder(const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("tapeformer-" + name + "-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

// An English-like text for training, made here.
inline constexpr std::string_view kStory =
    "Once upon a time there was a little fox. The fox lived in a little house near the river, and every morning she "
    "walked to the river to drink. \"I'm thirsty,\" said the fox. \"You're always thirsty,\" said the river, \"and "
    "it's only 7 o'clock!\" The little fox didn't answer; she drank, and drank, and then she went home.\n\n"
    "The next day the river wasn't there. Where had the river gone? The fox looked, and looked, for 77 days.\n";

}  // namespace tapeformer
