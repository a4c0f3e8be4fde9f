"""The list of commands; each module imports what it needs only when it runs."""


def register() -> None:
    """Add every command to the application."""
    from inkcap.cli import backpropagation, data, drawings, export, groups, pictures, plain, runs, serve, theory, zoo

    for module in (drawings, zoo, groups, pictures, export, plain, backpropagation, runs, data, serve, theory):
        assert module.__doc__
