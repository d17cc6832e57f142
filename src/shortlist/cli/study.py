from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from shortlist.web.study.results import Results
    from shortlist.web.study.store import StudyStore
    from shortlist.web.study.table import Table

COLUMNS = (
    "Options",
    "People",
    "Total\ntime, s",
    "Seconds a\nquestion",
    "Right\n%",
    "Paper:\ntotal, s",
    "a\nquestion",
    "right\n%",
)


def study(
    folder: Annotated[Path, typer.Argument(help="Folder of the study: made new, or gone on with.")],
    images: Annotated[Path | None, typer.Option(help="Images to show: a folder with a folder for every class.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Show built-in drawings of signs instead.")] = False,
    items: Annotated[
        int | None, typer.Option(help="How many everybody answers. (Default: 20, as in the paper.)")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="How many options each group chooses from. (Default: 4,8,16,32.)")
    ] = None,
    probs: Annotated[
        Path | None,
        typer.Option(help="Wrong options: the likeliest by these probabilities, .npy (images, classes), not any."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="For what is drawn at random. (Default: 0.)")] = None,
    host: Annotated[str, typer.Option(help="Address to serve at; 0.0.0.0 is for everybody around.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any that is free.")] = 8020,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the first page.")] = True,
    table: Annotated[
        bool, typer.Option("--table", help="Show the results and write study.html, study.csv and cost.toml instead.")
    ] = False,
) -> None:
    """Measure how long people take: the paper's user study as a page that anybody can take part in.

    Everybody names the same images, each group choosing from its own number of options, the truth always among them.
    Ends in the paper's table and in a cost model that a campaign can price by. Stop and start it as you like.

    Example: shortlist study runs/study --images photos
    """
    from shortlist.datasets.extra import require
    from shortlist.web.study.folder import open_study

    for module in ("fastapi", "uvicorn", "jinja2"):
        require(module, extra="web")
    if table:
        tell(_there(folder), folder)
        return
    store = open_study(folder, _given(images, demo, items, groups, probs, seed))
    store.close()
    _serve(folder, host, port, browser)


def _given(
    images: Path | None, demo: bool, items: int | None, groups: str | None, probs: Path | None, seed: int | None
) -> dict[str, Any]:
    """The settings that were said; what was not said stays as it is, or as in the paper."""
    from shortlist.types import ShortlistError
    from shortlist.web.study.folder import DEMO

    if images and demo:
        raise ShortlistError("--images and --demo: give one of them")
    if probs and not images:
        raise ShortlistError("--probs: they are of the images of a folder; give --images too")
    found = {
        "dataset": {"name": "image_folder", "folder": str(images.resolve())} if images else DEMO if demo else None,
        "items": items,
        "groups": None if groups is None else _numbers(groups),
        "probs": None if probs is None else str(probs.resolve()),
        "seed": seed,
    }
    return {key: value for key, value in found.items() if value is not None}


def _numbers(text: str) -> list[int]:
    from shortlist.types import ShortlistError

    try:
        return [int(k) for k in text.split(",")]
    except ValueError:
        raise ShortlistError(f"--groups: {text!r} is not a list of whole numbers such as 4,8,16,32") from None


# --- serving ---------------------------------------------------------------------------------------------------


def _serve(folder: Path, host: str, port: int, browser: bool) -> None:
    import contextlib
    import threading
    import webbrowser

    import uvicorn

    from shortlist.web.serve import address, config, hosts_of, listening
    from shortlist.web.study.app import study_app

    with listening(host, port) as heard:
        app = study_app(folder, hosts_of(host))
        store: StudyStore = app.state.store
        place = address(host, heard)
        _announce(store, folder, host, f"{place}/")
        if browser:
            threading.Timer(0.5, webbrowser.open, [place]).start()
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn passes it on once it has let everybody finish
            uvicorn.Server(config(app)).run(sockets=[heard])
    if store.sessions():
        tell(store, folder)
    else:
        print(f"stopped; the same command goes on from here: shortlist study {folder}")


def _announce(store: StudyStore, folder: Path, host: str, address: str) -> None:
    from shortlist.web.serve import is_local

    config, done = store.config(), len(store.sessions())
    groups = ", ".join(map(str, config["groups"]))
    print(f"study: {folder}: {config['items']} images, groups of {groups} options; finished: {done}")
    print(f"take part: {address}")
    print(f"results:   {address}results?token={store.fact('token')}")
    if not is_local(host):
        print("note: whoever reaches this address can take part; the results need the link above, so keep it")
    print("Ctrl-C stops it; the same command goes on.", flush=True)


# --- the table -------------------------------------------------------------------------------------------------


def _there(folder: Path) -> StudyStore:
    from shortlist.web.study.store import StudyStore

    return StudyStore(folder / "study.db")


def tell(store: StudyStore, folder: Path) -> None:
    """The results here and as files."""
    from rich.console import Console

    from shortlist.web.study.results import EVERYBODY, RULE, cost_line, results, sentences, who

    found, console = results(store), Console()
    console.print(f"{who(found)}.", highlight=False)
    for title, table in ((RULE, found.ruled), (EVERYBODY, found.everybody)):
        if table.groups:
            console.print()
            console.print(_terminal_table(table, title))
            for sentence in sentences(table):
                console.print(sentence, highlight=False)
    console.print()
    _write(store, found, folder)
    if found.ruled.fit:
        console.print("\nunder \\[query] in campaign.toml:", highlight=False)
        console.print(cost_line(found.ruled.fit), style="bold", highlight=False, soft_wrap=True, markup=False)


def _terminal_table(table: Table, title: str) -> Any:
    """Narrow enough for 80 characters."""
    from rich import box
    from rich.table import Table as RichTable

    from shortlist.web.study.results import cells, paper_cells

    shown = RichTable(box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False, title=title, title_justify="left")
    for name in COLUMNS:
        shown.add_column(name, justify="right")
    for group in table.groups:
        row = (*cells(group), *paper_cells(group.options))
        shown.add_row(*(cell.replace(" ± ", "±") for cell in row))
    return shown


def _write(store: StudyStore, found: Results, folder: Path) -> None:
    from shortlist.web.study.folder import write_whole
    from shortlist.web.study.pages import standalone
    from shortlist.web.study.results import answers_csv, cost_toml

    files = {"study.html": standalone(found, folder.resolve().name), "study.csv": answers_csv(store)}
    if found.ruled.fit:
        files["cost.toml"] = cost_toml(found.ruled.fit)
    for name, text in files.items():
        write_whole(folder / name, text)
        print(f"{folder / name}")
