"""The page on scaling: its tables are those that the command gives today, digit by digit."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from inkcap.zoo import draw
from inkcap.zoo.transformers import small_gpt

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "scaling.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^\$ inkcap (plan .+)\n((?:.+\n)+?)```$", PAGE, re.MULTILINE)
DRAWN = {
    "lenet": lambda: draw("lenet"),
    "resnet18": lambda: draw("resnet18", 10, (32, 32, 3)),
    "resnet50": lambda: draw("resnet50"),
    "gpt2": lambda: small_gpt(classes=50257, input=(1024,), width=768, heads=12, blocks=12),
}


def test_the_page_has_a_table_for_every_drawing() -> None:
    assert {shlex.split(command)[1].split(".")[0] for command, _ in SHOWN} == {*DRAWN}
    for _, table in SHOWN:
        rows = re.findall(r"^ +(\d+) +\d", table, re.MULTILINE)
        assert {"8", "64", "512"} <= {*rows}


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_table_is_what_the_command_prints(command, shown, run, tmp_path) -> None:
    words = shlex.split(command)
    DRAWN[words[1].split(".")[0]]().save(tmp_path / words[1])
    told = run(*words)
    assert told.code == 0, told.err
    said = [" ".join(line.split()) for line in told.out.splitlines()]
    assert [line for line in shown.splitlines() if " ".join(line.split()) not in said] == []
