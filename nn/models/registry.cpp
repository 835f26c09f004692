#include "nn/models/registry.h"

#include <algorithm>

#include "core/text/joined.h"
#include "core/text/nearest_name.h"
#include "nn/models/bert.h"
#include "nn/models/bilm.h"
#include "nn/models/cnn_lstm.h"
#include "nn/models/gpt.h"
#include "nn/models/nplm.h"
#include "nn/models/rnn.h"
#include "nn/models/rnn_seq2seq.h"
#include "nn/models/transformer.h"
#include "nn/models/vit.h"
#include "nn/models/word2vec.h"

namespace tapeformer {
namespace {

std::vector<ModelFamily>& families() {
  static std::vector<ModelFamily> table{gpt_family(),         transformer_family(), rnn_family(),  bilm_family(),
                                        rnn_seq2seq_family(), bert_family(),        nplm_family(), word2vec_family(),
                                        glove_family(),       cnn_lstm_family(),    vit_family()};
  return table;
}

}  // namespace

TrainingDefaults language_model_training() {
  return {.lr = 3e-3, .schedule = ScheduleKind::wsd, .optimizer = {{"beta2", 0.99}}};
}

const std::vector<ModelFamily>& model_families() { return families(); }

void register_model_family(ModelFamily family) {
  for (const ModelFamily& other : families()) {
    check(other.name != family.name, "model family ", family.name, ": registered twice");
  }
  families().push_back(std::move(family));
}

const ModelFamily& find_model_family(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ModelFamily& family : families()) {
    if (family.name == name) return family;
    names.push_back(family.name);
  }
  fail_usage("model.type: expected one of ", joined(names, ", "), ", got ", name, ": did you mean ",
             nearest_name(name, names), "?");
}

std::unique_ptr<Module> ModelFamily::make_module(const KeyValues& options, const ModelVocabulary& vocabulary) const {
  const auto call = [&](const auto& maker) -> std::unique_ptr<Module> { return maker(options, vocabulary); };
  return std::visit(call, make);
}

std::unique_ptr<Model> ModelFamily::make_model(const KeyValues& options, const ModelVocabulary& vocabulary) const {
  const auto call = [&](const auto& maker) -> std::unique_ptr<Model> {
    if constexpr (!std::is_same_v<decltype(maker), const OtherModelMaker&>) return maker(options, vocabulary);
    fail_usage("model.type: expected a model that gives the tokens of a text vectors, got ", name, ", which is none");
  };
  return std::visit(call, make);
}

}  // namespace tapeformer
