// What the fuzzers call: each target takes any bytes and checks what must hold for them. Errors that the readers throw
// as Error are expected; every other exception, a crash or a check that fails is a finding.
//
// libfuzzer/main.cpp makes a fuzzer of each (cmake --preset fuzz); test_seeds.cpp calls them all for the seeds in
// seeds/NAME/, among which every finding stays. Those called found-… are what fuzzing added: the two dozen inputs that
// together reach the most code (-set_cover_merge=1 -use_counters=0 -max_len=300).
#pragma once

#include <string>
#include <string_view>

namespace tapeformer::fuzz {

// Text: the bytes behind the first, which chooses what is done with them. Decoding gives them back, whatever the
// pattern; a safe cut and another number of threads change no id.
void encode(std::string_view data);
// Ids: pairs of bytes as numbers. Decoding puts their bytes one after another, and refuses what is no id.
void decode(std::string_view data);
// A text file: the first byte chooses its kind, where documents end and how large the parts are; the text and its
// documents do not depend on the parts.
void text_file(std::string_view data);
// The readers of tokenizers: what is read is written and read again, equal.
void tokenizer_json(std::string_view data);
void gpt2_files(std::string_view data);  // vocab.json, a byte 0, merges.txt
void tiktoken_file(std::string_view data);
// A token file, whose header gets a right checksum.
void token_file(std::string_view data);
// What parse_json() takes is written and read again, equal; with a checksum it is what it was.
void json(std::string_view data);
void safetensors(std::string_view data);
void gguf(std::string_view data);
void config(std::string_view data);
// A folder of Hugging Face: config.json, a byte 0, the index (empty: none), a byte 0, the weights, to which the index
// may lead as a.safetensors. What is read has the sizes that it is said to have.
void huggingface(std::string_view data);
// A chat template, which renders a conversation: the same each time.
void chat_template(std::string_view data);

// Throws std::logic_error, which no target expects.
void require(bool condition, const char* what);

// A file in memory with these bytes, for readers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const;

 private:
  int fd_;
};

}  // namespace tapeformer::fuzz
