"""``torch.ops.spyre``: device operations that torch has no name for. Each has a CPU kernel with the
same meaning, which is also where it runs when the device cannot; fake tensors take their types from
it."""

import torch

from torch_spyre.ops import convolution, ctc, factors, sorting, statistics

_library = torch.library.Library("spyre", "FRAGMENT")


_host_kernels = {}

_DIFFERENTIABLE = (
    "batched_matmul clamp convolution cummax cummin gelu layer_norm restickify rms_norm silu softplus topkvalue unfold"
).split()


def _define(schema, kernel, fake=None):
    name = schema.split("(")[0]
    _host_kernels[name] = kernel
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    _library.impl(name, kernel, "CPU")
    torch.library.register_fake(f"spyre::{name}", fake or _fake(kernel), lib=_library)


def _differentiable(name, kernel):
    """The gradient is that of the CPU kernel, which is made of torch's operations."""

    def keep(ctx, inputs, output):
        ctx.given = [None if isinstance(v, torch.Tensor) else v for v in inputs]
        ctx.places = [i for i, v in enumerate(inputs) if isinstance(v, torch.Tensor)]
        ctx.save_for_backward(*(inputs[i] for i in ctx.places))
        if isinstance(output, tuple):
            ctx.mark_non_differentiable(*(t for t in output if not t.is_floating_point()))

    def backward(ctx, *grads):
        wanted = [i for i in ctx.places if ctx.needs_input_grad[i]]
        with torch.enable_grad():
            args = list(ctx.given)
            for i, tensor in zip(ctx.places, ctx.saved_tensors):
                args[i] = tensor.detach().requires_grad_(i in wanted)
            results = kernel(*args)
            results = results if isinstance(results, tuple) else (results,)
            pairs = [(r, g) for r, g in zip(results, grads) if r.requires_grad and g is not None]
            found = torch.autograd.grad(
                [result for result, _ in pairs],
                [args[i] for i in wanted],
                [grad for _, grad in pairs],
                allow_unused=True,
            )
        gradients = [None] * len(args)
        for i, gradient in zip(wanted, found):
            gradients[i] = gradient
        return tuple(gradients)

    torch.library.register_autograd(f"spyre::{name}", backward, setup_context=keep, lib=_library)


def _fake(kernel):
    def fake(*args, **kwargs):
        result = kernel(*args, **kwargs)
        if isinstance(result, tuple):
            return tuple(t if t is None else t.contiguous() for t in result)
        return result.contiguous()

    return fake


def _restickify(x):
    return x.clone(memory_format=torch.contiguous_format)


def _unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    """Windows of an image as columns, [N, C * Kh * Kw, windows]."""
    return torch.nn.functional.unfold(x, kernel_size, dilation, padding, stride)


_LARGEST_FP8 = 448.0


def _qfp8ch(x):
    return x.clamp(-_LARGEST_FP8, _LARGEST_FP8).to(torch.float8_e4m3fn)


def _quantize(x, scale):
    scaled = x * torch.reciprocal(scale)
    return torch.ops.spyre.qfp8ch(torch.clamp(scaled, -_LARGEST_FP8, _LARGEST_FP8))


def _dequantize(x, scale):
    if scale.dtype != torch.float16:
        raise ValueError(f"SPYRE-E1602: the scale of fp8 values is {scale.dtype}; give torch.float16")
    return x.to(torch.float16) * scale


def _layernormnorm(x, mean, norm_mean, weight=None, bias=None):
    """With all of its operands: the device has no shorter form."""
    if weight is not None and bias is not None:
        return NotImplemented
    size = x.shape[-1:]
    weight = x.new_ones(size) if weight is None else weight
    bias = x.new_zeros(size) if bias is None else bias
    return torch.ops.spyre.layernormnorm(x, mean, norm_mean, weight, bias)


def _layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    return torch.nn.functional.layer_norm(x, normalized_shape, weight, bias, eps)


def _rms_norm(x, normalized_shape, weight=None, eps=None):
    return torch.nn.functional.rms_norm(x, normalized_shape, weight, eps)


def _clamp(x, min=None, max=None):
    return torch.clamp(x, min, max) if min is not None or max is not None else x.clone()


def _quotient(mode):
    return lambda x, y: torch.div(x, y, rounding_mode=mode)


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
_define(
    "topkvalue(Tensor x, int k, int dim=-1) -> Tensor",
    lambda x, k, dim=-1: torch.topk(x, k, dim)[0],
)
_define(
    "topkindex(Tensor x, int k, int dim=-1) -> Tensor",
    lambda x, k, dim=-1: torch.topk(x, k, dim)[1],
)
_define("restickify(Tensor x) -> Tensor", _restickify)
_define(
    "unfold(Tensor x, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1) "
    "-> Tensor",
    _unfold,
)
_SHAPE = (
    "int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups"
)
_define(
    f"convolution(Tensor x, Tensor weight, Tensor? bias, {_SHAPE}) -> Tensor",
    lambda *args: torch.ops.aten.convolution.default(*args),
)
_define(
    f"convolution_backward(Tensor grad, Tensor x, Tensor weight, {_SHAPE}, bool[3] output_mask) "
    "-> (Tensor, Tensor, Tensor)",
    convolution.told_bias_sizes(torch.ops.aten.convolution_backward.default),
)
_define("cummax(Tensor x, int dim) -> (Tensor, Tensor)", lambda x, dim: tuple(torch.cummax(x, dim)))
_define("cummin(Tensor x, int dim) -> (Tensor, Tensor)", lambda x, dim: tuple(torch.cummin(x, dim)))
_SEQUENCES = "Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths"
_define(f"ctc_loss({_SEQUENCES}, int blank, bool zero_infinity) -> (Tensor, Tensor)", ctc.loss, ctc.fake_loss)
_define(
    f"ctc_loss_backward(Tensor grad, {_SEQUENCES}, Tensor losses, Tensor states, int blank, bool zero_infinity) -> Tensor",
    ctc.loss_backward,
    lambda grad, log_probs, *_: torch.empty_like(log_probs, memory_format=torch.contiguous_format),
)
_define("ctc_step(Tensor state, Tensor jumps, Tensor emissions, Tensor time, Tensor? enters=None) -> Tensor", ctc.step)
for _schema, _kernel in factors.STEPS.items():
    _define(_schema, _kernel)
_define("qfp8ch(Tensor x) -> Tensor", _qfp8ch)
_define("floordiv(Tensor x, Tensor y) -> Tensor", _quotient("floor"))
_define("truncdiv(Tensor x, Tensor y) -> Tensor", _quotient("trunc"))
_define("floormod(Tensor x, Tensor y) -> Tensor", lambda x, y: torch.remainder(x, y))
_define("truncmod(Tensor x, Tensor y) -> Tensor", lambda x, y: torch.fmod(x, y))
_define("quantize_fp8_with_scale(Tensor x, Tensor scale) -> Tensor", _quantize)
_define("dequantize_fp8_with_scale(Tensor x, Tensor scale) -> Tensor", _dequantize)

for _name in _DIFFERENTIABLE:
    _differentiable(_name, _host_kernels[_name])

torch.library.register_autograd("spyre::ctc_loss", ctc.backward, setup_context=ctc.keep, lib=_library)

# Two numbers per row in one element: only all three mean something to the rest of the world.
_define("exx2(Tensor x, float exx2Scale, bool useZeroMean=False) -> Tensor", statistics.exx2, statistics.fake_exx2)
_define("layernormscale(Tensor x, float eps) -> Tensor", statistics.layernormscale, lambda x, eps: x.new_empty(x.shape))
_define(
    "layernormnorm(Tensor x, Tensor mean, Tensor norm_mean, Tensor? weight=None, Tensor? bias=None) -> Tensor",
    statistics.layernormnorm,
)
# In eager mode results have the usual layout, where a stick has one number of a row: they are as on the CPU.
for _kernel in (statistics.exx2, statistics.layernormscale, statistics.layernormnorm):
    _library.impl(_kernel.__name__, _kernel, "PrivateUse1")

# Made of views and copies wherever it runs, so that a graph sees a mutation like any other.
_library.define("overwrite_f(Tensor input, Tensor output, int[] dims, int[] offsets) -> Tensor")
_library.impl("overwrite_f", _overwrite_f, "CompositeImplicitAutograd")
_library.define("overwrite(Tensor input, Tensor(a!) output, int[] dims, int[] offsets) -> ()")
_library.impl("overwrite", _overwrite, "CompositeImplicitAutograd")


def decompositions():
    """Those that torch's operations say in full."""
    ops = torch.ops.spyre
    return {
        **ctc.decompositions(),
        **factors.decompositions(),
        ops.layer_norm.default: _layer_norm,
        ops.rms_norm.default: _rms_norm,
        ops.logical_not.default: lambda x: torch.logical_not(x),
        ops.restickify.default: _restickify,
        ops.unfold.default: _unfold,
        ops.quantize_fp8_with_scale.default: _quantize,
        ops.dequantize_fp8_with_scale.default: _dequantize,
        ops.layernormnorm.default: _layernormnorm,
        ops.cummax.default: sorting.cummax,
        ops.cummin.default: sorting.cummin,
        ops.convolution.default: convolution.convolution,
        ops.convolution_backward.default: convolution.told_bias_sizes(
            convolution.convolution_backward
        ),
    }
