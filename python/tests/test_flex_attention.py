"""torch.nn.attention.flex_attention: attention with functions of scores and places, compiled whole."""

import pytest
import torch
from tolerances import relative_error, tolerance
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

TOKENS, HEADS, GROUPS, HEAD = 70, 4, 2, 32


def causal(_batch, _head, query, key):
    return query >= key


def window(_batch, _head, query, key):
    return (query >= key) & (query - key < 16)


def relative(score, _batch, head, query, key):
    return score + (key - query) * 0.1 * (head + 1)


def capped(score, _batch, _head, _query, _key):
    return torch.tanh(score / 4) * 4


CASES = {
    "plain": (None, None, HEADS),
    "causal": (None, causal, HEADS),
    "window of groups": (None, window, GROUPS),
    "relative and causal": (relative, causal, HEADS),
    "capped": (capped, None, GROUPS),
}


def operands(groups, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    counts = (HEADS, groups, groups)
    return [torch.randn(2, n, TOKENS, HEAD, generator=generator).bfloat16().to(dtype) for n in counts]


def mask_for(function, device):
    return function and create_block_mask(function, None, None, TOKENS, TOKENS, device=device)


def dense(q, k, v, score, mask):
    """The same in plain operations, in float64."""
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.mT * q.shape[-1] ** -0.5
    head = torch.arange(HEADS)[:, None, None]
    query, key = torch.arange(TOKENS)[:, None], torch.arange(TOKENS)
    scores = scores if score is None else score(scores, 0, head, query, key)
    scores = scores if mask is None else scores.masked_fill(~mask(0, head, query, key), float("-inf"))
    return torch.softmax(scores, -1) @ v


def call(score, mask, groups):
    def function(q, k, v):
        return flex_attention(q, k, v, score_mod=score, block_mask=mask, enable_gqa=groups != HEADS)

    return function


def assert_near(result, right, dtype, roundings):
    error = relative_error(result.detach().cpu().double().numpy(), right.detach().double().numpy())
    assert error <= tolerance("chain", dtype, roundings), error


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_compiled(name, dtype, on_device):
    score, mask, groups = CASES[name]
    q, k, v = operands(groups, dtype)
    function = torch.compile(call(score, mask_for(mask, "spyre"), groups), fullgraph=True)
    with on_device():
        result = function(*(t.to("spyre") for t in (q, k, v)))
    assert result.dtype == dtype and result.shape == q.shape
    assert_near(result, dense(q.double(), k.double(), v.double(), score, mask), dtype, 64)


def test_eager(on_device):
    score, mask, groups = CASES["relative and causal"]
    q, k, v = operands(groups)
    with on_device():
        block_mask = mask_for(mask, "spyre")
        result = call(score, block_mask, groups)(*(t.to("spyre") for t in (q, k, v)))
    assert_near(result, dense(q.double(), k.double(), v.double(), score, mask), torch.float32, 64)


@pytest.mark.parametrize("name", CASES)
def test_gradients(name, on_device):
    score, mask, groups = CASES[name]
    host = [t.double().requires_grad_() for t in operands(groups)]
    dense(*host, score, mask).square().sum().backward()
    device = [t.to("spyre").requires_grad_() for t in operands(groups)]
    function = torch.compile(call(score, mask_for(mask, "spyre"), groups))
    with on_device():
        function(*device).square().sum().backward()
    for one, other in zip(device, host, strict=True):
        assert_near(one.grad, other.grad, torch.float32, 256)


def test_biases_that_are_trained(on_device):
    """What the functions read besides scores and places has gradients, too."""

    def function(q, k, v, bias):
        return flex_attention(q, k, v, score_mod=lambda score, b, h, m, n: score + bias[h, m - n + TOKENS])

    q, k, v = operands(HEADS)
    bias = torch.randn(HEADS, 2 * TOKENS + 1, generator=torch.Generator().manual_seed(1))
    places = torch.arange(TOKENS)[:, None] - torch.arange(TOKENS) + TOKENS
    right = bias.double().requires_grad_()
    scores = q.double() @ k.double().mT * HEAD**-0.5 + right[:, places]
    (torch.softmax(scores, -1) @ v.double()).square().sum().backward()
    own = bias.to("spyre").requires_grad_()
    with on_device():
        torch.compile(function)(*(t.to("spyre") for t in (q, k, v)), own).square().sum().backward()
    assert_near(own.grad, right.grad, torch.float32, 256)
