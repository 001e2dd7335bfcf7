"""``torch.ops.spyre``: device operations that torch has no name for. Each has a CPU kernel with the
same meaning, which is also where it runs when the device cannot; fake tensors take their types from
it."""

import torch

_library = torch.library.Library("spyre", "FRAGMENT")


def _define(schema, kernel):
    name = schema.split("(")[0]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    _library.impl(name, kernel, "CPU")
    torch.library.register_fake(f"spyre::{name}", _fake(kernel), lib=_library)


def _fake(kernel):
    def fake(*args, **kwargs):
        return kernel(*args, **kwargs).contiguous()

    return fake


def _layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    return torch.nn.functional.layer_norm(x, normalized_shape, weight, bias, eps)


def _rms_norm(x, normalized_shape, weight=None, eps=None):
    return torch.nn.functional.rms_norm(x, normalized_shape, weight, eps)


def _clamp(x, min=None, max=None):
    return torch.clamp(x, min, max) if min is not None or max is not None else x.clone()


def _overwrite(input, output, dims, offsets):
    """``output`` with ``input`` at the offsets of the dimensions."""
    window = output
    for dim, offset in zip(dims, offsets, strict=True):
        window = window.narrow(dim, offset, input.shape[dim])
    window.copy_(input)


def _overwrite_f(input, output, dims, offsets):
    result = output.clone(memory_format=torch.contiguous_format)
    _overwrite(input, result, dims, offsets)
    return result


_define(
    "softplus(Tensor x, float beta=1.0, float threshold=20.0) -> Tensor",
    lambda x, beta=1.0, threshold=20.0: torch.nn.functional.softplus(x, beta, threshold),
)
_define(
    "gelu(Tensor x, str approximate='none') -> Tensor",
    lambda x, approximate="none": torch.nn.functional.gelu(x, approximate=approximate),
)
_define("silu(Tensor x) -> Tensor", lambda x: torch.nn.functional.silu(x))
_define("clamp(Tensor x, float? min=None, float? max=None) -> Tensor", _clamp)
_define("logical_not(Tensor x) -> Tensor", lambda x: torch.logical_not(x))
_define("batched_matmul(Tensor x, Tensor y) -> Tensor", lambda x, y: torch.matmul(x, y))
_define(
    "layer_norm(Tensor x, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-05) -> Tensor",
    _layer_norm,
)
_define(
    "rms_norm(Tensor x, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    _rms_norm,
)
_define("overwrite_f(Tensor input, Tensor output, int[] dims, int[] offsets) -> Tensor", _overwrite_f)

_library.define("overwrite(Tensor input, Tensor(a!) output, int[] dims, int[] offsets) -> ()")
_library.impl("overwrite", _overwrite, "CPU")
torch.library.register_fake(
    "spyre::overwrite", lambda input, output, dims, offsets: None, lib=_library
)


def decompositions():
    """Those that torch's operations say in full."""
    ops = torch.ops.spyre
    return {
        ops.layer_norm.default: _layer_norm,
        ops.rms_norm.default: _rms_norm,
        ops.logical_not.default: lambda x: torch.logical_not(x),
    }
