"""Printing: a lowered program as the PyTorch module that an experienced person would have written."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from inkcap.engine import detection, matrix_capsules, regions, rows, vectors, windows
from inkcap.engine.frozen import LAYERS
from inkcap.engine.functions import FUNCTION_FORMS, called_by
from inkcap.engine.printed import Printed
from inkcap.engine.window_forms import CONVOLUTION_DEFAULTS, TRANSPOSED_DEFAULTS, WINDOW_FORMS, options, pair
from inkcap.operations import Step
from inkcap.program import Identifiers, Layer, Lowered, class_name
from inkcap.structures import show_shape


def _spread(weight: Printed, step: Step) -> str:
    axes = len(step.shape) - 1
    return f"{weight.tight}[:{', None' * axes}]" if step.attributes["per"] == "channel" and axes else weight.tight


def _reshape(step: Step, x: Printed) -> Printed:
    shape = step.attributes["shape"]
    if len(shape) == 1:
        return Printed(f"{x.tight}.flatten(1)")
    return Printed(f"{x.tight}.reshape(-1, {', '.join(map(str, shape))})")


def _place(step: Step, x: Printed, index: Printed) -> Printed:
    return Printed(
        f"{x.text}.new_zeros({x.tight}.shape[0], {step.attributes['size']}).index_add(1, {index.text}, {x.text})"
    )


def _repeat(step: Step, x: Printed) -> Printed:
    before, after = step.attributes["before"], step.attributes["after"]
    own = len(step.shape) - len(before) - len(after)
    picked = ", ".join([":", *("None",) * len(before), *(":",) * own, *("None",) * len(after)])
    sizes = ", ".join(map(str, (-1, *before, *(-1,) * own, *after)))
    return Printed(f"{x.tight}[{picked}].expand({sizes})")


def _largest(step: Step, x: Printed) -> Printed:
    dtype = f"torch.{step.dtype}"
    return Printed(f"F.one_hot({x.tight}.argmax(1), {step.shape[0]}).to({dtype})")


def _running(share: str, step: Step, v: Sequence[Printed]) -> Printed:
    axes = (0, *range(2, len(step.shape) + 1))
    return Printed(f"torch.lerp({v[0].text}, {v[1].tight}.{share}({axes}), {step.attributes['momentum']})")


def _batch(step: Step, v: Sequence[Printed]) -> Printed:
    states = f"{v[1].text}, {v[2].text}"
    return Printed(f"F.batch_norm({v[0].text}, {states}, training=self.training, eps={step.attributes['epsilon']})")


def print_mask(step: Step, x: str) -> Printed:
    """Print the dropout of an expression."""
    at = step.attributes
    drop = "torch.feature_dropout" if at["per"] == "channel" else "F.dropout"
    dropped = f"{drop}({x}, {at['probability']}, self.training)"
    return Printed(dropped) if at["inverted"] else Printed(f"{1 - at['probability']} * {dropped}", loose=True)


def _axes(step: Step) -> str:
    axes = step.attributes["axes"]
    return str(axes[0] if len(axes) == 1 else axes)


def _channels(step: Step, x: Printed) -> Printed:
    first, count = step.attributes["first"], step.attributes["count"]
    return Printed(f"{x.tight}[:, {first or ''}:{first + count}]")


def _call(step: Step, v: Sequence[Printed]) -> Printed:
    """Print a call of the function that the module brings along for this operation."""
    options = (f"{name}={value}" for name, value in step.attributes.items())
    return Printed(f"{step.operation.name}({', '.join((*(x.text for x in v), *options))})")


FORMS: dict[str, Callable[[Step, Sequence[Printed]], Printed]] = {
    "add": lambda step, v: Printed(f"{v[0].text} + {v[1].text}", loose=True),
    "bias": lambda step, v: Printed(f"{v[0].text} + {_spread(v[1], step)}", loose=True),
    "scale": lambda step, v: Printed(f"{_spread(v[1], step)} * {v[0].tight}", loose=True),
    "matmul": lambda step, v: Printed(f"F.linear({v[1].text}, {v[0].text})"),
    "flip": lambda step, v: Printed(f"{v[0].tight}.flip({tuple(range(-step.attributes['axes'], 0))})"),
    "reshape": lambda step, v: _reshape(step, v[0]),
    "take": lambda step, v: Printed(f"{v[0].tight}[..., {v[1].text}]"),
    "place": lambda step, v: _place(step, *v),
    "relu": lambda step, v: Printed(f"F.relu({v[0].text})"),
    "sigmoid": lambda step, v: Printed(f"torch.sigmoid({v[0].text})"),
    "tanh": lambda step, v: Printed(f"torch.tanh({v[0].text})"),
    "step": lambda step, v: Printed(f"({v[0].tight} >= {step.attributes['threshold']}).to(torch.{step.dtype})"),
    "softmax": lambda step, v: Printed(f"F.softmax({v[0].text}, dim={step.attributes['axis']})"),
    "same": lambda step, v: v[0],
    "cast": lambda step, v: Printed(f"{v[0].tight}.to(torch.{step.attributes['dtype']})"),
    "multiply": lambda step, v: Printed(f"{v[0].tight} * {v[1].tight}", loose=True),
    "concatenate": lambda step, v: Printed(
        f"torch.cat(({', '.join(part.text for part in v)}), {1 + step.attributes['axis']})"
    ),
    "repeat": lambda step, v: _repeat(step, v[0]),
    "largest": lambda step, v: _largest(step, v[0]),
    "normalise": lambda step, v: Printed(
        f"F.group_norm({v[0].text}, {step.attributes['groups']}, eps={step.attributes['epsilon']})"
    ),
    "normalise_batch": _batch,
    "move_mean": lambda step, v: _running("mean", step, v),
    "move_variance": lambda step, v: _running("var", step, v),
    "random_mask": lambda step, v: print_mask(step, f"torch.ones_like({v[0].text})"),
    "transpose": lambda step, v: Printed(f"{v[0].tight}.mT"),
    "norm": lambda step, v: Printed("vector_length({0}, {1}).squeeze({1})".format(v[0].text, _axes(step))),
    "squash": lambda step, v: Printed(f"squash_vectors({v[0].text})"),
    "vote": lambda step, v: Printed(f'torch.einsum("ijba,zia->zijb", {v[0].text}, {v[1].tight}[:, 0])'),
    "couple": lambda step, v: Printed(
        f"couple_votes({v[0].text}, {step.attributes['iterations']}, {step.attributes['axis']}"
        f"{''.join(f', {bias.tight}[0]' for bias in v[1:])})"
    ),
    "combine": lambda step, v: Printed(f'torch.einsum("zij,zijb->zjb", {v[0].text}, {v[1].text})[:, None]'),
    "otherwise": lambda step, v: Printed(
        f"torch.where(({v[0].tight} != 0).any(-1, keepdim=True), {v[0].text}, {v[1].text})"
    ),
    "channels": lambda step, v: _channels(step, v[0]),
    "matrix_vote": _call,
    "class_vote": _call,
    "em_coefficients": _call,
    "em_parents": _call,
    **FUNCTION_FORMS,
    **rows.ROWS_FORMS,
    **detection.BOX_FORMS,
    **regions.REGION_FORMS,
    **WINDOW_FORMS,
}


def print_operation(step: Step, arguments: Sequence[Printed], masks: Mapping[int, Step]) -> Printed:
    """Print a step that no layer takes up; x times a mask of its own shape is the dropout of x."""
    mask = masks.get(step.arguments[-1]) if step.operation.name == "multiply" else None
    if mask is not None and mask.arguments == step.arguments[:1]:
        return print_mask(mask, arguments[0].text)
    return FORMS[step.operation.name](step, arguments)


NAMED = {"em_coefficients": "coefficients"}
"""Operations whose result has a line and a name of its own: what a reader wants to look at."""


def print_module(lowered: Lowered) -> str:
    """Print the whole module: imports, class, layers, forward."""
    network = lowered.program.network
    printer = _Printer(lowered)
    body = printer.forward()
    header = [f"class {class_name(network.name)}(nn.Module):", "    def __init__(self) -> None:"]
    lines = [
        "import torch",
        "from torch import Tensor, nn",
        "from torch.nn import functional as F",
        "",
        "",
        *printer.functions(),
        *header,
        "        super().__init__()",
        *(f"        {line}" for line in printer.declarations()),
        "",
        *body,
        "",
    ]
    return "\n".join(lines)


class _Printer:
    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered
        self.program = lowered.program
        self.identifiers = Identifiers()
        self.weight_of = {number: name for name, number in self.program.weights.items()}
        self.masks = {s.target: s for s in lowered.steps if s.operation.name == "random_mask"}
        self.expressions: dict[int, Printed] = {}
        self.arguments: list[str] = []
        self.indices = _name_indices(lowered)
        # A capsule may be called as a function is: the function's name is taken first.
        self.called = {f: self.identifiers.fresh(f.__name__) for f in called_functions(lowered)}
        for id, number in self.program.inputs.items():
            name = self.identifiers.of(id)
            self.arguments.append(name)
            self.expressions[number] = Printed(name)

    def functions(self) -> list[str]:
        """Print the functions that the forward function calls, as the engine has them."""
        return print_functions(self.called)

    def declarations(self) -> list[str]:
        """Print the layers and free parameters, in the order of the drawing."""
        own = {layer.identifier: layer for layer in self.lowered.layers.values()}
        lines = [f"self.{identifier} = {print_layer(layer)}" for identifier, layer in own.items()]
        weights = self.program.network.weights
        for name, attribute in self.lowered.parameters.items():
            structure = weights[name].structure
            dtype = "" if structure.dtype == "float32" else f", dtype=torch.{structure.dtype}"
            lines.append(f"self.{attribute} = nn.Parameter(torch.zeros({tuple(structure.shape)}{dtype}))")
        # Places of numbers belong to the module, so that they go to its device, and are no weights.
        for index, name in self.indices.items():
            lines.append(f'self.register_buffer("{name}", torch.tensor({print_numbers(index)}), persistent=False)')
        return lines

    def forward(self) -> list[str]:
        """Print the forward function: one line a capsule, its structure behind it."""
        uses = self._count_uses()
        placed = {number for s in self.lowered.steps if s.operation.name == "place" for number in s.arguments}
        capsule_of: dict[int, str] = {}
        for id, number in self.program.outputs.items():
            capsule_of.setdefault(number, id)
        lines: list[str] = []
        for step in self.lowered.steps:
            if step.target in self.lowered.inside:
                continue
            source = self.lowered.aliases.get(step.target)
            printed = self._expression(step) if source is None else self.expressions[source]
            owner = self.program.owners[step.target]
            is_output = capsule_of.get(step.target) == owner
            named = step.operation.name in NAMED
            if is_output or named or uses.get(step.target, 0) > 1 or step.target in self.lowered.returned:
                if named:
                    name = self.identifiers.fresh(f"{owner} {NAMED[step.operation.name]}")
                elif step.target in placed:
                    # Several connections into one capsule each have entries of their own.
                    name = self.identifiers.fresh(f"{owner} entries")
                else:
                    name = self.identifiers.of(owner if is_output else f"{owner} total")
                lines.append(f"        {name} = {printed.text}  # {show_shape(step.shape)}")
                printed = Printed(name)
            elif step.operation.name not in SUMS and is_deep(printed.text):
                name = self.identifiers.fresh(f"{owner} part")
                lines.append(f"        {name} = {printed.text}  # {print_sizes(step)}")
                printed = Printed(name)
            self.expressions[step.target] = printed
        result = ", ".join(self.expressions[number].text for number in self.lowered.returned)
        kind = "Tensor" if len(self.lowered.returned) == 1 else "tuple[Tensor, ...]"
        parameters = ", ".join(f"{name}: Tensor" for name in self.arguments)
        return [f"    def forward(self, {parameters}) -> {kind}:", *lines, f"        return {result}"]

    def _count_uses(self) -> dict[int, int]:
        uses: dict[int, int] = {}
        for step in self.lowered.steps:
            # What a layer does inside is no step of the printed program: neither a bias that it adds uses its sum.
            if step.target in self.lowered.aliases or step.target in self.lowered.inside:
                continue
            layer = self.lowered.layers.get(step.target)
            # What is written several times gets a line of its own.
            times = {"place": 3, "difference": 2}.get(step.operation.name, 1)
            for argument in step.arguments if layer is None else (layer.argument,):
                uses[argument] = uses.get(argument, 0) + times
        return uses

    def _expression(self, step: Step) -> Printed:
        layer = self.lowered.layers.get(step.target)
        if layer is not None:
            return Printed(f"self.{layer.identifier}({self.expressions[layer.argument].text})")
        arguments = [self._argument(number) for number in step.arguments]
        if "index" in step.attributes:
            arguments.append(Printed(f"self.{self.indices[step.attributes['index']]}"))
        return print_operation(step, arguments, self.masks)

    def _argument(self, number: int) -> Printed:
        if number in self.weight_of:
            return Printed(f"self.{self.lowered.parameters[self.weight_of[number]]}")
        return self.expressions[number]


def print_functions(functions: Iterable[Callable[..., Any]]) -> list[str]:
    """Print functions of the engine as they stand there, with two blank lines after each."""
    return [line for function in functions for line in (*_lines_of(function), "", "")]


@cache
def _lines_of(function: Callable[..., Any]) -> list[str]:
    # What is said to the type checker about torch is of no use to a reader.
    return [line.partition("  # pyright:")[0] for line in inspect.getsource(function).rstrip().split("\n")]


def called_functions(lowered: Lowered) -> dict[Callable[..., Any], None]:
    """Give the functions of the engine that the printed steps call, in the order of their first call."""
    printed = {
        **vectors.PRINTED,
        **matrix_capsules.PRINTED,
        **windows.PRINTED,
        **rows.PRINTED,
        **detection.PRINTED,
        **regions.PRINTED,
    }
    called = {f: None for step in lowered.steps for f in printed.get(step.operation.name, called_by(step))}
    return called | {LAYERS[name]: None for layer in lowered.layers.values() if (name := _worn_class(layer)) in LAYERS}


def print_sizes(step: Step) -> str:
    """Print the structure of a value for a comment."""
    # Coupling coefficients are a matrix, which no capsule has: children × parents.
    return show_shape(step.shape) if len(step.shape) != 2 else "×".join(map(str, step.shape))


DEEP_EXPRESSION = 3
"""An expression of as many brackets but those of layers gets a line of its own, unless it is a sum, whose terms are
read one by one; letters are not counted, so that what is printed does not depend on how things are called."""
SUMS = frozenset({"add", "bias"})
LAYER_CALL = re.compile(r"\bself\.\w+\(")


def is_deep(text: str) -> bool:
    """Tell whether an expression deserves a line of its own."""
    return text.count("(") - len(LAYER_CALL.findall(text)) >= DEEP_EXPRESSION


LONG_LIST = 1000
"""From so many numbers on a list is printed as one text: Python reads that at once, whatever its length."""


def print_numbers(index: tuple[int, ...]) -> str:
    """Print a list of places."""
    if len(index) < LONG_LIST:
        return str(list(index))
    return f'[int(n) for n in "{" ".join(map(str, index))}".split()]'


def _name_indices(lowered: Lowered) -> dict[tuple[int, ...], str]:
    """Name every list of places that the steps use, apart from the layers and parameters."""
    identifiers = Identifiers()
    for taken in (*(layer.identifier for layer in lowered.layers.values()), *lowered.parameters.values()):
        identifiers.fresh(taken)
    named: dict[tuple[int, ...], str] = {}
    for step in lowered.steps:
        if "index" in step.attributes and step.attributes["index"] not in named:
            kind = "to" if step.operation.name == "place" else "from"
            named[step.attributes["index"]] = identifiers.fresh(f"{lowered.program.owners[step.target]}_{kind}")
    return named


def _worn_class(layer: Layer) -> str:
    """Give the class of the layer that a worn part is."""
    if layer.worn is None:
        return ""
    return layer.worn.part.record.layer(layer.worn.argument.shape, layer.worn.part.attributes).partition("(")[0]


def print_layer(layer: Layer) -> str:
    """Print what makes a layer."""
    step = layer.step
    dtype = "" if step.dtype == "float32" else f", dtype=torch.{step.dtype}"
    if layer.worn is not None:
        part = layer.worn.part
        text = part.record.layer(layer.worn.argument.shape, part.attributes)
        return f"{'' if _worn_class(layer) in LAYERS else 'nn.'}{text[:-1]}{dtype if layer.held else ''})"
    if layer.kind == "PReLU":
        return f"nn.PReLU({layer.weight_shape[0]}{dtype})"
    bias = "" if "bias" in layer.held else ", bias=False"
    weight = layer.weight_shape
    if layer.kind == "Linear":
        return f"nn.Linear({weight[1]}, {weight[0]}{bias}{dtype})"
    kernels, depth, *kernel = weight
    if layer.kind.startswith("ConvTranspose"):
        stated = options(step, TRANSPOSED_DEFAULTS)
        each = depth * step.attributes["groups"]
        return f"nn.{layer.kind}({kernels}, {each}, {pair(kernel)}{stated}{bias}{dtype})"
    stated = options(step, CONVOLUTION_DEFAULTS)
    channels = depth * step.attributes["groups"]
    return f"nn.{layer.kind}({channels}, {kernels}, {pair(kernel)}{stated}{bias}{dtype})"
