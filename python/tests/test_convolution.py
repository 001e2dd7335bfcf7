"""Convolutions and their gradients on the device, eager and compiled, against the CPU in fp32.

Inputs are quarters, and results so small that they are exact in every format: they are equal.
"""

import pytest
import torch
import torch.nn.functional as F


# input, weight, arguments, bias
CASES = {
    "padded": ((2, 3, 7, 9), (4, 3, 3, 3), {"padding": 1}, True),
    "strided": ((1, 5, 9, 10), (6, 5, 3, 2), {"stride": 2, "padding": (1, 0)}, False),
    "groups": ((1, 4, 9, 9), (4, 2, 3, 3), {"dilation": 2, "groups": 2}, True),
    "depthwise": ((2, 6, 5, 5), (6, 1, 3, 3), {"padding": 1, "groups": 6}, False),
    "patches": ((1, 3, 8, 12), (16, 3, 4, 4), {"stride": 4}, True),
    "one place": ((2, 16, 4, 4), (8, 16, 1, 1), {}, True),
    "signal": ((2, 4, 20), (6, 4, 3), {"padding": 1}, True),
    "volume": ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"padding": 1}, True),
    "large patches": ((1, 1, 18, 9), (4, 1, 9, 9), {"stride": 9}, False),
}

# Of transposed ones: [in, out / groups, kernel].
TRANSPOSED = {
    "up": ((1, 4, 5, 6), (4, 3, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}, True),
    "up patches": ((2, 4, 3, 5), (4, 6, 2, 2), {"stride": 2}, True),
    "up plain": ((1, 2, 5, 5), (2, 3, 3, 3), {}, False),
    "up groups": ((1, 4, 4, 4), (4, 3, 3, 2), {"dilation": 2, "groups": 2}, True),
    "up signal": ((2, 3, 7), (3, 4, 4), {"stride": 2, "padding": 1}, True),
    "up volume": ((1, 2, 3, 2, 3), (2, 2, 2, 3, 2), {"stride": (1, 2, 2)}, False),
    "up cropped": ((1, 2, 6, 6), (2, 2, 2, 2), {"padding": 2}, True),
    "up room": ((1, 2, 4, 4), (2, 2, 2, 2), {"dilation": 3, "output_padding": 2}, False),
}
CASES.update(TRANSPOSED)


def exact(*shape, seed):
    """Few different numbers, all exact in every format."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-4, 5, shape, generator=generator).half() / 4


def function_for(name):
    shape, _, arguments, _ = CASES[name]
    kind = "conv_transpose" if name in TRANSPOSED else "conv"
    convolve = getattr(F, f"{kind}{len(shape) - 2}d")
    return lambda x, weight, bias=None: convolve(x, weight, bias, **arguments)


def inputs_for(name):
    shape, weight, arguments, has_bias = CASES[name]
    out = weight[1] * arguments.get("groups", 1) if name in TRANSPOSED else weight[0]
    inputs = [exact(*shape, seed=1), exact(*weight, seed=2)]
    return [*inputs, exact(out, seed=3)] if has_bias else inputs


def gradients(function, inputs):
    leaves = [t.detach().clone().requires_grad_() for t in inputs]
    result = function(*leaves)
    result.backward(torch.ones_like(result) * 0.5)
    return [result.detach(), *(leaf.grad for leaf in leaves)]


def check(name, on_device, dtype=torch.float16, wrap=lambda function: function):
    """The result and all gradients are those of the CPU in fp32."""
    function, inputs = function_for(name), inputs_for(name)
    with on_device():
        results = gradients(wrap(function), [t.to(dtype).to("spyre") for t in inputs])
    expected = gradients(function, [t.float() for t in inputs])
    for number, (got, wanted) in enumerate(zip(results, expected, strict=True)):
        assert got.dtype == dtype
        assert torch.equal(wanted.to(dtype).float(), wanted), "the test wants exact results"
        assert torch.equal(got.cpu().float(), wanted), number


@pytest.mark.parametrize("name", CASES)
def test_eager_with_gradients(name, on_device):
    check(name, on_device)


@pytest.mark.parametrize("name", ["padded", "patches", "up"])
def test_bf16_with_gradients(name, on_device):
    check(name, on_device, torch.bfloat16)


@pytest.mark.parametrize("name", ["padded", "patches", "up", "up patches", "up signal"])
def test_compiled_with_gradients(name, on_device):
    check(name, on_device, wrap=lambda function: torch.compile(function, backend="spyre"))


def test_a_convolution_is_one_program(on_device):
    x, weight = exact(1, 3, 6, 6, seed=1).to("spyre"), exact(2, 3, 3, 3, seed=2).to("spyre")
    F.conv2d(x, weight)
    with on_device() as proof:
        result = F.conv2d(x, weight).cpu()
    assert proof.counters["programs_launched"] == 1, proof.counters
    assert torch.equal(result.float(), F.conv2d(x.cpu().float(), weight.cpu().float()))


#: One place less than are copied each, and more, in forms of their own.
LARGE = {
    "few": ((1, 1, 12, 130), (1, 1, 1, 127), {}),
    "overlapping": ((1, 1, 15, 15), (2, 1, 12, 12), {}),
    "dilated groups": ((1, 4, 26, 20), (4, 2, 13, 13), {"padding": 6, "dilation": (2, 1), "groups": 2}),
    "strided": ((1, 2, 20, 19), (3, 2, 14, 13), {"stride": 3, "padding": (2, 1)}),
    "patches that cover a part": ((1, 3, 30, 29), (4, 3, 14, 14), {"stride": 14}),
    "signal": ((1, 2, 260), (3, 2, 200), {"padding": 3}),
    "volume": ((1, 1, 6, 8, 9), (2, 1, 5, 6, 7), {}),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_kernels(name, on_device):
    shape, weight, arguments = LARGE[name]
    convolve = getattr(F, f"conv{len(shape) - 2}d")
    inputs = [exact(*shape, seed=1), exact(*weight, seed=2)]
    with on_device():
        got = gradients(lambda x, w: convolve(x, w, **arguments), [t.to("spyre") for t in inputs])
    wanted = gradients(lambda x, w: convolve(x, w, **arguments), [t.float() for t in inputs])
    for mine, other in zip(got, wanted, strict=True):
        assert torch.equal(mine.cpu().float(), other)


def test_a_large_kernel_in_a_graph(on_device):
    x, weight = exact(1, 1, 15, 15, seed=1), exact(2, 1, 12, 12, seed=2)
    with on_device():
        got = torch.compile(F.conv2d, backend="spyre")(x.to("spyre"), weight.to("spyre"))
    assert torch.equal(got.cpu().float(), F.conv2d(x.float(), weight.float()))
