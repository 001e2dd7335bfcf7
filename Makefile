# The commands people type. `make run` and `make test` need nothing but Debian 12 and Python 3.11: they
# install what is missing, build, and then do their job. Build output goes to <build>/*.log and is
# shown only when a step fails.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help setup build link run check-quick test test-all bench format docs clean distclean

JOBS ?= $(shell nproc)
TEST_JOBS ?= 2
PYTHON := .venv/bin/python
# The plug-in loads itself at `import torch`; while it is being built it must not.
QUIETLY := TORCH_DEVICE_BACKEND_AUTOLOAD=0 python3 scripts/run_quietly.py
# $(call build-preset,preset,directory,extra configure arguments)
define build-preset
@$(QUIETLY) "configure $(1)" $(2)/configure.log -- cmake --preset $(1) -B $(2) $(3)
@$(QUIETLY) "build $(1)" $(2)/build.log -- cmake --build $(2) -j$(JOBS)
endef

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install Debian packages and make .venv; quick when nothing is missing
	@scripts/setup.sh

build: setup ## configure and build preset release in build/
	$(call build-preset,release,build)

link: build ## make `import torch` in .venv find the plug-in of this folder
	@$(PYTHON) scripts/link_package.py

run: link ## set up, build, run the demo
	@$(PYTHON) examples/demo.py

check-quick: ## before a commit: format, build, repository checks, lit, unit tests that a change concerns
	@python3 scripts/check_quick.py --build build --jobs $(JOBS)

test: link ## set up, build, run all tests
	@scripts/run_tests.sh --jobs $(TEST_JOBS) build

test-all: test ## test, then sanitizer builds, fuzzers and the long tests
	$(call build-preset,asan,build-asan)
	@scripts/run_tests.sh --jobs $(TEST_JOBS) --no-pytest build-asan
	$(call build-preset,tsan,build-tsan)
	@scripts/run_tests.sh --jobs $(TEST_JOBS) --no-pytest build-tsan
	@scripts/setup.sh --with-clang
	$(call build-preset,fuzz,build-fuzz)
	@scripts/run_tests.sh --jobs $(TEST_JOBS) --no-pytest build-fuzz
	$(call build-preset,fuzz-coverage,build-fuzz-coverage)
	@python3 scripts/fuzz_coverage.py build-fuzz-coverage --found build-fuzz/fuzz/corpus
	@SPYRE_TEST_LONG=1 scripts/run_tests.sh --jobs $(TEST_JOBS) build

bench: link ## build and run the benchmarks; JSON in benchmarks/results/; BENCH_ARGS="--model-ops DIR --placement CSV..."
	$(call build-preset,release,build-bench,-DSPYRE_ENABLE_BENCHMARKS=ON -DSPYRE_ENABLE_TESTS=OFF -DSPYRE_ENABLE_TORCH=OFF)
	@python3 scripts/bench.py build-bench/bin benchmarks/results $(BENCH_ARGS)

format: ## format the C++ sources with clang-format 19
	@scripts/format.sh

docs: ## check the documents: relative links, error pages, spec gaps
	@python3 test/checks/check_links.py .
	@python3 test/checks/check_error_codes.py .
	@python3 test/checks/check_spec_gaps.py . $(if $(wildcard build/CTestTestfile.cmake),--build build)

clean: ## remove all builds
	rm -rf build build-asan build-tsan build-fuzz build-fuzz-coverage build-dev build-bench torch_spyre/_C*.so

distclean: clean ## remove .venv and caches too
	rm -rf .venv .cache
