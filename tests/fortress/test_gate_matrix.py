"""Campaign S1: every route under every attack, and generated requests against a second opinion on the gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from knocking import (
    ATTACKS,
    BEARER,
    COOKIE,
    METHODS,
    OURS,
    OVERRIDES,
    OWN_PAGE,
    PORT,
    PUBLIC,
    TOKEN,
    Door,
    Generator,
    Guide,
    Request,
    concrete,
    routes_of,
)

from inkcap.studio import create_app
from inkcap.studio.app import Studio
from inkcap.studio.gate import Gate
from inkcap.studio.policy import policy_for


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    app = create_app(tmp_path, PORT, TOKEN)
    yield app
    app.state.hub.close()


@pytest.fixture
def door(studio: Studio) -> Door:
    """The gate of the real application, with a counter in the place of all that is behind it."""
    gate = studio.build_middleware_stack()
    assert isinstance(gate, Gate)
    return Door(gate)


@pytest.fixture
def routes(studio: Studio) -> list[tuple[str, str]]:
    """Every path and method, told by the application itself."""
    return list(routes_of(studio.routes))


def refused(status: int, method: str) -> tuple[int, int]:
    """A websocket has one way to be refused."""
    return (403 if method == "WEBSOCKET" else status), 0


def test_every_attack_on_every_route_is_refused_before_a_handler_runs(
    door: Door, routes: list[tuple[str, str]], tally: Callable[..., None]
) -> None:
    count = 0
    for path, method in routes:
        sound = Request(concrete(path), method)
        for attack in ATTACKS:
            if attack.for_public or path not in PUBLIC:
                request = attack.change(sound)
                assert door.status(request) == refused(attack.status, method), request
                count += 1
        allowed = {other for known, other in routes if known == path}
        for other in set(METHODS) - allowed:
            for override in ((), *((pair,) for pair in OVERRIDES)):
                request = Request(concrete(path), other).having(BEARER, OWN_PAGE, *override)
                assert door.status(request) == refused(405, other), request
                count += 1
        if method != "WEBSOCKET":
            request = sound.having(BEARER, OWN_PAGE, ("upgrade", "WebSocket"), ("connection", "upgrade"))
            assert door.status(request) == (403, 0), request
            count += 1
    assert len(ATTACKS) >= 24
    assert count >= 24 * len(routes)
    tally("S1", routes=len(routes), attacks=count, handler_entries=door.inside.reached)


def test_the_same_routes_let_in_who_has_the_token_and_comes_from_our_page(
    door: Door, routes: list[tuple[str, str]]
) -> None:
    for path, method in routes:
        found = policy_for(concrete(path))
        assert found is not None
        assert found.path == path  # no other entry of the table stands before it
        let_in = (101 if method == "WEBSOCKET" else 200), 1
        sound = Request(concrete(path), method)
        for proof in (BEARER, COOKIE):
            assert door.status(sound.having(proof, OWN_PAGE)) == let_in
            assert door.status(sound.having(proof, ("origin", f"http://{OURS}"))) == let_in
        assert door.status(sound.having(BEARER)) == let_in  # a tool names no page
        # An old browser names none either: then it may read, and change nothing.
        assert door.status(sound.having(COOKIE)) == (let_in if method in ("GET", "HEAD") else (403, 0))
        if path in PUBLIC:
            assert door.status(sound) == let_in


def compare(door: Door, routes: list[tuple[str, str]], count: int, seed: int) -> dict[str, int]:
    """Generate requests and hold the gate against the guide; give how many were let in."""
    generator, guide, let_in = Generator(routes, seed), Guide(routes), 0
    for number in range(count):
        request = generator.request()
        status, reached = door.status(request)
        assert reached == guide.lets_in(request), (seed, number, status, request)
        assert (status in (101, 200)) == bool(reached), (seed, number, status, request)
        assert reached or 400 <= status < 500, (seed, number, status, request)
        let_in += reached
    # Both answers must be common, or one of them is hardly asked for.
    assert 0.2 < let_in / count < 0.8
    return {"cases": count, "let_in": let_in, "refused": count - let_in, "disagreements": 0}


def test_the_gate_and_the_guide_agree(door: Door, routes: list[tuple[str, str]], tally: Callable[..., None]) -> None:
    tally("S1", **compare(door, routes, 5_000, 1))


@pytest.mark.soak
def test_the_gate_and_the_guide_agree_at_volume(
    door: Door, routes: list[tuple[str, str]], tally: Callable[..., None]
) -> None:
    tally("S1", **compare(door, routes, 50_000, 2))


@pytest.mark.parametrize(
    ("check", "weakened"),
    [
        ("inkcap.studio.gate._check_origin", lambda *_, **__: None),
        ("inkcap.studio.gate._check_body", lambda *_: None),
        ("inkcap.studio.gate.Gate._check_token", lambda *_: None),
        ("inkcap.studio.access.Access._same", lambda *_: True),
    ],
)
def test_a_gate_that_lacks_a_check_is_noticed(
    door: Door,
    routes: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    check: str,
    weakened: Callable[..., object],
) -> None:
    monkeypatch.setattr(check, weakened)
    with pytest.raises(AssertionError, match="Request"):
        compare(door, routes, 2_000, 3)
