"""Programs of the CPU are compiled as if we were not there."""

import json

from conftest import run_python

PROGRAM = """
import json, os, re, sys
from unittest import mock
import torch
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.graph import GraphLowering

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 32)
        self.norm = torch.nn.LayerNorm(32)
    def forward(self, x):
        y = self.norm(self.linear(x)).float()
        mask = torch.triu(torch.ones(32, 32), 1).bool()
        scores = (y @ y.t())[:32, :32].masked_fill(mask, -1e4).softmax(-1)
        return torch.nn.functional.gelu(y.half()).sum((0, 1)), scores.var(), torch.arange(4) * y.mean()

def codes():
    torch.manual_seed(0)
    torch._dynamo.reset()
    texts = []
    model, x = Model(), torch.rand(48, 64)
    # Generated, never built: the text is all we compare.
    with mock.patch.object(GraphLowering, "save_output_code", staticmethod(texts.append)), \\
         mock.patch.object(AsyncCompile, "cpp_pybinding", lambda *a, **k: (lambda *b: None)):
        with torch.no_grad():
            torch.compile(model)(x)
        a, b, c = torch.compile(model)(x)
        (a.float() + b).backward()
        torch.compile(lambda t: t.half().softmax(0).sum(), dynamic=True)(x)
    assert len(texts) >= 3, len(texts)
    # Torch numbers the compilations of a process.
    return [re.sub("# AOT ID: .*", "", text) for text in texts]

first = codes()
assert ("torch_spyre" in sys.modules) == (os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "1")
if "torch_spyre" in sys.modules:
    from torch_spyre._inductor.patches import enable_spyre_context
    x = torch.rand(8, 64).half().to("spyre")
    with torch.no_grad():
        torch.compile(lambda t: t.softmax(1).sum(0))(x).cpu()
    assert codes() == first, "changed by a compilation for the device"
    with enable_spyre_context():
        assert codes() == first, "changed by the context"
print(json.dumps(first))
"""


def test_generated_code_is_the_same_with_and_without_us(tmp_path):
    env = {
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
        "TORCHINDUCTOR_VEC_ISA_OK": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    without, with_us = (
        json.loads(run_python(PROGRAM, env={**env, "TORCH_DEVICE_BACKEND_AUTOLOAD": switch}))
        for switch in "01"
    )
    assert without == with_us
    assert any("cpp_fused" in text for text in without)
