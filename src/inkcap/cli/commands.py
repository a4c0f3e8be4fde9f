"""The list of commands; each module imports what it needs only when it runs."""


def register() -> None:
    """Add every command to the application."""
    from inkcap.cli import (
        backpropagation,
        bench,
        comparing,
        data,
        drawings,
        export,
        groups,
        importing,
        inspecting,
        pictures,
        plain,
        planning,
        predicting,
        resuming,
        runs,
        serve,
        sweeps,
        theory,
        zoo,
    )

    for module in (drawings, zoo, groups, pictures, export, importing, comparing, plain, backpropagation):
        assert module.__doc__
    for module in (runs, predicting, inspecting, resuming, sweeps, data, serve, theory, bench, planning):
        assert module.__doc__
