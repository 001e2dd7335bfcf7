"""torch_spyre.explain: what is moved, why, and what it costs."""

import html.parser
import json
import re

import pytest
import torch
from test_tools import tool

import torch_spyre


@pytest.fixture(autouse=True)
def _sorting_is_the_cpus(monkeypatch):
    """Something has to be: here, to compare no pair of elements is allowed."""
    monkeypatch.setattr("torch_spyre.ops.limits.SORTED.most", 0)


def tensors(*shapes):
    torch.manual_seed(3)
    return [torch.randn(shape, dtype=torch.float16).to("spyre") for shape in shapes]


def test_a_restickify_is_shown_with_both_sides_bytes_and_line(on_device):
    x, y = tensors((128, 256), (256, 128))
    with on_device():
        report = torch_spyre.explain(lambda x, y: x + y.t(), x, y)
    assert torch.equal(report.result.cpu(), (x + y.t()).cpu())
    (entry,) = report.movement
    kind, source = entry["subject"].split(" ")[:2]
    assert kind == "restickify" and entry["reason"] == "stick-differs"
    assert f"'{source}', input" in entry["detail"]
    assert "lies in sticks along dimension 1; add -> " in entry["detail"]
    assert "reads it in sticks along dimension 0" in entry["detail"]
    # Read once, written once.
    assert entry["numbers"]["bytes"] == 2 * 128 * 256 * 2
    assert entry["numbers"]["ns"] > 0
    assert entry["location"].startswith("test_explain.py:")
    assert report.total["moved_bytes"] == entry["numbers"]["bytes"]


def residents(function, *inputs, **patch):
    """Entries about the scratchpads by buffer; the numbers of a graph's buffers are the planner's."""
    from torch_spyre._inductor import config

    torch._dynamo.reset()
    with config.patch(**patch), torch.no_grad():
        report = torch_spyre.explain(function, *inputs)
    return {entry["subject"]: entry for entry in report.scratchpads}, report


def test_what_stays_in_the_scratchpads_and_what_would(on_device):
    (x,) = tensors((512, 1024))

    def function(x):
        return torch.softmax(x, 0)

    with on_device():
        entries, report = residents(function, x, sencores=1)
        assert entries["all"]["numbers"]["gap"] == 0
        assert any(e["taken"] and e["reason"] == "input-clone" for e in entries.values())
        # A place for one matrix and a half: something is left out, and says beside what.
        entries, small = residents(function, x, sencores=1, lx_budget_bytes=64 * 1024)
        text = str(small)
    assert torch.equal(small.result.cpu(), report.result.cpu())
    absent = [e for e in entries.values() if not e["taken"]]
    assert any(e["reason"] == "too-large" for e in absent)
    for entry in absent:
        assert ";" in entry["detail"], entry
        assert entry["detail"] in text
    large = next(e for e in absent if e["reason"] == "too-large")
    assert "1048576 bytes on each core, 65536 are there" in large["detail"]
    assert "divided over 16 cores or more" in large["detail"]


def test_competitors_are_named(on_device):
    (x,) = tensors((256, 512))

    def function(x):
        a, b = x.exp(), x.neg()
        return (a + b) * b + a

    with on_device():
        entries, _ = residents(function, x, sencores=1, lx_budget_bytes=256 * 512 * 2)
    crowded = [e for e in entries.values() if e["reason"] == "no-room"]
    assert crowded, entries
    for entry in crowded:
        assert "does not fit beside '" in entry["detail"] and "would do" in entry["detail"], entry


def test_what_if_a_buffer_had_its_place_or_none(on_device):
    (x,) = tensors((256, 512))

    def function(x):
        return x.exp().abs().neg()

    with on_device():
        entries, report = residents(function, x, sencores=1, lx_pins={"t0": 4096})
        assert "at 4096," in entries["t0"]["detail"]
        entries, other = residents(function, x, sencores=1, lx_forbidden=["t0"])
        assert not entries["t0"]["taken"] and "take that wish back" in entries["t0"]["detail"]
    assert torch.equal(report.result.cpu(), other.result.cpu())


def test_pins_that_overlap_name_both_buffers():
    (x,) = tensors((256, 512))
    with pytest.raises(Exception, match=r"SPYRE-E3120: pinned buffers 't0' \(bytes 0 to \d+.*'t1' \(bytes 128"):
        residents(lambda x: x.exp().abs().neg(), x, sencores=1, lx_pins={"t0": 0, "t1": 128})
    with pytest.raises(Exception, match="SPYRE-E3100"):
        residents(lambda x: x.exp().abs().neg(), x, sencores=1, lx_pins={"nobody": 0})


def test_the_layout_it_proposes_saves_the_copy(on_device):
    x, y = tensors((128, 256), (256, 128))
    function = lambda x, y: x + y.t()  # noqa: E731
    report = torch_spyre.explain(function, x, y)
    (proposal,) = report.layouts
    assert proposal["detail"].startswith(f"input {proposal['numbers']['input']} is only read")
    order = json.loads(proposal["detail"].split("dim_order=")[1].split(" to save")[0])
    arguments = [x, y]
    chosen = proposal["numbers"]["input"]
    layout = torch_spyre._C.SpyreTensorLayout(
        list(arguments[chosen].shape), list(arguments[chosen].stride()), torch.float16, order
    )
    arguments[chosen] = arguments[chosen].to("spyre", device_layout=layout)
    with on_device():
        better = torch_spyre.explain(function, *arguments)
    assert better.movement == [] and better.layouts == []
    assert torch.equal(better.result.cpu(), report.result.cpu())


def test_reasons_of_copies_padding_gathers_and_host_steps():
    x, weight = tensors((9, 67), (67, 96))
    index = torch.tensor([3, 1]).to("spyre")

    def function(x, weight, index):
        return (x @ weight)[index].reshape(24, 8) + torch.sort(x.flatten()[:8])[0]

    report = torch_spyre.explain(function, x, weight, index)
    reasons = {entry["reason"] for entry in report.movement}
    assert {"k-not-whole-sticks", "asked-for", "host-step"} <= reasons, reasons
    assert any(e["subject"].startswith("gather ") for e in report.movement)
    assert report.total["host_steps"] == 1
    text = str(report)
    assert "Data that is only moved, and why:" in text and "runs on the CPU" in text
    assert "k-not-whole-sticks: 67 rows of" in text
    assert json.loads(report.to_json())["total"] == report.total


def test_a_compiled_function_can_be_given():
    (x,) = tensors((4, 64))
    compiled = torch.compile(lambda x: x.t().contiguous())
    compiled(x)
    report = torch_spyre.explain(compiled, x)
    assert [e["reason"] for e in report.movement] == ["result-is-given"]


def test_nothing_for_the_device_is_said():
    assert "Nothing was compiled" in str(torch_spyre.explain(lambda x: x + 1, torch.ones(2)))


class _Page(html.parser.HTMLParser):
    """Open tags match; words and attributes are kept."""

    VOID = {"meta", "path", "circle", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.attributes = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_shows_graph_moves_cores_and_layouts(tmp_path):
    x, weight, y = tensors((9, 67), (67, 96), (96, 9))

    def function(x, weight, y):
        return torch.softmax(torch.sort(x @ weight)[0] + y.t(), -1)

    report = torch_spyre.explain(function, x, weight, y)
    path = tmp_path / "page.html"
    text = report.to_html(path)
    assert path.read_text(encoding="utf-8") == text
    page = _Page(text)
    words = " ".join(page.words)
    for part in ("Graph", "Data that is only moved, and why", "Work per core", "DDR traffic", "Layouts"):
        assert part in page.words, part
    for entry in report.movement:
        assert entry["detail"] in words and entry["subject"] in page.words
    assert "aten.sort.default" in words and "ReStickifyOpHBM" in words
    # One dot per operation, and its splits: 9 rows over 9 cores.
    assert page.tags.count("circle") == report.total["operations"] + report.total["host_steps"]
    assert any("9/9" in word for word in page.words)
    assert f"{report.total['operations']}" in page.words
    # Nothing is loaded from elsewhere.
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name in ("src", "href")] and "url(" not in text


def test_the_page_escapes_what_it_is_given():
    from types import SimpleNamespace

    from torch_spyre import report

    evil = "<script>alert('x')</script>\"&"
    model = {"steps": [{"kind": "cpu", "callee": evil, "reason": evil, "location": evil, "inputs": [evil], "outputs": [evil]}]}
    entry = {"stage": "movement", "subject": evil, "reason": evil, "detail": evil, "location": evil}
    record = SimpleNamespace(
        name=evil, graph=evil, artifacts={"model.json": json.dumps(model).encode()}, decisions=[entry]
    )
    page = _Page(report.page([record], {}))
    assert "script" not in page.tags and page.words.count(evil) >= 6
    assert "Nothing was compiled" in torch_spyre.explain(lambda x: x + 1, torch.ones(2)).to_html()


def test_every_operation_says_where_its_time_goes(on_device):
    x, weight = tensors((256, 1024), (1024, 2048))
    with on_device():
        report = torch_spyre.explain(lambda x, weight: torch.exp(x @ weight), x, weight)
    product, function = report.operations
    assert "matmul" in product["name"] and function["name"] == "exp"
    assert [row["step"] for row in report.operations] == [0, 1]
    for row in report.operations:
        assert sum(row["wait_cycles"].values()) == row["cycles"] > 0
        assert row["wait_cycles"][row["waits_for"]] == max(row["wait_cycles"].values())
        assert 0 < row["part_of_bound"] <= 1
        assert f"  {row['step']} {row['subject']}: {row['ns'] / 1e3:.3f} us (" in str(report)
    assert product["pt_macs"] == 256 * 1024 * 2048
    assert product["intensity"] > 10 * function["intensity"]
    # A transcendental function of many elements waits for its unit or for the memory.
    assert function["waits_for"] in ("sfp", "ddr")
    assert json.loads(report.to_json())["operations"] == report.operations
    assert "Where the time goes" in report.to_html()


def matmul_exp_sum():
    x, y = tensors((55, 67), (67, 130))
    return lambda x, y: torch.exp(x @ y).sum(1), (x, y)


def transformer_layer():
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(128, 4, 256, dropout=0, batch_first=True).eval().half().to("spyre")
    return layer, tensors((2, 32, 128))


@pytest.mark.parametrize("cores", [32, 12])
@pytest.mark.parametrize("graph", [matmul_exp_sum, transformer_layer])
def test_the_told_division_is_the_one_that_runs(graph, cores, tmp_path, on_device):
    from torch_spyre._inductor import config

    function, inputs = graph()
    torch._dynamo.reset()
    with on_device(), config.patch(sencores=cores), torch.no_grad():
        report = torch_spyre.explain(function, *inputs)
    (record,) = report._records
    record.save(str(tmp_path))
    text = tool("spyre-dis", tmp_path).stdout
    ran = [(name, int(cores)) for name, cores in re.findall(r'^phase \d+ "\d+_(.*)" cores (\d+)', text, flags=re.M)]
    told = [e for e in report.work_per_core if e["taken"]]
    assert [e["numbers"]["cores"] for e in told] == [count for _, count in ran]
    assert [e["numbers"]["step"] for e in told] == list(range(len(ran)))
    assert [(row["name"], row["cores"]) for row in report.operations] == ran
    assert all(f"on {count} of {cores} cores" in e["detail"] for e, (_, count) in zip(told, ran, strict=True))
    reasons = {e["reason"] for e in told}
    assert reasons and "as-given" not in reasons and "changed-later" not in reasons, reasons


def test_all_sections_number_operations_alike(on_device):
    function, inputs = transformer_layer()
    with on_device(), torch.no_grad():
        report = torch_spyre.explain(function, *inputs)
    text = str(report)
    titles = {e["numbers"]["step"]: e["subject"] for e in report.work_per_core}
    written = {subject.split(" -> ")[1]: step for step, subject in titles.items()}
    for entry in report.scratchpads:
        if entry["taken"] and entry["subject"] in written:
            first = int(re.search(r"operations (\d+) to", entry["detail"])[1])
            assert written[entry["subject"]] == first or entry["reason"] == "output-clone", entry
    assert sum(e["taken"] and e["subject"] in written for e in report.scratchpads) > 3
    named = [pair for e in report.scratchpads for pair in re.findall(r"operations? (\d+) \('(\w+)'\)", e["detail"])]
    assert named and {report.operations[int(step)]["name"] for step, _ in named} == {name for _, name in named}
    for step, name in named:
        assert report.operations[int(step)]["name"] == name
    for row in report.operations:
        assert row["subject"] == titles[row["step"]]
        assert f"\n  {row['step']} {row['subject']}: " in text.split("Where the time goes")[0]
    # Sorted by time, with the total in front.
    times = [float(t) for t in re.findall(r": (\d+\.\d{3}) us \(", text.split("Where the time goes")[1])]
    assert len(times) == len(titles) and times == sorted(times, reverse=True)
    total = report.total["predicted_ns"]
    assert total == pytest.approx(sum(row["ns"] for row in report.operations))
    assert f"{total / 1e3:.1f} us predicted for all operations" in text.split("\n")[0]
    page = report.to_html()
    assert f"{total / 1e3:.3f} us" in page
    assert json.loads(report.to_json())["total"]["predicted_ns"] == total


def test_an_operation_in_a_loop_is_one_step(on_device):
    from torch_spyre._inductor import config, spyre_hint
    from torch_spyre._inductor.propagate_named_dims import declare_tensor_dim, name_tensor_dims

    declare_tensor_dim("rows", 256)
    declare_tensor_dim("columns", 512)
    x = name_tensor_dims(torch.rand(256, 512).half().to("spyre"), ["rows", "columns"])

    def function(x):
        with spyre_hint(num_tiles_per_dim={"rows": 4}):
            return x.exp() + 1

    for unrolled in (True, False):
        torch._dynamo.reset()
        with on_device(), config.patch(unroll_loops=unrolled), torch.no_grad():
            report = torch_spyre.explain(function, x)
        assert [row["name"] for row in report.operations] == ["exp", "add"]
        assert [row["step"] for row in report.operations] == [0, 1]
        assert report.total["predicted_ns"] > 0


def test_the_counters_know_what_was_waited_for(on_device):
    (x,) = tensors((512, 512))
    compiled = torch.compile(lambda x: torch.exp(x) + x)
    compiled(x)
    torch.spyre.synchronize()
    torch.spyre.reset_counters()
    with on_device():
        compiled(x)
    counters = torch.spyre.counters()
    reasons = ("ddr", "lx", "ring", "pt_fill", "pt", "sfp", "latency", "overhead")
    assert sum(counters[f"{reason}_cycles"] for reason in reasons) == counters["device_cycles"]
    assert counters["ddr_cycles"] > 0 and counters["overhead_cycles"] > 0
    assert counters["pt_cycles"] == 0


def test_divisions_are_told_with_candidates_prices_and_the_reason(on_device):
    x, w = tensors((64, 256), (256, 512))
    with on_device():
        report = torch_spyre.explain(lambda x, w: x @ w, x, w)
    listed, taken = [e for e in report.divisions if e["subject"].startswith("batchmatmul")]
    assert listed["reason"] == "candidates" and not listed["taken"]
    prices = [float(p.split(" ns")[0].rsplit(" ", 1)[1]) for p in listed["detail"].split("; ")]
    assert prices == sorted(prices) and len(prices) > 1
    assert taken["taken"] and taken["reason"] in ("cheapest", "documented-plan-is-cheapest")
    assert taken["location"].startswith("test_explain.py:")
    assert taken["numbers"]["candidates"] >= len(prices) and taken["numbers"]["cores"] > 1
    assert prices[0] <= taken["numbers"]["ns"] + 1
    assert "the documented plan is" in taken["detail"] or taken["reason"].startswith("documented")
