#!/bin/sh
# Rewrites the golden files from the writers. Review the difference before it is kept.
# Usage: golden/regenerate.sh <build directory>
set -eu
SPYRE_UPDATE_GOLDEN=1 "${1:-build}/bin/SpecTests" --gtest_brief=1 --gtest_filter='*Golden*:*WorkedExample*:Bundle.WritesTheBakedForm'
SPYRE_UPDATE_GOLDEN=1 "${1:-build}/bin/BackEndTests" --gtest_brief=1 --gtest_filter='Golden*'
