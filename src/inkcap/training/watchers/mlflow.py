"""A run of MLflow beside ours: parameters, metrics, tags and artifacts, where it was asked for and nowhere else.

Which run of MLflow it is, and how many lines of each log it has, stands in the folder: a run that goes on sends the
rest.
"""

import json
import math
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from inkcap.recipes import layout
from inkcap.structures.atomic import write_atomic
from inkcap.training.watchers.beside import Line

FILE = "mlflow.json"
ARTIFACTS = (layout.DRAWING, layout.RECIPE, layout.ENVIRONMENT, layout.DATA, layout.SUMMARY, layout.BEST)
STATES = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
LONGEST_PARAMETER = 500
MOST_PARAMETERS = 100
_QUIET = {
    # Nothing is told to anyone who was not asked for, and a server that is away is not waited for.
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
}


class Tracking:
    """Logs to a tracking server or folder."""

    name = "mlflow"

    def __init__(self, run: Path, uri: str, facts: Mapping[str, Any]) -> None:
        """Know where to log, and what is known of the run."""
        self.run, self.uri, self.facts = run, uri, facts
        self.client: Any = None
        self.id = ""
        self.logged: dict[str, int] = {}

    def begin(self) -> None:
        """Go on with the run of MLflow that there is, or make one."""
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        from mlflow.tracking import MlflowClient  # pyright: ignore[reportUnknownVariableType, reportMissingImports]

        make: Any = MlflowClient
        self.client = make(tracking_uri=self.uri)
        known = self._known()
        if known.get("uri") == self.uri and isinstance(known.get("run"), str):
            self.id, self.logged = known["run"], dict(known["logged"])
            self.client.set_terminated(self.id, "RUNNING")
            return
        name: str = self.facts["name"]
        experiment = self.client.get_experiment_by_name(name)
        number = experiment.experiment_id if experiment is not None else self.client.create_experiment(name)
        tags = {"mlflow.runName": self.run.name, "inkcap.run": self.run.name, "inkcap.data": self.facts["data"]}
        self.id = self.client.create_run(number, tags=tags).info.run_id
        self._log_parameters()
        self._keep()

    def _known(self) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            return json.loads((self.run / FILE).read_text(encoding="utf-8"))
        return {}

    def _keep(self) -> None:
        kept = {"uri": self.uri, "run": self.id, "logged": self.logged}
        write_atomic(self.run / FILE, json.dumps(kept))

    def _log_parameters(self) -> None:
        from mlflow.entities import Param  # pyright: ignore[reportUnknownVariableType, reportMissingImports]

        from inkcap.training.watchers import flat

        make: Any = Param
        fields = [(key, str(value)[:LONGEST_PARAMETER]) for key, value in flat(self.facts["recipe"]).items()]
        for first in range(0, len(fields), MOST_PARAMETERS):
            self.client.log_batch(self.id, params=[make(*field) for field in fields[first : first + MOST_PARAMETERS]])

    def hear(self, lines: list[Line]) -> None:
        """Log the values of the lines that were not logged before."""
        from mlflow.entities import Metric  # pyright: ignore[reportUnknownVariableType, reportMissingImports]

        make: Any = Metric
        new = [line for line in lines if line.number > self.logged.get(line.log, 0)]
        now = int(time.time() * 1000)
        metrics = [
            make(f"{'signals' if line.log == layout.SIGNALS else line.kind}/{name}", float(value), now, line.step)
            for line in new
            for name, value in line.values.items()
            if math.isfinite(value)
        ]
        for first in range(0, len(metrics), 1000):
            self.client.log_batch(self.id, metrics=metrics[first : first + 1000])
        for line in new:
            self.logged[line.log] = line.number
        if new:
            self._keep()

    def end(self, state: str) -> None:
        """Hand the files of the run over, and say how it ended."""
        for name in ARTIFACTS:
            if (self.run / name).is_file():
                self.client.log_artifact(self.id, str(self.run / name))
        self.client.set_tag(self.id, "inkcap.state", state)
        self.client.set_terminated(self.id, STATES.get(state, "FAILED"))
