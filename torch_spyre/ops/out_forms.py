"""``out=`` of operations whose form without it is a kernel of ours, or none: computed, then copied into the given memory."""

import torch
from torch._prims_common.wrappers import _maybe_resize_out, _safe_copy_out

aten = torch.ops.aten

#: Overload with out= -> the operation whose results it stores.
_FORMS = {
    aten._native_batch_norm_legit.out: aten._native_batch_norm_legit.default,
    aten._native_batch_norm_legit.no_stats_out: aten._native_batch_norm_legit.no_stats,
    aten.conj_physical.out: aten.clone.default,  # of what is not complex
    aten.cummax.out: aten.cummax.default,
    aten.cummin.out: aten.cummin.default,
    aten.mode.values: aten.mode.default,
    aten.native_batch_norm.out: aten.native_batch_norm.default,
}


def _stored(op, function):
    names = [argument.name for argument in op._schema.arguments if argument.is_out]

    def kernel(*args, **named):
        given = [named.pop(name) for name in names]
        results = function(*args, **named)
        for out, result in zip(given, [results] if len(names) == 1 else results, strict=True):
            _maybe_resize_out(out, result.shape)
            _safe_copy_out(copy_from=result, copy_to=out)
        return given[0] if len(names) == 1 else tuple(given)

    return kernel


_library = torch.library.Library("aten", "IMPL")


def install():
    """Registers the kernels of the device; once."""
    for op, function in _FORMS.items():
        _library.impl(op.name().removeprefix("aten::"), _stored(op, function), "PrivateUse1")


__all__ = ["install"]
