# The lit suite: one file per behaviour below Dialect, Conversion, Transforms, Pipelines and tools.
# Run all of it with `ctest --test-dir build -R '^lit$'`, or one file with
#   python3 <llvm>/build/utils/lit/lit.py -v build/test --filter <name>
#
# `config` and `lit_config` are given by lit; build directories come from lit.site.cfg.py.
import os

import lit.formats

config.name = "OpenSpyre"
# The internal shell: the same behaviour on every host, no quoting surprises.
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "checks", "CMakeLists.txt", "lit.cfg.py", "lit.site.cfg.py.in"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.spyre_build_root, "test")

# Tests call the tools by name: ours from build/bin; FileCheck, not, count and split-file from LLVM.
search = [config.spyre_tools_dir, config.llvm_tools_dir, os.environ.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(search)
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# What is tested is compiled, never found; tests of the cache name a folder of their own.
config.environment["SPYRE_CACHE"] = "0"

config.substitutions += [
    ("%bin", config.spyre_tools_dir),
    ("%golden", os.path.join(config.spyre_source_root, "golden")),
    ("%python", config.spyre_python),
    ("%example_passes", os.path.join(config.spyre_build_root, "lib", "ExamplePasses.so")),
]

# Available to `REQUIRES:` and `UNSUPPORTED:`.
if config.spyre_sanitize:
    config.available_features.add("sanitize-" + config.spyre_sanitize)
