"""Run every campaign of a recipe, several at a time if asked, with a bar for each. Started again, it goes on.

A smoke run makes up the data that is not at hand, in the published layout. All of it lies in one folder that is marked
as made up, so real data is never written over.
"""

from __future__ import annotations

import multiprocessing
import queue
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from shortlist.annotators.simulated import noisy
from shortlist.campaign.engine import Step
from shortlist.datasets import OFFICIAL, data_folder
from shortlist.datasets.official.examples import claimed, write_example
from shortlist.experiments.provenance import note_start, note_truth
from shortlist.recipes.build import Builder, find_file
from shortlist.recipes.recipe import Job, Recipe, as_table, changed, each_variant, folder_name
from shortlist.system.progress import no_bars
from shortlist.types import Round, ShortlistError

News = Step | Round | str  # of a running campaign: what it does, a round it has finished, how it ended
Tell = Callable[[int, News], None]  # with the number of the job


def sweep(
    listed: Sequence[Job], *, data: Path | None, workers: int, console: Console, code: Path | None = None
) -> None:
    """Run all jobs to their end. The first campaign that fails stops the sweep with its error."""
    if workers < 1:
        raise ShortlistError(f"jobs: must be at least 1, got {workers}")
    builder = Builder(data, code=code)
    if console.is_terminal:
        console.print("reading the data and checking every campaign", style="dim")
    for job in listed:
        builder.check(job)
    with _board(listed, console) as tell, no_bars():
        if workers == 1 or len(listed) == 1:
            for number, job in enumerate(listed):
                run_job(job, builder, partial(tell, number))
        else:
            _in_processes(listed, builder, min(workers, len(listed)), tell)


def run_job(job: Job, builder: Builder, tell: Callable[[News], None]) -> None:
    """Run one campaign to its end."""
    campaign, annotator = builder.campaign(job, watch=tell)
    with campaign, campaign.folder.alone():
        if campaign.ending is None:
            note_start(job, len(campaign.finished_rounds()), campaign.settings.model)
        for finished in campaign.run(annotator):
            tell(finished)
        note_truth(job.folder, campaign.settings.dataset, annotator.labels)
        tell(campaign.ending or "waiting for answers")


# --- several at a time -----------------------------------------------------------------------------------------


def _in_processes(listed: Sequence[Job], builder: Builder, workers: int, tell: Tell) -> None:
    context = multiprocessing.get_context("spawn")
    news: Any = context.Manager().Queue()
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_set_up, initargs=(builder.data, builder.code, news)
    )
    futures = [pool.submit(_work, number, job) for number, job in enumerate(listed)]
    try:
        _relay(news, futures, tell)
        for future in futures:
            future.result()
    finally:
        processes = list((pool._processes or {}).values())  # shutdown forgets them
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()  # a campaign can be killed at any moment, and Ctrl-C is not to wait


_worker: dict[str, Any] = {}


def _set_up(data: Path | None, code: Path | None, news: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _worker.update(builder=Builder(data, code=code), news=news)


def _work(number: int, job: Job) -> None:
    run_job(job, _worker["builder"], lambda news: _worker["news"].put((number, news)))


def _relay(news: Any, futures: Sequence[Future[None]], tell: Tell) -> None:
    """Pass on the workers' news until all are done or one has failed."""
    over = False
    while not over:
        over = all(f.done() for f in futures) or any(f.done() and f.exception() for f in futures)
        with suppress(queue.Empty):
            while True:
                tell(*news.get(timeout=0.2))


# --- the board -------------------------------------------------------------------------------------------------


@contextmanager
def _board(listed: Sequence[Job], console: Console) -> Iterator[Tell]:
    """A bar per running campaign and one for the whole; a line per finished campaign where there is no terminal."""
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[doing]}", style="dim"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    whole = progress.add_task("all campaigns", total=len(listed), doing="")
    bars: dict[int, TaskID] = {}

    def tell(number: int, news: News) -> None:
        job = listed[number]
        if number not in bars:
            bars[number] = progress.add_task(job.label, total=job.recipe.rounds, doing="")
        if isinstance(news, Step):
            if news.name == "note":
                console.print(f"{job.label}, round {news.round}: {news.detail}", highlight=False)
            progress.update(bars[number], doing=f"round {news.round}: {news.name} {news.detail}".rstrip())
        elif isinstance(news, Round):
            progress.update(bars[number], completed=news.number)
        else:
            console.print(f"{job.label}: {news}", highlight=False)
            progress.remove_task(bars[number])
            progress.advance(whole)

    with progress:
        yield tell


# --- data of a smoke run -----------------------------------------------------------------------------------------

MADE_UP = "made-up"  # beside the campaigns of a smoke run
WRONG = 0.4  # share of a made-up crowd's answers that are not the truth, as in CIFAR-100N


def data_or_example(
    recipe: Recipe, data: Path | None, made: Path, say: Callable[[str], None], code: Path | None = None
) -> tuple[Recipe, Path | None]:
    """The recipe and its data folder; what is missing from either is made up, in the folder `made`."""
    recipes = each_variant(recipe)
    tables = [as_table(one.dataset) for one in recipes.values()]
    named = dict.fromkeys(str(t["name"]) for t in tables if t.get("name") in OFFICIAL and "folder" not in t)
    missing = [name for name in named if not _is_there(name, data)]
    if missing:
        for name in named:
            write_example(name, made)
        say(f"no {' and no '.join(missing)} in the data folder: this run is on made-up records in {made}")
    builder = Builder(made if missing else data, code=code)
    crowds: dict[str, str] = {}  # files of labels for the annotator to answer from, by variant
    lost: dict[str, None] = {}  # files, in the order of the variants
    for variant, one in recipes.items():
        file = (one.annotator.labels or "").partition(":")[0]
        if file and (missing or not find_file(file, data=builder.data).exists()):
            dataset, path = builder.dataset(one), claimed(made / "crowd") / f"{folder_name(variant) or 'labels'}.npy"
            np.save(path, noisy(dataset.labels, WRONG, len(dataset.classes), seed=0))
            crowds[variant], lost[file] = str(path), None
    if crowds and not missing:
        say(f"no {' and no '.join(lost)}: these answers are made up, in {made}")
    answered = {variant: {"annotator": {"labels": file}} for variant, file in crowds.items()}
    above = answered.get("", {"variants": answered})
    return changed(recipe, above, recipe.name) if crowds else recipe, builder.data


def _is_there(name: str, data: Path | None) -> bool:
    try:
        return data_folder(name, data).is_dir()
    except ShortlistError:
        if data is not None:  # --data was given, and is no folder
            raise
        return False
