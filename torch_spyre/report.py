"""What the compiler did with a function as one HTML page that needs no other file.

The page is made from what was compiled, not from what was meant to be: operations, their tensors
and cores come from the model and the OpSpecs of its bundles, causes and costs of moved data from the
decision trace.
"""

import html
import json
import math

from torch_spyre import _C, explanation

# Beyond it a drawing helps nobody; the tables stay whole.
MAX_DRAWN = 400
_STICK_BYTES = 128
_ROW, _LEFT = 24, 150

_STYLE = """
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}
body{color:#1b1f24;background:#fff}
h1{font-size:1.5em}h2{font-size:1.25em;margin-top:2em;border-bottom:1px solid #d0d7de}
h3{font-size:1.05em}table{border-collapse:collapse;width:100%;margin:.5em 0}
th,td{text-align:left;padding:.2em .6em;vertical-align:top}th{background:#f3f5f7;font-weight:600}
tr+tr td{border-top:1px solid #e3e7eb}td.n,th.n{text-align:right}
code,pre{font-family:ui-monospace,monospace;font-size:12px}
pre{overflow:auto;background:#f3f5f7;padding:.8em}
.bar{background:#5b8def;height:10px;display:inline-block;border-radius:2px}
.moved{background:#d9822b}.cpu{background:#c23030}
.summary{display:flex;flex-wrap:wrap;gap:1em;padding:0;list-style:none}
.summary li{background:#f3f5f7;padding:.5em 1em;border-radius:6px}
.summary b{display:block;font-size:1.3em}svg text{font:12px ui-monospace,monospace;fill:#1b1f24}
@media(prefers-color-scheme:dark){body{background:#16191d;color:#d8dee4}
th,pre,.summary li{background:#22272e}svg text{fill:#d8dee4}tr+tr td{border-color:#30363d}}
"""


class _Step:
    """One operation of the device, or one step of the host."""

    def __init__(self, title, kind, place):
        self.title, self.kind, self.place = title, kind, place
        self.inputs, self.outputs, self.space = [], [], []
        self.read_bytes = self.written_bytes = 0
        self.loops = self.cores = 1
        self.producers = []


def _text(value):
    return html.escape(str(value), quote=True)


def _bytes(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError("the last unit takes all")


def _operations(nodes, count=1):
    """Operations of a kernel in order, each with how often the loops around it run it."""
    for node in nodes:
        if hasattr(node, "body"):
            yield from _operations(node.body, count * node.count)
        else:
            yield node, count


def _tensor_name(arg, names):
    place, address = next(iter(arg.allocation.items()))
    return names[arg.arg_index] if arg.arg_index >= 0 else f"{place} {address:#x}"


def _device_step(op, loops, names, place):
    moved = op.op in ("identity", "ReStickifyOpHBM")
    step = _Step(op.op, "moved" if moved else "device", place)
    step.loops = loops
    step.space = [(str(symbol), *sizes) for symbol, sizes in op.iteration_space.items()]
    step.cores = math.prod(cores for _, _, cores in step.space)
    for arg in getattr(op, "args", []):
        size = math.prod(arg.device_size[:-1]) * _STICK_BYTES
        (step.inputs if arg.is_input else step.outputs).append((_tensor_name(arg, names), arg))
        if "lx" in arg.allocation:
            continue
        if arg.is_input:
            step.read_bytes += size
        else:
            step.written_bytes += size
    return step


def _steps(model, artifacts):
    steps = []
    for entry in model["steps"]:
        if entry["kind"] == "bundle":
            text = artifacts[f"{entry['directory']}/op_spec.txt"].decode()
            for op, loops in _operations(_C.parse_op_specs(text)):
                steps.append(_device_step(op, loops, entry["arguments"], entry["directory"]))
        elif entry["kind"] == "cpu":
            step = _Step(entry["callee"], "cpu", f"CPU: {entry['reason']} {entry['location']}")
            step.inputs = [(name, None) for name in entry["inputs"]]
            step.outputs = [(name, None) for name in entry["outputs"]]
            steps.append(step)
    writers = {}
    for number, step in enumerate(steps):
        step.producers = sorted({writers[name] for name, _ in step.inputs if name in writers})
        writers.update({name: number for name, _ in step.outputs})
    return steps


def _drawing(steps):
    if not steps or len(steps) > MAX_DRAWN:
        return f"<p>{len(steps)} operations; see the table.</p>"
    height = _ROW * (len(steps) + 1)
    title = "operations and what they read"
    parts = [f'<svg role="img" aria-label="{title}" width="700" height="{height}">']
    for number, step in enumerate(steps):
        y = _ROW * (number + 1)
        for producer in step.producers:
            above = _ROW * (producer + 1)
            bend = min(_LEFT - 12, 8 + 6 * (number - producer))
            parts.append(
                f'<path d="M{_LEFT} {above} C{_LEFT - bend} {above} {_LEFT - bend} {y} {_LEFT} {y}" '
                'fill="none" stroke="#8c959f"/>'
            )
        color = {"device": "#5b8def", "moved": "#d9822b", "cpu": "#c23030"}[step.kind]
        label = f"{number}  {step.title} -> {', '.join(name for name, _ in step.outputs)}"
        parts.append(f'<circle cx="{_LEFT}" cy="{y}" r="5" fill="{color}"/>')
        parts.append(f'<text x="{_LEFT + 14}" y="{y + 4}">{_text(label)}</text>')
    return "".join(parts) + "</svg>"


def _table(head, rows):
    """Cells are HTML; a head that starts with # is a column of numbers."""
    if not rows:
        return "<p>None.</p>"
    kinds = [" class=n" if name.startswith("#") else "" for name in head]

    def line(tag, cells):
        filled = zip(kinds, cells, strict=True)
        return "<tr>" + "".join(f"<{tag}{kind}>{cell}</{tag}>" for kind, cell in filled) + "</tr>"

    titles = line("th", [_text(name.lstrip("#")) for name in head])
    return "<table>" + titles + "".join(line("td", row) for row in rows) + "</table>"


def _splits_table(steps, decisions):
    reasons = {
        entry["numbers"]["step"]: f"<b>{_text(entry['reason'])}</b>: {_text(entry['detail'].partition('; ')[2])}"
        for entry in decisions
        if entry["stage"] == "work-per-core" and entry["taken"]
    }
    rows = []
    for number, step in enumerate(steps):
        space = ", ".join(
            f"{symbol} {extent}" + (f"/{cores}" if cores > 1 else "")
            for symbol, extent, cores in step.space
        )
        rows.append(
            [
                number,
                _text(step.title),
                f"<code>{_text(space)}</code>",
                step.cores if step.kind != "cpu" else "",
                step.loops if step.loops > 1 else "",
                _text(", ".join(name for name, _ in step.inputs)),
                _text(", ".join(name for name, _ in step.outputs)),
                _text(step.place),
                reasons.get(number, ""),
            ]
        )
    loops = "loops (extent/cores)"
    head = ["#step", "operation", loops, "#cores", "#repeats", "reads", "writes", "where", "why so divided"]
    return _table(head, rows)


def _traffic_table(steps):
    largest = max([s.read_bytes + s.written_bytes for s in steps] or [1]) or 1
    rows = []
    for number, step in enumerate(steps):
        total = step.read_bytes + step.written_bytes
        width = max(1, 300 * total // largest)
        bar = f'<span class="bar {step.kind}" style="width:{width}px"></span>'
        if step.kind != "cpu":
            sizes = [_bytes(step.read_bytes), _bytes(step.written_bytes)]
            rows.append([number, _text(step.title), *sizes, bar])
    return _table(["#step", "operation", "#tensors read", "#tensors written", "together"], rows)


def _layout_rows(kind, tensors):
    for tensor in tensors:
        layout = tensor["layout"]
        yield [
            _text(kind),
            _text(tensor["name"]),
            _text(f"{tensor['dtype']} {tensor['size']}"),
            f"<code>{_text(layout['device_size'])}</code>",
            f"<code>{_text(layout['stride_map'])}</code>",
            _text(f"{layout['format']} {layout['arrangement']}"),
        ]


def _layouts_table(model, steps):
    rows = []
    for kind in ("inputs", "outputs", "constants", "buffers"):
        rows += _layout_rows(kind.rstrip("s"), model.get(kind, []))
    for number, step in enumerate(steps):
        for name, arg in step.outputs:
            if arg is not None and arg.arg_index < 0:
                form = str(arg.device_dtype).split(".")[-1]
                size = f"<code>{_text(list(arg.device_size))}</code>"
                rows.append([_text(f"made by {number}"), _text(name), "", size, "", _text(form)])
    return _table(["kind", "name", "host type", "device size", "stride map", "format"], rows)


def _movement_table(entries):
    rows = []
    for entry in entries:
        numbers = entry.get("numbers", {})
        rows.append(
            [
                _text(entry["subject"]),
                f"<b>{_text(entry['reason'])}</b>: {_text(entry['detail'])}",
                _text(entry.get("location", "")),
                _bytes(numbers.get("bytes", 0)),
                numbers.get("ns", ""),
            ]
        )
    return _table(["what", "cause", "line", "#bytes", "#ns, predicted"], rows)


def _times_table(record):
    operations = explanation.operations_of(record)
    total = sum(row["ns"] for row in operations)
    rows = [
        [
            row["step"],
            _text(row["subject"]),
            f"{row['ns'] / 1e3:.3f}",
            f"{100 * row['ns'] / max(total, 1e-9):.0f}",
            _text(row["cores"]),
            _text("-" if row["intensity"] is None else f"{row['intensity']:.3g}"),
            _text(f"{100 * row['part_of_bound']:.0f} % of {row['bound']}"),
            _text(explanation.waits_text(row)),
        ]
        for row in sorted(operations, key=lambda row: -row["ns"])
    ]
    head = ["#step", "operation", "#us, predicted", "#% of all", "#cores", "#operations per DDR byte", "roofline"]
    return _table([*head, "what the schedule waited for"], rows)


def _graph_section(record):
    artifacts = record.artifacts
    model = json.loads(artifacts["model.json"])
    steps = _steps(model, artifacts)
    movement = [e for e in record.decisions if e["stage"] == "movement" and e["reason"] != "total"]
    advice = [e for e in record.decisions if e["stage"] == "layout"]
    fields = ("stage", "subject", "reason", "detail")
    decisions = [[_text(entry[field]) for field in fields] for entry in record.decisions]
    parts = {
        "Graph": _drawing(steps),
        "Data that is only moved, and why": _movement_table(movement),
        "Inputs in another layout than they are read in": _movement_table(advice),
        "Work per core": _splits_table(steps, record.decisions),
        "DDR traffic": _traffic_table(steps),
        "Where the time goes": _times_table(record),
        "Layouts": _layouts_table(model, steps),
    }
    hidden = {
        "All decisions": _table(["pass", "about", "reason", "detail"], decisions),
        "Graph IR": f"<pre>{_text(record.graph)}</pre>",
    }
    return "".join(
        [
            f"<h2>{_text(record.name)}</h2>",
            *(f"<h3>{title}</h3>{part}" for title, part in parts.items()),
            *(f"<details><summary>{t}</summary>{part}</details>" for t, part in hidden.items()),
        ]
    )


def _summary(total):
    shown = [
        ("device operations", total.get("operations", 0)),
        ("of them only move data", total.get("copies", 0)),
        ("steps on the CPU", total.get("host_steps", 0)),
        ("DDR bytes", _bytes(total.get("bytes", 0))),
        ("of them only moved", _bytes(total.get("moved_bytes", 0))),
        ("predicted for all operations", f"{total.get('predicted_ns', 0) / 1e3:.3f} us"),
    ]
    items = "".join(f"<li><b>{_text(value)}</b>{_text(name)}</li>" for name, value in shown)
    return f"<ul class=summary>{items}</ul>"


def page(records, total):
    """The whole page; ``total`` as in Explanation."""
    sections = [_graph_section(record) for record in records]
    body = "".join(sections) or "<p>Nothing was compiled for the device.</p>"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>torch_spyre.explain</title>'
        f"<style>{_STYLE}</style></head><body><h1>What the compiler did</h1>{_summary(total)}{body}"
        "</body></html>\n"
    )
