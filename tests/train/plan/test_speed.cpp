// Measuring of speeds, in tiny models.
#include "tasks/plan/speed.h"

#include <doctest/doctest.h>

#include "tests/train/toy.h"

using namespace tapeformer;

TEST_CASE("plan: the timer measures steps of every kind of task until its time is over") {
  const CacheFolder folder;
  const StepTimer timer = measuring_timer(1e-9);
  const auto time = [&](const Config& config) { return timer(resolve(config)); };
  for (const Config& config : {toy_config(), translation_config(), tag_config(folder)}) {
    const std::optional<double> seconds = time(config);
    REQUIRE(seconds.has_value());
    CHECK(*seconds > 0);
  }
  int more = 0;
  while (time(toy_config()) && more < 1000) ++more;
  CHECK(more < 1000);
  CHECK_FALSE(time(toy_config()).has_value());
}
