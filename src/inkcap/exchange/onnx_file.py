"""The ONNX file: through ``torch.onnx`` for any batch, checked by onnx and run by onnxruntime."""

from __future__ import annotations

import importlib
import importlib.util
import io
import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import torch
from torch import Tensor, nn

from inkcap.exchange.bins import shares_of_bins
from inkcap.exchange.proof import Proof, as_near_as_rounding, random_pair
from inkcap.exchange.random_weights import as_tuple, random_inputs
from inkcap.exchange.torch_file import TorchFile
from inkcap.network import Network
from inkcap.program import Identifiers, lower_to_steps
from inkcap.structures import InkcapError

TOLERANCE = 1e-4
"""How far onnxruntime may be from torch, in relation to the largest number: it sums in another order."""
NEEDED = ("onnx", "onnxruntime", "onnxscript")
EXAMPLES = 2
"""Samples of the example that is traced: torch takes 1 for a size that never changes."""
TIDYING = (
    "materialize_reshape_shape_rule",
    "remove_optional_bias_from_conv_rule",
    "remove_optional_bias_from_conv_transpose_rule",
    "remove_optional_bias_from_gemm_rule",
)
"""Rules of onnxscript that change no meaning; those that fuse layers are left out: a file says what is drawn."""
OTHER_BATCHES = (1, 3)
"""Batches of a proof, neither of them the example's."""


CHOOSING = frozenset({"select", "region_align", "region_max"})
"""Operations whose places depend on numbers, for which torch writes no ONNX."""


class OnnxError(InkcapError):
    """A network that ONNX cannot hold, or a package that is not there."""


def prove_onnx(file: TorchFile, seed: int = 0) -> Proof:
    """Export with random weights and running statistics, and compare what onnxruntime computes with the drawing."""
    ours, theirs = random_pair(file, seed)
    return Proof(check_onnx(to_onnx(file, theirs), file, ours.eval(), seed))


def to_onnx(file: TorchFile, module: nn.Module) -> bytes:
    """Give a module of a printed file as an ONNX file."""
    return to_onnx_of(file.report.network, module)


def to_onnx_of(network: Network, module: nn.Module) -> bytes:
    """Give a module of a network as an ONNX file."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise OnnxError(f"{', '.join(missing)} {are} not installed; 'pip install inkcap[onnx]' brings what ONNX needs")
    _refuse_choices(network)
    examples = random_inputs(network, 0, EXAMPLES)
    batch = torch.export.Dim("batch")
    identifiers = Identifiers()
    inputs = [identifiers.of(id) for id in network.inputs]
    # An output that is an input, or is given twice, still needs a name of its own.
    outputs = [identifiers.fresh(id) for id in network.outputs]
    try:
        with quietly():
            program: Any = torch.onnx.export(
                module.eval(),
                examples,
                input_names=inputs,
                output_names=outputs,
                dynamic_shapes=tuple({0: batch} for _ in examples),
                custom_translation_table=_translations(),
                dynamo=True,
                optimize=False,
                verbose=False,
            )
            _tidy(program.model)
            return program.model_proto.SerializeToString()
    except Exception as error:
        raise OnnxError(
            f"{network.name} was not written: torch cannot turn it into ONNX ({first_line_of(error)}); "
            "'--to torch' takes any drawing"
        ) from None


def _refuse_choices(network: Network) -> None:
    """Refuse a network that chooses boxes or reads inside of them, by the names of the capsules that do."""
    program = lower_to_steps(network)
    found = {program.owners[s.target]: None for s in program.trace.steps if s.operation.name in CHOOSING}
    if found:
        told = " and ".join(f"the {network.capsules[id].title} capsule {id}" for id in found)
        raise OnnxError(
            f"{network.name} was not written: {told} {'reads' if len(found) == 1 else 'read'} at places that depend on "
            "numbers, for which there is no ONNX; '--to torch' takes any drawing"
        )


def check_onnx(content: bytes, file: TorchFile, ours: nn.Module, seed: int = 0) -> float:
    """Check an ONNX file and give the largest difference of what onnxruntime computes to the drawing's outputs."""
    _optional("onnx").checker.check_model(content, full_check=True)
    session = open_session(content, 1)
    names: list[str] = [entry.name for entry in session.get_inputs()]
    kept = _kept_inputs(names, file)
    worst = 0.0
    for batch in OTHER_BATCHES:
        inputs = random_inputs(file.report.network, seed + batch, batch)
        with torch.no_grad():
            mine = as_tuple(ours(*inputs))
        given = {name: inputs[place].numpy() for name, place in kept.items()}
        found: list[Tensor] = [torch.from_numpy(array) for array in session.run(None, given)]
        worst = max(worst, as_near_as_rounding(ours, inputs, mine, found, TOLERANCE))
    return worst


def open_session(content: bytes, threads: int) -> Any:
    """Open an ONNX file to be run by onnxruntime with so many threads."""
    onnxruntime = _optional("onnxruntime")
    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _translations() -> dict[Any, Any]:
    """Give what torch.onnx does not know by itself."""
    operations = _optional("onnxscript").opset18

    def hypot(x: Any, y: Any) -> Any:
        return operations.Sqrt(operations.Add(operations.Mul(x, x), operations.Mul(y, y)))

    def means_of_bins(x: Any, output_size: Any) -> Any:
        # Left to itself torch writes gathers and masks where bins overlap, which nobody would recognise.
        counts, sizes = [int(count) for count in output_size], [int(size) for size in x.shape[2:]]
        if counts == [1, 1]:
            return operations.ReduceMean(x, operations.Constant(value_ints=[2, 3]), keepdims=1)
        if not any(size % count for size, count in zip(sizes, counts, strict=True)):
            window = [size // count for size, count in zip(sizes, counts, strict=True)]
            return operations.AveragePool(x, kernel_shape=window, strides=window)
        rows, columns = (shares_of_bins(size, count) for size, count in zip(sizes, counts, strict=True))
        down: Any = operations.Constant(value=_optional("onnx.numpy_helper").from_array(rows))
        across: Any = operations.Constant(value=_optional("onnx.numpy_helper").from_array(columns.T.copy()))
        return operations.MatMul(operations.MatMul(down, x), across)

    return {torch.ops.aten.hypot.default: hypot, torch.ops.aten.adaptive_avg_pool2d.default: means_of_bins}


def _tidy(model: Any) -> None:
    """Fold what is known and drop what does nothing; a batch norm stays, and is not merged into kernels before it."""
    optimizer, rules = _optional("onnxscript.optimizer"), _optional("onnxscript.rewriter.rules.common")
    optimizer.inline(model)
    optimizer.fold_constants(model)
    kept = [getattr(rules, name) for name in TIDYING]
    _optional("onnxscript.rewriter").rewrite(model, pattern_rewrite_rules=kept)
    optimizer.remove_unused_nodes(model)


def _optional(name: str) -> Any:
    """Import a package of the extra ``onnx``, about whose types nothing is known."""
    return importlib.import_module(name)


def _kept_inputs(names: list[str], file: TorchFile) -> dict[str, int]:
    """Give the place of each input that the file has: one that nothing depends on may be gone."""
    identifiers = Identifiers()
    places = {identifiers.of(id): place for place, id in enumerate(file.report.network.inputs)}
    return {name: places[name] for name in names}


def first_line_of(error: BaseException) -> str:
    """Say in one line what was behind an error."""
    while error.__cause__ is not None:
        error = error.__cause__
    return (str(error).strip() or type(error).__name__).split("\n")[0][:200]


@contextmanager
def quietly() -> Generator[None]:
    """Keep what the exporter says about itself away from a person."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
