"""Eager operations: as on the CPU in type, shape, strides and values, on the device, from a cache."""

import itertools
import random
import warnings

import pytest
import torch
import torch.nn.functional as F
from tolerances import relative_error, tolerance

from torch_spyre import _C
from torch_spyre._inductor.decompositions import register_spyre_decomposition, spyre_decompositions
from torch_spyre.ops import fallbacks
from torch_spyre.ops.fallbacks import FallbackWarning

quiet = pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")


def half(*shape, seed=0, scale=1.0):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * scale).half()


def same(ours, theirs, roundings=4, dtype=torch.float16):
    """Type, shape, density and values of a result, to the precision of dtype; comparisons and
    integers exactly."""
    assert ours.device.type == "spyre"
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    assert ours.is_contiguous() == theirs.is_contiguous()
    if not theirs.is_floating_point():
        assert torch.equal(ours.cpu(), theirs)
    elif theirs.numel():
        dtype = theirs.dtype if theirs.dtype != torch.float32 else dtype
        assert relative_error(ours.float().cpu().numpy(), theirs.float().numpy()) <= tolerance(
            "chain", dtype, roundings
        )


# Random calls ------------------------------------------------------------------------------------

BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "div": lambda a, b: a / (abs(b) + 1),
    "rsub": lambda a, b: 2 - a * b,
    "add alpha": lambda a, b: torch.add(a, b, alpha=0.5),
    "addcmul": lambda a, b: torch.addcmul(a, a, b, value=0.5),
    "lerp": lambda a, b: torch.lerp(a, b, 0.25),
    "where": lambda a, b: torch.where(a > b, a, b),
    "gt": torch.gt,
    "le": torch.le,
    "eq": torch.eq,
}
UNARY = {
    "exp": torch.exp,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "abs": torch.abs,
    "neg": torch.neg,
    "silu": F.silu,
    "gelu": F.gelu,
    "square": torch.square,
    "sum": torch.sum,
    "sum of rows": lambda a: a.sum(-1),
    "mean of columns": lambda a: a.mean(0, keepdim=True),
    "amax": lambda a: a.amax(-1),
    "softmax": lambda a: F.softmax(a, -1),
    "clamp": lambda a: a.clamp(-0.5, 0.5),
    "scalar add": lambda a: a + 1.5,
    "scalar mul": lambda a: 3 * a,
    "scalar div": lambda a: a / 2,
    "scalar compare": lambda a: a < 0.25,
    "to float": lambda a: a.to(torch.float32),
    "to half": lambda a: a.to(torch.float16),
    "clone": torch.clone,
    "cat": lambda a: torch.cat([a, a], -1),
    "stack": lambda a: torch.stack([a, a]),
    "zero-dimensional": lambda a: a * torch.tensor(0.5),
}
VIEWS = {
    "whole": lambda t: t,
    "transposed": lambda t: t.t(),
    "rows": lambda t: t[1:4],
    "columns": lambda t: t[:, 2:],
    "one row": lambda t: t[2],
    "one column": lambda t: t[:, 3],
    "reshaped": lambda t: t.reshape(-1, 2),
    "expanded": lambda t: t[:1].expand(5, -1),
    "with one": lambda t: t.unsqueeze(1),
}
SHAPES = [(5, 70), (6, 64), (8, 8)]


def random_cases(count):
    source = random.Random(20261115)
    names = [("binary", n) for n in BINARY] + [("unary", n) for n in UNARY]
    for number in range(count):
        kind, name = names[number % len(names)]
        shape = source.choice(SHAPES)
        view = source.choice(list(VIEWS))
        dtypes = [source.choice([torch.float16, torch.float32]) for _ in range(2)]
        dtypes = [dtypes[0]] * 2 if kind == "unary" or name == "lerp" else dtypes
        broadcast = source.choice(["same", "row", "number"])
        yield kind, name, shape, view, dtypes, broadcast, number


def run_case(kind, name, shape, view, dtypes, broadcast, number, place):
    a = VIEWS[view](half(*shape, seed=number).to(dtypes[0]).to(place))
    if kind == "unary":
        return UNARY[name](a)
    b = half(*shape, seed=number + 1000).to(dtypes[1]).to(place)
    b = VIEWS[view](b)
    if broadcast == "row" and b.dim() > 1:
        b = b[:1]
    elif broadcast == "number":
        b = b.flatten()[0]
    return BINARY[name](a, b)


@pytest.mark.parametrize("part", range(6))
@quiet
def test_random_calls_are_as_on_the_cpu(part):
    torch.spyre.reset_counters()
    for case in itertools.islice(random_cases(312), part, None, 6):
        try:
            precision = torch.float16 if torch.float16 in case[4] else torch.float32
            same(run_case(*case, "spyre"), run_case(*case, "cpu"), 8, precision)
        except AssertionError as problem:
            raise AssertionError(f"{case}: {problem}") from problem
    assert torch.spyre.fallback_counts() == {}
    assert torch.spyre.counters()["programs_launched"] >= 52


# Coverage ----------------------------------------------------------------------------------------

X, Y, SQUARE = half(6, 64), half(6, 64, seed=1), half(64, 64, seed=2, scale=0.2)
ON_DEVICE = {
    "addmm": lambda x, y, s: torch.addmm(y, x, s),
    "addmm scaled": lambda x, y, s: torch.addmm(y, x, s, beta=0.5, alpha=2),
    "linear": lambda x, y, s: F.linear(x, s, y[0]),
    "mv": lambda x, y, s: s @ x[0],
    "tril": lambda x, y, s: s.tril(),
    "logsumexp": lambda x, y, s: x.logsumexp(-1),
    "group_norm": lambda x, y, s: F.group_norm(x.reshape(2, 3, 64), 1),
    "mse_loss": lambda x, y, s: F.mse_loss(x, y),
    "bmm": lambda x, y, s: torch.bmm(x.reshape(2, 3, 64), s.expand(2, 64, 64)),
    "matmul of views": lambda x, y, s: x[1:5] @ s.t(),
    "layer_norm": lambda x, y, s: F.layer_norm(x, (64,), y[0], y[1]),
    "layer_norm results": lambda x, y, s: torch.native_layer_norm(x, (64,), None, None, 1e-5)[0],
    "rms_norm": lambda x, y, s: F.rms_norm(x, (64,), y[0], 1e-3),
    "softplus": lambda x, y, s: F.softplus(x),
    "mish": lambda x, y, s: F.mish(x),
    "floor of a quotient": lambda x, y, s: torch.div(x, 0.25, rounding_mode="floor"),
    "leaky_relu": lambda x, y, s: F.leaky_relu(x, 0.1),
    "elu": lambda x, y, s: F.elu(x),
    "hardtanh": lambda x, y, s: F.hardtanh(x),
    "logical_not": lambda x, y, s: torch.logical_not(x > 0),
    "bitwise_not": lambda x, y, s: ~(x > 0),
    "bitwise_and": lambda x, y, s: (x > 0) & (y > 0),
    "sign": lambda x, y, s: torch.sign(x),
    "ceil": lambda x, y, s: torch.ceil(x),
    "floor": lambda x, y, s: torch.floor(x * 4),
    "reciprocal": lambda x, y, s: torch.reciprocal(x.abs() + 1),
    "rsqrt": lambda x, y, s: torch.rsqrt(x.abs() + 1),
    "sqrt": lambda x, y, s: torch.sqrt(x.abs()),
    "log": lambda x, y, s: torch.log(x.abs() + 1),
    "pow": lambda x, y, s: x**2,
    "vector norm": lambda x, y, s: torch.linalg.vector_norm(x, dim=-1),
    "where numbers": lambda x, y, s: torch.where(x > 0, x, 0.0),
    "masked_fill": lambda x, y, s: x.masked_fill(x > 0, -1.0),
    "constant_pad_nd": lambda x, y, s: F.pad(x, (0, 64), value=1.0),
    "max of all": lambda x, y, s: x.max(),
    "embedding": lambda x, y, s: F.embedding(torch.tensor([[3, 1, 3]], device=s.device), s),
    "index_select": lambda x, y, s: s.index_select(0, torch.tensor([5, 0], device=s.device)),
    "index": lambda x, y, s: s[[4, 2, 4]],
    "attention": lambda x, y, s: F.scaled_dot_product_attention(
        *(t.reshape(1, 2, 3, 64) for t in (x, y, x))
    ),
    "causal attention": lambda x, y, s: F.scaled_dot_product_attention(
        *(t.reshape(1, 2, 3, 64) for t in (x, y, x)), is_causal=True
    ),
    "var": lambda x, y, s: x.var(-1),
    "repeat": lambda x, y, s: x.repeat(2, 1),
}


def test_layer_norm_has_whole_rows(on_device):
    """Also of images whose channels came first: models view them as rows."""
    x = half(2, 64, 9).transpose(1, 2)
    with on_device():
        result = F.layer_norm(x.to("spyre"), (64,)).view(18, 64)
    same(result, F.layer_norm(x.float(), (64,)).reshape(18, 64).half(), roundings=16)


@pytest.mark.parametrize("name", ON_DEVICE)
def test_operations_on_the_device(name):
    function = ON_DEVICE[name]
    expected = function(X.float(), Y.float(), SQUARE.float())
    expected = expected.half() if expected.is_floating_point() else expected
    arguments = [t.to("spyre") for t in (X, Y, SQUARE)]
    torch.spyre.reset_counters()
    got = function(*arguments)
    assert torch.spyre.fallback_counts() == {}
    assert torch.spyre.counters()["programs_launched"] >= 1
    same(got, expected, roundings=16)


class Block(torch.nn.Module):
    """One layer of a GPT."""

    def __init__(self, width=64, heads=2):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            t.view(batch, length, self.heads, -1).transpose(1, 2)
            for t in self.qkv(self.norm1(x)).split(width, dim=2)
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


@pytest.mark.parametrize("grad", [False, True])
def test_a_block_of_a_gpt_needs_no_cpu(grad):
    torch.manual_seed(0)
    block = Block()
    x = half(2, 16, 64, scale=0.5)
    with torch.set_grad_enabled(grad):
        expected = block(x.float()).detach()
        ours, y = block.half().to("spyre"), x.to("spyre")
        torch.spyre.reset_counters()
        got = ours(y)
    assert torch.spyre.fallback_counts() == {}
    assert torch.spyre.counters()["h2d_bytes"] <= 16 * 128, "at most a mask"
    assert torch.spyre.counters()["d2h_bytes"] == 0
    assert relative_error(got.detach().float().cpu().numpy(), expected.numpy()) <= tolerance(
        "chain", torch.float16, 24
    )
    if grad:
        got.sum().backward()
        assert all(p.grad is not None for p in ours.parameters())
        assert torch.spyre.fallback_counts() == {}


# In place and out= -------------------------------------------------------------------------------


def test_written_arguments(on_device):
    a, b = half(6, 64), half(6, 64, seed=1)
    x, y = a.to("spyre"), b.to("spyre")
    out, wide = torch.empty_like(x), torch.empty(6, 64, device="spyre")
    with on_device():
        assert torch.add(x, y, out=out) is out
        torch.mul(x, y, out=wide)
        z = x.clone()
        z[1:3].mul_(0.5)
        z[:, :64].add_(y)
        w = x.clone()
        assert w.add_(1) is w
        torch.exp(x[2:4], out=w[0:2])
    same(out, a + b)
    same(wide, (a.float() * b.float()))
    expected = a.clone()
    expected[1:3] *= 0.5
    expected += b
    same(z, expected)
    expected = a + 1
    expected[0:2] = a[2:4].exp()
    same(w, expected)


def test_what_cannot_be_written():
    x = torch.ones(4, 4, dtype=torch.int32, device="spyre")
    with pytest.raises(RuntimeError, match="result type Float can't be cast"):
        x.add_(1.5)
    y = torch.ones(1, 4, dtype=torch.float16, device="spyre")
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        y.expand(4, 4).add_(1)
    with pytest.raises(RuntimeError, match="shape|size"):
        y.add_(torch.ones(4, 4, dtype=torch.float16, device="spyre"))
    z = torch.ones(8, dtype=torch.float16, device="spyre")
    with pytest.raises(RuntimeError, match="overlap|unsupported operation"):
        torch.exp(z[:6], out=z[1:7])


def test_out_is_resized_and_keeps_its_identity(on_device):
    out = torch.empty(0, dtype=torch.float16, device="spyre")
    with on_device():
        assert torch.exp(X.to("spyre"), out=out) is out
    same(out, X.exp())


@pytest.mark.parametrize(
    "pair",
    [("float16", "float32"), ("float32", "float16"), ("float16", "bfloat16"), ("bool", "float16"), ("float16", "bool")],
)
def test_types_are_converted_on_the_device(pair):
    source, target = (getattr(torch, name) for name in pair)
    a = (X > 0) if source is torch.bool else X.to(source)
    x = a.to("spyre")
    torch.spyre.reset_counters()
    y = x.to(target)
    assert torch.spyre.counters()["h2d_bytes"] == torch.spyre.counters()["d2h_bytes"] == 0
    same(y, a.to(target))


# Speed -------------------------------------------------------------------------------------------


def test_calls_are_cached_by_everything_the_program_depends_on():
    _C.clear_eager_cache()
    x = half(5, 66).to("spyre")
    wide = x.float()

    def misses(function):
        before = torch.spyre.counters()["compile_cache_misses"]
        function()
        return torch.spyre.counters()["compile_cache_misses"] - before

    assert misses(lambda: x + x) == 1
    assert misses(lambda: (x + x, x.clone().add_(x))) <= 1, "in-place calls share the program"
    new = [lambda: x + 1, lambda: x + 1.0, lambda: x + 2.0, lambda: wide + wide, lambda: x[1:] + x[1:]]
    for call in new:
        assert misses(call) == 1 and misses(call) == 0


# Fallbacks ---------------------------------------------------------------------------------------


@quiet
def test_sizes_that_depend_on_values_come_from_the_cpu():
    x = torch.tensor([0.0, 2.0, 0.0, 3.0]).half()
    y = x.to("spyre")
    assert torch.equal(torch.nonzero(y).cpu(), torch.nonzero(x))
    assert torch.equal(torch.masked_select(y, y > 0).cpu(), torch.masked_select(x, x > 0))
    assert y.nonzero().device.type == "spyre"


@pytest.mark.parametrize(
    "function",
    [
        lambda t: t + 1,
        lambda t: t * t,
        lambda t: torch.exp(t),
        lambda t: t @ t.t(),
        lambda t: F.softmax(t, -1),
        lambda t: torch.cat([t, t]),
        lambda t: t.add_(1),
        lambda t: torch.where(t > 0, t, t),
        lambda t: t.to(torch.float32),
        lambda t: t.sum(),
        lambda t: t.sum(1),
    ],
)
@quiet
def test_tensors_without_elements(function):
    empty = torch.empty(0, 64, dtype=torch.float16)
    theirs, ours = function(empty.clone()), function(empty.to("spyre"))
    assert ours.device.type == "spyre" and ours.dtype == theirs.dtype
    assert torch.equal(ours.cpu(), theirs)


def test_tensors_of_two_devices():
    x = torch.ones(4, dtype=torch.float16, device="spyre")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        x + torch.ones(4, dtype=torch.float16)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.cat([x, torch.ones(4, dtype=torch.float16)])
    assert (x + torch.tensor(1.0)).cpu().tolist() == [2.0] * 4
    index = torch.tensor([0, 2])
    assert x[index].shape == (2,)  # as on other devices, the one place where the CPU may help
    for call in (x.index_select, x.index_fill, x.index_add, x.gather):
        rest = {"index_fill": (1.0,), "index_add": (x[:2],)}.get(call.__name__, ())
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            call(0, index, *rest)


@pytest.fixture
def own_operations():
    """Operations of a user's own library, gone after the test."""
    library = torch.library.Library("spyretest", "DEF")
    yield library
    library._destroy()


def test_a_fallback_of_the_users(own_operations):
    own_operations.define("scaled(Tensor[] x, float by, *, Tensor? shift=None) -> Tensor")
    own_operations.define("halve_(Tensor(a!) x) -> Tensor(a!)")

    @fallbacks.register_fallback(torch.ops.spyretest.scaled.default)
    def scaled(x, by, *, shift=None):
        assert all(t.device.type == "cpu" for t in x)
        assert x[0] is x[1], "aliases stay aliases"
        return sum(x) * by + (0 if shift is None else shift)

    @fallbacks.register_fallback(torch.ops.spyretest.halve_.default)
    def halve_(x):
        return x.mul_(0.5)

    a = torch.ones(3, device="spyre")
    torch.spyre.reset_counters()
    with pytest.warns(FallbackWarning, match="spyretest.scaled.default is falling back to cpu"):
        result = torch.ops.spyretest.scaled([a, a], 2.0, shift=a)
    assert result.device.type == "spyre" and result.cpu().tolist() == [5.0] * 3
    with pytest.warns(FallbackWarning, match="spyretest.halve_"):
        assert torch.ops.spyretest.halve_(a) is a
    assert a.cpu().tolist() == [0.5] * 3
    assert torch.spyre.fallback_counts() == {
        "spyretest.scaled.default": 1,
        "spyretest.halve_.default": 1,
    }
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ops.spyretest.scaled([a, torch.ones(3)], 2.0)


def test_a_fallback_with_out(own_operations):
    own_operations.define("twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    fallbacks.register_fallback(torch.ops.spyretest.twice.out)(lambda x, *, out: x * 2)
    a, out = torch.ones(3, device="spyre"), torch.empty(0, device="spyre")
    with pytest.warns(FallbackWarning):
        assert torch.ops.spyretest.twice(a, out=out) is out
    assert out.cpu().tolist() == [2.0] * 3


def test_a_default_fallback_is_the_operation_itself(own_operations):
    own_operations.define("negated(Tensor x) -> Tensor")
    own_operations.impl("negated", lambda x: -x, "CPU")
    fallbacks.register_fallback_default(torch.ops.spyretest.negated)
    assert torch.ops.spyretest.negated.default in fallbacks.fallback_ops
    with pytest.warns(FallbackWarning, match="spyretest.negated.default is falling back to cpu"):
        result = torch.ops.spyretest.negated(torch.ones(2, device="spyre"))
    assert result.cpu().tolist() == [-1.0, -1.0]


def test_a_decomposition_of_the_users_runs_eagerly(own_operations):
    own_operations.define("hill(Tensor x) -> Tensor")
    own_operations.impl("hill", lambda x: 1 / (1 + x * x), "CPU")
    torch.library.register_fake("spyretest::hill", lambda x: torch.empty_like(x), lib=own_operations)
    x = half(6, 64).to("spyre")
    with pytest.warns(FallbackWarning, match="spyretest.hill.default"):
        torch.ops.spyretest.hill(x)

    @register_spyre_decomposition(torch.ops.spyretest.hill.default)
    def hill(x):
        return torch.reciprocal(x * x + 1)

    try:
        torch.spyre.reset_counters()
        got = torch.ops.spyretest.hill(x)
        counters = torch.spyre.counters()
        assert counters["fallback_ops"] == 0 and counters["programs_launched"] == 1
        same(got, (1 / (1 + half(6, 64).float() ** 2)).half(), roundings=8)
    finally:
        spyre_decompositions.pop(torch.ops.spyretest.hill.default)


def test_a_kernel_of_the_users(own_operations):
    own_operations.define("shift(Tensor x, float by) -> Tensor")
    torch.library.register_kernel(
        "spyretest::shift", "spyre", lambda x, by: x + by, lib=own_operations
    )
    x = torch.zeros(3, dtype=torch.float16, device="spyre")
    torch.spyre.reset_counters()
    assert torch.ops.spyretest.shift(x, 1.5).cpu().tolist() == [1.5] * 3
    assert torch.spyre.counters()["fallback_ops"] == 0


def test_eager_mode_can_be_switched_off():
    x = torch.ones(4, dtype=torch.float16).to("spyre")
    doubled = torch.compile(lambda t: t + t)
    _C._set_eager_enabled(False)
    try:
        for call in (lambda: x + x, lambda: torch.lgamma(x), lambda: x.add_(1)):
            with pytest.raises(RuntimeError, match="SPYRE-E6530.*torch.compile"):
                call()
        assert x.cpu().sum() == 4 and x[1:].clone().shape == (3,)
        assert doubled(x).cpu().tolist() == [2.0] * 4
    finally:
        _C._set_eager_enabled(True)


def test_eager_mode_is_a_variable_of_the_environment(python):
    program = "import torch; x = torch.ones(2, device='spyre'); x + x"
    off = python(program, env={"EAGER_MODE": "0"}, check=False)
    assert off.returncode == 1 and "SPYRE-E6530" in off.stderr


@pytest.mark.parametrize("policy", ["silent", "error", "maybe"])
def test_fallbacks_can_be_forbidden_or_silent(policy, monkeypatch, only_on_the_cpu):
    x = torch.ones(4, dtype=torch.float16).to("spyre")
    monkeypatch.setenv("TORCH_SPYRE_CPU_FALLBACK", policy)
    fallbacks._policy.cache_clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FallbackWarning)
            if policy == "silent":
                assert torch.lgamma(x).cpu().tolist() == [0.0] * 4
            else:
                kind, code = (RuntimeError, "E6531") if policy == "error" else (ValueError, "E6508")
                with pytest.raises(kind, match=code):
                    torch.lgamma(x)
    finally:
        monkeypatch.undo()
        fallbacks._policy.cache_clear()


def test_numbers_that_change_are_not_compiled_again_and_again():
    x = half(6, 64).to("spyre")
    for step in range(12):
        x * (step + 0.5), x.clone().addcdiv_(x, x.abs() + 1, value=step / 16)
    before = torch.spyre.counters()["compile_cache_misses"]
    got = [x * 0.3125, torch.addcdiv(x.clone(), x, x.abs() + 1, value=0.8125)]
    assert torch.spyre.counters()["compile_cache_misses"] == before
    y = half(6, 64)
    same(got[0], y * 0.3125)
    same(got[1], torch.addcdiv(y.float(), y.float(), y.float().abs() + 1, value=0.8125).half(), 8)


def test_warnings_are_given_once_per_line(only_on_the_cpu):
    x = half(4, 64).to("spyre")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", FallbackWarning)
        for _ in range(2):
            torch.lgamma(x)
        torch.lgamma(x)
    assert len(caught) == 2


def test_programs_of_copies_are_limited():
    import torch_spyre._C as extension

    x = torch.arange(64 * 80, dtype=torch.float32).reshape(64, 80).to("spyre")
    y = torch.zeros(64, 80).to("spyre")
    extension._limit_copy_programs(4)
    try:
        for i in range(12):
            y[i].copy_(x[i + 1])
        assert extension._copy_programs() == 4  # of 12
        assert torch.equal(y[:12].cpu(), x[1:13].cpu())
    finally:
        extension._limit_copy_programs(4096)


def test_decompositions_do_not_wait_for_inductor(python):
    """A process that compiles nothing: torch's compiler is not imported, nor needed."""
    code = """
import sys
import torch

x = torch.ones(3, 5).half().to("spyre")
torch.spyre.reset_counters()
assert torch.sin(x).cpu().shape == (3, 5)
assert torch.spyre.counters()["fallback_ops"] == 0
print("torch._inductor.inductor_prims" in sys.modules)
"""
    assert python(code).strip() == "False"
