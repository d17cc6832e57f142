from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from shortlist.system.extras import require
from shortlist.system.terminal import say
from shortlist.types import ShortlistError

if TYPE_CHECKING:
    from shortlist.campaign.engine import Campaign, Step

TrustCode = Annotated[
    bool, typer.Option("--trust-code", help="Run parts such as mine:Gini, from files in the campaign's folder.")
]
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
    kind: Annotated[
        Literal["glyphs", "digits"],
        typer.Option(help="Of --demo: 36 letters and digits in 16 fonts, or 10 handwritten digits."),
    ] = "glyphs",
    trust_code: TrustCode = False,
    link: Annotated[bool, typer.Option("--link", help="Print a new link for the owner while it is served.")] = False,
    password: Annotated[bool, typer.Option("--password", help="Set the password of an owner, and end.")] = False,
) -> None:
    """Label a campaign: serves the page where people answer, while models are trained behind it.

    Stop it with Ctrl-C at any moment: every answer that was saved is kept, and the same command goes on.

    Example: shortlist label birds
    """
    require("fastapi", "uvicorn", "jinja2", "argon2", extra="web")
    if demo:
        folder = folder or DEMO.with_name(f"{DEMO.name}-{kind}")
    if folder is None:
        raise ShortlistError("label: name a campaign's folder, or --demo for one that needs no data")
    if not (password or link):
        say(f"opening {folder}; its address comes as soon as the data are read", flush=True)
    if demo:
        from shortlist.recipes.starter import demo_campaign

        demo_campaign(folder, kind)
    if password:
        _set_password(folder)
        return
    if link:
        from shortlist.web.serve import new_link

        say(new_link(folder))
        return
    from shortlist.recipes.build import control_share, guidelines_of, open_campaign
    from shortlist.web.serve import serve

    with open_campaign(folder, trust_code=trust_code) as campaign:
        serve(
            campaign,
            worker=command(folder, trust_code),
            host=host,
            port=port,
            browser=browser,
            control=control_share(folder),
            guidelines=guidelines_of(folder),
            names=allow_host or (),
        )


def work(
    folder: Annotated[Path, typer.Argument(help="The folder of a campaign that is being labelled.")],
    trust_code: TrustCode = False,
) -> None:
    """Train and plan for people who are labelling; `shortlist label` starts this by itself.

    Says what it does, a line of JSON at a time, looks again when a line comes in, and ends when its input does.

    Example: shortlist work birds
    """
    from shortlist.recipes.build import open_campaign, use_known
    from shortlist.web.service.worker import apart
    from shortlist.web.service.worker import work as go_on

    def opened(watch: Callable[[Step], None]) -> Campaign:
        return open_campaign(folder, watch, growing=False, trust_code=trust_code)

    go_on(opened, sys.stdin, apart(sys.stdout), use_known)


def command(folder: Path, trust_code: bool = False) -> list[str]:
    """What starts the worker of a campaign."""
    trust = ["--trust-code"] * trust_code
    return [sys.executable, "-c", "from shortlist.cli import main; main()", "work", str(folder), *trust]


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
    say(f"{name} can sign in now")
