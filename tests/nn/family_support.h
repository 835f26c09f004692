// Makes models as a configuration does: by the registry of families.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "nn/models/registry.h"

namespace tapeformer {

// The model of a family with these options, the others by default; a vocabulary of 17.
template <class Model>
std::unique_ptr<Model> model_of(std::string_view family_name,
                                std::initializer_list<std::pair<std::string, KeyValue>> options) {
  const ModelFamily& family = find_model_family(family_name);
  KeyValues values(family.keys);
  for (const auto& [name, value] : options) values.set(name, value);
  family.resolve(values, true);
  const ModelVocabulary vocabulary{.source = 17, .target = 17};
  return std::visit(
      [&](const auto& make) -> std::unique_ptr<Model> {
        if constexpr (std::is_convertible_v<decltype(make(values, vocabulary)), std::unique_ptr<Model>>) {
          return make(values, vocabulary);
        }
        return nullptr;
      },
      family.make);
}

}  // namespace tapeformer
