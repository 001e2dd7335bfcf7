"""Torch's own samples of its operations, eager and some compiled, against float64 on the CPU.

Nobody here chose the operands: the list is the one torch tests its devices with (torch.testing._internal). What runs on
the CPU must be what the table of operations says runs there. With SPYRE_TEST_LONG=1 all types and more samples.
"""

import math
import os
import warnings

import pytest
import torch
from tolerances import tolerance
from torch.utils._pytree import tree_leaves, tree_map

samples = pytest.importorskip(
    "torch.testing._internal.common_methods_invocations",
    reason="torch's list of samples needs expecttest; scripts/setup.sh installs it",
)

LONG = os.environ.get("SPYRE_TEST_LONG") == "1"
TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.int64, torch.int32, torch.int8, torch.bool)
HALVES = (torch.float16, torch.bfloat16)
#: Samples of an operation and type, and one in how many operations is compiled.
COUNT, COMPILED_EVERY = (12, 4) if LONG else (2, 12)

#: Roundings on the way to a result, relative to the largest: most need few, sums and factors of matrices more.
ROUNDINGS = 24

COMPLEX = "complex numbers"
DOUBLE = "float64"
SPARSE = "sparse tensors"
RANDOM = "results are random"
MEMORY = "the contents are what the memory has"
OPEN = "the result is not the only one: signs, the order of equal elements"
#: Names, or beginnings of names, and why there is nothing to compare.
NOT_COMPARED = {
    "cdouble": COMPLEX,
    "cfloat": COMPLEX,
    "chalf": COMPLEX,
    "complex": COMPLEX,
    "double": DOUBLE,
    "empty": MEMORY,
    "fft": COMPLEX,
    "float_power": DOUBLE,
    "geqrf": OPEN,
    "hash_tensor": "integers of 64 bits without a sign",
    "kthvalue": OPEN,
    "linalg.eig": OPEN,
    "linalg.eigh": OPEN,
    "linalg.householder_product": OPEN,
    "linalg.ldl": OPEN,
    "linalg.lstsq": OPEN,
    "linalg.matrix_rank": DOUBLE,
    "linalg.pinv": DOUBLE,
    "linalg.qr": OPEN,
    "linalg.svd": OPEN,
    "masked.amax": "bounds of 64 bits",
    "masked.amin": "bounds of 64 bits",
    "masked.argmax": "bounds of 64 bits",
    "masked.argmin": "bounds of 64 bits",
    "mode": OPEN,
    "new_empty": MEMORY,
    "ormqr": OPEN,
    "pca_lowrank": RANDOM,
    "pinverse": DOUBLE,
    "polar": COMPLEX,
    "polygamma": "poles, where the CPU has large numbers",
    "special.polygamma": "poles, where the CPU has large numbers",
    "qr": OPEN,
    "sparse": SPARSE,
    "stft": COMPLEX,
    "svd": OPEN,
    "tensor_split": "the places are a tensor of the CPU, on any device",
    "to_sparse": SPARSE,
    "topk": OPEN,
    "view_as_complex": COMPLEX,
}
#: Results that are random: types and shapes are compared.
_RANDOM = (
    "bernoulli cauchy exponential geometric log_normal multinomial normal nn.functional.alpha_dropout nn.functional.dropout "
    "nn.functional.dropout2d nn.functional.dropout3d nn.functional.feature_alpha_dropout.with_train nn.functional.rrelu "
    "nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d rand_like randint randint_like randn "
    "randn_like uniform normal.in_place normal.number_mean"
).split()


def reason_for(name):
    found = [why for start, why in NOT_COMPARED.items() if name == start or name.startswith((f"{start}.", f"{start}_"))]
    return found[0] if found else None


OPERATIONS = [op for op in samples.op_db if not any(name in op.full_name for name in ("__rand__", "__ror__"))]


def types_of(number, op):
    """All of them, or two that other operations do not take."""
    known = [t for t in TYPES if t in op.dtypes]
    if LONG or len(known) < 3:
        return known
    return [known[number % len(known)], known[(number + 3) % len(known)]]


#: Rows that are sorted take the square of their length.
SMALL = 1 << 12


def is_small(sample):
    leaves = tree_leaves((sample.input, sample.args, sample.kwargs))
    return all(t.numel() <= SMALL for t in leaves if isinstance(t, torch.Tensor))


def spread(found):
    """Some of the samples, from all of the list; large ones where there is time."""
    found = found if LONG else [sample for sample in found if is_small(sample)]
    step = max(1, len(found) // COUNT)
    return found[::step][:COUNT]


def moved(tree, device):
    return tree_map(lambda t: t.detach().to(device) if isinstance(t, torch.Tensor) else t, tree)


def wide(tree):
    def leaf(value):
        if isinstance(value, torch.Tensor):
            return value.double() if value.is_floating_point() else value
        return torch.float64 if value in (*HALVES, torch.float32) else value

    return tree_map(leaf, tree)


#: Places of equal elements are any on the CPU; the device's are in their order, as the CPU's are on request.
_STABLE = ("argsort", "sort")


def call(op, function, sample, device=None):
    kwargs = dict(sample[2])
    if op.full_name in _STABLE and device is None:
        kwargs.update(zip(("dim", "descending"), sample[1]), stable=True)
        return function(sample[0], **kwargs)
    if "device" in kwargs:
        kwargs["device"] = device or "cpu"
    return function(sample[0], *sample[1], **kwargs)


def refuses(op, sample):
    """What torch refuses on the CPU is nobody's."""
    try:
        return None, call(op, op.op, sample)
    except Exception as error:  # noqa: BLE001 - whatever torch has to say
        return error, None


def exact_or(op, sample, otherwise):
    try:
        return call(op, op.op, wide(sample))
    except Exception:  # noqa: BLE001 - no kernel of float64
        return otherwise


def limited(values, dtype):
    """Numbers beyond the type are its largest."""
    most = float(torch.finfo(dtype).max) if dtype == torch.float16 else 8.5e9 if dtype in HALVES else math.inf
    return values.clamp(-most, most)


def wrong_with(result, exact, like, dtype):
    """Nothing, or what is wrong with a result."""
    if not isinstance(like, torch.Tensor):
        return "" if type(result) is type(like) else f"{result!r} for {like!r}"
    if result.shape != like.shape or result.layout != like.layout:
        return f"{list(result.shape)} for {list(like.shape)}"
    if not result.is_floating_point():
        differs = int((result != exact.to(result.dtype)).sum())
        return f"{differs} of {result.numel()} differ" if differs else ""
    result, exact = (limited(t.double(), dtype) for t in (result, exact))
    if dtype in HALVES:  # an infinity is the largest number there
        exact = torch.where(exact.isnan() & ~result.isnan(), result, exact)
    known = exact.isfinite() & result.isfinite()
    if not torch.equal(result[~known].nan_to_num(nan=7.0), exact[~known].nan_to_num(nan=7.0)):
        return f"{result[~known][:4].tolist()} for {exact[~known][:4].tolist()}"
    if not known.any():
        return ""
    kind = dtype if dtype in (*HALVES, torch.float32) else torch.float32
    allowed = tolerance("chain", kind, ROUNDINGS) * max(float(exact[known].abs().max()), 2.0**-20)
    off = float((result[known] - exact[known]).abs().max())
    return f"{off:.3g} off, {allowed:.3g} allowed" if off > allowed else ""


def base_of(name):
    return name.removeprefix("aten.").split(".")[0].strip("_")


#: What a formula leaves of an operation: integers; halves, which the CPU has no good result for either; rows of thousands of
#: elements, histograms with edges, old names, margins of a single number.
_INTEGERS = "convolution avg_pool3d bilinear".split()
_HALVES = "linalg_matrix_exp".split()
_OTHERS = (
    "sort histogram histogramdd_bin_edges histogramdd_from_bin_cts cholesky triangular_solve rrelu_with_noise unique2 "
    "multi_margin_loss multilabel_margin_loss_forward"
).split()


def partly(name, dtype):
    return (
        name in _OTHERS
        or (name in _INTEGERS and not dtype.is_floating_point)
        or (name in _HALVES and dtype in HALVES)
    )


def on_the_cpu():
    """Names of what the table leaves to the CPU."""
    from torch_spyre.ops import table

    return {base_of(row.name) for row in table.cpu_rows()}


@pytest.fixture(scope="module")
def left_to_the_cpu():
    return on_the_cpu()


def check(op, function, given, dtype, is_random, left):
    """What is wrong with one sample."""
    sample = (given.input, given.args, given.kwargs)
    held = moved(moved(sample, "spyre"), "cpu")
    error, like = refuses(op, held)
    if error is not None:
        return ""
    exact = exact_or(op, held, like)
    device = moved(sample, "spyre")
    torch.spyre.reset_counters()
    try:
        result = moved(call(op, function, device, "spyre"), "cpu")
        torch.spyre.synchronize()
    except Exception as error:  # noqa: BLE001 - one line for each sample
        if "SPYRE-E6502" in str(error) or "SPYRE-E6506" in str(error):
            return ""  # says that the type has no format
        return f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    has_elements = all(t.numel() for t in tree_leaves((sample, result)) if isinstance(t, torch.Tensor))
    counts = torch.spyre.fallback_counts() if has_elements else {}
    others = [n for n in counts if base_of(n) not in left and not partly(base_of(n), dtype)]
    text = [f"on the CPU: {others}"] if others else []
    pairs = zip(tree_leaves(result), tree_leaves(exact), tree_leaves(like), strict=True)
    if not is_random:
        text += [t for t in (wrong_with(*three, dtype) for three in pairs) if t]
    return "; ".join(text)


@pytest.mark.parametrize("number", range(len(OPERATIONS)), ids=[op.full_name for op in OPERATIONS])
def test_samples(number, left_to_the_cpu):
    op = OPERATIONS[number]
    if reason_for(op.full_name):
        return
    function = op.op
    if number % COMPILED_EVERY == 0:
        function = torch.compile(lambda *args, **kwargs: op.op(*args, **kwargs))
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in types_of(number, op):
            torch.manual_seed(0)
            for given in spread(list(op.sample_inputs("cpu", dtype))):
                text = check(op, function, given, dtype, op.full_name in _RANDOM, left_to_the_cpu)
                wrong += [f"{dtype} {given}: {text}"] if text else []
    assert not wrong, "\n".join(line[:600] for line in wrong)
