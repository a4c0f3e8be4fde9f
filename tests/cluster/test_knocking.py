"""The head of a cluster that is gone is noticed in seconds, whatever is waited for."""

import socket
import time

import pytest

from inkcap.cluster import Cluster, ClusterError
from inkcap.cluster.knocking import Knocker, interrupted_without_head


def _at(head, folder):
    """Give a cluster whose head, and whose part on this machine, is one socket."""
    address = f"127.0.0.1:{head.getsockname()[1]}"
    return Cluster(address, own=False, local=address, folder=folder)


def test_what_is_waited_for_is_broken_off_when_the_head_is_gone_and_not_before(tmp_path):
    head = socket.create_server(("127.0.0.1", 0))
    cluster = _at(head, tmp_path)
    with interrupted_without_head(cluster, "ask again"):
        time.sleep(2.5)
    head.close()
    begun = time.monotonic()
    with (
        pytest.raises(ClusterError, match=f"the head of the cluster at {cluster.address} is gone; ask again"),
        interrupted_without_head(cluster, "ask again"),
    ):
        time.sleep(30)
    assert time.monotonic() - begun < 15


def test_a_head_that_answers_again_is_not_gone(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as head:
        knocker = Knocker(_at(head, tmp_path))
        knocker.refusals, knocker.last = 2, 0.0
        assert not knocker.gone()
        assert knocker.refusals == 0


def test_ctrl_c_stays_ctrl_c(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as head:
        cluster = _at(head, tmp_path)
        with pytest.raises(KeyboardInterrupt), interrupted_without_head(cluster, "ask again"):
            raise KeyboardInterrupt
