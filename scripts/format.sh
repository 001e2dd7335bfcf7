#!/usr/bin/env bash
# Formats the project's C++ (tracked and new files) in place, or with --check only says what differs.
# Version 19 only: other versions format some constructs differently, and the tree would flip between
# them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

findFormatter() {
  local candidate
  for candidate in clang-format-19 /usr/lib/llvm-19/bin/clang-format clang-format; do
    if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q 'version 19\.'; then
      echo "$candidate"
      return
    fi
  done
}

formatter=$(findFormatter)
if [ -z "$formatter" ]; then
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  echo "format: installing clang-format-19"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends clang-format-19 >/dev/null ||
    { echo "format: could not install clang-format-19; run apt-get update, or install it from your mirror" >&2; exit 1; }
  formatter=$(findFormatter)
fi

mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp' |
  while read -r file; do [ -f "$file" ] && echo "$file"; done)
if [ "${1:-}" = --check ]; then
  "$formatter" --dry-run --Werror "${files[@]}"
else
  "$formatter" -i "${files[@]}"
  echo "format: ${#files[@]} files"
fi
