"""Sizes beyond which the CPU takes an operation: one table for the formulas that ask it, for the warnings, and for the page of
operations; and what is compared in blocks, so that there are few of them (docs/adr/0079)."""

import contextlib
import dataclasses
import logging
import threading

import torch

#: Numbers that are compared at once: larger tables of comparisons are made block by block.
COMPARED_AT_ONCE = 1 << 24

#: Exceptions by which torch refuses a call. Any other is a fault of a formula.
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, ArithmeticError, AssertionError)

_log = logging.getLogger("spyre.inductor.lowering")
_noted = threading.local()


@dataclasses.dataclass
class Limit:
    """``of`` are the operations, ``counted`` is what there may be at most so many of."""

    of: str
    counted: str
    most: int
    advice: str = "cut the tensor into parts"

    def refuses(self, count):
        """Whether it is too many; who asks last is named by the warning."""
        if count > self.most:
            note(f"{self.counted}: {int(count):,} of at most {self.most:,}; {self.advice} [gate 4: shape]")
            return True
        return False


def note(text):
    """Why a formula refuses, with the gate at the end."""
    _noted.text = text
    collected = getattr(_noted, "collected", None)
    if collected is not None and text not in collected:
        collected.append(text)


def note_failure(operation, error):
    """Logs the exception that a formula of ``operation`` ended in. One that torch does not refuse
    calls with is logged as an error and told as the reason of the fallback."""
    if isinstance(error, REFUSALS):
        _log.debug("the formula of %s refused: %s: %s", operation, type(error).__name__, error)
        return
    _log.error("the formula of %s failed", operation, exc_info=error)
    note(f"the formula of {operation} failed with {type(error).__name__}: {error} [gate 1: compatibility]")


@contextlib.contextmanager
def collecting(reasons):
    """Puts every reason of a capture into the list."""
    outside, _noted.collected = getattr(_noted, "collected", None), reasons
    try:
        yield
    finally:
        _noted.collected = outside


@contextlib.contextmanager
def noting(reasons):
    """Puts into the list, if there is one, why a formula refused meanwhile."""
    _noted.text = None
    try:
        yield
    finally:
        if _noted.text is not None and reasons is not None:
            reasons.append(_noted.text)
        _noted.text = None


def in_blocks(places, each, compute, dim=0):
    """The results of ``compute(first, last)`` for blocks of the places, joined; a place is compared with ``each`` numbers."""
    if places * each <= COMPARED_AT_ONCE:  # sizes that are symbols stay symbols
        return compute(0, places)
    step = max(1, COMPARED_AT_ONCE // each)
    return torch.cat([compute(first, min(first + step, places)) for first in range(0, places, step)], dim)


_BLOCKS = 64 * COMPARED_AT_ONCE

INDEX_WRITES = Limit(
    "index_put, index_copy, index_add, index_fill, scatter and their like, gradients of pooling by maximum",
    "places times numbers",
    _BLOCKS,
    "write fewer at a time",
)
# A row of 8,192: the work is the square of the length.
SORTED = Limit(
    "sort, argsort, kthvalue, median, mode; topk of the smallest and of integers",
    "pairs of elements of a row, times rows",
    4 * COMPARED_AT_ONCE,
    "search with topk, or sort on the CPU",
)
SEARCHED = Limit("isin, searchsorted, bucketize, nonzero_static", "elements times candidates", _BLOCKS)
COUNTED = Limit("histc", "bins times elements", _BLOCKS)
BAGS = Limit(
    "embedding_bag, its gradients, embedding_renorm",
    "bags, or rows of the table, times numbers",
    COMPARED_AT_ONCE,
    "give fewer bags at a time",
)
GRIDS = Limit("gradients of grid_sample", "places times pixels", COMPARED_AT_ONCE)
CLASSES = Limit("multilabel_margin_loss", "pairs of classes, times rows", COMPARED_AT_ONCE, "give fewer rows at a time")
DISTANCES = Limit("cdist, pdist", "differences of pairs of rows", COMPARED_AT_ONCE, "give fewer rows at a time")
GROUPS = Limit("_grouped_mm in graphs", "rows times groups times columns", 1 << 26, "give fewer rows at a time")
COLUMNS = Limit("factors of matrices: cholesky, lu, qr, inv, det", "columns", 256, "factor block by block")
COLUMNS_IN_GRAPHS = Limit(
    "the same in graphs, which have a step for each column", "columns in a graph", 32, "call it outside of the graph"
)
MATRICES = Limit("the same", "elements of a batch of matrices", 1 << 22, "give fewer matrices at a time")
CELLS = Limit(
    "adaptive_max_pool with cells that differ, fractional_max_pool", "places of a cell", 64, "choose sizes whose cells are all alike"
)
WINDOWS = Limit("max_pool", "sides of a window, added up", 64, "pool twice with smaller windows")
INTEGER_MEANS = Limit("avg_pool of integers", "places of a window", 64, "pool in a float type")
DERIVATIVES = Limit("polygamma", "its order", 20, "use the CPU: factors beyond are no fp32 numbers")
DECIMALS = Limit("round", "decimals", 10, "scale the tensor first: larger powers of ten are no fp32 numbers")

#: Those of the compiler, which says them itself.
RANK = Limit("all", "dimensions of a tensor", 8, "flatten leading dimensions")


def table():
    """All of them."""
    return [value for value in globals().values() if isinstance(value, Limit)]
