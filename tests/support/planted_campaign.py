"""Cases that break on purpose, to prove that a campaign in limited forks notices each way of breaking."""

from __future__ import annotations

import os
import signal

from limited_forks import Campaign


class PlantedCampaign(Campaign):
    """Cases 1 to 4 break, each in its own way; the others are well."""

    seconds = 0.2
    room = 2**28

    def case(self, seed: int, number: int) -> str:
        """Raise, die, hang or take too much memory."""
        if number == 1:
            raise ValueError(f"planted by seed {seed}")
        if number == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        while number == 3:
            pass
        if number == 4:
            bytearray(2**29)
        return "well"


campaign = PlantedCampaign()
