"""Gradients of the operations of the differential tests: which have one, and how far the device's may be off.

The reference is torch in float64 on the same operands. A gradient is a chain of roundings of the format, relative to its
largest element: the formulas subtract (1 - y * y), so single elements may cancel.
"""

import dataclasses
import warnings

import differential
import torch
from differential import FLOATS, Case
from differential_special import SPECS as COMPARED
from gradients_composed import SPECS as COMPOSED
from tolerances import relative_error, tolerance

#: Shapes that are tried in this order: a row and a bit, odd ones, one dimension, more, one element.
SHAPES = ((2, 65), (3, 1, 5), (55, 2), (67, 71), (65,), (2, 3, 4, 5), (), (1,), (67, 71, 256))

#: Roundings on the way: a few products, functions and sums.
ROUNDINGS = 16

#: More where torch's formula takes a difference of nearly equal numbers, or, as torch does, finds places in fp32 and takes
#: their distances to the third power, or where the power of a long sum is taken. Rows that are one and the same have the
#: sum of 67 or 71 gradients, each rounded.
MORE_ROUNDINGS = {
    "aten.sinc.default": 512,
    "aten.special_log_ndtr.default": 128,
    **{f"aten.mm.default-67x71x{columns}": 32 for columns in (1, 63, 64, 65, 256)},
    "aten.upsample_bicubic2d.default-less": 32,
    **{f"spyre.ctc_loss.default{label}": 64 for label in ("", "-in a row", "-last blank")},
}

#: Operations whose gradient is on the CPU, in part, and why; the list only shrinks.
ON_CPU = {}

#: Rows without a gradient of their own, and why.
WITHOUT = {
    "aten._adaptive_avg_pool2d_backward.default": "is a gradient",
    "aten._thnn_fused_gru_cell_backward.default": "is a gradient",
    "aten._thnn_fused_lstm_cell_backward_impl.default": "is a gradient",
    "aten.adaptive_max_pool2d_backward.default": "is a gradient",
    "aten.avg_pool2d_backward.default": "is a gradient",
    "aten.avg_pool3d_backward.default": "is a gradient",
    "aten.batch_norm_backward.default": "is a gradient",
    "aten.convolution_backward.default": "is a gradient",
    "aten.max_pool2d_with_indices_backward.default": "is a gradient",
    "aten.max_pool3d_with_indices_backward.default": "is a gradient",
    "spyre.convolution_backward.default": "is a gradient",
    "aten.native_dropout.default": "its results are random",
    "aten._grouped_mm.default": "torch's asks the host where groups end",
    "aten._native_multi_head_attention.default": "torch's path without gradients",
    "aten._scaled_mm.default": "torch has none of fp8",
    "aten._transformer_encoder_layer_fwd.default": "torch's path without gradients",
    "aten._ctc_loss.Tensor": "torch's way to the loss that spyre.ctc_loss is",
    "aten._ctc_loss.default": "torch's way to the loss that spyre.ctc_loss is",
    "aten._ctc_loss_backward.Tensor": "is a gradient",
    "aten._ctc_loss_backward.default": "is a gradient",
    "spyre.ctc_loss_backward.default": "is a gradient",
    **{
        f"spyre.{name}_step.default": "a part of another operation, which has one"
        for name in ("cholesky", "ctc", "lu", "pivot", "qr", "triangular")
    },
    "spyre.dequantize_fp8_with_scale.default": "torch has none of fp8",
    "spyre.qfp8ch.default": "torch has none of fp8",
    "spyre.quantize_fp8_with_scale.default": "torch has none of fp8",
    "spyre.exx2.default": "a part of layer_norm, which has one",
    "spyre.layernormnorm.default": "a part of layer_norm, which has one",
    "spyre.layernormscale.default": "a part of layer_norm, which has one",
}


#: Gradients of layers, which the sweep over those layers runs.
OF_LAYERS = [
    f"aten.{name}.default"
    for name in (
        "_adaptive_avg_pool3d_backward adaptive_max_pool3d_backward upsample_linear1d_backward "
        "upsample_bilinear2d_backward upsample_trilinear3d_backward upsample_bicubic2d_backward "
        "_upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa_backward _embedding_bag_backward "
        "_embedding_bag_dense_backward _embedding_bag_per_sample_weights_backward _cdist_backward "
        "grid_sampler_2d_backward grid_sampler_3d_backward _weight_norm_interface_backward _pdist_backward "
        "fractional_max_pool2d_backward fractional_max_pool3d_backward multi_margin_loss_backward "
        "multilabel_margin_loss_backward soft_margin_loss_backward"
    ).split()
    + [
        f"{kind}{dims}d_backward"
        for kind in ("upsample_nearest", "_upsample_nearest_exact", "replication_pad")
        for dims in (1, 2, 3)
    ]
]
WITHOUT.update({name: "is a gradient" for name in OF_LAYERS})
#: Gradients that sum products.
BACKWARD = (
    "_fused_rms_norm_backward _log_softmax_backward_data _softmax_backward_data native_batch_norm_backward native_group_norm_backward "
    "native_layer_norm_backward"
).split()
WITHOUT.update({f"aten.{name}.default": "is a gradient" for name in BACKWARD})
WITHOUT["aten._fused_rms_norm.default"] = "a part of rms_norm, which has one"
WITHOUT.update(
    {
        f"aten.{name}.{overload}": "a step of training"
        for name in ("_fused_adagrad", "_fused_adam", "_fused_adamw", "_fused_sgd")
        for overload in ("default", "tensor_lr")
    }
)
WITHOUT["aten._amp_foreach_non_finite_check_and_unscale.default"] = "a step of training"
WITHOUT["aten._amp_update_scale.default"] = "a step of training"

SPECS = [*COMPARED, *COMPOSED]


#: Torch's own formula refuses 16 bits, on every device.
IN_FP32 = ("aten.special_i1.default", "aten.special_i1e.default")


def float_types(spec):
    return [t for t in spec.dtypes if t in FLOATS and (t == torch.float32 or spec.name not in IN_FP32)]


def shapes_of(spec):
    return [s for s in SHAPES if spec.accepts(s)]


def answer(spec, device):
    """What torch says when it is asked for a gradient on a device: "gradient", "none" where no result has one, or the
    error."""
    shapes = shapes_of(spec)
    types = float_types(spec) or spec.dtypes
    drawn = spec.operands(differential.Draw(Case(spec, types[0], shapes[0])), shapes[0])
    dtype = torch.float64 if device == "cpu" else None
    results = differential.results_of(spec.call(*_leaves([t.to(device) for t in drawn], dtype)))
    results = [t for t in results if t.requires_grad]
    try:
        torch.autograd.backward(results, [torch.ones_like(t) for t in results])
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return "gradient" if results else "none"


def divided(specs):
    """Those with a gradient on the CPU, and those without."""
    with_one, without = [], []
    for spec in specs:
        (with_one if float_types(spec) and answer(spec, "cpu") == "gradient" else without).append(spec)
    return with_one, without


def check_without(spec):
    """What is wrong with an operation that has no gradient; empty when nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        wanted, got = (answer(spec, device) for device in ("cpu", "spyre"))
    return [] if got == wanted else [f"'{got}' for '{wanted}'"]


def _leaves(operands, dtype=None):
    """Operands with a gradient, where they are fractions."""
    leaves = []
    for t in operands:
        if t.is_floating_point():
            t = t.detach().to(dtype or t.dtype).requires_grad_()
        leaves.append(t)
    return leaves


def _results(spec, leaves, call=None):
    results = differential.results_of((call or spec.call)(*leaves))
    return [t for t in results if t.is_floating_point()]


def _gradients(case, operands, dtype=None, call=None, forms=None):
    """One per operand of fractions; results are summed with weights that the format holds exactly."""
    leaves = _leaves(operands, dtype)
    seen = [see(t) for t, see in zip(leaves, forms)] if forms else leaves
    results = [t for t in _results(case.spec, seen, call) if t.requires_grad]
    draw = differential.Draw(case, seed=1)
    weights = [draw.linear(t.shape, -1, 1, case.dtype).to(t.device, t.dtype) for t in results]
    given = [t for t in leaves if t.requires_grad]
    return torch.autograd.grad(results, given, weights, allow_unused=True)


def roundings_of(case):
    return MORE_ROUNDINGS.get(case.spec.id, ROUNDINGS)


def compare(case, got, expected):
    wrong = []
    for number, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
        if ours is None or theirs is None:
            if (ours is None) != (theirs is None):
                wrong.append(f"gradient {number} is {'missing' if ours is None else 'too many'}")
            continue
        if ours.device.type != "spyre" or ours.dtype != case.dtype or ours.shape != theirs.shape:
            wrong.append(f"gradient {number}: {ours.dtype} {list(ours.shape)} on {ours.device}")
            continue
        # What the type has no number for is infinite.
        fits = theirs.abs() <= torch.finfo(case.dtype).max
        ours, theirs = (torch.where(fits, t.cpu().double(), 0.0).numpy() for t in (ours, theirs))
        error, limit = relative_error(ours, theirs), tolerance("chain", case.dtype, roundings_of(case))
        if not error <= limit:
            wrong.append(f"gradient {number} is off by {error:.3g} of its largest, {error / limit:.2g} times too far")
    return wrong


def check(case):
    """What is wrong with the gradients of a case; empty when nothing is. They are judged by their largest element, so the
    operands do not cancel."""
    drawn = case.spec.operands(differential.Draw(case, cancels=False), case.shape)
    parts = [differential.formed(t, case.form) for t in drawn]
    forms = [see for _, see in parts]
    torch.spyre.reset_counters()
    try:
        expected = _gradients(case, [base for base, _ in parts], torch.float64, forms=forms)
        call = case.spec.call
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if case.how == "compiled":
                torch._dynamo.reset()
                call = torch.compile(call, backend="spyre", fullgraph=True, dynamic=False)
            got = _gradients(case, [base.to("spyre") for base, _ in parts], call=call, forms=forms)
        counters = torch.spyre.counters()
        wrong = compare(case, got, expected)
    except Exception as error:  # noqa: BLE001 - one line per case, whatever it is
        return [f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"]
    if counters["fallback_ops"] or counters["graph_fallback_nodes"]:
        wrong.append(f"on the CPU: {torch.spyre.fallback_counts() or 'graph nodes'}")
    return wrong


def cases_of(spec):
    """Each type with a shape and a form of its own, eager; one compiled."""
    shapes, forms = shapes_of(spec), spec.forms
    start = sum(map(ord, spec.id))
    cases = [
        Case(spec, dtype, shapes[(start + i) % min(len(shapes), 5)], forms[(start + i) % len(forms)])
        for i, dtype in enumerate(float_types(spec))
    ]
    compiled = dataclasses.replace(cases[start % len(cases)], form="contiguous", how="compiled")
    return [*cases, compiled]
