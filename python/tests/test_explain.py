"""torch_spyre.explain: what is moved, why, and what it costs."""

import json

import torch

import torch_spyre


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
