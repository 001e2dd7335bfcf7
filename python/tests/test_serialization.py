"""Files, pickles and copies: values, sharing and layouts survive; bytes are not given away."""

import copy
import io
import pickle

import pytest
import torch

from torch_spyre import _C

DTYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.bool,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float8_e4m3fn,
]


def make(*shape, dtype=torch.float16, seed=0):
    values = torch.randint(0, 3, shape, generator=torch.Generator().manual_seed(seed))
    return values.to(dtype).to("spyre")


def swapped(tensor):
    layout = _C.SpyreTensorLayout(
        list(tensor.shape), list(tensor.stride()), tensor.dtype, [1, 0]
    )
    return tensor.to("spyre", device_layout=layout)


def same_values(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype
    assert torch.equal(a.detach().cpu().float(), b.detach().cpu().float())


def saved(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return buffer


def shares(a, b):
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (3, 80), (2, 3, 65), (0, 4)], ids=str)
def test_save_and_load(dtype, shape):
    x = make(*shape, dtype=dtype)
    back = torch.load(saved(x))
    assert back.device == x.device
    same_values(back, x)
    assert back.device_tensor_layout() == x.device_tensor_layout()
    host = torch.load(saved(x), map_location="cpu")
    assert host.device.type == "cpu"
    same_values(host, x)


def test_layouts_that_the_user_gave_survive():
    x = swapped(torch.randn(70, 130).half())
    for copied in (torch.load(saved(x)), pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        same_values(copied, x)
        assert copied.device_tensor_layout() == x.device_tensor_layout()
        assert not shares(copied, x)
    assert x.device_tensor_layout() != make(70, 130).device_tensor_layout()


def test_views_stay_views_of_one_storage():
    x = make(6, 70)
    for result in (
        torch.load(saved({"a": x, "b": x[1:3], "c": x.t()})),
        copy.deepcopy({"a": x, "b": x[1:3], "c": x.t()}),
    ):
        assert shares(result["a"], result["b"]) and shares(result["a"], result["c"])
        same_values(result["b"], x[1:3])
        same_values(result["c"], x.t())
        result["a"].fill_(7)
        assert set(result["b"].flatten().tolist()) == {7.0}
    assert 7.0 not in x.flatten().tolist()


def test_a_view_alone():
    x = make(6, 70)
    same_values(torch.load(saved(x[2:4, 5:])), x[2:4, 5:])
    same_values(copy.deepcopy(x[2:4, 5:]), x[2:4, 5:])


def test_parameters_and_state_dicts():
    model = torch.nn.Sequential(torch.nn.Linear(65, 3), torch.nn.BatchNorm1d(3)).to("spyre")
    back = torch.load(saved(model.state_dict()))
    assert list(back) == list(model.state_dict())
    for name, value in model.state_dict().items():
        same_values(back[name], value)
        assert back[name].device_tensor_layout() == value.device_tensor_layout()
    fresh = torch.nn.Sequential(torch.nn.Linear(65, 3), torch.nn.BatchNorm1d(3))
    fresh.load_state_dict(torch.load(saved(model.state_dict()), map_location="cpu"))
    same_values(fresh[0].weight, model[0].weight)
    parameter = torch.nn.Parameter(make(3, 4), requires_grad=False)
    loaded = torch.load(saved(parameter))
    assert isinstance(loaded, torch.nn.Parameter) and not loaded.requires_grad
    assert torch.load(saved(make(2).requires_grad_())).requires_grad


def test_files_of_the_cpu_load_on_the_device(on_device):
    w = torch.randn(64, 128, dtype=torch.float16)
    for location in ("spyre", "spyre:0", torch.device("spyre"), {"cpu": "spyre:0"}):
        back = torch.load(saved({"w": w, "part": w[3:]}), map_location=location)
        assert back["w"].device == torch.device("spyre:0") and shares(back["w"], back["part"])
        same_values(back["part"], w[3:].to("spyre"))
    # One tensor that is all of its storage lies as if it had been made on the device, at once.
    base = torch.spyre.memory_allocated()
    whole = torch.load(saved(w), map_location="spyre")
    assert torch.spyre.memory_allocated() == base + w.nbytes
    assert whole.device_tensor_layout() == w.to("spyre").device_tensor_layout()
    with on_device():
        result = whole + whole
    same_values(result, (w.to("spyre") + w.to("spyre")))


def test_memory_mapped_files(tmp_path):
    x = swapped(torch.randn(70, 130).half())
    torch.save(x, tmp_path / "x.pt")
    back = torch.load(tmp_path / "x.pt", mmap=True)
    same_values(back, x)


def test_a_file_reads_without_the_plugin(tmp_path, python):
    x = swapped(torch.arange(6.0).reshape(2, 3).half())
    torch.save({"x": x, "view": x[1:]}, tmp_path / "x.pt")
    python(
        """
import sys
sys.modules["torch_spyre"] = None  # importing it is an error
import torch
data = torch.load(sys.argv[1], map_location="cpu")
assert data["x"].tolist() == [[0, 1, 2], [3, 4, 5]] and data["view"].tolist() == [[3, 4, 5]]
assert data["x"].untyped_storage().data_ptr() == data["view"].untyped_storage().data_ptr()
try:
    torch.load(sys.argv[1])
except RuntimeError as error:
    assert "spyre:0" in str(error), error
else:
    raise AssertionError("a spyre tensor without the plug-in")
""",
        env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        args=[tmp_path / "x.pt"],
    )


@pytest.mark.parametrize(
    "key",
    [
        "spyre_layout_1;",
        "spyre_layout_1;4;1",
        "spyre_layout_1;-4;1;(3, [1, 64], [64, 1], DataFormats.SEN169_FP16, ElementArrangement.STANDARD)",
        "spyre_layout_1;4x;1;(3, [1, 64], [64, 1], DataFormats.SEN169_FP16, ElementArrangement.STANDARD)",
        "spyre_layout_1;4;1;(3, [1, 64], [64, 1], DataFormats.IEEE_FP32, ElementArrangement.STANDARD)",
        "spyre_layout_1;4000;1;(3, [63, 64], [64, 1], DataFormats.SEN169_FP16, ElementArrangement.STANDARD)",
        "spyre_layout_1;2;1;(3, [1, 64], [64, 1], DataFormats.SEN169_FP16, ElementArrangement.STANDARD)",
        "spyre_layout_1;4;1;(9, [1, 64])",
    ],
)
def test_damaged_layouts_are_errors(key):
    x = torch.ones(4, dtype=torch.float16, device="spyre")
    with pytest.raises(RuntimeError, match="SPYRE-E"):
        torch._C._set_tensor_metadata(x, {key: True})
    assert x.tolist() == [1, 1, 1, 1]
    torch._C._set_tensor_metadata(x, {"some_other_key": True})


def test_unknown_device_of_a_file():
    with pytest.raises(RuntimeError, match="SPYRE-E6509"):
        torch.load(saved(torch.ones(2)), map_location="spyre:99")


def test_deepcopy_of_models_keeps_ties_layouts_and_gradients():
    model = torch.nn.ModuleDict({"a": torch.nn.Linear(65, 65), "b": torch.nn.Linear(65, 65)})
    model["b"].weight = model["a"].weight
    model["a"].bias.requires_grad_(False)
    model.to("spyre")
    model["a"].weight.grad = torch.ones(65, 65, device="spyre")
    twin = copy.deepcopy(model)
    assert twin["a"].weight is twin["b"].weight is not model["a"].weight
    assert not twin["a"].bias.requires_grad and twin["a"].weight.requires_grad
    layout = model["a"].weight.device_tensor_layout()
    assert twin["a"].weight.device_tensor_layout() == layout
    same_values(twin["a"].weight, model["a"].weight)
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(model["a"].weight * 2)


def test_clone_keeps_the_layout():
    x = swapped(torch.randn(70, 130).half())
    assert x.clone().device_tensor_layout() == x.device_tensor_layout()
    same_values(x.clone(), x)
    part = x.t()[1:9]
    same_values(part.clone(), part)
    assert part.clone(memory_format=torch.contiguous_format).is_contiguous()
    y = torch.ones(3, device="spyre", requires_grad=True)
    y.clone().sum().backward()
    assert y.grad.tolist() == [1, 1, 1]


def test_storages_give_no_bytes_away():
    x = make(2)
    storage = x.untyped_storage()
    assert storage.nbytes() == 128
    actions = [
        storage.tolist,
        lambda: storage[0],
        lambda: storage.__setitem__(0, 1),
        lambda: storage.fill_(0),
        lambda: list(storage),
        lambda: storage.copy_(storage),
        lambda: storage.copy_(torch.UntypedStorage(128)),
        storage.float,
        storage.share_memory_,
        x.share_memory_,
        x.storage().tolist,
        lambda: torch.save(x, io.BytesIO(), _use_new_zipfile_serialization=False),
    ]
    for action in actions:
        with pytest.raises(RuntimeError, match="SPYRE-E6556"):
            action()
    assert "spyre:0" in repr(storage) and "spyre:0" in repr(x.storage())
    # As host bytes: what a CPU tensor would hold, then padding.
    assert torch.UntypedStorage(128).copy_(storage).tolist() == storage.cpu().tolist()
    assert storage.cpu().tolist()[:4] == x.cpu().untyped_storage().tolist()
    assert x.cpu().untyped_storage().tolist() == list(x.cpu().untyped_storage())


def test_other_libraries_get_no_pointer():
    x = make(4)
    with pytest.raises(TypeError, match="can't convert spyre:0 device type tensor to numpy"):
        x.numpy()
    for action in (x.__dlpack__, x.__dlpack_device__, lambda: torch.from_dlpack(x)):
        with pytest.raises(BufferError, match="SPYRE-E6556"):
            action()
    with pytest.raises(BufferError, match="SPYRE-E6556"):
        torch.utils.dlpack.to_dlpack(x)
    assert torch.from_dlpack(torch.ones(2)).tolist() == [1, 1]


def test_other_processes_get_a_clear_error():
    from multiprocessing.reduction import ForkingPickler

    with pytest.raises(RuntimeError, match="SPYRE-E6556.*between processes"):
        ForkingPickler.dumps(make(4))
    with pytest.raises(RuntimeError, match="SPYRE-E6556"):
        torch.nn.Linear(2, 2).to("spyre").share_memory()


def test_bare_bytes_have_no_values():
    storage = torch.UntypedStorage(256, device="spyre")
    with pytest.raises(RuntimeError, match="SPYRE-E6550"):
        storage.cpu()
    with pytest.raises(RuntimeError, match="SPYRE-E6550"):
        torch.UntypedStorage(8).copy_(make(64).untyped_storage())


def test_files_between_cards():
    x = swapped(torch.randn(70, 130).half())
    there = torch.load(saved(x), map_location="spyre:1")
    assert there.device == torch.device("spyre:1")
    same_values(there, x)
    assert there.device_tensor_layout() == x.device_tensor_layout()
    again = torch.load(saved(there))
    assert again.device == torch.device("spyre:1")
    assert torch.load(saved(there), map_location={"spyre:1": "spyre:0"}).device == x.device
    assert copy.deepcopy(there).device == there.clone().device == there.device
    model = torch.nn.Linear(65, 3).to("spyre:1")
    assert model.weight.device == torch.device("spyre:1") == model.spyre(1).bias.device
    same_values(model.to("spyre:0").weight, model.cpu().weight)


def test_layouts_are_loaded_with_weights_only():
    layout = torch.ones(2, 3, device="spyre").device_tensor_layout()
    buffer = io.BytesIO()
    torch.save({"layout": layout}, buffer)
    buffer.seek(0)
    assert torch.load(buffer) == {"layout": layout}


def test_storages_can_be_looked_at():
    storage = torch.ones(3, device="spyre").untyped_storage()
    assert not storage.is_pinned() and not storage.is_shared() and "spyre:0" in str(storage)
    assert not torch.ones(3, device="spyre").is_shared()
    typed = torch.storage.TypedStorage(wrap_storage=storage, dtype=torch.float32, _internal=True)
    assert "float32" in str(typed) and "spyre:0" in repr(typed)


def test_files_of_cards_that_are_not_there(tmp_path, python):
    path = tmp_path / "tensor.pt"
    torch.save(torch.arange(3.0).to("spyre:5"), path)
    code = """
import sys, torch
try:
    torch.load(sys.argv[1])
except RuntimeError as error:
    assert "device 5" in str(error) and "map_location" in str(error), error
else:
    raise AssertionError
print(torch.load(sys.argv[1], map_location="spyre:1").tolist())
"""
    assert python(code, env={"AIU_WORLD_SIZE": "2"}, args=[path]) == "[0.0, 1.0, 2.0]\n"
