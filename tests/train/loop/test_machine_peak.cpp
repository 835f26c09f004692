#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tasks/text/language_data.h"
#include "tests/train/toy.h"
#include "train/machine/machine.h"
#include "train/machine/machine_peak.h"

using namespace tapeformer;
using kernels::MatmulPrecision;

TEST_CASE("machine peak: measured once for each precision and number of threads, and kept by the CPU's name") {
  const CacheFolder folder;
  const auto file = token_cache_folder() / "machine.json";
  const auto kept = [&] { return nlohmann::json::parse(read_all(file)); };
  const double peak = machine_peak_flops(MatmulPrecision::highest, 1);
  CHECK(peak > 1e8);
  CHECK(peak < 1e14);
  CHECK(kept() == nlohmann::json{{cpu_name(), {{"highest, threads: 1", peak}}}});
  CHECK(machine_peak_flops(MatmulPrecision::highest, 1) == peak);

  // What is kept is believed; another CPU's stays where it is.
  std::ofstream(file) << nlohmann::json{{cpu_name(), {{"medium, threads: 1", 5e9}}}, {"another", {{"x", 1}}}};
  CHECK(machine_peak_flops(MatmulPrecision::medium, 1) == 5e9);
  CHECK(machine_peak_flops(MatmulPrecision::highest, 1) > 1e8);
  CHECK(kept()[cpu_name()].size() == 2);
  CHECK(kept()["another"]["x"] == 1);

  std::ofstream(file) << "[1, 2";  // damaged
  CHECK(machine_peak_flops(MatmulPrecision::highest, 1) > 1e8);
  CHECK(kept().contains(cpu_name()));
}

TEST_CASE("machine peak: measured again where it was too low, and the larger one is kept") {
  const CacheFolder folder;
  const auto file = token_cache_folder() / "machine.json";
  const auto keep = [&](double peak) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << nlohmann::json{{cpu_name(), {{"highest, threads: 1", peak}}}};
  };
  const auto kept = [&] {
    return nlohmann::json::parse(read_all(file))[cpu_name()]["highest, threads: 1"].get<double>();
  };
  keep(1e6);  // of a machine that was busy
  CHECK(machine_peak_flops(MatmulPrecision::highest, 1) == 1e6);
  const double peak = machine_peak_flops_again(MatmulPrecision::highest, 1);
  CHECK(peak > 1e8);
  CHECK(kept() == peak);
  CHECK(machine_peak_flops(MatmulPrecision::highest, 1) == peak);
  keep(1e15);
  CHECK(machine_peak_flops_again(MatmulPrecision::highest, 1) == 1e15);
  CHECK(kept() == 1e15);
}
