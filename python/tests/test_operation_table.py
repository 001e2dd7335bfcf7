"""One table of operations: the documentation, the eager kernels and the differential tests are what it says."""

import contextlib
import pathlib
import re
import subprocess
import sys
import warnings

import differential
import pytest
import torch
from differential_special import SPECS
from gradients import BACKWARD, OF_LAYERS

from torch_spyre.ops.fallbacks import FallbackWarning

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent

#: Rows that change no number, are parts of others, or whose results depend on more than one rounding, and the test that runs
#: them on the device.
ELSEWHERE = {
    "aten._adaptive_avg_pool2d.default": "test_pooling.py",
    "aten._adaptive_avg_pool2d_backward.default": "test_pooling.py",
    "aten._batch_norm_with_update_functional.default": "test_mutation.py",
    "aten._ctc_loss.Tensor": "test_structures.py",
    "aten._ctc_loss.default": "test_structures.py",
    "aten._ctc_loss_backward.Tensor": "test_structures.py",
    "aten._ctc_loss_backward.default": "test_structures.py",
    "aten._grouped_mm.default": "test_composites.py",
    "aten._log_softmax.default": "test_eager_autograd.py",
    "aten._native_batch_norm_legit.no_stats": "test_composites.py",
    "aten._native_batch_norm_legit_functional.default": "test_mutation.py",
    "aten._native_batch_norm_legit_no_training.default": "test_modules.py",
    "aten._native_multi_head_attention.default": "test_models.py",
    "aten._safe_softmax.default": "test_models.py",
    "aten._scaled_dot_product_fused_attention_overrideable.default": "test_models.py",
    "aten._scaled_mm.default": "test_small_types.py",
    "aten._softmax.default": "test_models.py",
    "aten._thnn_fused_gru_cell.default": "test_recurrent.py",
    "aten._thnn_fused_gru_cell_backward.default": "test_recurrent.py",
    "aten._thnn_fused_lstm_cell.default": "test_recurrent.py",
    "aten._thnn_fused_lstm_cell_backward_impl.default": "test_recurrent.py",
    "aten._transformer_encoder_layer_fwd.default": "test_models.py",
    "aten._unsafe_index_put.default": "test_index_writes.py",
    "aten.adaptive_max_pool2d.default": "test_pooling.py",
    "aten.adaptive_max_pool2d_backward.default": "test_pooling.py",
    "aten.as_strided_scatter.default": "test_scatters.py",
    "aten.avg_pool2d.default": "test_pooling.py",
    "aten.avg_pool2d_backward.default": "test_pooling.py",
    "aten.avg_pool3d.default": "test_pooling.py",
    "aten.avg_pool3d_backward.default": "test_pooling.py",
    "aten.convolution_backward.default": "test_convolution.py",
    "aten._fused_rms_norm.default": "test_launches.py",
    "aten._fused_rms_norm_backward.default": "test_launches.py",
    "aten.batch_norm_backward.default": "test_gradients.py",
    "aten.copy.default": "test_mutation.py",
    "aten.layer_norm.default": "test_eager.py",
    "aten.linalg_solve_triangular.default": "test_triangular.py",
    "aten.log_softmax.int": "test_eager_autograd.py",
    "aten.max_pool2d_with_indices.default": "test_pooling.py",
    "aten.max_pool2d_with_indices_backward.default": "test_pooling.py",
    "aten.max_pool3d_with_indices.default": "test_pooling.py",
    "aten.max_pool3d_with_indices_backward.default": "test_pooling.py",
    "aten.native_dropout.default": "test_rng.py",
    "aten.native_group_norm.default": "test_models.py",
    "aten.native_layer_norm.default": "test_eager.py",
    "aten.rms_norm.default": "test_eager.py",
    "aten.scaled_dot_product_attention.default": "test_models.py",
    "aten.softmax.int": "test_models.py",
    "spyre.convolution.default": "test_convolution.py",
    "spyre.convolution_backward.default": "test_convolution.py",
    "spyre.ctc_loss_backward.default": "test_structures.py",
    "spyre.dequantize_fp8_with_scale.default": "test_small_types.py",
    "spyre.exx2.default": "test_named_dims.py",
    "spyre.layer_norm.default": "test_names.py",
    "spyre.layernormnorm.default": "test_named_dims.py",
    "spyre.layernormscale.default": "test_named_dims.py",
    "spyre.qfp8ch.default": "test_small_types.py",
    "spyre.quantize_fp8_with_scale.default": "test_small_types.py",
    "spyre.restickify.default": "test_names.py",
    "spyre.rms_norm.default": "test_names.py",
}
ELSEWHERE.update(
    {
        "aten.index_add.default": "test_seldom_calls.py",
        "aten.unfold.default": "test_seldom_calls.py",
    }
)
ELSEWHERE.update({name: "test_gradients.py" for name in OF_LAYERS})
ELSEWHERE.update(
    {
        f"aten.{name}.default": "test_sums_of_products.py"
        for name in (*BACKWARD, *"_fused_rms_norm addr huber_loss linalg_cross mse_loss nll_loss_forward smooth_l1_loss vdot".split())
    }
)
ELSEWHERE.update(
    {
        f"aten.{name}.{overload}": "test_optimizers.py"
        for name in "_fused_adagrad _fused_adam _fused_adamw _fused_sgd".split()
        for overload in ("default", "tensor_lr")
    }
)
ELSEWHERE.update(
    {f"aten.{name}.default": "test_optimizers.py" for name in "_amp_foreach_non_finite_check_and_unscale _amp_update_scale".split()}
)
ELSEWHERE.update(
    {f"spyre.{name}_step.default": "test_structures.py" for name in "cholesky ctc lu pivot qr triangular".split()}
)


@pytest.fixture(scope="module")
def table():
    from torch_spyre.ops import table

    return table


def test_the_page_is_what_the_table_says(table):
    assert (ROOT / "docs" / "operations.md").read_text() == table.document(), (
        "run scripts/operations.py"
    )


def test_the_script_refuses_another_page(tmp_path):
    """The check can fail: a page with a line more is not what the table says."""
    for name in ("scripts", "docs"):
        (tmp_path / name).mkdir()
    script = tmp_path / "scripts" / "operations.py"
    script.write_text((ROOT / "scripts" / "operations.py").read_text())
    page = tmp_path / "docs" / "operations.md"
    page.write_text((ROOT / "docs" / "operations.md").read_text() + "\n")
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 1 and "run scripts/operations.py" in done.stdout, done.stderr


def test_every_row_that_computes_is_compared(table):
    compared = {spec.name for spec in SPECS} | set(ELSEWHERE)
    rows = [*table.compiled_rows(), *table.formula_rows()]
    missing = sorted({row.name for row in rows if row.computes} - compared)
    assert not missing, missing
    assert all((HERE / name).exists() for name in ELSEWHERE.values())


def test_every_row_that_computes_has_an_eager_kernel(table):
    """Its own, or torch's composition of others that have one."""
    missing = []
    for row in table.compiled_rows():
        namespace, name, overload = row.name.split(".")
        if not row.computes or namespace != "aten":
            continue
        full = f"aten::{name}" + ("" if overload == "default" else f".{overload}")
        keys = ("PrivateUse1", "CompositeImplicitAutograd", "CompositeExplicitAutograd")
        if not any(torch._C._dispatch_has_kernel_for_dispatch_key(full, key) for key in keys):
            missing.append(row.name)
    assert not missing


def test_names_are_operations_of_torch(table):
    """Nothing in the table that torch does not have."""
    for row in [*table.compiled_rows(), *table.formula_rows(), *table.cpu_rows()]:
        namespace, name, overload = row.name.split(".")
        getattr(getattr(getattr(torch.ops, namespace), name), overload)


def test_what_is_said_to_have_no_formula_has_none(table):
    said = {f"aten.{name}" for names in table._NO_FORMULA.values() for name in names}
    rows = {row.name for row in [*table.compiled_rows(), *table.formula_rows()]}
    assert said & rows == set()


def test_gates_follow_the_table(table, on_device):
    """A type that a row does not take is refused with the row's text; here: fp8, which is only converted."""
    x = torch.full((3, 5), -1.0).to(torch.float8_e4m3fn).to("spyre")
    torch.spyre.reset_counters()
    with pytest.warns(UserWarning, match=r"aten\.abs\.default is falling back to cpu"):
        assert torch.abs(x).cpu().float().tolist() == [[1.0] * 5] * 3
    assert torch.spyre.counters()["fallback_ops"] == 1


#: Rows that the differential tests have no entry for; layer_norm computes in fp32.
CALLS = {
    "aten._log_softmax.default": lambda x: torch.log_softmax(x, 1),
    "aten._softmax.default": lambda x: torch.softmax(x, 1),
    "aten._safe_softmax.default": lambda x: torch.ops.aten._safe_softmax(x, 1),
    "aten.log_softmax.int": lambda x: torch.log_softmax(x, 1),
    "aten.softmax.int": lambda x: torch.softmax(x, 1),
    "spyre.layer_norm.default": lambda x: torch.ops.spyre.layer_norm(x, [5], None, None, 1e-5),
    "spyre.rms_norm.default": lambda x: torch.ops.spyre.rms_norm(x, [5], None, 1e-5),
}
#: Rows that move elements of any type; padding has no constant of this one and is an error (E6205).
TAKES_FP8 = {
    "aten.constant_pad_nd.default",
    *(f"aten.{name}.default" for name in "cat copy embedding flip gather index_select select_scatter slice_scatter stack".split()),
    "aten.index.Tensor",
    "spyre.restickify.default",
}


def _in_fp8(name):
    """The call of a row, and its tensors: fp8 where it takes numbers."""
    fp8 = torch.float8_e4m3fn
    if name in CALLS:
        return CALLS[name], [torch.full((3, 5), 2.0).to(fp8)]
    spec = next((s for s in SPECS if s.name == name), None)
    if spec is None:
        return None, []
    shape = next(s for s in ((3, 1, 5), (2, 65), (2, 3, 4, 5), (63,)) if spec.accepts(s))
    draw = differential.Draw(differential.Case(spec, spec.dtypes[0], shape))
    is_number = {spec.dtypes[0], *differential.FLOATS}
    return spec.call, [t.float().clamp(-4, 4).to(fp8) if t.dtype in is_number else t for t in spec.operands(draw, shape)]


def test_every_row_says_why_it_refuses_and_what_to_do(table):
    """fp8, which is only converted: the gate, the reason and an advice, as often as it is called."""
    said = re.compile(r"(?s)\S+ is falling back to cpu: gate [23] \((dtype|schema)\): .+; .*(\.to\(|multiply)")
    silent, wrong = set(), {}
    for row in table.compiled_rows():
        call, inputs = _in_fp8(row.name)
        if call is None or not row.computes:
            continue
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with contextlib.suppress(RuntimeError):  # most are errors on the CPU, too
                    call(*[t.to("spyre") for t in inputs])
            texts = [str(w.message) for w in caught if w.category is FallbackWarning]
            silent |= set() if texts else {row.name}
            if not all(map(said.match, texts)):
                wrong[row.name] = texts
    assert not wrong
    assert silent <= TAKES_FP8, silent - TAKES_FP8


def test_formulas_say_it_too():
    """Of rows made of formulas only, and of graphs."""
    x = torch.full((3, 5), 2.0).to(torch.float8_e4m3fn).to("spyre")
    with pytest.warns(FallbackWarning, match=r"gate 3 \(dtype\): float8_e4m3fn is only .*; convert with \.to\("):
        with contextlib.suppress(RuntimeError):
            torch.lgamma(x)
    with pytest.warns(FallbackWarning, match=r"aten\.abs.*: gate 3 \(dtype\): .*; convert with \.to\("):
        torch.compile(lambda x: torch.abs(x).half() + 1)(x)


def test_our_own_operations_have_cpu_and_fake_kernels():
    """Or are composed of torch's, which have both."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    names = {n.split(".")[0] for n in torch._C._dispatch_get_all_op_names() if n.startswith("spyre::")}
    composed = {n for n in names if has(n, "CompositeImplicitAutograd")}
    assert len(names) > 20 and {"spyre::overwrite", "spyre::overwrite_f"} <= composed
    assert [n for n in names - composed if not (has(n, "CPU") and has(n, "Meta"))] == []
