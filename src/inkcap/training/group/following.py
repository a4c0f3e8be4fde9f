"""A member that writes nothing: it takes the same steps as the one that does, and comes to the same end."""

from __future__ import annotations

from inkcap.recipes import RunFolder
from inkcap.structures.errors import RunFailure
from inkcap.training.allocator import kept_memory
from inkcap.training.group.together import Together
from inkcap.training.jobs import Job
from inkcap.training.loop import go_on
from inkcap.training.running import RunResult, result_of
from inkcap.training.session import Course, Outcome, Session
from inkcap.training.snapshots import restore


def follow_job(job: Job, course: Course, folder: RunFolder, together: Together) -> RunResult:
    """Train with the others, and give what came of it; the folder is the first member's."""
    outcome = Outcome()
    together.keep(course, None, None)
    session = Session(course, outcome)
    if job.start.snapshot is not None:
        restore(session, together.own_part(job.start.snapshot), job.start.place)
    try:
        with kept_memory():
            go_on(session)
    except (RuntimeError, MemoryError) as problem:
        words = job.needs.failure(problem)
        if not words:
            raise
        raise RunFailure(f"{folder.id}: {words}.") from None
    job.stop.saving = True
    return result_of(folder, job, outcome, "interrupted" if outcome.interrupted else "finished", ())
