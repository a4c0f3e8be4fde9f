"""One Ray, and one run that nothing happens to, for all tests that train in this process."""

import os

import pytest
from processes import descendants, listening
from together import Hearing, small_drawing, small_recipe

from inkcap.cluster import joined


class Looking(Hearing):
    """Remembers, too, at which addresses this process and all that it has started listen while a run begins."""

    def on_start(self, event):
        super().on_start(event)
        self.open = listening([os.getpid(), *(pid for pid, _ in descendants(os.getpid()))])


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        # Workers keep what they fetch where this process does.
        patch.setenv("INKCAP_COPIES", str(tmp_path_factory.mktemp("copies")))
        with joined() as found:
            yield found


@pytest.fixture(scope="session")
def undisturbed(cluster, tmp_path_factory):
    """Give a run by two workers, and what was heard of it."""
    from inkcap.cluster.training import train_together

    heard = Looking()
    folder = tmp_path_factory.mktemp("undisturbed")
    return train_together(small_drawing(), small_recipe(), folder, heard, cluster=cluster), heard
