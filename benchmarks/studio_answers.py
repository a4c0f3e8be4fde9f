"""How soon the studio answers an edit: from sending it to the acknowledgement and to the report, over a real socket.

Usage: PYTHONPATH=src:tests/support python benchmarks/studio_answers.py
"""

import statistics
import tempfile
import time
from pathlib import Path

from serving import Server, Tab

from inkcap.drawing import Drawing, save_drawing

SIZES = {200: 0.050, 2_000: 0.150}
EDITS = 15


def chain(count: int) -> Drawing:
    """Draw convolutions one after another, every fourth with a shortcut."""
    drawing = Drawing(f"chain of {count}")
    drawing.add("c0", "2D-data", height=32, width=32, channels=3)
    for i in range(1, count):
        drawing.add(f"c{i}", "2D-relu")
        drawing.connect(f"c{i - 1}", f"c{i}", "convolution", kernels=16, kernel=3, padding=1)
        if i % 4 == 0 and i > 5:
            drawing.connect(f"c{i - 3}", f"c{i}", "transfer")
    return drawing


def measure(count: int) -> tuple[float, float]:
    """Give the medians of the times to the acknowledgement and to the report."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "work"
        workspace.mkdir()
        save_drawing(chain(count), workspace / "chain.inkcap.json")
        acknowledged: list[float] = []
        reported: list[float] = []
        with Server(workspace) as server, server.client() as client:
            id = client.get("/api/workspace").json()["drawings"][0]["id"]
            with Tab(server, id) as tab:
                for i in range(EDITS):
                    record = {"id": "c0", "symbol": "data", "rank": 2}
                    record["attributes"] = {"height": 32 + i % 2, "width": 32, "channels": 3}
                    if i % 3:  # one edit in three reaches every capsule, the others one in the middle
                        middle = f"c{count // 2}"
                        record = {"id": middle, "symbol": ("relu", "tanh")[i % 2], "rank": 2}
                    start = time.perf_counter()
                    tab.edit({"put": "capsule", "id": record["id"], "record": record})
                    acknowledged.append(time.perf_counter() - start)
                    tab.hear("report")
                    reported.append(time.perf_counter() - start)
                    time.sleep(0.4)
        return statistics.median(acknowledged), statistics.median(reported)


def main() -> None:
    """Print a line for each size."""
    for count, allowed in SIZES.items():
        first, second = measure(count)
        verdict = "within" if second <= allowed else "over"
        print(f"{count} capsules: acknowledged {first * 1000:.0f} ms, report {second * 1000:.0f} ms", end=" ")
        print(f"({verdict} {allowed * 1000:.0f} ms)")


if __name__ == "__main__":
    main()
