"""The table of operations as torch sees it: what becomes of each on the device.

The compiler's rows, and what is made of them: by our decompositions, which cover what torch has no row for, or only a part
of it. The documentation (docs/operations.md), the eager kernels (which are those of the compiler's rows) and the
differential tests are derived from here.
"""

import dataclasses

import torch

from torch_spyre.ops import limits, orthogonal


@dataclasses.dataclass(frozen=True)
class Row:
    """``kind`` says how it is computed; ``by`` is the device operation, or the module with the formula."""

    name: str
    kind: str
    by: str = ""
    types: str = ""
    attributes: tuple = ()

    @property
    def computes(self):
        """Views, copies and fills change no number."""
        return self.kind not in ("view", "copy", "fill")


#: Kind of what our decompositions take apart.
FORMULA = "formula"


def compiled_rows():
    """The rows of the compiler, by name."""
    from torch_spyre import _C

    return [
        Row(r["name"], r["kind"], r["device_op"], r["types"], tuple(r["attributes"]))
        for r in _C.operation_table()
    ]


def _module_of(function):
    inner = getattr(function, "__wrapped__", function)
    module = getattr(inner, "__module__", "") or ""
    return module if module.startswith("torch_spyre") else "torch"


def formula_rows():
    """Operations our decompositions take apart, by name; of some the compiler has a row for a part."""
    from torch_spyre._inductor import customops, expansion, integer_decompositions
    from torch_spyre._inductor import model_decompositions, number_decompositions
    from torch_spyre._inductor import single_decompositions, whole_decompositions

    tables = (
        number_decompositions.decompositions(),
        integer_decompositions.decompositions(),
        whole_decompositions.decompositions(),
        single_decompositions.decompositions(),
        model_decompositions.decompositions(),
        customops.decompositions(),
        expansion.RULES,
    )
    found = {}
    for table in tables:
        for op, function in table.items():
            found.setdefault(str(op), set()).add(_module_of(function))
    return [Row(name, FORMULA, ", ".join(sorted(by))) for name, by in sorted(found.items())]


#: What has neither row nor formula, and why; in 16 bits some of them are errors on the CPU, too.
_NO_FORMULA = {
    "complex numbers": ("_fft_r2c.default", "_fft_c2c.default", "_fft_c2r.default"),
    "steps of which nobody knows how many": (
        "_linalg_eigh.default",
        "_linalg_svd.default",
        "linalg_eig.default",
        "linalg_matrix_rank.atol_rtol_tensor",
        "linalg_pinv.atol_rtol_tensor",
    ),
    "roots without end, next to each of which another expansion would be needed": tuple(
        f"special_{name}.default" for name in "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1".split()
    ),
    "reflections and pivots in the form of LAPACK": tuple(
        f"{name}.default" for name in "geqrf ormqr linalg_ldl_factor_ex linalg_ldl_solve".split()
    ),
    "series whose length depends on both arguments": ("igamma.default", "igammac.default", "special_zeta.default"),
    "as many steps as a degree that is data says": tuple(
        f"special_{name}.default" for name in orthogonal.polynomials()
    ),
    "seldom asked for": ("_segment_reduce_backward.default", "segment_reduce.default"),
}


def cpu_rows():
    """What runs on the CPU: by its nature random numbers and sizes that depend on values, and what has no formula."""
    reasons = {
        torch.Tag.nondeterministic_seeded: "random numbers",
        torch.Tag.dynamic_output_shape: "its size depends on values",
    }
    rows = []
    for full in sorted(torch._C._dispatch_get_all_op_names()):
        base, _, overload = full.removeprefix("aten::").partition(".")
        if not full.startswith("aten::") or base.startswith("_") or "out" in overload:
            continue
        op = getattr(getattr(torch.ops.aten, base), overload or "default")
        reason = next((text for tag, text in reasons.items() if tag in op.tags), None)
        if reason and not op._schema.is_mutable:
            rows.append(Row(str(op), "CPU", reason))
    rows += [Row(f"aten.{name}", "CPU", reason) for reason, names in _NO_FORMULA.items() for name in names]
    return sorted(rows, key=lambda row: row.name)


_HEAD = """# Operations

Made by `scripts/operations.py` from the compiler's table (`lib/Dialect/Graph/IR/OpTable.cpp`) and the decompositions; a test
fails when this page and they differ. How results are rounded: [numerics](numerics.md).

Types: fp16, bf16 and bool are DLFloat16 on the device, fp32 is fp32, int32 and int64 are 32 bits
([ADR 0059](adr/0059-integers-are-32-bits.md)), int8, uint8 and int16 are computed with in 32 bits, float8_e4m3fn is converted to 16
([ADR 0072](adr/0072-fp8-and-small-integers.md)). A call whose types no row takes is refused at gate 3 with the row's text and
runs on the CPU; so does float64 and complex.

An operation has a row of the compiler, or a formula over rows, or both: the formula covers what the row does not take.
What has neither is taken apart by torch's own decompositions where torch has one, else it runs on the CPU with a warning.
In-place forms and `out=` are those of the operation itself, operations on lists of tensors (`_foreach_*`) those of their
elements. `equal`, `allclose` and `item` compute on the device and give the host one number.
"""


_LIMITS = """Larger calls run on the CPU; the warning names the limit and gate 4. Comparisons are made in blocks of 2^24
([ADR 0079](adr/0079-blocks-instead-of-limits.md)), and of most operations in at most 64 of them."""


def document():
    """docs/operations.md."""
    formulas = {row.name: row.by for row in formula_rows()}
    lines = [_HEAD]
    lines += ["## Rows of the compiler", "", "| Operation | Kind | Device operation | Types |"]
    lines += ["|---|---|---|---|"]
    rows = compiled_rows()
    for row in rows:
        device_op = f"`{row.by}`" if row.by else ""
        also = "; others by formula" if row.name in formulas else ""
        lines.append(f"| `{row.name}` | {row.kind} | {device_op} | {row.types}{also} |")
    known = {row.name for row in rows}
    lines += ["", "## Formulas", "", "| Operation | Where |", "|---|---|"]
    for name, by in formulas.items():
        if name not in known:
            lines.append(f"| `{name}` | {_places(by)} |")
    lines += ["", "## On the CPU", "", "| Operation | Why |", "|---|---|"]
    lines += [f"| `{row.name}` | {row.by} |" for row in cpu_rows()]
    lines += ["", "## Limits", "", _LIMITS, ""]
    lines += ["| Operations | What is counted | At most | Beyond it |", "|---|---|---|---|"]
    lines += [f"| {each.of} | {each.counted} | {each.most:,} | {each.advice} |" for each in limits.table()]
    return "\n".join(lines) + "\n"


def _places(modules):
    return ", ".join(f"`{m.replace('.', '/')}.py`" if m != "torch" else "torch's own" for m in modules.split(", "))
