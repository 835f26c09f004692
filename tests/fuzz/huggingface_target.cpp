#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "targets.h"
#include "tasks/interchange/published_model.h"

namespace tapeformer::fuzz {
namespace {

// A folder in memory, whose files are replaced from call to call.
const std::filesystem::path& folder_in_memory() {
  static const std::filesystem::path folder = [] {
    std::string name = "/dev/shm/tapeformer-fuzz-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr, "mkdtemp");
    return name;
  }();
  static const struct Removal {
    ~Removal() { std::filesystem::remove_all(folder); }
  } removal;
  return folder;
}

void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

constexpr std::string_view kTokenizer =
    R"({"added_tokens":[{"id":2,"content":"[PAD]"},{"id":3,"content":"[CLS]"},{"id":4,"content":"[SEP]"},)"
    R"({"id":5,"content":"[MASK]"}],"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[\\s\\S]"},)"
    R"("behavior":"Isolated","invert":false},"model":{"type":"WordLevel","vocab":{"a":0,"b":1},"unk_token":"<unk>"}})";

}  // namespace

void huggingface(std::string_view data) {
  const std::filesystem::path& folder = folder_in_memory();
  const std::size_t config = data.find('\0'), index = config == data.npos ? data.npos : data.find('\0', config + 1);
  const auto part = [&](std::size_t begin, std::size_t end) {
    return begin == data.npos ? std::string_view() : data.substr(begin, end == data.npos ? data.npos : end - begin);
  };
  write_bytes(folder / "config.json", part(0, config));
  const std::string_view listed = part(config == data.npos ? config : config + 1, index);
  const std::string_view weights = part(index == data.npos ? index : index + 1, data.npos);
  const char* const name = listed.empty() ? "model.safetensors" : "a.safetensors";
  std::filesystem::remove(folder / "model.safetensors");
  write_bytes(folder / "model.safetensors.index.json", listed);
  write_bytes(folder / name, weights);
  write_bytes(folder / "tokenizer.json", kTokenizer);
  try {
    const PublishedModel model = read_published(folder);
    for (const auto& [tensor, sizes] : model.tensors->tensors()) {
      require(model.tensors->read(tensor).sizes() == sizes, "a tensor has other sizes than it should");
    }
  } catch (const Error&) {
  }
}

}  // namespace tapeformer::fuzz
