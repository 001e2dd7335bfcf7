"""Streams and events inside compiled functions.

Dynamo puts waits and records of streams and events into the graph. A compiled graph is one program on the stream that
is current at its call, so its operations are in order already. Everything else is done around the program:

* before it, the current stream waits for all streams and events that the graph waits for or works on;
* after it, those streams wait for the current one, events that the graph records are recorded, and the host waits
  if the graph makes it wait.

This orders at least as much as the function asks for.
"""

import torch

_STREAMS = "streams"


def _is_statement(node):
    """Whether a node waits for or records a stream or an event."""
    target = node.target
    return isinstance(target, torch._ops.OpOverload) and target.namespace == _STREAMS


def _held(gm, node):
    """Returns (name, arguments) of each statement that a node of ``control_deps`` holds; None if it holds more."""
    operator = torch._ops.HigherOrderOperator
    if not isinstance(node.target, operator) or node.target.name() != "control_deps":
        return None
    calls = [n for n in getattr(gm, node.args[1].target).graph.nodes if n.op == "call_function"]
    return [_call(n) for n in calls] if all(map(_is_statement, calls)) else None


def _call(node):
    return node.target._schema.name.split("::")[1], node.args


def _bypass(node):
    """Gives users of a node of ``control_deps`` the values that it hands on: its result i + 1 is argument i."""
    passed = node.args[2:]
    for user in list(node.users):
        if user.target is torch.ops.higher_order.control_deps:  # a dependency alone
            user.args = (tuple(d for d in user.args[0] if d is not node), *user.args[1:])
            continue
        if user.args[1] > 0:
            user.replace_all_uses_with(passed[user.args[1] - 1])
        user.graph.erase_node(user)


def separate(gm):
    """Takes the statements about streams and events out of a graph. Returns the :class:`Order` for callables that are
    made of the graph, or None for a graph without such statements."""
    stated, streams = [], set()
    for node in list(gm.graph.nodes):
        custom = node.meta.get("custom") or {}
        if isinstance(custom.get("stream"), int):
            streams.add(custom["stream"])
        calls = [_call(node)] if node.op == "call_function" and _is_statement(node) else _held(gm, node)
        if calls:
            stated += calls
            _bypass(node)
            gm.graph.erase_node(node)
    if not stated and not streams:
        return None
    gm.graph.eliminate_dead_code()
    gm.recompile()
    return Order(stated, streams)


class Order:
    """Statements around a compiled graph. Streams and events are numbers that Dynamo's code knows at each call."""

    def __init__(self, stated, streams):
        self._streams = set(streams)
        self._waited, self._recorded, self._finished = [], [], []
        for name, arguments in stated:
            getattr(self, f"_{name}")(*arguments)

    def _fork(self, first, second):
        self._streams |= {first, second}

    _join = _wait_stream = _fork

    def _record_event(self, event, stream):
        self._recorded.append(event)
        self._streams.add(stream)

    def _wait_event(self, event, stream):
        if event not in self._recorded:
            self._waited.append(event)
        self._streams.add(stream)

    def _synchronize_event(self, event):
        if event not in self._recorded:
            self._waited.append(event)
        self._finished.append(event)

    def _synchronize_stream(self, stream):
        self._streams.add(stream)
        self._finished.append(None)

    def _synchronize_device(self, *_device):
        self._finished.append(None)

    def _record_stream(self, _tensor, stream):
        self._streams.add(stream)

    def _sync_dealloc(self, event, stream, _tensor):
        self._wait_event(event, stream)

    def around(self, function):
        """Returns ``function`` with the statements before and after it."""

        def call(*args):
            from torch._dynamo.variables import streams as known

            current = torch.accelerator.current_stream()
            others = [s for s in map(known._get_stream_by_index, sorted(self._streams)) if s != current]
            for stream in others:
                current.wait_stream(stream)
            for event in self._waited:
                current.wait_event(known._get_event_by_index(event))
            results = function(*args)
            for stream in others:
                stream.wait_stream(current)
            for event in self._recorded:
                known._get_event_by_index(event).record(current)
            if self._finished:
                current.synchronize()
            return results

        return call
