"""Names and texts of others are written out on a terminal; what rich itself sends is not."""

from __future__ import annotations

from io import StringIO

from rich.table import Table

from shortlist.system.progress import track
from shortlist.system.terminal import plain, plain_console


def test_every_character_that_steers_is_written_out() -> None:
    steering = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *"\u202a\u202e\u2066\u2069", "\ud800"]
    for sign in steering:
        if sign not in "\n\t":
            assert plain(f"a{sign}b").isprintable(), hex(ord(sign))
    kept = "a\n\tz żółć 日本 😀 e\u0301 \u00a0"
    assert plain(kept) == kept


def test_a_table_has_colours_and_no_characters_of_others() -> None:
    shown = StringIO()
    console = plain_console(file=shown, force_terminal=True, color_system="standard", width=60)
    table = Table(title="red\x1b[31m")
    table.add_column("method")
    table.add_row("[bold]CSQ[/bold]\x1b]0;title\x07")
    console.print(table)
    assert r"\x1b]0;" in shown.getvalue()
    assert "\x1b]0;" not in shown.getvalue()
    assert "\x1b[1m" in shown.getvalue(), "what is bold is bold"


def test_a_bar_is_still_drawn() -> None:
    shown = StringIO()
    console = plain_console(file=shown, force_terminal=True, width=80)
    assert sum(track(range(50), total=50, what="add\x1bing", patience=-1, console=console)) == sum(range(50))
    assert "\x1b[?25l" in shown.getvalue(), "the cursor is hidden meanwhile"
    assert r"add\x1" in shown.getvalue(), "cut to its width"
