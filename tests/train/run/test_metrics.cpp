#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/temp_folder.h"
#include "train/run/metrics.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

TEST_CASE("metrics: lines are appended in order, keys in theirs, and doubles read back to the bit") {
  const TempFolder folder;
  const auto path = folder.path / "metrics.jsonl";
  const double awkward = 0.1 + 0.2, tiny = std::numeric_limits<double>::denorm_min();
  {
    MetricsWriter metrics(path);
    metrics.write({{"step", 1}, {"loss", awkward}, {"lr", tiny}, {"grad_norm", 1e300}});
    CHECK(read_metrics(path).size() == 1);  // there before anything is closed
    metrics.sync();
  }
  {
    MetricsWriter metrics(path);
    metrics.write({{"step", 2}, {"eval_loss", std::numeric_limits<double>::quiet_NaN()}});
  }
  const auto lines = read_metrics(path);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["loss"].get<double>() == awkward);
  CHECK(lines[0]["lr"].get<double>() == tiny);
  CHECK(lines[0]["grad_norm"].get<double>() == 1e300);
  CHECK(lines[1]["eval_loss"].is_null());
  CHECK(read_all(path).substr(0, 42) == R"({"step":1,"loss":0.30000000000000004,"lr":)");
}

TEST_CASE("metrics: truncation drops later and incomplete lines, and nothing else") {
  const TempFolder folder;
  const std::string kept = "{\"step\":1,\"loss\":3.50}\n{\"step\":2}\n{\"step\":2,\"eval_loss\":1}\n";
  const auto path = folder.write("metrics.jsonl", kept + "{\"step\":3}\n{\"step\":4,\"lo");
  truncate_metrics(path, 2);
  CHECK(read_all(path) == kept);
  truncate_metrics(path, 2);
  CHECK(read_all(path) == kept);
  CHECK(folder.entries() == 1);

  // What a power failure may leave of lines that were never synced.
  folder.write("metrics.jsonl", kept + std::string(7, '\0') + "\n" + std::string(9, '\0'));
  truncate_metrics(path, 9);
  CHECK(read_all(path) == kept);

  truncate_metrics(path, 0);
  CHECK(read_all(path).empty());
  CHECK(read_metrics(path).empty());
  truncate_metrics(folder.path / "none", 0);
  CHECK(folder.entries() == 1);
}

TEST_CASE("metrics: lines that are not what they were when a checkpoint was saved are told, and the file is kept") {
  const TempFolder folder;
  const auto path = folder.path / "metrics.jsonl";
  MetricsMark mark;
  {
    MetricsWriter metrics(path);
    metrics.write({{"step", 1}, {"loss", 3.5}});
    MetricsWriter(path).write({{"step", 1}, {"eval_loss", 2}});
    MetricsWriter resumed(path);
    resumed.write({{"step", 2}, {"loss", 3}});
    mark = resumed.mark();
    resumed.write({{"step", 3}, {"loss", 2}});
  }
  const std::string whole = read_all(path), kept = whole.substr(0, whole.find("{\"step\":3"));
  const auto truncated = [&](const std::string& text) {
    folder.write("metrics.jsonl", text);
    return truncate_metrics(path, 2, false, mark);
  };
  CHECK(truncated(whole) == "");
  CHECK(read_all(path) == kept);
  CHECK(truncated(kept + "what a crash has left\n{\"st") == "");
  CHECK(read_all(path) == kept);
  CHECK(folder.entries() == 1);

  const std::string beside = path.string() + ".damaged";
  std::string changed = whole;
  changed.replace(changed.find("3.5"), 3, "2.5");
  CHECK(truncated(changed) ==
        path.string() + " has changed since step 2 was saved, and 0 lines that cannot be read are left out; " + beside +
            " has it as it was found");
  CHECK(read_all(beside) == changed);
  CHECK(read_all(path) == changed.substr(0, kept.size()));
  CHECK(truncated(changed.substr(0, kept.size() - 1)) ==
        path.string() + " has changed since step 2 was saved, and 1 lines that cannot be read are left out; " + beside +
            "-2 has it as it was found");
  std::string broken = whole;
  broken[0] = '[';
  CHECK(truncated(broken) == path.string() +
                                 " has changed since step 2 was saved, and 1 lines that cannot be read are left out; " +
                                 beside + "-3 has it as it was found");
  CHECK(read_all(beside + "-3") == broken);
  CHECK(read_all(path) == kept.substr(kept.find('\n') + 1));
  CHECK(truncated("") != "");
  std::filesystem::remove(path);
  CHECK(truncate_metrics(path, 2, false, mark) ==
        path.string() + " was removed: the lines of the training until step 2 are lost");
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("metrics: a writer goes on where truncation left off") {
  const TempFolder folder;
  const auto path = folder.write("metrics.jsonl", "{\"step\":1}\n{\"step\":2}\n{\"st");
  truncate_metrics(path, 1);
  MetricsWriter(path).write({{"step", 2}, {"again", true}});
  CHECK(read_all(path) == "{\"step\":1}\n{\"step\":2,\"again\":true}\n");
}

TEST_CASE("metrics: the reader leaves out a line that is being written") {
  const TempFolder folder;
  CHECK(read_metrics(folder.write("metrics.jsonl", "{\"step\":1}\n{\"step\":2}")).size() == 1);
}

TEST_CASE("metrics: errors name the file and the line") {
  const TempFolder folder;
  const std::string name = folder.write("metrics.jsonl", "{\"step\":1}\nhello\n").string();
  CHECK_THROWS_WITH_AS(read_metrics(name),
                       (name + ":2: expected an object with a whole number `step`, got hello").c_str(), Error);
  folder.write("metrics.jsonl", "{\"step\":1.5}\n");
  CHECK_THROWS_WITH_AS(read_metrics(name),
                       (name + ":1: expected an object with a whole number `step`, got {\"step\":1.5}").c_str(), Error);
  for (const std::string key : {"tokens", "elapsed_s", "peak_memory_bytes"}) {
    const std::string line = "{\"step\":2,\"" + key + "\":\"7\"}";
    folder.write("metrics.jsonl", "{\"step\":1,\"" + key + "\":7}\n" + line + "\n");
    CHECK_THROWS_WITH_AS(read_metrics(name), (name + ":2: expected a number as `" + key + "`, got " + line).c_str(),
                         Error);
    CHECK(truncate_metrics(name, 2).empty());
    CHECK(read_metrics(name).size() == 1);  // as of any line that cannot be read, nothing is left of it
  }
  const std::string none = (folder.path / "none").string();
  CHECK_THROWS_WITH_AS(read_metrics(none), ("cannot open " + none + ": No such file or directory").c_str(), Error);
  CHECK_THROWS_WITH_AS(MetricsWriter(folder.path / "no/file"),
                       ("cannot open " + (folder.path / "no/file").string() + ": No such file or directory").c_str(),
                       Error);
  MetricsWriter metrics(name);
  CHECK_THROWS_WITH_AS(metrics.write({{"loss", 1}}),
                       "metrics: expected an object with a whole number `step`, got {\"loss\":1}", Error);
}

TEST_CASE("metrics: a full disk is an error") {
  MetricsWriter metrics("/dev/full");
  CHECK_THROWS_WITH_AS(metrics.write({{"step", 1}}), "cannot write /dev/full: No space left on device", Error);
}

TEST_CASE("metrics: a text with bytes that are no UTF-8 is written, each as U+FFFD") {
  const TempFolder folder;
  const auto path = folder.path / "metrics.jsonl";
  const Json sample{{"output", "a\xff\xc3\xa9\xe2\x82"}};
  MetricsWriter(path).write({{"step", 1}, {"samples", Json::array({sample})}});
  CHECK(read_metrics(path).at(0)["samples"][0]["output"] == "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
}
