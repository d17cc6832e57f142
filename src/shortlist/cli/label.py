from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from shortlist.system.extras import require
from shortlist.types import ShortlistError

DEMO = Path("runs/label-demo")


def label(
    folder: Annotated[
        Path | None, typer.Argument(help="A campaign's folder, with the campaign.toml that shortlist init writes.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; others than this machine's need accounts.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port. (Default: a free one.)")] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A name by which a reverse proxy on this machine is reached; may be repeated."),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    demo: Annotated[bool, typer.Option("--demo", help="No data at hand: label drawings.")] = False,
    kind: Annotated[Literal["digits", "glyphs"], typer.Option(help="Of --demo: 10 digits, or 500 glyphs.")] = "digits",
    link: Annotated[bool, typer.Option("--link", help="Print a new link for the owner while it is served.")] = False,
    password: Annotated[bool, typer.Option("--password", help="Set the password of an owner, and end.")] = False,
) -> None:
    """Label a campaign: serves the page where people answer, while models are trained behind it.

    Stop it with Ctrl-C at any moment: every answer that was saved is kept, and the same command goes on.

    Example: shortlist label birds
    """
    require("fastapi", "uvicorn", "jinja2", "argon2", extra="web")
    if demo:
        from shortlist.recipes.starter import demo_campaign

        folder = demo_campaign(folder or DEMO.with_name(f"{DEMO.name}-{kind}"), kind).parent
    if folder is None:
        raise ShortlistError("label: name a campaign's folder, or --demo for one that needs no data")
    if password:
        _set_password(folder)
        return
    if link:
        from shortlist.web.serve import new_link

        print(new_link(folder))
        return
    from shortlist.recipes.build import control_share, open_campaign
    from shortlist.web.serve import serve

    with open_campaign(folder) as campaign:
        control = control_share(folder)
        names = allow_host or ()
        serve(campaign, worker=command(folder), host=host, port=port, browser=browser, control=control, names=names)


def work(folder: Annotated[Path, typer.Argument(help="The folder of a campaign that is being labelled.")]) -> None:
    """Train and plan for people who are labelling; `shortlist label` starts this by itself.

    Says what it does, a line of JSON at a time, looks again when a line comes in, and ends when its input does.

    Example: shortlist work birds
    """
    from shortlist.recipes.build import open_campaign, use_known
    from shortlist.web.service.worker import apart
    from shortlist.web.service.worker import work as go_on

    go_on(lambda watch: open_campaign(folder, watch, growing=False), sys.stdin, apart(sys.stdout), use_known)


def command(folder: Path) -> list[str]:
    """What starts the worker of a campaign."""
    return [sys.executable, "-c", "from shortlist.cli import main; main()", "work", str(folder)]


def _set_password(folder: Path) -> None:
    from shortlist.web.people.people import People
    from shortlist.web.serve import first_owner

    people = People(folder)
    name = typer.prompt("name", default=first_owner(people, must_have_password=None))
    chosen = typer.prompt("password", hide_input=True, confirmation_prompt=True)
    if people.person(name) is None:
        people.add(name, "owner", chosen)
    else:
        people.set_password(name, chosen)
    print(f"{name} can sign in now")
