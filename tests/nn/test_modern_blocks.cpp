// The blocks of today's language models: what the keys of a family make of a model.
#include "nn/models/registry.h"
#include "tests/nn/support.h"

using namespace tapeformer;

namespace {

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

std::vector<std::string> parameter_names(const Module& module) {
  std::vector<std::string> names;
  for (const NamedParameter& parameter : module.named_parameters()) names.push_back(parameter.name);
  return names;
}

}  // namespace

TEST_CASE("modern blocks: norm_kind = rms gives every block of a gpt and of a transformer norms without biases") {
  for (const char* family : {"gpt", "transformer"}) {
    CAPTURE(family);
    const auto layer = model_of<Module>(family, {}),
               rms = model_of<Module>(family, {{"norm_kind", std::string("rms")}});
    const auto norms = [](const Module& model, std::string_view end) {
      return std::ranges::count_if(parameter_names(model),
                                   [&](const std::string& name) { return name.ends_with(end); });
    };
    CHECK(norms(*layer, "_norm.bias") == norms(*layer, "_norm.weight"));
    CHECK(norms(*rms, "_norm.bias") == 0);
    CHECK(norms(*rms, "_norm.weight") == norms(*layer, "_norm.weight"));
    CHECK(norms(*rms, "qkv.bias") == norms(*layer, "qkv.bias"));
  }
}
