"""What a differential case is: an operation on tensors of a type, shape and form, under one configuration.

Operands are drawn so that the device's format holds them exactly; the reference is torch in float64 (integers: their
own type). How far a result may be off is the entry "differential" of test/tolerances.json.
"""

import contextlib
import dataclasses
import itertools
import math
import random
import warnings
import zlib

import torch
from tolerances import TABLE

F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
I8, I16, I32, I64, BOOL = torch.int8, torch.int16, torch.int32, torch.int64, torch.bool
FLOATS, WORDS = (F16, BF16, F32), (I8, I16, I32, I64)
NUMBERS = (*FLOATS, *WORDS)
ALL = (*NUMBERS, BOOL)

LIMITS = TABLE["differential"]

SHAPES = (
    (),
    (1,),
    (63,),
    (64,),
    (65,),
    (55, 2),
    (2, 65),
    (67, 71),
    (67, 71, 256),
    (3, 1, 5),
    (2, 3, 4, 5),
    (2, 3, 1, 5, 7),
    (2, 1, 3, 2, 5, 33),
    (0,),
    (3, 0, 5),
)
FORMS = ("contiguous", "transposed", "sliced", "expanded")
CORES = (1, 7, 32)
LX = (False, True)
PLANNERS = ("best", "compat")
HOW = ("eager", "compiled")
# How the tensors lie on the device: as torch_spyre chooses, sticks along the first dimension, an element per stick.
LAYOUTS = ("default", "reversed", "sparse")


@dataclasses.dataclass(frozen=True)
class Spec:
    """One operation of torch. ``operands`` gives tensors for (draw, shape); ``rule`` says how far the results may be
    off: "exact", "pointwise", or a function of the operands in float64 that gives the sum of the terms' magnitudes.
    ``between`` gives values on the way that are rounded to the format, too."""

    name: str
    call: object
    operands: object
    dtypes: tuple = FLOATS
    rule: object = "pointwise"
    accepts: object = lambda shape: True
    forms: tuple = FORMS
    between: object = None
    # Copies are no launches of a program.
    copies: bool = False
    label: str = ""

    @property
    def id(self):
        return f"{self.name}-{self.label}" if self.label else self.name


@dataclasses.dataclass(frozen=True)
class Case:
    spec: Spec
    dtype: torch.dtype
    shape: tuple
    form: str = "contiguous"
    cores: int = 32
    lx: bool = False
    planner: str = "best"
    how: str = "eager"
    layout: str = "default"

    def __str__(self):
        kind = str(self.dtype).replace("torch.", "")
        lx = "lx" if self.lx else "ddr"
        shape = list(self.shape)
        return f"{self.spec.id} {kind} {shape} {self.form} {self.layout} {self.cores} {lx} {self.planner} {self.how}"

    @property
    def configuration(self):
        return {"sencores": self.cores, "lx_planning": self.lx, "planner": self.planner}


class Draw:
    """Random operands of one case, all exact in the device's format of the type. ``cancels`` permits sums near 0."""

    def __init__(self, case, seed=0, cancels=True):
        self.cancels = cancels
        self.dtype = case.dtype
        text = f"{case.spec.id} {case.dtype} {case.shape} {seed}"
        self.generator = torch.Generator().manual_seed(zlib.crc32(text.encode()))
        self.random = random.Random(text)

    def uniform(self, shape, low, high):
        return torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low

    def numbers(self, shape, low=2.0**-6, high=2.0**6, signed=True, dtype=None):
        """Magnitudes evenly spread over binades; integers and truth values evenly over their own."""
        dtype = dtype or self.dtype
        if dtype == BOOL:
            return self.integers(shape, 0, 2, BOOL)
        if not dtype.is_floating_point:
            return self.integers(shape, 0 if not signed else -int(high) or -1, int(high) + 1, dtype)
        values = torch.exp2(self.uniform(shape, math.log2(low), math.log2(high)))
        if signed:
            sign = torch.rand(shape, generator=self.generator) < 0.5
            values = torch.where(sign, -values, values)
        return exact(values, dtype)

    def opposed(self, shape, dim):
        """Numbers whose second half along a dimension is the negated first half but for a few last bits: sums nearly cancel."""
        x = self.numbers(shape)
        half = shape[dim] // 2 if self.cancels else 0
        first = x.narrow(dim, 0, half)
        few = torch.rand(first.shape, generator=self.generator) < 0.125
        near = exact(torch.where(few, first * (1 + 2.0**-5), first).double(), self.dtype) if self.dtype in FLOATS else first
        x.narrow(dim, half, half).copy_(-near)
        return x

    def doubled(self, shape, dim):
        """Numbers whose halves along a dimension are the same."""
        x = self.numbers(shape)
        half = shape[dim] // 2 if self.cancels else 0
        x.narrow(dim, half, half).copy_(x.narrow(dim, 0, half).clone())
        return x

    def linear(self, shape, low, high, dtype=None):
        return exact(self.uniform(shape, low, high), dtype or self.dtype)

    def integers(self, shape, low, high, dtype=I64):
        return torch.randint(low, high, tuple(shape), generator=self.generator).to(dtype)


def exact(values, dtype):
    """To the bits that the type and the device's format share, towards zero."""
    bits = LIMITS["fractionBits"][str(dtype).replace("torch.", "")]
    mantissa, exponent = torch.frexp(values.double())
    scale = 2.0 ** (bits + 1)
    return torch.ldexp(torch.trunc(mantissa * scale) / scale, exponent).to(dtype)


def formed(tensor, form):
    """A host tensor that holds the elements, and how to see them in it."""
    if form == "transposed" and tensor.dim() >= 2:
        order = list(reversed(range(tensor.dim())))
        return tensor.permute(order).contiguous(), lambda t: t.permute(order)
    if form == "sliced" and tensor.dim() >= 1 and tensor.numel():
        wide = [size + 3 for size in tensor.shape]
        # Something else around it, which must not be read.
        base = torch.full(wide, 1, dtype=tensor.dtype)
        where = tuple(slice(2, 2 + size) for size in tensor.shape)
        base[where] = tensor
        return base, lambda t: t[where]
    if form == "expanded" and tensor.dim() >= 1 and tensor.shape[0] > 1:
        first, shape = tensor[:1].contiguous(), tensor.shape
        return first, lambda t: t.expand(shape)
    return tensor.contiguous(), lambda t: t


def ulp(reference, dtype):
    """Distance of neighbours in the format, at each element of a float64 tensor."""
    name = str(dtype).replace("torch.", "")
    smallest = LIMITS["smallestExponent"][name]
    exponent = torch.frexp(reference)[1] - 1 - LIMITS["fractionBits"][name]
    return torch.exp2(exponent.clamp_min(smallest).double())


def wide(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def distance_text(result, reference, allowed):
    """Nothing, or what is wrong with a result, for people."""
    if result.shape != reference.shape:
        return f"shape {list(result.shape)} for {list(reference.shape)}"
    if result.dtype != reference.dtype and not reference.is_floating_point():
        return f"type {result.dtype} for {reference.dtype}"
    if not result.is_floating_point():
        wrong = result != reference
        return f"{int(wrong.sum())} of {wrong.numel()} differ" if wrong.any() else ""
    got = result.double()
    largest = torch.finfo(result.dtype).max
    # What the type has no number for is infinite.
    same = (got == reference) | (got.isnan() & reference.isnan())
    same |= got.isinf() & (got.sign() == reference.sign()) & (reference.abs() + allowed > largest)
    off = (got - reference).abs() / allowed
    off = torch.where(same, 0.0, torch.where(off.isnan(), math.inf, off))
    if off.numel() == 0 or off.max() <= 1:
        return ""
    worst = int(off.flatten().argmax())
    return (
        f"{off.max():.3g} times too far at {worst}: {got.flatten()[worst]:.9g} for "
        f"{reference.flatten()[worst]:.9g} ({int((off > 1).sum())} of {off.numel()})"
    )


def allowed_distance(spec, operands, reference, dtype):
    if not dtype.is_floating_point:
        return None
    ulps = 0 if spec.rule == "exact" else LIMITS["ulps"]
    allowed = ulps * ulp(reference, dtype)
    if callable(spec.rule):
        allowed = allowed + 2.0 ** LIMITS["termExponent"] * spec.rule(*map(wide, operands))
    for value in spec.between(*map(wide, operands)) if spec.between else ():
        allowed = allowed + ulp(value, dtype) / 2
    return allowed


def results_of(value):
    return [value] if isinstance(value, torch.Tensor) else list(value)


def reference_of(spec, operands):
    """Results in float64 where they are no integers, and the types torch gives them."""
    kinds = [t.dtype for t in results_of(spec.call(*operands))]
    floats = any(kind.is_floating_point for kind in kinds)
    if floats and not any(t.is_floating_point() for t in operands):
        operands = [t.double() for t in operands]
    return results_of(spec.call(*map(wide, operands))), kinds


def compare(spec, operands, results):
    """What is wrong with the results of the device; empty when nothing is."""
    reference, kinds = reference_of(spec, operands)
    wrong = []
    for number, (got, want, kind) in enumerate(zip(results, reference, kinds, strict=True)):
        if got.dtype != kind:
            wrong.append(f"result {number} is {got.dtype}, not {kind}")
            continue
        want = want if want.is_floating_point() else want.to(kind)
        if kind.is_floating_point:
            want = want.double()
        text = distance_text(got.cpu(), want, allowed_distance(spec, operands, want, kind))
        wrong += [f"result {number}: {text}"] if text else []
    return wrong


def on_card(base, layout):
    """A host tensor on the device, in a layout of the case."""
    if layout == "default" or not fits(tuple(base.shape), layout=layout):
        return base.to("spyre")
    import torch_spyre._C as extension

    order = [*range(base.dim())]
    order = order[::-1] if layout == "reversed" else [*order, -1]
    given = extension.SpyreTensorLayout(list(base.shape), list(base.stride()), base.dtype, order)
    return base.to("spyre", device_layout=given)


def run(case):
    """The operands, and what the device makes of them."""
    drawn = case.spec.operands(Draw(case), case.shape)
    parts = [formed(t, case.form) for t in drawn]
    operands = [see(base) for base, see in parts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        arguments = [see(on_card(base, case.layout)) for base, see in parts]
        call = case.spec.call
        if case.how == "compiled":
            torch._dynamo.reset()
            call = torch.compile(call, backend="spyre", fullgraph=True, dynamic=False)
        results = results_of(call(*arguments))
    return operands, results


#: Cases that fail: the operation, which of them, and why. One of which no case of a run fails any more has to leave.
KNOWN = ()


def known(case):
    """Why a case is expected to fail, if it is."""
    return next((why for name, applies, why in KNOWN if name == case.spec.id and applies(case)), None)


#: Runs of programs with more bytes take the evaluator too long.
EVALUATED_BYTES = 1 << 20
#: What the evaluator cannot run, and why. The list only shrinks.
NOT_EVALUATED = {}


@contextlib.contextmanager
def evaluated():
    """The evaluator repeats what the device runs: check() wants the same bits of both."""
    import torch_spyre._C as extension

    extension._evaluate_launches(EVALUATED_BYTES)
    yield
    extension._evaluate_launches(0)


def disagreements(is_run):
    """What the evaluator found different since the last call, or could not repeat."""
    import torch_spyre._C as extension

    report = extension._evaluated_launches()
    wrong = [f"not as evaluated: {text}" for text in report["differing"]]
    wrong += [f"not evaluated: {text}" for text in report["not_run"] if not any(map(text.count, NOT_EVALUATED))]
    if is_run and not wrong and not report["agreed"] + report["too_large"] + len(report["not_run"]):
        wrong.append("nothing was evaluated")
    return wrong


def check(case):
    """What is wrong with a case; empty when nothing is."""
    torch.spyre.reset_counters()
    disagreements(False)
    try:
        operands, results = run(case)
        counters = torch.spyre.counters()
        wrong = compare(case.spec, operands, results)
    except Exception as error:  # noqa: BLE001 - one line per case, whatever it is
        return [f"{type(error).__name__}: {str(error).splitlines()[0]}"]
    if counters["fallback_ops"] or counters["graph_fallback_nodes"]:
        wrong.append(f"on the CPU: {torch.spyre.fallback_counts() or 'graph nodes'}")
    has_elements = any(t.numel() for t in results) and all(t.numel() for t in operands)
    is_run = has_elements and not case.spec.copies
    if is_run and not counters["programs_launched"]:
        wrong.append("nothing was launched")
    wrong += disagreements(is_run)
    return wrong


FACTORS = ("shape", "dtype", "form", "layout", "cores", "lx", "planner", "how")
# What a case is drawn from when nothing else matters.
PLAIN = {"layout": "default", "how": "eager"}
# Capture takes most of a test's time: one case in so many of the product is compiled.
COMPILED_EVERY = 16
SPARSE_ELEMENTS = 1 << 13


def fits(shape, form="contiguous", layout="default"):
    """Whether a form and a layout make a difference to tensors of a shape."""
    rank, elements = len(shape), math.prod(shape)
    if form == "transposed" and rank < 2:
        return False
    if form == "sliced" and (rank < 1 or not elements):
        return False
    if form == "expanded" and (rank < 1 or shape[0] < 2):
        return False
    if layout == "reversed":
        return rank >= 2
    # Each element has a stick of its own: not for many.
    return layout == "default" or rank >= 1 and 0 < elements <= SPARSE_ELEMENTS


def _number(text):
    """The same in every process, in step with nothing."""
    return zlib.crc32(text.encode())


def product(specs):
    """Every operation, type, shape, form, layout and number of cores; the other values are drawn."""
    for spec in specs:
        shapes = [s for s in SHAPES if spec.accepts(s)]
        for dtype, shape, form, layout, cores in itertools.product(spec.dtypes, shapes, spec.forms, LAYOUTS, CORES):
            if not fits(shape, form, layout):
                continue
            drawn = _number(f"{spec.id} {dtype} {shape} {form} {layout} {cores}")
            how = HOW[drawn // 4 % COMPILED_EVERY == 0]
            yield Case(spec, dtype, shape, form, cores, LX[drawn % 2], PLANNERS[drawn // 2 % 2], how, layout)


def values_of(spec):
    """The values of each factor that an operation takes."""
    shapes = tuple(s for s in SHAPES if spec.accepts(s))
    taken = (shapes, spec.dtypes, spec.forms, LAYOUTS, CORES, LX, PLANNERS, HOW)
    return dict(zip(FACTORS, taken, strict=True))


def pairwise(specs):
    """Cases in which each operation meets each shape it takes, each pair of values of two other factors meets in each
    operation, and each pair of a shape and another value in one of them; but for compiled ones, see _pairs. The same for the
    same table."""
    seen, names = set(), {}
    for spec in specs:
        names.setdefault(spec.name, spec.id)
    return [case for spec in specs for case in _sample(spec, names[spec.name] == spec.id, seen)]


def _pairs(values, is_compiled):
    """What has to meet in the cases of an entry. Compiled cases take long: in the first entry of an operation they meet forms
    and layouts, but not each type and each number of cores."""
    pairs = {frozenset({("shape", shape)}) for shape in values["shape"]}
    for one, two in itertools.combinations(FACTORS[1:-1], 2):
        pairs.update(frozenset({(one, a), (two, b)}) for a in values[one] for b in values[two])
    for factor in ("form", "layout") if is_compiled else ():
        pairs.update(frozenset({("how", "compiled"), (factor, value)}) for value in values[factor])
    return {pair for pair in pairs if any(_fits(dict(pair), shape) for shape in values["shape"])}


def _fits(chosen, shape):
    is_other = chosen.get("shape", shape) != shape
    return not is_other and fits(shape, chosen.get("form", "contiguous"), chosen.get("layout", "default"))


def _sample(spec, is_compiled, seen):
    """Cases until all pairs have met, each begun with one that is missing; ``seen`` are pairs of all operations."""
    values = values_of(spec)
    missing = _pairs(values, is_compiled)
    # The order of sets is another one in each process.
    order = sorted(missing, key=lambda pair: (len(pair), _number(f"{spec.id} {sorted(map(str, pair))}")))
    for first in order:
        if first not in missing:
            continue
        chosen = dict(first)
        for factor in FACTORS:
            if factor not in chosen:
                chosen[factor] = _best(spec, factor, values[factor], chosen, missing, seen)
        met = _met(chosen)
        missing -= met
        seen |= met
        yield Case(spec, **chosen)


def _met(chosen):
    pairs = {frozenset(pair) for pair in itertools.combinations(chosen.items(), 2)}
    return pairs | {frozenset({("shape", chosen["shape"])})}


def _best(spec, factor, candidates, chosen, missing, seen):
    """The value with which most missing pairs meet, first of the operation, then of all."""

    def allowed(value):
        shape = value if factor == "shape" else chosen["shape"]
        return factor not in ("shape", "form", "layout") or _fits({**chosen, factor: value}, shape)

    def gain(value):
        pairs = [frozenset({item, (factor, value)}) for item in chosen.items()]
        # Compiled cases are those that begin as such.
        own = factor != "how" and sum(pair in missing for pair in (*pairs, frozenset({(factor, value)})))
        is_small = factor != "shape" or math.prod(value) < SPARSE_ELEMENTS
        return own, value == PLAIN.get(factor), sum(pair not in seen for pair in pairs), is_small

    gains = [(gain(value), value) for value in candidates if allowed(value)]
    most = max(how_much for how_much, _ in gains)
    best = [value for how_much, value in gains if how_much == most]
    # Among equals any, but not in step with other factors.
    return best[_number(f"{spec.id} {sorted(map(str, chosen.values()))} {factor}") % len(best)]
