"""check_overlap.py A B: the runs traced in A.json and B.json (counters in A.counters, B.counters) are the same work, A
has loads and vector instructions at the same time and B has not, and A takes fewer cycles."""
import json
import sys


def load(prefix: str) -> tuple[list[dict], dict]:
    with open(prefix + ".json") as trace, open(prefix + ".counters") as counters:
        return json.load(trace)["traceEvents"], json.load(counters)


def intervals(events: list[dict], unit: str) -> list[tuple[int, int]]:
    spans = [e["args"] for e in events if e["ph"] == "X" and e["cat"] == unit]
    return [(span["start_cycle"], span["end_cycle"]) for span in spans]


def overlap_cycles(events: list[dict]) -> int:
    """Cycles of the vector unit during which some load is under way."""
    busy = set()
    for begin, end in intervals(events, "load"):
        busy.update(range(begin, end))
    return sum(cycle in busy for begin, end in intervals(events, "vector") for cycle in range(begin, end))


def check_rows(events: list[dict]) -> None:
    """Rows have names, and intervals of one row do not overlap: viewers draw nothing else."""
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    rows: dict = {}
    for event in events:
        if event["ph"] == "X":
            rows.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    assert rows.keys() == named, (rows.keys(), named)
    for spans in rows.values():
        spans.sort()
        for (_, end), (begin, _) in zip(spans, spans[1:]):
            assert begin >= end - 1e-9, spans


fast, fast_counters = load(sys.argv[1])
slow, slow_counters = load(sys.argv[2])
check_rows(fast)
check_rows(slow)
assert len(intervals(fast, "load")) == 16 and len(intervals(fast, "vector")) == 16, "16 tiles"
assert overlap_cycles(fast) > 0, "nothing happens at the same time"
assert overlap_cycles(slow) == 0, "a phase without overlap does one thing at a time"
assert fast_counters["cycles"] < slow_counters["cycles"], (fast_counters["cycles"], slow_counters["cycles"])
for name in ("instructions", "ddr_read_bytes", "ddr_write_bytes", "sfp_lane_ops"):
    assert fast_counters[name] == slow_counters[name], name
REASONS = ("ddr", "lx", "ring", "pt_fill", "pt", "sfp", "latency", "overhead")
for events, counters in ((fast, fast_counters), (slow, slow_counters)):
    (operation,) = [e["args"] for e in events if e["ph"] == "X" and e["cat"] == "operation"]
    waits = {reason: operation[f"{reason}_cycles"] for reason in REASONS}
    assert sum(waits.values()) == operation["cycles"] and waits[operation["waits_for"]] == max(waits.values()), operation
    assert sum(counters[f"{reason}_cycles"] for reason in REASONS) == counters["cycles"], counters
    assert operation["cycles"] < counters["cycles"], "the launch is no part of it"
texts = {event["args"]["text"] for event in fast if event["ph"] == "X" and event["cat"] != "operation"}
assert any(text.startswith("vector.exp SEN169_FP16 y.a[128*p5] <- x.a[128*p5] x 16") for text in texts), texts
