"""Live PyTorch comes in: with its weights, its names, and groups for what repeats."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody writes it

import inkcap
from inkcap.exchange import ImportRefused, from_torch
from inkcap.network import check


class Squeeze(nn.Module):
    """Squeeze and excite."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(width, 2, 1), nn.Conv2d(2, width, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1)))))


class Inverted(nn.Module):
    """A block of MobileNet: wider, depthwise, narrower, added."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.expand = nn.Sequential(
            nn.Conv2d(width, 3 * width, 1, bias=False), nn.BatchNorm2d(3 * width), nn.Hardswish()
        )
        self.depthwise = nn.Sequential(
            nn.Conv2d(3 * width, 3 * width, kernel, padding=kernel // 2, groups=3 * width, bias=False),
            nn.BatchNorm2d(3 * width),
            nn.ReLU6(),
        )
        self.squeeze = Squeeze(3 * width)
        self.project = nn.Conv2d(3 * width, width, 1)

    def forward(self, x):
        return x + self.project(self.squeeze(self.depthwise(self.expand(x))))


class Mobile(nn.Module):
    """A small MobileNet."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.SiLU())
        self.blocks = nn.Sequential(Inverted(4, 3), Inverted(4, 5), Inverted(4, 3))
        self.head = nn.Linear(4, 5)

    def forward(self, x):
        return self.head(F.dropout(self.blocks(self.stem(x)).mean((2, 3)), 0.2, self.training))


class Attention(nn.Module):
    """Attention of several heads, all from one matrix."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.qkv, self.project, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x):
        batch, rows, width = x.shape
        parts = self.qkv(x).reshape(batch, rows, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        return self.project(
            F.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(batch, rows, width)
        )


class Encoder(nn.Module):
    """A block of a vision transformer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before, self.attention, self.between = nn.LayerNorm(width), Attention(width, 2), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 12), nn.GELU(), nn.Linear(12, width))

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.mlp(self.between(x))


class Vision(nn.Module):
    """A small vision transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.token, self.places = nn.Parameter(torch.randn(1, 1, 8)), nn.Parameter(torch.randn(1, 10, 8))
        self.blocks = nn.Sequential(Encoder(8), Encoder(8))
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 5)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


class Unet(nn.Module):
    """Down, up, and across."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.up, self.last = nn.ConvTranspose2d(8, 4, 2, 2), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        first = F.leaky_relu(self.down(x), 0.2)
        deep = F.elu(self.deep(F.max_pool2d(first, 2)))
        both = torch.cat([first, self.up(deep)], 1)
        return self.last(both), F.interpolate(deep, scale_factor=2, mode="bilinear").softmax(1)


class Line(nn.Module):
    """Convolutions over a line."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.n, self.b = nn.Conv1d(2, 4, 3, stride=2), nn.BatchNorm1d(4), nn.Conv1d(4, 4, 3, padding="same")

    def forward(self, x):
        x = F.relu(self.n(self.a(x)))
        return (x + self.b(x)).mean(-1)


MODELS = {
    "mobile": (Mobile, (3, 16, 16)),
    "vision": (Vision, (3, 12, 12)),
    "unet": (Unet, (1, 8, 8)),
    "line": (Line, (2, 21)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), (5, 8)),
    "groups": (
        lambda: nn.Sequential(nn.Conv2d(2, 6, 3), nn.GroupNorm(3, 6), nn.Mish(), nn.InstanceNorm2d(6)),
        (2, 7, 7),
    ),
    "mlp": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.PReLU(8), nn.Dropout(0.3), nn.Linear(8, 3), nn.LogSoftmax(1)),
        (4,),
    ),
    "volume": (
        lambda: nn.Sequential(nn.Conv3d(1, 2, 3), nn.Tanh(), nn.AvgPool3d(2), nn.Flatten(), nn.Linear(16, 2)),
        (1, 6, 6, 6),
    ),
}


def shaken(module: nn.Module) -> nn.Module:
    """Give running statistics that are not those of the start."""
    generator = torch.Generator().manual_seed(3)
    for name, buffer in module.named_buffers():
        if buffer.is_floating_point():
            buffer.data = torch.rand(buffer.shape, generator=generator) + (0.5 if "var" in name else 0)
    return module


@pytest.mark.parametrize("name", MODELS)
def test_a_module_computes_the_same_as_its_drawing(name) -> None:
    torch.manual_seed(0)
    make, shape = MODELS[name]
    module = shaken(make())
    imported = from_torch(module, torch.randn(2, *shape), name)
    assert imported.missing == ()
    assert imported.difference is not None
    assert imported.difference <= 1e-5
    x = torch.randn(5, *shape)
    with torch.no_grad():
        theirs, ours = module.eval()(x), imported.module()(x.reshape(5, *_drawn(imported)))
    pairs = zip(theirs, ours, strict=True) if isinstance(theirs, tuple) else [(theirs, ours)]
    for other, mine in pairs:
        torch.testing.assert_close(mine.reshape(other.shape), other, atol=1e-5, rtol=1e-4)


def _drawn(imported) -> tuple[int, ...]:
    network = check(imported.drawing).network
    return network.capsules[network.inputs[0]].output.sizes


def test_what_repeats_is_a_group_with_its_class_and_its_numbers() -> None:
    drawing = from_torch(Mobile(), torch.randn(2, 3, 16, 16)).drawing
    assert list(drawing.groups) == ["Inverted"]
    assert [use.id for use in drawing.uses.values()] == ["blocks-0", "blocks-1", "blocks-2"]
    assert drawing.groups["Inverted"].arguments == {"kernel": 3, "padding": 1}
    assert drawing.uses["blocks-1"].arguments == {"kernel": 5, "padding": 2}
    names = [capsule.id for capsule in drawing.groups["Inverted"].capsules]
    assert names[:3] == ["in", "expand-0", "depthwise-0"]
    assert [(c.symbol, [w.part for w in c.wears]) for c in drawing.groups["Inverted"].capsules][1] == (
        "hard-swish",
        ["batch-norm"],
    )


def test_parameters_are_those_of_the_module() -> None:
    for make, shape in (MODELS["mobile"], MODELS["unet"], MODELS["encoder"]):
        module = make()
        report = check(from_torch(module, torch.randn(2, *shape)).drawing)
        assert report.parameters == sum(parameter.numel() for parameter in module.parameters())


def test_shared_modules_share_their_weights() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            return self.layer(torch.relu(self.layer(x)))

    imported = from_torch(Twice(), torch.randn(2, 4))
    assert check(imported.drawing).connection_count == 2
    assert sorted(imported.weights)[-1] == "tie:layer-weight.weight"
    assert imported.difference <= 1e-6


def test_an_operator_without_a_symbol_becomes_an_opaque_capsule() -> None:
    class Sorted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 6), nn.Linear(6, 2)

        def forward(self, x):
            return self.b(torch.sort(torch.relu(self.a(x)), 1)[0])

    imported = inkcap.from_torch(Sorted(), torch.randn(2, 4))
    assert [(entry.operator, entry.capsule) for entry in imported.missing] == [("aten.sort.default", "sort")]
    assert imported.difference is None
    assert "no symbol (aten.sort.default)" in imported.proof()
    report = check(imported.drawing)
    assert [entry.rule for entry in report.errors] == ["opaque-operator"]
    assert report.capsules["sort"].output.sizes == (6,)
    assert imported.drawing.capsules["sort"].label == "aten.sort.default"


@pytest.mark.parametrize(
    ("module", "example", "told"),
    [
        (nn.Linear(2, 2), torch.tensor(1.0), "a batch of samples"),
        (nn.Linear(2, 2), torch.randn(2, 3), "torch cannot follow the example"),
        (nn.Identity(), torch.randn(2, 2, 2, 2, 2, 2), "has 6 axes"),
    ],
)
def test_what_cannot_be_followed_is_told(module, example, told) -> None:
    with pytest.raises(ImportRefused, match=told):
        from_torch(module, example)
