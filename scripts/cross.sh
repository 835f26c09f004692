#!/usr/bin/env bash
# Compiles the program and its tests for arm64 on a Debian x86 machine, and runs the tests core, tensor, kernels,
# autograd and nn in an emulator. It takes about 25 minutes on two cores.
#   scripts/cross.sh              all of it
#   scripts/cross.sh tapeformer   compiles these targets alone, and runs nothing: build-arm64/tapeformer
# The libraries for arm64 are unpacked in build-arm64/sysroot; the machine itself gets the compiler and the emulator.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
scripts/setup.sh --arm64
build=$PWD/build-arm64 sysroot=$PWD/build-arm64/sysroot
tests=(core tensor kernels autograd nn)

if [ "$(cat "$sysroot/complete" 2>/dev/null)" != "$(scripts/setup.sh --libraries)" ]; then
  # apt with folders of its own finds what the packages depend on, and changes nothing on the machine.
  rm -rf "$sysroot" "$build/apt"
  mkdir -p "$sysroot" "$build"/apt/{state/lists/partial,cache/archives/partial}
  : >"$build/apt/status"
  cat >"$build/apt/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Dir::State "$build/apt/state";
Dir::State::status "$build/apt/status";
Dir::Cache "$build/apt/cache";
CONF
  export APT_CONFIG=$build/apt/apt.conf
  apt-get update -qq
  scripts/setup.sh --libraries | xargs apt-get install -y -qq --no-install-recommends --download-only
  unset APT_CONFIG
  for package in "$build"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$sysroot"; done
  # A link to /lib means the sysroot's.
  find "$sysroot" -type l -lname '/*' -exec bash -c 'ln -snf "$0$(readlink "$1")" "$1"' "$sysroot" {} \;
  scripts/setup.sh --libraries >"$sysroot/complete"
fi

cmake --preset arm64
if [ $# -gt 0 ]; then
  cmake --build --preset arm64 --target "$@"
else
  cmake --build --preset arm64 --target tapeformer "${tests[@]/#/test_}"
  for test in "${tests[@]}"; do
    echo "== $test"
    # Left out: the emulator tells its own memory, and not that of the program.
    qemu-aarch64 -L "$sysroot" "$build/tests/test_$test" --test-case-exclude='memory: *'
  done
fi
