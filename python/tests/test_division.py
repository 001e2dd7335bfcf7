"""What the planners refuse, as users see it: a number, the values, the limit and the way out."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
import torch


@pytest.fixture
def narrow_machine(tmp_path):
    """Runs code on a machine whose cores reach 1 MiB of a tensor: documented shapes, scaled down."""
    machine = json.loads(torch.spyre.device_description())
    machine["spanLimitBytes"] = 1 << 20
    path = tmp_path / "narrow.json"
    path.write_text(json.dumps(machine))

    def run(code, **environment):
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env=os.environ | {"SPYRE_DEVICE_DESC": str(path)} | environment,
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    return run


# G-S12: m is rows of one tensor and 37 sticks of the other.
TURNED = """
    import torch
    x = (torch.arange(2 * 2368 * 256) % 251).reshape(2, 2368, 256).half()
    turned = torch.compile(lambda x: x.transpose(1, 2).contiguous())
    result = turned(x.to("spyre"))
    assert torch.equal(result.cpu(), x.transpose(1, 2)), "numbers"
    assert torch.spyre.counters()["fallback_ops"] == 0
"""


@pytest.mark.parametrize("planner", ["compat", "compat-s1"])
def test_sticks_without_a_fitting_divisor(narrow_machine, planner):
    done = narrow_machine(TURNED, SPYRE_PLANNER=planner)
    assert done.returncode != 0
    assert "SPYRE-E3062" in done.stderr
    assert "its 37 sticks can be cut in {1} slices" in done.stderr
    assert "of 1048576 bytes; pad" in done.stderr


def test_the_best_planner_runs_it_in_tiles(narrow_machine):
    done = narrow_machine(TURNED)
    assert done.returncode == 0, done.stderr
