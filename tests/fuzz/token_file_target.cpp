#include <cstring>

#include "core/error.h"
#include "core/hash.h"
#include "data/text/token_file.h"
#include "targets.h"

namespace tapeformer::fuzz {

void token_file(std::string_view data) {
  constexpr std::size_t kHashed = 56;  // bytes of the header, behind which their hash is
  std::string bytes(data);
  if (bytes.size() >= kHashed + sizeof(std::uint64_t)) {
    const std::uint64_t hash = hash_bytes(std::string_view(bytes).substr(0, kHashed));
    std::memcpy(bytes.data() + kHashed, &hash, sizeof hash);
  }
  const MemoryFile memory(bytes);
  try {
    const TokenFile file = TokenFile::open(memory.path());
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < file.size(); ++i) sum += file.view()[i];
    require(sum >= 0 || file.id_bits() == 32, "16 bits below 0");
    file.verify();
  } catch (const Error&) {
  }
}

}  // namespace tapeformer::fuzz
