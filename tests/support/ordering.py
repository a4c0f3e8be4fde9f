"""The order of tests over several workers: what takes long begins first, and on another worker each.

xdist's worksteal gives every worker an equal run of the list, and whoever is done takes half of what another has left,
from the end. So each of these runs begins with its part of the long tests, which share what is dear to start, such as a
Ray or a browser, and nobody is left with a long one when the others are done.
"""

from __future__ import annotations

from collections.abc import Sequence

PAGES = "tests/docs/test_snippets.py::test_a_page_does_what_it_says"
LONG = (
    ("tests/cluster/test_training.py", "tests/cluster/test_commands.py", "tests/cluster"),
    ("tests/browser/test_recipe.py", "tests/browser"),
    (
        f"{PAGES}[docs/guides/cluster.md]",
        "tests/group/test_torchrun.py",
        "tests/group/test_members.py",
        "tests/fortress",
        "tests/fortress",
        "tests/docs",
    ),
)
"""The beginnings of the names of long tests: what stays together, the longest first."""


def arranged(names: Sequence[str], workers: int) -> list[int]:
    """Give the places of tests in their new order, which is the old one where there is one worker."""
    if workers < 2:
        return list(range(len(names)))
    heads: list[list[int]] = [[] for _ in range(workers)]
    taken: set[int] = set()
    for number, group in enumerate(LONG):
        for beginning in group:
            found = [i for i, name in enumerate(names) if i not in taken and name.startswith(beginning)]
            heads[number % workers] += found
            taken.update(found)
    rest = [i for i in range(len(names)) if i not in taken]
    order: list[int] = []
    for number, head in enumerate(heads):
        # As many as xdist gives to a worker, as far as there are short ones to fill up with.
        size = (len(names) - len(order)) // (workers - number)
        filling = max(0, size - len(head)) if number < workers - 1 else len(rest)
        order += head + rest[:filling]
        rest = rest[filling:]
    return order
