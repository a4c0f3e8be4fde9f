"""``python -m inkcap`` is ``inkcap``."""

from inkcap.cli import command

command()
