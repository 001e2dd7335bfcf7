"""Sizes beyond which the CPU takes an operation: one table for the formulas that ask it, for the warnings, and for the page of
operations; and what is compared in blocks, so that there are few of them (docs/adr/0079)."""

import contextlib
import dataclasses
import threading

import torch

#: Numbers that are compared at once: larger tables of comparisons are made block by block.
COMPARED_AT_ONCE = 1 << 24

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
            note(f"{self.counted}: {count:,} of at most {self.most:,}; {self.advice} [gate 4: shape]")
            return True
        return False


def note(text):
    _noted.text = text


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


INDEX_WRITES = Limit(
    "index_put, index_copy, index_add, index_fill, scatter and their like",
    "places times numbers",
    64 * COMPARED_AT_ONCE,
    "write fewer at a time",
)
SORTED = Limit("sort, argsort, kthvalue, median, mode, unique", "pairs of elements of a row, times rows", 64 * COMPARED_AT_ONCE)
SEARCHED = Limit("isin, searchsorted, bucketize, nonzero_static", "elements times candidates", 64 * COMPARED_AT_ONCE)
COUNTED = Limit("histc, bincount", "bins times elements", 64 * COMPARED_AT_ONCE)
BAGS = Limit("embedding_bag and its gradients, embedding_renorm", "bags, or rows of the table, times numbers", COMPARED_AT_ONCE)
GRIDS = Limit("gradients of grid_sample", "places times pixels of the image", COMPARED_AT_ONCE)
CLASSES = Limit("multilabel_margin_loss", "pairs of classes, times rows", COMPARED_AT_ONCE)
