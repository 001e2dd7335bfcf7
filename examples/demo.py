"""What `make run` shows: a function is compiled, runs on the simulated device, and is explained; then a real
model finds the nearest neighbours of sentences.

Usage: python examples/demo.py [directory for artifacts, default ./run-artifacts]
"""

import json
import pathlib
import sys

import torch

import sentences
import torch_spyre

SHAPES = [(256, 512, 192), (55, 67, 130)]


def function(x, y):
    return (x @ y).exp().sum(0)


def size_text(count):
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def compiled_parts(record):
    """(operations of the graph, device operations, bundles) of a compilation."""
    model = json.loads(record.artifacts["model.json"])
    device_ops = [path for path in record.artifacts if "/sdsc_" in path and path.endswith(".json")]
    graph_ops = [line.split('"')[1] for line in record.graph.splitlines() if "graph.call" in line]
    return graph_ops, len(device_ops), len(model["steps"])


def run(m, k, n, directory):
    generator = torch.Generator().manual_seed(0)
    x = (torch.randn(m, k, generator=generator) / k**0.5).half()
    y = torch.randn(k, n, generator=generator).half()
    compiled = torch.compile(function)
    torch.spyre.reset_counters()
    result = compiled(x.to("spyre"), y.to("spyre"))
    counters = torch.spyre.counters()
    reference = function(x.float(), y.float())
    error = ((result.cpu().float() - reference).abs() / reference.abs()).max().item()
    record = torch_spyre.last_compile()
    target = directory / f"mm-exp-sum-{m}x{k}x{n}"
    torch_spyre.save_artifacts(target)

    graph_ops, device_ops, bundles = compiled_parts(record)
    print(f"\n(x @ y).exp().sum(0)   x: {m} x {k}   y: {k} x {n}   float16")
    print(f"  compiled      {' -> '.join(graph_ops)}")
    print(
        f"                {device_ops} device operation{'s' * (device_ops != 1)} in "
        f"{bundles} bundle{'s' * (bundles != 1)}, {len(record.decisions)} decisions on record"
    )
    print(f"  result        largest relative error {error:.2e} against the CPU in float32")
    print(
        f"  device time   {counters['device_ns'] / 1000:.1f} us simulated "
        f"({counters['device_cycles']} cycles, {counters['programs_launched']} launch"
        f"{'es' * (counters['programs_launched'] != 1)})"
    )
    print(
        f"  DDR           {size_text(counters['ddr_read_bytes'])} read, "
        f"{size_text(counters['ddr_write_bytes'])} written"
    )
    print(
        f"  LX            {size_text(counters['lx_read_bytes'])} read, "
        f"{size_text(counters['lx_write_bytes'])} written"
    )
    print(
        f"  arithmetic    {counters['pt_macs']:,} multiply-adds, "
        f"{counters['sfp_lane_ops']:,} vector lane operations"
    )
    print(f"  on the CPU    {counters['fallback_ops']} operations")
    print(f"  artifacts     {target}")


def main():
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "run-artifacts")
    properties = torch.spyre.get_device_properties()
    print(
        f"{properties.name}: {properties.multi_processor_count} cores, "
        f"{size_text(properties.lx_bytes)} LX each, {size_text(properties.total_memory)} DDR"
    )
    for shape in SHAPES:
        run(*shape, directory)
    sentences.main()


if __name__ == "__main__":
    main()
