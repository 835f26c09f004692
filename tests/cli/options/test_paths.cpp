// Paths that are given to the real command.
#include <doctest/doctest.h>

#include "tests/cli/sandbox.h"

namespace fs = std::filesystem;

TEST_CASE("paths: behind a link, .. is the folder above its target, for runs, exported folders and studies") {
  const Sandbox box("gpt");
  fs::create_directories(box / "real/deep");
  fs::create_directory_symlink(box / "real/deep", box / "link");
  box.succeed("train tiny.toml --out link/../base --train.steps 1");
  box.succeed("train tiny.toml --out new --train.steps 1 --train.init_from link/../base");
  CHECK(box.read("new/tokenizer.json") == box.read("real/base/tokenizer.json"));

  box.succeed("export new --format hf --out link/../folder");
  CHECK(box.has("real/folder/model.safetensors"));
  CHECK_FALSE(box.has("folder"));
  box.succeed("import link/../folder --out link/../back");
  CHECK(box.read("real/back/config.toml").find("/link/../back/tokenizer.json\"") != std::string::npos);

  // The study's configuration is the one above the folder that the link leads to.
  std::string config = box.read("tiny.toml");
  const std::string steps = "steps = 60";
  config.replace(config.find(steps), steps.size(), "steps = 2");
  box.write("real/tiny.toml", config);
  box.write("real/deep/my.toml",
            "title = \"t\"\nclaim = \"c\"\nconfig = \"../tiny.toml\"\n[[variants]]\nname = \"a\"\n");
  box.succeed("study link/my.toml --out study");
  CHECK(box.metrics("study/a-1").back()["step"] == 2);
}
