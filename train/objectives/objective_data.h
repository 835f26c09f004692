// What an objective learns from, whatever its kind: read before its model is made.
#pragma once

#include <variant>

#include "train/objectives/language_data.h"
#include "train/objectives/objective.h"
#include "train/objectives/translation_data.h"
#include "train/tasks/task_data.h"

namespace tapeformer {

using ObjectiveData = std::variant<LanguageData, TranslationData, TaskData>;

// Reads the data, as make_objective() of objective.h does.
ObjectiveData prepare_data(const ResolvedConfig& config, const RunFolder* resumed = nullptr,
                           const ProgressMaker& progress = {});

// The objective on this data, which is of the configuration's kind.
std::unique_ptr<Objective> make_objective(const ResolvedConfig& config, ObjectiveData data);

// The vocabulary that a model on this data has.
ModelVocabulary model_vocabulary(const ResolvedConfig& config, const ObjectiveData& data);

// Data in the place of the configuration's own, for a dry run: random tokens in rows of the shapes that training reads,
// and nothing to evaluate. Sentences, and examples of a task, have kStandInLength tokens, or as many as the model
// reads. The tokenizers and labels are those of the run, where there is one, or those that tokenizer.file names.
// Otherwise they are made up: the vocabulary is as large as tokenizer.vocab says, that of characters
// kStandInCharacters, and there are kStandInLabels labels.
ObjectiveData stand_in_data(const ResolvedConfig& config, const RunFolder* run = nullptr);
inline constexpr std::int64_t kStandInLength = 24, kStandInCharacters = 100, kStandInLabels = 10;

}  // namespace tapeformer
