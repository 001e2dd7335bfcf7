"""What a differential case is: an operation on tensors of a type, shape and form, under one configuration.

Operands are drawn so that the device's format holds them exactly; the reference is torch in float64 (integers: their
own type). How far a result may be off is the entry "differential" of test/tolerances.json.
"""

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

    def __str__(self):
        kind = str(self.dtype).replace("torch.", "")
        lx = "lx" if self.lx else "ddr"
        shape = list(self.shape)
        return f"{self.spec.id} {kind} {shape} {self.form} {self.cores} {lx} {self.planner} {self.how}"

    @property
    def configuration(self):
        return {"sencores": self.cores, "lx_planning": self.lx, "planner": self.planner}


class Draw:
    """Random operands of one case, all exact in the device's format of the type."""

    def __init__(self, case, seed=0):
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


def run(case):
    """The operands, and what the device makes of them."""
    drawn = case.spec.operands(Draw(case), case.shape)
    parts = [formed(t, case.form) for t in drawn]
    operands = [see(base) for base, see in parts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        on_card = [see(base.to("spyre")) for base, see in parts]
        call = case.spec.call
        if case.how == "compiled":
            torch._dynamo.reset()
            call = torch.compile(call, backend="spyre", fullgraph=True, dynamic=False)
        results = results_of(call(*on_card))
    return operands, results


def check(case):
    """What is wrong with a case; empty when nothing is."""
    torch.spyre.reset_counters()
    try:
        operands, results = run(case)
        counters = torch.spyre.counters()
        wrong = compare(case.spec, operands, results)
    except Exception as error:  # noqa: BLE001 - one line per case, whatever it is
        return [f"{type(error).__name__}: {str(error).splitlines()[0]}"]
    if counters["fallback_ops"] or counters["graph_fallback_nodes"]:
        wrong.append(f"on the CPU: {torch.spyre.fallback_counts() or 'graph nodes'}")
    has_elements = any(t.numel() for t in results) and all(t.numel() for t in operands)
    if has_elements and not counters["programs_launched"] and not case.spec.copies:
        wrong.append("nothing was launched")
    return wrong


# Capture takes most of a test's time: one case in so many is compiled.
COMPILED_EVERY = 16


def _how(number):
    return "compiled" if number % COMPILED_EVERY == 0 else "eager"


def product(specs):
    """Every operation, type, shape, form and number of cores; the other values take turns."""
    turns = itertools.cycle(itertools.product(LX, PLANNERS))
    number = 0
    for spec in specs:
        shapes = [s for s in SHAPES if spec.accepts(s)]
        for values in itertools.product(spec.dtypes, shapes, spec.forms, CORES):
            number += 1
            yield Case(spec, *values, *next(turns), _how(number))


def pairwise(specs):
    """Cases in which every pair of values of two factors meets, if the operation takes both: each operation meets each
    shape, and the other values are those of which most pairs are still missing. The same for the same table."""
    seen = set()
    cases = []
    for spec in specs:
        shapes = [s for s in SHAPES if spec.accepts(s)]
        compiled = len(cases) % len(shapes)
        for number, shape in enumerate(shapes):
            chosen = [("op", spec.id), ("shape", shape)]
            for factor, values in _factors(spec):
                # Where all pairs have met, any value will do; neighbouring factors must not go in step.
                start = zlib.crc32(f"{spec.id} {shape} {factor}".encode()) % len(values)
                turned = [*values[start:], *values[:start]]
                best = max(turned, key=lambda v: _missing(chosen, (factor, v), seen))
                chosen.append((factor, best))
            chosen.append(("how", HOW[number == compiled]))
            seen.update(itertools.combinations(chosen, 2))
            cases.append(Case(spec, chosen[2][1], shape, *(value for _, value in chosen[3:])))
    return cases


def _factors(spec):
    return (
        ("dtype", spec.dtypes),
        ("form", spec.forms),
        ("cores", CORES),
        ("lx", LX),
        ("planner", PLANNERS),
    )


def _missing(chosen, candidate, seen):
    return sum((other, candidate) not in seen for other in chosen)
