"""The process that trains, calibrates and plans for people who are answering, at the lowest priority.

It speaks one line of JSON for every change of what it does, goes on when a line comes in, and ends when whoever
listens is gone. It may be killed at any moment: the campaign's folder is at the end of some step.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TextIO

from shortlist.campaign.engine import Campaign, Step
from shortlist.types import ShortlistError

LOOK_SECONDS = 1.0  # how often it looks by itself whether answers have come
AGAIN_SECONDS = 5.0  # how soon it tries again what has failed, or looks once the campaign is over

WORDS = {
    "select": "choosing what to ask next: {}",
    "calibrate": "finding the error rate that makes answers cheapest",
    "fit": "training on {}",
    "evaluate": "measuring the model",
    "restore": "bringing back the model of {}",
    "note": "{}",
}


def apart(out: TextIO) -> TextIO:
    """Where `out` leads, for us alone: whatever a library prints goes to the log instead."""
    ours = os.fdopen(os.dup(out.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), out.fileno())
    return ours


def work(
    make: Callable[[Callable[[Step], None]], Campaign],
    lines: TextIO,
    out: TextIO,
    begun: Callable[[Campaign], object] = lambda campaign: None,
) -> None:
    """Advance the campaign whenever it can be, for as long as somebody listens; `begun` is called once it asks."""
    os.nice(19)
    pokes, voice = listen(lines), Voice(out)
    campaign: Campaign | None = None
    reader: threading.Thread | None = None
    while True:
        try:
            campaign = campaign or make(voice.step)
            while campaign.advance():
                voice.say("working")
            ending = campaign.ending
            voice.say("over" if ending else "waiting", ending or "")
            wait = AGAIN_SECONDS if ending else LOOK_SECONDS  # corrections alone come then
            if reader is None:
                begun(campaign)
                reader = read_ahead(campaign)
                wait = 0.0  # what was done may have completed the round
        except ShortlistError as error:
            voice.say("failed", error=f"The worker cannot go on, and tries again: {error}.")
            wait = AGAIN_SECONDS
        except Exception as error:  # a model's own: people go on answering, and whoever looks after it is told
            traceback.print_exc()
            voice.say("failed", error=f"The worker cannot go on, and tries again: {type(error).__name__}: {error}.")
            wait = AGAIN_SECONDS
        wait_for(pokes, wait)


def read_ahead(campaign: Campaign) -> threading.Thread:
    """Data are read and encoded beside people's first answers; training waits for it, and hears what went wrong."""

    def read() -> None:
        with contextlib.suppress(Exception):
            campaign.learner.prepare()

    thread = threading.Thread(target=read, name="reader", daemon=True)
    thread.start()
    return thread


class Voice:
    """Says what is done, once."""

    def __init__(self, out: TextIO) -> None:
        self.out, self.last = out, ""

    def step(self, step: Step) -> None:
        self.say("working", WORDS.get(step.name, step.name).format(step.detail))

    def say(self, state: str, words: str = "", error: str | None = None) -> None:
        line = json.dumps({"state": state, "words": words, "error": error})
        if line != self.last:
            self.last = line
            self.out.write(line + "\n")
            self.out.flush()


def listen(lines: TextIO) -> queue.SimpleQueue[str]:
    """Lines as they come in; the end of them is the end of this process."""
    pokes: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in lines:
            pokes.put(line)
        os._exit(0)  # whoever started this is gone; another may be starting, and needs the folder

    threading.Thread(target=read, name="listener", daemon=True).start()
    return pokes


def wait_for(pokes: queue.SimpleQueue[str], seconds: float) -> None:
    try:
        pokes.get(timeout=seconds)
    except queue.Empty:
        return
    while not pokes.empty():
        pokes.get_nowait()
