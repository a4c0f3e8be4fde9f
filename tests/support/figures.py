"""Figures of processes, and of many measurements."""

import sys
import time


def processor_time(pid):
    """Give the seconds of processor time that a process has had; where that is not told, none."""
    # The clock of another process, as clock_getcpuclockid(3) makes its number.
    return time.clock_gettime((~pid << 3) | 2) if sys.platform.startswith("linux") else 0.0


def percentile(values, share=0.95):
    """Give what so many of the values keep to."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
