"""Blocks of real models, small: captured whole, run on the device, no node on the CPU."""

import copy
import math

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from tolerances import relative_error, tolerance


WIDTH, HEADS, TOKENS = 64, 4, 12


def half(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).half()


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def make(model):
    """The same weights in every run, exact in fp16."""
    torch.manual_seed(0)
    model = model() if isinstance(model, type) else Function(model)
    return model.half().eval()


def compare(model, inputs):
    """Compiled on the device against the CPU in fp32."""
    host = make(model)
    device = copy.deepcopy(host).to("spyre")
    with torch.no_grad():
        results = torch.compile(device)(*[x.to("spyre") for x in inputs])
        expected = host.float()(*[x.float() if x.is_floating_point() else x for x in inputs])
    results = results if isinstance(results, tuple) else (results,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert len(results) == len(expected)
    for result, reference in zip(results, expected):
        assert result.device.type == "spyre" and result.shape == reference.shape
        error = relative_error(result.float().cpu().numpy(), reference.numpy())
        assert error <= tolerance("acceptance", torch.float16), error


# --------------------------------------------------------------------------------------------------
# Attention


def heads(count=HEADS, tokens=TOKENS, seed=0):
    return half(2, count, tokens, 32, seed=seed)


def attention(**options):
    return lambda q, k, v, *mask: F.scaled_dot_product_attention(
        q, k, v, *mask, **options
    )


def some(*shape):
    allowed = torch.rand(shape, generator=torch.Generator().manual_seed(9)) > 0.4
    allowed[..., 0] = True
    return allowed


qkv = [heads(), heads(seed=1), heads(seed=2)]
ATTENTION = {
    "plain": (attention(), qkv),
    "scaled": (attention(scale=0.25), qkv),
    "causal": (attention(is_causal=True), qkv),
    "causal, more keys": (
        attention(is_causal=True),
        [heads(), heads(tokens=19, seed=1), heads(tokens=19, seed=2)],
    ),
    "truth mask": (attention(), [*qkv, some(TOKENS, TOKENS)]),
    "truth mask per batch": (attention(), [*qkv, some(2, 1, 1, TOKENS)]),
    "number mask": (attention(), [*qkv, half(2, 1, TOKENS, TOKENS, seed=3)]),
    "groups": (attention(enable_gqa=True), [heads(), heads(2, seed=1), heads(2, seed=2)]),
    "causal groups": (
        attention(enable_gqa=True, is_causal=True),
        [heads(), heads(1, seed=1), heads(1, seed=2)],
    ),
    "one query": (attention(), [heads(tokens=1), heads(seed=1), heads(seed=2)]),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name, on_device):
    function, inputs = ATTENTION[name]
    with on_device():
        compare(function, inputs)


def test_attention_with_gradients(on_device):
    inputs = [t.float() for t in qkv]
    host = [t.clone().requires_grad_() for t in inputs]
    device = [t.half().to("spyre").requires_grad_() for t in inputs]
    with on_device():
        torch.compile(attention())(*device).sum().backward()
    attention()(*host).sum().backward()
    for a, b in zip(device, host):
        scale = max(t.grad.abs().max() for t in host)
        error = (a.grad.float().cpu() - b.grad).abs().max() / scale
        assert error <= tolerance("acceptance", torch.float16), error


def test_masked_rows_give_zeros(on_device):
    """Training uses the safe softmax: a row without any key is nothing, not the mean of all."""
    mask = torch.ones(TOKENS, TOKENS, dtype=torch.bool)
    mask[3] = False
    device = [t.to("spyre").requires_grad_() for t in qkv]
    with on_device():
        result = torch.compile(attention())(*device, mask.to("spyre"))
    assert not result.detach().cpu()[:, :, 3].any() and result.detach().cpu()[:, :, 2].any()


# --------------------------------------------------------------------------------------------------
# Pieces


def compared_positions(x):
    at = torch.arange(x.shape[-1], device=x.device)
    return torch.softmax(x.masked_fill(at[None, :] > at[:, None], float("-inf")), -1)


def triangle(x):
    size = x.shape[-1]
    later = torch.full((size, size), float("-inf"), device=x.device, dtype=x.dtype)
    return torch.softmax(x + torch.triu(later, 1), -1)


def window(x):
    at = torch.arange(x.shape[-1], device=x.device)
    near = (at[:, None] - at[None, :] < 4) & (at[:, None] >= at[None, :])
    lowest = torch.finfo(x.dtype).min
    return torch.softmax(torch.where(near, x, lowest), -1)


def tables(x):
    at = torch.arange(x.shape[1], device=x.device).float()
    frequencies = 1 / 10000 ** (torch.arange(0, 64, 2, device=x.device).float() / 64)
    angles = torch.outer(at, frequencies)
    return x * torch.cat([angles.cos(), angles.sin()], -1).to(x.dtype)


PIECES = {
    "layer norm, fp32 weights": (
        lambda x, w, b: F.layer_norm(x, (WIDTH,), w.float(), b.float()),
        [half(6, WIDTH), half(WIDTH, seed=1), half(WIDTH, seed=2)],
    ),
    "layer norm, bias only": (
        lambda x, b: F.layer_norm(x, (WIDTH,), None, b),
        [half(6, WIDTH), half(WIDTH, seed=1)],
    ),
    "layer norm, bias only, wide": (
        lambda x, b: F.layer_norm(x, (WIDTH,), None, b.float()),
        [half(6, WIDTH), half(WIDTH, seed=1)],
    ),
    "rms norm, fp32 weight": (
        lambda x, w: F.rms_norm(x, (WIDTH,), w.float(), 1e-5),
        [half(6, WIDTH), half(WIDTH, seed=1)],
    ),
    "mask of compared positions": (compared_positions, [half(2, TOKENS, TOKENS)]),
    "mask of a triangle": (triangle, [half(2, TOKENS, TOKENS)]),
    "mask of a window": (window, [half(2, TOKENS, TOKENS)]),
    "tables of angles": (tables, [half(2, TOKENS, 64)]),
    "heads repeated": (lambda x: x.repeat_interleave(3, dim=1) + 1, [half(2, 2, 5, 64)]),
    "heads expanded": (
        lambda x: x[:, :, None].expand(2, 2, 3, 5, 64).reshape(2, 6, 5, 64) + 1,
        [half(2, 2, 5, 64)],
    ),
    "tiles": (lambda x: x.repeat(2, 1, 3) * 2, [half(2, 5, 64)]),
    "or and not": (
        lambda x: torch.where((x > 1) | ~(x > -1) & (x < 0), x, x * 0.5),
        [half(6, 130)],
    ),
    "group norm": (lambda x: F.group_norm(x, 4), [half(2, 16, 64)]),
    "layer norm of two dimensions": (
        lambda x, w, b: F.layer_norm(x, (6, 64), w, b),
        [half(2, 6, 64), half(6, 64, seed=1), half(6, 64, seed=2)],
    ),
    "rms norm of two dimensions": (
        lambda x, w: F.rms_norm(x, (6, 64), w, 1e-5),
        [half(2, 6, 64), half(6, 64, seed=1)],
    ),
    "unit vectors": (lambda x: F.normalize(x, dim=-1), [half(6, 130)]),
    "cosine": (lambda x, y: F.cosine_similarity(x, y, -1), [half(6, 64), half(6, 64, seed=1)]),
    "gelu from erf": (lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2))), [half(6, 130)]),
    "elu": (lambda x: F.elu(x, 0.5) + F.selu(x), [half(6, 130)]),
    "floor of a quotient": (lambda x: torch.div(x, 0.5, rounding_mode="floor"), [half(6, 130)]),
    "largest, without where": (lambda x: (x.max(1)[0], x.min(0).values), [half(6, 130)]),
    "rolled": (lambda x: torch.roll(x, 3, 1) + x, [half(2, 10, 64)]),
    "known rows": (
        lambda x: x.index_select(1, torch.tensor([4, 5, 0, 9], device=x.device)) * 2,
        [half(2, 10, 64)],
    ),
    "variance": (lambda x: (x.var(-1), x.std(0, unbiased=False)), [half(6, 130)]),
}


@pytest.mark.parametrize("name", PIECES)
def test_pieces(name, on_device):
    function, inputs = PIECES[name]
    with on_device():
        compare(function, inputs)


@pytest.mark.parametrize("function", [torch.sin, torch.cos], ids=["sin", "cos"])
@pytest.mark.parametrize("largest", [4.0, 300.0, 9000.0])
def test_sines_of_fp32(function, largest, on_device):
    x = torch.linspace(-largest, largest, 4001)
    with on_device():
        result = torch.compile(function)(x.to("spyre")).cpu()
    assert (result.double() - function(x.double())).abs().max() <= 4 * 2.0**-23


def test_constants_are_computed_once():
    """Positions and masks are made when the graph is: no call moves or computes them."""
    compiled = torch.compile(triangle)
    x = half(2, TOKENS, TOKENS).to("spyre")
    compiled(x)
    torch.spyre.reset_counters()
    compiled(x)
    counters = torch.spyre.counters()
    assert counters["h2d_bytes"] == 0 and counters["graph_fallback_nodes"] == 0


def test_a_returned_constant_belongs_to_the_caller():
    compiled = torch.compile(lambda x: (x + 1, torch.arange(8, device=x.device).float()))
    x = half(4, 64).to("spyre")
    compiled(x)[1].zero_()
    assert torch.equal(compiled(x)[1].cpu(), torch.arange(8).float())


# --------------------------------------------------------------------------------------------------
# Blocks


class EncoderLayer(nn.TransformerEncoderLayer):
    def __init__(self):
        super().__init__(WIDTH, HEADS, 128, batch_first=True, dropout=0.0)


class PreNormEncoderLayer(nn.TransformerEncoderLayer):
    def __init__(self):
        super().__init__(WIDTH, HEADS, 128, dropout=0.0, activation="gelu", norm_first=True)


class MaskedEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 128, batch_first=True, dropout=0.0)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x, seen):
        return self.layers(x, src_key_padding_mask=~seen)


def square_mask(x):
    return nn.Transformer.generate_square_subsequent_mask(x.shape[1], x.device, x.dtype)


class CausalEncoder(MaskedEncoder):
    def forward(self, x):
        return self.layers(x, mask=square_mask(x), is_causal=True)


class DecoderLayer(nn.TransformerDecoderLayer):
    def __init__(self):
        super().__init__(WIDTH, HEADS, 128, batch_first=True, dropout=0.0)

    def forward(self, x, memory):
        return super().forward(x, memory, tgt_mask=square_mask(x), tgt_is_causal=True)


class CrossAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    def forward(self, x, y):
        return self.attention(x, y, y, need_weights=False)[0]


class AttentionWithWeights(CrossAttention):
    def forward(self, x, y):
        return self.attention(x, y, y)


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * wide.to(x.dtype)


def rotated(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class Llama(nn.Module):
    """Grouped heads, rotary positions computed in the graph, gated feed-forward."""

    def __init__(self, groups=2, inner=128):
        super().__init__()
        self.groups, self.size = groups, WIDTH // HEADS
        self.norm1, self.norm2 = RmsNorm(), RmsNorm()
        self.q = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k = nn.Linear(WIDTH, groups * self.size, bias=False)
        self.v = nn.Linear(WIDTH, groups * self.size, bias=False)
        self.o = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, inner, bias=False)
        self.up = nn.Linear(WIDTH, inner, bias=False)
        self.down = nn.Linear(inner, WIDTH, bias=False)
        frequencies = 1 / 10000 ** (torch.arange(0, self.size, 2).float() / self.size)
        self.register_buffer("frequencies", frequencies, persistent=False)

    def angles(self, x):
        at = torch.arange(x.shape[1], device=x.device).float()
        angles = torch.outer(at, self.frequencies.float())
        angles = torch.cat([angles, angles], -1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)

    def expanded(self, x):
        batch, groups, tokens, size = x.shape
        shape = (batch, groups, HEADS // groups, tokens, size)
        return x[:, :, None].expand(shape).reshape(batch, HEADS, tokens, size)

    def forward(self, x):
        batch, tokens, _ = x.shape
        h = self.norm1(x)
        q, k, v = (
            layer(h).view(batch, tokens, -1, self.size).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        cos, sin = self.angles(x)
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        out = F.scaled_dot_product_attention(
            q, self.expanded(k), self.expanded(v), is_causal=True
        )
        x = x + self.o(out.transpose(1, 2).reshape(batch, tokens, WIDTH))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Granite(Llama):
    """Multipliers on the residual, on attention and on the logits."""

    def forward(self, x):
        y = super().forward(x * 12.0) - x * 12.0
        return (x + y * 0.22) / 8.0


class Gpt2(nn.Module):
    """Weights [in, out] as in Conv1D, a stored triangle as the mask, tanh gelu."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        for name, inputs, outputs in (
            ("qkv", WIDTH, 3 * WIDTH),
            ("out", WIDTH, WIDTH),
            ("up", WIDTH, 4 * WIDTH),
            ("down", 4 * WIDTH, WIDTH),
        ):
            self.register_parameter(name, nn.Parameter(torch.randn(inputs, outputs) * 0.1))
            self.register_parameter(f"{name}_bias", nn.Parameter(torch.randn(outputs) * 0.1))
        self.register_buffer("seen", torch.tril(torch.ones(64, 64, dtype=torch.bool))[None, None])

    def project(self, x, name):
        weight, bias = getattr(self, name), getattr(self, f"{name}_bias")
        return torch.addmm(bias, x.view(-1, x.size(-1)), weight).view(*x.shape[:-1], -1)

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = (
            t.view(batch, tokens, HEADS, WIDTH // HEADS).permute(0, 2, 1, 3)
            for t in self.project(self.norm1(x), "qkv").split(WIDTH, 2)
        )
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(WIDTH // HEADS)
        lowest = torch.full([], torch.finfo(x.dtype).min, dtype=x.dtype, device=x.device)
        scores = torch.where(self.seen[:, :, :tokens, :tokens], scores, lowest)
        out = torch.matmul(torch.softmax(scores, -1), v).permute(0, 2, 1, 3).contiguous()
        x = x + self.project(out.view(batch, tokens, WIDTH), "out")
        inner = F.gelu(self.project(self.norm2(x), "up"), approximate="tanh")
        return x + self.project(inner, "down")


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH, 1e-12), nn.LayerNorm(WIDTH, 1e-12)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, mask):
        batch, tokens, _ = x.shape
        q, k, v = (
            layer(x).view(batch, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(torch.float16).min
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = self.norm1(x + self.o(out.transpose(1, 2).reshape(batch, tokens, WIDTH)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mix = nn.Sequential(nn.Linear(TOKENS, 32), nn.GELU(), nn.Linear(32, TOKENS))
        self.feed = nn.Sequential(nn.Linear(WIDTH, 128), nn.GELU(), nn.Linear(128, WIDTH))

    def forward(self, x):
        x = x + self.mix(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.feed(self.norm2(x))


class Vit(nn.Module):
    """Patches by unfold instead of a convolution."""

    def __init__(self, patch=4):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(3 * patch * patch, WIDTH)
        self.token = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.position = nn.Parameter(torch.randn(1, 17, WIDTH))
        self.block = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 128, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, image):
        batch, size = image.shape[0], self.patch
        patches = image.unfold(2, size, size).unfold(3, size, size)
        x = self.embed(patches.permute(0, 2, 3, 1, 4, 5).reshape(batch, 16, -1))
        x = torch.cat([self.token.expand(batch, -1, -1), x], 1) + self.position
        return self.head(self.block(x)[:, 0])


TEXT = half(2, TOKENS, WIDTH)
SEEN = torch.tensor([[True] * TOKENS, [True] * 7 + [False] * (TOKENS - 7)])
BLOCKS = {
    EncoderLayer: [TEXT],
    PreNormEncoderLayer: [half(TOKENS, 2, WIDTH)],
    MaskedEncoder: [TEXT, SEEN],
    CausalEncoder: [TEXT],
    DecoderLayer: [TEXT, half(2, 7, WIDTH, seed=1)],
    CrossAttention: [TEXT, half(2, 7, WIDTH, seed=1)],
    AttentionWithWeights: [TEXT, half(2, 7, WIDTH, seed=1)],
    Llama: [TEXT],
    Granite: [TEXT],
    Gpt2: [TEXT],
    Bert: [TEXT, SEEN],
    Mixer: [TEXT],
    Vit: [half(2, 3, 16, 16)],
}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_blocks(block, on_device):
    with on_device():
        compare(block, BLOCKS[block])


def test_an_integer_mask_is_converted_on_the_device(on_device):
    with on_device():
        compare(Bert, [TEXT, SEEN.long()])


class Decoder(nn.Module):
    """A layer with a cache that is written in place."""

    def __init__(self, length=16):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.register_buffer("keys", torch.zeros(2, HEADS, length, WIDTH // HEADS))
        self.register_buffer("values", torch.zeros(2, HEADS, length, WIDTH // HEADS))

    def forward(self, x, position: int):
        q, k, v = (
            layer(x).view(2, 1, HEADS, WIDTH // HEADS).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        self.keys[:, :, position : position + 1] = k
        self.values[:, :, position : position + 1] = v
        keys, values = self.keys[:, :, : position + 1], self.values[:, :, : position + 1]
        return F.scaled_dot_product_attention(q, keys, values).transpose(1, 2).reshape(2, WIDTH)


def test_decoding_with_a_cache(on_device):
    host = make(Decoder)
    device = copy.deepcopy(host).to("spyre")
    host = host.float()
    compiled = torch.compile(device, dynamic=False)
    for position in range(4):
        x = half(2, 1, WIDTH, seed=position)
        with on_device(), torch.no_grad():
            result = compiled(x.to("spyre"), position)
            reference = host(x.float(), position)
        error = relative_error(result.float().cpu().numpy(), reference.numpy())
        assert error <= tolerance("acceptance", torch.float16), (position, error)
    error = relative_error(device.keys.float().cpu().numpy(), host.keys.numpy())
    assert error <= tolerance("acceptance", torch.float16), error
