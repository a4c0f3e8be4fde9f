"""Memory of a training step: what is estimated before it, and the most bytes that live at once while it is taken.

Run it as ``python benchmarks/memory.py``. Storages of torch are counted, so that the figures are the same everywhere;
``--resident`` also takes each network's steps in a process of its own and tells by how much its resident memory grew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch

from inkcap.bench.live_bytes import peak_of, trained
from inkcap.engine.rewrites import USUAL
from inkcap.zoo import NETWORKS

CASES = {
    "lenet_fig21_32-64-512": 64,
    "lenet5_1998": 64,
    "alexnet_torchvision": 8,
    "vgg16": 1,
    "googlenet_tv_main": 4,
    "resnet18": 4,
    "densenet121": 2,
    "mobilenet_v2": 4,
    "squeezenet1_1": 4,
    "unet": 1,
    "capsnet_sabour": 4,
    "emcaps_A64_B8_C16_D16": 2,
    "vit_b_16": 1,
    "gpt_small": 16,
}
"""Networks of the zoo in full size, with their batch."""


def measure(name: str, batch: int, optimiser: str) -> dict[str, float]:
    """Give the bytes of the eager step, and what the others are to it."""
    drawing = NETWORKS[name].draw()
    case = trained(drawing, batch, optimiser)
    eager = peak_of(case)
    found = {
        "eager": eager,
        "estimate": case.estimate / eager,
        "explicit": peak_of(case, "explicit", USUAL) / eager,
    }
    if drawing.uses:
        again = trained(drawing, batch, optimiser, ("all",))
        measured = peak_of(again, "explicit", USUAL)
        found |= {"recompute": measured / eager, "estimate of it": again.estimate / measured}
    return found


def resident(name: str, batch: int, optimiser: str) -> float:
    """Give by how many bytes the memory of a process grows that builds a network and takes three eager steps."""
    command = [sys.executable, __file__, "--alone", name, "--batch", str(batch), "--optimiser", optimiser]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def alone(name: str, batch: int, optimiser: str) -> int:
    # What torch loads with its first step is there before.
    peak_of(trained(NETWORKS["lenet-digits"].draw(), 2, optimiser))
    before = _told("VmRSS")
    peak_of(trained(NETWORKS[name].draw(), batch, optimiser), steps=3)
    return _told("VmHWM") - before


def _told(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=list(CASES), help="of the zoo")
    parser.add_argument("--batch", type=int, help="samples of a step; of those listed each has its own")
    parser.add_argument("--optimiser", default="momentum")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--resident", action="store_true", help="look at the memory of processes, too (Linux)")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.alone:
        print(json.dumps(alone(given.alone, given.batch, given.optimiser)))
        return
    print(f"torch {torch.__version__}, {given.threads} thread(s), {given.optimiser}")
    print("| network | batch | eager, MB | estimate | explicit | recompute all | its estimate | resident |")
    print("|---|---|---|---|---|---|---|---|")
    for name in given.networks:
        batch = given.batch or CASES.get(name, 4)
        found = measure(name, batch, given.optimiser)
        grown = resident(name, batch, given.optimiser) / found["eager"] if given.resident else None
        ratios = [found.get(key) for key in ("estimate", "explicit", "recompute", "estimate of it")]
        shown = ["" if ratio is None else f"{ratio:.2f}" for ratio in (*ratios, grown)]
        print(f"| {name} | {batch} | {found['eager'] / 1e6:.1f} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
