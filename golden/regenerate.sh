#!/bin/sh
# Rewrites the golden files from the writers. Review the difference before it is kept.
# Usage: golden/regenerate.sh <build directory>
set -eu
cd "$(dirname "$0")/.."
SPYRE_UPDATE_GOLDEN=1 "${1:-build}/bin/SpecTests" --gtest_brief=1 --gtest_filter='*Golden*:*WorkedExample*:Bundle.WritesTheBakedForm:LoopSpec.SymbolicLoops*'
SPYRE_UPDATE_GOLDEN=1 "${1:-build}/bin/BackEndTests" --gtest_brief=1 --gtest_filter='Golden*'

compiled=golden/compiled/matmul-exp-sum
rm -rf "$compiled"
"${1:-build}/bin/spyre-compile" test/Inputs/matmul-exp-sum.mlir --baked-args -o "$compiled"
"${1:-build}/bin/spyre-dis" "$compiled/bundle_0" -o "$compiled/bundle_0/program.txt"
rm "$compiled/bundle_0/spyreCodeDir/init.bin" # text only: program.txt says the same

# What people read of the worked examples, as the documents have them: OpSpecs and SuperDSCs, nothing in LX.
for example in WorkedExamples/flatten rope-copies-nothing; do
  compiled=golden/compiled/$(basename "$example")
  rm -rf "$compiled"
  "${1:-build}/bin/spyre-compile" "test/Pipelines/$example.mlir" --compile-to=bundle --baked-args --no-lx-planning -o "$compiled"
done
