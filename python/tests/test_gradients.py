"""Gradients of every operation of the table that has one, eager and compiled, against float64."""

import dataclasses

import gradients
import pytest
import torch
from torch_spyre.ops import table


WITH, WITHOUT = gradients.divided(gradients.SPECS)


@pytest.mark.parametrize("spec", [pytest.param(s, id=s.id) for s in WITH])
def test_gradient(spec):
    wrong = [f"{case}: {text}" for case in gradients.cases_of(spec) for text in gradients.check(case)]
    assert not wrong, "\n".join(wrong)


def test_what_has_no_gradient_has_none_on_the_device():
    """Results that are no fractions, and operations torch has no derivative of: the same answer as on the CPU."""
    wrong = [f"{spec.id}: {text}" for spec in WITHOUT for text in gradients.check_without(spec)]
    assert len(WITHOUT) > 90 and not wrong, "\n".join(wrong)


def test_every_row_is_asked_for_its_gradient():
    asked = {spec.name for spec in gradients.SPECS}
    rows = {row.name for row in [*table.compiled_rows(), *table.formula_rows()] if row.computes}
    assert sorted(rows - asked - set(gradients.WITHOUT)) == []
    assert sorted(set(gradients.WITHOUT) & asked) == []


def test_a_gradient_too_many_is_found(monkeypatch):
    """Of an operation with a gradient, if the CPU said it had none."""
    spec = next(s for s in gradients.SPECS if s.id == "aten.mul.Tensor")
    assert gradients.check_without(spec) == []
    answer = gradients.answer
    monkeypatch.setattr(gradients, "answer", lambda spec, device: answer(spec, device) if device != "cpu" else "none")
    assert gradients.check_without(spec)


def test_a_wrong_gradient_is_found():
    """Twice as large, missing, of another type: each is refused."""
    spec = next(s for s in gradients.SPECS if s.id == "aten.mul.Tensor")
    case = dataclasses.replace(gradients.cases_of(spec)[0], dtype=torch.float32)
    right = torch.linspace(-1, 1, 65, dtype=torch.float64)
    ours = right.float().to("spyre")
    assert gradients.compare(case, [ours], [right]) == []
    for wrong in (ours * 2, None, ours.half(), ours[:3]):
        assert gradients.compare(case, [wrong], [right])
