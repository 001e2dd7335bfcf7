#!/usr/bin/env python3
"""Graphs that a compiled decoder needs to generate tokens, as JSON on standard output.

    generation.py [--tokens N]

`generate()` of transformers with a compiled forward and a static cache: one graph reads the prompt, one makes a token.
More graphs mean that something about the arguments changes from token to token which does not on the CPU, and every
token waits for the compiler.
"""

import argparse
import json
import os
import time

os.environ["HF_HUB_OFFLINE"] = "1"
PROMPT, LIMIT = 5, 2


def decoder():
    """A small Llama with random weights."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=256,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.1,
    )
    return transformers.LlamaForCausalLM(config).eval()


def generated(model, device, tokens, backend="inductor"):
    """The tokens of one generation, the graphs that were compiled for it, and its seconds."""
    import torch
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    model = model.to(device)
    model.forward = torch.compile(model.forward, fullgraph=True, dynamic=False, backend=backend)
    counters.clear()
    prompt = torch.arange(PROMPT).reshape(1, PROMPT).to(device)
    begin = time.perf_counter()
    found = model.generate(prompt, max_new_tokens=tokens, do_sample=False, cache_implementation="static", eos_token_id=None)
    seconds = time.perf_counter() - begin
    return found.cpu(), counters["stats"]["unique_graphs"], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=32)
    args = parser.parse_args()
    try:
        import transformers  # noqa: F401
    except ImportError:
        print(json.dumps({}))
        return
    _, graphs, seconds = generated(decoder(), "spyre", args.tokens)
    print(json.dumps({"tokens": args.tokens, "graphs": graphs, "seconds": seconds, "limit": LIMIT}))


if __name__ == "__main__":
    main()
