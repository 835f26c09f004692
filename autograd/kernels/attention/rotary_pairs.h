#pragma once

namespace tapeformer {

// Which elements of a head's vector turn together: i and d/2 + i (GPT-NeoX, and Llama in the files of Hugging Face), or
// 2i and 2i + 1 (Su et al. 2021).
enum class RotaryPairs { halves, interleaved };

}  // namespace tapeformer
