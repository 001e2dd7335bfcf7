"""Names of ``torch.cuda`` about device graphs. Work of a stream is not captured here: ``torch.compile`` makes
one program of a function ahead of its first run (docs/adr/0089-device-graphs.md)."""

import torch


def _refuse(name):
    raise RuntimeError(
        f"SPYRE-E6561: torch.spyre.{name} is not supported, because streams of this device are not captured; "
        "compile the function with torch.compile(), which makes one program of it"
    )


class SpyreGraph:
    """Stands in for ``torch.cuda.CUDAGraph``. Raises E6561."""

    def __new__(cls, *_args, **_kwargs):
        _refuse("SpyreGraph")


def graph(*_args, **_kwargs):
    """Stands in for ``torch.cuda.graph``. Raises E6561."""
    _refuse("graph")


def graph_pool_handle():
    """Stands in for ``torch.cuda.graph_pool_handle``. Raises E6561."""
    _refuse("graph_pool_handle")


def make_graphed_callables(callables, sample_args, num_warmup_iters=1, allow_unused_input=False, pool=None):
    """The callables, compiled with ``torch.compile`` and called with their sample arguments, so that
    later calls compile nothing. A tuple of callables takes a tuple of tuples of arguments and gives a
    tuple. ``allow_unused_input`` and ``pool`` are accepted: compiled graphs need neither."""
    is_single = not isinstance(callables, tuple)
    functions, samples = ((callables,), (sample_args,)) if is_single else (callables, sample_args)
    if len(functions) != len(samples):
        raise ValueError(
            f"SPYRE-E6560: make_graphed_callables was given {len(functions)} callables and {len(samples)} "
            "tuples of arguments; give one tuple for each"
        )
    compiled = tuple(torch.compile(function) for function in functions)
    for function, arguments in zip(compiled, samples):
        for _ in range(max(1, num_warmup_iters)):
            function(*arguments)
    return compiled[0] if is_single else compiled
