#!/usr/bin/env bash
# Installs the Debian packages that are missing, as root or with sudo.
#   scripts/setup.sh            to build, train and test
#   scripts/setup.sh --program  the program alone
#   scripts/setup.sh --mpi      the program, and Open MPI to train on several machines
#   scripts/setup.sh --ci       also the second compiler, the formatter and a browser
#   scripts/setup.sh --arm64    the compiler for arm64 and the emulator that scripts/cross.sh needs
#   scripts/setup.sh --libraries  installs nothing, and lists the libraries that the program and its tests need
set -euo pipefail

libraries=(libopenblas-openmp-dev liblapacke-dev libhwy-dev libcli11-dev libspdlog-dev libtomlplusplus-dev nlohmann-json3-dev
  libxxhash-dev zlib1g-dev libzstd-dev liblzma-dev libpng-dev libjs-dygraphs)
of_tests=(libpcre2-dev doctest-dev)
packages=(g++ cmake ninja-build "${libraries[@]}")
case ${1:-} in
  --program) ;;
  --mpi) packages+=(libopenmpi-dev openmpi-bin) ;;
  --ci)
    packages+=("${of_tests[@]}" clang libclang-rt-dev clang-format perl libopenmpi-dev openmpi-bin
      chromium)
    ;;
  --arm64) packages=(g++-aarch64-linux-gnu qemu-user cmake ninja-build) ;;
  --libraries)
    printf '%s\n' "${libraries[@]}" "${of_tests[@]}"
    exit 0
    ;;
  "") packages+=("${of_tests[@]}") ;;
  *)
    echo "setup: unknown option $1: expected none, --program, --mpi, --ci, --arm64 or --libraries" >&2
    exit 2
    ;;
esac

missing=()
if command -v dpkg-query >/dev/null; then
  # A library may be there for several architectures, a line each.
  wanted="^installed ($(dpkg --print-architecture)|all)$"
  for package in "${packages[@]}"; do
    states=$(dpkg-query -W -f='${db:Status-Status} ${Architecture}\n' "$package" 2>/dev/null || true)
    grep -qE "$wanted" <<<"$states" || missing+=("$package")
  done
else
  echo "setup: only Debian and its relatives are supported; install what these packages hold yourself: ${packages[*]}" >&2
  exit 1
fi
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}" >&2
# sudo passes no variables on. A question would not be seen, and wait for ever.
as_root+=(env DEBIAN_FRONTEND=noninteractive)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
