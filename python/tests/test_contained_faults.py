"""A bad index costs the results of its operation: everything else stays readable, on every stream and after a reset."""

import os

import pytest
import torch
import torch.nn.functional as F
from torch_spyre import _C

ROWS, COLUMNS = 8, 5
HERE = os.path.basename(__file__)


def table():
    return torch.arange(float(ROWS * COLUMNS)).reshape(ROWS, COLUMNS)


def bad_index():
    return torch.tensor([0, ROWS, 2]).to("spyre")


def wait():
    """The queue is empty afterwards; what went wrong is not asked."""
    _C.counters()


@pytest.fixture(autouse=True)
def told():
    """No test leaves a fault for the next one."""
    yield
    try:
        torch.spyre.synchronize()
    except RuntimeError:
        torch.spyre.synchronize()


def fails(function, *arguments):
    with pytest.raises(torch.AcceleratorError, match="SPYRE-E7017") as raised:
        function(*arguments)
    return str(raised.value)


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_only_the_result_is_lost(how, on_device):
    def function(t, i):
        return t[i]

    run = torch.compile(function) if how == "compiled" else function
    t = table().to("spyre")
    fails(lambda: run(t, bad_index()).cpu())
    result = run(t, bad_index())
    wait()
    assert t.cpu().equal(table())
    for _ in range(2):
        fails(result.cpu)
    torch.spyre.synchronize()
    with on_device():
        assert (t + 1).cpu().equal(table() + 1)


def test_a_fault_is_told_once():
    result = table().to("spyre")[bad_index()]
    fails(torch.spyre.synchronize)
    torch.spyre.synchronize()
    fails(result.cpu)
    torch.spyre.synchronize()


def test_reading_tells_the_fault():
    result = table().to("spyre")[bad_index()]
    fails(lambda: result.sum().item())
    torch.spyre.synchronize()


@pytest.mark.parametrize("is_known", [False, True], ids=["before it is known", "when it is known"])
def test_what_is_computed_from_poison_is_poison(is_known):
    """Known poison is an error of the call; else the result of the call is poisoned as well."""
    def users(tensor):
        return [tensor + 1, tensor.clone(), torch.cat([tensor, tensor]), tensor.half(), tensor.T.contiguous()]

    t, i, busy = table().to("spyre"), bad_index(), torch.ones(2048, 2048).half().to("spyre")
    users(t[:3].clone())  # compiles their programs
    torch.spyre.synchronize()
    busy = busy @ busy
    result = t[i]
    if is_known:
        wait()
        text = fails(lambda: result + 1)
        assert fails(result.clone) == text
        assert fails(lambda: t[:3].copy_(result)) == text
        assert t.cpu().equal(table())
    else:
        more = users(result)
        text = fails(more[0].cpu)
        for tensor in more:
            assert fails(tensor.cpu) == text
    assert "aten.index.Tensor" in text


def test_views_share_poison_and_contents():
    bad = table().to("spyre")[bad_index()]
    view, row = bad.T, bad[0]
    fails(torch.spyre.synchronize)
    fails(view.cpu)
    fails(row.cpu)
    bad.copy_(table()[:3])
    assert row.cpu().equal(table()[0])


@pytest.mark.parametrize(
    "heal",
    [
        lambda bad: bad.copy_(torch.ones(3, COLUMNS)),
        lambda bad: bad.copy_(torch.ones(3, COLUMNS).to("spyre")),
        lambda bad: bad.copy_(torch.ones(3, COLUMNS, dtype=torch.float16).to("spyre")),
        lambda bad: bad.fill_(1),
        lambda bad: torch.add(torch.ones(3, COLUMNS).to("spyre"), 0, out=bad),
    ],
    ids=["host", "device", "another type", "fill", "out="],
)
def test_new_contents_heal(heal):
    result = table().to("spyre")[bad_index()]
    fails(torch.spyre.synchronize)
    heal(result)
    assert result.cpu().equal(torch.ones(3, COLUMNS))


def test_a_part_does_not_heal():
    result = table().to("spyre")[bad_index()]
    fails(torch.spyre.synchronize)
    result[0].fill_(1)
    fails(result.cpu)


def test_two_streams():
    t, i = table().to("spyre"), bad_index()
    torch.spyre.synchronize()
    one, two = torch.spyre.Stream(), torch.spyre.Stream()
    with torch.spyre.stream(one):
        bad = t[i]
    two.wait_stream(one)
    with torch.spyre.stream(two):
        assert t.cpu().equal(table())
        good = t * 2
        assert good.cpu().equal(table() * 2)
        fails(lambda: (bad * 2).cpu())
    one.synchronize()
    two.synchronize()


def test_an_event_tells_the_host_and_holds_up_nobody():
    t, i, event = table().to("spyre"), bad_index(), torch.spyre.Event()
    bad = t[i]
    event.record()
    fails(event.synchronize)
    event.synchronize()
    del bad
    torch.spyre.synchronize()


def test_memory_of_a_freed_result_is_clean():
    t, i = table().to("spyre"), bad_index()
    torch.spyre.synchronize()
    for _ in range(20):
        t[i]
    wait()
    fresh = [torch.ones(3, COLUMNS).to("spyre") for _ in range(20)]
    assert all(tensor.cpu().eq(1).all() for tensor in fresh)
    fails(torch.spyre.synchronize)


def test_a_reset_keeps_what_was_not_being_written():
    t = table().to("spyre")
    bad = t[bad_index()]
    wait()
    torch.spyre.reset_device()
    torch.spyre.synchronize()
    assert t.cpu().equal(table())
    fails(bad.cpu)


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_training_goes_on_after_a_bad_label(how, tmp_path, on_device):
    """Weights, state of the optimizer and a checkpoint survive a whole step that nobody looked at."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)).to("spyre")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    run = torch.compile(model) if how == "compiled" else model
    x = torch.randn(4, 16).to("spyre")
    good, bad = torch.tensor([1, 2, 3, 4]).to("spyre"), torch.tensor([1, 2, 10, 4]).to("spyre")

    def step(labels):
        optimizer.zero_grad()
        loss = F.cross_entropy(run(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    first = step(good).item()
    before = {name: value.cpu() for name, value in model.state_dict().items()}
    with pytest.raises(torch.AcceleratorError, match=r"SPYRE-E7017.*nll_loss.*10, which must be in 0\.\.9") as raised:
        step(bad).item()
    assert HERE in str(raised.value), "the line of the user"
    for name, value in model.state_dict().items():
        assert value.cpu().equal(before[name]), name
    torch.save(model.state_dict(), tmp_path / "model.pt")
    assert torch.load(tmp_path / "model.pt")["0.weight"].cpu().equal(before["0.weight"])
    with on_device():
        assert step(good).item() < first


def test_targets_of_a_skipped_operation_keep_their_contents():
    t, i, weight = table().to("spyre"), bad_index(), torch.ones(3, COLUMNS).to("spyre")
    busy = torch.ones(2048, 2048).half().to("spyre")
    torch.zeros_like(weight).add_(t[torch.zeros_like(i)])  # loads the programs: loading waits for the stream
    torch.spyre.synchronize()
    busy = busy @ busy  # the rest is queued before the fault is known
    weight.add_(t[i])
    fails(weight.cpu)
    assert weight.cpu().eq(1).all(), "the operation did not happen, as if it had raised at once"


def line_of(marker):
    with open(__file__) as source:
        return next(number for number, text in enumerate(source, 1) if text.rstrip().endswith(f"# {marker}"))


def test_an_eager_error_names_the_line():
    result = torch.nn.functional.embedding(bad_index(), table().to("spyre"))  # the eager line
    assert f"'aten.embedding.default' at {HERE}:{line_of('the eager line')} on stream" in fails(result.cpu)


def test_a_compiled_error_names_the_line():
    def function(t, i):
        scaled = t * 2
        return F.embedding(i, scaled) + 1  # the compiled line

    result = torch.compile(function)(table().to("spyre"), bad_index())
    assert f"aten.embedding.default at {HERE}:{line_of('the compiled line')}" in fails(result.cpu)


def test_faults_of_the_device_are_accelerator_errors():
    """Faults that are not contained put the stream in error, and the reset frees all memory."""

    def lost(action):
        with pytest.raises(torch.AcceleratorError, match="SPYRE-E6151") as raised:
            action()
        assert raised.value.error_code == 6151
        return str(raised.value)

    x = torch.ones(4, 64).to("spyre")
    torch.spyre.synchronize()
    _C._inject_fault(0, "timeout")
    x + x
    try:
        assert "the reset loses what its memory holds" in lost(torch.spyre.synchronize)
        lost(x.cpu)
    finally:
        torch.spyre.reset_device()
    with pytest.raises(torch.AcceleratorError, match="SPYRE-E6117"):
        x.cpu()
    with pytest.raises(RuntimeError, match="SPYRE-E6147") as raised:
        _C._inject_fault(0, "fire")
    assert not isinstance(raised.value, torch.AcceleratorError), "what a user gives is no fault of the device"


def test_counters_do_not_swallow_a_fault():
    bad = table().to("spyre")[bad_index()]
    torch.spyre.counters()
    fails(torch.spyre.synchronize)
    del bad
