#pragma once

namespace tapeformer {

// The cell of a recurrent layer: long short-term memory (Hochreiter & Schmidhuber 1997, with the forget gate of Gers et
// al. 2000), the gated recurrent unit (Cho et al. 2014), or a plain layer with tanh (Elman 1990).
enum class CellKind { lstm, gru, tanh };

}  // namespace tapeformer
