"""Arithmetic of integers on the device, eager and compiled: exact, and wrapping in 32 bits."""

import pytest
import torch

INTEGERS = [torch.int32, torch.int64]
LARGEST = 2**31 - 1


def numbers(*shape, dtype=torch.int64, low=-9, high=10, seed=3):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def divisors(*shape, dtype=torch.int64):
    """Without 0, which the CPU refuses."""
    return numbers(*shape, dtype=dtype, low=1, high=6, seed=4) * torch.where(
        numbers(*shape, low=0, high=2, seed=5) == 1, 1, -1
    ).to(dtype)


OPERATIONS = {
    "sums": lambda x, y: (x + y, x - y, 7 - x, x + 3, torch.add(x, y, alpha=-2)),
    "products": lambda x, y: (x * y, x * -4, x.square(), x**3, x**0),
    "signs": lambda x, y: (-x, x.abs(), x.sign(), torch.relu(x)),
    "extremes": lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), x.clamp(-3, 4)),
    "bounds": lambda x, y: (x.clamp(min=-2), x.clamp(max=1), x.clamp_min(0), x.clamp_max(-1)),
    "quotients": lambda x, y: (x // y, x // 3, x // -4, torch.div(x, y, rounding_mode="trunc")),
    "rests": lambda x, y: (x % y, x % 5, x % -3, torch.fmod(x, y), torch.fmod(x, 4)),
    "comparisons": lambda x, y: (x == y, x != 2, x > y, x >= -1, x < y, x <= 2.5),
    "choices": lambda x, y: (torch.where(x > y, x, y), torch.where(x == 0, 7, x)),
    "bits": lambda x, y: (x & y, x | y, x ^ y, ~x, x & 6, x ^ 5),
    "shifts": lambda x, y: (x << 3, x >> 1, x << y.abs(), x >> y.abs()),
    "truth": lambda x, y: (
        torch.logical_and(x, y),
        torch.logical_or(x, y),
        torch.logical_xor(x, y),
        torch.logical_not(x),
    ),
    "sums of many": lambda x, y: (x.sum(), x.sum(0), x.sum(-1, keepdim=True), (x > 0).sum(1)),
    "extremes of many": lambda x, y: (x.amax(1), x.amin(0), x.max(), x.min()),
    "products of many": lambda x, y: (y.prod(0), (y > 0).long().prod(1)),
    "truths of many": lambda x, y: (x.any(1), x.all(0), (x == 3).any()),
    "to others": lambda x, y: (x.float(), x.half(), x.bool(), x.to(torch.int32), x.long()),
    "with others": lambda x, y: (x + 0.5, x * y.float(), x / y, x > y.float(), x + (y > 0)),
    "parts": lambda x, y: (torch.cat([x, y]), torch.cat([x, y.float()]), x.t() + 1, x[1:, ::2] * 2),
}


def same(results, expected):
    for number, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        assert result.dtype == wanted.dtype and result.shape == wanted.shape, number
        assert torch.equal(result.cpu(), wanted), (number, result.cpu(), wanted)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_compiled(name, dtype, on_device):
    function, x, y = OPERATIONS[name], numbers(5, 67, dtype=dtype), divisors(5, 67, dtype=dtype)
    with on_device():
        results = torch.compile(function)(x.to("spyre"), y.to("spyre"))
    same(results, function(x, y))


@pytest.mark.parametrize("name", OPERATIONS)
def test_eager(name, on_device):
    function, x, y = OPERATIONS[name], numbers(5, 67), divisors(5, 67)
    device = x.to("spyre"), y.to("spyre")
    with on_device():
        results = function(*device)
    same(results, function(x, y))


@pytest.mark.parametrize("shape", [(), (1,), (63,), (64,), (65,), (3, 1, 130), (2, 3, 2, 3, 5)])
def test_shapes(shape, on_device):
    x, y = numbers(*shape), divisors(*shape)
    device = x.to("spyre"), y.to("spyre")
    with on_device():
        results = device[0] * device[1] - 3, device[0] // device[1], device[0].sum()
    same(results, (x * y - 3, x // y, x.sum()))


def test_thirty_two_bits_wrap_as_on_the_cpu(on_device):
    x = torch.tensor([LARGEST, -LARGEST - 1, LARGEST - 1, 65536, -1], dtype=torch.int32)
    device = x.to("spyre")
    with on_device():
        results = device + 1, device * device, -device, device.abs(), device << 1, device >> 31
    same(results, (x + 1, x * x, -x, x.abs(), x << 1, x >> 31))


def test_sums_wrap_in_thirty_two_bits_however_wide_they_are(on_device):
    x = torch.full((3, 70), LARGEST, dtype=torch.int32)
    with on_device():
        result = x.to("spyre").sum(1)
    wrapped = (LARGEST * 70 + 2**31) % 2**32 - 2**31
    assert result.dtype == torch.int64 and result.cpu().tolist() == [wrapped] * 3


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_bounds_beyond_the_device_stay_bounds(how, on_device):
    """One number beyond 32 bits is the nearest that the device has: it still bounds all others."""
    most, least = torch.iinfo(torch.int64).max, torch.iinfo(torch.int64).min

    def function(x, bound):
        largest = torch.where(x > 2, least, x).amax()
        smallest = torch.where(x > 2, x, most).amin()
        return largest, smallest, torch.minimum(x, bound), x.masked_fill(x > 2, least).amax()

    x, bound = torch.arange(6), torch.tensor(most)
    device = x.to("spyre"), bound.to("spyre")
    with on_device():
        results = (function if how == "eager" else torch.compile(function))(*device)
    same(results, function(x, bound))
    assert torch.full((3,), most, device="spyre").tolist() == [LARGEST] * 3


def test_division_by_nothing_is_nothing(on_device):
    x, zero = numbers(40), torch.zeros(40, dtype=torch.int64)
    with on_device():
        results = x.to("spyre") // zero.to("spyre"), x.to("spyre") % zero.to("spyre")
    same(results, (zero, x))


def test_the_smallest_integer_divided_by_minus_one_wraps(on_device):
    x = torch.full((3,), -LARGEST - 1, dtype=torch.int32)
    with on_device():
        results = [x.to("spyre") // -1, x.to("spyre") % -1]
    assert results[0].cpu().tolist() == x.tolist() and results[1].cpu().tolist() == [0] * 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_floats_are_cut(dtype, on_device):
    x = torch.tensor([0.0, -0.0, 0.5, -0.5, 1.75, -1.75, 300.0, -300.0, 2.0, -2.0]).to(dtype)
    with on_device():
        results = [x.to("spyre").to(kind) for kind in INTEGERS]
    same(results, [x.to(kind) for kind in INTEGERS])


def test_floats_beyond_the_integers_saturate(on_device):
    x = torch.tensor([3e9, -3e9, float("inf"), -float("inf"), float("nan"), 2.0**31, -(2.0**31)])
    with on_device():
        result = x.to("spyre").to(torch.int32)
    low = -LARGEST - 1
    assert result.cpu().tolist() == [LARGEST, low, LARGEST, low, 0, LARGEST, low]


def test_integers_round_to_the_nearest_float(on_device):
    x = torch.tensor([2**24 + 1, 2**24 + 3, -(2**24) - 1, LARGEST, -LARGEST - 1], dtype=torch.int32)
    with on_device():
        result = x.to("spyre").float()
    assert torch.equal(result.cpu(), x.float())


def test_in_place_and_out(on_device):
    x, y = numbers(5, 67), divisors(5, 67)
    device, other = x.to("spyre"), y.to("spyre")
    out = torch.empty(5, 67, dtype=torch.int64, device="spyre")
    with on_device():
        device.add_(other).mul_(3).bitwise_and_(255)
        torch.floor_divide(device, other, out=out)
        device[2] //= 2
    wanted = ((x + y) * 3) & 255
    assert torch.equal(out.cpu(), wanted // y)
    wanted[2] //= 2
    assert torch.equal(device.cpu(), wanted)


@pytest.mark.parametrize("dim", [0, 1, -1, None])
def test_places_of_extremes_are_the_first(dim, on_device):
    x = numbers(6, 70, low=-3, high=4)
    device = x.to("spyre")
    with on_device():
        places = device.argmax(dim), device.argmin(dim)
        pairs = [] if dim is None else [*device.max(dim), *device.min(dim)]
    for mine, largest in zip(places, (True, False)):
        flat = x.reshape(-1) if dim is None else x
        best = flat.amax(dim or 0, True) if largest else flat.amin(dim or 0, True)
        count = flat.shape[dim or 0]
        order = torch.arange(count).reshape([-1, 1] if dim == 0 else [-1])
        first = torch.where(flat == best, order, count).amin(dim or 0)
        assert mine.dtype == torch.int64 and torch.equal(mine.cpu(), first)
    if pairs:
        assert torch.equal(pairs[0].cpu(), x.amax(dim)) and torch.equal(pairs[2].cpu(), x.amin(dim))


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_numbers_the_device_does_not_have_run_on_the_cpu():
    x = numbers(4, 5)
    torch.spyre.reset_counters()
    result = torch.minimum(x.to("spyre"), torch.full((), 1, device="spyre").long()) + 0
    assert torch.equal(result.cpu(), torch.minimum(x, torch.tensor(1)))
    assert torch.spyre.counters()["fallback_ops"] == 0
    assert torch.equal((x.to("spyre") == 2**40).cpu(), x == 2**40)
    assert torch.spyre.counters()["fallback_ops"] == 1
    small = x.to(torch.int8)
    assert torch.equal((small.to("spyre") == 300).cpu(), small == 300)
    assert torch.spyre.counters()["fallback_ops"] == 2


def test_empty(on_device):
    x = torch.zeros(0, 3, dtype=torch.int64, device="spyre")
    assert (x + 1).shape == (0, 3) and (x // 2).dtype == torch.int64
