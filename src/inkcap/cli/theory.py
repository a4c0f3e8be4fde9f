"""Commands about the theory of networks: derive, enumerate. None of them needs torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.output import number, print_json, say

HEAD, TAIL, NAMES = 30, 5, 12
"""Of a long derivation, so many steps are shown from its start and its end, with so many names each."""


@app.command()
def derive(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A drawing, NAME.inkcap.json.")],
    rules: Annotated[
        str,
        typer.Option(
            metavar="four|three|two",
            help="Rules to use: variable, neuron, growth, convergence; without neuron; variable and convergence.",
        ),
    ] = "four",
    count: Annotated[bool, typer.Option("--count", help="Print how many derivations there are.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Print every step, however many.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Derive a drawing: the rules that generate its graph, step by step."""
    from inkcap.drawing import load_drawing
    from inkcap.theory import Graph, count_derivations, derive_edges, needs_convergence

    drawing = load_drawing(file)
    names, backs, fronts = _columns(drawing)
    derivation = derive_edges(len(names), backs, fronts, rules, names)  # pyright: ignore[reportArgumentType]
    told = f"{_many(len(names), 'vertex', 'vertices')}, {_many(len(derivation.members), 'edge', 'edges')}"
    edges = ((names[back], names[front]) for back, front in zip(backs, fronts, strict=True))
    if count:
        found = count_derivations(Graph(tuple(names), tuple(edges)))
        if as_json:
            print_json({"name": drawing.name, "vertices": len(names), "derivations": found})
        else:
            say(f"{drawing.name}: {told}, {_many(found, 'derivation', 'derivations')}")
        return
    # A plain block may have millions of edges, and its answer no reader.
    needed = needs_convergence(Graph(tuple(names), tuple(edges))) if drawing.plain is None else None
    if as_json:
        _print_derivation_as_json(drawing.name, derivation, needed)
        return
    say(f"✓ {drawing.name}: {told}, generated in {_many(len(derivation), 'step', 'steps')} by {rules} rules")
    _print_steps(derivation, everything)
    say(f"  {', '.join(f'{rule} {number(times)}×' for rule, times in derivation.counts().items())}")
    if needed is not None:
        say(f"  convergence is {'needed' if needed else 'not needed'}: {needed.reason}")


def _many(count: int, one: str, several: str) -> str:
    return f"{number(count)} {one if count == 1 else several}"


def _print_steps(derivation: Any, everything: bool) -> None:
    total = len(derivation)
    whole = everything or total <= HEAD + TAIL
    for i in range(total) if whole else (*range(HEAD), *range(total - TAIL, total)):
        if not whole and i == total - TAIL:
            say(f"  … {number(total - HEAD - TAIL)} more steps; --all prints them")
        say(f"  {i + 1}. {derivation[i].text(None if everything else NAMES)}")


def _columns(drawing: Any) -> tuple[list[str], list[int], list[int]]:
    """Give a drawing's graph as columns: capsules and uses of groups by name, then the neurons of the plain block."""
    names = [*drawing.capsules, *drawing.uses]
    place = {name: i for i, name in enumerate(names)}
    ends = {(place[c.back], place[c.front]): None for c in drawing.connections.values()}
    backs, fronts = [back for back, _ in ends], [front for _, front in ends]
    plain = drawing.plain
    if plain is None:
        return names, backs, fronts
    # A neuron that reads an element of a capsule is that element, so the capsule stands in its place.
    reading = {i: place[id] for id, (first, count) in plain.reads.items() for i in range(first, first + count)}
    own = [i for i in range(len(plain.symbol)) if i not in reading]
    vertex = reading | {i: number for number, i in enumerate(own, len(names))}
    names.extend(f"n{i}" for i in own)
    if not reading and not plain.writes:
        offset = len(names) - len(own)
        backs.extend(back + offset for back in plain.back)
        fronts.extend(front + offset for front in plain.front)
        return names, backs, fronts
    joined = dict.fromkeys((vertex[a], vertex[b]) for a, b in zip(plain.back, plain.front, strict=True))
    written = {(vertex[i], place[id]): None for id, (f, n) in plain.writes.items() for i in range(f, f + n)}
    backs.extend(back for back, _ in (*joined, *written))
    fronts.extend(front for _, front in (*joined, *written))
    return names, backs, fronts


def _print_derivation_as_json(name: str, derivation: Any, needed: Any) -> None:
    steps = ({"rule": step.rule, "vertex": step.vertex, "parts": [list(p) for p in step.parts]} for step in derivation)
    print_json(
        {
            "name": name,
            "rules": derivation.rules,
            "vertices": len(derivation),
            "edges": len(derivation.members),
            "counts": derivation.counts(),
            "convergence": None if needed is None else needed.to_json(),
            "steps": list(steps),
        }
    )


@app.command("enumerate")
def enumerate_networks(
    inputs: Annotated[int, typer.Argument(metavar="N", help="How many inputs.")],
    neurons: Annotated[int, typer.Argument(metavar="M", help="How many neurons.")],
    count: Annotated[bool, typer.Option("--count", help="Print how many there are, and no more.")] = False,
    rules: Annotated[
        str, typer.Option(metavar="growth|all", help="Rules that make them: growth, or convergence as well.")
    ] = "growth",
    up_to: Annotated[
        str,
        typer.Option(
            metavar="order|labels|isomorphism",
            help="What makes two different: the order of making, the names of neurons, or the shape alone.",
        ),
    ] = "order",
    inputs_are: Annotated[
        str, typer.Option("--inputs", metavar="fixed|free", help="Up to isomorphism: are inputs interchangeable?")
    ] = "fixed",
    layered: Annotated[bool, typer.Option("--layered", help="Only layered networks.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Enumerate the N-M networks: list them as what enters every neuron, or count them."""
    from inkcap.theory import count_networks, list_networks

    chosen: Any = (inputs, neurons, rules, up_to, inputs_are, layered)
    described = {"inputs": inputs, "neurons": neurons, "rules": rules, "up_to": up_to, "inputs_are": inputs_are,
                 "layered": layered}  # fmt: skip
    if count:
        found = count_networks(*chosen)
        if as_json:
            print_json({**described, "count": found})
        else:
            say(number(found))
        return
    networks = list_networks(*chosen)
    if as_json:
        listed = [{h: graph.predecessors[h] for h in graph.vertices[inputs:]} for graph in networks]
        print_json({**described, "count": len(listed), "networks": listed})
        return
    total = 0
    for total, graph in enumerate(networks, 1):
        say(f"{total}. {_in_sets(graph, graph.vertices[inputs:])}")
    say(_many(total, f"{inputs}-{neurons} network", f"{inputs}-{neurons} networks"))


def _in_sets(graph: Any, neurons: Sequence[str]) -> str:
    if not neurons:
        return "trivial"
    return "; ".join(f"{h} ← {{{', '.join(graph.predecessors[h])}}}" for h in neurons)
