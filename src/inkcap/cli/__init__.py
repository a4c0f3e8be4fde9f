"""The command line."""

from inkcap.cli.app import app, command, main

__all__ = ["app", "command", "main"]
