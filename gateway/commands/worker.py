"""`worker`: only the job worker, any number of them beside any number of `serve --no-worker`."""

from gateway.commands.outcome import settings_to_serve


def worker() -> None:
    """Run background jobs, without the HTTP service."""
    from gateway.commands.working import work

    work(settings_to_serve())
