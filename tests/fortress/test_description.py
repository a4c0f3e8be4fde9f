"""S6: schemathesis over the studio's own description, all phases and all checks, against a real process.

No check is left out. What is not called every day, or seen otherwise than it is described, has its reason here:

- Every second operation is called every day, each with all phases; all of them in the full part.
- `/api/imports` is called in the full part alone: each call starts two processes that load onnx and torch, four seconds
  of the processor; bytes that are no model have their own campaigns (S3, S5, S10).
- Pairs are described by `prefixItems`, as OpenAPI 3.1 has it; schemathesis 4.32 takes that for no schema in answers, so
  its hooks show it a list of like parts instead.
- How long an answer takes is not checked: the machine is shared, and times have tests of their own.

Trainings and sweeps do not pile up: see `described.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from described import Called, call_all

from inkcap.studio import create_app
from inkcap.studio.description import REFUSALS
from inkcap.studio.policy import POLICIES

SEED = 12
SLOW = ("--exclude-path", "/api/imports")
MOST_STARTED = 5
"""Runs and sweeps that may be there after all calls: those of the workspace, and what a lucky call might start."""


def _judge(called: Called, tally) -> None:
    tally("S6", cases=called.cases, failed=int(called.code != 0), runs=called.runs, seconds=round(called.seconds, 1))
    assert called.code == 0, called.told[-12_000:]
    assert called.said == "", "a fault of the studio's own was written down"
    assert called.runs + called.sweeps <= MOST_STARTED


def test_the_studio_is_as_it_describes_itself(tmp_path, tally) -> None:
    called = call_all(tmp_path, 1, SEED, 1500, *SLOW, every=2)
    _judge(called, tally)
    assert called.cases > 500


@pytest.mark.soak
def test_the_studio_is_as_it_describes_itself_at_length(tmp_path, tally) -> None:
    called = call_all(tmp_path, 100, SEED, 6 * 3600)
    _judge(called, tally)
    assert called.cases > 5_000


@pytest.fixture
def told(tmp_path: Path) -> dict:
    app = create_app(tmp_path, 8765, "t" * 43)
    try:
        return app.openapi()
    finally:
        app.state.hub.close()


def test_every_refusal_is_described_and_has_one_shape(told) -> None:
    bodies = {policy.path: policy.binary for policy in POLICIES if "POST" in policy.methods}
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            known = {int(status) for status in operation["responses"] if status != "200"}
            takes = "requestBody" in operation
            assert known == {status for status in REFUSALS if takes or status not in (413, 415)}, path
            if takes:
                (kind,) = operation["requestBody"]["content"]
                assert kind == ("application/octet-stream" if bodies[path] else "application/json")
            assert method in ("get", "post")
    assert "HTTPValidationError" not in told["components"]["schemas"]
    assert told["security"] == [{"token": []}, {"page": []}]
    assert told["components"]["securitySchemes"]["page"]["name"] == "inkcap-8765"


def test_a_judge_that_finds_a_lie_says_so(tmp_path) -> None:
    """The same calls, one path of them, with a description that promises what the studio does not do."""
    lying = Path(tmp_path, "lying_hooks.py")
    lying.write_text(
        "import schemathesis\n"
        "@schemathesis.hook\n"
        "def before_load_schema(context, raw_schema):\n"
        "    answers = raw_schema['paths']['/api/zoo']['get']['responses']\n"
        "    answers['200']['content']['application/json']['schema'] = {'type': 'object'}\n"
    )
    called = call_all(tmp_path, 1, SEED, 300, "--include-path", "/api/zoo", hooks=lying)
    assert called.code == 1
    assert "/api/zoo" in called.told
