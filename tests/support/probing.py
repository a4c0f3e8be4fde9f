"""Knock at ports as a stranger: ``python probing.py '["host:port", …, TOKEN]'``; the token may be left out.

What is printed says of each place whether it lets one in: a Ray's door tells by what it answers to a question without
its token, PyTorch's store by letting one write into it. One that says nothing that a stranger understands is silent.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta

_SECONDS = 10
_QUESTIONS = (
    "/ray.rpc.NodeInfoGcsService/GetClusterId",
    "/ray.rpc.NodeManagerService/GetNodeStats",
    "/ray.rpc.ObjectManagerService/FreeObjects",
    "/ray.rpc.RayletDriver/ClusterInfo",
    "/ray.rpc.CoreWorkerService/GetCoreWorkerStats",
)
"""One for each kind of Ray's parts; the others do not know it."""
_REFUSALS = (401, 403)


def by_grpc(place: str, token: str) -> str:
    """Ask as Ray's own parts ask each other."""
    import grpc

    header = (("authorization", f"Bearer {token}"),) if token else ()
    found = "silent"
    with grpc.insecure_channel(place) as channel:
        for question in _QUESTIONS:
            try:
                channel.unary_unary(question)(b"", timeout=_SECONDS, metadata=header)
                return "let in"
            except grpc.RpcError as problem:
                code = problem.code()
            if code == grpc.StatusCode.UNAUTHENTICATED:
                return "refused"
            if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                return found
            if code != grpc.StatusCode.UNIMPLEMENTED:
                found = "let in"
    return found


def by_http(place: str, token: str) -> str:
    """Ask as a browser does."""
    asked = urllib.request.Request(f"http://{place}/", headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(asked, timeout=_SECONDS):  # noqa: S310
            return "let in"
    except urllib.error.HTTPError as problem:
        return "refused" if problem.code in _REFUSALS else "let in"
    except Exception:
        return "silent"


def by_store(place: str, token: str) -> str:
    """Ask as a member asks PyTorch's store, which knows no tokens."""
    from torch.distributed import TCPStore

    host, _, port = place.rpartition(":")
    try:
        store = TCPStore(host, int(port), is_master=False, timeout=timedelta(seconds=_SECONDS), wait_for_workers=False)
        store.set("stranger", "was here")
        return "let in" if store.get("stranger") == b"was here" else "silent"
    except Exception:
        return "silent"


def main() -> None:
    asked = json.loads(sys.argv[1])
    token = "" if ":" in asked[-1] else asked.pop()
    told = dict.fromkeys(asked, "silent")
    for way in (by_grpc, by_http, by_store):
        pool = ThreadPoolExecutor(len(asked))
        asking = {pool.submit(way, place, token): place for place in asked if told[place] == "silent"}
        for done in wait(asking, 6 * _SECONDS).done:
            told[asking[done]] = done.result()
    print(json.dumps(told), flush=True)
    # Whoever got no answer at all still waits for it.
    os._exit(0)


if __name__ == "__main__":
    main()
