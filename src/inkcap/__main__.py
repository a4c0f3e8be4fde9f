"""``python -m inkcap`` is ``inkcap``."""

from inkcap.cli import main

main()
