from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli.run import whole_numbers
from shortlist.system.extras import require
from shortlist.system.terminal import plain_console, say
from shortlist.types import ShortlistError

if TYPE_CHECKING:
    from shortlist.study.results import Table
    from shortlist.study.store import StudyStore


def study(
    folder: Annotated[Path, typer.Argument(help="Folder of the study: made new, or gone on with.")],
    images: Annotated[Path | None, typer.Option(help="Images to show: a folder with a folder for every class.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Show built-in drawings of signs instead.")] = False,
    items: Annotated[
        int | None, typer.Option(help="How many images each person answers. (Default: 20, as in the paper.)")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="How many options each group chooses from. (Default: 4,8,16,32.)")
    ] = None,
    probs: Annotated[
        Path | None,
        typer.Option(help="Wrong options: the likeliest by these probabilities, .npy (images, classes), not any."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="For what is drawn at random. (Default: 0.)")] = None,
    host: Annotated[str, typer.Option(help="Address to serve at; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any that is free.")] = 8020,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the first page.")] = True,
    table: Annotated[
        bool, typer.Option("--table", help="Show the results and write study.html, study.csv and cost.toml instead.")
    ] = False,
) -> None:
    """Measure how long people take: the paper's user study as a page to take part in.

    All people name the same images, each group choosing from its own number of options, the truth always among them.
    Ends in the paper's table and in a cost model that a campaign can price by. Stop and start it as you like.

    Example: shortlist study runs/study --images photos
    """
    require("fastapi", "uvicorn", "jinja2", extra="web")
    from shortlist.study.store import StudyStore, open_study

    if table:
        tell(StudyStore(folder / "study.db"), folder)
        return
    store = open_study(folder, _settings(images, demo, items, groups, probs, seed))
    store.close()
    _serve(folder, host, port, browser)


def _settings(
    images: Path | None, demo: bool, items: int | None, groups: str | None, probs: Path | None, seed: int | None
) -> dict[str, Any]:
    """The settings on the command line; others stay as they are, or as in the paper."""
    from shortlist.study.store import DEMO

    if images and demo:
        raise ShortlistError("--images and --demo: give one of them")
    if probs and not images:
        raise ShortlistError("--probs: they are of the images of a folder; give --images too")
    settings = {
        "dataset": {"name": "image_folder", "folder": str(images.resolve())} if images else DEMO if demo else None,
        "items": items,
        "groups": None if groups is None else whole_numbers("--groups", groups, "4,8,16,32"),
        "probs": None if probs is None else str(probs.resolve()),
        "seed": seed,
    }
    return {key: value for key, value in settings.items() if value is not None}


# --- serving ---------------------------------------------------------------------------------------------------


def _serve(folder: Path, host: str, port: int, browser: bool) -> None:
    import contextlib
    import threading
    import webbrowser

    import uvicorn

    from shortlist.study.app import study_app
    from shortlist.web.serve import address, config, hosts_of, is_local, listening

    with listening(host, port) as heard:
        app = study_app(folder, hosts_of(host))
        store: StudyStore = app.state.store
        place = address(host, heard)
        settings, done = store.config(), len(store.sessions())
        groups = ", ".join(map(str, settings["groups"]))
        say(f"study: {folder}: {settings['items']} images, groups of {groups} options; finished: {done}")
        say(f"take part: {place}/")
        say(f"results:   {place}/results?token={store.fact('token')}")
        if not is_local(host):
            say("note: everyone who reaches this address can take part; the results need the link above, so keep it")
        say("Ctrl-C stops it; the same command goes on.", flush=True)
        if browser:
            threading.Timer(0.5, webbrowser.open, [place]).start()
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn passes it on once open requests are answered
            uvicorn.Server(config(app)).run(sockets=[heard])
    if store.sessions():
        tell(store, folder)
    else:
        say(f"stopped; the same command goes on from here: shortlist study {folder}")


# --- the table -------------------------------------------------------------------------------------------------


def tell(store: StudyStore, folder: Path) -> None:
    """The results here and as files."""
    from shortlist.study.app import standalone
    from shortlist.study.results import EVERYBODY, RULE, answers_csv, cost_line, cost_toml, results_of, sentences, who
    from shortlist.system.files import write_text

    results, console = results_of(store), plain_console()
    console.print(f"{who(results)}.", highlight=False)
    for title, table in ((RULE, results.ruled), (EVERYBODY, results.everybody)):
        if table.groups:
            console.print()
            console.print(_terminal_table(table, title))
            for sentence in sentences(table):
                console.print(sentence, highlight=False)
    console.print()
    files = {"study.html": standalone(results, folder.resolve().name), "study.csv": answers_csv(store)}
    if results.ruled.fit:
        files["cost.toml"] = cost_toml(results.ruled.fit)
    for name, text in files.items():
        write_text(folder / name, text)
        say(f"{folder / name}")
    if results.ruled.fit:
        console.print("\nunder \\[query] in campaign.toml:", highlight=False)
        console.print(cost_line(results.ruled.fit), style="bold", highlight=False, soft_wrap=True, markup=False)


def _terminal_table(table: Table, title: str) -> Any:
    """Narrow enough for 80 characters."""
    from rich import box
    from rich.table import Table as RichTable

    from shortlist.study.results import HEADER, cells, paper_cells

    shown = RichTable(box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False, title=title, title_justify="left")
    for name in (*HEADER, "Paper: total, s", "a question", "right, %"):
        shown.add_column(name, justify="right")
    for group in table.groups:
        row = (*cells(group), *paper_cells(group.options))
        shown.add_row(*(cell.replace(" ± ", "±") for cell in row))
    return shown
