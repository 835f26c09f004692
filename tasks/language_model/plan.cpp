#include "tasks/language_model/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "data/text/text_files.h"
#include "data/text/text_source.h"
#include "tasks/plan/packed_rows.h"
#include "tasks/plan/rules.h"
#include "tasks/plan/text_size.h"

namespace tapeformer {
namespace {

TextSize size_of_valid(const Config::Data& data) { return size_of_documents(data.valid, data.text_options()); }

// The size of the training text; is_utf8 is of the validation text too, which the tokenizer has to encode as well.
TextSize size_of_texts(const Config::Data& data) {
  TextSize size = size_of_text(data);
  size.is_utf8 = size.is_utf8 && (data.valid.empty() || size_of_valid(data).is_utf8);
  return size;
}

// Returns the size of the data in tokens.
DataSize in_tokens(const Config& config, const TextSize& text, const TokenSize& token) {
  std::optional<double> valid;
  if (!config.data.valid.empty()) valid = size_of_valid(config.data).bytes / token.bytes;
  DataSize data = data_size(text.bytes / token.bytes, valid, config.data.valid_fraction);
  if (const auto most = static_cast<double>(config.data.valid_bytes); most > 0)
    data.validation = std::min(data.validation, most / token.bytes);
  data.token_worth = token_worth(token.vocab);
  return data;
}

void choose_context(PlanDraft& draft, const DataSize& data, const TextSize& text) {
  const std::int64_t context = context_for(draft.request().minutes, data.unique);
  if (context == 0 && !draft.is_given("model.context")) {
    fail_usage("--minutes: expected at least ", tuning::kLeastContext * tuning::kLeastRows,
               " tokens of text, got about ", static_cast<std::int64_t>(data.unique), ", of ", describe(text));
  }
  draft.choose("model.context", context,
               fmt::format("{:g} min, and {} tokens of training text", draft.request().minutes, amount(data.unique)));
}

// The documents in a row say nothing about each other, so no token should attend to another document. A tokenizer that
// is given or comes with weights may lack the token that ends a document.
void choose_documents(PlanDraft& draft) {
  const Config& given = draft.request().given;
  if (!given.tokenizer.file.empty() || !draft.from_scratch()) return;
  if (!given.data.corpus.empty()) {
    draft.choose("data.document", std::string("line"), "each line of a generated corpus is a text of its own");
  }
  const Config::Data& data = draft.config().data;
  const bool documents = data.document != DocumentEnd::none ||
                         (data.corpus.empty() && FileText(expand_inputs(data.text), {}).has_documents());
  if (documents) draft.choose("data.within_document", true, "documents say nothing about each other");
}

}  // namespace

Plan plan_language_model(const PlanRequest& request) {
  PlanDraft draft(request);
  require_gpt(draft, "a language model");
  const TextSize size = size_of_texts(request.given.data);
  choose_clock(draft);
  choose_documents(draft);
  choose_text_tokenizer(draft, size);
  const TokenSize token = token_size(draft.config().tokenizer, size);
  draft.set_vocab(token.vocab);
  DataSize data = in_tokens(draft.config(), size, token);
  choose_context(draft, data, size);
  SizedDraft sized = choose_gpt(std::move(draft), data, token.vocab);
  choose_validation(sized, data, tokens_of_evaluation_batch(sized.draft.resolved()),
                    {.key = "data.valid_bytes", .tokens = 1 / token.bytes});
  return finish_gpt(std::move(sized), data);
}

}  // namespace tapeformer
