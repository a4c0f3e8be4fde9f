"""The list of commands; each module imports what it needs only when it runs."""


def register() -> None:
    """Add every command to the application."""
    from inkcap.cli import (
        backpropagation,
        data,
        drawings,
        export,
        groups,
        importing,
        pictures,
        plain,
        resuming,
        runs,
        serve,
        theory,
        zoo,
    )

    modules = (
        drawings,
        zoo,
        groups,
        pictures,
        export,
        importing,
        plain,
        backpropagation,
        runs,
        resuming,
        data,
        serve,
        theory,
    )
    for module in modules:
        assert module.__doc__
