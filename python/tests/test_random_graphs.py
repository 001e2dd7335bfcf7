"""Random functions through torch.compile, against torch on the CPU.

Values are small whole numbers and every operation here keeps them exact, so nothing may differ. The C++ fuzzer has
more operations and far more graphs; this one goes through Dynamo, AOTAutograd, the importer and the compiled callable.
"""

import random
import warnings

import pytest
import torch

GRAPHS = 200
LARGEST = 500  # DLFloat16 holds whole numbers to 1,024


class Graph:
    """Steps on a list of values; ``run`` replays them on any device."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.inputs, self.steps, self.shapes = [], [], []
        rank = self.random.randint(1, 4)
        shape = [self.size() for _ in range(rank)]
        while torch.Size(shape).numel() > 6000:
            shape[self.random.randrange(rank)] = self.random.randint(1, 4)
        self.add_input(shape)
        for _ in range(self.random.randint(3, 8)):
            self.add_step()
        count = self.random.randint(1, 3)
        self.outputs = sorted({self.random.randrange(len(self.shapes)) for _ in range(count - 1)})
        self.outputs.append(len(self.shapes) - 1)

    def size(self):
        return self.random.choice([1, 2, 3, 5, 9, 16, 31, 64, 65, 70])

    def add_input(self, shape, dtype=torch.float16, below=None):
        generator = torch.Generator().manual_seed(self.random.randrange(1 << 30))
        low, high = (0, below) if below else (-2, 3)
        value = torch.randint(low, high, shape, generator=generator).to(dtype)
        self.inputs.append(value)
        return self.add(lambda values, n=len(self.inputs) - 1: values["inputs"][n], value)

    def add(self, function, example):
        self.steps.append(function)
        self.shapes.append(example)
        return len(self.steps) - 1

    def apply(self, function, *operands):
        """A step on earlier values, if its result is small enough to go on with."""
        example = function(*(self.shapes[i] for i in operands))
        if example.numel() == 0 or example.numel() > 12000 or example.dim() > 5:
            return
        if example.dtype != torch.bool and example.abs().max() > LARGEST:
            return
        self.add(lambda values: function(*(values[i] for i in operands)), example)

    def add_step(self):
        floats = [i for i, v in enumerate(self.shapes) if v.dtype in (torch.float16, torch.float32)]
        x = floats[-1] if self.random.random() < 0.8 else self.random.choice(floats)
        getattr(self, self.random.choice(STEPS))(x, self.shapes[x])

    def unary(self, x, v):
        self.apply(self.random.choice([torch.relu, torch.neg, torch.abs, lambda a: a * 2 - 1]), x)

    def binary(self, x, v):
        y = self.add_input([self.random.choice([1, s]) for s in v.shape], v.dtype)
        self.apply(self.random.choice([torch.add, torch.mul, torch.maximum, torch.sub]), x, y)

    def choose(self, x, v):
        y = self.add_input(list(v.shape), v.dtype)
        self.apply(self.random.choice([torch.gt, torch.eq, torch.le]), x, y)
        self.apply(torch.where, len(self.steps) - 1, y, x)

    def convert(self, x, v):
        to = torch.float32 if v.dtype == torch.float16 else torch.float16
        self.apply(lambda a: a.to(to), x)

    def permute(self, x, v):
        order = list(range(v.dim()))
        self.random.shuffle(order)
        self.apply(lambda a: a.permute(order), x)

    def reshape(self, x, v):
        cut = self.random.choice([d for d in range(1, 65) if v.numel() % d == 0])
        self.apply(lambda a: a.reshape(cut, -1), x)

    def slice(self, x, v):
        if v.dim():
            dim = self.random.randrange(v.dim())
            start = self.random.randrange(v.shape[dim])
            step = self.random.choice([1, 1, 2, 3])
            where = (slice(None),) * dim + (slice(start, None, step),)
            self.apply(lambda a: a[where], x)

    def reduce(self, x, v):
        if v.dim():
            dim, keep = self.random.randrange(v.dim()), self.random.random() < 0.5
            name = self.random.choice(["amax", "amin", "sum"])
            self.apply(lambda a: getattr(a, name)(dim, keepdim=keep), x)

    def matmul(self, x, v):
        if v.dim() >= 1 and v.dtype == torch.float16:
            y = self.add_input([v.shape[-1], self.size()])
            self.apply(lambda a, b: torch.matmul(a, b), x, y)

    def cat(self, x, v):
        if v.dim():
            y, dim = self.add_input(list(v.shape), v.dtype), self.random.randrange(v.dim())
            self.apply(lambda a, b: torch.cat([a, b], dim), x, y)

    def gather(self, x, v):
        if v.dim():
            dim = self.random.randrange(v.dim())
            shape = self.random.choice([[5], [3, 4], [1]])
            i = self.add_input(shape, torch.int64, below=v.shape[dim])
            where = (slice(None),) * dim
            self.apply(lambda a, i: a[where + (i,)], x, i)

    def run(self, *inputs):
        values = {"inputs": inputs}
        for number, step in enumerate(self.steps):
            values[number] = step(values)
        return [values[i] for i in self.outputs]


STEPS = [
    "unary",
    "binary",
    "choose",
    "convert",
    "permute",
    "reshape",
    "slice",
    "reduce",
    "matmul",
    "cat",
    "gather",
]


@pytest.mark.parametrize("block", range(10))
def test_random_graphs(block):
    size = GRAPHS // 10
    for seed in range(block * size, (block + 1) * size):
        graph = Graph(seed)
        torch._dynamo.reset()
        torch.spyre.reset_counters()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            inputs = [t.to("spyre") for t in graph.inputs]
            results = torch.compile(graph.run, backend="spyre")(*inputs)
        counters = torch.spyre.counters()
        assert counters["fallback_ops"] == 0 and counters["graph_fallback_nodes"] == 0, seed
        for result, expected in zip(results, graph.run(*graph.inputs), strict=True):
            assert result.dtype == expected.dtype and result.shape == expected.shape, seed
            assert torch.equal(result.cpu(), expected), seed
        held = {t.untyped_storage().data_ptr() for t in inputs}
        are_views = all(t.untyped_storage().data_ptr() in held for t in results)
        assert counters["programs_launched"] > 0 or are_views or len(graph.steps) == len(graph.inputs), seed
