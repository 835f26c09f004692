// Measuring of speeds, in tiny models.
#include "tasks/plan/speed.h"

#include <doctest/doctest.h>

#include "tests/train/toy.h"

using namespace tapeformer;

TEST_CASE("plan: the timer measures steps of every kind of task until its time is over") {
  const CacheFolder folder;
  for (const Config& config : {toy_config(), translation_config(), tag_config(folder)}) {
    const StepTimer timer = measuring_timer(1e-9);
    const ResolvedConfig resolved = resolve(config);
    const std::optional<double> seconds = timer(resolved);
    REQUIRE(seconds.has_value());
    CHECK(*seconds > 0);
    int more = 0;
    while (timer(resolved) && more < 1000) ++more;
    CHECK(more < 1000);
    CHECK_FALSE(timer(resolved).has_value());
  }
}
