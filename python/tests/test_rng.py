"""Random numbers: the CPU's sequence for the same seed, states that can be kept, generators of one's own."""

import warnings

import pytest
import torch

pytestmark = pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")

DRAWS = {
    "randn": lambda **k: torch.randn(7, 3, **k),
    "odd_randn": lambda **k: torch.randn(3, **k),
    "rand": lambda **k: torch.rand(20, **k),
    "randint": lambda **k: torch.randint(0, 1000, (9,), **k),
    "normal": lambda **k: torch.normal(1.0, 2.0, (5,), **k),
    "randperm": lambda **k: torch.randperm(11, **k),
}
IN_PLACE = {
    "normal_": lambda t, **k: t.normal_(2.0, 3.0, **k),
    "uniform_": lambda t, **k: t.uniform_(-1, 1, **k),
    "bernoulli_": lambda t, **k: t.bernoulli_(0.3, **k),
    "exponential_": lambda t, **k: t.exponential_(**k),
    "random_": lambda t, **k: t.random_(0, 100, **k),
}


@pytest.mark.parametrize("name", DRAWS)
def test_values_equal_the_cpus(name):
    draw = DRAWS[name]
    expected = [draw(generator=g) for g in [torch.Generator().manual_seed(5)] for _ in range(3)]
    torch.spyre.manual_seed(5)
    for value in expected:
        assert torch.equal(draw(device="spyre").cpu(), value)
    generator = torch.Generator("spyre").manual_seed(5)
    for value in expected:
        assert torch.equal(draw(device="spyre", generator=generator).cpu(), value)


@pytest.mark.parametrize("name", IN_PLACE)
def test_filling_equals_the_cpus(name):
    fill = IN_PLACE[name]
    expected = fill(torch.empty(5, 9), generator=torch.Generator().manual_seed(8))
    torch.spyre.manual_seed(8)
    assert torch.equal(fill(torch.empty(5, 9, device="spyre")).cpu(), expected)
    generator = torch.Generator("spyre").manual_seed(8)
    filled = fill(torch.empty(5, 9, device="spyre"), generator=generator)
    assert torch.equal(filled.cpu(), expected)


def test_choices_equal_the_cpus():
    weights = torch.tensor([1.0, 5.0, 2.0, 4.0])
    torch.manual_seed(3)
    expected = [
        torch.multinomial(weights, 3),
        torch.bernoulli(torch.full((9,), 0.5)),
        torch.nn.functional.dropout(torch.ones(40), 0.5),
    ]
    torch.manual_seed(3)
    on_device = [
        torch.multinomial(weights.to("spyre"), 3),
        torch.bernoulli(torch.full((9,), 0.5, device="spyre")),
        torch.nn.functional.dropout(torch.ones(40, device="spyre"), 0.5),
    ]
    for result, value in zip(on_device, expected, strict=True):
        assert result.is_spyre and torch.equal(result.cpu(), value)


def test_states_have_the_documented_size_and_restore_exactly():
    torch.spyre.manual_seed(1)
    torch.randn(3, device="spyre")  # leaves one half of a pair of normals for the next call
    state = torch.spyre.get_rng_state()
    assert state.shape == (5016,) and state.dtype == torch.uint8 and state.device.type == "cpu"
    after = [torch.randn(3, device="spyre").cpu(), torch.rand(700, device="spyre").cpu()]
    torch.spyre.set_rng_state(state)
    again = [torch.randn(3, device="spyre").cpu(), torch.rand(700, device="spyre").cpu()]
    assert all(torch.equal(a, b) for a, b in zip(after, again, strict=True))
    generator = torch.Generator("spyre")
    generator.set_state(state)
    assert torch.equal(torch.randn(3, device="spyre", generator=generator).cpu(), after[0])
    twin = generator.clone_state()
    assert torch.equal(twin.get_state(), generator.get_state())
    states = torch.spyre.get_rng_state_all()
    assert len(states) == torch.spyre.device_count()
    torch.spyre.set_rng_state_all(states)


@pytest.mark.parametrize(
    "state, error, text",
    [
        (torch.zeros(3, dtype=torch.uint8), RuntimeError, "5016.*found 3"),
        (torch.zeros(5056, dtype=torch.uint8), RuntimeError, "5016.*found 5056"),
        (torch.zeros(5016, dtype=torch.uint8), RuntimeError, "Invalid mt19937 state"),
        (torch.full((5016,), 255, dtype=torch.uint8), RuntimeError, "Invalid mt19937 state"),
        (torch.zeros(5016), TypeError, "ByteTensor"),
        ("state", TypeError, "ByteTensor"),
    ],
)
def test_bad_states_are_errors_and_change_nothing(state, error, text):
    before = torch.spyre.get_rng_state()
    with pytest.raises(error, match=text):
        torch.spyre.set_rng_state(state)
    assert torch.equal(torch.spyre.get_rng_state(), before)


def test_generators_say_what_they_are():
    generator = torch.Generator("spyre")
    assert generator.device == torch.device("spyre:0")
    assert generator.manual_seed(4).initial_seed() == 4
    assert isinstance(generator.seed(), int)
    for action in (lambda: generator.set_offset(1), generator.get_offset):
        with pytest.raises(RuntimeError, match="Spyre Generator does not use offset"):
            action()
    with pytest.raises(RuntimeError, match="SPYRE-E6509"):
        torch.Generator("spyre:77")
    assert torch.spyre.default_generators[0].device.type == "spyre"


def test_seeds():
    torch.manual_seed(-1)
    assert torch.spyre.initial_seed() == torch.initial_seed() & (2**64 - 1)
    torch.spyre.manual_seed(6, "spyre:0")
    assert torch.spyre.initial_seed("spyre") == 6
    torch.spyre.manual_seed_all(7)
    assert torch.spyre.initial_seed(0) == 7
    torch.spyre.seed_all()
    first = torch.spyre.initial_seed()
    assert torch.spyre.seed() == torch.spyre.initial_seed() != first


def test_seeds_are_asked_for_in_graphs():
    """In each call, and Dynamo does not look for what it cannot trace."""
    scaled = torch.compile(lambda x: x * torch.spyre.initial_seed())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in (5, 6):
            torch.manual_seed(seed)
            assert scaled(torch.ones(2).to("spyre")).tolist() == [seed, seed]


def test_fork_rng():
    torch.spyre.manual_seed(9)
    before = torch.spyre.get_rng_state()
    with torch.random.fork_rng(devices=[0], device_type="spyre"):
        torch.manual_seed(1)
        torch.randn(5, device="spyre")
        assert not torch.equal(torch.spyre.get_rng_state(), before)
    assert torch.equal(torch.spyre.get_rng_state(), before)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_draw_the_same_numbers_again(reentrant):
    from torch.utils.checkpoint import checkpoint

    def block(value):
        return torch.nn.functional.dropout(value * 2, 0.5).sum()

    gradients = []
    for run in (block, lambda v: checkpoint(block, v, use_reentrant=reentrant)):
        torch.manual_seed(0)
        torch.randn(3, device="spyre")
        x = torch.ones(8, 8, device="spyre", requires_grad=True)
        run(x).backward()
        gradients.append(x.grad.cpu())
    assert torch.equal(*gradients) and 0 < gradients[0].count_nonzero() < 64


def test_seeding_does_not_start_the_device(python):
    python("""
import torch
torch.manual_seed(1); torch.spyre.manual_seed(2); torch.spyre.manual_seed_all(3)
state = torch.spyre.get_rng_state(); torch.spyre.set_rng_state(state)
torch.Generator("spyre").manual_seed(5)
torch.spyre.default_generators
called = []
torch.spyre._lazy_call(lambda: called.append(1))
assert not torch.spyre.is_initialized() and not called
torch.ones(1, device="spyre")
assert torch.spyre.is_initialized() and called == [1]
torch.spyre._lazy_call(lambda: called.append(2))
assert called == [1, 2]
""")


def test_compiled_graphs_draw_from_the_device():
    function = torch.compile(lambda t: t + torch.randn_like(t))
    x = torch.zeros(3, 5, device="spyre")
    cpu = torch.get_rng_state()
    drawn = []
    for _ in range(2):
        torch.spyre.manual_seed(12)
        drawn.append(function(x).cpu())
    assert torch.equal(*drawn) and drawn[0].count_nonzero() == 15
    assert torch.equal(drawn[0], torch.randn(3, 5, generator=torch.Generator().manual_seed(12)))
    assert torch.equal(cpu, torch.get_rng_state())


def test_each_device_has_a_generator():
    torch.spyre.manual_seed_all(4)
    first = torch.randn(3, device="spyre:0").cpu()
    second = torch.randn(3, device="spyre:1").cpu()
    assert torch.equal(first, second)
    torch.spyre.manual_seed(5, "spyre:1")
    assert torch.spyre.initial_seed(0) == 4 and torch.spyre.initial_seed("spyre:1") == 5
    state = torch.spyre.get_rng_state(0)
    torch.empty(4, device="spyre:1").normal_()
    torch.nn.functional.dropout(torch.ones(4, device="spyre:1"), 0.5)
    assert torch.equal(torch.spyre.get_rng_state(0), state)
    generator = torch.Generator("spyre:1")
    assert generator.device == torch.device("spyre:1")


def test_generators_are_copied_and_pickled():
    import copy
    import pickle

    generator = torch.Generator("spyre:1")
    generator.manual_seed(3)
    torch.randn(3, device="spyre:1", generator=generator)
    for twin in (copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))):
        assert twin.device == generator.device and twin.initial_seed() == 3
        one = torch.randn(7, device="spyre:1", generator=twin)
        generator_state = generator.get_state()
        assert torch.equal(one, torch.randn(7, device="spyre:1", generator=generator))
        generator.set_state(generator_state)
    twin = pickle.loads(pickle.dumps(torch.Generator().manual_seed(7)))
    assert twin.device.type == "cpu" and twin.initial_seed() == 7


def test_a_generator_of_the_device_is_none_for_cpu_tensors():
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
        torch.randn(3, generator=torch.Generator("spyre"))
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
        torch.ones(3).uniform_(generator=torch.Generator("spyre"))


def test_dropout_in_a_graph_draws_on_the_cpu_and_computes_on_the_device():
    """What is kept is what eager mode keeps; only that crosses the border, and not what it is applied to."""

    def function(x):
        return torch.nn.functional.dropout(x * 2, 0.3)

    x = torch.randn(33, 65, generator=torch.Generator().manual_seed(0)).half().to("spyre").requires_grad_()
    torch.spyre.manual_seed(3)
    wanted = function(x)
    torch.spyre.manual_seed(3)
    torch.spyre.reset_counters()
    result = torch.compile(function)(x)
    counters = torch.spyre.counters()
    assert counters["graph_fallback_nodes"] == 1 and counters["programs_launched"] > 0
    assert counters["fallback_bytes"] == 2 * x.numel()  # what is asked for, and what is kept: a byte each
    assert torch.equal(result.cpu(), wanted.cpu()) and 0 < result.cpu().count_nonzero() < x.numel()
    result.sum().backward()
    assert torch.equal(x.grad.cpu() != 0, wanted.cpu() != 0)
