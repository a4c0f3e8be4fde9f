"""The training script: a plain loop below the class of a torch file."""

from __future__ import annotations

from inkcap.exchange.layout import WIDTH
from inkcap.network import Network, structure_of
from inkcap.program import Identifiers, identifier

LOSSES = {
    "softmax": "F.nll_loss({y}.clamp_min(1e-12).log(), {target})",
    "sigmoid": "F.binary_cross_entropy({y}, {target})",
}
"""The loss of an output by its symbol; any other is compared by squares."""
USED = ("model", "samples", "optimizer", "total", "loss", "epoch", "epochs", "batch", "batch_size", "rate",
        "DataLoader", "TensorDataset")  # fmt: skip
"""Names that the loop uses itself."""
TARGETS = {"softmax": "numbers of classes", "sigmoid": "numbers from 0 to 1"}


def training_lines(network: Network, name: str) -> list[str]:
    """Print a function that trains, and what runs it with a module of this class."""
    identifiers = Identifiers()
    for word in USED:
        identifiers.fresh(word)
    inputs = [identifiers.fresh(id) for id in network.inputs]
    outputs = [identifiers.fresh(id) for id in network.outputs]
    targets = [identifiers.fresh(f"{identifier(id)}_target") for id in network.outputs]
    kinds = [_kind(network, id) for id in network.outputs]
    losses = [
        LOSSES.get(kind, "F.mse_loss({y}, {target})").format(y=y, target=target)
        for kind, y, target in zip(kinds, outputs, targets, strict=True)
    ]
    files = [*inputs, *targets]
    told = [f"{t}: {TARGETS.get(k, 'numbers like the output')}" for t, k in zip(targets, kinds, strict=True)]
    return [
        "",
        "",
        "def train(",
        "    model: nn.Module,",
        "    samples: TensorDataset,",
        "    epochs: int = 10,",
        "    batch_size: int = 32,",
        "    rate: float = 0.001,",
        ") -> None:",
        '    """Train a model by Adam and print the mean loss of every epoch."""',
        "    optimizer = torch.optim.Adam(model.parameters(), lr=rate)",
        "    for epoch in range(1, epochs + 1):",
        "        model.train()",
        "        total = 0.0",
        "        for batch in DataLoader(samples, batch_size, shuffle=True):",
        *_line("            ", f"{', '.join(files)}", "batch"),
        *_line("            ", ", ".join(outputs), f"model({', '.join(inputs)})"),
        f"            loss = {losses[0]}",
        *(f"            loss = loss + {loss}" for loss in losses[1:]),
        "            optimizer.zero_grad()",
        "            loss.backward()",
        "            optimizer.step()",
        "            total += loss.item() * len(batch[0])",
        '        print(f"epoch {epoch}: loss {total / len(samples):.4f}")',
        "",
        "",
        'if __name__ == "__main__":',
        f'    # samples.pt is made by torch.save([{", ".join(files)}], "samples.pt");',
        *(f"    # {line}." for line in told),
        f"    model = {name}()",
        '    train(model, TensorDataset(*torch.load("samples.pt", weights_only=True)))',
        '    torch.save(model.state_dict(), "trained.pt")',
    ]


def _kind(network: Network, id: str) -> str:
    capsule = network.capsules[id]
    return "sigmoid" if capsule.symbol == "sigmoid" else capsule.symbol if len(structure_of(capsule).sizes) == 1 else ""


def _line(indent: str, names: str, value: str) -> list[str]:
    line = f"{indent}{names} = {value}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{indent}(", *(f"{indent}    {name}," for name in names.split(", ")), f"{indent}) = {value}"]
