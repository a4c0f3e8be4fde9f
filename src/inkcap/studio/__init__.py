"""The studio: a page on this machine that shows the drawings of a workspace and what their checks say."""

from inkcap.studio.app import create_app
from inkcap.studio.server import DEFAULT_PORT, serve

__all__ = ["DEFAULT_PORT", "create_app", "serve"]
