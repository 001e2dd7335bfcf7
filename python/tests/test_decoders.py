"""Decoders of transformers with random weights: a prompt, then one token at a time with a cache of keys and
values. Every token is the one the CPU gives in the device's formats, and logits are near those in fp32."""

import os
import pathlib
import sys

import pytest
import torch
from tolerances import dl16, relative_error, tolerance
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
import generation  # noqa: E402

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip(
    "transformers", reason="no transformers in .venv; scripts/setup.sh installs it"
)

PROMPT, STEPS, WORDS = 12, 16, 256
SIZES = dict(
    vocab_size=WORDS,
    hidden_size=128,
    intermediate_size=256,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    initializer_range=0.1,
)
# As in the published models: scores are scaled by the width of a head.
GRANITE = dict(
    attention_multiplier=1 / 32,
    residual_multiplier=0.22,
    embedding_multiplier=12.0,
    logits_scaling=16.0,
)
MODELS = {
    "granite": lambda: transformers.GraniteForCausalLM(
        transformers.GraniteConfig(**SIZES, **GRANITE)
    ),
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)),
}


class DeviceFormats(TorchDispatchMode):
    """Halves on the CPU have the fraction bits they have on the device."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if not func.is_view:
            for value in tree_leaves(result):
                if isinstance(value, torch.Tensor) and value.dtype == torch.float16:
                    value.copy_(torch.from_numpy(dl16(value.float().numpy())))
        return result


def make(name):
    torch.manual_seed(0)
    model = MODELS[name]().eval().half()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.from_numpy(dl16(parameter.float().numpy())))
    return model


CACHES = {
    "dynamic": lambda config: transformers.DynamicCache(config=config),
    "static": lambda config: transformers.StaticCache(config=config, max_cache_len=PROMPT + STEPS + 3),
}


def generate(model, config, device, tokens=None, cache="dynamic"):
    """Greedy tokens and logits of the prompt and each step; with ``tokens`` those are fed instead."""
    cache = CACHES[cache](config)
    ids = torch.randint(WORDS, (1, PROMPT), generator=torch.Generator().manual_seed(1))
    chosen, logits = [], []
    for step in range(STEPS + 1):
        result = model(
            input_ids=ids.to(device), past_key_values=cache, use_cache=True, logits_to_keep=1
        )
        logits.append(result.logits[:, -1].float().cpu())
        chosen.append(int(logits[-1].argmax()))
        ids = torch.tensor([[chosen[-1] if tokens is None else tokens[step]]])
    return chosen, torch.cat(logits)


@pytest.fixture(scope="module", params=MODELS)
def decoder(request):
    """A model, its greedy tokens on the CPU in the device's formats, and logits for these in fp32."""
    model = make(request.param)
    with torch.no_grad():
        with DeviceFormats():
            tokens, _ = generate(model, model.config, "cpu")
        _, logits = generate(model.float(), model.config, "cpu", tokens)
    assert len(set(tokens)) > 1, "a model that always says the same proves little"
    return request.param, tokens, logits


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_tokens_are_those_of_the_cpu(decoder, mode, cache, on_device):
    name, expected, exact = decoder
    device = make(name).to("spyre")
    run = torch.compile(device) if mode == "compiled" else device
    with on_device(), torch.no_grad():
        tokens, logits = generate(run, device.config, "spyre", cache=cache)
    assert tokens == expected
    error = relative_error(logits.numpy(), exact.numpy())
    assert error <= tolerance("acceptance", torch.float16), error


@pytest.mark.filterwarnings("ignore")
def test_compiled_generation_makes_two_graphs(on_device):
    """One reads the prompt, one makes a token: what changes from token to token is the same as on the CPU."""
    steps = 32 if os.environ.get("SPYRE_TEST_LONG") else 12
    tokens, graphs, _ = generation.generated(generation.decoder(), "cpu", steps, backend="eager")
    with on_device():
        found, on_spyre, _ = generation.generated(generation.decoder(), "spyre", steps)
    assert on_spyre == graphs <= generation.LIMIT
    assert torch.equal(found, tokens)
