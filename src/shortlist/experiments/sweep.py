"""Run every campaign of a recipe, several at a time if asked, with a bar for each. Started again, it goes on."""

from __future__ import annotations

import multiprocessing
import queue
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

from shortlist.campaign.engine import Step
from shortlist.datasets.progress import no_bars
from shortlist.experiments.builder import Builder
from shortlist.experiments.machine import note_start
from shortlist.experiments.recipes import Job
from shortlist.experiments.truth import note_truth
from shortlist.types import Round, ShortlistError


@dataclass(frozen=True)
class News:
    """What a campaign tells whoever watches the sweep."""

    job: int
    step: Step | None = None
    round: Round | None = None
    ending: str | None = None


Tell = Callable[[News], None]


def sweep(listed: Sequence[Job], *, data: Path | None, workers: int, console: Console) -> None:
    """All jobs to their end. A campaign that fails is told at once, and stops the sweep."""
    if workers < 1:
        raise ShortlistError(f"jobs: must be at least 1, got {workers}")
    builder = Builder(data)
    if console.is_terminal:
        console.print("reading the data and checking every campaign", style="dim")
    for job in listed:
        builder.check(job)
    with _board(listed, console) as tell, no_bars():
        if workers == 1 or len(listed) == 1:
            for number, job in enumerate(listed):
                run_job(number, job, builder, tell)
        else:
            _in_processes(listed, data, min(workers, len(listed)), tell)


def run_job(number: int, job: Job, builder: Builder, tell: Tell) -> None:
    """One campaign to its end."""
    campaign, annotator = builder.campaign(job, watch=lambda step: tell(News(number, step=step)))
    try:
        with campaign.folder.alone():
            if campaign.ending is None:
                note_start(job, len(campaign.finished_rounds()), campaign.settings.model)
            for finished in campaign.run(annotator):
                tell(News(number, round=finished))
            note_truth(job.folder, campaign.settings.dataset, annotator.labels)
        tell(News(number, ending=campaign.ending or "waiting for answers"))
    finally:
        campaign.close()


# --- several at a time -----------------------------------------------------------------------------------------


def _in_processes(listed: Sequence[Job], data: Path | None, workers: int, tell: Tell) -> None:
    context = multiprocessing.get_context("spawn")
    news: Any = context.Manager().Queue()
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_set_up, initargs=(data, news))
    futures = [pool.submit(_work, number, job) for number, job in enumerate(listed)]
    try:
        _relay(news, futures, tell)
        for future in futures:
            future.result()
    finally:
        processes = list((pool._processes or {}).values())  # shutdown forgets them
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()  # a campaign can be killed at any moment, and somebody is waiting


_worker: dict[str, Any] = {}


def _set_up(data: Path | None, news: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _worker.update(builder=Builder(data), news=news)


def _work(number: int, job: Job) -> None:
    run_job(number, job, _worker["builder"], _worker["news"].put)


def _relay(news: Any, futures: Sequence[Future[None]], tell: Tell) -> None:
    """Pass on what the workers tell until all are done or one has failed."""
    while True:
        over = all(f.done() for f in futures) or any(f.done() and f.exception() for f in futures)
        try:
            while True:
                tell(news.get(timeout=0.2))
        except queue.Empty:
            if over:
                return


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

    def tell(news: News) -> None:
        job = listed[news.job]
        if news.job not in bars:
            bars[news.job] = progress.add_task(job.label, total=job.recipe.rounds, doing="")
        bar = bars[news.job]
        if news.step is not None:
            if news.step.name == "note":
                console.print(f"{job.label}, round {news.step.round}: {news.step.detail}", highlight=False)
            progress.update(bar, doing=f"round {news.step.round}: {news.step.name} {news.step.detail}".rstrip())
        if news.round is not None:
            progress.update(bar, completed=news.round.number)
        if news.ending is not None:
            console.print(f"{job.label}: {news.ending}", highlight=False)
            progress.remove_task(bar)
            progress.advance(whole)

    with progress:
        yield tell
