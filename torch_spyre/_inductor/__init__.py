"""Capture of spyre graphs for ``torch.compile``; a thin layer over the C++ compiler."""

import torch_spyre


def __getattr__(name):
    # Late: torch's compiler modules are slow to import, and importing the package must not do it.
    if name in ("spyre_hint", "get_op_hints"):
        from torch_spyre._inductor import hints

        return getattr(hints, name)
    return torch_spyre.submodule(__name__, name)
