"""The command line: one file per verb. Nothing heavy is imported before a verb runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from shortlist import __version__
from shortlist.cli import demo, export, import_, init, label, report, results, run, sets, study
from shortlist.system.terminal import say
from shortlist.types import ShortlistError

HELP = """Get a classification dataset labelled for as little human effort as possible.

A classifier and conformal prediction narrow each question to a short list of likely classes plus "None of the above"; \
items are selected by what they teach per cost.

First steps: [bold]shortlist label --demo[/bold] opens the page where people label; [bold]shortlist init[/bold] makes \
a campaign of your own data. [bold]shortlist demo[/bold] runs a whole comparison in under a minute and explains it in \
report.html; [bold]shortlist run RECIPE[/bold] runs your own; [bold]shortlist sets[/bold] makes candidate sets from \
the probabilities of any model.
"""
app = typer.Typer(
    name="shortlist",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def show_version(wanted: bool) -> None:
    if wanted:
        say(f"shortlist {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None: ...


for verb in (
    demo.demo,
    init.init,
    label.label,
    label.work,
    run.run,
    report.report,
    results.results,
    results.compare,
    sets.sets,
    export.export,
    import_.import_,
    study.study,
):
    app.command(verb.__name__.rstrip("_"), no_args_is_help=verb is not demo.demo)(verb)


def main() -> None:
    try:
        app()
    except ShortlistError as error:
        say(f"error: {error}", error=True)
        sys.exit(1)
    except OSError as error:  # a full disk, a place that cannot be written to
        say(f"error: {error.filename or 'a file'}: {error.strerror or error}", error=True)
        sys.exit(1)
