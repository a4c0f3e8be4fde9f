"""Routing: votes laid out parent by parent, so that every round of agreement is two products of matrices."""

from __future__ import annotations

from inkcap.engine.inference.pieces import Piece, Pieces


def route_by_parent(pieces: Pieces) -> None:
    """Turn the votes that only routing looks at, and the routing."""
    users, uses = pieces.users(), pieces.uses()
    for piece in pieces.order:
        if piece.name != "vote" or piece.arguments[0] not in pieces.constants:
            continue
        readers = users.get(piece.target, [])
        couples = [user for user in readers if user.name == "couple" and user.arguments[0] == piece.target]
        combines = [user for user in readers if user.name == "combine" and user.arguments[1] == piece.target]
        if len(couples) + len(combines) != uses[piece.target]:
            continue
        made = {couple.target for couple in couples}
        read = sum(combine.arguments[0] in made for combine in combines)
        # Coefficients that anything else looks at, or that come from elsewhere, stay as they are.
        if read != len(combines) or any(uses[couple.target] != _count(combines, couple) for couple in couples):
            continue
        if any(argument not in pieces.constants for couple in couples for argument in couple.arguments[1:]):
            continue
        _turn(pieces, piece, couples, combines)


def _count(combines: list[Piece], couple: Piece) -> int:
    return sum(combine.arguments[0] == couple.target for combine in combines)


def _turn(pieces: Pieces, vote: Piece, couples: list[Piece], combines: list[Piece]) -> None:
    weight = pieces.constants[vote.arguments[0]]
    children, parents, numbers, own = weight.shape
    vote.name, vote.attributes = "voted", {"parents": parents}
    vote.weight = weight.permute(0, 3, 1, 2).reshape(children, own, parents * numbers)
    vote.arguments = vote.arguments[1:]
    for couple in couples:
        couple.name = "coupled"
        if len(couple.arguments) > 1:
            couple.bias = pieces.constants[couple.arguments[1]][0]
            couple.arguments = couple.arguments[:1]
    for combine in combines:
        combine.name = "combined"
