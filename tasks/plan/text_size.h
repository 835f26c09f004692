// How much text there is to learn from, estimated from the sizes of files and a sample.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/text/text_source.h"
#include "tasks/plan/plan.h"

namespace tapeformer {

struct TextSize {
  double bytes = 0;           // of all text, decompressed
  double characters = 0;      // estimated
  double lines = 0;           // estimated
  std::size_t different = 0;  // different characters in the sample
  std::size_t words = 0;      // different words in the sample, between white space
  bool is_utf8 = true;        // whether the sample is valid UTF-8, as a tokenizer of characters needs it
  std::string sample = {};    // the beginning of the text
};

// Returns the size of a text that is `times` as long as this sample of it.
TextSize size_of_sample(std::string sample, double times = 1);

// Adds up texts that follow each other. The sample has the first ones, each whole, until they are kSampleBytes long.
class TextSum {
 public:
  void add(std::string_view text);
  // Returns the size of all texts, at least one of which must not be empty.
  TextSize size() const;

 private:
  std::string sample_;
  double bytes_ = 0;
};

// Throws UsageError for what can be read only once: a plan reads its data, and then the training does.
void require_files(const std::vector<std::string>& inputs);
// Reads the beginning of the files, at most tuning::kSampleBytes of each and of all together. Compressed files are
// assumed to go on as they begin. Throws Error as expand_inputs() and open_bytes() do and if there is no text in them,
// and UsageError for what can be read only once.
TextSize size_of_files(const std::vector<std::string>& inputs);
// Returns in the same way the size of the documents that training reads from such files (FileText), each with a line
// end, which stands for the token after it. Throws Error as FileText does, too.
TextSize size_of_documents(const std::vector<std::string>& inputs, const TextOptions& options);
// Returns the size of the text or corpus that a configuration trains on, in the same way.
TextSize size_of_text(const Config::Data& data);

// Chooses the tokenizer of a text: characters for a small text in UTF-8 with few different ones, else byte pairs whose
// number grows with the text.
void choose_text_tokenizer(PlanDraft& draft, const TextSize& text);
// The tokens that a tokenizer makes of a text, about.
struct TokenSize {
  double bytes = 1;        // of the text, for each token
  std::int64_t vocab = 0;  // different tokens of the tokenizer, which has fewer than tokenizer.vocab of a poor text
};
// Returns the size of the tokens of a text: the sample is encoded by the tokenizer's file or, without one, by a
// tokenizer that learns from the sample and from `also`, another text that the training's tokenizer learns from. Throws
// Error as Tokenizer::load(), TokenizerTrainer and encode() do, and UsageError for a vocabulary that is too small.
TokenSize token_size(const Config::Tokenizer& tokenizer, const TextSize& text, std::string_view also = {});

// "1.1 million bytes of text with 65 different characters"
std::string describe(const TextSize& size);

}  // namespace tapeformer
