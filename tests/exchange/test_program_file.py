"""The exported program: what is loaded again computes what the drawing computes, for any batch, without Inkcap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from small_zoo import draw_small

from inkcap.exchange import NotProven, export_program, print_torch
from inkcap.exchange.exporting import drawn_with, loaded
from inkcap.exchange.program_file import check_program, prove_program, to_program
from inkcap.exchange.proof import stored_in
from inkcap.zoo import NETWORKS, draw

QUICK = {"mlp_fig20_2-6-4-2", "lenet_caffe", "resnet18"}
EACH = [name if name in QUICK else pytest.param(name, marks=pytest.mark.soak) for name in NETWORKS]


@pytest.mark.parametrize("name", EACH)
def test_every_network_of_the_zoo_is_proven(name: str) -> None:
    assert prove_program(print_torch(draw_small(name))).outputs <= 1e-6


def test_another_weight_is_not_proven() -> None:
    file = print_torch(draw("mlp"))
    ours = drawn_with(file, None)
    content = to_program(file, loaded(file, stored_in(ours)))
    assert check_program(content, file, ours) <= 1e-6
    next(iter(stored_in(ours).values())).data += 0.01
    with pytest.raises(NotProven, match="outputs differ"):
        check_program(content, file, ours)


def test_the_program_runs_without_inkcap(tmp_path: Path) -> None:
    exported = export_program(draw("lenet-digits"), tmp_path / "net.pt2")
    assert exported.files == (tmp_path / "net.pt2",)
    script = (
        "import sys; sys.modules['inkcap'] = None\n"
        "import torch; program = torch.export.load('net.pt2').module()\n"
        "print(tuple(program(torch.zeros(7, 1, 8, 8)).shape))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "(7, 10)", done.stderr
