"""What a studio should be: drawings with a past, runs, and bins from which things come back; nothing of how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from inkcap.drawing import Drawing, Edit, from_text
from inkcap.structures.errors import InkcapError
from inkcap.studio.commands import command_of


@dataclass
class Past:
    """A drawing as one person sees it: every state, and which of them undo and redo lead to."""

    drawing: Drawing
    name: str
    states: list[str] = field(default_factory=list[str])
    """The text after each edit; the first is the beginning."""
    done: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    undone: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    writer: int = 0
    """Naming is somebody else's edit: whoever draws after it is a new person, whose undo begins there."""
    since: int = 0

    @classmethod
    def begin(cls, drawing: Drawing, name: str) -> Past:
        return cls(drawing, name, [drawing.to_text()])

    def edit(self, edit: Edit) -> bool:
        """Apply an edit; tell whether it is one that is accepted."""
        return self._change(lambda copy: copy.apply(edit))

    def command(self, name: str, arguments: dict[str, Any]) -> bool:
        """Do what a command says, where it can be done."""

        def work(copy: Drawing) -> None:
            command_of(name, arguments)(copy)

        return self._change(work)

    def _change(self, work: Any) -> bool:
        copy = self.drawing.copy()
        try:
            work(copy)
        except InkcapError:
            return False
        before = self.drawing.to_text()
        self._go(copy.to_text())
        self.done.append((before, self.states[-1]))
        self.undone.clear()
        return True

    def undo(self) -> bool:
        if not self.done:
            return False
        before, after = self.done.pop()
        self.undone.append((before, after))
        self._go(before)
        return True

    def redo(self) -> bool:
        if not self.undone:
            return False
        before, after = self.undone.pop()
        self.done.append((before, after))
        self._go(after)
        return True

    def restore(self, seq: int) -> bool:
        """Go back to a state, as an edit of its own."""
        if from_text(self.states[seq]) == self.drawing:
            return False
        before = self.drawing.to_text()
        self._go(self.states[seq])
        self.done.append((before, self.states[-1]))
        self.undone.clear()
        return True

    def rename(self, name: str) -> None:
        renamed = Drawing.copy(self.drawing)
        renamed.apply(Edit.from_json({"label": "name", "patches": [meta(name, renamed.dtype)]}))
        self._go(renamed.to_text())
        self.name, self.done, self.undone = name, [], []
        self.writer += 1
        self.since = len(self.states) - 1

    def _go(self, text: str) -> None:
        self.drawing = from_text(text)
        self.states.append(text)


def meta(name: str, dtype: str) -> dict[str, Any]:
    """A patch that names a drawing."""
    return {"put": "meta", "id": "meta", "record": {"name": name, "dtype": dtype}}


@dataclass
class Model:
    """A whole studio: what is there by its id, and what was thrown away by what brings it back."""

    drawings: dict[str, Past] = field(default_factory=dict[str, Past])
    binned: dict[str, tuple[str, Past]] = field(default_factory=dict[str, "tuple[str, Past]"])
    runs: dict[str, str] = field(default_factory=dict[str, str])
    """The state of each run by its name."""
    binned_runs: dict[str, tuple[str, str]] = field(default_factory=dict[str, "tuple[str, str]"])
    notes: dict[str, tuple[str, list[str]]] = field(default_factory=dict[str, "tuple[str, list[str]]"])
    """The note and the tags of each run; those of one that is put away stay with what brings it back."""
    origins: dict[str, str] = field(default_factory=dict[str, str])
    """The drawing that a run was started from, or that was made from its copy."""
    copies: dict[str, str] = field(default_factory=dict[str, str])
    """The drawing that each run keeps itself."""
    belongings: dict[str, dict[str, Any]] = field(default_factory=dict[str, "dict[str, Any]"])
    """What a run had that was put away, by what brings it back."""
    data: dict[str, bytes] = field(default_factory=dict[str, bytes])
    sweeps: set[str] = field(default_factory=set[str])
    binned_sweeps: dict[str, str] = field(default_factory=dict[str, str])

    def put_run_away(self, name: str, token: str) -> None:
        """Forget a run, with all that it had."""
        self.binned_runs[token] = (name, self.runs.pop(name))
        kept = {part: getattr(self, part) for part in ("notes", "origins", "copies")}
        self.belongings[token] = {part: there.pop(name) for part, there in kept.items() if name in there}

    def bring_run_back(self, token: str, name: str) -> None:
        """Know a run again, which may have another name now."""
        self.runs[name] = self.binned_runs.pop(token)[1]
        for part, value in self.belongings.pop(token).items():
            getattr(self, part)[name] = value

    def delete(self, id: str, token: str) -> None:
        self.binned[token] = (id, self.drawings.pop(id))

    def undelete(self, token: str) -> str:
        id, past = self.binned.pop(token)
        self.drawings[id] = past
        return id
