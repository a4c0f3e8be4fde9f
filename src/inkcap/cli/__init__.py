"""The command line."""

from inkcap.cli.app import app, main

__all__ = ["app", "main"]
