// A stack of recurrent layers that reads a sentence, in one direction or in both.
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
  // A bidirectional layer is two layers of dim/2 units, one for each direction; the next layer reads both. Throws Error
  // when dim is odd then.
  RecurrentEncoder(const RecurrentConfig& config, EncoderKind kind);

  struct Result {
    Variable hidden;  // (B, S, dim): the last layer's states; of both directions side by side
    // The final state of each layer: after the last token (B, dim); of a bidirectional layer, the backward direction's
    // state at the first token (B, dim/2).
    std::vector<RecurrentStates> last;
  };
  // x (S, B, input_dim); row b has tokens at the times before lengths[b]. Where `layers` is given, the states of every
  // layer (B, S, dim) are added to it.
  Result forward(const Variable& x, const Tensor& lengths, std::vector<Variable>* layers = nullptr) const;

 private:
  Result run(const Variable& x, const Tensor& lengths, std::vector<Variable>* layers) const;

  Dropout dropout_;
  std::vector<std::unique_ptr<RecurrentLayer>> forward_, backward_;  // the latter is empty in a stack of one direction
};

}  // namespace tapeformer
