"""Passes around scratchpad planning: what they get, and what they may change."""

import dataclasses


class ScratchpadOptimizationPass:
    """Base of passes; objects of subclasses are given to ``config.scratchpad_passes``. Both methods may change what they
    get; the plan is verified afterwards."""

    def run_before(self, graph):
        """Runs before planning: may bar tensors, reserve bytes for operations and insert copies."""

    def run_after(self, graph, addresses):
        """Runs after planning. ``addresses`` is a dict of buffer names and addresses in bytes: what is taken out stays in
        memory, what is changed or added is moved there."""


@dataclasses.dataclass
class Tensor:
    """``core_bytes`` of it are on each core, ``total_bytes`` on all together."""

    name: str
    core_bytes: int
    total_bytes: int
    is_input: bool
    is_output: bool
    #: Why it may not stay in the scratchpads; empty where it may.
    barred: str


@dataclasses.dataclass
class Operation:
    """``reads`` and ``writes`` are names of tensors."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    #: Another program runs, which may use any address of the scratchpads.
    is_opaque: bool
    #: Bytes of each core that it needs for itself.
    reserved_bytes: int


class Graph:
    """``operations`` in the order they run, ``tensors`` by name, ``capacity`` of each core in bytes."""

    def __init__(self, capacity, tensors, operations):
        self.capacity = capacity
        self._order = [Tensor(*row) for row in tensors]
        self.tensors = {tensor.name: tensor for tensor in self._order}
        names = [tensor.name for tensor in self._order]
        self.operations = tuple(
            Operation(name, tuple(names[t] for t in reads), tuple(names[t] for t in writes), opaque, reserved)
            for name, reads, writes, opaque, reserved in operations
        )
        self._copies = []

    def copy(self, tensor, readers, before=None):
        """Makes the operations numbered ``readers`` read a copy of ``tensor``, made in front of operation ``before``
        (default: the first of them)."""
        readers = sorted(set(readers))
        before = readers[0] if readers and before is None else before
        known = [i for i in readers if 0 <= i < len(self.operations) and tensor in self.operations[i].reads]
        if not readers or known != readers or not 0 <= before <= readers[0]:
            raise ValueError(
                f"SPYRE-E1503: a copy of {tensor!r} before operation {before} for operations {readers}; give operations that "
                "read the tensor, and one in front of which the copy is made, the first of them or an earlier one"
            )
        self._copies.append(([t.name for t in self._order].index(tensor), before, readers))
