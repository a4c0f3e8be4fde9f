"""The PyTorch reader: a live module becomes a graph through ``torch.export``, with weights and modules' names."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from inkcap.exchange.importing.aten import Calling, NotRead
from inkcap.exchange.importing.aten_targets import TARGETS
from inkcap.exchange.importing.errors import ImportRefused
from inkcap.exchange.importing.graph import BATCH, Constant, Graph, Node, Sizes

SMALLEST = 2
"""Samples of the example: torch takes a batch of 1 for a size that never changes."""

FROM_SHAPE = tuple(f"aten.{name}." for name in ("zeros", "ones", "full", "arange", "new_zeros", "new_ones", "new_full"))
"""Calls that make numbers of a shape; the numbers of what they are given do not matter."""
FORMS = "t.default transpose.int permute.default view.default reshape.default unsqueeze.default expand.default"
VIEWS = frozenset(f"aten.{form}" for form in FORMS.split())
"""Calls on weights that are followed, so that two uses of one weight stay one."""


def read_torch(module: nn.Module, example: Sequence[Tensor], name: str) -> Graph:
    """Read a module by following an example through it."""
    if not example or any(value.dim() < 1 for value in example):
        raise ImportRefused("the example must be a batch of samples for every input: give tensors of shape (2, …)")
    if len({len(value) for value in example}) != 1:
        raise ImportRefused(
            f"the inputs of the example have the batches {[len(value) for value in example]}; one is needed"
        )
    batch = tuple(value if len(value) >= SMALLEST else torch.cat([value] * SMALLEST) for value in example)
    was_training = module.training
    module.eval()
    try:
        program, fixed = _exported(module, batch, name)
    finally:
        module.train(was_training)
    return _Reading(program, len(batch[0]) if fixed else None).graph(name)


def _exported(module: nn.Module, batch: tuple[Tensor, ...], name: str) -> tuple[Any, bool]:
    """Export for any batch, or for the example's where the module wants one size."""
    any_batch = tuple({0: torch.export.Dim("batch")} for _ in batch)
    problem = ""
    with warnings.catch_warnings(), torch.no_grad(), _without_logs():
        warnings.simplefilter("ignore")
        for shapes in (any_batch, None):
            try:
                return torch.export.export(module, batch, dynamic_shapes=shapes, strict=False), shapes is None
            except Exception as error:
                problem = str(error).strip().split("\n")[0][:200] or type(error).__name__
    given = ", ".join("×".join(map(str, value.shape[1:])) or "one number" for value in batch)
    raise ImportRefused(
        f"{name}: torch cannot follow the example through it ({problem}); it was given samples of {given}, one for "
        "each input, channels first. Give as many as the module takes, each of its size"
    )


@contextmanager
def _without_logs() -> Generator[None]:
    """Keep what torch logs of a failure away from a person, who gets one line of it."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)


class _Reading:
    """Reads one exported program."""

    def __init__(self, program: Any, fixed: int | None) -> None:
        self.program = program
        self.fixed = fixed
        self.calling = Calling(self.sizes)
        self.known: dict[str, Any] = {}
        """What is known before anything enters, by the name of its call."""

    def graph(self, name: str) -> Graph:
        signature = self.program.graph_signature
        stored = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
        lifted = dict(signature.inputs_to_lifted_tensor_constants)
        inputs: dict[str, tuple[Sizes, str]] = {}
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                path = stored.get(node.name) or lifted.get(node.name)
                if path is not None:
                    source = self.program.constants if path in self.program.constants else self.program.state_dict
                    self.known[node.name] = source[path].detach()
                    self.calling.constants[node.name] = _constant(source[path], path)
                    self.calling.paths[node.name] = path
                else:
                    inputs[node.name] = self._about(node)
            elif node.op == "get_attr":
                value = self.program.graph_module
                for part in node.target.split("."):
                    value = getattr(value, part)
                self.calling.constants[node.name] = _constant(value, node.target)
            elif node.op == "call_function":
                self._call(node)
        outputs = tuple(self.calling.name_of(spec.arg.name) for spec in signature.output_specs if _is_output(spec))
        return Graph(
            name,
            self.calling.nodes,
            inputs,
            outputs,
            self.calling.constants,
            self.calling.shapes,
            batch=self.fixed,
            kind="PyTorch",
        )

    def _call(self, node: Any) -> None:
        value = node.meta.get("val")
        if isinstance(value, Tensor):
            self.calling.shapes[node.name] = self._about(node)
        if value is None or (not isinstance(value, (Tensor, list, tuple))):
            # A size, or an assertion about one: sizes are read where they are used.
            return
        self.calling.scope = _scope(node)
        target = str(node.target).removeprefix("<built-in function ").removesuffix(">")
        if self._compute(node, target):
            return
        handler = TARGETS.get(target)
        try:
            if handler is None:
                raise NotRead
            handler(self.calling, node)
        except (NotRead, IndexError, TypeError, KeyError):
            self._unknown(node, target)

    def _compute(self, node: Any, target: str) -> bool:
        """Let torch compute what nothing enters, as a weight that is made of others; views of weights stay views."""
        if target.startswith(FROM_SHAPE):
            given = [torch.empty(0, dtype=entry.meta["val"].dtype) for entry in node.args[:1] if _is_tensor(entry)]
            arguments: Any = (*given, *node.args[len(given) :])
        elif any(_is_tensor(entry) and entry.name not in self.known for entry in node.all_input_nodes):
            return False
        else:
            arguments = node.args
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            return False
        try:
            arguments, named = torch.fx.map_arg((arguments, dict(node.kwargs)), self._known_or_size)  # pyright: ignore[reportArgumentType]
            with torch.no_grad():
                self.known[node.name] = node.target(*arguments, **named)
        except (RuntimeError, TypeError, ValueError, LookupError):
            return False
        made = self.known[node.name]
        if target in VIEWS or not isinstance(made, Tensor):
            return not isinstance(made, Tensor)
        self.calling.constants[node.name] = _constant(made, node.name)
        return True

    def _known_or_size(self, entry: Any) -> Any:
        """Give what is known under a name; a batch counts as 1, which spreads over any."""
        if entry.name in self.known:
            return self.known[entry.name]
        return 1 if (size := _whole(entry)) == BATCH else size

    def _unknown(self, node: Any, target: str) -> None:
        """Pass an operator on by its name; it becomes an opaque capsule."""
        given = [entry for entry in node.all_input_nodes if isinstance(entry.meta.get("val"), Tensor)]
        names = tuple(self.calling.name_of(entry.name) for entry in given)
        value = node.meta["val"]
        if not isinstance(value, Tensor):
            outputs = tuple(f"{node.name}.{i}" for i in range(len(value)))
            for output, part in zip(outputs, value, strict=True):
                if isinstance(part, Tensor):
                    self.calling.shapes[output] = (self.sizes(part.shape), _name(part.dtype))
        else:
            outputs = (node.name,)
        self.calling.nodes.append(Node(target, names, outputs, {}, node.name, self.calling.scope))

    def _about(self, node: Any) -> tuple[Sizes, str]:
        value = node.meta["val"]
        shape = self.sizes(value.shape)
        if self.fixed is not None and shape and shape[0] == self.fixed:
            shape = (BATCH, *shape[1:])
        return shape, _name(value.dtype)

    def sizes(self, numbers: Any) -> Sizes:
        """Give sizes as whole numbers, the batch as what stands for it."""
        return tuple(_whole(number) for number in numbers)


def _whole(number: Any) -> int:
    if isinstance(number, torch.fx.Node):
        number = number.meta["val"]
    if isinstance(number, torch.SymInt):
        symbolic: Any = cast("Any", number).node
        expression: Any = symbolic.expr
        return int(expression.subs(dict.fromkeys(expression.free_symbols, BATCH)))
    return int(number)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _constant(value: Tensor, path: str) -> Constant:
    held = value.detach().cpu()
    if held.dtype == torch.bfloat16:
        held = held.float()
    return Constant(path, tuple(held.shape), _name(held.dtype), lambda: held.contiguous().numpy())


def _is_tensor(entry: Any) -> bool:
    return isinstance(entry, torch.fx.Node) and isinstance(entry.meta.get("val"), (Tensor, list, tuple))


def _is_output(spec: Any) -> bool:
    return spec.kind.name == "USER_OUTPUT" and getattr(spec.arg, "name", None) is not None


def _scope(node: Any) -> tuple[tuple[str, str], ...]:
    """Give the modules around a call, from the outside in, without the whole."""
    stack: dict[str, tuple[str, Any]] = node.meta.get("nn_module_stack") or {}
    found: list[tuple[str, str]] = []
    for path, kind in stack.values():
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
        found.append((path, name.rpartition(".")[2]))
    return tuple(entry for entry in found if entry[0])
