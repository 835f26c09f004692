// The unit of a loss, with the data and without.
#include "train/objectives/loss_unit.h"

#include "tests/train/toy.h"

using namespace tapeformer;

TEST_CASE("loss unit: what a configuration says is what its training says") {
  const CacheFolder folder;
  const Toy toy;
  CHECK(loss_unit(toy.resolved) == toy.objective.loss_unit());
  const TranslationToy translation(translation_config());
  CHECK(loss_unit(translation.resolved) == translation.objective.loss_unit());
  Config config = toy_config();
  config.model.type = "bert";
  const MaskedToy masked(config);
  CHECK(loss_unit(masked.resolved) == masked.objective.loss_unit());
  const SkipGramToy pairs(toy_config_of("word2vec", {{"dim", std::int64_t{8}}}));
  CHECK(loss_unit(pairs.resolved) == pairs.objective.loss_unit());
  CHECK(loss_unit(pairs.resolved) != loss_unit(masked.resolved));
}
