// A stack of recurrent layers that reads a sentence in one direction or in both.
#pragma once

#include "nn/recurrent/recurrent.h"

namespace tapeformer {

enum class EncoderKind { forward, bidirectional };
template <>
struct Words<EncoderKind> {
  static constexpr std::pair<EncoderKind, std::string_view> list[] = {{EncoderKind::forward, "forward"},
                                                                      {EncoderKind::bidirectional, "bidirectional"}};
};

class RecurrentEncoder : public Module {
 public:
  // A bidirectional layer consists of two layers of dim/2 units, one for each direction; the next layer reads both.
  // Throws Error if dim is odd in this case.
  RecurrentEncoder(const RecurrentConfig& config, EncoderKind kind);

  struct Result {
    Variable hidden;  // (B, S, dim): the last layer's states, those of both directions concatenated
    // The final state of each layer: that after the last token (B, dim), or for a bidirectional layer the backward
    // direction's state at the first token (B, dim/2).
    std::vector<RecurrentStates> last;
  };
  // Reads x (S, B, input_dim), whose row b has tokens at the times before lengths[b]. If `layers` is given, the states
  // of every layer (B, S, dim) are appended to it.
  Result forward(const Variable& x, const Tensor& lengths, std::vector<Variable>* layers = nullptr) const;

 private:
  Result run(const Variable& x, const Tensor& lengths, std::vector<Variable>* layers) const;

  Dropout dropout_;
  std::vector<std::unique_ptr<RecurrentLayer>> forward_, backward_;  // backward_ is empty for one direction
};

}  // namespace tapeformer
