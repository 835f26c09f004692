// scripts/ as somebody runs them who has just cloned the project, with commands of their own in the place of cmake and
// apt.
#include <doctest/doctest.h>

#include "tests/cli/sandbox.h"

namespace fs = std::filesystem;

namespace {

// A clone of scripts/ in a folder whose name has signs of the shell in it, and commands that only say what they are
// told.
struct Clone : Sandbox {
  const fs::path root = *this / "a clone's $HOME";
  Clone() {
    fs::create_directories(root);
    fs::copy(fs::path(PROJECT_ROOT) / "scripts", root / "scripts");
    fs::create_directory(*this / "bin");
    command("cmake", "echo cmake in \"$PWD\"");
  }
  // Puts a command before those of the system.
  void command(const std::string& name, const std::string& body) const {
    write("bin/" + name, "#!/bin/sh\n" + body + "\n");
    fs::permissions(*this / ("bin/" + name), fs::perms::owner_all);
  }
  // Runs a shell's command in the clone.
  Outcome shell(const std::string& text) const {
    return Process(root, {"/bin/sh", "-c", "PATH=\"" + (*this / "bin").string() + ":$PATH\"; " + text}, "").wait();
  }
};

}  // namespace

TEST_CASE("scripts: they work in their own clone, wherever CDPATH leads") {
  const Clone box;
  box.command("dpkg-query", "printf 'installed amd64\\n'");
  box.command("dpkg", "echo amd64");
  fs::create_directories(box / "other/scripts");
  const Outcome outcome = box.shell("export CDPATH='" + (box / "other").string() + "'; scripts/build.sh program");
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out == "cmake in " + fs::canonical(box.root).string() + "\n");
}

TEST_CASE(
    "scripts: setup installs what is missing for this architecture, asks nothing, and refuses an unknown option") {
  const Clone box;
  box.command("dpkg", "echo amd64");
  box.command("id", "echo 1000");
  box.command("sudo", "exec env -u DEBIAN_FRONTEND \"$@\"");
  box.command("apt-get", "echo apt-get \"$@\" \"$DEBIAN_FRONTEND\" >&2");
  // zlib is there for two architectures, libpng for another one alone, and hwy was removed.
  box.command("dpkg-query",
              "for last; do :; done\n"
              "case $last in zlib1g-dev) printf 'installed amd64\\ninstalled i386\\n' ;;\n"
              "libpng-dev) printf 'installed i386\\n' ;; libhwy-dev) printf 'config-files amd64\\n' ;;\n"
              "*-dygraphs) printf 'installed all\\n' ;; *) printf 'installed amd64\\n' ;; esac");
  const Outcome outcome = box.shell("scripts/setup.sh --program");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err ==
        "setup: installing libhwy-dev libpng-dev\napt-get update -qq noninteractive\n"
        "apt-get install -y -qq --no-install-recommends libhwy-dev libpng-dev noninteractive\n");

  const Outcome unknown = box.shell("scripts/setup.sh --help");
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err == "setup: unknown option --help: expected none, --program, --mpi, --ci, --arm64 or --libraries\n");
}

TEST_CASE("scripts: a folder that is named from another folder is meant from there") {
  const Clone box;
  box.command("dpkg", "echo amd64");
  box.command("dpkg-query", "printf 'installed amd64\\n'");
  fs::create_directory(box.root / "elsewhere");
  fs::create_directory(box.root / "elsewhere/mine");
  const Outcome demo = box.shell("cd elsewhere; ../scripts/demo.sh mine");
  CHECK(demo.exit_code == 1);
  CHECK(demo.tells("/elsewhere/mine exists already: remove it"));

  box.write("page.md",
            "# A page\n\n```sh quick\ntype -P tapeformer | tee ../../../../page.out\n```\n→ `/bin/tapeformer`\n");
  const Outcome tour =
      box.shell("cd elsewhere; TAPEFORMER=../../bin/cmake ../scripts/tour.sh --page ../../page.md --out T\u00e9");
  INFO(tour.out);
  INFO(tour.err);
  CHECK(tour.exit_code == 0);
  CHECK(fs::exists(box.root / "elsewhere/T\u00e9/a-page/1.out"));
  CHECK(box.read("page.out") == (fs::canonical(box.root) / "elsewhere/T\u00e9/bin/tapeformer").string() + "\n");

  const Outcome unbuilt = box.shell("unset TAPEFORMER; cd elsewhere; ../scripts/tour.sh --quick");
  CHECK(unbuilt.exit_code == 1);
  CHECK(unbuilt.tells("build/tapeformer is not there: scripts/build.sh makes it\n"));
}
