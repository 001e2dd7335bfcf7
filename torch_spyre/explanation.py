"""What the compiler did with a function, and why: the object behind ``torch_spyre.explain``."""

import json

import torch

from torch_spyre import _C
from torch_spyre._inductor import compile as compiler
from torch_spyre._inductor import settings


class Explanation:
    """One entry of ``graphs`` per compiled graph, in the order they were compiled.

    ``movement``: every copy, restickify, gather and CPU step, each a dict with ``subject``,
    ``reason``, ``detail``, ``location`` (file:line) and ``numbers`` (bytes, ns).
    ``layouts``: inputs that are only read in another layout; ``detail`` has the dim_order to give.
    ``total``: sums over all graphs. ``result`` is what the function returned.
    """

    def __init__(self, records, result):
        self.result = result
        self._records = records
        self.graphs = [(record.name, record.decisions) for record in records]
        self._texts = [record.explanation for record in records]

    def _entries(self, stage):
        return [e for _, decisions in self.graphs for e in decisions if e["stage"] == stage]

    @property
    def movement(self):
        return [e for e in self._entries("movement") if e["reason"] != "total"]

    @property
    def layouts(self):
        return self._entries("layout")

    @property
    def total(self):
        total = {}
        for entry in self._entries("movement"):
            if entry["reason"] == "total":
                for name, value in entry["numbers"].items():
                    total[name] = total.get(name, 0) + value
        return total

    def to_json(self):
        """All decisions of all graphs."""
        graphs = [{"name": name, "decisions": decisions} for name, decisions in self.graphs]
        return json.dumps({"graphs": graphs, "total": self.total}, indent=1)

    def to_html(self, path=None):
        """One page without other files: graph, moved data with cause and cost, work per core, DDR
        traffic, layouts. Written to ``path`` if one is given."""
        from torch_spyre import report

        text = report.page(self._records, self.total)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def __str__(self):
        if not self.graphs:
            return "Nothing was compiled for the device.\n"
        parts = zip(self.graphs, self._texts, strict=True)
        return "\n".join(f"{name}: {text}" for (name, _), text in parts)

    __repr__ = __str__


def explain(function, *args, **kwargs):
    original = getattr(function, "_orig_mod", None)
    if original is None:
        original = getattr(function, "_torchdynamo_orig_callable", function)

    # Dynamo keeps compiled code per backend: a backend of its own is always compiled anew.
    def backend(gm, example_inputs):
        if not compiler.is_spyre_graph(gm, example_inputs):
            return gm
        return compiler.compile_graph_module(gm, example_inputs)

    compiled = torch.compile(original, backend=backend)
    _C.keep_compiles()
    try:
        with settings.explaining():
            result = compiled(*args, **kwargs)
    finally:
        records = _C.take_compiles()
    return Explanation([r for r in records if not r.name.startswith("aten.")], result)
