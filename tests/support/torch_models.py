"""Networks written by hand in torch, with the names that torchvision's files of weights have, to compare with.

Each is its network made small: ``width`` divides the published numbers of channels.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def conv_norm(ins: int, outs: int, kernel: int, stride: int = 1) -> tuple[nn.Conv2d, nn.BatchNorm2d]:
    return nn.Conv2d(ins, outs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outs)


class Block(nn.Module):
    """A residual block: two 3×3 convolutions, or 1×1, 3×3, 1×1."""

    def __init__(self, ins: int, width: int, stride: int, deep: bool) -> None:
        super().__init__()
        outs = 4 * width if deep else width
        plan = [(width, 1, 1), (width, 3, stride), (outs, 1, 1)] if deep else [(width, 3, stride), (width, 3, 1)]
        self.count = len(plan)
        last = ins
        for number, (channels, kernel, step) in enumerate(plan, 1):
            conv, norm = conv_norm(last, channels, kernel, step)
            self.add_module(f"conv{number}", conv)
            self.add_module(f"bn{number}", norm)
            last = channels
        changed = stride != 1 or ins != outs
        self.downsample = nn.Sequential(*conv_norm(ins, outs, 1, stride)) if changed else None

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for number in range(1, self.count + 1):
            y = getattr(self, f"bn{number}")(getattr(self, f"conv{number}")(y))
            y = y if number == self.count else torch.relu(y)
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, blocks: tuple[int, ...], deep: bool, width: int, classes: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv_norm(3, width, 7, 2)
        ins = width
        for stage, count in enumerate(blocks):
            layers = []
            for number in range(count):
                stride = 2 if stage and not number else 1
                layers.append(Block(ins, width * 2**stage, stride, deep))
                ins = width * 2**stage * (4 if deep else 1)
            self.add_module(f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(ins, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for stage in range(1, 5):
            x = getattr(self, f"layer{stage}")(x)
        return self.fc(x.mean((2, 3)))


class Classifying(nn.Module):
    """What AlexNet and VGG have in common: features, and a classifier of three full connections."""

    def __init__(self, features: list[nn.Module], classifier: list[nn.Module]) -> None:
        super().__init__()
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(*classifier)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).flatten(1))


def vgg(plan: tuple[int, ...], normalised: bool, width: int, dense: int, classes: int) -> Classifying:
    features: list[nn.Module] = []
    ins = 3
    for stage, count in enumerate(plan):
        outs = min(width * 2**stage, width * 8)
        for _ in range(count):
            features += [nn.Conv2d(ins, outs, 3, 1, 1)]
            features += [nn.BatchNorm2d(outs)] if normalised else []
            features += [nn.ReLU()]
            ins = outs
        features += [nn.MaxPool2d(2)]
    classifier = [nn.Linear(ins, dense), nn.ReLU(), nn.Dropout(), nn.Linear(dense, dense), nn.ReLU(), nn.Dropout()]
    return Classifying(features, [*classifier, nn.Linear(dense, classes)])


def alexnet(width: int, dense: int, classes: int) -> Classifying:
    pool = nn.MaxPool2d(3, 2)
    features = [
        nn.Conv2d(3, width, 11, 4, 2), nn.ReLU(), pool,
        nn.Conv2d(width, 3 * width, 5, 1, 2), nn.ReLU(), pool,
        nn.Conv2d(3 * width, 6 * width, 3, 1, 1), nn.ReLU(),
        nn.Conv2d(6 * width, 4 * width, 3, 1, 1), nn.ReLU(),
        nn.Conv2d(4 * width, 4 * width, 3, 1, 1), nn.ReLU(), pool,
    ]  # fmt: skip
    ends = [nn.Dropout(), nn.Linear(4 * width, dense), nn.ReLU(), nn.Dropout(), nn.Linear(dense, dense), nn.ReLU()]
    return Classifying(features, [*ends, nn.Linear(dense, classes)])


class Fire(nn.Module):
    def __init__(self, ins: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(ins, squeeze, 1)
        self.expand1x1 = nn.Conv2d(squeeze, expand, 1)
        self.expand3x3 = nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.expand1x1(x)), torch.relu(self.expand3x3(x))], 1)


class SqueezeNet(nn.Module):
    def __init__(self, older: bool, shrink: int, classes: int) -> None:
        super().__init__()
        first = (96 if older else 64) // shrink
        plan = ["pool", 16, 16, 32, "pool", 32, 48, 48, 64, "pool", 64]
        if not older:
            plan = ["pool", 16, 16, "pool", 32, 32, "pool", 48, 48, 64, 64]
        features = [nn.Conv2d(3, first, 7 if older else 3, 2), nn.ReLU()]
        ins = first
        for entry in plan:
            if isinstance(entry, str):
                features.append(nn.MaxPool2d(3, 2, ceil_mode=True))
            else:
                features.append(Fire(ins, entry // shrink, 4 * entry // shrink))
                ins = 8 * entry // shrink
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(), nn.Conv2d(ins, classes, 1), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x)).mean((2, 3))


class ConvNorm(nn.Module):
    def __init__(self, ins: int, outs: int, kernel: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(ins, outs, kernel, stride, kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(outs, eps=1e-3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.bn(self.conv(x)))


class Inception(nn.Module):
    def __init__(self, ins: int, one: int, red3: int, three: int, red5: int, five: int, pooled: int) -> None:
        super().__init__()
        self.branch1 = ConvNorm(ins, one, 1)
        self.branch2 = nn.Sequential(ConvNorm(ins, red3, 1), ConvNorm(red3, three, 3))
        self.branch3 = nn.Sequential(ConvNorm(ins, red5, 1), ConvNorm(red5, five, 3))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, 1, 1), ConvNorm(ins, pooled, 1))
        self.outs = one + three + five + pooled

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in (self.branch1, self.branch2, self.branch3, self.branch4)], 1)


class Auxiliary(nn.Module):
    def __init__(self, ins: int, shrink: int, classes: int) -> None:
        super().__init__()
        self.conv = ConvNorm(ins, 128 // shrink, 1)
        self.fc1 = nn.Linear(2048 // shrink, 1024 // shrink)
        self.fc2 = nn.Linear(1024 // shrink, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(functional.adaptive_avg_pool2d(x, 4)).flatten(1)
        return self.fc2(torch.relu(self.fc1(x)))


INCEPTIONS = {
    "3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64), "4b": (160, 112, 224, 24, 64, 64), "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64), "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128), "5b": (384, 192, 384, 48, 128, 128),
}  # fmt: skip


class GoogLeNet(nn.Module):
    def __init__(self, heads: bool, shrink: int, classes: int) -> None:
        super().__init__()
        self.conv1 = ConvNorm(3, 64 // shrink, 7, 2)
        self.conv2 = ConvNorm(64 // shrink, 64 // shrink, 1)
        self.conv3 = ConvNorm(64 // shrink, 192 // shrink, 3)
        ins = 192 // shrink
        at: dict[str, int] = {}
        for name, widths in INCEPTIONS.items():
            module = Inception(ins, *(width // shrink for width in widths))
            self.add_module(f"inception{name}", module)
            ins = at[name] = module.outs
        self.fc = nn.Linear(ins, classes)
        if heads:
            self.aux1 = Auxiliary(at["4a"], shrink, classes)
            self.aux2 = Auxiliary(at["4d"], shrink, classes)
        self.heads = heads

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        x = functional.max_pool2d(self.conv1(x), 3, 2, ceil_mode=True)
        x = functional.max_pool2d(self.conv3(self.conv2(x)), 3, 2, ceil_mode=True)
        seen: dict[str, Tensor] = {}
        for name in INCEPTIONS:
            x = seen[name] = getattr(self, f"inception{name}")(x)
            if name in ("3b", "4e"):
                x = functional.max_pool2d(x, 3 if name == "3b" else 2, 2, ceil_mode=True)
        main = self.fc(x.mean((2, 3)))
        return (main, self.aux1(seen["4a"]), self.aux2(seen["4d"])) if self.heads else (main,)


class DenseLayer(nn.Module):
    def __init__(self, ins: int, growth: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(ins)
        self.conv1 = nn.Conv2d(ins, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv2(torch.relu(self.norm2(self.conv1(torch.relu(self.norm1(x))))))


class DenseNet(nn.Module):
    def __init__(self, blocks: tuple[int, ...], growth: int, classes: int) -> None:
        super().__init__()
        channels = 2 * growth
        self.features = nn.Module()
        self.features.conv0 = nn.Conv2d(3, channels, 7, 2, 3, bias=False)
        self.features.norm0 = nn.BatchNorm2d(channels)
        self.blocks = blocks
        for block, count in enumerate(blocks, 1):
            layers = nn.Module()
            for number in range(1, count + 1):
                layers.add_module(f"denselayer{number}", DenseLayer(channels, growth))
                channels += growth
            self.features.add_module(f"denseblock{block}", layers)
            if block < len(blocks):
                between = nn.Module()
                between.norm = nn.BatchNorm2d(channels)
                between.conv = nn.Conv2d(channels, channels // 2, 1, bias=False)
                self.features.add_module(f"transition{block}", between)
                channels //= 2
        self.features.norm5 = nn.BatchNorm2d(channels)
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.features
        x = functional.max_pool2d(torch.relu(parts.norm0(parts.conv0(x))), 3, 2, 1)
        for block, count in enumerate(self.blocks, 1):
            layers = getattr(parts, f"denseblock{block}")
            for number in range(1, count + 1):
                x = torch.cat([x, getattr(layers, f"denselayer{number}")(x)], 1)
            if block < len(self.blocks):
                between = getattr(parts, f"transition{block}")
                x = functional.avg_pool2d(between.conv(torch.relu(between.norm(x))), 2)
        return self.classifier(torch.relu(parts.norm5(x)).mean((2, 3)))
