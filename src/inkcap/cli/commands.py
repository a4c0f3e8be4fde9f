"""The list of commands; each module imports what it needs only when it runs."""


def register() -> None:
    """Add every command to the application."""
    from inkcap.cli import backpropagation, data, drawings, groups, pictures, plain, runs, serve, theory

    for module in (drawings, groups, pictures, plain, backpropagation, runs, data, serve, theory):
        assert module.__doc__
