"""Options and modes of torch.compile reach the compiler, or are refused by name."""

import logging

import pytest
import torch
import torch_spyre
from torch_spyre._inductor import config, passes

aten = torch.ops.aten


def half(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)).half()


class _Sigmoid:
    """A pass of Inductor's form: exp becomes sigmoid."""

    def __call__(self, graph):
        for node in graph.nodes:
            if node.target is aten.exp.default:
                node.target = aten.sigmoid.default

    def uuid(self):
        return "sigmoid in place of exp"


@pytest.mark.parametrize("point", ["post_grad_custom_pre_pass", "post_grad_custom_post_pass"])
@pytest.mark.parametrize("backend", ["inductor", "spyre"])
@pytest.mark.parametrize("make", [_Sigmoid, lambda: passes.CustomPostPasses([_Sigmoid()])], ids=["plain", "ours"])
def test_passes_in_the_options_run(point, backend, make, on_device):
    x = half(8, 64).to("spyre")
    with torch.no_grad(), on_device():
        changed = torch.compile(lambda t: t.exp(), backend=backend, options={point: make()})(x)
        plain = torch.compile(lambda t: t.exp(), backend=backend)(x)
        same = torch.sigmoid(x), torch.exp(x)
    assert torch.equal(changed.cpu(), same[0].cpu()) and torch.equal(plain.cpu(), same[1].cpu())


def _most_cores():
    """Cores of the operation of the last graph that uses most."""
    return max(row["cores"] for row in torch_spyre._C.step_times(torch_spyre.last_compile().artifacts))


@pytest.mark.parametrize("dynamic", [False, True])
def test_options_are_fields_of_the_configuration(dynamic):
    x = half(64, 256).to("spyre")
    with torch.no_grad():
        narrow = torch.compile(lambda t: t.exp(), backend="spyre", dynamic=dynamic, options={"sencores": 2})
        for rows in (64, 32):
            narrow(x[:rows].clone())
            assert _most_cores() == 2
        torch.compile(lambda t: t.exp(), backend="spyre", dynamic=dynamic)(x)
    assert config.sencores == 32 and _most_cores() > 2


@pytest.mark.parametrize(
    "given, text",
    [
        ({"options": {"sencors": 8}}, "'sencors'.*did you mean 'sencores'"),
        ({"options": {"max_autotun": True}}, "did you mean 'max_autotune'"),
        ({"options": {"sencores": 99}}, "config.sencores is 99"),
        ({"mode": "fast"}, "mode of torch.compile is 'fast'"),
    ],
)
def test_names_that_do_not_exist_are_refused(given, text):
    with pytest.raises(Exception, match=f"(?s)SPYRE-E6508.*{text}"):
        torch.compile(lambda t: t + 1, backend="spyre", **given)(half(4).to("spyre"))


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune"])
def test_modes_of_torch_are_accepted(mode, on_device):
    x = half(4, 64).to("spyre")
    with torch.no_grad(), on_device():
        assert torch.equal(torch.compile(lambda t: t + t, backend="spyre", mode=mode)(x).cpu(), x.cpu() * 2)


def test_a_model_can_be_saved_while_its_operations_are_logged(tmp_path, caplog):
    class Model(torch.nn.Module):
        def forward(self, t):
            return t.exp()

    program = torch.export.export(Model(), (half(4, 64),))
    with caplog.at_level(logging.INFO, logger="spyre.inductor.passes"):
        compiled = torch_spyre.compile_exported(program)
        compiled.save(tmp_path / "saved")
        with torch.no_grad():
            compiled(half(4, 64).to("spyre"))
    assert (tmp_path / "saved" / "model" / "model.json").exists()
    assert any("after planning" in record.getMessage() for record in caplog.records)
