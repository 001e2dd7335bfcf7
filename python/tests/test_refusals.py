"""Calls that torch refuses raise torch's error and nothing else; calls that run on the CPU say why."""

import warnings

import pytest
import torch
import torch.nn.functional as F
import torch_spyre

from torch_spyre.ops.fallbacks import FallbackWarning


def ones(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype)


def places(*shape):
    return ones(*shape, dtype=torch.int64) * 0


#: Tensors, and a call of them that torch refuses.
WRONG = {
    "mm": ([ones(2, 3), ones(2, 3)], lambda x, y: x @ y),
    "add": ([ones(2, 3), ones(2, 4)], lambda x, y: x + y),
    "add_": ([ones(2, 3), ones(3, 3)], lambda x, y: x.add_(y)),
    "sum": ([ones(2, 3)], lambda x: x.sum(5)),
    "softmax": ([ones(2, 3)], lambda x: x.softmax(5)),
    "cat": ([ones(2, 3), ones(2, 4)], lambda x, y: torch.cat([x, y])),
    "stack": ([ones(2, 3), ones(3)], lambda x, y: torch.stack([x, y])),
    "gather": ([ones(2, 3), places(4, 4)], lambda x, i: x.gather(0, i)),
    "gather by fractions": ([ones(2, 3), ones(2, 3)], lambda x, i: x.gather(0, i)),
    "index_select": ([ones(2, 3), places(1)], lambda x, i: x.index_select(7, i)),
    "where": ([ones(2, 3), ones(2, 5)], lambda x, y: torch.where(x > 0, x, y)),
    "layer_norm": ([ones(2, 3)], lambda x: F.layer_norm(x, (4,))),
    "conv2d": ([ones(1, 3, 8, 8), ones(4, 2, 3, 3)], lambda x, w: F.conv2d(x, w)),
    "bmm": ([ones(2, 3, 4), ones(2, 3, 4)], lambda x, y: torch.bmm(x, y)),
    "sort": ([ones(2, 3)], lambda x: x.sort(4)),
    "topk": ([ones(2, 3)], lambda x: x.topk(9)),
    "cumsum": ([ones(2, 3)], lambda x: x.cumsum(4)),
    "inv": ([ones(2, 3)], lambda x: torch.linalg.inv(x)),
    "cholesky": ([ones(2, 3)], lambda x: torch.linalg.cholesky(x)),
    "lgamma_ of integers": ([places(3)], lambda x: x.lgamma_()),
    "cross_entropy": ([ones(2, 3), places(3)], lambda x, y: F.cross_entropy(x, y)),
}
#: Calls with tensors of two devices.
TWO_DEVICES = {
    "add": lambda x: x + ones(2, 3),
    "mm": lambda x: x @ ones(3, 2),
    "linear": lambda x: F.linear(x, ones(3, 3)),
    "embedding": lambda x: F.embedding(places(1), x),
    "where": lambda x: torch.where(x > 0, x, ones(2, 3)),
    "lerp": lambda x: torch.lerp(x, ones(2, 3), 0.5),
    "sort into": lambda x: torch.sort(x, out=(ones(2, 3), places(2, 3))),
    "index_select": lambda x: x.index_select(0, places(1)),
    "digamma into": lambda x: torch.digamma(x, out=ones(2, 3)),
}


@pytest.fixture
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        yield


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.usefixtures("no_warning")
def test_wrong_shapes_and_dims_give_torchs_error_alone(name):
    tensors, function = WRONG[name]
    with pytest.raises((RuntimeError, IndexError, ValueError, TypeError)) as expected:
        function(*tensors)
    with pytest.raises(expected.type) as found:
        function(*[t.to("spyre") for t in tensors])
    assert str(found.value).split("\n")[0] == str(expected.value).split("\n")[0]


@pytest.mark.parametrize("name", TWO_DEVICES)
@pytest.mark.usefixtures("no_warning")
def test_two_devices_give_torchs_error_alone(name):
    with pytest.raises(RuntimeError, match="device"):
        TWO_DEVICES[name](ones(2, 3).to("spyre"))


ON_THE_CPU = {
    "nonzero": (lambda x: x.nonzero(), "sizes depend on values"),
    "randn": (lambda x: torch.randn(3, device=x.device), "random numbers"),
    "unique": (lambda x: x.unique(), "its formula|sizes depend on values|no kernel and no formula"),
    "wide number": (lambda x: x.to(torch.int64) + 2**40, "32 bits"),
    "mask": (lambda x: x[torch.tensor([True, False])], "."),
}


@pytest.mark.parametrize("name", ON_THE_CPU)
@pytest.mark.filterwarnings("ignore:Spyre does not support int64")
def test_every_fallback_says_why(name):
    function, reason = ON_THE_CPU[name]
    x = ones(2, 3).to("spyre")
    with pytest.warns(FallbackWarning, match=rf"is falling back to cpu: gate \d \(\w+\): .*{reason}"):
        function(x)


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_a_registered_function_says_so():
    library = torch.library.Library("spyrewhy", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    torch_spyre.ops.fallbacks.register_fallback(torch.ops.spyrewhy.twice)(lambda x: x * 2)
    with pytest.warns(FallbackWarning, match="spyrewhy.twice.default .*: it was registered to run on cpu"):
        assert torch.ops.spyrewhy.twice(ones(3).to("spyre")).tolist() == [2, 2, 2]


def test_a_refused_fallback_changes_nothing(python):
    python(
        """
import torch
x = torch.ones(3).to("spyre")
try:
    x.normal_()
except RuntimeError as error:
    assert "SPYRE-E6531" in str(error) and "gate 1" in str(error), error
else:
    raise AssertionError
assert x.tolist() == [1, 1, 1]
""",
        env={"TORCH_SPYRE_CPU_FALLBACK": "error"},
    )


def test_modules_of_float64_have_the_number_of_tensors():
    with pytest.raises(ValueError, match="SPYRE-E6502: torch.float64 .*torch.float32"):
        torch.nn.Linear(2, 3).double().to("spyre")
    with pytest.raises(RuntimeError, match="SPYRE-E6502"):
        ones(3).double().to("spyre")
    assert torch.nn.Linear(2, 3).double().to("spyre", torch.float32).weight.dtype == torch.float32


def test_fork_rng_forks_all_cards_silently():
    torch.spyre.manual_seed_all(7)
    before = torch.spyre.get_rng_state_all()
    torch.random._fork_rng_warned_already = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.random.fork_rng():
            torch.spyre.manual_seed_all(8)
            torch.manual_seed(9)
        with torch.random.fork_rng(device_type="spyre"), torch.random.fork_rng(devices=[0]):
            torch.spyre.manual_seed(8)
    assert all(map(torch.equal, before, torch.spyre.get_rng_state_all()))


@pytest.mark.filterwarnings("ignore:.*is deprecated")
def test_traces_are_checked(on_device):
    x = torch.randn(2, 3, generator=torch.Generator().manual_seed(1))
    model = torch.nn.Linear(3, 4)
    expected = model(x).relu()
    model.to("spyre")
    with on_device(), warnings.catch_warnings():
        warnings.simplefilter("error", torch.jit.TracerWarning)
        traced = torch.jit.trace(torch.nn.Sequential(model, torch.nn.ReLU()), x.to("spyre"))
        result = traced(x.to("spyre"))
    torch.testing.assert_close(result.cpu(), expected)
    other = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    with pytest.raises(torch.jit.TracingCheckError, match="Graphs differed across invocations"):
        torch.jit.trace(lambda x: x * next(other), x.to("spyre"))


class Inverse(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.inv(x) * 2


@pytest.mark.filterwarnings("ignore")
def test_exported_checks_of_values_are_no_outputs():
    program = torch_spyre.compile_exported(torch.export.export(Inverse(), (torch.eye(3) * 2,)))
    x = torch.eye(3) * 4 + 0.5
    torch.testing.assert_close(program(x.to("spyre")).cpu(), Inverse()(x), rtol=1e-4, atol=1e-5)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x):
        return self.linear(x).relu()


@pytest.mark.filterwarnings("ignore")
def test_programs_are_saved_for_tensors_of_the_cpu(tmp_path):
    program = torch_spyre.compile_exported(torch.export.export(Layer(), (ones(2, 3),)))
    program.save(tmp_path / "cpu", ones(2, 3))
    program.save(tmp_path / "spyre", ones(2, 3).to("spyre"))
    files = [
        sorted((str(path.relative_to(root)), path.read_bytes()) for path in root.rglob("*") if path.is_file())
        for root in (tmp_path / "cpu", tmp_path / "spyre")
    ]
    assert files[0] == files[1] and len(files[0]) > 3


@pytest.mark.filterwarnings("ignore")
def test_packages_of_aotinductor_are_refused_with_a_way_out(tmp_path):
    program = torch.export.export(Layer().to("spyre"), (ones(2, 3).to("spyre"),))
    with pytest.raises(Exception, match=r"SPYRE-E6520: AOTInductor .*compile_exported\(program\).save"):
        torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "model.pt2"))
