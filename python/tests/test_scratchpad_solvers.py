"""The documented solvers under their documented names: addresses of the documented examples, refusals in words."""

import pytest
from torch_spyre._inductor.scratchpad.firstfit_bestfit_solver import (
    BestFitLayoutSolver,
    FirstFitLayoutSolver,
    _assert_in_place_relationships,
    _topological_sort,
)
from torch_spyre._inductor.scratchpad.plan_solver import GreedyLayoutSolver, LifetimeBoundBuffer, MemoryPlanSolver

FITTING = (FirstFitLayoutSolver, BestFitLayoutSolver)
ALL = (GreedyLayoutSolver, *FITTING)

#: Size of the scratchpad, alignment, buffers (bytes, uses, the number of a parent), addresses.
EXAMPLES = {
    "one after the other": (10, 1, [(3, [0, 1]), (3, [0, 1]), (4, [0, 1])], [0, 3, 6], ALL),
    "less than the alignment": (10, 128, [(3, [0, 1]), (3, [0, 1]), (4, [0, 1])], [0, None, None], ALL),
    "one stays in memory": (10, 1, [(7, [0, 1]), (4, [0, 1]), (3, [0, 1])], [0, None, 7], ALL),
    "a place is used again": (10, 1, [(10, [0, 1]), (3, [2])], [0, 0], ALL),
    "aligned, in time": (
        *(512, 128),
        [(200, [0, 3]), (100, [1, 2]), (100, [2, 3]), (100, [3])],
        *([0, 256, 384, 256], ALL[:1]),
    ),
    "aligned, by score": (
        *(512, 128),
        [(200, [0, 3]), (100, [1, 2]), (100, [2, 3]), (100, [3])],
        *([256, 0, 128, 0], FITTING),
    ),
    "in the place of another": (513, 128, [(512, [0, 3]), (512, [3], 0)], [0, 0], ALL),
    "too large": (10, 1, [(11, [0, 1])], [None], ALL),
    "the parent is in memory": (100, 1, [(200, [0, 4]), (15, [4, 8], 0)], [None, 0], ALL),
    "more uses": (10, 1, [(10, [0, 4]), (10, [0, 1, 2, 3, 4])], [None, 0], FITTING),
    "nothing uses it": (10, 1, [(3, []), (10, [0])], [None, 0], ALL),
    "nothing to place": (10, 1, [], [], ALL),
}


def buffers_of(rows):
    return [
        LifetimeBoundBuffer(f"b{i}", size, uses, in_place_parents=[f"b{n}" for n in parents])
        for i, (size, uses, *parents) in enumerate(rows)
    ]


@pytest.mark.parametrize("name", EXAMPLES)
def test_addresses(name):
    size, alignment, rows, expected, solvers = EXAMPLES[name]
    for solver in solvers:
        buffers = buffers_of(rows)
        result = solver(size, alignment).plan_layout(buffers)
        assert result is buffers and [b.address for b in buffers] == expected, solver.__name__


def test_a_first_use_that_writes_wins():
    reader = LifetimeBoundBuffer("reader", 10, [0, 4], first_use_is_read=True)
    writer = LifetimeBoundBuffer("writer", 10, [0, 4])
    for solver in FITTING:
        reader.address = writer.address = None
        solver(10, 1).plan_layout([reader, writer])
        assert (reader.address, writer.address) == (None, 0)


@pytest.mark.parametrize("solver", ALL)
def test_both_forms_of_a_buffer_are_placed_alike(solver):
    documented = [
        LifetimeBoundBuffer("a", 128, 0, 2),
        LifetimeBoundBuffer("b", 128, start_time=1, end_time=4, in_place_parents=["a"]),
        LifetimeBoundBuffer("c", 128, 1, 2, []),
        LifetimeBoundBuffer(name="d", size=128, start_time=2, end_time=4),
    ]
    listed = [
        LifetimeBoundBuffer("a", 128, [0, 1]),
        LifetimeBoundBuffer("b", 128, [1, 3], False, None, ["a"]),
        LifetimeBoundBuffer("c", 128, uses=[1]),
        LifetimeBoundBuffer("d", 128, (2, 3), in_place_parents=()),
    ]
    assert documented == listed and (listed[1].start_time, listed[1].end_time) == (1, 4)
    placed = [[b.address for b in solver(1024).plan_layout(buffers)] for buffers in (documented, listed)]
    assert placed[0] == placed[1] and None not in placed[0]
    assert repr(documented[0]).startswith("LifetimeBoundBuffer(name='a', size=128, uses=[0, 1],")


@pytest.mark.parametrize(
    "arguments, fields, error",
    [
        ((0,), {}, TypeError),
        ((0, 2, 3), {}, TypeError),
        ((0, 2, []), {"in_place_parents": []}, TypeError),
        ((), {}, TypeError),
        ((), {"start_time": 1}, TypeError),
        ((), {"uses": [1], "end_time": 2}, TypeError),
        (([0, 1],), {"start_time": 0}, TypeError),
        (([0, "x"],), {}, TypeError),
        ((0, 2.5), {}, TypeError),
        ((0, 2, "a"), {}, TypeError),
        (([0], False, None, [], 7), {}, TypeError),
        (([0],), {"life": 3}, TypeError),
        ((2, 2), {}, ValueError),
        ((True, 2), {}, TypeError),
    ],
)
def test_other_forms_are_refused_with_the_name(arguments, fields, error):
    with pytest.raises(error, match="'big'"):
        LifetimeBoundBuffer("big", 128, *arguments, **fields)


def test_orders_of_the_fitting_solvers():
    rows = [(10, [0, 3]), (10, [0, 1, 2, 3, 4])]
    for solver in FITTING:
        for order, expected in [("score", [None, 0]), ("lifetime", [0, None])]:
            assert [b.address for b in solver(10, 1, order=order).plan_layout(buffers_of(rows))] == expected
        assert solver(10, 1).order == "score"
        with pytest.raises(ValueError, match="order is 'size'"):
            solver(10, 1, "size")


def test_in_place_relationships():
    parent = LifetimeBoundBuffer("p", 256, 0, 5)
    child = LifetimeBoundBuffer("c", 128, 4, 8, ["p"])
    _assert_in_place_relationships([child, parent])
    for wrong, says in [
        (LifetimeBoundBuffer("c", 512, 4, 8, ["p"]), "c has 512 bytes .* which has 256"),
        (LifetimeBoundBuffer("c", 128, 3, 8, ["p"]), "end_time is 5; it must be 4"),
        (LifetimeBoundBuffer("c", 128, 4, 8, ["q"]), "q, which is not among"),
    ]:
        for error in (AssertionError, ValueError):
            with pytest.raises(error, match=f"SPYRE-E3043: .*{says}"):
                _assert_in_place_relationships([wrong, parent])


def test_topological_sort():
    def names(*rows):
        return [b.name for b in _topological_sort([LifetimeBoundBuffer(n, 1, 0, 1, parents) for n, parents in rows])]

    assert names(("c", ["b"]), ("b", ["a"]), ("x", []), ("a", [])) == ["x", "a", "b", "c"]
    assert names(("d", ["a", "b"]), ("a", []), ("b", []), ("e", ["gone"])) == ["a", "b", "d", "e"]
    assert names() == []
    with pytest.raises(ValueError, match="a, b are in_place_parents of each other"):
        names(("a", ["b"]), ("b", ["a"]), ("c", []))


def test_lifetimes():
    buffer = LifetimeBoundBuffer("x", 128, [3, 5, 9])
    assert (buffer.start_time, buffer.end_time) == (3, 10)
    assert buffer.address is None and not buffer.first_use_is_read and buffer.in_place_parents == []


@pytest.mark.parametrize(
    "rows, says",
    [
        ([(20, [0, 4]), (15, [3, 8], 0)], "E3043.*b1.*b0"),
        ([(10, [0, 4]), (15, [4, 8], 0)], "E3043.*b1.*b0"),
        ([(10, [0, 4], 7)], "b0 may take the place of b7"),
        ([(-1, [0])], "E3040.*b0"),
        ([(10, [4, 0])], "E3040.*b0"),
    ],
    ids=["a parent that lives on", "a larger child", "no such parent", "less than nothing", "backwards"],
)
def test_bad_buffers(rows, says):
    for solver in ALL:
        with pytest.raises(Exception, match=says):
            solver(100, 1).plan_layout(buffers_of(rows))


def test_numbers_of_operations_have_a_largest():
    with pytest.raises(ValueError, match="b0.*needs uses"):
        GreedyLayoutSolver(100, 1).plan_layout(buffers_of([(10, [2**63 - 1])]))


def test_addresses_are_given_once():
    buffers = buffers_of([(3, [0, 1])])
    GreedyLayoutSolver(10, 1).plan_layout(buffers)
    with pytest.raises(ValueError, match="b0 has an address already"):
        GreedyLayoutSolver(10, 1).plan_layout(buffers)
    with pytest.raises(NotImplementedError, match="use GreedyLayoutSolver"):
        MemoryPlanSolver(10).plan_layout([])
