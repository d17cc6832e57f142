"""track: the same steps, a bar only on a terminal and only when it takes long."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from shortlist.system.progress import no_bars, track


def shown(*, terminal: bool, patience: float) -> str:
    screen = StringIO()
    console = Console(file=screen, force_terminal=terminal, width=100)
    assert list(track(range(3), total=3, what="reading images", patience=patience, console=console)) == [0, 1, 2]
    return screen.getvalue()


def test_bar_when_it_takes_long() -> None:
    screen = shown(terminal=True, patience=-1)
    assert "reading images" in screen
    assert "3/3" in screen
    assert "/s" in screen


def test_quiet_when_quick_or_not_a_terminal() -> None:
    assert shown(terminal=True, patience=60) == ""
    assert shown(terminal=False, patience=-1) == ""


def test_quiet_while_somebody_else_draws() -> None:
    with no_bars():
        assert shown(terminal=True, patience=-1) == ""
    assert shown(terminal=True, patience=-1) != ""
