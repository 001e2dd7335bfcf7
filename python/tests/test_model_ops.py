"""Single calls of decoder models in the forms they have there: the views, types and arguments of Granite and Llama, the
sizes of a prompt and of a step, narrower. Every call, eager and compiled, runs on the device and is the CPU's."""

import pytest
import torch
import torch.nn.functional as F
from differential import exact
from tolerances import relative_error, tolerance

F16, F32, I64 = torch.float16, torch.float32, torch.int64
#: Tokens of a prompt, and of a step behind it.
PROMPT, STEP = 41, 1
HIDDEN, HEADS, GROUPS, HEAD, INNER, WORDS, CACHE = 256, 8, 2, 64, 640, 1003, 96


def rand(*shape, dtype=F16, seed=0):
    return exact(torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), dtype)


def words(*shape):
    return torch.randint(WORDS, shape, generator=torch.Generator().manual_seed(1))


def heads(tokens, count=HEADS, seed=0):
    """As a projection leaves them: [batch, heads, tokens, head], with the strides of [batch, tokens, heads * head]."""
    return rand(1, tokens, count * HEAD, seed=seed).view(1, tokens, count, HEAD).transpose(1, 2)


def allowed(tokens, keys):
    return torch.ones(tokens, keys, dtype=torch.bool).tril(keys - tokens)[None, None]


def rotated(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), -1)


def attend(mask, scale=None):
    def call(q, k, v, m=None):
        given = {"bool": m, "causal": None, "none": None, "bias": m}[mask]
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=given, is_causal=mask == "causal", scale=scale, enable_gqa=q.shape[1] != k.shape[1]
        )

    return call


def calls(tokens):
    """name: (function, operands, roundings)."""
    x, wide = rand(1, tokens, HIDDEN), rand(1, tokens, HIDDEN, dtype=F32)
    keys = tokens if tokens > 1 else PROMPT + 1
    place = torch.arange(CACHE)[keys - tokens : keys]
    angles = rand(1, tokens, HEAD, dtype=F32) * 6
    found = {
        "embedding": (lambda i, w: F.embedding(i, w, None, None, 2.0, False, False), [words(1, tokens), rand(WORDS, HIDDEN)], 1),
        "embedding with padding": (lambda i, w: F.embedding(i, w, 0), [words(1, tokens), rand(WORDS, HIDDEN)], 1),
        "index by None": (lambda x: x[None, :, None], [rand(HEAD)], 1),
        "to float": (lambda x: x.float(), [x], 1),
        "to half": (lambda x: x.to(F16), [wide], 1),
        "expand": (lambda x: x.expand(3, -1, 1), [rand(1, HEAD, 1)], 1),
        "frequencies": (lambda a, b: (a @ b).transpose(1, 2), [rand(1, HEAD, 1, dtype=F32), rand(1, 1, tokens, dtype=F32)], 2),
        "twice": (lambda x: torch.cat((x, x), -1), [rand(1, tokens, HEAD // 2, dtype=F32)], 1),
        "cos": (torch.cos, [angles], 2),
        "sin": (torch.sin, [angles], 2),
        "mul": (lambda x: x * 12.0, [x], 1),
        "mul by a row": (torch.mul, [rand(HIDDEN), x], 1),
        "add": (torch.add, [x, rand(1, tokens, HIDDEN, seed=2)], 1),
        "add a number": (lambda x: x + 1e-5, [wide.mean(-1, keepdim=True)], 1),
        "pow": (lambda x: x.pow(2), [wide], 2),
        "mean": (lambda x: x.mean(-1, keepdim=True), [wide], 2),
        "sum": (lambda x: torch.sum(x, -1), [x], 2),
        "rsqrt": (torch.rsqrt, [wide + 0.5], 2),
        "truediv": (lambda x: torch.true_divide(x, 8.0), [x], 1),
        "neg": (torch.neg, [heads(tokens)[..., HEAD // 2 :]], 1),
        "rms_norm": (lambda x, w: torch.rms_norm(x, (HIDDEN,), w, 1e-5), [x, rand(HIDDEN)], 8),
        "linear": (F.linear, [x, rand(INNER, HIDDEN)], 2),
        "linear of the last token": (lambda x, w: F.linear(x[:, -1:], w), [x, rand(WORDS, HIDDEN)], 2),
        "heads": (lambda x: x.view(1, tokens, HEADS, HEAD).transpose(1, 2), [x.repeat(1, 1, 2)], 1),
        "together": (lambda x: x.transpose(1, 2).contiguous().reshape(1, tokens, -1), [heads(tokens)], 1),
        "flatten": (lambda x: torch.flatten(x, 2), [heads(tokens).transpose(1, 2)], 1),
        "rotate": (rotated, [heads(tokens)], 1),
        "rotary": (
            lambda q, c, s: q * c.unsqueeze(1) + rotated(q) * s.unsqueeze(1),
            [heads(tokens), rand(1, tokens, HEAD), rand(1, tokens, HEAD, seed=3)],
            4,
        ),
        "silu": (F.silu, [rand(1, tokens, INNER)], 2),
        "gate": (lambda a, b: F.silu(a) * b, [rand(1, tokens, INNER), rand(1, tokens, INNER, seed=2)], 4),
        "grouped heads": (
            lambda k: k[:, :, None].expand(1, GROUPS, HEADS // GROUPS, tokens, HEAD).reshape(1, HEADS, tokens, HEAD),
            [heads(tokens, GROUPS)],
            1,
        ),
        "cache": (
            lambda c, i, k: c.clone().index_copy_(2, i, k),
            [torch.zeros(1, GROUPS, CACHE, HEAD, dtype=F16), place, heads(tokens, GROUPS)],
            1,
        ),
        "longer cache": (lambda c, k: torch.cat((c, k), 2), [rand(1, GROUPS, keys, HEAD), heads(tokens, GROUPS)], 1),
        "view_as": (lambda x, y: x.reshape(-1).view_as(y), [x, x], 1),
        "repeat": (lambda x: x.repeat(1, 2, 1), [x], 1),
        "positions": (lambda x: torch.arange(tokens, device=x.device).unsqueeze(0), [x], 1),
        "zeros": (lambda x: torch.zeros(1, tokens, 3, dtype=F16, device=x.device), [x], 1),
    }
    q, kv = heads(tokens), [heads(keys, GROUPS, 2), heads(keys, GROUPS, 3)]
    same = [heads(keys, HEADS, 2), heads(keys, HEADS, 3)]
    bias = torch.zeros(1, 1, tokens, keys, dtype=F16).masked_fill(~allowed(tokens, keys), torch.finfo(F16).min)
    found["attention by mask"] = (attend("bool", HEAD**-0.5), [q, *kv, allowed(tokens, keys)], 16)
    found["attention by bias"] = (attend("bias"), [q, *same, bias], 16)
    found["attention to all"] = (attend("none", 0.0078125), [q, *kv], 16)
    if tokens > 1:
        found["attention to the past"] = (attend("causal"), [q, *same], 16)
    return found


CASES = {f"{name}, {tokens}": case for tokens in (PROMPT, STEP) for name, case in calls(tokens).items()}
#: Views and creations by the host: nothing is launched where torch's result shares the memory.
NO_LAUNCH = ("heads", "flatten", "index by None", "expand", "view_as", "zeros", "together", "grouped heads")


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("name", CASES)
def test_call(name, how):
    function, operands, roundings = CASES[name]
    wide = [t.double() if t.is_floating_point() else t for t in operands]
    like, expected = function(*operands), function(*wide)
    device = [t.to("spyre") for t in operands]
    asked = function if how == "eager" else torch.compile(function, fullgraph=True)
    torch.spyre.reset_counters()
    result = asked(*device)
    torch.spyre.synchronize()
    counters = torch.spyre.counters()
    assert (counters["fallback_ops"], counters["graph_fallback_nodes"]) == (0, 0), torch.spyre.fallback_counts()
    assert counters["programs_launched"] > 0 or name.split(",")[0] in NO_LAUNCH, counters
    assert (result.dtype, result.shape, result.device.type) == (like.dtype, like.shape, "spyre")
    result = result.cpu()
    if not result.is_floating_point():
        assert torch.equal(result, expected)
        return
    error = relative_error(result.double().numpy(), expected.double().numpy())
    assert error <= tolerance("chain", like.dtype, roundings), error
