"""What models are made of, at even and odd sizes and in both formats of 16 bits: captured whole, compiled, and run on
the device with no node on the CPU."""

import copy

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from tolerances import relative_error, tolerance

FORMATS = [torch.float16, torch.bfloat16]
# Of bf16 results: as many roundings in a row as the longest of these chains has between its sums.
BF16_ROUNDINGS = 6


def numbers(*shape, seed=0):
    """Exact in fp16 and in bf16: the CPU starts from what the device starts from."""
    values = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return values.bfloat16().float()


def allowed_error(dtype):
    if dtype == torch.float16:
        return tolerance("acceptance", dtype)
    return tolerance("chain", dtype, BF16_ROUNDINGS)


def to_device(value, dtype):
    if not isinstance(value, torch.Tensor):
        return value
    return value.to("spyre", dtype) if value.is_floating_point() else value.to("spyre")


def as_list(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def check(results, expected, dtype):
    results, expected = as_list(results), as_list(expected)
    assert len(results) == len(expected)
    for result, reference in zip(results, expected):
        assert result.device.type == "spyre" and result.shape == reference.shape
        found = result.detach().cpu()
        if not reference.is_floating_point():
            assert torch.equal(found, reference)
            continue
        error = relative_error(found.float().numpy(), reference.detach().numpy())
        assert error <= allowed_error(dtype), error


def compare(model, inputs, dtype, on_device):
    """A module or function compiled as one graph for the device, against the CPU in fp32."""
    host, device = model, model
    if isinstance(model, nn.Module):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter.bfloat16().float())
        host, device = model.eval(), copy.deepcopy(model).eval().to("spyre", dtype)
    with torch.no_grad():
        expected = host(*inputs)
        with on_device():
            results = torch.compile(device, fullgraph=True)(*[to_device(x, dtype) for x in inputs])
    check(results, expected, dtype)


formats = pytest.mark.parametrize("dtype", FORMATS, ids=["fp16", "bf16"])


# --------------------------------------------------------------------------------------------------
# Softmax, norms, activations

ROWS = [(3, 67), (5, 2, 128), (4, 1)]
POINTWISE = {
    "softmax": lambda x: torch.softmax(x, -1),
    "softmax of rows": lambda x: torch.softmax(x, 0),
    "softmax in fp32": lambda x: torch.softmax(x, -1, dtype=torch.float32).to(x.dtype),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "log_softmax of rows": lambda x: torch.log_softmax(x, 0),
    "gelu": lambda x: F.gelu(x),
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-5),
}


@formats
@pytest.mark.parametrize("shape", ROWS, ids=str)
@pytest.mark.parametrize("name", POINTWISE)
def test_rows(name, shape, dtype, on_device):
    compare(POINTWISE[name], [numbers(*shape)], dtype, on_device)


NORMS = {
    "layer": (lambda: nn.LayerNorm(67), [(5, 67)]),
    "layer of two dimensions": (lambda: nn.LayerNorm((7, 67)), [(3, 7, 67)]),
    "rms": (lambda: nn.RMSNorm(67, eps=1e-5), [(5, 67)]),
    "group": (lambda: nn.GroupNorm(4, 12), [(2, 12, 5, 7)]),
    "group of vectors": (lambda: nn.GroupNorm(3, 66), [(4, 66)]),
    "batch": (lambda: with_statistics(nn.BatchNorm1d(65)), [(5, 65)]),
    "batch of images": (lambda: with_statistics(nn.BatchNorm2d(10)), [(2, 10, 7, 9)]),
    "instance": (lambda: nn.InstanceNorm2d(6, affine=True), [(2, 6, 9, 11)]),
    "instance of sequences": (lambda: nn.InstanceNorm1d(6), [(2, 6, 67)]),
}


def with_statistics(norm):
    torch.manual_seed(1)
    norm.running_mean.copy_(torch.randn_like(norm.running_mean).bfloat16())
    norm.running_var.copy_((torch.rand_like(norm.running_var) + 0.5).bfloat16())
    return norm


def with_weights(module):
    """Norms begin with ones and zeros, which would hide a weight that is not applied."""
    torch.manual_seed(2)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.rand_like(parameter) + 0.5)
    return module


@formats
@pytest.mark.parametrize("name", NORMS)
def test_norms(name, dtype, on_device):
    make, shapes = NORMS[name]
    compare(with_weights(make()), [numbers(*shape) for shape in shapes], dtype, on_device)


@formats
@pytest.mark.parametrize("module", [nn.BatchNorm1d, nn.BatchNorm2d], ids=lambda m: m.__name__)
def test_batch_norm_in_training_updates_its_statistics(module, dtype, on_device):
    shape = (9, 6) if module is nn.BatchNorm1d else (3, 6, 5, 7)
    host = with_weights(module(6)).train()
    device = copy.deepcopy(host).to("spyre")
    x = numbers(*shape)
    with torch.no_grad():
        expected = host(x)
        with on_device():
            result = torch.compile(device, fullgraph=True)(x.to("spyre"))
    check(result, expected, dtype)
    check([device.running_mean, device.running_var], [host.running_mean, host.running_var], dtype)
    assert int(device.num_batches_tracked) == 1


class SiluMlp(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


@formats
@pytest.mark.parametrize("sizes", [(64, 128), (67, 130)], ids=str)
def test_silu_mlp(sizes, dtype, on_device):
    torch.manual_seed(0)
    compare(SiluMlp(*sizes), [numbers(3, 5, sizes[0])], dtype, on_device)


# --------------------------------------------------------------------------------------------------
# Attention

QUERIES, KEYS, HEAD = 13, 19, 32


def attention(**options):
    return lambda q, k, v, *mask: F.scaled_dot_product_attention(q, k, v, *mask, **options)


def qkv(heads=4, groups=4, queries=QUERIES, keys=KEYS, head=HEAD):
    return [
        numbers(2, heads, queries, head),
        numbers(2, groups, keys, head, seed=1),
        numbers(2, groups, keys, head, seed=2),
    ]


def seen(*shape):
    allowed = torch.rand(shape, generator=torch.Generator().manual_seed(9)) > 0.4
    allowed[..., 0] = True
    return allowed


ATTENTION = {
    "plain": (attention(), qkv()),
    "odd heads": (attention(), qkv(3, 3, head=40)),
    "causal": (attention(is_causal=True), qkv()),
    "groups": (attention(enable_gqa=True), qkv(6, 2)),
    "causal groups": (attention(enable_gqa=True, is_causal=True), qkv(6, 1)),
    "scaled": (attention(scale=0.3), qkv()),
    "truth mask": (attention(), [*qkv(), seen(QUERIES, KEYS)]),
    "truth mask per batch": (attention(), [*qkv(), seen(2, 1, 1, KEYS)]),
    "groups with a truth mask": (attention(enable_gqa=True), [*qkv(6, 2), seen(QUERIES, KEYS)]),
    "one query": (attention(), qkv(queries=1)),
}


@formats
@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name, dtype, on_device):
    function, inputs = ATTENTION[name]
    compare(function, inputs, dtype, on_device)


@formats
@pytest.mark.parametrize("lowest", ["infinity", "smallest"])
def test_attention_with_masks_of_numbers(lowest, dtype, on_device):
    """The smallest number is that of the mask's own type, as models write it."""
    value = -torch.inf if lowest == "infinity" else torch.finfo(dtype).min
    mask = torch.zeros(2, 1, QUERIES, KEYS).masked_fill(~seen(2, 1, QUERIES, KEYS), value)
    compare(attention(), [*qkv(), mask], dtype, on_device)


@formats
@pytest.mark.parametrize("lowest", ["infinity", "smallest"])
def test_attention_with_masks_made_in_the_graph(lowest, dtype, on_device):
    def masked(q, k, v, allowed):
        value = -torch.inf if lowest == "infinity" else torch.finfo(q.dtype).min
        mask = torch.zeros(allowed.shape, dtype=q.dtype, device=q.device)
        return F.scaled_dot_product_attention(q, k, v, mask.masked_fill(~allowed, value))

    compare(masked, [*qkv(), seen(2, 1, QUERIES, KEYS)], dtype, on_device)


def rotated(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


def angles(tokens, size, device, dtype):
    at = torch.arange(tokens, device=device).float()
    frequencies = 1 / 10000 ** (torch.arange(0, size, 2, device=device).float() / size)
    both = torch.outer(at, frequencies).repeat(1, 2)
    return both.cos().to(dtype), both.sin().to(dtype)


def rope(q, k):
    cos, sin = angles(q.shape[-2], q.shape[-1], q.device, q.dtype)
    return rotated(q, cos, sin), rotated(k, cos, sin)


def rope_of_pairs(x, cos, sin):
    """Neighbours turn together, as in the first Llama and in GPT-J."""
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


@formats
@pytest.mark.parametrize("shape", [(2, 4, 12, 64), (2, 3, 7, 34)], ids=str)
def test_rope(shape, dtype, on_device):
    compare(rope, [numbers(*shape), numbers(*shape, seed=1)], dtype, on_device)


@formats
def test_rope_of_pairs(dtype, on_device):
    inputs = [numbers(2, 3, 7, 34), numbers(7, 17, seed=1), numbers(7, 17, seed=2)]
    compare(rope_of_pairs, inputs, dtype, on_device)


def flash_attention(q, k, v, block=5):
    """Blocks of keys one after the other, with the running maximum and sum."""
    scale = q.shape[-1] ** -0.5
    most = torch.full((*q.shape[:-1], 1), -1e4, dtype=torch.float32, device=q.device)
    total = torch.zeros_like(most)
    result = torch.zeros(q.shape, dtype=torch.float32, device=q.device)
    for begin in range(0, k.shape[-2], block):
        keys, values = k[..., begin : begin + block, :], v[..., begin : begin + block, :]
        scores = (q @ keys.transpose(-1, -2)).float() * scale
        larger = torch.maximum(most, scores.amax(-1, keepdim=True))
        shrink, weights = torch.exp(most - larger), torch.exp(scores - larger)
        total = total * shrink + weights.sum(-1, keepdim=True)
        result = result * shrink + (weights.to(q.dtype) @ values).float()
        most = larger
    return (result / total).to(q.dtype)


@formats
@pytest.mark.parametrize("keys", [64, 19], ids=["even", "odd"])
def test_blocked_flash_attention(keys, dtype, on_device):
    block = 16 if keys == 64 else 5
    compare(lambda q, k, v: flash_attention(q, k, v, block), qkv(keys=keys), dtype, on_device)


# --------------------------------------------------------------------------------------------------
# Blocks


class Attention(nn.Module):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.size, self.scale = width // heads, None
        self.q = nn.Linear(width, heads * self.size, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.o = nn.Linear(heads * self.size, width, bias=False)

    def forward(self, x):
        q, k, v = (
            layer(x).unflatten(-1, (-1, self.size)).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        q, k = rope(q, k) if q.shape == k.shape else (rope(q, q)[0], rope(k, k)[0])
        out = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=True, scale=self.scale
        )
        return self.o(out.transpose(1, 2).flatten(-2))


class LlamaBlock(nn.Module):
    residual = 1.0

    def __init__(self, width=64, heads=4, groups=2, inner=96):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.attention, self.mlp = Attention(width, heads, groups), SiluMlp(width, inner)

    def forward(self, x):
        x = x + self.attention(self.norm1(x)) * self.residual
        return x + self.mlp(self.norm2(x)) * self.residual


class GraniteBlock(LlamaBlock):
    residual = 0.22

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.attention.scale = 1 / 64


class BertLayer(nn.Module):
    def __init__(self, width=64, heads=4, inner=128):
        super().__init__()
        self.size = width // heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x, mask):
        q, k, v = (
            layer(x).unflatten(-1, (-1, self.size)).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = self.norm1(x + self.o(out.transpose(1, 2).flatten(-2)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


BLOCKS = {
    "llama": (lambda: LlamaBlock(), [numbers(2, 12, 64)]),
    "llama, odd": (lambda: LlamaBlock(66, 3, 1, 70), [numbers(1, 7, 66)]),
    "granite": (lambda: GraniteBlock(), [numbers(2, 12, 64)]),
    "granite, odd": (lambda: GraniteBlock(66, 3, 3, 70), [numbers(3, 5, 66)]),
    "bert": (lambda: BertLayer(), [numbers(2, 12, 64), seen(2, 12)]),
    "bert, odd": (lambda: BertLayer(66, 3, 70), [numbers(3, 11, 66), seen(3, 11)]),
}


@formats
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name, dtype, on_device):
    make, inputs = BLOCKS[name]
    torch.manual_seed(0)
    compare(make(), inputs, dtype, on_device)


class Experts(nn.Module):
    """Each token goes to the k experts with the largest scores; all experts see all tokens, weighted by 0 or more."""

    def __init__(self, width, inner, experts, chosen):
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, inner) * width**-0.5)
        self.down = nn.Parameter(torch.randn(experts, inner, width) * inner**-0.5)
        self.chosen = chosen

    def weights(self, x):
        values, places = torch.topk(torch.softmax(self.router(x).float(), -1), self.chosen, -1)
        return values / values.sum(-1, keepdim=True), places

    def forward(self, x):
        values, places = self.weights(x)
        scores = torch.zeros(len(x), len(self.up), device=x.device, dtype=values.dtype)
        scores = scores.scatter(1, places, values).to(x.dtype)
        inner = F.silu(torch.matmul(x[None], self.up))
        return (torch.matmul(inner, self.down) * scores.t()[:, :, None]).sum(0)


class ComparedExperts(Experts):
    """Routing by comparison instead of a scatter."""

    def forward(self, x):
        values, places = self.weights(x)
        numbers_of_experts = torch.arange(len(self.up), device=x.device)
        hit = (places[:, :, None] == numbers_of_experts).to(values.dtype)
        scores = (hit * values[:, :, None]).sum(1).to(x.dtype)
        inner = F.silu(torch.matmul(x[None], self.up))
        return (torch.matmul(inner, self.down) * scores.t()[:, :, None]).sum(0)


@formats
@pytest.mark.parametrize("kind", [Experts, ComparedExperts], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("sizes", [(64, 64, 8, 2), (66, 35, 5, 3)], ids=str)
def test_mixture_of_experts(kind, sizes, dtype, on_device):
    torch.manual_seed(0)
    compare(kind(*sizes), [numbers(11, sizes[0])], dtype, on_device)


class ConvolutionAndNorm(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride):
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.norm = with_statistics(nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.norm(self.convolution(x)))


@formats
@pytest.mark.parametrize("sizes", [(8, 16, 3, 1), (3, 5, 3, 2), (7, 64, 1, 1)], ids=str)
def test_convolution_and_batch_norm(sizes, dtype, on_device):
    torch.manual_seed(0)
    compare(ConvolutionAndNorm(*sizes), [numbers(2, sizes[0], 9, 11)], dtype, on_device)


# --------------------------------------------------------------------------------------------------
# Caches of keys and values


def copy_by_index(cache, new, position):
    cache.index_copy_(2, position, new)
    return cache.sum(2)


def copy_to_new(cache, new, position):
    return cache.index_copy(2, position, new)


@formats
@pytest.mark.parametrize("function", [copy_by_index, copy_to_new], ids=lambda f: f.__name__)
@pytest.mark.parametrize("tokens", [1, 3])
def test_cache_by_index(function, tokens, dtype, on_device):
    cache, new = numbers(2, 3, 17, 40), numbers(2, 3, tokens, 40, seed=1)
    position = torch.arange(5, 5 + tokens)
    held = cache.to("spyre", dtype)
    with on_device(), torch.no_grad():
        result = torch.compile(function, fullgraph=True)(held, new.to("spyre", dtype), position.to("spyre"))
    expected = function(cache, new, position)
    check([result, held], [expected, cache], dtype)


@formats
@pytest.mark.parametrize("offset", [0, 5, 16])
def test_cache_by_overwrite(offset, dtype, on_device):
    cache, new = numbers(2, 3, 17, 64), numbers(2, 3, 1, 64, seed=1)

    def update(held, row):
        torch.ops.spyre.overwrite(row, held, [2], [offset])
        return held * 2

    held = cache.to("spyre", dtype)
    with on_device(), torch.no_grad():
        result = torch.compile(update, fullgraph=True)(held, new.to("spyre", dtype))
    cache[:, :, offset : offset + 1] = new
    check([result, held], [cache * 2, cache], dtype)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_tokens_per_expert_are_counted(compiled, on_device):
    """Routers count whole numbers with histc; the CPU knows it of floats only."""
    chosen = torch.randint(0, 7, (67,), generator=torch.Generator().manual_seed(0), dtype=torch.int32)

    def count(numbers):
        return torch.histc(numbers, bins=6, min=0, max=5)

    run = torch.compile(count, fullgraph=True) if compiled else count
    with on_device():
        result = run(chosen.to("spyre"))
    assert result.dtype == torch.int32
    assert torch.equal(result.cpu(), torch.bincount(chosen, minlength=7)[:6].int())


def layer_norm_of_nearly_equal(size, on_device):
    """On the device, and in double."""
    generator = torch.Generator().manual_seed(size)
    steps = torch.randint(-1, 2, (50, size), generator=generator) / 256
    x = (steps + torch.randint(1, 3, (50, 1), generator=generator)).half()
    norm = lambda t: torch.nn.functional.layer_norm(t, (size,))  # noqa: E731
    with on_device():
        got = torch.compile(norm, backend="spyre")(x.to("spyre"))
    return got.float().cpu(), norm(x.double())


@pytest.mark.parametrize("size", [2, 7, 63])
def test_layer_norm_of_few_elements_that_are_nearly_equal(size, on_device):
    """The mean of their squares is the square of their mean but for a few bits."""
    got, expected = layer_norm_of_nearly_equal(size, on_device)
    assert relative_error(got.numpy(), expected.numpy()) <= tolerance("chain", torch.float16, 4)


@pytest.mark.parametrize("size", [64, 200, 768])
def test_layer_norm_of_many_elements_that_are_nearly_equal(size, on_device):
    """The pair of a mean and a mean of squares is rounded: what is left as variance is not below zero, so no result is NaN."""
    got, _ = layer_norm_of_nearly_equal(size, on_device)
    assert got.isfinite().all()


@pytest.mark.parametrize("mode", ["eager", "compiled", "trained"])
@pytest.mark.parametrize("kind", ["bool", "-inf", "finfo.min"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_rows_of_which_a_mask_leaves_nothing(dtype, kind, mode, on_device):
    """Attention gives 0 there, as on the CPU; the least number is a number, so its rows are means."""
    generator = torch.Generator().manual_seed(0)
    q = (torch.randn(1, 2, 5, 64, generator=generator) * 0.5).to(dtype)
    allowed = torch.ones(5, 5).tril().bool()
    allowed[2] = False
    mask = allowed
    if kind != "bool":
        least = -torch.inf if kind == "-inf" else torch.finfo(dtype).min
        mask = torch.zeros(5, 5, dtype=dtype).masked_fill(~allowed, least)
    call = lambda q, m: F.scaled_dot_product_attention(q, q, q, m)  # noqa: E731
    run = torch.compile(call, backend="spyre") if mode == "compiled" else call
    given, given_mask = q.to("spyre").requires_grad_(mode == "trained"), mask.to("spyre")
    with on_device():
        got = run(given, given_mask).detach().float().cpu()
    expected = call(q.double(), mask if kind == "bool" else mask.double())
    is_number = kind == "finfo.min"
    expected[:, :, 2] = q.double().mean(2) if is_number else 0
    assert is_number or (got[:, :, 2] == 0).all()
    assert relative_error(got.numpy(), expected.numpy()) <= tolerance("chain", dtype, 8)


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_products_of_groups_of_rows(mode, on_device):
    """One group is empty, rows behind the last belong to none."""
    generator, dtype = torch.Generator().manual_seed(0), torch.bfloat16
    x, w = (torch.randn(shape, generator=generator).to(dtype) for shape in ((16, 32), (4, 32, 24)))
    ends = torch.tensor([3, 3, 11, 14], dtype=torch.int32)
    call = torch.ops.aten._grouped_mm.default
    run = torch.compile(call, backend="spyre") if mode == "compiled" else call
    with on_device():
        got = run(x.to("spyre"), w.to("spyre"), ends.to("spyre")).float().cpu()
    groups = [0] * 3 + [2] * 8 + [3] * 3
    expected = torch.stack([row.double() @ w[g].double() for row, g in zip(x, groups)])
    assert relative_error(got[:14].numpy(), expected.numpy()) <= tolerance("matmul", dtype, 32)
    assert (got[14:] == 0).all()
