"""A bar for work that turns out to be long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

Step = TypeVar("Step")
_shown: ContextVar[bool] = ContextVar("shown", default=True)


@contextmanager
def no_bars() -> Iterator[None]:
    """Show no bars inside `with`: something else is drawn on the terminal."""
    token = _shown.set(False)
    try:
        yield
    finally:
        _shown.reset(token)


def track(
    steps: Iterable[Step], *, total: int, what: str, patience: float = 1.0, console: Console | None = None
) -> Iterator[Step]:
    """The same steps; a bar on stderr once `patience` seconds have gone by, if stderr is a terminal.

    >>> sum(track(range(5), total=5, what="adding"))
    10
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = console or Console(stderr=True)
    if not console.is_terminal or not _shown.get():
        yield from steps
        return
    words = (TextColumn("{task.description}"), TextColumn("{task.fields[rate]}"))
    bar = Progress(words[0], BarColumn(), MofNCompleteColumn(), words[1], TimeRemainingColumn(), console=console)
    task = bar.add_task(what, total=total, rate="")
    started = monotonic()
    with ExitStack() as shown:
        for done, step in enumerate(steps, start=1):
            yield step
            seconds = monotonic() - started
            bar.update(task, completed=done, rate=f"{done / max(seconds, 1e-9):,.0f}/s")
            if not bar.live.is_started and seconds > patience:
                shown.enter_context(bar)
