"""Losses of sequences, tables that know how often a row was asked for, and factors of matrices: whole, as models use them."""

import pytest
import torch
import torch.nn.functional as F
from tolerances import relative_error, tolerance

HOW = ("eager", "compiled")


def called(call, how):
    if how == "eager":
        return call
    torch._dynamo.reset()
    return torch.compile(call, backend="spyre", fullgraph=True, dynamic=False)


def leaf(x):
    return x.detach().clone().requires_grad_()


def assert_near(found, expected, roundings):
    found, expected = (t.detach().cpu().double().numpy() for t in (found, expected))
    assert relative_error(found, expected) <= tolerance("chain", torch.float32, roundings)


# --------------------------------------------------------------------------------------------------
# Tables that know how often a row was asked for


def _table_gradient(call, *inputs, how="eager"):
    table, *rest = inputs
    table = leaf(table)
    result = called(call, how)(table, *rest)
    weights = torch.linspace(-1, 1, result.numel()).reshape(result.shape).to(result.device)
    result.backward(weights)
    return table.grad.cpu()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_of_bags_are_divided_by_the_frequency_of_their_row(mode, how, on_device):
    """Of a bag the CPU divides by the frequency of another row, so what is compared with is divided here."""
    table, numbers, offsets = torch.randn(10, 5), torch.tensor([5, 2, 2, 0, 5, 5, 1]), torch.tensor([0, 2, 2, 5])
    plain = _table_gradient(lambda t, i, o: F.embedding_bag(i, t, o, mode=mode), table, numbers, offsets)
    expected = plain / torch.bincount(numbers, minlength=10).clamp_min(1)[:, None]
    scaled = lambda t, i, o: F.embedding_bag(i, t, o, mode=mode, scale_grad_by_freq=True)  # noqa: E731
    with on_device():
        found = _table_gradient(scaled, *(t.to("spyre") for t in (table, numbers, offsets)), how=how)
    assert_near(found, expected, 4)


@pytest.mark.parametrize("how", HOW)
def test_gradients_of_tables_are_divided_by_the_frequency_of_their_row(how, on_device):
    table, numbers = torch.randn(10, 5), torch.tensor([[5, 2, 2], [0, 5, 5]])
    scaled = lambda t, i: F.embedding(i, t, padding_idx=2, scale_grad_by_freq=True)  # noqa: E731
    expected = _table_gradient(scaled, table, numbers)
    with on_device():
        found = _table_gradient(scaled, table.to("spyre"), numbers.to("spyre"), how=how)
    assert_near(found, expected, 4)


# --------------------------------------------------------------------------------------------------
# Sequences of labels without alignment


def _ctc(scores, targets, inputs, lengths, **how):
    return F.ctc_loss(scores.log_softmax(-1), targets, inputs, lengths, **how)


def _loss_and_gradient(call, scores, *rest):
    scores = leaf(scores)
    loss = call(scores, *rest)
    loss.backward(torch.ones_like(loss))
    return loss, scores.grad


TARGETS = torch.tensor([[1, 1, 2], [3, 2, 1]])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("lengths", ["numbers", "tensors", "tensors of the CPU"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_of_sequences(reduction, lengths, how, on_device):
    """Two sequences of different lengths; those may be data."""
    scores, given = torch.randn(9, 2, 4), [(9, 7), (3, 2)]
    expected = _loss_and_gradient(lambda *a: _ctc(*a, reduction=reduction), scores.double(), TARGETS, *given)
    there = [g if lengths == "numbers" else torch.tensor(g) for g in given]
    there = [g.to("spyre") for g in there] if lengths == "tensors" else there
    call = called(lambda *a: _ctc(*a, reduction=reduction), how)
    with on_device():
        found = _loss_and_gradient(call, scores.to("spyre"), TARGETS.to("spyre"), *there)
    for ours, theirs in zip(found, expected):
        assert ours.device.type == "spyre"
        assert_near(ours, theirs, 64)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_sequences_that_no_path_fits(zero_infinity, how, on_device):
    """The first needs four times, for the blank between equal labels, and has three."""
    call = lambda *a: _ctc(*a, reduction="none", zero_infinity=zero_infinity)  # noqa: E731
    scores, lengths = torch.randn(3, 2, 4), [torch.tensor([3, 3]), torch.tensor([3, 2])]
    expected, slopes = _loss_and_gradient(call, scores, TARGETS, *lengths)
    with on_device():
        found, ours = _loss_and_gradient(called(call, how), *(t.to("spyre") for t in (scores, TARGETS, *lengths)))
    torch.testing.assert_close(found.cpu(), expected)
    torch.testing.assert_close(ours.cpu(), slopes, equal_nan=True)
    assert found[0].item() == (0.0 if zero_infinity else float("inf"))


def test_sequences_of_no_labels_and_of_no_time(on_device):
    """Nothing in no time is certain, something in no time impossible; without labels all are blanks."""
    scores, lengths = torch.randn(5, 3, 4), [(5, 0, 0), (0, 0, 1)]
    targets = torch.tensor([[1, 1], [3, 2], [1, 2]])
    expected = _ctc(scores.double(), targets, *lengths, reduction="none")
    with on_device():
        found = _ctc(scores.to("spyre"), targets.to("spyre"), *lengths, reduction="none").cpu()
    torch.testing.assert_close(found, expected.float())
    assert found[1:].tolist() == [0.0, float("inf")]


def test_a_sequence_without_a_batch(on_device):
    scores, target = torch.randn(7, 4), torch.tensor([1, 2, 2])
    expected = _ctc(scores.double(), target, (7,), (3,), reduction="sum")
    with on_device():
        found = _ctc(scores.to("spyre"), target.to("spyre"), (7,), (3,), reduction="sum")
    assert_near(found, expected, 64)


def test_one_program_is_all_steps_of_time(on_device):
    """In eager mode a longer sequence needs no other programs than a shorter one, but for those over all times."""
    import torch_spyre._C as extension

    built = []
    for times in (20, 40):
        extension.clear_eager_cache()
        torch.spyre.reset_counters()
        with on_device():
            _ctc(torch.randn(times, 2, 4).to("spyre"), TARGETS.to("spyre"), (times, 9), (3, 2))
        built.append(torch.spyre.counters()["programs_compiled"])
    assert built[0] == built[1]


@pytest.mark.parametrize("overload", ["default", "Tensor"])
def test_parts_of_torchs_loss(overload, on_device):
    """Called by their names, with the states torch gives."""
    op = getattr(torch.ops.aten._ctc_loss, overload)
    scores, lengths = torch.randn(9, 2, 4).log_softmax(-1), [[9, 7], [3, 2]]
    lengths = lengths if overload == "default" else [torch.tensor(n) for n in lengths]
    scores.requires_grad_()
    losses, states = op(scores, TARGETS, *lengths)
    (slopes,) = torch.autograd.grad(losses.sum(), scores)
    there = leaf(scores.to("spyre"))
    on_card = [n if overload == "default" else n.to("spyre") for n in lengths]
    with on_device():
        found, ours = op(there, TARGETS.to("spyre"), *on_card)
        (gradient,) = torch.autograd.grad(found.sum(), there)
    assert_near(found, losses, 64)
    assert_near(gradient, slopes, 64)
    # Behind the end of a sequence the CPU leaves anything.
    torch.testing.assert_close(ours.cpu()[0], states.detach()[0])


@pytest.mark.parametrize(
    "lengths, blank, text",
    [
        (((9, 9), (3, 2)), 4, "blank must be in label range"),
        (((9,), (3, 2)), 0, "input_lengths must be of size batch_size"),
        (((9, 9), (3,)), 0, "target_lengths must be of size batch_size"),
        (((9, 10), (3, 2)), 0, "Expected input_lengths to have value at most 9, but got value 10"),
        (((9, 9), (4, 2)), 0, "Expected tensor to have size at least 4 at dimension 1, but got size 3"),
    ],
)
def test_what_torch_refuses_of_sequences(lengths, blank, text):
    scores = torch.randn(9, 2, 4)
    for x, t in ((scores, TARGETS), (scores.to("spyre"), TARGETS.to("spyre"))):
        with pytest.raises(RuntimeError, match=text):
            _ctc(x, t, *lengths, blank=blank)


# --------------------------------------------------------------------------------------------------
# Lists of tensors, numbers of triangles, what is random in training alone


def _arguments(op, first, second):
    """Lists for lists, numbers for numbers; no argument that has a name only."""
    kinds = {"List[number]": [2.0, 3.0], "number": 2.0, "Tensor": torch.tensor(2.0)}
    for argument in op._schema.arguments:
        kind = str(argument.type)
        if kind == "List[Tensor]":
            yield first if argument.name == "self" else second
        elif not argument.kwarg_only and kind in kinds:
            yield kinds[kind]


def _list_operations():
    from torch_spyre.ops import lists

    return sorted((op for op in lists.decompositions() if "_mm." not in str(op)), key=str)  # those are of matrices


def _moved(value):
    if isinstance(value, list):
        return [_moved(v) for v in value]
    return value.to("spyre") if isinstance(value, torch.Tensor) else value


def test_operations_on_lists_in_graphs(on_device):
    """All of them in one graph, each of two tensors of different shapes."""
    first, second = [torch.rand(3) / 2, torch.rand(2, 2) / 2], [torch.rand(3) + 1, torch.rand(2, 2) + 1]
    operations = _list_operations()
    arguments = [list(_arguments(op, first, second)) for op in operations]
    expected = [op(*given) for op, given in zip(operations, arguments)]
    call = called(lambda many: [op(*given) for op, given in zip(operations, many)], "compiled")
    with on_device():
        found = call([_moved(given) for given in arguments])
    assert len(operations) > 60
    for op, ours, theirs in zip(operations, found, expected, strict=True):
        for got, want in zip(ours, theirs, strict=True):
            torch.testing.assert_close(got.cpu(), want, msg=lambda text, op=op: f"{op}: {text}")


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
@pytest.mark.parametrize("rows, columns, offset", [(4, 5, 0), (4, 5, -2), (4, 5, 2), (3, 2, 0), (5, 3, -2), (2, 6, 3)])
@pytest.mark.parametrize("how", HOW)
def test_numbers_of_triangles(name, rows, columns, offset, how, on_device):
    make = getattr(torch, name)
    with on_device():
        found = called(lambda x: make(rows, columns, offset, device=x.device) * 1, how)(torch.ones(1, device="spyre"))
    assert torch.equal(found.cpu(), make(rows, columns, offset))


@pytest.mark.parametrize("how", HOW)
def test_slopes_that_are_random_in_training_alone(how, on_device):
    x = torch.randn(5, 7)
    with on_device():
        found = called(lambda x: F.rrelu(x, 0.25, 0.75), how)(x.to("spyre"))
    torch.testing.assert_close(found.cpu(), F.rrelu(x, 0.25, 0.75))
    trained = F.rrelu(x.to("spyre"), 0.25, 0.75, training=True).cpu() / x
    assert ((trained == 1) == (x > 0)).all() and ((trained[x < 0] >= 0.249) & (trained[x < 0] <= 0.751)).all()
    assert trained[x < 0].unique().numel() > 5


@pytest.mark.parametrize("how", HOW)
def test_rows_of_a_bounded_norm(how, on_device):
    x = torch.randn(5, 7)
    expected = _loss_and_gradient(lambda x: torch.renorm(x, 2, 0, 2.0), x)
    with on_device():
        found = _loss_and_gradient(called(lambda x: torch.renorm(x, 2, 0, 2.0), how), x.to("spyre"))
    for ours, theirs in zip(found, expected):
        assert_near(ours, theirs, 8)


def test_windows_of_bessel_functions(on_device):
    with on_device():
        found = torch.kaiser_window(9, device="spyre")
    torch.testing.assert_close(found.cpu(), torch.kaiser_window(9))


# --------------------------------------------------------------------------------------------------
# Factors of matrices

FACTORS = {
    "cholesky": (torch.linalg.cholesky, "cholesky_step"),
    "inv": (torch.linalg.inv, "lu_step and triangular_step"),
    "qr": (torch.linalg.qr, "qr_step"),
}


def _positive(count):
    x = torch.randn(2, count, count)
    return x @ x.mT / count + torch.eye(count)


@pytest.mark.parametrize("name", FACTORS)
def test_one_program_is_all_steps_of_a_factor(name, on_device):
    """In eager mode larger matrices need no more programs than smaller ones."""
    import torch_spyre._C as extension

    built = []
    for count in (8, 24):
        extension.clear_eager_cache()
        torch.spyre.reset_counters()
        with on_device():
            FACTORS[name][0](_positive(count).to("spyre"))
        built.append(torch.spyre.counters()["programs_compiled"])
    assert built[0] == built[1]


@pytest.mark.parametrize("name", FACTORS)
def test_factors_of_many_columns(name, on_device):
    """As exact as LAPACK's in fp32, but for a few roundings."""
    x = _positive(96)
    with on_device():
        found = FACTORS[name][0](x.to("spyre"))
    expected = FACTORS[name][0](x.double())
    found, expected = ([t] if isinstance(t, torch.Tensor) else list(t) for t in (found, expected))
    for ours, theirs in zip(found, expected, strict=True):
        assert_near(ours, theirs, 512)


def test_rows_are_exchanged_for_the_largest_element(on_device):
    """Without, the factors of this matrix were all rounding."""
    x = torch.tensor([[1e-7, 1.0, 2.0], [1.0, 1.0, 1.0], [4.0, 1.0, 0.0]])
    with on_device():
        factors, pivots = torch.linalg.lu_factor(x.to("spyre"))
    expected, places = torch.linalg.lu_factor(x)
    torch.testing.assert_close(factors.cpu(), expected)
    assert pivots.tolist() == places.tolist() == [3, 3, 3]


def test_matrices_without_factors():
    """The words are torch's; a determinant of 0 has a logarithm."""
    singular, negative = torch.zeros(3, 3).to("spyre"), -torch.eye(3).to("spyre")
    with pytest.raises(RuntimeError, match="The diagonal element 1 is zero"):
        torch.linalg.inv(singular)
    with pytest.raises(RuntimeError, match="the leading minor of order 1 is not positive-definite"):
        torch.linalg.cholesky(negative)
    assert torch.linalg.det(singular).item() == 0
    sign, size = torch.linalg.slogdet(singular)
    assert sign.item() == 0 and size.item() == float("-inf")


def test_many_columns_are_left_to_the_cpu():
    from torch_spyre.ops import limits

    x = torch.eye(limits.COLUMNS.most + 1).to("spyre")
    torch.spyre.reset_counters()
    with pytest.warns(UserWarning, match=r"linalg_inv_ex.default is falling back to cpu"):
        assert torch.equal(torch.linalg.inv(x).cpu(), x.cpu())
    assert torch.spyre.counters()["fallback_ops"] == 1


@pytest.mark.filterwarnings("ignore:.*falling back to cpu")
def test_pseudoinverses_and_ranks():
    """Of singular values, which are the CPU's; their gradient is made of products."""
    x = torch.randn(2, 5, 3)
    expected = _loss_and_gradient(torch.linalg.pinv, x.double())
    found = _loss_and_gradient(torch.linalg.pinv, x.to("spyre"))
    for ours, theirs in zip(found, expected):
        assert ours.device.type == "spyre"
        assert_near(ours, theirs, 128)
    assert torch.linalg.matrix_rank(x.to("spyre")).tolist() == [3, 3]


def test_powers_of_large_matrices(on_device):
    """Squared as often as the norm asks for, each matrix of a batch by its own."""
    x = torch.randn(3, 4, 4) * torch.tensor([0.01, 1.0, 8.0])[:, None, None]
    x = x - x.mT  # whose powers are rotations
    with on_device():
        found = torch.matrix_exp(x.to("spyre"))
    assert_near(found, torch.matrix_exp(x.double()), 256)
