"""Small networks of layers that are products with constants, or bags of rows: they are trained on the device, compiled whole
and eager, and get the results and gradients the CPU gets."""

import copy

import pytest
import torch
import torch.nn.functional as F
from tolerances import relative_error, tolerance
from torch import nn


def _block(inside, outside):
    return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1, bias=False), nn.GroupNorm(2, outside), nn.SiLU())


class UNet(nn.Module):
    """Down by pooling, up by a transposed convolution and by interpolation."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.inner = _block(3, 8), _block(8, 16), _block(16, 16)
        self.up = nn.ConvTranspose2d(16, 16, 2, 2)
        self.joined, self.last = _block(32, 8), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        outer = self.first(x)
        middle = self.second(F.max_pool2d(outer, 2))
        inner = self.inner(F.avg_pool2d(middle, 2))
        middle = self.joined(torch.cat([self.up(inner), middle], 1))
        up = F.interpolate(middle, scale_factor=2.0, mode="bilinear", align_corners=True)
        return self.last(torch.cat([up, outer], 1))


class Generator(nn.Module):
    """Images from noise."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.ConvTranspose2d(16, 16, 4, bias=False),
            nn.BatchNorm2d(16),
            nn.LeakyReLU(0.25),
            nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.25),
            nn.ConvTranspose2d(8, 3, 4, 2, 1),
            nn.Tanh(),
        )

    def forward(self, x):
        return self.layers(x)


class Ranker(nn.Module):
    """Numbers and bags of categories, and the products of all pairs."""

    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(20, 8, mode=mode) for mode in ("sum", "mean", "max"))
        self.dense, self.last = nn.Linear(4, 8), nn.Linear(14, 1)

    def forward(self, x, categories):
        rows = [self.dense(x), *(bag(categories) for bag in self.bags)]
        stacked = torch.stack(rows, 1)
        products = stacked @ stacked.transpose(1, 2)
        pairs = [products[:, i, j] for i in range(4) for j in range(i)]
        return self.last(torch.cat([rows[0], torch.stack(pairs, 1)], 1))


class Sampler(nn.Module):
    """A spatial transformer: where it looks is learned."""

    def __init__(self):
        super().__init__()
        self.features = nn.Conv2d(3, 8, 3, padding=1)
        self.place = nn.Linear(8, 6)
        self.norm = nn.utils.parametrizations.weight_norm(nn.Conv2d(8, 4, 3))

    def forward(self, x):
        features = torch.relu(self.features(x))
        turn = torch.tanh(self.place(features.mean((2, 3)))).reshape(-1, 2, 3)
        grid = F.affine_grid(turn, x.shape, align_corners=False)
        return self.norm(F.grid_sample(features, grid, align_corners=False))


def _numbers(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)).half().float()


def _categories():
    return torch.randint(0, 20, (6, 5), generator=torch.Generator().manual_seed(2))


NETWORKS = {
    "unet": (UNet, lambda: [_numbers(1, 3, 16, 16)]),
    "generator": (Generator, lambda: [_numbers(4, 16, 1, 1)]),
    "ranker": (Ranker, lambda: [_numbers(6, 4), _categories()]),
    "sampler": (Sampler, lambda: [_numbers(2, 3, 8, 8)]),
}


def _trained(network, run, inputs):
    """The result, and the gradients of all parameters by name."""
    result = run(*inputs)
    result.backward(torch.ones_like(result) / 4)
    return result, {name: p.grad for name, p in network.named_parameters()}


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("name", NETWORKS)
def test_results_and_gradients_are_those_of_the_cpu(name, mode, on_device):
    make, inputs = NETWORKS[name]
    torch.manual_seed(0)
    host = make().half().float()
    device = copy.deepcopy(host).half().to("spyre")
    given = [(t.half() if t.is_floating_point() else t).to("spyre") for t in inputs()]
    run = torch.compile(device, fullgraph=True) if mode == "compiled" else device
    with on_device():
        result, gradients = _trained(device, run, given)
    expected, wanted = _trained(host, host, inputs())
    limit = tolerance("acceptance", torch.float16)
    errors = {"result": relative_error(result.detach().float().cpu().numpy(), expected.detach().numpy())}
    for each, gradient in wanted.items():
        errors[each] = relative_error(gradients[each].float().cpu().numpy(), gradient.numpy())
    assert {each: error for each, error in errors.items() if not error <= limit} == {}
