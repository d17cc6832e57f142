"""The command line: one file per verb. Nothing heavy is imported before a verb runs."""

from __future__ import annotations

import sys

import typer

from shortlist.cli import demo, export, report, run, sets
from shortlist.types import ShortlistError

HELP = """Get a classification dataset labelled for as little human effort as possible.

A classifier and conformal prediction narrow each question to a short list of likely classes plus "None of the above"; \
items are selected by what they teach per cost.

First steps: [bold]shortlist demo[/bold] runs a whole comparison in under a minute and explains it in report.html. \
[bold]shortlist run RECIPE[/bold] runs your own; [bold]shortlist sets[/bold] makes candidate sets from the \
probabilities of any model.
"""
app = typer.Typer(
    name="shortlist",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
)
for verb in (demo.demo, run.run, report.report, sets.sets, export.export):
    app.command(no_args_is_help=verb is not demo.demo)(verb)


def main() -> None:
    try:
        app()
    except ShortlistError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
