"""What the compiler did with a function, and why: the object behind ``torch_spyre.explain``."""

import json
import math

import torch

from torch_spyre import _C
from torch_spyre._inductor import compile as compiler


class Explanation:
    """One entry of ``graphs`` per compiled graph, in the order they were compiled.

    ``movement``: every copy, restickify, gather and CPU step, each a dict with ``subject``,
    ``reason``, ``detail``, ``location`` (file:line) and ``numbers`` (bytes, ns).
    ``layouts``: inputs that are only read in another layout; ``detail`` has the dim_order to give.
    ``work_per_core``: the division of each step as it runs and the reason for it, then the candidates
    with the prices they would have alone; ``numbers`` has the step and its cores.
    ``divisions``: how each operation would be divided by itself, before neighbours are divided together
    and copies are inserted: the candidates with their prices, the one that was taken, and why;
    ``numbers`` has cores, candidates and ns.
    ``rows``: rows that cores cannot share, and whether they are padded or cut: all choices with the
    predicted time of the whole graph, then the one that was taken or not, and why.
    ``scratchpads``: what stays in the cores' scratchpads and where, what does not, why, beside what, and
    what would change that; an entry named ``all`` has the bytes saved, the bound and the gap.
    ``operations``: every operation of the device in order, each a dict with its ``step`` (its number in
    the graph, the same in all sections), its ``name``, its ``subject`` (name and result), its ``place``
    (graph and bundle), the predicted ``ns`` and ``cycles``, ``wait_cycles`` (per reason what
    the schedule waited for: they sum to ``cycles``), ``waits_for`` (the main reason), and its place
    under the roofline: ``intensity`` (operations per DDR byte), ``bound`` (which peak of the chip is
    nearest: ddr, pt or sfp) and ``part_of_bound`` (1: as fast as that peak allows).
    ``total``: sums over all graphs; ``predicted_ns`` is the time of all operations. ``result`` is what
    the function returned.
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
    def divisions(self):
        return self._entries("work-distribution")

    @property
    def work_per_core(self):
        return self._entries("work-per-core")

    @property
    def rows(self):
        return self._entries("even-rows")

    @property
    def scratchpads(self):
        return self._entries("plan-lx")

    @property
    def total(self):
        total = {}
        for entry in self._entries("movement"):
            if entry["reason"] == "total":
                for name, value in entry["numbers"].items():
                    total[name] = total.get(name, 0) + value
        total["predicted_ns"] = sum(row["ns"] for row in self.operations)
        return total

    @property
    def operations(self):
        return [row for record in self._records for row in operations_of(record)]

    def to_json(self):
        """All decisions of all graphs, and where the time of their operations goes."""
        graphs = [{"name": name, "decisions": decisions} for name, decisions in self.graphs]
        content = {"graphs": graphs, "operations": self.operations, "total": self.total}
        return json.dumps(content, indent=1)

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
        parts = zip(self._records, self._texts, strict=True)
        return "\n".join(f"{record.name}: {text}" for record, text in parts)

    __repr__ = __str__


def operations_of(record):
    """Of one compiled graph: time, waits and roofline of each operation, in the order they run."""
    subjects = {e["numbers"]["step"]: e["subject"] for e in record.decisions if e["stage"] == "work-per-core"}
    rows = []
    for row in _C.step_times(record.artifacts):
        # JSON has no infinity; an operation without DDR traffic has no intensity.
        row["intensity"] = row["intensity"] if math.isfinite(row["intensity"]) else None
        place = f"{record.name}/{row.pop('bundle')}"
        rows.append({"place": place, "subject": subjects.get(row["step"], row["name"]), **row})
    return rows


def waits_text(row):
    """Reasons with at least a hundredth of the time, largest first."""
    waits = sorted(row["wait_cycles"].items(), key=lambda item: -item[1])
    parts = [(name, 100 * cycles / max(row["cycles"], 1)) for name, cycles in waits]
    return ", ".join(f"{name} {part:.0f} %" for name, part in parts if part >= 1)


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
    with _C.CompileLog() as log:
        result = compiled(*args, **kwargs)
    return Explanation([record for record in log.records if not record.is_eager], result)
