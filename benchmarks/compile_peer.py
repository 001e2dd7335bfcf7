#!/usr/bin/env python3
"""What torch's own compiler needs for the decoder layer of CompileTime.cpp, as JSON.

    compile_peer.py [--runs N]

The layer is captured once (make_fx with Inductor's decompositions). Timed are Inductor's CPU lowering and code
generation of that graph, from the second run in the process on; compiling the generated C++ is not part of it.
Both sides are measured in CPU time of the process: other work on the machine does not count.
"""

import argparse
import copy
import json
import os
import statistics
import time

TOKENS, HIDDEN, HEADS, GROUPS, WIDTH, MLP = 2048, 4096, 32, 8, 128, 12800


def decoder_layer(x, cosine, sine, mask, norm1, q, k, v, o, norm2, gate, up, down):
    import torch
    from torch.nn.functional import linear, rms_norm, silu

    def heads(value, weight, count):
        return linear(value, weight).view(1, TOKENS, count, WIDTH).transpose(1, 2)

    def rotated(value):
        turned = torch.cat((-value[..., WIDTH // 2:], value[..., : WIDTH // 2]), dim=-1)
        return value * cosine + turned * sine

    def repeated(value):
        wide = value.view(1, GROUPS, 1, TOKENS, WIDTH).expand(1, GROUPS, HEADS // GROUPS, TOKENS, WIDTH)
        return wide.reshape(1, HEADS, TOKENS, WIDTH)

    value = rms_norm(x, (HIDDEN,), norm1, 1e-5)
    queries, keys = rotated(heads(value, q, HEADS)), repeated(rotated(heads(value, k, GROUPS)).contiguous())
    values = repeated(heads(value, v, GROUPS).contiguous())
    scores = torch.matmul(queries, keys.transpose(2, 3)) * 0.0078125
    mixed = torch.matmul(torch.softmax(scores + mask, dim=-1), values)
    x = x + linear(mixed.transpose(1, 2).reshape(1, TOKENS, HIDDEN), o)
    value = rms_norm(x, (HIDDEN,), norm2, 1e-5)
    return x + linear(silu(linear(value, gate)) * linear(value, up), down)


def shapes() -> list:
    square = [(HEADS * WIDTH, HIDDEN), (GROUPS * WIDTH, HIDDEN), (GROUPS * WIDTH, HIDDEN), (HIDDEN, HEADS * WIDTH)]
    rotary = (1, 1, TOKENS, WIDTH)
    mlp = [(HIDDEN,), (MLP, HIDDEN), (MLP, HIDDEN), (HIDDEN, MLP)]
    return [(1, TOKENS, HIDDEN), rotary, rotary, (1, 1, TOKENS, TOKENS), (HIDDEN,)] + square + mlp


def lower_once(module, mode, inputs) -> float:
    from torch._inductor.debug import DebugContext
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V

    module = copy.deepcopy(module)
    begin = time.process_time()
    with V.set_fake_mode(mode), V.set_debug_handler(DebugContext()):
        graph = GraphLowering(module, example_inputs=inputs)
        with V.set_graph_handler(graph):
            graph.run(*inputs)
            graph.codegen()
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch
    from torch._inductor.decomposition import select_decomp_table
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    mode = FakeTensorMode()
    with mode:
        inputs = [torch.empty(shape, dtype=torch.float16) for shape in shapes()]
        module = make_fx(decoder_layer, decomposition_table=select_decomp_table())(*inputs)
    lower_once(module, mode, inputs)
    seconds = statistics.median(lower_once(module, mode, inputs) for _ in range(args.runs))
    nodes = sum(node.op == "call_function" for node in module.graph.nodes)
    print(json.dumps({"decoder_layer": {"peer": "Inductor CPU", "seconds": seconds, "nodes": nodes}}))


if __name__ == "__main__":
    main()
