#!/usr/bin/env bash
# Runs all tests of a build: CTest (unit, conformance, lit, checks), then pytest. Both always run; the
# last lines are their counts, and an empty suite, or an empty half of pytest's, counts as a failure.
#   run_tests.sh [--jobs N] [--no-pytest] BUILD_DIRECTORY
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=2
withPytest=1
while [[ "${1:-}" == --* ]]; do
  case "$1" in
    --jobs) jobs=$2; shift 2 ;;
    --no-pytest) withPytest=0; shift ;;
    *) echo "run_tests.sh: unknown option '$1'" >&2; exit 2 ;;
  esac
done
build=${1:?usage: run_tests.sh [--jobs N] [--no-pytest] BUILD_DIRECTORY}

failed=0
echo "ctest in $build"
ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$jobs" 2>&1 |
  tee "$build/ctest.log" | grep -vE '^ *(Start +[0-9]+:|$)|^Internal ctest'
[ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
ctestCount=$(grep -E 'tests passed, [0-9]+ tests failed|No tests were found' "$build/ctest.log" | tail -n 1)

# Two processes share the Python tests; the second one's output is shown when the first has ended.
pytestCount="not run"
if [ "$withPytest" -eq 1 ]; then
  echo "pytest in python/tests, two processes"
  rm -f "$build"/pytest-[12].log
  .venv/bin/python -m pytest python/tests -q --part 2/2 >"$build/pytest-2.log" 2>&1 &
  second=$!
  .venv/bin/python -m pytest python/tests -q --part 1/2 2>&1 | tee "$build/pytest-1.log"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
  wait "$second" || failed=1
  cat "$build/pytest-2.log"
  pytestCount=$(python3 scripts/sum_counts.py "$build"/pytest-[12].log) || failed=1
fi

echo
echo "ctest  ($build): ${ctestCount:-no result; see $build/ctest.log}"
echo "pytest (python/tests): $pytestCount"
exit "$failed"
