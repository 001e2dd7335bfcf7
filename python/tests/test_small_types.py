"""fp8 and the integers of 8 and 16 bits on the device, eager and compiled: conversions, arithmetic that wraps, products
of fp8 matrices."""

import pytest
import torch
from test_integers import OPERATIONS
from tolerances import dl16, relative_error, tolerance

FP8 = torch.float8_e4m3fn
FLOATS = [torch.float16, torch.bfloat16, torch.float32]
SMALL = [torch.int8, torch.int16]
BYTE = torch.uint8
SHAPES = [(), (1,), (7,), (9,), (128,), (130,), (4, 1), (3, 130), (5, 256), (130, 3), (2, 3, 68), (2, 2, 3, 100)]


def bits(x):
    """fp8 has no comparison; NaN is one number."""
    return torch.where(x.float().isnan(), 127, x.view(torch.uint8).int())


def all_fp8():
    return torch.arange(256, dtype=torch.uint8).view(FP8)


def fp8(*shape, seed=0):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 8).to(FP8)


def exact(values, dtype):
    """What the device holds of the values."""
    if dtype == torch.float32:
        return values
    return torch.from_numpy(dl16(values.to(dtype).float().numpy())).to(dtype)


def whole(*shape, dtype=torch.int8, seed=1):
    info = torch.iinfo(dtype)
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(info.min, info.max + 1, shape, generator=generator).to(dtype)


def near(result, expected, operation, terms=1):
    """Products have 16 bits on the way, whatever the type of the result."""
    error = relative_error(result.cpu().float().numpy(), expected.float().numpy())
    return error <= tolerance(operation, torch.bfloat16 if result.dtype == torch.bfloat16 else torch.float16, terms)


def same(results, wanted):
    for number, (result, expected) in enumerate(zip(results, wanted, strict=True)):
        assert result.dtype == expected.dtype and result.shape == expected.shape, number
        if expected.is_floating_point():
            assert near(result, expected, "pointwise")
        else:
            assert torch.equal(result.cpu(), expected), (number, result.cpu(), expected)


def ways(function):
    return [function, torch.compile(function)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_fp8_becomes_wider(shape, dtype, on_device):
    x = fp8(*shape)
    device = x.to("spyre")
    for run in ways(lambda t: t.to(dtype)):
        with on_device():
            result = run(device)
        assert result.dtype == dtype and torch.equal(result.cpu(), x.to(dtype))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_fractions_become_fp8(shape, dtype, on_device):
    x = exact(torch.randn(shape, generator=torch.Generator().manual_seed(2)) * 30, dtype)
    device = x.to("spyre")
    for run in ways(lambda t: t.to(FP8)):
        with on_device():
            result = run(device)
        assert result.dtype == FP8 and torch.equal(bits(result.cpu()), bits(x.to(FP8)))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_every_number_of_fp8_returns(dtype, on_device):
    x = all_fp8()
    device = x.to("spyre")
    with on_device():
        wide = device.to(dtype)
        back = wide.to(FP8)
    numbers = ~x.float().isnan()
    assert torch.equal(wide.cpu()[numbers], x.to(dtype)[numbers]) and wide.cpu()[~numbers].isnan().all()
    assert torch.equal(bits(back.cpu()), bits(x))


def halfway():
    """Between neighbours in fp8, just below, and just above; beyond the largest; nothing."""
    numbers = all_fp8()[:127].float()
    between = (numbers[1:] + numbers[:-1]) / 2
    around = [between, torch.nextafter(between, torch.zeros(())), torch.nextafter(between, torch.full((), 1e9))]
    special = [448.0, 449.0, 464.0, 465.0, 480.0, 1e9, 3e38, float("inf"), float("nan"), 0.0, 1e-40, 2.0**-10]
    positive = torch.cat([*around, torch.tensor(special)])
    return torch.cat([positive, -positive])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_halves_of_fp8_are_rounded_once(dtype, on_device):
    x = exact(halfway(), dtype)
    device = x.to("spyre")
    for run in ways(lambda t: t.to(FP8)):
        with on_device():
            result = run(device)
        assert torch.equal(bits(result.cpu()), bits(x.to(FP8)))


def test_integers_and_truths_become_fp8_and_back(on_device):
    for x in (whole(3, 130), whole(3, 130, dtype=torch.int16), torch.arange(-300, 300), whole(3, 130) > 0):
        device = x.to("spyre")
        for run in ways(lambda t: (t.to(FP8), t.to(FP8).to(x.dtype))):
            with on_device():
                result, back = run(device)
            assert torch.equal(bits(result.cpu()), bits(x.to(FP8)))
            assert torch.equal(back.cpu(), x.to(FP8).to(x.dtype))


def test_conversions_among_lanes(on_device):
    """What is computed between two conversions stays in their order, and what meets it is put in it."""
    x, other = fp8(6, 200), exact(torch.randn(6, 200), torch.float16)

    def function(x, other):
        wide = x.to(torch.float16)
        return (wide * 2).to(FP8), wide + other, (wide.t() + other.t()).sum(0), wide.float() - other.float()

    wanted = function(x, other)
    for run in ways(function):
        with on_device():
            results = run(x.to("spyre"), other.to("spyre"))
        assert torch.equal(bits(results[0].cpu()), bits(wanted[0]))
        for result, expected in zip(results[1:], wanted[1:]):
            assert near(result, expected, "sum", terms=6)


def test_custom_operations(on_device):
    ops = torch.ops.spyre
    x, scale = exact(torch.randn(5, 130) * 900, torch.float16), torch.tensor(4.0, dtype=torch.float16)

    def function(x, scale):
        stored = ops.quantize_fp8_with_scale(x, scale)
        return stored, ops.dequantize_fp8_with_scale(stored, scale), ops.qfp8ch(x)

    wanted = function(x, scale)
    for run in ways(function):
        with on_device():
            results = run(x.to("spyre"), scale.to("spyre"))
        for result, expected in zip(results, wanted):
            assert result.dtype == expected.dtype
            assert torch.equal(result.cpu().float(), expected.float())


@pytest.mark.parametrize("dtype", [*FLOATS, FP8], ids=str)
@pytest.mark.parametrize("rows", [False, True], ids=["one scale", "scales of rows"])
@pytest.mark.parametrize("biased", [False, True], ids=["", "bias"])
def test_scaled_products(dtype, rows, biased, on_device):
    m, k, n = 17, 192, 80
    x, w = fp8(m, k), fp8(n, k, seed=1)
    generator = torch.Generator().manual_seed(3)
    scales = [torch.rand((m, 1) if rows else (), generator=generator) / 64]
    scales += [torch.rand((1, n) if rows else (), generator=generator) / 16]
    bias = torch.randn(n, generator=generator).to(torch.float16 if dtype == FP8 else dtype) if biased else None

    def function(x, w, a, b, bias):
        return torch._scaled_mm(x, w.t(), a, b, bias=bias, out_dtype=dtype)

    wanted = x.double() @ w.t().double() * scales[0].double() * scales[1].double()
    wanted = (wanted + bias.double() if biased else wanted).float()
    given = [t if t is None else t.to("spyre") for t in (x, w, *scales, bias)]
    for run in ways(function):
        with on_device(pt_macs=m * k * 128):  # whole sticks of columns
            result = run(*given)
        assert result.dtype == dtype and result.shape == (m, n)
        if dtype == FP8:
            steps = [torch.where(b < 128, b, 128 - b) for b in (bits(result.cpu()), bits(wanted.to(FP8)))]
            assert (steps[0] - steps[1]).abs().max() <= 1
        else:
            assert near(result, wanted, "matmul", terms=k)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [*SMALL, BYTE], ids=str)
def test_small_integers_become_others(shape, dtype, on_device):
    x = whole(*shape, dtype=dtype)
    device = x.to("spyre")
    kinds = [torch.int32, torch.int64, torch.float32, torch.bool, torch.int8, BYTE, torch.int16]
    kinds += [torch.float16, torch.bfloat16] if dtype != torch.int16 else []

    def function(t):
        return [t.to(kind) + 0 if kind == dtype else t.to(kind) for kind in kinds]

    for run in ways(function):
        with on_device():
            results = run(device)
        for result, kind in zip(results, kinds):
            assert result.dtype == kind and torch.equal(result.cpu(), x.to(kind)), kind


@pytest.mark.parametrize("dtype", [*SMALL, BYTE], ids=str)
def test_others_become_small_integers(dtype, on_device):
    """Fractions are cut, then all wrap."""
    sources = [torch.arange(-70000, 70000, 997), torch.arange(-70000, 70000, 997).float() + 0.75]
    sources += [torch.linspace(-300, 300, 131).half().trunc(), whole(131, dtype=torch.int16), whole(131) > 0]
    for x in sources:
        device = x.to("spyre")
        for run in ways(lambda t: t.to(dtype) + (x.dtype == dtype)):
            with on_device():
                result = run(device)
            assert result.dtype == dtype and torch.equal(result.cpu(), x.to(dtype) + (x.dtype == dtype)), x.dtype


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", SMALL, ids=str)
@pytest.mark.parametrize("compiles", [False, True], ids=["eager", "compiled"])
def test_arithmetic_wraps(name, dtype, compiles, on_device):
    x, y = whole(5, 67, dtype=dtype), whole(5, 67, dtype=dtype, seed=2)
    y = torch.where((y == 0) | (y == -1), 3, y)
    if name == "shifts":
        y = y % 7
    if name == "products of many":
        y = y % 3 - 1
    function = OPERATIONS[name]
    with on_device():
        results = (torch.compile(function) if compiles else function)(x.to("spyre"), y.to("spyre"))
    same(results, function(x, y))


def test_products_of_small_integers(on_device):
    x, y = whole(5, 20), whole(20, 6, seed=2)
    for run in ways(torch.mm):
        with on_device():
            result = run(x.to("spyre"), y.to("spyre"))
        assert result.dtype == torch.int8 and torch.equal(result.cpu(), torch.mm(x, y))


def test_weights_of_eight_bits(on_device):
    """A layer whose weights are int8, with a scale for each output."""
    m, k, n = 9, 128, 70
    x, w = exact(torch.randn(m, k), torch.float16), whole(n, k)
    scale = exact(torch.rand(n) / 128, torch.float16)

    def function(x, w, scale):
        return x @ w.to(torch.float16).t() * scale

    wanted = x.double() @ w.double().t() * scale.double()
    for run in ways(function):
        with on_device(pt_macs=m * k * 128):
            result = run(x.to("spyre"), w.to("spyre"), scale.to("spyre"))
        assert near(result, wanted, "matmul", terms=k)


def test_parts_and_places_of_small_types(on_device):
    x = whole(6, 140)
    device = x.to("spyre")

    def function(x):
        return x[1:, ::2] + x[:-1, 1::2], x.t() - 1, torch.cat([x, x + 1], 1), x.argmax(1), x.max(1)[0]

    for run in ways(function):
        with on_device():
            results = run(device)
        for result, expected in zip(results, function(x)):
            assert result.dtype == expected.dtype and torch.equal(result.cpu(), expected)


def test_in_place(on_device):
    x, y = whole(5, 67), whole(5, 67, seed=2)
    device = x.to("spyre")
    with on_device():
        device.add_(y.to("spyre")).mul_(3)
        device[2] //= 2
    wanted = (x + y) * 3
    wanted[2] //= 2
    assert torch.equal(device.cpu(), wanted)


OF_BYTES = {
    "sums": lambda x, y: (x + y, x - y, 7 - x, x + 3, torch.add(x, y, alpha=2)),
    "products": lambda x, y: (x * y, x * 4, x.square(), x**3),
    "extremes": lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), x.clamp(3, 200), x.amax(1), x.min()),
    "quotients": lambda x, y: (x // y, x % y, x // 3, x % 5, torch.div(x, y, rounding_mode="trunc"), x / y),
    "comparisons": lambda x, y: (x == y, x > y, x >= 128, x < 2.5, torch.where(x > y, x, y)),
    "bits": lambda x, y: (x & y, x | y, x ^ y, ~x, x & 6, x << 3, x >> 1),
    "sums of many": lambda x, y: (x.sum(), x.sum(0), x.float().mean(1), (y > 9).sum(1)),
    "with others": lambda x, y: (x + 0.5, x.float() / 255, x.to(torch.int8) + y, x.long() - y, torch.cat([x, y])),
    "places": lambda x, y: (x.argmax(1), x.t() + 1, x[1:, ::2], torch.sort(x, 1).values),
}


@pytest.mark.parametrize("name", OF_BYTES)
@pytest.mark.parametrize("compiles", [False, True], ids=["eager", "compiled"])
def test_bytes(name, compiles, on_device):
    """Numbers of 0 to 255 wrap there."""
    x, y = whole(5, 67, dtype=BYTE), whole(5, 67, dtype=BYTE, seed=2).clamp_min(1)
    function = OF_BYTES[name]
    with on_device():
        results = (torch.compile(function) if compiles else function)(x.to("spyre"), y.to("spyre"))
    same(results, function(x, y))


def test_images_become_fractions(on_device):
    """What a camera gives, as a network wants it."""
    image = whole(2, 3, 17, 19, dtype=BYTE)
    mean, deviation = (torch.tensor(v).reshape(1, 3, 1, 1) for v in ([0.5, 0.25, 0.125], [0.5, 0.25, 0.25]))

    def function(image, mean, deviation):
        return ((image.float() / 255 - mean) / deviation).half(), image.permute(0, 2, 3, 1).contiguous()

    device = [t.to("spyre") for t in (image, mean, deviation)]
    for run in ways(function):
        with on_device():
            result, turned = run(*device)
        wanted, order = function(image, mean, deviation)
        assert near(result, wanted, "chain", 3) and torch.equal(turned.cpu(), order)
    filled = torch.full((3, 5), 200, dtype=BYTE, device="spyre")
    filled[1] = 7
    assert filled.tolist() == [[200] * 5, [7] * 5, [200] * 5] and filled.sum().item() == 2035


def test_numbers_that_bytes_do_not_have():
    """The CPU lets them wrap."""
    x = whole(9, dtype=BYTE)
    torch.spyre.reset_counters()
    assert torch.equal((x.to("spyre") * -4).cpu(), x * -4)
    assert torch.spyre.counters()["fallback_ops"] == 1
