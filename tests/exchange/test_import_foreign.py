"""Models that nobody here wrote: torch's own, and torchvision's where it is installed."""

from __future__ import annotations

import importlib.util

import pytest
import torch
from torch import nn

from inkcap.exchange import ImportRefused, from_torch
from inkcap.network import check


class Own(nn.Module):
    """Attention of a value to itself."""

    def __init__(self, **options) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True, **options)

    def forward(self, x):
        return self.attention(x, x, x)


class Last(nn.Module):
    """The last answer of what goes along a sequence."""

    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.along, self.head = kind(8, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.along(x)[0][:, -1])


class Windows(nn.Module):
    """Windows of an image, each by itself: six axes on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.head = nn.Linear(12, 5), nn.Linear(20, 2)

    def forward(self, x):
        count = len(x)
        x = torch.roll(x, (-1, 2), (2, 3)).permute(0, 2, 3, 1)
        x = x.reshape(count, 2, 2, 2, 2, 3).permute(0, 1, 3, 2, 4, 5).reshape(-1, 12)
        return self.head(self.inner(x).reshape(count, 20))


def _encoder(**options) -> nn.Module:
    return nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, **options)


ROWS = ((5, 8),)
WHOLE = {
    "attention": (Own, ROWS),
    "attention with keys and values of its own": (lambda: Own(add_bias_kv=True), ROWS),
    "encoder layer": (lambda: _encoder(activation="gelu", norm_first=True), ROWS),
    "decoder layer": (lambda: nn.TransformerDecoderLayer(8, 2, 12, batch_first=True), ((5, 8), (4, 8))),
    "weight norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), ((4,),)),
    "spectral norm": (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), ((4,),)),
    "windows": (Windows, ((3, 4, 4),)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_model_of_torch_comes_in_whole(name) -> None:
    torch.manual_seed(0)
    make, shapes = WHOLE[name]
    module = lively(make())
    imported = from_torch(module, [torch.randn(2, *shape) for shape in shapes], name)
    assert imported.missing == ()
    assert imported.difference is not None
    assert imported.difference <= 1e-5


OPAQUE = {
    "LSTM": (lambda: Last(nn.LSTM), (5, 8), ["aten.lstm.input"]),
    "GRU": (lambda: Last(nn.GRU), (5, 8), ["aten.gru.input"]),
    "unfold": (lambda: nn.Sequential(nn.Unfold(3), nn.Flatten()), (2, 4, 4), ["aten.im2col.default"]),
    "batch second": (
        lambda: nn.TransformerEncoderLayer(8, 2, 12),
        (5, 8),
        ["aten.scaled_dot_product_attention.default"],
    ),
    "more axes than a structure has": (
        lambda: nn.Sequential(nn.Unflatten(1, (2, 2, 2)), Turned(), nn.Flatten()),
        (8, 2, 3),
        ["Transpose"],
    ),
    "one number": (lambda: nn.Sequential(nn.Linear(4, 4), Product()), (4,), ["aten.prod.dim_int"]),
}


class Turned(nn.Module):
    """All axes the other way round."""

    def forward(self, x):
        return x.permute(0, 5, 4, 3, 2, 1)


class Product(nn.Module):
    """One number of many."""

    def forward(self, x):
        return x.prod(1)


@pytest.mark.parametrize("name", OPAQUE)
def test_what_has_no_symbol_is_a_named_capsule(name) -> None:
    make, shape, operators = OPAQUE[name]
    imported = from_torch(make(), torch.randn(2, *shape), name)
    assert [entry.operator for entry in imported.missing] == operators
    report = check(imported.drawing)
    assert {entry.rule for entry in report.errors} == {"opaque-operator"}
    for entry in imported.missing:
        assert report.capsules[entry.capsule].output is not None
    assert imported.difference is None
    assert operators[0] in imported.proof()


def test_what_mixes_samples_is_refused() -> None:
    with pytest.raises(ImportRefused, match=r"the output 'flatten' has the shape 4N"):
        from_torch(nn.Sequential(nn.Linear(4, 4), nn.Flatten(0)), torch.randn(2, 4))


def test_a_module_of_double_numbers() -> None:
    torch.manual_seed(0)
    imported = from_torch(nn.Linear(4, 3).double(), torch.randn(2, 4, dtype=torch.float64))
    assert imported.difference <= 1e-6
    assert all(weight.dtype == torch.float32 for weight in imported.weights.values())


TORCHVISION = (
    "resnet18", "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small", "googlenet", "densenet121", "efficientnet_b0",
    "shufflenet_v2_x0_5", "convnext_tiny", "regnet_y_400mf", "mnasnet0_5", "resnext50_32x4d", "vit_b_16",
)  # fmt: skip


@pytest.mark.soak
@pytest.mark.skipif(importlib.util.find_spec("torchvision") is None, reason="torchvision is not installed")
@pytest.mark.parametrize("name", TORCHVISION)
def test_a_classifier_of_torchvision_comes_in_whole(name) -> None:
    models = importlib.import_module("torchvision.models")
    options = {"googlenet": {"init_weights": False, "aux_logits": False}, "vit_b_16": {"image_size": 64}}
    torch.manual_seed(0)
    module = lively(models.get_model(name, weights=None, num_classes=10, **options.get(name, {})))
    imported = from_torch(module, torch.randn(2, 3, 64, 64), name)
    assert imported.missing == ()
    assert imported.difference is not None
    assert imported.difference <= 1e-5


def lively(module: nn.Module) -> nn.Module:
    """Give numbers to what begins at zero, and running statistics that are not those of the start."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in module.parameters():
            if not parameter.any():
                parameter.normal_(0, 0.1, generator=generator)
        for name, buffer in module.named_buffers():
            if "running" in name:
                buffer.uniform_(0.5, 1.5, generator=generator)
    return module
