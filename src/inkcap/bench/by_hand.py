"""The networks as idiomatic PyTorch, written by hand: what everything else is measured against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from inkcap.bench.cases import Case


class MLP(nn.Module):
    """A multilayer perceptron with ReLU."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))

    def forward(self, x: Tensor) -> Tensor:
        """Give the scores of the classes."""
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class Chain(nn.Module):
    """Convolutions one after another, and one full layer behind their mean."""

    def __init__(self, channels: int, depth: int) -> None:
        super().__init__()
        widths = (3, *(channels,) * depth)
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in pairwise(widths))
        self.fc = nn.Linear(channels, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Give the scores of the classes."""
        for conv in self.convs:
            x = F.relu(conv(x))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class LeNet(nn.Module):
    """LeNet with 32, 64 and 512 units, for images of 28×28."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 5)
        self.conv2 = nn.Conv2d(32, 64, 5)
        self.fc1 = nn.Linear(1024, 512)
        self.fc2 = nn.Linear(512, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Give the scores of the classes."""
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.flatten(1)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


class AlexNet(nn.Module):
    """AlexNet of one tower, for images of 64×64."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
        )
        self.classifier = nn.Sequential(
            nn.Linear(256, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(),
            nn.Linear(4096, 10),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Give the scores of the classes."""
        return self.classifier(self.features(x).flatten(1))


class ConvNorm(nn.Module):
    """A convolution without bias, batch norm and ReLU."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve, normalise, rectify."""
        return F.relu(self.norm(self.conv(x)), inplace=True)


class Inception(nn.Module):
    """Four branches that see the same maps."""

    def __init__(self, inputs: int, ones: int, reduce3: int, threes: int, reduce5: int, fives: int, pooled: int):
        super().__init__()
        self.one = ConvNorm(inputs, ones, 1)
        self.three = nn.Sequential(ConvNorm(inputs, reduce3, 1), ConvNorm(reduce3, threes, 3))
        self.five = nn.Sequential(ConvNorm(inputs, reduce5, 1), ConvNorm(reduce5, fives, 3))
        self.pool = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), ConvNorm(inputs, pooled, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Give what the branches give, one behind another."""
        return torch.cat((self.one(x), self.three(x), self.five(x), self.pool(x)), 1)


class GoogLeNet(nn.Module):
    """GoogLeNet with batch norm, without the two heads that help it to learn."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = ConvNorm(3, 64, 7, 2)
        self.conv2 = ConvNorm(64, 64, 1)
        self.conv3 = ConvNorm(64, 192, 3)
        self.m3a = Inception(192, 64, 96, 128, 16, 32, 32)
        self.m3b = Inception(256, 128, 128, 192, 32, 96, 64)
        self.m4a = Inception(480, 192, 96, 208, 16, 48, 64)
        self.m4b = Inception(512, 160, 112, 224, 24, 64, 64)
        self.m4c = Inception(512, 128, 128, 256, 24, 64, 64)
        self.m4d = Inception(512, 112, 144, 288, 32, 64, 64)
        self.m4e = Inception(528, 256, 160, 320, 32, 128, 128)
        self.m5a = Inception(832, 256, 160, 320, 32, 128, 128)
        self.m5b = Inception(832, 384, 192, 384, 48, 128, 128)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(1024, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Give the scores of the classes."""
        x = F.max_pool2d(self.conv1(x), 3, 2, ceil_mode=True)
        x = F.max_pool2d(self.conv3(self.conv2(x)), 3, 2, ceil_mode=True)
        x = F.max_pool2d(self.m3b(self.m3a(x)), 3, 2, ceil_mode=True)
        x = self.m4e(self.m4d(self.m4c(self.m4b(self.m4a(x)))))
        x = self.m5b(self.m5a(F.max_pool2d(x, 2, 2, ceil_mode=True)))
        return self.fc(self.dropout(F.adaptive_avg_pool2d(x, 1).flatten(1)))


class Residual(nn.Module):
    """Two convolutions of 3×3 whose input is added to what they give."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module | None = None
        if stride != 1 or inputs != width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        """Compute the block."""
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += shortcut
        return self.relu(out)


class ResNet18(nn.Module):
    """ResNet of 18 layers, with its first kernels of 7×7."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        widths = (64, 64, 128, 256, 512)
        self.layers = nn.Sequential(
            *(
                nn.Sequential(Residual(before, width, 1 if width == 64 else 2), Residual(width, width, 1))
                for before, width in pairwise(widths)
            )
        )
        self.fc = nn.Linear(512, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Give the scores of the classes."""
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        x = self.layers(F.max_pool2d(x, 3, 2, 1))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class DenseLayer(nn.Module):
    """A layer that adds 32 channels to what it sees."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, 128, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(128)
        self.conv2 = nn.Conv2d(128, 32, 3, padding=1, bias=False)

    def forward(self, seen: list[Tensor]) -> Tensor:
        """Compute the new channels from all that came before."""
        x = self.conv1(F.relu(self.norm1(torch.cat(seen, 1)), inplace=True))
        return self.conv2(F.relu(self.norm2(x), inplace=True))


class DenseNet121(nn.Module):
    """DenseNet of 121 layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv0, self.norm0 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.blocks, self.norms, self.transitions = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        channels = 64
        for layers in (6, 12, 24, 16):
            self.blocks.append(nn.ModuleList(DenseLayer(channels + 32 * number) for number in range(layers)))
            channels += 32 * layers
            self.norms.append(nn.BatchNorm2d(channels))
            if layers != 16:
                self.transitions.append(nn.Conv2d(channels, channels // 2, 1, bias=False))
                channels //= 2
        self.fc = nn.Linear(channels, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Give the scores of the classes."""
        x = F.max_pool2d(F.relu(self.norm0(self.conv0(x)), inplace=True), 3, 2, 1)
        for number, (block, norm) in enumerate(zip(self.blocks, self.norms, strict=True)):
            assert isinstance(block, nn.ModuleList)
            seen = [x]
            for layer in block:
                seen.append(layer(seen))
            x = F.relu(norm(torch.cat(seen, 1)), inplace=True)
            if number < len(self.transitions):
                x = F.avg_pool2d(self.transitions[number](x), 2)
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def squash(s: Tensor) -> Tensor:
    """Shorten vectors to less than 1."""
    squared = s.square().sum(-1, keepdim=True)
    return s * (squared.sqrt() / (1 + squared))


class CapsNet(nn.Module):
    """CapsNet with three rounds of routing, and its decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 256, 9)
        self.primary = nn.Conv2d(256, 256, 9, stride=2)
        self.votes = nn.Parameter(torch.empty(1152, 10, 16, 8).uniform_(-0.3536, 0.3536))
        self.dec1 = nn.Linear(160, 512)
        self.dec2 = nn.Linear(512, 1024)
        self.dec3 = nn.Linear(1024, 784)

    def forward(self, x: Tensor, label: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Give the lengths of the digit capsules, and the image as the decoder draws it."""
        x = self.primary(F.relu(self.conv1(x)))
        u = squash(x.view(-1, 32, 8, 36).transpose(2, 3).reshape(-1, 1152, 8))
        votes = torch.einsum("ijba,zia->zijb", self.votes, u)
        logits = votes.new_zeros(votes.shape[:3])
        v = votes.new_zeros(())
        for turn in range(3):
            if turn:
                logits = logits + (votes * v[:, None]).sum(-1)
            v = squash((logits.softmax(2)[..., None] * votes).sum(1))
        length = v.square().sum(-1).sqrt()
        chosen = length.argmax(1) if label is None else label
        masked = v * F.one_hot(chosen, 10).to(v.dtype)[..., None]
        drawn = self.dec3(F.relu(self.dec2(F.relu(self.dec1(masked.flatten(1))))))
        return length, torch.sigmoid(drawn)


MODULES: Mapping[str, Callable[[Case], nn.Module]] = {
    "mlp": lambda case: MLP(case.sizes),
    "chain": lambda case: Chain(*case.sizes),
    "lenet": lambda _: LeNet(),
    "alexnet": lambda _: AlexNet(),
    "googlenet": lambda _: GoogLeNet(),
    "densenet": lambda _: DenseNet121(),
    "resnet18": lambda _: ResNet18(),
    "capsnet": lambda _: CapsNet(),
}
"""The module of each family of cases."""


def margin_loss(length: Tensor, label: Tensor) -> Tensor:
    """CapsNet's loss: the right capsule is longer than 0.9, all others are shorter than 0.1."""
    right = F.one_hot(label, 10).to(length.dtype)
    short, long = F.relu(0.9 - length).square(), F.relu(length - 0.1).square()
    return (right * short + 0.5 * (1 - right) * long).sum(1).mean()
