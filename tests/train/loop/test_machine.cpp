// On which machine a run was trained.
#include "train/machine/machine.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/parallel.h"
#include "tests/temp_folder.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

TEST_CASE("machine: a run has an entry for each machine that it went on with, and none of steps thrown away") {
  const TempFolder folder;
  const RunFolder run{folder.path};
  const ResolvedConfig config = resolve({});
  CHECK(read_machines(run).empty());
  const int threads = thread_count();
  const auto steps = [&] {
    std::vector<std::int64_t> steps;
    for (const Json& machine : read_machines(run)) steps.push_back(machine["step"].get<std::int64_t>());
    return steps;
  };
  using Steps = std::vector<std::int64_t>;
  record_machine(run, 0, config);
  record_machine(run, 10, config);  // a resume on the same machine
  CHECK(steps() == Steps{0});
  set_thread_count(threads + 1);
  record_machine(run, 20, config);
  record_machine(run, 30, config);
  CHECK(steps() == Steps{0, 20});
  CHECK(read_machines(run)[1]["threads"] == threads + 1);
  set_thread_count(threads);
  record_machine(run, 15, config);  // from an earlier checkpoint
  CHECK(steps() == Steps{0});

  const Json machine = read_machines(run)[0];
  std::vector<std::string> keys;
  for (const auto& entry : machine.items()) keys.push_back(entry.key());
  CHECK(keys == std::vector<std::string>{"step", "cpu", "cores", "hardware_threads", "memory_gib", "system", "threads",
                                         "matmul", "tapeformer", "compiler", "openblas"});
  CHECK(!machine["cpu"].get<std::string>().empty());
  CHECK(machine["memory_gib"].get<double>() > 0.1);
  CHECK(machine["tapeformer"].get<std::string>().starts_with("0."));
  CHECK(machine["openblas"].get<std::string>().find("OpenBLAS") != std::string::npos);
}

TEST_CASE("machine: a file that is broken is begun anew") {
  const TempFolder folder;
  const RunFolder run{folder.path};
  for (const char* const text : {"", "{\"step\": 1}", "[{\"step\"", "[1, {\"a\": 2}, {\"step\": \"x\"}]"}) {
    folder.write("machine.json", text);
    CHECK(read_machines(run).empty());
    record_machine(run, 3, resolve({}));
    CHECK(read_machines(run).size() == 1);
  }
}
