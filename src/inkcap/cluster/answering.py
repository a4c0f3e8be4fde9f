"""Answers to more samples than fit into memory: over Ray Data, piece by piece, into Parquet files."""

import glob
import os
import platform
import secrets
import shutil
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inkcap.cluster.columns import table_of
from inkcap.cluster.errors import ClusterError
from inkcap.cluster.joining import Cluster
from inkcap.cluster.knocking import interrupted_without_head
from inkcap.cluster.quiet import data_quiet
from inkcap.recipes import DataSpec, RunFolder
from inkcap.recipes.liveness import has_ended, own_process
from inkcap.recipes.strict import dump
from inkcap.structures.atomic import sync_folder, write_atomic, write_atomic_with
from inkcap.structures.errors import InkcapError

if TYPE_CHECKING:
    from inkcap.engine.inference import EngineMaker, EngineName
    from inkcap.recipes.runfolder import WeightsName
    from inkcap.training.data.pieces import Piece, Pieces

FORMAT, VERSION = "inkcap-answers", 1
SUMMARY = "_summary.json"
"""Readers of Parquet folders leave out what begins so."""
_OWNER = "owner"
_WORK = ".work"
"""In the folder of the answers, until they are whole: what was unpacked, and how often pieces were begun."""
MOST_AT_A_TIME = 1 << 16
_ROUNDS = 4
"""Pieces that a worker gets at least, where there are enough samples, so that all of them end together."""
_GROUP = 1 << 13
"""Rows of a file that are written at once."""
_RESTARTS = 3
"""How often a piece is begun again whose worker was killed; Ray would begin it for ever."""

Progress = Callable[[int, int], None]
"""Hears how many samples are answered, of how many."""


@dataclass(frozen=True)
class Question:
    """What every worker has to know: the run, the samples, and where the answers go."""

    run: Path
    weights: "WeightsName"
    engine: "EngineName | EngineMaker"
    resize: bool
    samples: int
    pieces: "Pieces"
    folder: Path
    workers: int


@dataclass(frozen=True)
class Answered:
    """What came of it."""

    run: str
    data: str
    folder: Path
    samples: int
    files: int
    workers: int
    seconds: float
    columns: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Give the summary as plain values."""
        told = {**asdict(self), "folder": str(self.folder), "columns": dict(self.columns)}
        return {**told, "samples_per_second": self.samples / max(self.seconds, 1e-9)}


def answer_all(
    run: RunFolder,
    spec: DataSpec,
    workspace: Path,
    out: Path,
    cluster: Cluster,
    *,
    workers: int = 0,
    weights: "WeightsName" = "best",
    engine: "EngineName | EngineMaker" = "auto",
    resize: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Answered:
    """Ask a run about all samples of a set, and write the answers into a folder, all of them or none.

    `workers` are processes of as many processors as the run has threads; 0 is as many as there is room for. Each opens
    the run once and answers piece after piece, a batch at a time. The folder has to be one that all machines see.
    """
    from inkcap.training.asking import find_pieces
    from inkcap.training.data.errors import DataError
    from inkcap.training.data.pieces import joined_up
    from inkcap.training.opened import open_run
    from inkcap.training.prediction import BATCH

    begun = time.monotonic()
    opened = open_run(run, weights)
    with whole_folder(out.resolve(), overwrite=overwrite) as folder:
        pieces = find_pieces(opened, spec, workspace, folder / _WORK)
        cpus, gpus = opened.recipe.threads or 1, 1 if cluster.gpus else 0
        workers = workers or max(1, cluster.room(cpus_each=cpus, gpus=gpus))
        cluster.require(workers, gpus=gpus, cpus_each=cpus)
        cut = pieces.cut(BATCH)
        samples = sum(piece.count for piece in cut)
        # Whole batches, so that they are the same ones, and give the same bits, however many workers there are.
        cut = joined_up(cut, min(-(-samples // (workers * _ROUNDS * BATCH)) * BATCH, MOST_AT_A_TIME))
        workers = min(workers, len(cut))
        question = Question(run.path.resolve(), weights, engine, resize, samples, pieces, folder, workers)
        done = 0
        with (
            interrupted_without_head(cluster, "nothing is written, ask again"),
            closing(_asked(question, cut, {"num_cpus": cpus, "num_gpus": gpus})) as asked,
        ):
            for count, problem in asked:
                if problem:
                    raise DataError(problem)
                done += count
                if progress is not None:
                    progress(done, samples)
        told = Answered(
            *(run.id, spec.name, out, samples, len(cut), workers),
            seconds=time.monotonic() - begun,
            columns=_schema(folder / _part(0)),
        )
        write_atomic(folder / SUMMARY, dump({"format": FORMAT, "version": VERSION, **told.to_json()}))
    return told


def _asked(question: Question, pieces: "Sequence[Piece]", each: Mapping[str, Any]) -> Generator[tuple[int, str]]:
    """Let workers answer the pieces, and give how many samples each had, or what was wrong with it."""
    import ray.data
    from ray.exceptions import RayError

    items = [{"number": number, **asdict(piece)} for number, piece in enumerate(pieces)]
    try:
        with data_quiet():
            asked = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
                Worker,
                fn_constructor_args=(question,),
                batch_size=1,
                compute=ray.data.ActorPoolStrategy(size=question.workers),
                **each,
            )
            for row in asked.iter_rows():
                yield int(row["count"]), str(row["problem"])
    except RayError as problem:
        words = str(problem).strip().splitlines() or [type(problem).__name__]
        raise ClusterError(f"the workers could not go on ({words[-1][:300]}); nothing is written, ask again.") from None


class Worker:
    """Answers pieces in a process of its own."""

    def __init__(self, question: Question) -> None:
        """Open the run; what is wrong with it is told with the first piece."""
        from inkcap.training.environment import prepare_environment

        prepare_environment()
        from inkcap.training.asking import Answering
        from inkcap.training.opened import open_run

        self.question, self.problem = question, ""
        try:
            if _counted(question.folder / _WORK / "workers") > question.workers * (_RESTARTS + 1):
                raise ClusterError(
                    f"the {question.workers} workers were killed again and again; is there too little memory for so "
                    "many? Give fewer --workers."
                )
            opened = open_run(question.run, question.weights)
            self.answering = Answering(opened, question.engine, question.samples, resize=question.resize)
        except InkcapError as problem:
            self.problem = str(problem)
        except OSError as problem:
            self.problem = _not_shared(question.folder, problem)

    def __call__(self, rows: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Answer a piece into a file of its own."""
        from inkcap.training.data.pieces import Piece

        told = {name: int(values[0]) for name, values in rows.items()}
        number, piece = told.pop("number"), Piece(**told)
        problem = self.problem
        if not problem:
            try:
                self._check_begun(number, piece)
                made = self.question.folder / _WORK / _part(number)
                write_atomic_with(made, lambda path: self._write(piece, path))
                os.replace(made, self.question.folder / _part(number))
            except InkcapError as found:
                problem = str(found)
            except OSError as found:
                problem = _not_shared(self.question.folder, found)
        return {"count": [piece.count], "problem": [problem]}

    def _check_begun(self, number: int, piece: "Piece") -> None:
        """Count how often a piece was begun, and give up when it was too often."""
        count = _counted(self.question.folder / _WORK / f"piece-{number}")
        if count > _RESTARTS + 1:
            raise ClusterError(
                f"the worker that answers the samples {piece.first} to {piece.first + piece.count - 1} was killed "
                f"{count - 1} times; is there too little memory for so many workers? Give fewer --workers."
            )

    def _write(self, piece: "Piece", path: Path) -> None:
        import pyarrow

        arrow: Any = pyarrow
        parquet: Any = import_module("pyarrow.parquet")
        names = self.question.pieces.names(piece)
        waiting, writer = list[Any](), None
        try:
            for first, count, outputs in self.answering.answers(self.question.pieces, piece):
                own = names[first - piece.first : first - piece.first + count]
                waiting.append(table_of(first, count, own, outputs))
                if writer is None:
                    writer = parquet.ParquetWriter(path, waiting[0].schema)
                if sum(table.num_rows for table in waiting) >= _GROUP:
                    writer.write_table(arrow.concat_tables(waiting))
                    waiting.clear()
            if waiting and writer is not None:
                writer.write_table(arrow.concat_tables(waiting))
        finally:
            if writer is not None:
                writer.close()


def _not_shared(folder: Path, problem: OSError) -> str:
    return (
        f"{folder.parent} cannot be written on the machine {platform.node()} ({problem.strerror or problem}); give an "
        "--out that all machines of the cluster share and that has room."
    )


def _counted(path: Path) -> int:
    """Count this call, of all processes that share the file."""
    with open(path, "ab") as file:
        file.write(b".")
        return file.tell()


def _part(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _schema(path: Path) -> dict[str, str]:
    parquet: Any = import_module("pyarrow.parquet")
    return {field.name: str(field.type) for field in parquet.read_schema(path)}


def check_folder(out: Path, *, overwrite: bool) -> None:
    """Refuse a folder that answers may not take the place of."""
    there = sorted(out.iterdir()) if out.is_dir() else []
    if out.exists() and not out.is_dir():
        raise ClusterError(f"{out}: this is a file; give a folder for the answers.")
    if there and not overwrite:
        raise ClusterError(f"{out}: the folder is not empty; give --overwrite, or another --out.")
    if there and not (out / SUMMARY).is_file():
        raise ClusterError(f"{out}: the folder holds something else than answers, so it is left alone; give another.")


@contextmanager
def whole_folder(out: Path, *, overwrite: bool) -> Generator[Path]:
    """Give an empty folder that takes its place when all went well, and else is gone; older answers may be replaced."""
    _clear_up(out)
    check_folder(out, overwrite=overwrite)
    mark = secrets.token_hex(4)
    folder, aside = (out.with_name(f".{out.name}.{mark}.{end}") for end in ("tmp", "old"))
    try:
        (folder / _WORK).mkdir(parents=True)
        (folder / _WORK / _OWNER).write_text(f"{os.getpid()} {own_process()}", encoding="utf-8")
        yield folder
        _empty(folder / _WORK)
        if out.exists():
            os.rename(out, aside)
        os.rename(folder, out)
        sync_folder(out.parent)
        shutil.rmtree(out / _WORK)
    except OSError as problem:
        raise ClusterError(f"{out}: could not be written ({problem.strerror or problem}).") from None
    finally:
        if aside.exists() and not out.exists():
            os.rename(aside, out)
        for left in (folder, aside):
            shutil.rmtree(left, ignore_errors=True)


def _empty(work: Path) -> None:
    """Take away what was of use while answers were made, but not whose they are: that is known until the end."""
    for path in work.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != _OWNER:
            path.unlink()


def _clear_up(out: Path) -> None:
    """Take away what processes have left behind that were killed before their answers were whole.

    One that was killed while new answers took the place of older ones has left those under another name.
    """
    for left in (*out.parent.glob(f".{glob.escape(out.name)}.*.tmp"), out):
        with suppress(OSError, ValueError):
            pid, mark = (left / _WORK / _OWNER).read_text(encoding="utf-8").split()
            if has_ended(int(pid), mark):
                aside = left.with_suffix(".old")
                if aside.is_dir() and not out.exists():
                    os.rename(aside, out)
                shutil.rmtree(left / _WORK if left == out else left)
    for aside in out.parent.glob(f".{glob.escape(out.name)}.*.old"):
        if out.is_dir() and not aside.with_suffix(".tmp").exists():
            shutil.rmtree(aside, ignore_errors=True)
