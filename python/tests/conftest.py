"""Shared fixtures: every test that claims to run on the device proves it with the counters."""

import collections
import contextlib
import logging
import os
import subprocess
import sys
import zlib

import pytest
import torch

# What is tested is compiled, never found; tests of the cache switch it on with a folder of their own.
os.environ["SPYRE_CACHE"] = "0"

HERE = os.path.dirname(os.path.abspath(__file__))

# Torch writes thousands of trace records per compilation; pytest would print them after a failure.
logging.getLogger("torch.__trace").propagate = False


#: Files of which the number of tests does not say how long they take, in seconds of one core.
SECONDS = {
    "test_acceptance.py": 60,
    "test_architectures.py": 46,
    "test_configurations.py": 60,
    "test_decoders.py": 28,
    "test_gradients.py": 120,
    "test_models.py": 14,
    "test_random_graphs.py": 33,
    "test_robustness.py": 35,
    "test_sentences.py": 10,
    "test_training.py": 17,
}
_SECONDS_OF_A_TEST = 0.12
#: Those of one test per operation are divided test by test.
_DIVIDED = {
    f"test_{name}.py"
    for name in "differential error_samples out_forms samples_of_nothing torch_modules torch_samples".split()
}


def pytest_addoption(parser):
    parser.addoption("--part", default="1/1", metavar="K/N", help="run the K-th of N parts, which take equally long")


def seconds_of(counts):
    """How long files take, of which each has so many tests."""
    return {name: SECONDS.get(name, 1 + count * _SECONDS_OF_A_TEST) for name, count in counts.items()}


def part_of_each(seconds, parts):
    """The number of each file's part, from 0: the longest first, each to the part that has least to do."""
    load, chosen = [0] * parts, {}
    for name in sorted(seconds, key=lambda name: (-seconds[name], name)):
        chosen[name] = load.index(min(load))
        load[chosen[name]] += seconds[name]
    return chosen


def pytest_configure(config):
    part, parts = _part(config)
    if not 1 <= part <= parts:
        raise pytest.UsageError(f"--part={part}/{parts}: there are parts 1/{parts} to {parts}/{parts}")


def _part(config):
    return [int(number) for number in config.getoption("--part").split("/")]


def pytest_collection_modifyitems(config, items):
    part, parts = _part(config)
    counts = collections.Counter(item.path.name for item in items if item.path.name not in _DIVIDED)
    part_of = part_of_each(seconds_of(counts), parts)
    mine, others = [], []
    for item in items:
        # A checksum is in step with no parameter of the tests.
        its = part_of.get(item.path.name, zlib.crc32(item.nodeid.encode()) % parts)
        (mine if its == part - 1 else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = mine


def pytest_sessionfinish(session):
    """No simulator of this process ran without its sanitizer."""
    extension = sys.modules.get("torch_spyre._C")
    if extension is not None and extension._unsanitized_launches() != 0:
        print(f"\n{extension._unsanitized_launches()} launches without the sanitizer; switch it on")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


class DeviceProof:
    """Counters of a region, and what they must say when the device did the work."""

    def __init__(self):
        self.counters = {}
        self.sanitizer_checks = 0

    def check(self, pt_macs=None, sfp_lane_ops=None):
        c = self.counters
        assert c["programs_launched"] > 0, c
        assert c["fallback_ops"] == 0, torch.spyre.fallback_counts()
        assert c["graph_fallback_nodes"] == 0, c
        assert self.sanitizer_checks > 0, "the simulator ran without the LX sanitizer"
        assert c["ddr_read_bytes"] > 0 and c["ddr_write_bytes"] > 0 and c["device_ns"] > 0, c
        if pt_macs is not None:
            assert c["pt_macs"] == pt_macs, c
        if sfp_lane_ops is not None:
            assert c["sfp_lane_ops"] == sfp_lane_ops, c


@contextlib.contextmanager
def _on_device(pt_macs=None, sfp_lane_ops=None):
    import torch_spyre._C as extension

    torch.spyre.reset_counters()
    proof = DeviceProof()
    yield proof
    proof.counters = torch.spyre.counters()
    proof.sanitizer_checks = extension.sanitizer_checks()
    proof.check(pt_macs, sfp_lane_ops)


@pytest.fixture
def on_device():
    """``with on_device(pt_macs=..., sfp_lane_ops=...):`` the block ran on the device, all of it."""
    return _on_device


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    """No test depends on what another one compiled."""
    yield
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
        # Dynamo flushes the processor's caches to tell its log how long guards take: a tenth of a test's time.
        sys.modules["torch._dynamo.guards"].profile_guard_manager = lambda *_: 0.0


def run_python(code, *, env=None, cwd=None, args=(), check=True):
    """A fresh interpreter; returns its standard output."""
    environment = {**os.environ, **(env or {})}
    environment["PYTHONPATH"] = os.pathsep.join(
        [HERE, *filter(None, [environment.get("PYTHONPATH")])]
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)],
        env=environment,
        cwd=cwd,
        text=True,
        capture_output=True,
        timeout=600,
    )
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done if not check else done.stdout


@pytest.fixture
def python():
    return run_python


#: Functions that tests of the way to the CPU ask for.
_WITHOUT_FORMULA = {f"aten.{name}.default" for name in ("digamma", "i0", "lgamma", "special_i0e", "special_i1e")}


@pytest.fixture
def only_on_the_cpu(monkeypatch):
    """The device does not know some functions, whatever it learns: their formulas are taken away."""
    import torch_spyre._C as extension
    from torch_spyre._inductor import patches

    known = patches._known_decompositions()
    fewer = {op: formula for op, formula in known.items() if str(op) not in _WITHOUT_FORMULA}
    assert len(known) - len(fewer) == len(_WITHOUT_FORMULA)
    monkeypatch.setattr(patches, "_known_decompositions", lambda: fewer)
    extension.clear_eager_cache()
    yield
    extension.clear_eager_cache()
