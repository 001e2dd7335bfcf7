"""Random programs, and how far each of their results may be off.

Inputs are numbers that the device holds exactly. A program runs in float64. Every value has a bound of its error for each
element: the operation passes the errors of its operands on, and adds its own. Its own error is half a unit of the last place for
one rounding, and the entry "differential" of test/tolerances.json where products are summed or a function is computed. A step
with a loose bound is left out.
"""

import dataclasses
import math
import random

import differential
import torch
import torch.nn.functional as F
from tolerances import TABLE

LIMITS = TABLE["differential"]
DEVICE_BITS = {torch.float16: 9, torch.bfloat16: 9, torch.float32: 23}
DTYPES = (torch.float16, torch.float16, torch.float16, torch.bfloat16, torch.float32)
SIZES = (1, 2, 3, 4, 5, 8, 31, 64, 66)
MOST_ELEMENTS, MOST_DIMS = 5000, 5
LARGEST = 2.0**13
#: A step is left out when its error may be more than this part of its largest value.
LOOSE = 1 / 16


@dataclasses.dataclass
class Value:
    """Result of a step in float64, and how far the device may be from it."""

    exact: torch.Tensor
    error: torch.Tensor
    dtype: torch.dtype

    @property
    def shape(self):
        return self.exact.shape

    @property
    def rank(self):
        return self.exact.dim()


def unit(value, dtype):
    """Unit of the last place on the device; the host's 16 bits have none below their smallest."""
    smallest = LIMITS["smallestExponent"][str(dtype).removeprefix("torch.")]
    exponent = torch.frexp(value)[1] - 1 - DEVICE_BITS[dtype]
    return torch.exp2(exponent.clamp_min(smallest).double())


def rounded(exact, error, dtype):
    """Bound of the error after one operation in fp32 and one rounding to the type."""
    largest = exact.abs() + error
    return error + unit(largest, dtype) / 2 + largest * 2.0**-22


def summed(exact, error, terms, dtype):
    """Bound of the error of a function, or of a sum of products; ``terms`` is the sum of their magnitudes."""
    return error + LIMITS["ulps"] * unit(exact.abs() + error, dtype) + 2.0 ** LIMITS["termExponent"] * terms


def is_opposite(x, dim):
    """Returns whether the second half along a dimension is about the negated first half."""
    half = x.shape[dim] // 2
    if x.shape[dim] % 2 or half == 0:
        return False
    one, other = x.narrow(dim, 0, half), x.narrow(dim, half, half)
    return bool(((one + other).abs() <= one.abs() / 16).all())


class Program:
    """Steps on a list of values; ``run`` replays them on any device."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.inputs, self.steps, self.values, self.names = [], [], [], []
        dtype = self.random.choice(DTYPES)
        shape = [self.size() for _ in range(self.random.randint(1, 4))]
        while math.prod(shape) > MOST_ELEMENTS:
            shape[self.random.randrange(len(shape))] = self.random.randint(1, 4)
        self.input(shape, dtype, self.random.choice([None, *range(len(shape))]))
        wanted = self.random.randint(2, 5)
        for _ in range(4 * wanted):
            if sum(name != "input" for name in self.names) < wanted:
                self.add_step()
        made = [i for i, name in enumerate(self.names) if name != "input"] or [0]
        self.outputs = sorted({made[-1], *self.random.sample(made, min(len(made), 2))})

    def size(self):
        return self.random.choice(SIZES)

    def chance(self, share):
        return self.random.random() < share

    def input(self, shape, dtype, opposite=None, equal=None):
        """Adds a new operand. Along ``opposite`` the second half is the negated first half, but for a few of the last bits;
        along ``equal`` both halves are the same."""
        x = torch.rand(tuple(shape), generator=self.generator, dtype=torch.float64) * 1.5 + 0.25
        sign = torch.rand(tuple(shape), generator=self.generator) < 0.5
        x = torch.where(sign, -x, x)
        dim = opposite if opposite is not None else equal
        if dim is not None and shape[dim] > 1:
            half = shape[dim] // 2
            first = x.narrow(dim, 0, half)
            few = torch.rand(first.shape, generator=self.generator) < 0.125
            second = -torch.where(few, first * (1 + 2.0**-5), first) if opposite is not None else first
            x.narrow(dim, half, half).copy_(second.clone())
        x = differential.exact(x, dtype)
        self.inputs.append(x)
        number = len(self.inputs) - 1
        self.steps.append(lambda values: values["inputs"][number])
        self.names.append("input")
        self.values.append(Value(x.double(), torch.zeros_like(x, dtype=torch.float64), dtype))
        return len(self.values) - 1

    def taken_back(self, count):
        """Drops operands that no step uses."""
        for name in self.names[count:]:
            assert name == "input"
            self.inputs.pop()
        del self.steps[count:], self.names[count:], self.values[count:]

    def add(self, name, function, operands, bound, dtype=None):
        """Adds a step on earlier values unless its result is too large or its bound too loose."""
        given = [self.values[i] for i in operands]
        dtype = dtype or given[0].dtype
        exact = function(*(v.exact for v in given))
        if not 0 < exact.numel() <= MOST_ELEMENTS or exact.dim() > MOST_DIMS:
            return False
        error = bound(exact, *given)
        size = exact.abs()
        if not torch.isfinite(exact).all() or size.max() > LARGEST or error.max() > LOOSE * size.max():
            return False
        self.steps.append(lambda values: function(*(values[i] for i in operands)))
        self.names.append(name)
        self.values.append(Value(exact, error, dtype))
        return True

    def add_step(self):
        exact = [i for i, v in enumerate(self.values) if not v.error.any()]
        x = self.random.choice(exact) if self.chance(0.5) and exact else len(self.values) - 1
        count = len(self.values)
        kind = self.random.choice(STEPS)
        if not kind(self, x, self.values[x]):
            self.taken_back(count)

    # ----------------------------------------------------------------------------------------------
    # Elements are moved, and their errors with them

    def moved(self, name, function, *operands):
        return self.add(name, function, operands, lambda exact, *given: function(*(v.error for v in given)))

    def view(self, x, v):
        rank = v.rank
        dim = self.random.randrange(rank) if rank else 0
        order = self.random.sample(range(rank), rank)
        cuts = [c for c in range(1, 67) if v.exact.numel() % c == 0]
        cut, size = self.random.choice(cuts), v.shape[dim] if rank else 1
        start, step = self.random.randrange(size), self.random.choice([1, 1, 2, 3])
        where = (slice(None),) * dim
        views = {
            "permute": lambda a: a.permute(order),
            "reshape": lambda a: a.reshape(cut, -1),
            "unsqueeze": lambda a: a.unsqueeze(dim),
            "squeeze": lambda a: a.squeeze(),
        }
        if rank:
            views |= {
                "slice": lambda a: a[(*where, slice(start, None, step))],
                "select": lambda a: a.select(dim, start),
                "narrow": lambda a: a.narrow(dim, start, size - start),
                "flatten": lambda a: a.flatten(0, dim),
                "transpose": lambda a: a.transpose(0, dim),
                "flip": lambda a: a.flip(dim),
                "expand": lambda a: a.unsqueeze(0).expand(3, *a.shape),
                "chunk": lambda a: a.chunk(2, dim)[-1],
            }
        if rank > 1:
            views |= {"diagonal": lambda a: a.diagonal(0, 0, -1), "t": lambda a: a.transpose(-1, -2)}
        name = self.random.choice(sorted(views))
        return self.moved(name, views[name], x)

    def joined(self, x, v):
        if not v.rank:
            return False
        y, dim = self.input(list(v.shape), v.dtype), self.random.randrange(v.rank)
        if self.chance(0.5):
            return self.moved("cat", lambda a, b: torch.cat([a, b], dim), x, y)
        return self.moved("stack", lambda a, b: torch.stack([a, b], dim), x, y)

    def opposed(self, x, v):
        """Appends the negated tensor, so that later sums cancel."""
        if not v.rank:
            return False
        dim = self.random.randrange(v.rank)
        other = lambda a: torch.cat([a, -a], dim)  # noqa: E731
        return self.add("opposed", other, [x], lambda exact, v: torch.cat([v.error, v.error], dim))

    def gathered(self, x, v):
        if not v.rank:
            return False
        dim = self.random.randrange(v.rank)
        places = [self.random.randrange(v.shape[dim]) for _ in range(self.random.choice([1, 3, 7]))]

        def function(a):
            return a.index_select(dim, torch.tensor(places, device=a.device))

        return self.moved("index_select", function, x)

    # ----------------------------------------------------------------------------------------------
    # Element by element

    def unary(self, x, v):
        same = lambda exact, v: v.error  # noqa: E731
        once = lambda exact, v: rounded(exact, v.error, v.dtype)  # noqa: E731
        name, function, bound = self.random.choice(
            [
                ("relu", torch.relu, same),
                ("neg", torch.neg, same),
                ("abs", torch.abs, same),
                ("add number", lambda a: a + 0.5, once),
                ("halve", lambda a: a / 2, same),
                ("mul number", lambda a: a * 1.5, lambda e, v: rounded(e, v.error * 1.5, v.dtype)),
                ("square", torch.square, lambda e, v: rounded(e, (2 * v.exact.abs() + v.error) * v.error, v.dtype)),
                ("tanh", torch.tanh, lambda e, v: summed(e, v.error, 0, v.dtype)),
                ("sigmoid", torch.sigmoid, lambda e, v: summed(e, v.error / 4, 0, v.dtype)),
                ("sin", torch.sin, lambda e, v: summed(e, v.error, 2.0**-3, v.dtype)),
                ("exp", torch.exp, lambda e, v: summed(e, e * torch.expm1(v.error), 0, v.dtype)),
            ]
        )
        if name == "halve" and v.exact.abs().max() < 2.0**-10:
            return False
        return self.add(name, function, [x], bound)

    def binary(self, x, v):
        y = self.input([self.random.choice([1, s]) for s in v.shape][self.random.randint(0, v.rank) :], v.dtype)
        name, function = self.random.choice(
            [("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("maximum", torch.maximum), ("minimum", torch.minimum)]
        )

        def bound(exact, v, w):
            error = v.error * w.exact.abs() if name == "mul" else v.error + torch.zeros_like(exact)
            return error if name.endswith("imum") else rounded(exact, error, v.dtype)

        return self.add(name, function, [x, y], bound)

    def fused(self, x, v):
        """Adds products to a tensor, with one rounding."""
        y, z = self.input(list(v.shape), v.dtype), self.input(list(v.shape), v.dtype)

        def bound(exact, v, a, b):
            terms = v.exact.abs() + v.error + (a.exact * b.exact).abs()
            return summed(exact, v.error, terms, v.dtype)

        return self.add("addcmul", torch.addcmul, [x, y, z], bound)

    def chosen(self, x, v):
        y = self.input(list(v.shape), v.dtype)
        return self.add(
            "where",
            lambda a, b: torch.where(b > 0.5, a, b),
            [x, y],
            lambda exact, v, w: torch.where(w.exact > 0.5, v.error, w.error),
        )

    def converted(self, x, v):
        to = torch.float32 if v.dtype != torch.float32 else torch.float16
        bound = (lambda e, v: v.error) if to == torch.float32 else (lambda e, v: rounded(e, v.error, to))
        # The reference stays in float64.
        function = lambda a: a if a.dtype == torch.float64 else a.to(to)  # noqa: E731
        return self.add("to", function, [x], bound, to)

    # ----------------------------------------------------------------------------------------------
    # Sums

    def reduced(self, x, v):
        if not v.rank:
            return False
        dim, keep = self.random.randrange(v.rank), self.chance(0.5)
        dims = self.random.choice([dim, dim, sorted(self.random.sample(range(v.rank), min(v.rank, 2)))])
        name = self.random.choice(["sum", "sum", "mean", "amax", "amin", "norm", "var", "cumsum"])
        count = math.prod(v.shape[d] for d in (dims if isinstance(dims, list) else [dims]))
        if name in ("amax", "amin"):
            return self.add(name, lambda a: getattr(a, name)(dims, keep), [x], lambda e, v: v.error.amax(dims, keep))
        if name == "norm":
            size = lambda t: torch.linalg.vector_norm(t, 2, dims, keep)  # noqa: E731
            return self.add(name, size, [x], lambda e, v: summed(e, size(v.error), e, v.dtype))
        if name == "var":
            return count > 1 and self.variance(x, dims, keep)
        if name == "cumsum":
            return self.add(
                name,
                lambda a: a.cumsum(dim),
                [x],
                lambda e, v: summed(e, v.error.cumsum(dim), v.exact.abs().cumsum(dim), v.dtype),
            )
        function = lambda a: getattr(a, name)(dims, keep)  # noqa: E731
        return self.add(name, function, [x], lambda e, v: summed(e, function(v.error), function(v.exact.abs()), v.dtype))

    def variance(self, x, dims, keep):
        variance = lambda a: a.var(dims, keepdim=keep)  # noqa: E731

        def bound(exact, v):
            # The deviation is a norm of the elements: it changes by no more than the norm of their errors.
            off = torch.sqrt((v.error**2).sum(dims, keepdim=keep) / max(v.exact.numel() // exact.numel() - 1, 1))
            terms = exact + (v.exact**2).mean(dims, keepdim=keep)
            return summed(exact, (2 * exact.sqrt() + off) * off, terms, v.dtype)

        return self.add("var", variance, [x], bound)

    # ----------------------------------------------------------------------------------------------
    # Sums of products

    def factor(self, shape, v, dim, along):
        """Adds a second operand, with equal halves along ``along`` when the first has opposite halves along ``dim``."""
        equal = along if is_opposite(v.exact, dim) else None
        return self.input(shape, v.dtype, equal=equal)

    def product(self, name, function, *operands):
        """Adds a step that is linear in each operand and rounds once."""

        def bound(exact, *given):
            sizes = [v.exact.abs() for v in given]
            largest = function(*(s + v.error for s, v in zip(sizes, given)))
            terms = function(*sizes)
            return summed(exact, (largest - terms).clamp_min(0), largest, given[0].dtype)

        return self.add(name, function, operands, bound)

    def with_vector(self, x, v):
        """Multiplies with a vector from the right."""
        if not v.rank:
            return False
        last = self.factor([v.shape[-1]], v, -1, 0)
        choices = [
            ("x @ v", lambda a, b: a @ b, last),
            ("inner", torch.inner, last),
            ("vecdot", torch.linalg.vecdot, last),
            ("einsum vector", lambda a, b: torch.einsum("...j,j->...", a, b), last),
            ("linear vector", lambda a, b: F.linear(a, b), last),
        ]
        if v.rank == 1:
            choices += [("dot", torch.dot, last), ("vdot", torch.vdot, last)]
        if v.rank == 2:
            choices += [("mv", torch.mv, last), ("multi_dot", lambda a, b: torch.linalg.multi_dot([a, b]), last)]
        name, function, y = self.random.choice(choices)
        return self.product(name, function, x, y)

    def before_vector(self, x, v):
        """Multiplies with a vector from the left."""
        if v.rank < 2:
            return False
        y = self.factor([v.shape[-2]], v, -2, 0)
        name, function = self.random.choice(
            [
                ("v @ x", lambda a, b: b @ a),
                ("tensordot vector", lambda a, b: torch.tensordot(b, a, ([0], [a.dim() - 2]))),
            ]
        )
        return self.product(name, function, x, y)

    def with_matrix(self, x, v):
        if not v.rank:
            return False
        k, n = v.shape[-1], self.random.choice([1, 2, 5, 33, 64])
        name = self.random.choice(["matmul", "linear", "einsum", "tensordot"])
        if name == "linear":
            return self.product(name, F.linear, x, self.factor([n, k], v, -1, 1))
        y = self.factor([k, n], v, -1, 0)
        functions = {
            "matmul": torch.matmul,
            "einsum": lambda a, b: torch.einsum("...k,kn->...n", a, b),
            "tensordot": lambda a, b: torch.tensordot(a, b, 1),
        }
        return self.product(name, functions[name], x, y)

    def with_batches(self, x, v):
        if v.rank < 3:
            return False
        shape = [*v.shape[:-2], v.shape[-1], self.random.choice([1, 3, 64])]
        y = self.factor(shape, v, -1, len(shape) - 2)
        if v.rank == 3 and self.chance(0.5):
            return self.product("bmm", torch.bmm, x, y)
        return self.product("matmul of batches", torch.matmul, x, y)

    def of_rows(self, x, v):
        """Multiplies two tensors of one shape and sums."""
        if not v.rank:
            return False
        y = self.factor(list(v.shape), v, -1, v.rank - 1)
        letters = "abcde"[: v.rank]
        choices = [
            ("vecdot of rows", torch.linalg.vecdot),
            ("einsum of rows", lambda a, b: torch.einsum(f"{letters},{letters}->{letters[:-1]}", a, b)),
            ("einsum of all", lambda a, b: torch.einsum(f"{letters},{letters}->", a, b)),
            ("tensordot of all", lambda a, b: torch.tensordot(a, b, a.dim())),
        ]
        name, function = self.random.choice(choices)
        return self.product(name, function, x, y)

    def added(self, x, v):
        """Adds a tensor to a product; the product and the sum are rounded."""
        if v.rank != 2:
            return False
        k, n = v.shape[1], self.random.choice([1, 5, 64])
        if self.chance(0.5):
            y, z = self.factor([k], v, 1, 0), self.input([v.shape[0]], v.dtype)
            name, function, product = "addmv", lambda a, b, c: torch.addmv(c, a, b), torch.mv
        else:
            y, z = self.factor([k, n], v, 1, 0), self.input([n], v.dtype)
            name, function, product = "addmm", lambda a, b, c: torch.addmm(c, a, b), torch.mm

        def bound(exact, v, w, c):
            size, terms = v.exact.abs() + v.error, product(v.exact.abs(), w.exact.abs())
            largest = product(size, w.exact.abs())
            error = summed(product(v.exact, w.exact), largest - terms, largest, v.dtype)
            return rounded(exact, error, v.dtype)

        return self.add(name, function, [x, y, z], bound)

    def distances(self, x, v):
        if v.rank < 2:
            return False
        y = self.input([self.random.choice([2, 5, 30]), v.shape[-1]], v.dtype)
        far = lambda a, b: torch.cdist(a, b, compute_mode=CDIST[a.device.type])  # noqa: E731

        def bound(exact, v, w):
            off = torch.linalg.vector_norm(v.error, 2, -1, keepdim=True)
            return summed(exact, off.expand(exact.shape), far(v.exact.abs(), -w.exact.abs()), v.dtype)

        return self.add("cdist", far, [x, y], bound)

    def loss(self, x, v):
        y = self.input(list(v.shape), v.dtype)

        def bound(exact, v, w):
            rest = (v.exact - w.exact).abs()
            off = ((2 * rest + v.error) * v.error).mean()
            return summed(exact, off, (v.exact**2 + w.exact**2).mean() * 2, v.dtype)

        return self.add("mse_loss", F.mse_loss, [x, y], bound)

    def similarity(self, x, v):
        """Takes exact operands only: the effect of an error depends on the norms."""
        if not v.rank or v.error.any() or torch.linalg.vector_norm(v.exact, 2, -1).min() < 2.0**-4:
            return False
        y = self.factor(list(v.shape), v, -1, v.rank - 1)
        alike = lambda a, b: F.cosine_similarity(a, b, -1)  # noqa: E731
        return self.add("cosine_similarity", alike, [x, y], lambda e, v, w: summed(e, torch.zeros_like(e), 1.0, v.dtype))

    def convolved(self, x, v):
        if v.rank != 3 or v.shape[2] < 3:
            return False
        y = self.factor([self.random.choice([1, 4]), v.shape[1], self.random.randint(1, 3)], v, 1, 1)
        return self.product("conv1d", F.conv1d, x, y)

    # ----------------------------------------------------------------------------------------------

    def run(self, *inputs):
        values = {"inputs": inputs}
        for number, step in enumerate(self.steps):
            values[number] = step(values)
        return [values[i] for i in self.outputs]

    def wrong(self, results):
        """One line for each result of the device that is wrong."""
        wrong = []
        for number, got in zip(self.outputs, results, strict=True):
            value = self.values[number]
            if got.dtype != value.dtype:
                wrong.append(f"{self.names[number]}: {got.dtype} for {value.dtype}")
                continue
            allowed = value.error + 1e-300
            if value.dtype == torch.bfloat16:  # the host's has fewer bits
                allowed = allowed + differential.ulp(value.exact.abs() + value.error, value.dtype) / 2
            text = differential.distance_text(got.cpu(), value.exact, allowed)
            wrong += [f"{self.names[number]} {list(value.shape)} {value.dtype}: {text}"] if text else []
        return wrong

    def __str__(self):
        lines = []
        for name, value in zip(self.names, self.values, strict=True):
            lines.append(f"{name} {list(value.shape)} {str(value.dtype).removeprefix('torch.')}")
        return "; ".join(lines)


#: The reference takes differences; the device is asked as users do.
CDIST = {"cpu": "donot_use_mm_for_euclid_dist", "spyre": "use_mm_for_euclid_dist_if_necessary"}

STEPS = [
    *[Program.view] * 4,
    Program.joined,
    Program.opposed,
    Program.gathered,
    *[Program.unary] * 2,
    *[Program.binary] * 2,
    Program.fused,
    Program.chosen,
    Program.converted,
    *[Program.reduced] * 2,
    *[Program.with_vector] * 3,
    Program.before_vector,
    *[Program.with_matrix] * 2,
    Program.with_batches,
    *[Program.of_rows] * 2,
    Program.added,
    Program.distances,
    Program.loss,
    Program.similarity,
    Program.convolved,
]
