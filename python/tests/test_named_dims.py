"""Names of dimensions and the hints that speak of them; operations of ``torch.ops.spyre`` beside torch's."""

import contextlib
import gc
import warnings

import pytest
import torch
import torch_spyre

from tolerances import tolerance
from torch_spyre._inductor import config, get_op_hints, spyre_hint
from torch_spyre._inductor import propagate_named_dims as named


@pytest.fixture(autouse=True)
def forgotten():
    named.reset()
    yield
    named.reset()


def declare(**sizes):
    for name, size in sizes.items():
        named.declare_tensor_dim(name, size)


def whole(*shape):
    """Integers that the device's formats hold exactly."""
    return (torch.arange(torch.Size(shape).numel()) % 200).reshape(shape).half()


def test_names_follow_the_tensor():
    declare(batch=2, tokens=3, hidden=4)
    x = torch.zeros(2, 3, 4)
    assert named.name_tensor_dims(x, ["batch", "tokens", "hidden"]) is x
    assert named.names_of(x) == [["batch"], ["tokens"], ["hidden"]]
    assert named.names_of(x.view(6, 4)) == [["batch", "tokens"], ["hidden"]]
    assert named.names_of(x.flatten()) == [["batch", "tokens", "hidden"]]
    assert named.names_of(x.transpose(0, 1)) is None and named.names_of(x[0]) is None
    assert named.names_of(torch.zeros(2, 3, 4)) is None
    del x
    gc.collect()
    assert len(named._names) == 0


def test_a_flattened_tensor_has_more_names_than_dimensions():
    declare(one=1, tokens=3, hidden=4, last=1)
    x = named.name_tensor_dims(torch.zeros(3, 4), ["one", "tokens", "hidden", "last"])
    assert named.names_of(x) == [["one", "tokens"], ["hidden", "last"]]
    y = named.name_tensor_dims(torch.zeros(12, 1), ["tokens", "hidden", "last"])
    assert named.names_of(y) == [["tokens", "hidden"], ["last"]]


def test_what_does_not_fit_is_refused():
    declare(m=4, n=6)
    for bad in ("", "two words", 3):
        with pytest.raises(ValueError, match="SPYRE-E1601: .* identifier"):
            named.declare_tensor_dim(bad, 4)
    for bad in (0, -1, 2.5, True, "4"):
        with pytest.raises(ValueError, match="SPYRE-E1601: .* positive integer"):
            named.declare_tensor_dim("k", bad)
    with pytest.raises(KeyError, match="SPYRE-E1601: .*'k' is not declared"):
        named.name_tensor_dims(torch.zeros(4), ["k"])
    with pytest.raises(ValueError, match="names a dimension twice"):
        named.name_tensor_dims(torch.zeros(4, 4), ["m", "m"])
    for shape, names in (((6, 4), ["m", "n"]), ((4,), ["m", "n"]), ((4, 6), ["m"]), ((4, 2, 3), ["m", "n"])):
        with pytest.raises(ValueError, match="SPYRE-E1601: .* do not make up the shape"):
            named.name_tensor_dims(torch.zeros(shape), names)
    named.reset()
    with pytest.raises(KeyError, match="known: none"):
        named.name_tensor_dims(torch.zeros(4), ["m"])


def test_the_last_declaration_holds():
    declare(batch=1, hidden=64)
    old = named.name_tensor_dims(whole(1, 64), ["batch", "hidden"])
    declare(batch=4)
    new = named.name_tensor_dims(whole(4, 64), ["batch", "hidden"])
    assert named.size_of("batch") == 4
    assert named.text_of(old) == "|batch:1,hidden:64" and named.text_of(new) == "|batch:4,hidden:64"
    assert named.text_of(old.view(64)) == "|batch:1*hidden:64"
    with pytest.raises(ValueError, match=r"batch=4.* do not make up the shape \(1, 64\)"):
        named.name_tensor_dims(whole(1, 64), ["batch", "hidden"])


def test_sizes_of_dimensions_may_change_between_calls(on_device):
    def function(x):
        with spyre_hint(work_div={"batch": x.shape[0]}):
            return x + 1

    compiled = torch.compile(function, backend="spyre", dynamic=False)
    for batch in (1, 4, 2):
        declare(batch=batch, hidden=64)
        x = named.name_tensor_dims(whole(batch, 64), ["batch", "hidden"])
        with on_device():
            result = compiled(x.to("spyre"))
        assert torch.equal(result.cpu(), function(x))
        if batch > 1:
            assert divisions()["add"][:2] == ("hint", f"c0 {batch} as hinted")


def test_names_survive_the_way_to_the_device():
    declare(rows=3, columns=4, flat=12)
    x = named.name_tensor_dims(torch.zeros(3, 4), ["rows", "columns"])
    moved = x.to("spyre")
    for copy in (moved, x.spyre(), x.to("spyre", torch.float16), moved.to("cpu"), x.view(12).to("spyre").view(12)):
        assert [name for group in named.names_of(copy) for name in group] == ["rows", "columns"]
    assert x.to("cpu") is x and named.names_of(torch.zeros(3, 4).to("spyre")) is None
    layout = moved.device_tensor_layout()
    assert named.names_of(x.to("spyre", device_layout=layout)) == [["rows"], ["columns"]]
    model = torch.nn.Linear(4, 3)
    named.name_tensor_dims(model.weight, ["rows", "columns"])
    assert named.names_of(model.to("spyre").weight) == [["rows"], ["columns"]]


def test_hints_name_declared_dimensions():
    declare(m=8, n=64)
    seen = []

    def keep(graph):
        seen.extend(get_op_hints(node) for node in graph.nodes if node.op == "call_function")

    from torch_spyre._inductor.passes import CustomPostPasses
    from torch_spyre._inductor.patches import enable_spyre_context

    def function(x):
        with spyre_hint(work_div={"m": 4}):
            return x + 1

    with enable_spyre_context(passes=[CustomPostPasses([keep])]):
        x = named.name_tensor_dims(whole(8, 64).to("spyre"), ["m", "n"])
        torch.compile(function, backend="spyre")(x)
    assert {"m": 4} in [hint.get("work_div") for hints in seen for hint in hints]
    for bad, error in (
        ({"work_div": {"q": 2}}, KeyError),
        ({"work_div": {"m": 9}}, ValueError),
        ({"num_tiles_per_dim": {"m": 0}}, ValueError),
        ({"num_tiles_per_dim": {}}, NotImplementedError),
    ):

        def hinted_badly(x, bad=bad):
            with spyre_hint(**bad):
                return x + 1

        torch._dynamo.reset()
        with pytest.raises(Exception, match=rf"{error.__name__}: .*SPYRE-E1601.*hint at test_named_dims.py:\d+"):
            torch.compile(hinted_badly, backend="spyre")(x)
        assert torch.equal(hinted_badly(torch.ones(3)), torch.full((3,), 2.0)), "nothing reads it on the CPU"
        hinted_badly(x)


def divisions():
    """Of the last compilation: operation to what its division says, and where."""
    decisions = torch_spyre.last_compile().decisions
    return {
        d["subject"].split(" ")[0]: (d["reason"], d["detail"], d["location"])
        for d in decisions
        if d["stage"] == "work-distribution" and d["taken"]
    }


@pytest.mark.parametrize("planner", ["best", "compat"])
def test_hints_divide_work_by_name(planner, on_device):
    declare(tokens=64, hidden=256)
    x, y = whole(64, 256) / 256, whole(256, 64).t() / 256

    def function(x, y):
        with spyre_hint(work_div={"tokens": 4}):
            a = x.exp()
            with spyre_hint(work_div={"hidden": 2}):
                b = a + x
        return b.tanh()

    with config.patch(planner=planner), on_device():
        named_x = named.name_tensor_dims(x.to("spyre"), ["tokens", "hidden"])
        result = torch.compile(function, backend="spyre")(named_x, y.to("spyre"))
    expected = function(x.float(), y)
    error = (result.cpu().float() - expected).abs().max() / expected.abs().max()
    assert error <= tolerance("chain", torch.float16, 3), float(error)
    found = divisions()
    assert found["exp"][:2] == ("hint", "c0 4 as hinted")
    assert found["add"][:2] == ("hint", "c0 4, c1 2 as hinted")
    assert found["exp"][2].startswith("test_named_dims.py:")
    assert found["tanh"][0] != "hint"


def test_hints_that_cannot_be_are_errors_with_the_line():
    declare(m=48, n=64)
    x = named.name_tensor_dims(whole(48, 64).to("spyre"), ["m", "n"])

    def over(x):
        with spyre_hint(work_div={"m": 48}):
            return x.exp()

    def uneven(x):
        with spyre_hint(work_div={"m": 5}):
            return x.exp()

    def tiles(x):
        with spyre_hint(num_tiles_per_dim={"m": 5}):
            return x.exp()

    for function, code in ((over, "E3068"), (uneven, "E3067"), (tiles, "E3077")):
        with pytest.raises(Exception, match=f"SPYRE-{code}: .*test_named_dims.py:"):
            torch.compile(function, backend="spyre")(x)


def test_hinted_tiles_run_as_loops(on_device):
    declare(m=48, n=64)
    x = whole(48, 64) / 256

    def function(x):
        with spyre_hint(num_tiles_per_dim={"m": 3}):
            return x.exp()

    with on_device():
        named_x = named.name_tensor_dims(x.to("spyre"), ["m", "n"])
        result = torch.compile(function, backend="spyre")(named_x)
    expected = x.float().exp()
    error = (result.cpu().float() - expected).abs().max() / expected.abs().max()
    assert error <= tolerance("chain", torch.float16, 1), float(error)
    specs = torch_spyre.last_compile().artifacts["bundle_0/op_spec.txt"].decode()
    assert "LoopSpec(" in specs and "count=sympify('3')" in specs


def test_work_division_hints_can_be_ignored():
    declare(m=48, n=64)
    x = named.name_tensor_dims(whole(48, 64).to("spyre"), ["m", "n"])

    def function(x):
        with spyre_hint(work_div={"m": 5}):
            return x.exp()

    with config.patch(ignore_work_division_hints=True):
        torch.compile(function, backend="spyre")(x)
    assert divisions()["exp"][0] != "hint"


def hinted():
    """Operations of the last compilation that have hints, in order."""
    return [
        (d["subject"].split(" ")[0], d["detail"])
        for d in torch_spyre.last_compile().decisions
        if d["stage"] == "work-distribution" and d["reason"] == "hint"
    ]


def test_equal_operations_with_other_hints_stay_apart(on_device):
    declare(tokens=64, hidden=256)
    x = whole(64, 256) / 256

    def function(x):
        with spyre_hint(work_div={"tokens": 4}):
            a = x.exp()
        with spyre_hint(work_div={"tokens": 2}):
            b = x.exp()
        with spyre_hint(work_div={"tokens": 4}):
            c = x.exp()
        return a + b * c

    with on_device():
        named_x = named.name_tensor_dims(x.to("spyre"), ["tokens", "hidden"])
        torch.compile(function, backend="spyre")(named_x)
    assert hinted() == [("exp", "c0 4 as hinted"), ("exp", "c0 2 as hinted")]


def test_results_without_inputs_are_named_by_a_hint(on_device):
    declare(tokens=64, hidden=256)

    def function(x):
        with spyre_hint(named_dims=["tokens", "hidden"]):
            twos = torch.full((64, 256), 2.0, dtype=torch.float16, device="spyre")
        with spyre_hint(work_div={"tokens": 4, "hidden": 2}):
            return twos + x, x * 2

    x = whole(64, 256)
    with on_device():
        result, other = torch.compile(function, backend="spyre")(x.to("spyre"))
    assert torch.equal(result.cpu(), x + 2) and torch.equal(other.cpu(), x * 2)
    assert hinted() == [("add", "c0 4, c1 2 as hinted")], "x itself has no names"


def test_constants_are_named_by_a_hint(on_device):
    declare(places=256)

    def function(x):
        with spyre_hint(named_dims=["places"]):
            places = torch.arange(256, device="spyre", dtype=torch.float16)
        with spyre_hint(work_div={"places": 2}):
            return x + places

    x = whole(4, 256)
    with on_device():
        result = torch.compile(function, backend="spyre")(x.to("spyre"))
    assert torch.equal(result.cpu(), x + torch.arange(256).half())
    assert hinted() == [("add", "c1 2 as hinted")]


def test_names_that_do_not_fit_a_result_are_told():
    declare(tokens=64, hidden=256)

    def function(x):
        with spyre_hint(named_dims=["tokens", "hidden"]):
            return x + torch.full((64, 8), 2.0, dtype=torch.float16, device="spyre")

    with pytest.warns(UserWarning, match="full.* gets no names: SPYRE-E1601: .*do not make up"):
        torch.compile(function, backend="spyre")(whole(64, 8).to("spyre"))

    def names_nobody(x):
        with spyre_hint(named_dims=["nobody"]):
            return x + 1

    with pytest.raises(Exception, match="SPYRE-E1601: dimension 'nobody' is not declared"):
        torch.compile(names_nobody, backend="spyre")(whole(64, 8).to("spyre"))


def test_hints_no_planner_reads_are_told_once_each():
    from torch_spyre._inductor import hints

    hints._warned.clear()
    declare(m=8, n=64)
    x = named.name_tensor_dims(whole(8, 64).to("spyre"), ["m", "n"])

    def function(x):
        with spyre_hint(unroll=3, work_div={"m": 2}):
            return x.exp()

    with pytest.warns(UserWarning, match=r"spyre_hint\(unroll=3\) is not read .*work_div, named_dims"):
        torch.compile(function, backend="spyre")(x)
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*not read by the planners.*")
        torch.compile(function, backend="spyre")(x)


def test_entries_nobody_follows_are_errors():
    declare(tokens=64, hidden=256, heads=8)
    x = named.name_tensor_dims(whole(64, 256).to("spyre"), ["tokens", "hidden"])

    def divided(x):
        with spyre_hint(work_div={"tokens": 4, "heads": 2}):
            return x.exp() + 1

    def tiled(x):
        with spyre_hint(num_tiles_per_dim={"heads": 2}):
            return x.exp() + 1

    other = whole(4, 64).to("spyre")

    def elsewhere(x):
        with spyre_hint(work_div={"tokens": 4}):
            y = x.exp()
        with spyre_hint(work_div={"tokens": 4}):
            return y, other * 3

    for function, kind, name in (
        (divided, "work_div", "heads"),
        (tiled, "tiles", "heads"),
        (elsewhere, "work_div", "tokens"),
    ):
        with pytest.raises(Exception, match=rf"SPYRE-E3143: test_named_dims.py:\d+: {kind} .* '{name}'"):
            torch.compile(function, backend="spyre")(x)
    with pytest.raises(Exception, match="they have hidden, tokens"):
        torch.compile(divided, backend="spyre")(x)


def test_hints_around_nothing_are_told():
    """A scope all of whose calls vanish has nothing to divide; that is no error."""
    declare(tokens=64, hidden=256)
    x = named.name_tensor_dims(whole(64, 256).to("spyre"), ["tokens", "hidden"])

    def function(x):
        with spyre_hint(num_tiles_per_dim={"tokens": 2}):
            y = x.t()
        return y.exp()

    with pytest.warns(UserWarning, match="the hint tiles tokens=2 has no effect: .*permute|transpose|\\.t\\."):
        torch.compile(function, backend="spyre")(x)


def test_backward_passes_have_no_hints(on_device):
    declare(tokens=64, hidden=256)

    def function(x):
        with spyre_hint(work_div={"tokens": 4}):
            return x.exp() * x

    x = whole(64, 256) / 256
    with on_device():
        leaf = named.name_tensor_dims(x.to("spyre").requires_grad_(), ["tokens", "hidden"])
        result = torch.compile(function, backend="spyre")(leaf)
        result.sum().backward()
    host = x.float().requires_grad_()
    function(host).sum().backward()
    error = (leaf.grad.cpu().float() - host.grad).abs().max() / host.grad.abs().max()
    assert error <= tolerance("chain", torch.float16, 4), float(error)


def test_parts_of_a_flattened_dimension(on_device):
    declare(batch=2, rows=64, hidden=256)
    x = whole(128, 256) / 256

    def both(x):
        with spyre_hint(work_div={"batch": 2, "rows": 4}):
            return x.exp()

    def inner(x):
        with spyre_hint(work_div={"rows": 4}):
            return x.exp()

    with on_device():
        named_x = named.name_tensor_dims(x.to("spyre"), ["batch", "rows", "hidden"])
        torch.compile(both, backend="spyre")(named_x)
    assert hinted() == [("exp", "c0 8 as hinted")]
    with pytest.raises(Exception, match="SPYRE-E3140: .*test_named_dims.py:.*1 of 2 batch, 4 of 64"):
        torch.compile(inner, backend="spyre")(named_x)


def normalised(x, weight=None, bias=None):
    ops = torch.ops.spyre
    pair = ops.exx2(x, 1.0 / x.shape[-1], False)
    return ops.layernormnorm(x, pair, ops.layernormscale(pair, 1e-5), weight, bias)


@pytest.mark.parametrize("affine", [False, True])
def test_layer_norm_in_its_three_operations(affine, on_device):
    torch.manual_seed(1)
    arguments = [torch.rand(48, 100).half()] + [torch.rand(100).half() for _ in range(2 * affine)]
    x, *rest = [a.float() for a in arguments]
    expected = torch.nn.functional.layer_norm(x, [100], *rest)
    with on_device():
        result = torch.compile(normalised)(*[a.to("spyre") for a in arguments])
    error = (result.cpu().float() - expected).abs().max() / expected.abs().max()
    assert error <= tolerance("chain", torch.float16, 12), float(error)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("compiled", [False, True])
def test_the_three_operations_on_the_cpu(dtype, compiled):
    x, weight, bias = (torch.randn(shape, generator=torch.Generator().manual_seed(2)) for shape in ((5, 100), 100, 100))
    function = torch.compile(normalised) if compiled else normalised
    result = function(x.to(dtype), weight.to(dtype), bias.to(dtype))
    expected = torch.nn.functional.layer_norm(x, [100], weight, bias)
    error = (result.float() - expected).abs().max() / expected.abs().max()
    assert result.dtype == dtype and error <= tolerance("chain", dtype, 12), float(error)


def test_the_three_operations_in_eager_mode(on_device):
    x = torch.randn(5, 100, generator=torch.Generator().manual_seed(2)).half()
    expected = torch.nn.functional.layer_norm(x.float(), [100])
    with on_device():
        result = normalised(x.to("spyre"))
    error = (result.cpu().float() - expected).abs().max() / expected.abs().max()
    assert error <= tolerance("chain", torch.float16, 12), float(error)


@pytest.mark.parametrize("device", ["cpu", "spyre"])
def test_statistics_that_were_copied_are_refused(device):
    pair = torch.ops.spyre.exx2(torch.rand(4, 8).to(device), 1 / 8)
    single = torch.ops.spyre.exx2(torch.rand(8).to(device), 1 / 8)
    copy = pair.clone(memory_format=torch.contiguous_format)
    for other in (copy, single + 0, pair[1:], torch.rand(4, 1).to(device)):
        with pytest.raises(ValueError, match="SPYRE-E1602: .*takes the result of spyre.exx2 itself"):
            torch.ops.spyre.layernormscale(other, 1e-5)


def test_statistics_of_another_graph_are_refused():
    """They would have one number of a row there."""
    pair = torch.ops.spyre.exx2(torch.rand(4, 8).to("spyre"), 1 / 8)
    with pytest.raises(Exception, match="takes the result of spyre.exx2 itself"):
        torch.compile(lambda p: torch.ops.spyre.layernormscale(p, 1e-5))(pair)


def test_squares_without_a_mean():
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    pair = torch.ops.spyre.exx2(x, 0.25, True)
    assert pair.item() == 0 and torch.ops.spyre.layernormscale(pair, 0.0).item() == pytest.approx(7.5**-0.5)


@pytest.mark.parametrize("compiled", [False, True])
def test_overwrite_is_a_mutation_on_the_device(compiled, on_device):
    def function(input, output):
        torch.ops.spyre.overwrite(input, output, [0, 1], [1, 64])
        return torch.ops.spyre.overwrite_f(input, output, [0, 1], [0, 0])

    input, output = whole(2, 64), torch.ones(4, 128).half()
    device = [input.to("spyre"), output.to("spyre")]
    # Eager copies are transfers, no programs.
    with on_device() if compiled else contextlib.nullcontext():
        fallbacks = torch.spyre.counters()["fallback_ops"]
        result = (torch.compile(function) if compiled else function)(*device)
        assert torch.spyre.counters()["fallback_ops"] == fallbacks
    expected = function(input, output)
    assert torch.equal(result.cpu(), expected) and torch.equal(device[1].cpu(), output)
    assert torch.equal(output[1:3, 64:], input) and torch.equal(expected[:2, :64], input)


def test_a_changed_stick_is_a_copy(on_device):
    x = whole(48, 64)
    with on_device():
        result = torch.compile(lambda x: torch.ops.spyre.restickify(x.t()) + 1)(x.to("spyre"))
    assert torch.equal(result.cpu(), x.t() + 1)


@pytest.mark.filterwarnings("ignore")
def test_operations_of_the_host():
    x = whole(4, 64)
    result = torch.compile(lambda x: torch.ops.spyre.topkvalue(x, 3) * 2)(x.to("spyre"))
    assert torch.equal(result.cpu(), torch.topk(x, 3)[0] * 2)
    assert torch.equal(torch.ops.spyre.topkindex(x, 2, 0), torch.topk(x, 2, 0)[1])
    image = torch.rand(1, 2, 5, 5)
    windows = torch.ops.spyre.unfold(image, [3, 3], 1, 1, 2)
    assert torch.equal(windows, torch.nn.functional.unfold(image, 3, 1, 1, 2))


def test_eight_bit_values():
    x, scale = torch.tensor([1.0, -3.0, 1000.0]).half(), torch.tensor(0.5).half()
    small = torch.ops.spyre.quantize_fp8_with_scale(x, scale)
    assert small.dtype == torch.float8_e4m3fn and small.float().tolist() == [2.0, -6.0, 448.0]
    assert torch.ops.spyre.dequantize_fp8_with_scale(small, scale).tolist() == [1.0, -3.0, 224.0]
    with pytest.raises(ValueError, match="SPYRE-E1602: .*give torch.float16"):
        torch.ops.spyre.dequantize_fp8_with_scale(small, scale.float())
